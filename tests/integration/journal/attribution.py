#!/usr/bin/env python3
"""Who made a change: the programs and their parents, as the journal names them.

usage: attribution.py [--user]
"""

import mmap
import os
import subprocess
import sys
import threading

import journal

MAKEFILE = """\
CFLAGS = -O1
all: tool
tool: a.o b.o c.o
\t$(CC) -o $@ a.o b.o c.o
"""


def by_path(changes, op=None):
    found = {}
    for change in changes:
        if op in (None, change["op"]):
            found.setdefault(change["path"], []).append(change)
    return found


def run(view, *command):
    return subprocess.run(command, cwd=view, check=True,
                          stdout=subprocess.DEVNULL).returncode


def a_build(tap, execution):
    """Each object names its compiler's process, and its make above it."""
    run(execution.view, "make", "-j2")
    changes, processes = execution.journal()
    wrong = []
    made = by_path(changes, "create")
    for name in ("a.o", "b.o", "c.o", "tool"):
        change = made.get(name, [None])[-1]
        if not change:
            wrong.append(f"{name}: not on the record")
            continue
        commands = journal.lineage(change["process"], processes)
        programs = [os.path.basename(c[0]) for c in commands]
        maker = {"tool": ("ld", "collect2", "ld.bfd")}.get(name, ("as",))
        if programs[0] not in maker or "make" not in programs:
            wrong.append(f"{name}: made by {commands}")
        source = name[:-1] + "c"
        if name != "tool" and not any(source in c for c in commands):
            wrong.append(f"{name}: by the compiler of another file: {commands}")
    makes = [p for p in processes.values() if p["command"].split("\0")[0] == "make"]
    if len(makes) != 1:
        wrong.append(f"make is {len(makes)} processes")
    elif makes[0]["cwd"] != execution.view or not makes[0]["exe"].endswith("make"):
        wrong.append(f"make is not told right: {makes[0]}")
    tap.test("each object of a build names its compiler and make", wrong)


def exec_is_noticed(tap, execution):
    """A shell opens the file, and then becomes the program that writes it."""
    for i in range(20):
        run(execution.view, "sh", "-c", f"exec cat a.c > exec{i}")
    changes, processes = execution.journal()
    wrong = []
    for i in range(20):
        for change in by_path(changes).get(f"exec{i}", []):
            wanted = "sh" if change["op"] == "create" else "cat"
            command = processes[change["process"]]["command"].split("\0")
            if command[0] != wanted:
                wrong.append(f"{change['op']} of exec{i} by {command}")
    tap.test("a program is told from the shell that became it", wrong)


def threads_are_their_process(tap, execution):
    def write(i):
        with open(os.path.join(execution.view, f"thread{i}"), "w") as file:
            file.write("x")

    threads = [threading.Thread(target=write, args=[i]) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    changes, processes = execution.journal()
    seen = {c["process"] for c in changes if c["path"].startswith("thread")}
    pids = {processes[n]["pid"] for n in seen}
    tap.test("threads are one process", [] if pids == {os.getpid()} and
             len(seen) == 1 else [f"{seen}, {pids}, {os.getpid()}"])


def mapped_pages(tap, execution):
    """The kernel names nobody for them."""
    with open(os.path.join(execution.view, "mapped"), "w+b") as file:
        file.truncate(3 * mmap.PAGESIZE)
        with mmap.mmap(file.fileno(), 0) as pages:
            pages[0:5] = b"hello"
    changes, processes = execution.journal()
    found = [c for c in by_path(changes, "write").get("mapped", [])]
    wrong = [] if found else ["not on the record"]
    for change in found:
        if not change["by_opener"] or \
                processes[change["process"]]["pid"] != os.getpid():
            wrong.append(f"{change}")
    tap.test("pages of a map are put down to who used the file", wrong)


def each_operation(tap, execution):
    """Each once: the row that it gives."""
    at = os.path.join(execution.view, "each")
    os.mkdir(at)
    os.chdir(at)
    wanted = [("mkdir", "each", None)]

    def did(op, path, path2=None):
        wanted.append((op, f"each/{path}" if path else "each", path2))

    fd = os.open("f", os.O_CREAT | os.O_RDWR, 0o640)
    did("create", "f")
    os.write(fd, b"12345")
    did("write", "f")
    os.posix_fallocate(fd, 0, 10000)
    did("fallocate", "f")
    os.ftruncate(fd, 100)
    did("truncate", "f")
    os.chmod("f", 0o600)
    did("chmod", "f")
    os.chown("f", -1, os.getgid())
    did("chown", "f")
    os.utime("f", ns=(1, 2))
    did("utimens", "f")
    os.setxattr("f", "user.a", b"1")
    did("setxattr", "f", "user.a")
    os.removexattr("f", "user.a")
    did("removexattr", "f", "user.a")
    os.mkfifo("p")
    did("mknod", "p")
    os.symlink("f", "l")
    did("symlink", "l")
    os.link("f", "g")
    did("link", "f", "each/g")
    os.rename("g", "h")
    did("rename", "g", "each/h")
    os.unlink("h")
    did("unlink", "h")
    os.rename("f", "last")
    did("rename", "f", "each/last")
    os.unlink("last")
    did("unlink", "last")
    os.write(fd, b"without a name")
    did("write", "last")
    os.mkdir("d")
    did("mkdir", "d")
    os.rmdir("d")
    did("rmdir", "d")
    os.close(fd)
    os.close(os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600))
    did("tmpfile", "")
    os.chdir("/")
    changes, _ = execution.journal()
    seen = [(c["op"], c["path"], c.get("path2")) for c in changes
            if c["path"].split("/")[0] == "each"]
    wrong = [f"{s} instead of {w}" for s, w in zip(seen, wanted) if s != w]
    wrong += [f"failed: {c}" for c in changes if c["result"]]
    if len(seen) != len(wanted):
        wrong.append(f"{len(seen)} on the record, {len(wanted)} done")
    last = {c["op"]: c for c in changes if c["path"] == "each/f"}
    if last["write"]["nameless"] or not changes[-4]["nameless"]:
        wrong.append("a write to a file without a name is told as one to a name")
    tap.test("each operation gives its record", wrong)
    ino = last["create"]["ino"]
    wrong = [f"another file: {c}" for c in last.values() if c["ino"] != ino]
    for op, key, value in (("create", "mode_after", 0o100640),
                           ("chmod", "mode_after", 0o100600),
                           ("truncate", "size_after", 100),
                           ("fallocate", "bytes", 10000)):
        if last[op][key] != value:
            wrong.append(f"{key} of {op} is {last[op][key]}")
    tap.test("records tell the file, sizes and modes", wrong)


def no_journal(tap, execution):
    execution.serve("--no-journal")
    with open(os.path.join(execution.view, "silent"), "w") as file:
        file.write("x")
    status = execution.stop()
    changes, _ = execution.journal()
    tap.test("--no-journal keeps none", [c for c in changes if c["path"] ==
                                         "silent"] + ([status] if status else []))


def main():
    journal.begin()
    tap = journal.Tap()
    execution = journal.Execution()
    try:
        for name in ("a", "b", "c"):
            with open(os.path.join(execution.base, f"{name}.c"), "w") as file:
                file.write("int main(void)\n{\n\treturn 0;\n}\n" if name == "a"
                           else f"int {name};\n")
        with open(os.path.join(execution.base, "Makefile"), "w") as file:
            file.write(MAKEFILE)
        execution.write_manifest()
        execution.serve()
        a_build(tap, execution)
        exec_is_noticed(tap, execution)
        threads_are_their_process(tap, execution)
        mapped_pages(tap, execution)
        each_operation(tap, execution)
        before, processes = execution.journal()
        execution.stop()
        after = execution.journal()
        tap.test("all is there when it has ended",
                 [f"{b} before, {a} after" for b, a in
                  zip([*before, *processes.values()],
                      [*after[0], *after[1].values()]) if a != b])
        no_journal(tap, execution)
    finally:
        execution.remove()
    tap.finish()


if __name__ == "__main__":
    sys.exit(main())
