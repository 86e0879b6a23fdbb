"""Prints a tree so that two equal texts mean two equal trees.

usage: tree.py DIR [without=WORD,...]

One line per entry, sorted by the bytes of the path: type, mode, owner, size,
mtime in ns, links (of files), hash or target, user attributes. WORD leaves a
column out: mtime, owner, links, dirtime (mtime of folders only), xattr.
Reading changes nothing in the tree (O_NOATIME where allowed).
"""
import hashlib
import os
import stat
import sys

TYPES = {stat.S_IFREG: "f", stat.S_IFDIR: "d", stat.S_IFLNK: "l",
         stat.S_IFIFO: "p", stat.S_IFSOCK: "s", stat.S_IFCHR: "c",
         stat.S_IFBLK: "b"}
OWN = (b"user.legato.", b"user.overlay.", b"trusted.overlay.")


def hash_of(path):
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NOATIME)
    except PermissionError:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        except PermissionError:
            return "unreadable"
    digest = hashlib.blake2b(digest_size=12)
    with open(fd, "rb", buffering=0) as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def attributes_of(path):
    try:
        names = sorted(os.listxattr(path, follow_symlinks=False))
    except OSError as error:
        return f"{error.strerror}"
    return ",".join(
        f"{name}={os.getxattr(path, name, follow_symlinks=False)!r}"
        for name in names if not os.fsencode(name).startswith(OWN)
        and name != "security.selinux")


def line_of(path, shown, without):
    st = os.lstat(path)
    kind = TYPES.get(stat.S_IFMT(st.st_mode), "?")
    words = [kind, f"{stat.S_IMODE(st.st_mode):04o}"]
    if "owner" not in without:
        words.append(f"{st.st_uid}:{st.st_gid}")
    if "mtime" not in without and not (kind == "d" and "dirtime" in without):
        words.append(str(st.st_mtime_ns))
    if kind != "d" and "links" not in without:
        words.append(f"links={st.st_nlink}")
    if kind == "f":
        words += [str(st.st_size), hash_of(path)]
    elif kind == "l":
        words.append(repr(os.readlink(path)))
    elif kind in "cb":
        words.append(f"{os.major(st.st_rdev)}:{os.minor(st.st_rdev)}")
    if "xattr" not in without:
        words.append(attributes_of(path))
    return " ".join(words) + " " + repr(shown)[1:]


def walk(path, shown, without):
    print(line_of(path, shown, without))
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        return
    try:
        names = sorted(os.listdir(path))
    except PermissionError:
        print("unreadable", repr(shown)[1:])
        return
    for name in names:
        walk(path + b"/" + name, shown + b"/" + name, without)


def main():
    sys.setrecursionlimit(10000)
    without = set()
    for word in sys.argv[2:]:
        without |= set(word.removeprefix("without=").split(","))
    walk(os.fsencode(sys.argv[1]), b".", without)


main()
