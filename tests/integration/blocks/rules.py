#!/usr/bin/env python3
"""Large files of the base, copied up by blocks, rule by rule.

usage: rules.py [--user]
"""

import errno
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "journal"))
import journal  # noqa: E402

BLOCK = 4096
BIG = 64 * BLOCK + 10
LONG_AGO = 10**9
tap = journal.Tap()


def check(name, *pairs):
    """Passes where each pair is equal."""
    tap.test(name, [f"{got!r:.300} is not {wanted!r:.300}"
                    for got, wanted in pairs if got != wanted])


class Case(journal.Execution):
    """A view over a base with one large file."""

    def __init__(self, size=BIG, **more):
        super().__init__()
        self.old = os.urandom(size)
        self.put("big", self.old)
        self.write_manifest(**more)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.remove()

    def put(self, name, data):
        path = os.path.join(self.base, name)
        with open(path, "wb") as file:
            file.write(data)
        os.utime(path, (LONG_AGO, LONG_AGO))

    def at(self, name):
        return os.path.join(self.view, name)

    def upper(self, name):
        return os.path.join(self.path, "views", "work", "upper", name)

    def links(self):
        return sorted(os.listdir(
            os.path.join(self.path, "views", "work", "links")))

    def write(self, name, off, data):
        fd = os.open(self.at(name), os.O_WRONLY)
        try:
            os.pwrite(fd, data, off)
        finally:
            os.close(fd)

    def read(self, name):
        """Past the kernel's cache: what the daemon has."""
        fd = os.open(self.at(name), os.O_RDONLY)
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            size = os.fstat(fd).st_size
            return os.pread(fd, size, 0)
        finally:
            os.close(fd)

    def block(self, name, number):
        """The same of one block, or the error's name."""
        fd = os.open(self.at(name), os.O_RDONLY)
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            return os.pread(fd, BLOCK, number * BLOCK)
        except OSError as error:
            return errno.errorcode[error.errno]
        finally:
            os.close(fd)

    def next_data(self, name, off):
        fd = os.open(self.at(name), os.O_RDONLY)
        try:
            return os.lseek(fd, off, os.SEEK_DATA)
        except OSError as error:
            return errno.errorcode[error.errno]
        finally:
            os.close(fd)

    def again(self):
        self.stop()
        self.serve("--blocks-from", "8192")

    def diff(self, *arguments, verb=()):
        done = subprocess.run(
            [os.environ["LEGATO_DIFF"], *verb, "--scratch-dir",
             os.path.dirname(self.path), "--id", os.path.basename(self.path),
             *arguments],
            capture_output=True, check=False)
        return done.stdout, done.returncode, done.stderr


def begin(*options, **more):
    case = Case(**more)
    case.serve("--blocks-from", "8192", *options)
    return case


def patched(old, off, data):
    return old[:off] + data + old[off + len(data):]


def moved_bytes(pid):
    """What the process has read and written since it began."""
    with open(f"/proc/{pid}/io") as file:
        return sum(int(line.split()[1]) for line in file.readlines()[:2])


def a_page_of_ten_gigabytes():
    """In bytes, not in seconds, which a busy machine decides. A confined
    daemon tells its user nothing."""
    with begin("--no-confine", size=BLOCK) as case:
        path = os.path.join(case.base, "huge")
        with open(path, "wb") as file:
            file.write(case.old * 1000)
            file.truncate(10 * 2**30)
        os.utime(path, (LONG_AGO, LONG_AGO))
        before = moved_bytes(case.daemon.pid)
        began = time.monotonic()
        fd = os.open(case.at("huge"), os.O_RDWR)
        os.pwrite(fd, b"x" * BLOCK, 5 * 10**9)
        os.fsync(fd)
        os.close(fd)
        took = time.monotonic() - began
        moved = moved_bytes(case.daemon.pid) - before
        used = os.stat(case.upper("huge")).st_blocks * 512
        links = os.path.join(case.path, "views", "work", "links")
        used += sum(os.stat(os.path.join(links, name)).st_blocks * 512
                    for name in case.links())
        print(f"# {took * 1000:.1f} ms, {moved} bytes moved, "
              f"{used >> 10} KiB on disk", flush=True)
        check("a page of a file of 10 GiB is a page",
              (used <= 2**20, True), (used > 0, True),
              (moved < 2**18, True),
              (os.stat(case.at("huge")).st_size, 10 * 2**30))


def opening_copies_nothing():
    with begin() as case:
        os.close(os.open(case.at("big"), os.O_RDWR))
        check("opening for writing copies nothing", (os.listdir(
            os.path.dirname(case.upper("big"))), []))
        ino = os.stat(case.at("big")).st_ino
        os.chmod(case.at("big"), 0o600)
        blocks = os.stat(case.upper("big")).st_blocks
        check("changing its mode copies no data", (blocks < 16, True),
              (case.read("big"), case.old),
              (os.stat(case.at("big")).st_blocks * 512 >= BIG, True))
        case.again()
        check("its number stays", (os.stat(case.at("big")).st_ino, ino))
        os.truncate(case.at("big"), 0)
        check("truncated to nothing it is an ordinary file",
              (case.links(), []), (case.read("big"), b""))


def all_blocks_written():
    with begin() as case:
        case.write("big", 10, b"x")
        map_there = len(case.links())
        case.write("big", 0, b"y" * BIG)
        check("with all blocks written it is an ordinary file",
              (map_there, 1), (case.links(), []),
              (case.read("big"), b"y" * BIG))
        with open(case.upper("big"), "rb") as file:
            check("and other readers find it whole",
                  (file.read(), b"y" * BIG))


def the_base_is_renamed():
    with begin() as case:
        case.write("big", 5 * BLOCK, b"x" * BLOCK)
        os.rename(os.path.join(case.base, "big"),
                  os.path.join(case.base, "other"))
        case.put("big", b"new" * 10000)
        wanted = patched(case.old, 5 * BLOCK, b"x" * BLOCK)
        check("a base file that is replaced: the view goes on with the old",
              (case.read("big"), wanted))
        case.again()
        check("served again, what was not copied is an error",
              (case.block("big", 0), "EIO"),
              (case.block("big", 5), b"x" * BLOCK),
              ("the base has changed" in case.log(), True))
        out, _, _ = case.diff("--name-status")
        check("and the diff says that the base moved",
              (b"base moved" in out or b"moved" in case.diff()[0] +
               case.diff()[2], True), (b"big" in out, True))


def the_base_is_written():
    with begin() as case:
        case.write("big", 5 * BLOCK, b"x" * BLOCK)
        with open(os.path.join(case.base, "big"), "r+b") as file:
            file.write(b"new")
        check("a base file that is modified: no mixture",
              (case.block("big", 40), "EIO"),
              (case.block("big", 5), b"x" * BLOCK))
        os.truncate(os.path.join(case.base, "big"), 0)
        check("nor are there holes where its data was",
              (case.next_data("big", 6 * BLOCK), "EIO"),
              (case.next_data("big", 0), "EIO"))
        case.write("big", 40 * BLOCK, b"z" * BLOCK)
        check("what is written whole is there",
              (case.block("big", 40), b"z" * BLOCK))
        os.truncate(case.at("big"), 0)
        case.write("big", 0, b"mine")
        check("and it can be made anew", (case.read("big"), b"mine"),
              (case.links(), []))


def the_map_is_broken():
    with begin() as case:
        case.put("second", b"2" * BIG)
        case.write("big", 5 * BLOCK, b"x" * BLOCK)
        case.write("second", 0, b"x")
        case.stop()
        ino = os.stat(case.upper("big")).st_ino
        path = os.path.join(case.path, "views", "work", "links", f"p{ino:x}")
        with open(path, "r+b") as file:
            file.write(b"garbage")
        case.serve("--blocks-from", "8192")
        check("a broken map costs that file only",
              (case.block("big", 5), "EIO"),
              (case.read("second")[:2], b"x2"),
              ("can't be used" in case.log(), True))
        os.rename(case.at("big"), case.at("moved"))
        os.unlink(case.at("moved"))
        check("which can be renamed and removed",
              (sorted(os.listdir(case.view)), ["second"]))


def names():
    with begin() as case:
        os.mkdir(os.path.join(case.base, "dir"))
        case.put("dir/in", case.old)
        os.link(os.path.join(case.base, "big"),
                os.path.join(case.base, "twin"))
        case.write("dir/in", 9, b"x")
        os.rename(case.at("dir"), case.at("renamed"))
        wanted = patched(case.old, 9, b"x")
        check("in a renamed folder", (case.read("renamed/in"), wanted))
        case.write("big", BLOCK + 1, b"both")
        wanted = patched(case.old, BLOCK + 1, b"both")
        check("through another name", (case.read("twin"), wanted))
        case.again()
        check("after it was served again", (case.read("twin"), wanted),
              (case.read("renamed/in"), patched(case.old, 9, b"x")))
        fd = os.open(case.at("renamed/in"), os.O_RDWR)
        os.unlink(case.at("renamed/in"))
        os.pwrite(fd, b"still", 20 * BLOCK + 3)
        case_read = os.pread(fd, BIG, 0)
        os.close(fd)
        check("removed while it is open", (case_read, patched(
            patched(case.old, 9, b"x"), 20 * BLOCK + 3, b"still")))
        fd = os.open(case.at("big"), os.O_RDWR)
        os.unlink(case.at("big"))
        os.unlink(case.at("twin"))
        os.pwrite(fd, b"last", 30 * BLOCK)
        seen = os.pread(fd, BIG, 0)
        os.close(fd)
        check("removed with all its names",
              (seen, patched(wanted, 30 * BLOCK, b"last")),
              ([name for name in case.links() if name[0] == "p"], []))


def names_that_went():
    """The last name goes, and the node has had another one that went before."""
    with begin("--no-confine") as case:
        held = f"/proc/{case.daemon.pid}/fd"
        for i in range(21):
            name = case.at(f"single{i}")
            case.put(f"single{i}", case.old)
            case.write(f"single{i}", 7, b"x")
            os.link(name, name + "-other")
            os.unlink(name + "-other")
            fd = os.open(name, os.O_RDWR)
            os.unlink(name)
            os.pwrite(fd, b"y", 20 * BLOCK)
            last = os.pread(fd, 2, 20 * BLOCK)
            os.close(fd)
            if i == 0:
                before = len(os.listdir(held))
        check("removed after another name that went before",
              (last, b"y" + case.old[20 * BLOCK + 1:20 * BLOCK + 2]),
              ([name for name in case.links() if name[0] == "p"], []))
        ended = time.monotonic() + 20  # the kernel forgets in its own time
        while (len(os.listdir(held)) > before + 5 and
               time.monotonic() < ended):
            time.sleep(0.1)
        check("and nothing of it stays open",
              (len(os.listdir(held)) <= before + 5, True))


def difference():
    with begin() as case:
        text = b"".join(b"line %d\n" % i for i in range(9000))
        case.put("text", text)
        case.put("same", case.old)
        case.write("same", 3 * BLOCK, case.old[3 * BLOCK:4 * BLOCK])
        case.write("text", 40000, b"CHANGED")
        case.write("big", 5 * BLOCK, b"x" * BLOCK)
        out, status, errors = case.diff("--name-status")
        check("touched but equal is no change", (out, b"M f\tbig\nM f\ttext\n"),
              (status, 0), (errors, b""))
        patch = case.diff("--patch", "--", "text")[0]
        check("a patch has the changed lines", (patch.count(b"\n+"), 2),
              (b"CHANGED" in patch, True))
        for form in ("tar", "oci", "patch"):
            out, status, errors = case.diff("--format", form,
                                              verb=("export",))
            check(f"exported as {form}", (status, 0), (errors, b""),
                  (b"CHANGED" in out, True))
        os.rename(case.at("text"), case.at("new-name"))
        out, status, errors = case.diff("--name-status")
        check("a rename is one", (errors, b""),
              (b"text\tnew-name\n" in out, True))
        out, status, errors = case.diff(verb=("apply",))
        check("applied", (status, 0))
        with open(os.path.join(case.base, "big"), "rb") as big, open(
                os.path.join(case.base, "new-name"), "rb") as moved:
            check("the base has all of it",
                  (big.read(), patched(case.old, 5 * BLOCK, b"x" * BLOCK)),
                  (moved.read(), patched(text, 40000, b"CHANGED")))


def quota():
    with begin(size=1000 * BLOCK, quota={
            "size": 100 * BLOCK, "files": 1000, "min_free": 0}) as case:
        case.write("big", 5 * BLOCK, b"x" * BLOCK)
        fd = os.open(case.at("big"), os.O_WRONLY)
        done, error = 0, None
        try:
            while done < 900 * BLOCK:
                done += os.pwrite(fd, b"y" * 7 * BLOCK, 100 * BLOCK + done)
        except OSError as found:
            error = errno.errorcode[found.errno]
        os.close(fd)
        wanted = patched(patched(case.old, 5 * BLOCK, b"x" * BLOCK),
                         100 * BLOCK, b"y" * done)
        check("only what is written counts for the quota",
              (error, "ENOSPC"), (50 * BLOCK < done < 100 * BLOCK, True),
              (case.read("big"), wanted))
        os.unlink(case.at("big"))
        with open(case.at("new"), "wb") as file:
            file.write(b"n" * 60 * BLOCK)
        check("and is free again once it is removed",
              (os.stat(case.at("new")).st_size, 60 * BLOCK))


def main():
    journal.begin()
    for rule in (opening_copies_nothing, all_blocks_written,
                 the_base_is_renamed, the_base_is_written, the_map_is_broken,
                 names, names_that_went, difference, quota, a_page_of_ten_gigabytes):
        rule()
    tap.finish()


if __name__ == "__main__":
    main()
