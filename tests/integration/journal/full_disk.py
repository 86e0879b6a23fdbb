#!/usr/bin/env python3
"""A scratch disk without a byte left, on which a store into a mapped page may
need space: the daemon gives errors, and lives.

usage: full_disk.py

The disk is ext4 with blocks smaller than a page, as mkfs makes a small one. The
database is begun, and goes on, with each amount of space between nothing and
what it needs. (On btrfs, which copies what is written over, such a store waits
for minutes where the disk is full.)
"""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time

import journal

MAKE = ["mkfs.ext4", "-q", "-F", "-b", "1024", "-m", "0"]
SIZE = 16 << 20
# What the database needs to begin is more than the last.
LEFT_KIB = [0, 8, 11, 12, 13, 14, 15, 20]


class Disk:
    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="legato-test-")
        image = os.path.join(self.top, "image")
        self.path = os.path.join(self.top, "disk")
        os.mkdir(self.path)
        with open(image, "wb") as file:
            file.truncate(SIZE)
        self.mounted = subprocess.run(
            [*MAKE, image], capture_output=True, check=False).returncode == 0 and \
            subprocess.run(["mount", "-o", "loop", image, self.path],
                           capture_output=True, check=False).returncode == 0

    def fill(self, left=0):
        """Leaves about that many bytes."""
        holder = os.path.join(self.path, "holder")
        if left:
            with open(holder, "wb") as file:
                file.write(b"h" * left)
                os.fsync(file.fileno())
        fd = os.open(os.path.join(self.path, "filler"), os.O_WRONLY | os.O_CREAT)
        for size in (1 << 20, 1 << 16, 4096, 1024):
            try:
                while True:
                    os.write(fd, b"f" * size)
                    os.fsync(fd)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
        os.close(fd)
        if left:
            os.unlink(holder)
        os.sync()

    def empty(self):
        for name in ("filler", "holder"):
            try:
                os.unlink(os.path.join(self.path, name))
            except FileNotFoundError:
                pass
        os.sync()

    def remove(self):
        if self.mounted:
            subprocess.run(["umount", self.path], check=False)
        shutil.rmtree(self.top, ignore_errors=True)


def change(view, names):
    """Changes something, over and over; what is not an error of the disk's."""
    for i in names:
        for function in (lambda: os.mkdir(f"{view}/d{i}"),
                         lambda: os.rmdir(f"{view}/d{i}"),
                         lambda: os.rename(f"{view}/a", f"{view}/b"),
                         lambda: os.rename(f"{view}/b", f"{view}/a")):
            try:
                function()
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EIO, errno.ENOENT):
                    return f"'{os.strerror(error.errno)}' in the view"
    return None


def round_of(disk, left, warm):
    execution = journal.Execution(disk.path)
    try:
        open(os.path.join(execution.base, "a"), "w").close()
        execution.write_manifest()
        execution.serve()
        if warm:
            change(execution.view, range(3))
            database = os.path.join(execution.path, "journal", "journal.db-shm")
            journal.wait_for("the first fold", lambda: os.path.exists(database))
            os.sync()
        disk.fill(left)
        odd = change(execution.view, range(50))
        if warm:
            time.sleep(1.2)  # a fold is tried meanwhile, at least at the end
            odd = odd or change(execution.view, range(50))
        alive = execution.daemon.poll()
        status = execution.stop() if alive is None else alive
        return [f"{left} bytes left, warm: {warm}: the daemon ended with "
                f"{status}, {odd}"] if status < 0 or odd else []
    finally:
        execution.remove()
        disk.empty()


def main():
    if os.geteuid() != 0:
        journal.skip_all("making disks needs root")
    journal.begin()
    tap = journal.Tap()
    disk = Disk()
    try:
        if not disk.mounted:
            journal.skip_all("no ext4 can be made or mounted here")
        wrong = []
        for left in LEFT_KIB:
            wrong += round_of(disk, left << 10, False)
        wrong += round_of(disk, 0, True)
        tap.test("a full disk ends no daemon", wrong)
    finally:
        disk.remove()
    tap.finish()


if __name__ == "__main__":
    sys.exit(main())
