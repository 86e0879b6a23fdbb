"""What a process can do with paths: one line "state path" for each path given.

absent: no such name. denied: there, but neither readable nor writable. ro: can
be read. rw: can be written, tried by doing it. link: a symbolic link to nowhere.
"""
import os
import sys


def can_read(path):
    try:
        if os.path.isdir(path):
            os.listdir(path)
        else:
            with open(path, "rb") as file:
                file.read(1)
        return True
    except OSError:
        return False


def can_write(path):
    try:
        if os.path.isdir(path):
            name = os.path.join(path, "probe-%d" % os.getpid())
            open(name, "xb").close()
            os.unlink(name)
        else:
            open(path, "ab").close()
        return True
    except OSError:
        return False


def state(path):
    try:
        os.lstat(path)
    except OSError:
        return "absent"
    if not os.path.exists(path):
        return "link"
    if can_write(path):
        return "rw"
    return "ro" if can_read(path) else "denied"


for given in sys.stdin.read().splitlines():
    print(state(given), given)
