"""Runaway writers at the limit.

usage: limits.py VIEW EXECUTION SETTER...; SETTER with limits behind it sets
them. Prints a line for each: "ok" or "not ok".
"""
import ctypes
import errno
import mmap
import os
import subprocess
import sys

from usage import Execution

MIB = 1 << 20
LIMIT = 4 * MIB
# A folder's own block, and one of a disk's for keeping track of a file's.
OVERSHOOT = 8192
view, execution, setter = sys.argv[1], Execution(sys.argv[2]), sys.argv[3:]
os.chdir(view)
libc = ctypes.CDLL(None, use_errno=True)


def report(what, differs):
    print(f"not ok {what} # {differs}" if differs else f"ok {what}")


def set_limits(text):
    subprocess.run(setter + [text], check=True, stdout=subprocess.DEVNULL,
                   stdin=subprocess.DEVNULL)


def space_runs_out(call):
    """'' if it does, for want of space; and that is not by the disk."""
    try:
        for _ in range(100000):
            call()
    except OSError as error:
        return "" if error.errno == errno.ENOSPC else str(error)
    return "there was no end"


def within(limit=LIMIT):
    used = execution.page()[0]
    return f"{used} bytes are used" if used > limit + OVERSHOOT else ""


def goes_on():
    """After deleting, at once: without a wait of ours."""
    with open("again", "wb") as file:
        file.write(b"x" * 2 * MIB)
    os.unlink("again")
    return ""


def runaway(what, call, fd=-1):
    differs = space_runs_out(call)
    report(f"{what}: no space", differs)
    report(f"{what}: no more than the limit is used", within())
    report(f"{what}: what is counted is right", execution.agrees())
    if fd >= 0:
        os.close(fd)
    for name in os.listdir("."):
        if name not in ("base", "keep"):
            os.unlink(name)
    try:
        report(f"{what}: it goes on after deleting", goes_on())
    except OSError as error:
        report(f"{what}: it goes on after deleting", error)


set_limits("size=4M")
st = os.statvfs(".")
report("df tells the limit", "" if st.f_blocks * st.f_frsize == LIMIT
       else st.f_blocks * st.f_frsize)
report("and what is left", "" if st.f_bavail * st.f_frsize ==
       LIMIT - execution.page()[0] else st.f_bavail * st.f_frsize)

fd = os.open("one", os.O_WRONLY | os.O_CREAT)
runaway("one file", lambda: os.write(fd, b"x" * 10000), fd)
fd = os.open("appended", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
runaway("small appends", lambda: os.write(fd, b"x" * 4096), fd)
number = iter(range(1 << 30))


def one_more():
    with open(f"f{next(number)}", "wb") as file:
        file.write(b"x" * 20000)


runaway("many files", one_more)
fd = os.open("sparse", os.O_RDWR | os.O_CREAT)
runaway("a sparse file",
        lambda: os.pwrite(fd, b"x", next(number) * 65536), fd)
fd = os.open("allocated", os.O_RDWR | os.O_CREAT)
runaway("fallocate",
        lambda: os.posix_fallocate(fd, next(number) * 300000, 300000), fd)

# What has its blocks can be written at the limit.
fd = os.open("allocated", os.O_RDWR | os.O_CREAT)
os.posix_fallocate(fd, 0, 3 * MIB)
filler = os.open("filler", os.O_RDWR | os.O_CREAT)
differs = space_runs_out(lambda: os.write(filler, b"x" * 4096))
try:
    for i in range(0, 3 * MIB, 65536):
        os.pwrite(fd, b"y" * 65536, i)
    os.pwrite(filler, b"z" * 8192, 0)
except OSError as error:
    differs = error
report("what is allocated can be written at the limit", differs)
with open("base/g") as file:
    report("reading works at the limit", file.read() != "g\n" and "wrong")
try:
    os.rename("filler", "renamed")
    os.rename("base/empty", "base/moved")
    os.unlink("base/g")
    os.rmdir("base/moved")
    differs = ""
except OSError as error:
    differs = error
report("so do renaming and removing, of the base too", differs)
try:
    with open("base/big", "r+b") as file:
        file.write(b"x")
    differs = "there was room"
except OSError as error:
    differs = "" if error.errno == errno.ENOSPC else error
report("a copy-up for which there is no room fails", differs)
with open("base/big", "rb") as file:
    report("and leaves what was there",
           "" if file.read() == b"b" * 200000 else "other content")
os.close(fd)
os.close(filler)
os.unlink("allocated")
os.unlink("renamed")

with open("mapped", "w+b") as file:
    file.truncate(8 * MIB)
    with mmap.mmap(file.fileno(), 8 * MIB) as map_:
        for i in range(0, 8 * MIB, 4096):
            map_[i] = 1
        try:
            map_.flush()
            differs = "it was written"
        except OSError as error:
            differs = "" if error.errno == errno.ENOSPC else error
report("a map: no space", differs)
report("a map: no more than the limit is used", within())
os.unlink("mapped")

children = []
for i in range(4):
    open(f"child{i}", "x").close()
for i in range(4):
    children.append(subprocess.Popen(
        [sys.executable, "-c", f"""
import errno, os
fd = os.open("child{i}", os.O_WRONLY)
try:
    while True:
        os.write(fd, b"x" * 7000)
except OSError as error:
    raise SystemExit(error.errno != errno.ENOSPC)
"""]))
differs = [child.wait() for child in children]
report("several processes: no space", any(differs) and differs)
report("several processes: no more than the limit is used", within())
for i in range(4):
    os.unlink(f"child{i}")
report("several processes: it goes on after deleting", goes_on())

set_limits("size=8M")
with open("keep", "wb") as file:
    file.write(b"x" * 6 * MIB)
report("a limit that is raised holds at once", "")
os.unlink("keep")
files = execution.page()[1] + 10
set_limits(f"size=none,files={files}")
report("a limit of files: no space",
       space_runs_out(lambda: os.mkdir(f"d{next(number)}")))
report("a limit of files: as many as it says",
       "" if execution.page()[1] == files else execution.page())
st = os.statvfs(".")
report("a limit of files: df -i tells", "" if (st.f_files, st.f_ffree) ==
       (files, 0) else (st.f_files, st.f_ffree))
with open("base/small", "a") as file:
    try:
        file.write("x")
        file.flush()
        differs = "it was copied up"
    except OSError as error:
        differs = "" if error.errno == errno.ENOSPC else error
        try:
            file.close()
        except OSError:
            pass
report("a limit of files: none for a copy", differs)
for name in os.listdir("."):
    if name.startswith("d"):
        os.rmdir(name)
os.mkdir("dir")
report("a limit of files: it goes on after deleting", "")
set_limits("files=none,min_free=900T")
report("a floor above what the disk has: no space",
       space_runs_out(lambda: os.mkdir(f"e{next(number)}")))
st = os.statvfs(".")
report("a floor: df tells", st.f_bavail)
os.rmdir("dir")
set_limits("min_free=none")
os.mkdir("dir")
report("without one it goes on", "")
report("and all that was counted is right", execution.agrees(0))
