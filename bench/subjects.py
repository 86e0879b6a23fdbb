"""What is compared: each subject serves a view of a base, in which the workloads
run. All of a subject lies in one folder on the image."""
import os
import shutil
import subprocess
import time

from machine import Failed, have, is_root


class Subject:
    name = ""
    what = ""
    package = None  # Debian's name of it
    program = None
    needs_root = False
    user = None  # the commands run as this user; None: as whoever started the run
    baseline = "overlayfs"
    writes_base = False  # it has no layer: the base is copied anew after a workload that changed it
    shown = True  # has a column in the table

    def __init__(self, machine, data, binaries):
        self.machine = machine
        self.data = data
        self.binaries = binaries
        self.folder = os.path.join(machine.disk, self.name)
        self.view = os.path.join(self.folder, "view")
        self.stale = set()
        self.base = None

    @classmethod
    def missing(cls):
        """Why it can't be measured here, or None."""
        if cls.program and not have(cls.program):
            return f"no {cls.program} (Debian package {cls.package})"
        if cls.needs_root and not is_root():
            return "needs root"
        return None

    @classmethod
    def version(cls):
        if not cls.package or not have("dpkg-query"):
            return ""
        argv = ["dpkg-query", "-W", "-f", "${Version}", cls.package]
        return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout

    def begin(self, data_name, changes=True):
        """A base, an empty layer over it, and the view mounted."""
        self.base = os.path.join(self.folder, "base-" + data_name)
        if data_name in self.stale:
            shutil.rmtree(self.base)
            self.machine.cached.discard(self.base)
            self.stale.discard(data_name)
        os.makedirs(self.view, exist_ok=True)
        os.chmod(self.folder, 0o755)
        if not os.path.exists(self.base):
            self.data.copy(data_name, self.base, self.user)
        if self.writes_base and changes:
            self.stale.add(data_name)
        self.machine.warm(self.base)
        self.fresh_layer()
        self.mount()

    def fresh_layer(self):
        layers = [self.part(name) for name in ("upper", "work", "scratch")]
        for folder in layers:
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
        if self.user:
            for folder in (self.folder, self.view, *layers):
                shutil.chown(folder, self.user)

    def fresh(self):
        """The same with nothing in any cache and an empty layer. Not for what changed something before."""
        self.unmount()
        self.fresh_layer()
        self.machine.drop_caches()
        self.mount()

    def end(self):
        self.unmount()
        self.fresh_layer()

    def mount(self):
        before = set(mount_ids(self.view))
        self.machine.run(self.mount_command(), user=self.user if not self.needs_root else None)
        for _ in range(5000):
            if set(mount_ids(self.view)) - before:
                return
            time.sleep(0.001)
        raise Failed(f"{self.name} did not mount")

    def unmount(self):
        pids = self.daemons()
        self.machine.unmount(self.view)
        for pid in pids:
            wait_gone(pid)

    def daemons(self):
        """The pids of who serves the view."""
        if not self.program:
            return []
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    with open(f"/proc/{entry}/cmdline", "rb") as file:
                        words = file.read().decode(errors="replace").split("\0")
                except OSError:
                    continue
                if self.view in words and os.path.basename(words[0]) == os.path.basename(self.program):
                    found.append(int(entry))
        return found

    def part(self, name):
        return os.path.join(self.folder, name)

    def root(self):
        """The folder in which workloads find the base's content."""
        return self.view

    def mount_command(self):
        raise NotImplementedError


class Plain(Subject):
    name = "plain"
    what = "a plain directory"
    writes_base = True

    def mount(self):
        pass

    def unmount(self):
        pass

    def root(self):
        return self.base


class Overlayfs(Subject):
    name = "overlayfs"
    what = "the kernel's overlayfs, mounted by root with its defaults"
    needs_root = True

    def mount_command(self):
        layers = f"lowerdir={self.base},upperdir={self.part('upper')},workdir={self.part('work')}"
        return ["mount", "-t", "overlay", "overlay", "-o", layers, self.view]


class OverlayfsUser(Overlayfs):
    name = "overlayfs-user"
    what = "the same, used by an ordinary user"
    shown = False


class FuseOverlayfs(Subject):
    name = "fuse-overlayfs"
    what = "fuse-overlayfs with its defaults"
    package = program = "fuse-overlayfs"

    def mount_command(self):
        layers = f"lowerdir={self.base},upperdir={self.part('upper')},workdir={self.part('work')}"
        return ["fuse-overlayfs", "-o", layers, self.view]


class Unionfs(Subject):
    name = "unionfs"
    what = "unionfs-fuse, copy on write, with the disk's inode numbers (cp fails without)"
    package = "unionfs-fuse"
    program = "unionfs"

    def mount_command(self):
        return ["unionfs", "-o", "cow,noatime,use_ino", f"{self.part('upper')}=RW:{self.base}=RO", self.view]


class Mergerfs(Subject):
    name = "mergerfs"
    what = "mergerfs over the base alone: it has no copy on write, so it writes there"
    package = program = "mergerfs"
    writes_base = True

    def mount_command(self):
        return ["mergerfs", "-o", "cache.files=auto-full", self.base, self.view]


class Legato(Subject):
    name = "legato"
    what = "legato-fs, started by root"
    program = "/dev/fuse"
    options = ()

    @classmethod
    def missing(cls):
        return None if os.access("/dev/fuse", os.R_OK | os.W_OK) else "/dev/fuse is not open to this user"

    def __init__(self, machine, data, binaries):
        super().__init__(machine, data, binaries)
        self.program = os.path.join(binaries, "legato-fs")

    def mount_command(self):
        return [self.program, "mount", "--scratch", self.part("scratch"), "--overlay", f"work={self.base}",
                *self.options, self.view]


class LegatoAsk(Legato):
    name = "legato-ask"
    what = "legato-fs --ask-open, started by root"
    options = ("--ask-open",)


class LegatoUser(Legato):
    name = "legato-user"
    what = "legato-fs, started and used by an ordinary user; against overlayfs used by that user"
    baseline = "overlayfs-user"


ALL = [Plain, Overlayfs, OverlayfsUser, FuseOverlayfs, Unionfs, Mergerfs, Legato, LegatoAsk, LegatoUser]


def mount_ids(point):
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        return [words[0] for words in (line.split(" ") for line in lines) if words[4] == point]


def wait_gone(pid):
    for _ in range(5000):
        if not os.path.exists(f"/proc/{pid}"):
            return
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return  # its parent is slow to ask; it serves nothing any more
        except OSError:
            return
        time.sleep(0.001)
    raise Failed(f"process {pid} did not end with its mount")
