#!/usr/bin/env python3
"""legato-diff verify: silent about what the daemon did, of every kind, living
and ended; and it tells each thing that somebody else did to the upper."""

import json
import os
import shutil
import subprocess
import sys

import journal


def base(top):
    os.makedirs(f"{top}/d/e")
    os.makedirs(f"{top}/gone/deep")
    for name in ("a", "b", "c", "d/f", "d/e/g", "gone/x", "gone/deep/y", "keep",
                 "copied"):
        with open(f"{top}/{name}", "w") as file:
            file.write(name * 10)
    os.link(f"{top}/a", f"{top}/a2")
    os.symlink("a", f"{top}/link")


def work(view):
    """Something of each kind, in a view."""
    def write(name, text, mode="w"):
        with open(f"{view}/{name}", mode) as file:
            file.write(text)

    write("new", "new")
    write("a", "more", "a")
    write("d/f", "x", "r+")
    os.truncate(f"{view}/b", 3)
    os.rename(f"{view}/b", f"{view}/b1")
    os.rename(f"{view}/b1", f"{view}/b2")
    write("b2", "after", "a")
    os.rename(f"{view}/d", f"{view}/moved")
    write("moved/e/g", "in a directory that moved", "a")
    os.rename(f"{view}/moved/f", f"{view}/moved/e/f")
    os.rename(f"{view}/moved", f"{view}/d")
    os.rename(f"{view}/new", f"{view}/c")
    for name in ("gone/x", "gone/deep/y"):
        os.unlink(f"{view}/{name}")
    os.rmdir(f"{view}/gone/deep")
    os.rmdir(f"{view}/gone")
    os.mkdir(f"{view}/gone")
    write("gone/again", "again")
    os.link(f"{view}/gone/again", f"{view}/linked")
    os.symlink("nowhere", f"{view}/sym")
    os.mkfifo(f"{view}/fifo")
    os.chmod(f"{view}/keep", 0o600)
    os.utime(f"{view}/link", ns=(1, 2), follow_symlinks=False)
    os.setxattr(f"{view}/keep", "user.x", b"y")
    os.unlink(f"{view}/fifo")
    write("d/e/odd\n\udcff", "odd")
    fd = os.open(f"{view}/short", os.O_CREAT | os.O_RDWR, 0o640)
    os.unlink(f"{view}/short")
    os.write(fd, b"nameless")
    os.close(fd)
    for wrong in (lambda: os.rename(f"{view}/keep", f"{view}/d"),
                  lambda: os.rmdir(f"{view}/d"),
                  lambda: os.mkdir(f"{view}/keep")):
        try:
            wrong()
        except OSError:
            pass


def damages(upper):
    """What somebody else does to the upper, and the path of which it is told."""
    def write(name):
        with open(f"{upper}/{name}", "w") as file:
            file.write("not on record")

    return [
        ("a file that is not on record", "strange", lambda: write("strange")),
        ("a file that is gone", "b2", lambda: os.unlink(f"{upper}/b2")),
        ("a removed name that is back", "fifo", lambda: write("fifo")),
        ("another mode", "keep", lambda: os.chmod(f"{upper}/keep", 0o444)),
    ]


def verify(execution):
    scratch, name = os.path.split(execution.path)
    done = subprocess.run(
        [os.environ["LEGATO_DIFF"], "verify", "--json", "--scratch-dir", scratch,
         name], check=False, capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


def main():
    journal.begin()
    tap = journal.Tap()
    execution = journal.Execution()
    try:
        base(execution.base)
        execution.write_manifest()
        execution.serve()
        work(execution.view)
        tap.test("a living execution agrees", execution.verify())
        execution.kill()
        tap.test("so does one that was killed", execution.verify())
        execution.serve()
        execution.stop()
        tap.test("and one that ended", execution.verify())
        upper = os.path.join(execution.path, "views", "work", "upper")
        shutil.copy2(os.path.join(execution.base, "copied"), upper)
        tap.test("a copy that was made for a change that never came is none",
                 execution.verify())
        for name, path, damage in damages(upper):
            damage()
            status, told = verify(execution)
            paths = [d["path"] for d in told["disagreements"]] \
                if isinstance(told, dict) else told
            tap.test(f"{name} is told", [] if status == 1 and path in paths else
                     [f"{status}: {told}"])
        os.unlink(os.path.join(execution.path, "journal", "area"))
        os.truncate(os.path.join(execution.path, "journal", "journal.db"), 100)
        status, told = verify(execution)
        tap.test("a journal that can't be read is trouble",
                 [] if status == 2 else [f"{status}: {told}"])
    finally:
        execution.remove()
    tap.finish()


if __name__ == "__main__":
    sys.exit(main())
