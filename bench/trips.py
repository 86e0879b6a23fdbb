"""Counts what a FUSE mount is asked: the kernel's own trace events, which cost
a request about half a microsecond and leave the daemon alone.

fuse_request_send and fuse_request_end (Linux 6.8) are recorded for one mount
only. FORGET has no event: how many messages of it there were is what the
daemon read more than there were requests. System calls are those of the
daemon's threads.
"""
import collections
import os
import re
import subprocess

from machine import die, is_root

TRACEFS = "/sys/kernel/tracing"
BUFFER_KB = 98304  # for each core; a request needs about 80 bytes in all
SYNC_WAITED = {"RELEASE": False, "RELEASEDIR": False, "FORGET": False, "INIT": False}
LINE = re.compile(r"^\s*(.+)-(\d+)\s+\[\d+\]\s+\S+\s+([\d.]+): (\w+): (.*)$")


def syscall_names():
    """Number to name, from the C headers."""
    names = {}
    for file in ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h",
                 "/usr/include/asm-generic/unistd.h"):
        if os.path.exists(file):
            with open(file, encoding="ascii") as lines:
                for line in lines:
                    m = re.match(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", line)
                    if m:
                        names.setdefault(int(m[2]), m[1])
            break
    return names


def put(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def device_of(point):
    """The device number of a mount, as the kernel counts; without asking the mount, which may be another user's."""
    number = None
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        for words in (line.split(" ") for line in lines):
            if words[4] == point:
                major, minor = map(int, words[2].split(":"))
                number = (major << 20) | minor
    return number


class Count:
    """What one opcode came to."""

    def __init__(self):
        self.count = 0
        self.seconds = 0.0
        self.errors = collections.Counter()


class Trips:
    """The result of one traced command."""

    def __init__(self):
        self.opcodes = collections.defaultdict(Count)
        self.syscalls = collections.Counter()
        self.reads = 0
        self.lost = 0
        self.seconds = 0.0
        self.callers = collections.Counter()

    @property
    def requests(self):
        return sum(c.count for c in self.opcodes.values())

    @property
    def waited(self):
        """Requests that some process waited for."""
        return sum(c.count for name, c in self.opcodes.items() if SYNC_WAITED.get(name, True))

    def as_json(self):
        return {"requests": self.requests, "waited": self.waited, "forgets": self.forgets, "lost": self.lost,
                "seconds": self.seconds, "syscalls": dict(self.syscalls),
                "opcodes": {name: {"count": c.count, "seconds": c.seconds, "errors": dict(c.errors)}
                            for name, c in self.opcodes.items()}}

    @property
    def forgets(self):
        return max(0, self.reads - self.requests)


class Tracer:
    """Two trace instances of our own, so that nobody else's tracing is touched."""

    def __init__(self, machine):
        if not is_root():
            die("counting trips needs root (the kernel's trace events)")
        self.machine = machine
        self.tracefs = TRACEFS
        if not os.path.isdir(os.path.join(TRACEFS, "instances")):
            # in our own mount namespace: nobody else sees it
            subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACEFS], check=True)
        if not os.path.isdir(os.path.join(TRACEFS, "events/fuse/fuse_request_send")):
            die("this kernel has no trace event fuse:fuse_request_send (Linux 6.8 has)")
        self.fuse = os.path.join(TRACEFS, "instances", f"legato-bench-{os.getpid()}-fuse")
        self.calls = os.path.join(TRACEFS, "instances", f"legato-bench-{os.getpid()}-calls")
        machine.at_end.append(self.close)
        for instance in (self.fuse, self.calls):
            os.mkdir(instance)
            put(f"{instance}/tracing_on", "0")
            put(f"{instance}/buffer_size_kb", str(BUFFER_KB))
        self.names = syscall_names()

    def close(self):
        for instance in (self.fuse, self.calls):
            if os.path.isdir(instance):
                put(f"{instance}/tracing_on", "0")
                os.rmdir(instance)

    def begin(self, view, pids):
        number = device_of(view)
        for event in ("fuse_request_send", "fuse_request_end"):
            put(f"{self.fuse}/events/fuse/{event}/filter", f"connection == {number}")
            put(f"{self.fuse}/events/fuse/{event}/enable", "1")
        threads = [tid for pid in pids for tid in os.listdir(f"/proc/{pid}/task")]
        put(f"{self.calls}/options/event-fork", "1")
        put(f"{self.calls}/set_event_pid", " ".join(threads))
        if threads:
            put(f"{self.calls}/events/raw_syscalls/sys_enter/enable", "1")
        for instance in (self.fuse, self.calls):
            put(f"{instance}/trace", "")
            put(f"{instance}/tracing_on", "1")

    def end(self, seconds):
        for instance in (self.fuse, self.calls):
            put(f"{instance}/tracing_on", "0")
        put(f"{self.calls}/events/raw_syscalls/sys_enter/enable", "0")
        put(f"{self.calls}/set_event_pid", "")
        trips = Trips()
        trips.seconds = seconds
        self._read_requests(trips)
        self._read_calls(trips)
        for event in ("fuse_request_send", "fuse_request_end"):
            put(f"{self.fuse}/events/fuse/{event}/enable", "0")
        for instance in (self.fuse, self.calls):
            put(f"{instance}/trace", "")
        return trips

    def _lost(self, instance):
        lost = 0
        for cpu in os.listdir(f"{instance}/per_cpu"):
            with open(f"{instance}/per_cpu/{cpu}/stats", encoding="ascii") as lines:
                for line in lines:
                    if line.startswith(("overrun", "dropped", "commit overrun")):
                        lost += int(line.split(":")[1])
        return lost

    def _read_requests(self, trips):
        open_requests = {}
        trips.lost += self._lost(self.fuse)
        with open(f"{self.fuse}/trace", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                m = LINE.match(line)
                if not m:
                    continue
                word = m[5].split()
                if m[4] == "fuse_request_send":
                    name = word[6].strip("()").removeprefix("FUSE_")
                    trips.opcodes[name].count += 1
                    trips.callers[m[1]] += 1
                    open_requests[word[3]] = (name, float(m[3]))
                elif word[3] in open_requests:
                    name, since = open_requests.pop(word[3])
                    trips.opcodes[name].seconds += float(m[3]) - since
                    error = int(word[7])
                    if error:
                        trips.opcodes[name].errors[os.strerror(-error)] += 1

    def _read_calls(self, trips):
        trips.lost += self._lost(self.calls)
        with open(f"{self.calls}/trace", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                m = re.search(r"sys_enter: NR (\d+) \(([0-9a-f]+)", line)
                if m:
                    trips.syscalls[self.names.get(int(m[1]), m[1])] += 1
        # a reader that waits has its read counted when it began: at most one per thread too many or few
        trips.reads = trips.syscalls.get("read", 0)


def table(row, trips, files):
    """The lines of one row: requests per opcode, then the daemon's system calls."""
    per = f"{trips.requests / files:.2f} a file ({files} files)" if files else ""
    lines = [f"### {row}", "",
             f"{trips.requests} requests, {trips.waited} of them waited for, {per}; {trips.seconds * 1000:.0f} ms in all, "
             f"traced; {trips.forgets} messages of forgets" + (f"; **{trips.lost} events lost**" if trips.lost else ""), "",
             "| opcode | requests | a file | µs each | ms | errors |", "|---|---:|---:|---:|---:|---|"]
    for name, c in sorted(trips.opcodes.items(), key=lambda item: -item[1].count):
        errors = ", ".join(f"{count} {text}" for text, count in c.errors.most_common())
        share = f"{c.count / files:.2f}" if files else ""
        lines.append(f"| {name} | {c.count} | {share} | {c.seconds / c.count * 1e6:.0f} | {c.seconds * 1000:.0f} | {errors} |")
    calls = sum(trips.syscalls.values())
    if calls and trips.requests:
        top = ", ".join(f"{name} {count / (files or 1):.2f}" if files else f"{name} {count}"
                        for name, count in trips.syscalls.most_common(14))
        lines += ["", f"System calls of the daemon: {calls}, {calls / trips.requests:.1f} a request"
                  f"{', a file' if files else ''}: {top}"]
    return "\n".join(lines) + "\n"


def compare(old, new):
    """Requests a file, then and now, of what changed by more than chance (a timer that ran out)."""
    lines = ["requests a file, then and now", "", "| row | requests | opcodes |", "|---|---:|---|"]
    for row, by_subject in new.items():
        for name, now in by_subject.items():
            then = old.get(row, {}).get(name)
            if not then:
                continue
            changes = []
            for opcode in sorted(set(then["opcodes"]) | set(now["opcodes"])):
                before, after = (t["opcodes"].get(opcode, {"count": 0})["count"] / t["files"] for t in (then, now))
                if abs(after - before) >= 0.02:
                    changes.append(f"{opcode} {before:.2f} → {after:.2f}")
            totals = " → ".join(f"{t['requests'] / t['files']:.2f}" for t in (then, now))
            calls = " → ".join(f"{sum(t['syscalls'].values()) / t['files']:.1f}" for t in (then, now))
            lines.append(f"| {row} on {name} | {totals} | {', '.join(changes)}; system calls {calls} |")
    return "\n".join(lines)
