"""The result as JSON, as a table, and against an earlier one."""
import datetime
import json
import math
import os
import platform
import statistics
import subprocess

from machine import ROOT
from subjects import ALL

NOT_IN_QUICK = {"unionfs", "mergerfs", "legato-ask", "legato-user", "overlayfs-user"}
RESULTS = ROOT / "bench" / "results"
BASELINES = {kind.name: kind.baseline for kind in ALL}
PLAIN = "plain"  # what is compared with where the kernel's overlayfs can't be had


def git_version():
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip()


def machine_facts(bench):
    model, memory = "?", 0
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    with open("/proc/meminfo", encoding="ascii") as lines:
        memory = int(lines.readline().split()[1]) // 1024 // 1024
    return {"cpu": model, "cores": os.cpu_count(), "memory_gib": memory, "kernel": platform.release(),
            "fs": bench.machine.fs, "place": bench.machine.place, "busy": bench.busy,
            "peers": {s.name: s.version() for s in bench.subjects_now if s.version()}}


def result(bench, special_rows):
    return {"when": datetime.datetime.now().isoformat(timespec="seconds"), "version": git_version(),
            "quick": bench.args.quick, "machine": machine_facts(bench), "subjects": [s.name for s in bench.subjects_now],
            "rows": bench.results, "starts": bench.starts, "special": special_rows, "failures": bench.failures}


def median(values):
    return statistics.median(values) if values else None


def spread(values):
    """Half of what lies between the fastest and the slowest, in parts of the median."""
    return (max(values) - min(values)) / 2 / median(values) if values else 0


def ratio(by_subject, name):
    own, base = by_subject.get(name), by_subject.get(baseline(by_subject, name))
    return median(own) / median(base) if own and base else None


def baseline(by_subject, name):
    return BASELINES[name] if BASELINES[name] in by_subject else PLAIN


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else None


def ms(value):
    return f"{value * 1000:.0f}" if value >= 0.0995 else f"{value * 1000:.1f}"


def mean_rows(result_data):
    """Rows that every subject has, so that all means are over the same rows."""
    shown = columns(result_data)
    return [row for row, by_subject in result_data["rows"].items() if all(ratio(by_subject, name) for name in shown)]


def columns(result_data):
    return [kind.name for kind in ALL if kind.shown and kind.name in result_data["subjects"]]


def text(result_data):
    names = columns(result_data)
    against = "overlayfs" if "overlayfs" in result_data["subjects"] else "plain"
    lines = []
    if result_data["rows"]:
        lines = [f"| ms, × {against}, ± | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for row, by_subject in result_data["rows"].items():
        cells = []
        for name in names:
            values = by_subject.get(name)
            if not values:
                cells.append("–")
                continue
            times = ratio(by_subject, name)
            cells.append(f"{ms(median(values))}{f' **{times:.2f}**' if times else ''} ±{spread(values) * 100:.0f}%")
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    rows = mean_rows(result_data)
    if rows:
        cells = [f"**{geometric_mean([ratio(result_data['rows'][row], name) for row in rows]):.2f}**" for name in names]
        lines.append(f"| geometric mean of {len(rows)} rows | " + " | ".join(cells) + " |")
    if result_data["starts"]:
        lines += ["", "| mount and unmount, ms | ready | gone |", "|---|---:|---:|"]
        lines += [f"| {name} | {ready:.0f} | {gone:.0f} |" for name, (ready, gone) in result_data["starts"].items()]
    if result_data["special"]:
        lines += ["", "| what | legato | against | | result | target |", "|---|---:|---|---:|---:|---|"]
        for row in result_data["special"]:
            shown = {"ratio": "{:.2f}x", "inverse": "{:.0f}x less", "difference": "{:+.0f} " + row["unit"]}[row["kind"]]
            lines.append(f"| {row['row']} | {row['value']:g} {row['unit']} | {row['reference']} | {row['reference_value']:g} | "
                         f"{shown.format(row['result'])} | {row['target']} |")
    facts = result_data["machine"]
    lines += ["", f"{result_data['version']}, {result_data['when']}; {facts['cpu']}, {facts['cores']} cores, "
              f"{facts['memory_gib']} GiB, Linux {facts['kernel']}; {facts['fs']} image in {facts['place']}"
              + (" ; **on a busy machine**" if facts["busy"] else "")]
    lines += [f"{name}: {version}" for name, version in facts["peers"].items()]
    lines += [f"failed: {what}: {why}" for what, why in result_data["failures"].items()]
    return "\n".join(lines)


def compare(old, new):
    """Each row's ratio then and now; what moved by more than both spreads is marked."""
    lines = ["", f"against {old.get('version')} of {old.get('when')} (× overlayfs, then and now)", ""]
    names = [n for n in columns(new) if n.startswith("legato") and n in old.get("subjects", [])]
    lines += ["| row | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for row, by_subject in new["rows"].items():
        before = old["rows"].get(row, {})
        cells = []
        for name in names:
            then, now = ratio(before, name), ratio(by_subject, name)
            if not then or not now:
                cells.append("–")
                continue
            noise = sum(spread(rows[s]) for rows in (before, by_subject) for s in (name, baseline(rows, name)))
            change = now / then - 1
            mark = " **" + ("slower" if change > 0 else "faster") + "**" if abs(change) > max(noise, 0.05) else ""
            cells.append(f"{then:.2f} → {now:.2f} ({change * 100:+.0f}%){mark}")
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write(data, args):
    if args.json:
        path = args.json
    else:
        RESULTS.mkdir(exist_ok=True)
        kind = "trips" if args.trips else "quick" if args.quick else "full"
        path = RESULTS / f"{datetime.datetime.now():%Y%m%d-%H%M%S}-{kind}.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
    return path
