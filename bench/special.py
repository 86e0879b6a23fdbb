"""What has a target of its own, not a ratio to the kernel's overlayfs: start
and end, the diff, one page of a big file, throwing away. Each yields rows of
(row, what, value, unit, reference, its value, target)."""
import os
import shutil
import statistics
import subprocess
import time

from data import must
from machine import Failed, have, is_root, note


class Special:
    def __init__(self, function):
        self.function = function
        self.name = function.__name__
        self.what = (function.__doc__ or "").strip()


ALL = []


def special(function):
    ALL.append(Special(function))
    return function


def median_ms(seconds):
    return round(statistics.median(seconds) * 1000, 2)


def row(name, value, unit, reference, reference_value, target, kind="ratio"):
    """kind: how value and reference are compared: ratio, difference, inverse."""
    if kind == "difference":
        shown = value - reference_value
    elif kind == "inverse":
        shown = reference_value / value
    else:
        shown = value / reference_value
    return {"row": name, "value": value, "unit": unit, "reference": reference, "reference_value": reference_value,
            "kind": kind, "result": round(shown, 3), "target": target}


class Launch:
    """A checkout and a scratch folder for legato-sandbox, as one user."""

    def __init__(self, bench, user, checkout=None):
        self.bench = bench
        self.machine = bench.machine
        self.user = user
        self.folder = os.path.join(self.machine.disk, f"launch-{user or 'self'}")
        self.scratch = os.path.join(self.folder, "scratch")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.scratch)
        self.checkout = os.path.join(self.folder, "checkout")
        if checkout:
            os.rename(bench.data.path(checkout), self.checkout)  # two of the biggest don't fit
        else:
            os.mkdir(self.checkout)
        if user:
            for folder in (self.folder, self.scratch, self.checkout):
                shutil.chown(folder, user)

    def program(self, name):
        return os.path.join(self.bench.binaries, name)

    def sandbox(self, verb, *words):
        argv = [self.program("legato-sandbox"), verb, "--scratch-dir", self.scratch, *words]
        return self.machine.run(argv, cwd=self.checkout, user=self.user)

    def run(self, *words, options=()):
        return self.sandbox("run", "--checkout", self.checkout, *options, "--", *words)

    def wait_until_removed(self):
        """What was discarded is removed in the background."""
        for _ in range(60000):
            if not any(entry.is_dir() for entry in os.scandir(self.scratch)):
                return
            time.sleep(0.001)
        raise Failed("what was discarded is not removed")

    def end(self):
        shutil.rmtree(self.folder)


def clock_inside(output):
    return min(int(line) for line in output.split() if line.isdigit()) / 1e9


@special
def start(bench):
    """mount to ready and unmount to gone; the launcher to its command's first instruction, against bwrap"""
    rows = []
    count = 3 if bench.args.quick else 10
    for subject in bench.subjects_now:
        if subject.name in ("plain", "overlayfs-user"):
            continue
        subject.begin("tree")
        ready, gone = [], []
        for _ in range(count):
            subject.unmount()
            subject.fresh_layer()
            begin = time.perf_counter()
            subject.mount()
            ready.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            subject.unmount()
            gone.append(time.perf_counter() - begin)
            subject.mount()
        subject.end()
        bench.starts[subject.name] = (median_ms(ready), median_ms(gone))
    users = [None] + ([bench.args.user] if is_root() and bench.args.user else [])
    for user in users if have("bwrap") else []:
        launch = Launch(bench, user)
        # the command must lie where every sandbox sees it: cat of a clock that needs no program of ours
        words = ["/usr/bin/date", "+%s%N"]
        bwrap = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "--unshare-ipc",
                 "--unshare-uts", "--die-with-parent", "--", *words]
        ours, theirs, whole, whole_theirs = [], [], [], []
        for _ in range(count):
            begin = time.time()
            inside = clock_inside(bench.machine.run(bwrap, user=user))
            whole_theirs.append(time.time() - begin)
            theirs.append(inside - begin)
            begin = time.time()
            inside = clock_inside(launch.run(*words, options=["--discard"]))
            whole.append(time.time() - begin)
            ours.append(inside - begin)
        who = f"as {user}" if user else "as root" if is_root() else "as a user"
        rows.append(row(f"launcher to first instruction, {who}", median_ms(ours), "ms", "bwrap alone", median_ms(theirs),
                        "+ 30 ms", "difference"))
        rows.append(row(f"launcher from start to end, --discard, {who}", median_ms(whole), "ms", "bwrap alone",
                        median_ms(whole_theirs), "", "difference"))
        launch.wait_until_removed()
        launch.end()
    return rows


@special
def diff(bench):
    """legato-diff after 100 changes in trees of different sizes"""
    sizes = [1000, 100000] if bench.args.quick else [1000, 100000, 1000000]
    times = {}
    for size in sizes:
        launch = Launch(bench, None, f"files-{size}")
        script = ("i=0; for f in $(find 000 -type f | sort | head -n 60); do "
                  "i=$((i+1)); if [ $i -le 30 ]; then echo x >>$f; else rm $f; fi; done; "
                  "for i in $(seq 40); do echo $i >000/new$i; done")
        launch.run("/bin/sh", "-c", script)
        identity = os.listdir(launch.scratch)[0]
        argv = [launch.program("legato-diff"), "--scratch-dir", launch.scratch, "--name-status", identity]
        seconds = []
        for _ in range(5):
            begin = time.perf_counter()
            output = bench.machine.run(argv, cwd=launch.checkout)
            seconds.append(time.perf_counter() - begin)
            changes = sum(1 for line in output.splitlines() if "000/" in line)
            must(changes == 100, f"legato-diff saw {changes} changes, not 100")
        times[size] = median_ms(seconds)
        launch.end()
        bench.machine.trim()
    return [row(f"legato-diff, 100 changes in {size} files", times[size], "ms", "in 1000 files", times[1000], "<= 1.5x")
            for size in sizes[1:]]


@special
def page(bench):
    """one page written in the middle of a big file of the base"""
    size = bench.big_file_mib()
    found = {}
    for subject in bench.subjects_now:
        if subject.name not in ("overlayfs", "legato"):
            continue
        name = f"big-{size}"
        seconds, disk = [], 0
        for _ in range(1 if bench.args.quick or size > 2048 else 3):
            subject.begin(name)
            bench.data.forget(name)
            bench.machine.settle()
            time.sleep(3)  # a file that was written just now counts as being written still
            before = os.statvfs(bench.machine.disk)
            begin = time.perf_counter()
            argv = [os.path.join(bench.binaries, "client"), "page", "big"]
            must(int(bench.machine.run(argv, cwd=subject.root())) == 1, "the page was not written")
            seconds.append(time.perf_counter() - begin)
            bench.machine.settle()
            after = os.statvfs(bench.machine.disk)
            disk = (before.f_bfree - after.f_bfree) * before.f_frsize
            subject.end()
        shutil.rmtree(subject.base)
        bench.machine.trim()
        found[subject.name] = (median_ms(seconds), disk)
    rows = []
    if "legato" in found and "overlayfs" in found:
        ours, theirs = found["legato"], found["overlayfs"]
        rows.append(row(f"one page of a file of {size / 1024:g} GiB", ours[0], "ms", "overlayfs", theirs[0], ">= 1000x faster", "inverse"))
        rows.append(row("… its disk space", round(ours[1] / 2**20, 2), "MiB", "overlayfs", round(theirs[1] / 2**20, 2), "<= 1 MiB",
                        "inverse"))
    return rows


@special
def discard(bench):
    """throwing away an execution with many new files, against rm -rf of the same"""
    count = 20000 if bench.args.quick else 200000
    ours, removed = [], []
    for _ in range(2 if bench.args.quick else 3):
        launch = Launch(bench, None)
        for method in ("discard", "rm"):
            launch.run("/usr/bin/true")
            identity = sorted(os.listdir(launch.scratch))[-1]
            upper = next(os.path.join(path, "upper") for path, names, _ in os.walk(os.path.join(launch.scratch, identity))
                         if "upper" in names)
            target = os.path.join(upper, "new")
            bench.data._make_files(target, f"files-{count}")
            bench.machine.drop_caches()
            begin = time.perf_counter()
            if method == "discard":
                launch.sandbox("discard", identity)
                launch.wait_until_removed()
                ours.append(time.perf_counter() - begin)
                must(not os.path.exists(os.path.join(launch.scratch, identity)), "discard left the folder")
            else:
                subprocess.run(["rm", "-rf", os.path.join(launch.scratch, identity)], check=True)
                removed.append(time.perf_counter() - begin)
        launch.end()
        bench.machine.settle()
    return [row(f"discard of {count} files", median_ms(ours), "ms", "rm -rf", median_ms(removed), "<= 0.7x")]


def measure(bench, chosen):
    rows = []
    for item in chosen:
        begin = time.monotonic()
        bench.wait_for_quiet()
        try:
            rows += item.function(bench)
        except Failed as failure:
            bench.failures[item.name] = str(failure)
            note(f"  failed: {item.name}: {failure}")
        note(f"{item.name}: {time.monotonic() - begin:.0f} s")
    return rows
