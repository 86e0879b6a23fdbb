"""After every kind of change, what is counted is what the disk says.

usage: count.py VIEW EXECUTION; prints a line for each kind: "ok" or "not ok".
"""
import ctypes
import errno
import mmap
import os
import random
import sys

from usage import Execution

view, execution = sys.argv[1], Execution(sys.argv[2])
os.chdir(view)
libc = ctypes.CDLL(None, use_errno=True)
KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE = 1, 2, 16
EXCHANGE = 2
SYMLINK_FOLLOW = 0x400


def fallocate(fd, mode, offset, size):
    if libc.fallocate(fd, mode, ctypes.c_int64(offset), ctypes.c_int64(size)):
        raise OSError(ctypes.get_errno(), "fallocate")


def renameat2(old, new, flags):
    if libc.renameat2(-100, old.encode(), -100, new.encode(), flags):
        raise OSError(ctypes.get_errno(), "renameat2")


def check(what, nameless=0):
    differs = execution.agrees(nameless)
    print(f"not ok {what} # {differs}" if differs else f"ok {what}")
    if differs:
        sys.exit(1)  # and so would all that come after it


def write(path, size, mode="wb"):
    with open(path, mode) as file:
        file.write(os.urandom(size))


check("nothing")
write("new", 100000)
check("a file is written")
write("new", 100, "ab")
check("appended to")
os.truncate("new", 5000)
check("cut")
os.truncate("new", 50_000_000)
check("made sparse")
with open("new", "r+b") as file:
    file.seek(20_000_000)
    file.write(b"x" * 10000)
check("written to in a hole")
fd = os.open("new", os.O_RDWR)
fallocate(fd, 0, 0, 1 << 20)
check("fallocate")
fallocate(fd, KEEP_SIZE, 60_000_000, 1 << 20)
check("fallocate behind the end")
fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 0, 1 << 19)
check("a hole punched")
fallocate(fd, ZERO_RANGE, 0, 1 << 18)
check("a range zeroed")
os.close(fd)
with open("mapped", "w+b") as file:
    file.truncate(1 << 20)
    with mmap.mmap(file.fileno(), 1 << 20) as map_:
        for i in range(0, 1 << 20, 1 << 14):
            map_[i] = 1
        map_.flush()
    os.fsync(file.fileno())
check("written through a map")
with open("big", "rb") as source, open("copied", "wb") as target:
    os.copy_file_range(source.fileno(), target.fileno(), 200000)
check("copy_file_range")
with open("big", "r+b") as file:
    file.write(b"x")
check("a file copied up")
os.chmod("d/f", 0o600)
check("one copied up by chmod, with its folder")
os.truncate("many/1", 0)
check("one truncated at its copy-up")
os.setxattr("d/sub/g", "user.a", b"v" * 3000)
check("an attribute that takes a block")
os.removexattr("d/sub/g", "user.a")
check("removed")
os.setxattr("d", "user.a", b"v" * 3000)
check("a folder's attribute")
write("two", 20000)
check("a file with several names copied up")
os.unlink("two.link")
check("one of its names removed")
os.link("two", "two.more")
check("one more name")
for name in ("two", "two.more", "d/two.third"):
    os.unlink(name)
check("all of its names removed")
os.unlink("fifo")
check("a FIFO of the base removed")
os.chmod("many/2", 0o700)
os.rename("d/link", "d/link2")
check("a symbolic link of the base renamed")
os.unlink("d/link2")
check("and removed")
os.mkdir("dir")
os.symlink("x" * 200, "dir/long")
os.symlink("x", "dir/short")
os.mkfifo("dir/fifo")
check("made: a folder, links, a FIFO")
for i in range(400):
    write(f"dir/a-rather-long-name-so-that-the-folder-grows-{i:04}", 0)
check("a folder that grows")
os.rename("dir/short", "dir/other")
os.rename("dir/other", "dir/long")
check("renamed over another")
os.link("dir/fifo", "dir/fifo2")
os.unlink("dir/fifo")
check("one of two names removed")
os.rename("d", "moved")
check("a folder of the base renamed")
os.mkdir("d")
check("a folder made over a whiteout")
renameat2("d", "moved", EXCHANGE)
check("two exchanged")
os.rename("many/3", "many/4")
check("a file of the base renamed over another")
os.unlink("many/5")
check("a file of the base removed")
write("many/5", 10)
check("and made again")
os.link("many/5", "many/3")
check("a link over a whiteout")
os.unlink("many/6")
os.rename("many/7", "many/6")
check("renamed over a whiteout")
os.mkdir("taker")
os.unlink("many/8")
os.rename("taker", "many/8")
check("a folder renamed over a whiteout")
os.rmdir("many/8")
for name in os.listdir("many"):
    os.unlink("many/" + name)
check("all in a folder removed")
os.mkdir("empty")
os.rename("empty", "many")
check("a folder renamed over one that shows nothing")
os.rmdir("many")
check("removed")
os.rmdir("locked")
check("a folder of the base removed")
os.mkdir("locked")
os.chmod("locked", 0o000)
check("a folder without rights")
os.chmod("locked", 0o700)

fd = os.open("open", os.O_RDWR | os.O_CREAT)
os.write(fd, b"x" * 50000)
os.unlink("open")
check("removed while open", 1)
os.write(fd, b"x" * 50000)
check("and written to", 1)
os.ftruncate(fd, 0)
check("and cut", 1)
os.close(fd)
check("and closed")
fd = os.open("big", os.O_RDWR)
os.rename("copied", "big")
os.write(fd, b"y" * 1000)
check("replaced while open", 1)
os.close(fd)
check("and closed")
fd = os.open("moved", os.O_RDONLY)
os.chmod("moved", 0o711)
os.close(fd)
try:
    fd = os.open(".", os.O_TMPFILE | os.O_RDWR)
except OSError as error:
    if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR):
        raise
    print("ok O_TMPFILE # SKIP the kernel has none for FUSE")
else:
    os.write(fd, b"x" * 30000)
    check("O_TMPFILE", 1)
    if libc.linkat(-100, f"/proc/self/fd/{fd}".encode(), -100,
                   b"tmp-with-name", SYMLINK_FOLLOW):
        raise OSError(ctypes.get_errno(), "linkat")
    check("and given a name")
    os.close(fd)
    fd = os.open(".", os.O_TMPFILE | os.O_RDWR)
    os.write(fd, b"x" * 30000)
    os.close(fd)
    check("and closed without one")

random.seed(1)
for i in range(500):
    path = "random/" + str(random.randrange(20))
    os.makedirs("random", exist_ok=True)
    try:
        random.choice((
            lambda: write(path, random.randrange(20000)),
            lambda: os.unlink(path),
            lambda: os.truncate(path, random.randrange(50000)),
            lambda: os.rename(path, "random/" + str(random.randrange(20))),
            lambda: os.link(path, "random/" + str(random.randrange(20))),
            lambda: os.mkdir(path),
            lambda: os.rmdir(path),
            lambda: os.symlink("x" * random.randrange(1, 200), path),
        ))()
    except OSError:
        pass
check("500 random changes")
