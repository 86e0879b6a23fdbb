"""What grows with size and number: memory of the daemon, many executions, big directories, many open files, big
sparse files. Rows as in special.py."""
import contextlib
import os
import time

from data import must
from machine import Failed
from special import row, special
from subjects import Legato, LegatoAsk, Overlayfs

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


def memory_of(pids):
    """What these processes have of their own, in bytes: proportional set size."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as lines:
            total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def anonymous_of(pids):
    """What they hold that is in no file: their heap."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/status", encoding="ascii") as lines:
            total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))
    return total


def seconds_of(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            words = file.read().rsplit(")", 1)[1].split()
        total += (int(words[11]) + int(words[12])) / TICKS
    return total


def of_kind(bench, kind):
    return next((subject for subject in bench.subjects_now if type(subject) is kind), None)  # pylint: disable=unidiomatic-typecheck


@contextlib.contextmanager
def mounted(subject, data):
    subject.begin(data, changes=False)
    try:
        yield subject
    finally:
        subject.end()


@special
def memory(bench):
    """the daemon's memory, idle and after a walk over a big base"""
    subject = of_kind(bench, Legato)
    if not subject:
        return []
    count = 100000 if bench.args.quick else 1000000
    with mounted(subject, f"files-{count}"):
        pids = subject.daemons()
        idle, before = memory_of(pids), anonymous_of(pids)
        found = int(bench.machine.run("find . -type f | wc -l", cwd=subject.root()))
        must(found == count, f"find saw {found} of {count} files")
        bench.machine.run("find . -type f -links 7", cwd=subject.root())
        used = (anonymous_of(pids) - before) / count
    bench.machine.trim()
    return [row("the daemon's memory, idle", round(idle / 2**20, 2), "MiB", "target", 10, "<= 10 MiB"),
            row(f"… a file, of {count}", round(used, 1), "bytes", "target", 300, "<= 300 bytes")]


@special
def listing(bench):
    """ls of one big directory, first and again, against overlayfs"""
    count = 100000 if bench.args.quick else 1000000
    times = {}
    for kind in (Legato, Overlayfs):
        subject = of_kind(bench, kind)
        if not subject:
            continue
        with mounted(subject, f"entries-{count}"):
            subject.fresh()
            times[kind.name] = []
            for _ in range(2):
                begin = time.perf_counter()
                found = int(bench.machine.run("ls -f . | wc -l", cwd=subject.root()))
                times[kind.name].append(time.perf_counter() - begin)
                must(found == count + 2, f"ls saw {found - 2} of {count} entries")
    bench.machine.trim()
    if len(times) < 2:
        return []
    return [row(f"ls -f of {count} entries, {when}", round(ours * 1000, 1), "ms", "overlayfs", round(theirs * 1000, 1), "")
            for when, ours, theirs in zip(("first", "again"), times[Legato.name], times[Overlayfs.name])]


@special
def openfiles(bench):
    """many files of the base open at a time, and read again; with and without asking for opens"""
    count = 2000 if bench.args.quick else 10000
    rows = []
    for kind in (Legato, LegatoAsk):
        subject = of_kind(bench, kind)
        if not subject:
            continue
        with mounted(subject, f"files-{max(count, 100000)}"):
            listing_path = os.path.join(bench.machine.temp, "open-files")
            bench.machine.run(f"find . -type f | head -n {count} >{listing_path}", cwd=subject.root())
            begin = time.perf_counter()
            argv = ["prlimit", f"--nofile={count + 100}", os.path.join(bench.binaries, "client"), "hold", listing_path]
            done = int(bench.machine.run(argv, cwd=subject.root()))
            seconds = time.perf_counter() - begin
            must(done == count, f"{done} of {count} files could be read while all were open")
        rows.append(row(f"{count} files open at a time on {kind.name}", round(seconds * 1000, 1), "ms", "a file, in us",
                        round(seconds / count * 1e6, 1), "", "difference"))
    return rows


@special
def executions(bench):
    """many executions at a time, each with a light load: memory and processor time of all daemons"""
    template = of_kind(bench, Legato)
    if not template:
        return []
    count = 20 if bench.args.quick else 100
    subjects = []
    for i in range(count):
        subject = Legato(bench.machine, bench.data, bench.binaries)
        subject.folder = os.path.join(template.folder, f"execution-{i}")
        subject.view = os.path.join(subject.folder, "view")
        os.makedirs(subject.folder)
        subjects.append(subject)
    pids = []
    try:
        # All look at one base, as reviewers of one checkout do.
        subjects[0].begin("zlib", changes=False)
        for subject in subjects[1:]:
            os.makedirs(subject.view)
            subject.base = subjects[0].base
            subject.fresh_layer()
            subject.mount()
        pids = [pid for subject in subjects for pid in subject.daemons()]
        must(len(pids) == count, f"{len(pids)} daemons serve {count} executions")
        before = seconds_of(pids)
        for subject in subjects:
            bench.machine.run("find . -type f | wc -l; echo x >new; cat zlib.h >copy; rm zlib.h", cwd=subject.root())
        loaded = seconds_of(pids) - before
        time.sleep(5)
        idle = seconds_of(pids) - before - loaded
        used = memory_of(pids)
    finally:
        for subject in subjects:
            with contextlib.suppress(Failed):
                subject.unmount()
    bench.machine.trim()
    return [row(f"memory of {count} daemons after a light load", round(used / 2**20, 1), "MiB", "each", round(used / 2**20 / count, 2),
                "", "difference"),
            row("… their processor time for that load", round(loaded * 1000), "ms", "each", round(loaded * 1000 / count, 1), "", "difference"),
            row("… and in five idle seconds", round(idle * 1000), "ms", "each", round(idle * 1000 / count, 2), "", "difference")]


@special
def sparse(bench):
    """one page written in a sparse file of 200 GiB of the base: time, and what it takes of the disk"""
    subject = of_kind(bench, Legato)
    if not subject:
        return []
    with mounted(subject, "sparse"):
        bench.machine.settle()
        before = os.statvfs(bench.machine.disk)
        begin = time.perf_counter()
        argv = [os.path.join(bench.binaries, "client"), "page", "big"]
        must(int(bench.machine.run(argv, cwd=subject.root())) == 1, "the page was not written")
        seconds = time.perf_counter() - begin
        bench.machine.settle()
        after = os.statvfs(bench.machine.disk)
        used = (before.f_bfree - after.f_bfree) * before.f_frsize
        size = os.stat(os.path.join(subject.root(), "big")).st_size
        must(size == 200 << 30, f"the file has {size} bytes")
    return [row("one page of a sparse file of 200 GiB, disk space", round(used / 2**20, 2), "MiB", "time, in ms",
                round(seconds * 1000, 1), "<= 1 MiB", "difference")]
