#!/usr/bin/env python3
"""Random input and output on large files of the base, in a view that copies them
up by blocks, and on plain copies of them: the same results, also after the view
was served again and after SIGKILL of the daemon.

usage: fsx.py [--user] [--ops N] [--seed N] [--seeds N] [--sparse]

Each seed is a run of its own. A SIGKILL in the middle of a write leaves each
byte of its range old or new, and the others as they were. At the end of a run
what legato-diff exports must be the plain files, too, and nothing may be left
beside the upper. A difference prints the seed and the last operations.
"""

import argparse
import ctypes
import errno
import mmap
import os
import random
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "journal"))
import journal  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64,
                           ctypes.c_int64]
KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE = 1, 2, 16
BLOCK = 4096
# In a base, and large; the odd end makes a last block that is not whole.
SIZES = {"a": 40 * BLOCK + 1234, "b": 300 * BLOCK, "c": 7 * BLOCK + 1}
LONG_AGO = 10**9
SHOWN = 30


class Difference(Exception):
    """The view is not as the plain copy."""


def content(seed, size, sparse):
    rng = random.Random(seed)
    data = bytearray()
    while len(data) < size:
        zeros = sparse and rng.random() < 0.5
        piece = rng.randrange(1, 9 * BLOCK)
        data += bytes(piece) if zeros else rng.randbytes(piece)
    return bytes(data[:size])


def write_sparse(path, data):
    """Blocks of zeros are holes."""
    with open(path, "wb") as file:
        for at in range(0, len(data), BLOCK):
            piece = data[at:at + BLOCK]
            if piece.strip(b"\0"):
                file.seek(at)
                file.write(piece)
        file.truncate(len(data))


def read_whole(path):
    with open(path, "rb") as file:
        return file.read()


def fallocate(fd, mode, off, size):
    if LIBC.fallocate(fd, mode, off, size):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class Run:
    def __init__(self, seed, sparse):
        self.random = random.Random(seed)
        self.sparse = sparse
        self.done = []
        self.execution = journal.Execution()
        # On the same disk, whose fallocate is asked for the same.
        self.plain = os.path.join(self.execution.top, "plain")
        os.mkdir(self.plain)
        self.names = list(SIZES)
        self.fds = {}
        for number, (name, size) in enumerate(SIZES.items()):
            data = content(seed * 10 + number, size, sparse)
            for folder in (self.execution.base, self.plain):
                write_sparse(os.path.join(folder, name), data)
                os.utime(os.path.join(folder, name), (LONG_AGO, LONG_AGO))
        self.execution.write_manifest()
        self.serve()

    def serve(self):
        self.execution.serve("--blocks-from", str(2 * BLOCK))

    def both(self, name):
        return (os.path.join(self.plain, name),
                os.path.join(self.execution.view, name))

    def call(self, what, name, function):
        """`function(path)` on both sides; the same result or errno."""
        results = []
        for path in self.both(name):
            try:
                results.append(function(path))
            except OSError as error:
                results.append(errno.errorcode[error.errno])
        if results[0] != results[1]:
            raise Difference(f"{what} {name}: plain {results[0]!r:.200}, "
                             f"view {results[1]!r:.200}")

    def with_fd(self, flags, function):
        def run(path):
            fd = os.open(path, flags)
            try:
                return function(fd)
            finally:
                os.close(fd)
        return run

    # ------------------------------------------------------------ operations

    def place(self, name):
        """An offset that is often at, or one off, a block's border."""
        size = os.stat(self.both(name)[0]).st_size
        off = self.random.randrange(0, size + 2 * BLOCK)
        kind = self.random.random()
        if kind < 0.3:
            off -= off % BLOCK
        elif kind < 0.4:
            off = max(off - off % BLOCK + self.random.choice([-1, 1]), 0)
        return off

    def length(self):
        return self.random.choice([
            1, 10, BLOCK, self.random.randrange(1, BLOCK),
            self.random.randrange(1, 5 * BLOCK), 3 * BLOCK,
            self.random.randrange(1, 60 * BLOCK)])

    def write(self, name):
        off, data = self.place(name), self.random.randbytes(self.length())
        self.call(f"write {off} {len(data)}", name, self.with_fd(
            os.O_WRONLY, lambda fd: os.pwrite(fd, data, off)))

    def append(self, name):
        data = self.random.randbytes(self.random.randrange(1, 3 * BLOCK))
        self.call(f"append {len(data)}", name, self.with_fd(
            os.O_WRONLY | os.O_APPEND, lambda fd: os.write(fd, data)))

    def read(self, name):
        off, size = self.place(name), self.length()
        self.call(f"read {off} {size}", name, self.with_fd(
            os.O_RDONLY, lambda fd: os.pread(fd, size, off)))

    def map_write(self, name):
        size = os.stat(self.both(name)[0]).st_size
        if not size:
            return
        off = self.random.randrange(size)
        data = self.random.randbytes(min(self.length(), size - off))

        def change(fd):
            with mmap.mmap(fd, size) as mapped:
                mapped[off:off + len(data)] = data
                mapped.flush()
        self.call(f"map {off} {len(data)}", name,
                  self.with_fd(os.O_RDWR, change))

    def truncate(self, name):
        off = self.place(name)
        if self.random.random() < 0.1:
            off = 0
        self.call(f"truncate {off}", name, lambda path: os.truncate(path, off))

    def open_trunc(self, name):
        if self.random.random() < 0.1:
            self.call("open O_TRUNC", name, self.with_fd(
                os.O_WRONLY | os.O_TRUNC, lambda fd: None))

    def allocate(self, name):
        off, size = self.place(name), self.length()
        mode = self.random.choice([0, KEEP_SIZE, PUNCH_HOLE | KEEP_SIZE,
                                   PUNCH_HOLE | KEEP_SIZE, ZERO_RANGE,
                                   ZERO_RANGE | KEEP_SIZE])
        self.call(f"fallocate {mode} {off} {size}", name, self.with_fd(
            os.O_RDWR, lambda fd: fallocate(fd, mode, off, size)))

    def copy_range(self, name):
        """From one file to another, which is not this one."""
        to = self.random.choice([n for n in self.names if n != name])
        off, to_off, size = self.place(name), self.place(to), self.length()

        def change(path):
            source = os.open(path, os.O_RDONLY)
            target = os.open(os.path.join(os.path.dirname(path), to),
                             os.O_WRONLY)
            try:
                left, start = size, off
                while left:
                    n = os.copy_file_range(source, target, left, start,
                                           to_off + start - off)
                    if not n:
                        break
                    left, start = left - n, start + n
                return size - left
            finally:
                os.close(source)
                os.close(target)
        self.call(f"copy_range {off} {size} to {to} {to_off}", name, change)

    def fsync(self, name):
        self.call("fsync", name, self.with_fd(os.O_RDWR, os.fsync))

    def rename(self, name):
        new = f"r{self.random.randrange(10**6)}"
        for path in self.both(name):
            os.rename(path, os.path.join(os.path.dirname(path), new))
        self.names[self.names.index(name)] = new

    def attributes(self, name):
        self.call("chmod", name, lambda path: os.chmod(path, 0o640))
        self.call("utime", name, lambda path: os.utime(path, ns=(5, 7)))
        self.call("stat", name, lambda path: (
            os.stat(path).st_size, os.stat(path).st_mode,
            os.stat(path).st_mtime_ns))

    def holes(self, name):
        """What is said to be a hole must read as zeros."""
        path = self.both(name)[1]
        data = read_whole(self.both(name)[0])
        with open(path, "rb") as file:
            at = 0
            while at < len(data):
                try:
                    start = os.lseek(file.fileno(), at, os.SEEK_DATA)
                except OSError as error:
                    if error.errno != errno.ENXIO:
                        raise
                    start = len(data)
                if data[at:start].strip(b"\0"):
                    raise Difference(f"{name}: no hole at {at} to {start}")
                if start >= len(data):
                    break
                at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
                if at <= start:
                    raise Difference(f"{name}: no data at {start}")

    def link_and_unlink(self, name):
        for path in self.both(name):
            os.link(path, path + ".link")
            os.unlink(path)
            os.rename(path + ".link", path)

    # ------------------------------------------------------------ the daemon

    def again(self, name):
        del name
        if self.execution.stop():
            raise Difference("the daemon failed")
        self.serve()

    def kill(self, name):
        del name
        self.execution.kill()
        self.serve()

    def kill_in_write(self, name):
        off, data = self.place(name), self.random.randbytes(
            self.random.randrange(1, 200 * BLOCK))
        plain, view = self.both(name)
        before = read_whole(plain)
        fd = os.open(view, os.O_WRONLY)

        def write():
            try:
                os.pwrite(fd, data, off)
            except OSError:
                pass

        thread = threading.Thread(target=write)
        thread.start()
        time.sleep(self.random.random() * 0.003)
        self.execution.kill()
        thread.join()
        try:
            os.close(fd)
        except OSError:
            pass
        self.serve()
        after = read_whole(view)
        self.check_torn(name, before, after, off, data)
        with open(plain, "r+b") as file:
            file.write(after)

    def check_torn(self, name, before, after, off, data):
        size = max(len(before), off + len(data))
        old = before.ljust(size, b"\0")
        new = old[:off] + data + old[off + len(data):]
        if len(after) < len(before) or len(after) > size:
            raise Difference(f"{name} has {len(after)} bytes after a kill")
        for i, byte in enumerate(after):
            if byte not in (old[i], new[i]):
                raise Difference(f"{name}: byte {i} is neither old nor new "
                                 f"after a kill in write {off} {len(data)}")

    STEPS = {write: 30, append: 5, read: 25, map_write: 8, truncate: 6,
             open_trunc: 2, allocate: 10, copy_range: 5, fsync: 2, rename: 2,
             attributes: 2, holes: 4, link_and_unlink: 1, again: 2, kill: 2,
             kill_in_write: 2}

    def check(self):
        for name in self.names:
            plain, view = map(read_whole, self.both(name))
            if plain != view:
                at = next((i for i, (x, y) in enumerate(zip(plain, view))
                           if x != y), min(len(plain), len(view)))
                raise Difference(f"{name} differs at {at} "
                                 f"(sizes {len(plain)} and {len(view)})")

    def check_base(self, seed):
        for number, (name, size) in enumerate(SIZES.items()):
            if read_whole(os.path.join(self.execution.base, name)) != content(
                    seed * 10 + number, size, self.sparse):
                raise Difference(f"the base's {name} was changed")

    def check_export(self):
        """What is exported is whole."""
        to = os.path.join(self.execution.top, "export")
        done = subprocess.run(
            [os.environ["LEGATO_DIFF"], "export", "--scratch-dir",
             os.path.dirname(self.execution.path), "--format", "dir",
             "--output", to, "--id", os.path.basename(self.execution.path)],
            capture_output=True, check=False)
        if done.returncode:
            raise Difference(f"export: {done.stderr!r}")
        for name in self.names:
            if read_whole(os.path.join(to, name)) != read_whole(
                    self.both(name)[0]):
                raise Difference(f"{name} is another when exported")

    def check_leftovers(self):
        """Maps go with their files."""
        for name in self.names:
            os.unlink(self.both(name)[1])
        links = os.path.join(self.execution.path, "views", "work", "links")
        if os.listdir(links):
            raise Difference(f"left over: {os.listdir(links)}")

    def step(self):
        step = self.random.choices(list(self.STEPS),
                                   list(self.STEPS.values()))[0]
        name = self.random.choice(self.names)
        self.done.append(f"{step.__name__} {name}")
        step(self, name)

    def run(self, seed, ops):
        for number in range(ops):
            self.step()
            if number % 25 == 0:
                self.check()
        self.check()
        self.check_base(seed)
        self.check_export()
        self.check_leftovers()


def main():
    journal.begin()
    parser = argparse.ArgumentParser()
    parser.add_argument("--user", action="store_true")
    parser.add_argument("--sparse", action="store_true")
    parser.add_argument("--ops", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    tap = journal.Tap()
    for seed in range(options.seed, options.seed + options.seeds):
        wrong = []
        run = Run(seed, options.sparse)
        try:
            run.run(seed, options.ops)
        except (Difference, OSError) as error:
            wrong = [f"{error!r}", *run.done[-SHOWN:],
                     *run.execution.log().splitlines()[-5:]]
        finally:
            run.execution.remove()
        tap.test(f"{options.ops} operations, seed {seed}", wrong)
    tap.finish()


if __name__ == "__main__":
    main()
