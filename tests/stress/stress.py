#!/usr/bin/env python3
"""The same random operations on a plain directory and on a view.

usage: stress.py [--seed N] [--ops N] [--seconds N] [--user] [--no-links]
                 [--view legato|plain|overlayfs] [--keep] [--replay FILE]

A base is made, and a copy of it, which is the plain directory; the view is an
overlay over the base. Each operation is done on both, and must give the same
result. At intervals the whole trees are compared; in between, the view is
unmounted and served again from the same execution folder, and, as root, the
kernel's caches are dropped. Without --seed, seeds count from 1 until --seconds
are over.

A difference prints the seed and the operations that lead to it, after those
that do not matter were taken away; --replay does them again (a file with that
list). TAP goes to stdout.

--user     as the ordinary user LEGATO_TEST_USER, where it runs as root
--no-links the base has no files with several names
--view     "plain" shows that the two sides are really the same, "overlayfs"
           what the kernel makes of it (as root)
The program is $LEGATO_FS.
"""
import argparse
import ctypes
import errno
import hashlib
import json
import os
import pwd
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

LIBC = ctypes.CDLL(None, use_errno=True)
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
KEEP_SIZE, PUNCH_HOLE = 1, 2
AT_FDCWD, AT_SYMLINK_FOLLOW = -100, 0x400
# Times that a test sets are long ago, so that they can be told from others.
OLD_FROM, OLD_UNTIL = 10**9, 15 * 10**8
NAMES = ["a", "b", "c", "d", "e", "f", "g.txt", "\udcff\n'"]
MODES = [0o644, 0o600, 0o666, 0o755, 0o700, 0o777, 0o444, 0o555, 0o000, 0o111,
         0o2755, 0o1777, 0o4755, 0o6711, 0o2644]
SLOTS = 6
REFRESH_EVERY = 50
COMPARE_EVERY = 400
REMOUNT_EVERY = 1000
SHRINK_SECONDS = 90
SHOWN = 60


class Difference(Exception):
    """The view is not as the plain directory."""


def call(function, *args):
    ctypes.set_errno(0)
    result = function(*args)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


# ------------------------------------------------------------------ the sides


class Side:
    """A directory that operations are done in, with what is open there."""

    def __init__(self, root):
        self.root = root
        self.slots = {}

    def path(self, name):
        return os.path.join(self.root, name) if name else self.root

    def close_all(self):
        for fd in self.slots.values():
            os.close(fd)
        self.slots = {}


class PlainView:
    """No view at all: the base is copied once more."""

    def __init__(self, work, base):
        self.root = os.path.join(work, "view")
        copy_tree(base, self.root)

    def start(self):
        pass

    def stop(self):
        pass


class OverlayView:
    """The kernel's overlayfs."""

    def __init__(self, work, base):
        self.root = os.path.join(work, "view")
        self.dirs = {"lowerdir": base}
        os.mkdir(self.root)
        for name in "upperdir", "workdir":
            self.dirs[name] = os.path.join(work, name)
            os.mkdir(self.dirs[name])

    def start(self):
        options = ",".join(f"{k}={v}" for k, v in self.dirs.items())
        subprocess.run(["mount", "-t", "overlay", "none", "-o", options,
                        self.root], check=True)

    def stop(self):
        subprocess.run(["umount", self.root], check=True)


class LegatoView:
    """legato-fs, from an execution folder as the launcher makes it."""

    def __init__(self, work, base):
        self.execution = os.path.join(work, "execution")
        view = os.path.join(self.execution, "views", "work")
        for name in "upper", "work":
            os.makedirs(os.path.join(view, name), 0o700)
        mount = os.path.join(self.execution, "mnt")
        os.mkdir(mount)
        self.root = os.path.join(mount, "work")
        self.mount = mount
        self.daemon = None
        manifest = {"format": 1, "id": "stress", "created_ns": 1, "views": [
            {"name": "work", "kind": "overlay", "base": base}]}
        with open(os.path.join(self.execution, "execution.json"), "w",
                  encoding="utf-8") as file:
            json.dump(manifest, file)

    def start(self):
        self.daemon = subprocess.Popen(
            [os.environ["LEGATO_FS"], "serve", "--execution", self.execution])
        for _ in range(1000):
            if os.path.ismount(self.mount):
                return
            if self.daemon.poll() is not None:
                break
            time.sleep(0.02)
        raise Difference("the daemon does not start: " + self.log())

    def log(self):
        try:
            with open(os.path.join(self.execution, "log"),
                      encoding="utf-8") as file:
                return file.read()[-2000:]
        except OSError as error:
            return str(error)

    def stop(self):
        if not self.daemon:
            return
        daemon, self.daemon = self.daemon, None
        daemon.send_signal(signal.SIGTERM)
        try:
            status = daemon.wait(60)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
            status = "nothing: killed after a minute"
        if os.path.ismount(self.mount):
            subprocess.run(["fusermount3", "-uz", self.mount], check=False)
            status = f"{status}, still mounted"
        if status:
            raise Difference(f"the daemon ended with {status}: {self.log()}")


VIEWS = {"plain": PlainView, "overlayfs": OverlayView, "legato": LegatoView}


def copy_tree(source, target):
    subprocess.run(["cp", "-a", source, target], check=True)


# ------------------------------------------------------------- the operations
#
# do_NAME(side, ...) does one and returns what is to be compared.


def open_close(side, name, flags, mode=0o644):
    return os.open(side.path(name), flags | os.O_CLOEXEC, mode)


def with_file(side, name, flags, action, mode=0o644):
    # O_NONBLOCK: a FIFO would wait for its other end.
    fd = open_close(side, name, flags | os.O_NONBLOCK, mode)
    try:
        return action(fd)
    finally:
        os.close(fd)


def data_of(seed, size):
    return random.Random(seed).randbytes(size)


def digest(data):
    return f"{len(data)}:{hashlib.blake2b(data, digest_size=8).hexdigest()}"


def read_all(fd):
    """What the file has, by position: O_WRONLY gives EBADF on both sides. Not
    what the kernel remembers: where the data is must be right, too."""
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    parts, at = [], 0
    while True:
        part = os.pread(fd, 1 << 20, at)
        if not part:
            return digest(b"".join(parts))
        parts.append(part)
        at += len(part)


def old_or_new(ns):
    """A time that was set, or "now", which is not the same on both sides."""
    return ns if OLD_FROM <= ns // 10**9 <= OLD_UNTIL else "now"


def describe(st):
    words = [f"{st.st_mode:o}", st.st_uid, st.st_gid]
    # The kernel does not tell us that a FIFO was written to.
    if not stat.S_ISFIFO(st.st_mode):
        words.append(old_or_new(st.st_mtime_ns))
    if not stat.S_ISDIR(st.st_mode):
        words += [st.st_size, st.st_nlink, st.st_rdev]
    return " ".join(map(str, words))


def do_create(side, name, seed, size, flags, mode):
    return with_file(side, name, os.O_WRONLY | os.O_CREAT | flags,
                     lambda fd: os.write(fd, data_of(seed, size)), mode)


def do_write(side, name, seed, size, off):
    return with_file(side, name, os.O_WRONLY,
                     lambda fd: os.pwrite(fd, data_of(seed, size), off))


def do_append(side, name, seed, size):
    return with_file(side, name, os.O_WRONLY | os.O_APPEND,
                     lambda fd: os.write(fd, data_of(seed, size)))


def do_read(side, name):
    return with_file(side, name, os.O_RDONLY | os.O_NOFOLLOW,
                     lambda fd: "fifo" if stat.S_ISFIFO(os.fstat(fd).st_mode)
                     else read_all(fd))


def do_truncate(side, name, size):
    os.truncate(side.path(name), size)


def do_unlink(side, name):
    os.unlink(side.path(name))


def do_mkdir(side, name, mode):
    os.mkdir(side.path(name), mode)


def do_rmdir(side, name):
    os.rmdir(side.path(name))


def do_rename(side, name, to, flags):
    call(LIBC.renameat2, AT_FDCWD, os.fsencode(side.path(name)), AT_FDCWD,
         os.fsencode(side.path(to)), flags)


def do_symlink(side, name, target):
    os.symlink(target, side.path(name))


def do_readlink(side, name):
    return os.readlink(side.path(name))


def do_link(side, name, to):
    os.link(side.path(name), side.path(to), follow_symlinks=False)


def do_mkfifo(side, name, mode):
    os.mkfifo(side.path(name), mode)


def do_chmod(side, name, mode):
    os.chmod(side.path(name), mode)


def do_chown(side, name, uid, gid):
    os.chown(side.path(name), uid, gid, follow_symlinks=False)


def do_utimes(side, name, ns):
    os.utime(side.path(name), ns=(ns, ns), follow_symlinks=False)


def do_stat(side, name):
    return describe(os.lstat(side.path(name)))


def do_access(side, name, mode):
    return os.access(side.path(name), mode)


def do_setxattr(side, name, attr, seed, size, flags):
    os.setxattr(side.path(name), attr, data_of(seed, size), flags)


def do_getxattr(side, name, attr):
    return digest(os.getxattr(side.path(name), attr))


def do_removexattr(side, name, attr):
    os.removexattr(side.path(name), attr)


def do_listxattr(side, name):
    return sorted(os.listxattr(side.path(name)))


def do_list(side, name):
    """Names and types, and each entry's number is that of its stat."""
    found = []
    with os.scandir(side.path(name)) as entries:
        for entry in entries:
            try:
                st = os.lstat(entry.path)
            except OSError:
                continue
            kind = ("d" if entry.is_dir(follow_symlinks=False) else
                    "l" if entry.is_symlink() else
                    "f" if entry.is_file(follow_symlinks=False) else "?")
            found.append((entry.name, kind, entry.inode() == st.st_ino))
    return sorted(found)


def do_fallocate(side, name, mode, off, size):
    with_file(side, name, os.O_WRONLY, lambda fd: call(
        LIBC.fallocate64, fd, mode, ctypes.c_int64(off), ctypes.c_int64(size)))


def do_copy_range(side, name, to, off, to_off, size):
    def copy(source):
        return with_file(side, to, os.O_WRONLY, lambda target:
                         os.copy_file_range(source, target, size, off, to_off))
    return with_file(side, name, os.O_RDONLY, copy)


def do_tmpfile(side, name, to, seed, size):
    def fill_and_link(fd):
        os.write(fd, data_of(seed, size))
        call(LIBC.linkat, AT_FDCWD, b"/proc/self/fd/%d" % fd, AT_FDCWD,
             os.fsencode(side.path(to)), AT_SYMLINK_FOLLOW)
        return os.fstat(fd).st_nlink
    return with_file(side, name, os.O_RDWR | os.O_TMPFILE, fill_and_link, 0o640)


# What stays open, over all that happens to its name.


def do_open(side, slot, name, flags):
    if slot in side.slots:
        os.close(side.slots.pop(slot))
    side.slots[slot] = open_close(side, name, flags | os.O_NOFOLLOW)


def slot_of(side, slot):
    if slot not in side.slots:
        raise OSError(errno.EBADF, "not open")
    return side.slots[slot]


def do_close(side, slot):
    fd = slot_of(side, slot)
    del side.slots[slot]
    os.close(fd)


def do_fd_write(side, slot, seed, size, off):
    return os.pwrite(slot_of(side, slot), data_of(seed, size), off)


def do_fd_read(side, slot):
    return read_all(slot_of(side, slot))


def do_fd_truncate(side, slot, size):
    os.ftruncate(slot_of(side, slot), size)


def do_fd_stat(side, slot):
    return describe(os.fstat(slot_of(side, slot)))


def do_fd_chmod(side, slot, mode):
    os.fchmod(slot_of(side, slot), mode)


def do_fd_sync(side, slot):
    os.fsync(slot_of(side, slot))


def do_fd_list(side, slot):
    return sorted(os.listdir(slot_of(side, slot)))


DO = {name[3:]: function for name, function in list(globals().items())
      if name.startswith("do_")}


def perform(side, operation):
    name, *args = operation
    try:
        return DO[name](side, *args)
    except OSError as error:
        return errno.errorcode.get(error.errno, error.errno)


# -------------------------------------------------------------- their choice


class Chooser:
    """Operations at random, mostly on what is there, and of its type."""

    def __init__(self, seed, root):
        self.random = random.Random(seed)
        self.root = root
        self.dirs = [""]
        self.files = []
        self.refresh()

    def refresh(self):
        dirs, files = [""], []
        for path, below, names in os.walk(self.root):
            above = os.path.relpath(path, self.root)
            below.sort()
            dirs += [os.path.normpath(os.path.join(above, n)) for n in below]
            files += [os.path.normpath(os.path.join(above, n))
                      for n in sorted(names)]
        self.dirs, self.files = dirs, files or ["none"]

    def dir(self):
        return self.random.choice(self.dirs)

    def file(self):
        return self.random.choice(self.files)

    def old(self):
        """Not the root, which can't be moved or removed."""
        return self.random.choice(self.files + self.dirs[1:])

    def new(self):
        """Often beside what is there, sometimes over it."""
        above = self.dir()
        if above.count("/") > 4:
            above = ""
        return os.path.join(above, self.random.choice(NAMES))

    def any(self):
        r = self.random.random()
        return self.file() if r < 0.8 else self.dir() if r < 0.92 else \
            self.new()

    def added(self, name, to):
        if len(to) < 300:
            to.append(name)
        return name

    def size(self):
        return self.random.choice([0, 1, 10, 100, 4096, 5000, 70000])

    def off(self):
        return self.random.choice([0, 0, 1, 50, 4096, 6000, 100000])

    def seed(self):
        return self.random.randrange(1 << 30)

    def old_time(self):
        return self.random.randrange(OLD_FROM, OLD_UNTIL) * 10**9 + \
            self.random.randrange(10**9)

    def attr(self):
        return self.random.choice(
            ["user.a", "user.b", "user.overlay.opaque", "user.legato.origin",
             "user.overlay.overlay.x", "trusted.overlay.opaque"])

    def choose(self):
        r = self.random
        kind = r.choices(list(WEIGHTS), WEIGHTS.values())[0]
        return [kind, *getattr(self, "for_" + kind)()]

    def for_create(self):
        flags = self.random.choice([os.O_EXCL, os.O_TRUNC, os.O_APPEND, 0])
        mode = 0o644 if self.random.random() < 0.6 else \
            self.random.choice(MODES)
        return (self.added(self.new(), self.files)
                if self.random.random() < 0.8 else self.any(),
                self.seed(), self.size(), flags, mode)

    def for_write(self):
        return self.any(), self.seed(), self.size(), self.off()

    def for_append(self):
        return self.any(), self.seed(), self.size()

    def for_read(self):
        return (self.any(),)

    def for_truncate(self):
        return self.any(), self.size()

    for_stat = for_listxattr = for_read

    def for_unlink(self):
        return (self.file() if self.random.random() < 0.9 else self.old(),)

    for_readlink = for_unlink

    def for_rmdir(self):
        return (self.random.choice(self.dirs[1:] or ["none"])
                if self.random.random() < 0.9 else self.old(),)

    def for_list(self):
        return (self.dir() if self.random.random() < 0.9 else self.any(),)

    def for_mkdir(self):
        mode = 0o755 if self.random.random() < 0.7 else \
            self.random.choice(MODES)
        return self.added(self.new(), self.dirs), mode

    def for_rename(self):
        flags = self.random.choice([0, 0, 0, RENAME_NOREPLACE,
                                    RENAME_EXCHANGE, RENAME_EXCHANGE])
        r = self.random.random()
        of = self.dirs[1:] if r < 0.4 and len(self.dirs) > 1 else self.files
        to = self.random.choice(of) if flags == RENAME_EXCHANGE or \
            self.random.random() < 0.3 else self.added(self.new(), of)
        return self.random.choice(of), to, flags

    def for_symlink(self):
        # None that leads out of the root: there the sides differ.
        target = self.random.choice([self.old(), "x" * 300, "./" + self.old(),
                                     "nothing", "a", "a/b"])
        return self.added(self.new(), self.files), target

    def for_link(self):
        return self.file(), self.added(self.new(), self.files)

    def for_mkfifo(self):
        return self.new(), self.random.choice(MODES)

    def for_chmod(self):
        # Too many that refuse all would leave nothing to do.
        mode = 0o755 if self.random.random() < 0.5 else \
            self.random.choice(MODES)
        return self.any(), mode

    def for_chown(self):
        # Not -1 for both: the kernel does not tell us of that, though it
        # takes set-id bits away on a disk.
        ids = [0, 1000] if os.geteuid() == 0 else [os.geteuid()]
        return self.any(), *self.random.choice(
            [(uid, gid) for uid in ids + [-1] for gid in ids])

    def for_utimes(self):
        return self.any(), self.old_time()

    def for_access(self):
        return self.any(), self.random.choice([os.R_OK, os.W_OK, os.X_OK])

    def for_setxattr(self):
        return (self.any(), self.attr(), self.seed(),
                self.random.choice([0, 1, 100, 1000]),
                self.random.choice([0, 0, os.XATTR_CREATE, os.XATTR_REPLACE]))

    def for_getxattr(self):
        return self.any(), self.attr()

    for_removexattr = for_getxattr

    def for_fallocate(self):
        return (self.any(), self.random.choice([0, KEEP_SIZE,
                                                KEEP_SIZE | PUNCH_HOLE]),
                self.off(), self.size() + 1)

    def for_copy_range(self):
        return self.any(), self.any(), self.off(), self.off(), self.size()

    def for_tmpfile(self):
        return self.dir(), self.new(), self.seed(), self.size()

    def slot(self):
        return self.random.randrange(SLOTS)

    def for_open(self):
        flags = self.random.choice([os.O_RDONLY, os.O_RDWR, os.O_WRONLY,
                                    os.O_RDWR | os.O_TRUNC,
                                    os.O_RDWR | os.O_APPEND,
                                    os.O_RDONLY | os.O_DIRECTORY])
        return self.slot(), self.any(), flags | os.O_NONBLOCK

    def for_close(self):
        return (self.slot(),)

    for_fd_read = for_fd_stat = for_fd_sync = for_fd_list = for_close

    def for_fd_write(self):
        return self.slot(), self.seed(), self.size(), self.off()

    def for_fd_truncate(self):
        return self.slot(), self.size()

    def for_fd_chmod(self):
        return self.slot(), self.random.choice(MODES)


WEIGHTS = {
    "create": 12, "write": 8, "append": 4, "read": 6, "truncate": 4,
    "unlink": 6, "mkdir": 7, "rmdir": 5, "rename": 12, "symlink": 3,
    "readlink": 1, "link": 4, "mkfifo": 1, "chmod": 5, "chown": 2,
    "utimes": 5, "stat": 5, "access": 1, "setxattr": 4, "getxattr": 2,
    "removexattr": 2, "listxattr": 2, "list": 5, "fallocate": 4,
    "copy_range": 3, "tmpfile": 2, "open": 14, "close": 1, "fd_write": 6,
    "fd_read": 6, "fd_truncate": 3, "fd_stat": 4, "fd_chmod": 2, "fd_sync": 1,
    "fd_list": 2,
}


def make_base(base, seed, links):
    """Half of the tree: the other half is what the operations make. Returns
    the modes to be set once it is copied, since they may forbid that."""
    r = random.Random(seed ^ 0x5EED)
    os.mkdir(base, 0o755)
    dirs, files, modes = [base], [], {}
    for i in range(200):
        path = os.path.join(r.choice(dirs), r.choice(NAMES))
        if os.path.lexists(path):
            continue
        kind = r.random()
        if kind < 0.35 and path.count("/") - base.count("/") < 5:
            os.mkdir(path)
            dirs.append(path)
        elif kind < 0.45:
            os.symlink(r.choice(["a", "b/a", "nothing"]), path)
        elif kind < 0.48:
            os.mkfifo(path)
        elif kind < 0.55 and links and files:
            os.link(r.choice(files), path)
            continue
        else:
            with open(path, "wb") as file:
                file.write(data_of(i, r.choice([0, 10, 5000, 200000])))
            files.append(path)
            if r.random() < 0.3:
                os.setxattr(path, "user.a", b"base")
            if r.random() < 0.3:
                modes[os.path.relpath(path, base)] = r.choice(MODES)
    for path, below, names in os.walk(base, topdown=False):
        for name in names:
            set_old_time(os.path.join(path, name), r)
        set_old_time(path, r)
    return modes


def set_old_time(path, r):
    ns = r.randrange(OLD_FROM, OLD_UNTIL) * 10**9 + r.randrange(10**9)
    os.utime(path, ns=(ns, ns), follow_symlinks=False)


# ------------------------------------------------------------ the comparison


def tree_of(root):
    """path -> all that can be seen of it, and paths by inode."""
    seen, groups = {}, {}

    def visit(path, name):
        try:
            st = os.lstat(path)
        except OSError as error:
            seen[name] = errno.errorcode[error.errno]
            return
        words = [describe(st)]
        words.append(perform(Side(root), ["listxattr", name])
                     if not stat.S_ISLNK(st.st_mode) else "")
        if stat.S_ISREG(st.st_mode):
            words.append(perform(Side(root), ["read", name]))
            groups.setdefault(st.st_ino, []).append(name)
        elif stat.S_ISLNK(st.st_mode):
            words.append(os.readlink(path))
        elif stat.S_ISDIR(st.st_mode):
            listed = perform(Side(root), ["list", name])
            words.append(listed)
            if isinstance(listed, list):
                for entry in listed:
                    visit(os.path.join(path, entry[0]),
                          os.path.join(name, entry[0]))
        seen[name] = words
    visit(root, "")
    links = sorted(sorted(names) for names in groups.values()
                   if len(names) > 1)
    return seen, links


def compare_trees(plain, view):
    want, want_links = tree_of(plain.root)
    have, have_links = tree_of(view.root)
    for name in sorted(set(want) | set(have)):
        if want.get(name) != have.get(name):
            raise Difference(f"{name!r} differs:\n  plain {want.get(name)}\n"
                             f"  view  {have.get(name)}")
    if want_links != have_links:
        raise Difference(f"links differ:\n  plain {want_links}\n"
                         f"  view  {have_links}")


def drop_caches():
    if os.geteuid() == 0:
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
            file.write("2")


class World:
    """Both sides, made anew for each run."""

    def __init__(self, top, seed, options):
        self.work = tempfile.mkdtemp(prefix="world-", dir=top)
        base = os.path.join(self.work, "base")
        modes = make_base(base, seed, options.links)
        self.plain = Side(os.path.join(self.work, "plain"))
        copy_tree(base, self.plain.root)
        self.server = VIEWS[options.view](self.work, base)
        self.view = Side(self.server.root)
        copies = [base, self.plain.root]
        if options.view == "plain":
            copies.append(self.view.root)
        for name, mode in modes.items():
            for copy in copies:
                os.chmod(os.path.join(copy, name), mode)
        self.base = base
        self.base_before = tree_of(base)

    def __enter__(self):
        try:
            self.server.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind, value, trace):
        self.plain.close_all()
        self.view.close_all()
        try:
            self.server.stop()
        except Difference:
            if not kind:
                raise
        finally:
            remove_tree(self.work)

    def remount(self):
        self.plain.close_all()
        self.view.close_all()
        self.server.stop()
        self.server.start()

    def do(self, operation):
        want = perform(self.plain, operation)
        have = perform(self.view, operation)
        if want != have:
            raise Difference(f"{operation}:\n  plain {want}\n  view  {have}")

    def do_between(self, operation):
        if operation == ["compare"]:
            compare_trees(self.plain, self.view)
        elif operation == ["drop"]:
            drop_caches()
        elif operation == ["remount"]:
            self.remount()
        else:
            self.do(operation)

    def finish(self):
        compare_trees(self.plain, self.view)
        self.remount()
        compare_trees(self.plain, self.view)
        if tree_of(self.base) != self.base_before:
            raise Difference("the base was changed")


def remove_tree(path):
    for above, dirs, _ in os.walk(path):
        for name in dirs:
            try:
                os.chmod(os.path.join(above, name), 0o700,
                         follow_symlinks=True)
            except OSError:
                pass
    shutil.rmtree(path, ignore_errors=True)


# ------------------------------------------------------------------- one run


def run_seed(top, seed, count, options):
    """None, or the operations up to a difference and what it is."""
    done = []
    try:
        with World(top, seed, options) as world:
            chooser = Chooser(seed, world.plain.root)
            for i in range(1, count + 1):
                operations = [chooser.choose()]
                if i % COMPARE_EVERY == 0:
                    operations += [["drop"], ["compare"]]
                if i % REFRESH_EVERY == 0:
                    chooser.refresh()
                if i % REMOUNT_EVERY == 0:
                    operations.append(["remount"])
                for operation in operations:
                    done.append(operation)
                    world.do_between(operation)
            world.finish()
    except Difference as difference:
        return done, str(difference)
    return None


def replay(top, seed, operations, options):
    """What is different after these operations; None where nothing is."""
    try:
        with World(top, seed, options) as world:
            for operation in operations:
                world.do_between(operation)
            world.finish()
    except Difference as difference:
        return str(difference)
    return None


def shrink(top, seed, operations, options):
    """Takes away what is not needed for a difference, halves first."""
    until = time.monotonic() + SHRINK_SECONDS
    size = max(len(operations) // 2, 1)
    while size >= 1:
        at, shorter = 0, False
        while at < len(operations) and time.monotonic() < until:
            without = operations[:at] + operations[at + size:]
            if replay(top, seed, without, options):
                operations, shorter = without, True
            else:
                at += size
        if time.monotonic() >= until:
            break
        size = size // 2 if size > 1 else (1 if shorter else 0)
    return operations


def report_difference(top, seed, failure, options):
    operations, difference = failure
    note(f"seed {seed}, after {len(operations)} operations: {difference}")
    if not replay(top, seed, operations, options):
        note("done again, it is not there: it depends on time")
        return
    operations = shrink(top, seed, operations, options)
    note(f"{len(operations)} are enough: "
         f"{replay(top, seed, operations, options)}")
    for operation in operations[-SHOWN:]:
        note(json.dumps(operation))


def note(text):
    for line in text.splitlines():
        print("# " + line.encode("utf-8", "backslashreplace").decode(),
              flush=True)


# ------------------------------------------------------------------- the test


def become_user():
    """Runs the whole program again as LEGATO_TEST_USER."""
    name = os.environ.get("LEGATO_TEST_USER")
    if os.geteuid() != 0:
        return
    if not name:
        skip_all("LEGATO_TEST_USER is not set")
    user = pwd.getpwnam(name)
    os.environ.update(HOME=user.pw_dir, USER=name)
    os.environ.pop("XDG_RUNTIME_DIR", None)
    os.execvp("setpriv", ["setpriv", "--reuid", name, "--regid",
                          str(user.pw_gid), "--init-groups", sys.executable,
                          *sys.argv])


def skip_all(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def check_machine(options):
    if options.view == "legato":
        if not os.access(os.environ.get("LEGATO_FS", ""), os.X_OK):
            skip_all("legato-fs is not built")
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            skip_all("/dev/fuse is not open to this user")
    elif options.view == "overlayfs" and os.geteuid() != 0:
        skip_all("the kernel's overlayfs is mounted as root here")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int)
    parser.add_argument("--ops", type=int, default=2500)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--user", action="store_true")
    parser.add_argument("--no-links", dest="links", action="store_false")
    parser.add_argument("--view", choices=VIEWS, default="legato")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--replay")
    return parser.parse_args()


def run_all(top, options):
    if options.replay:
        with open(options.replay, encoding="utf-8") as file:
            operations = [json.loads(line.lstrip("# ")) for line in file]
        difference = replay(top, options.seed, operations, options)
        print("1..1\n" + ("not ok" if difference else "ok") + " 1 - replay")
        note(difference or "")
        return bool(difference)
    until = time.monotonic() + options.seconds
    count = failures = 0
    seed = options.seed or 1
    while count == 0 or options.seed is None and time.monotonic() < until:
        failure = run_seed(top, seed, options.ops, options)
        count += 1
        print(f"{'not ok' if failure else 'ok'} {count} - seed {seed}: "
              f"{options.ops} operations", flush=True)
        if failure:
            failures += 1
            report_difference(top, seed, failure, options)
            break
        seed += 1
    print(f"1..{count}")
    return failures > 0


def main():
    options = parse()
    if options.user:
        become_user()
    check_machine(options)
    os.umask(0o022)
    os.environ.pop("LEGATO_FAULT", None)
    sys.setrecursionlimit(10000)
    top = tempfile.mkdtemp(prefix="legato-test-")
    os.chmod(top, 0o755)
    # So that what is started is stopped, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        failed = run_all(top, options)
    finally:
        if not options.keep:
            remove_tree(top)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
