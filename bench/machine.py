"""What a run makes on the machine, and takes away again: a temporary folder, a
file system image in it, mounts, the environment of commands."""
import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
GIB = 1 << 30
LIBC = ctypes.CDLL(None, use_errno=True)


def is_root():
    return os.geteuid() == 0


def have(program):
    return shutil.which(program) is not None


def note(text):
    print(text, file=sys.stderr, flush=True)


def die(text):
    sys.exit(f"bench: {text}")


def mounted_below(folder):
    """Mount points at or below a folder, innermost first."""
    found = []
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            point = line.split(" ")[4]
            if point == folder or point.startswith(folder + "/"):
                found.append(point)
    return list(reversed(found))


def private_mounts():
    """Starts this program again with mounts of its own, so that nobody else
    sees or holds what it mounts. Needs root; without, nothing happens."""
    if not is_root() or os.environ.get("LEGATO_BENCH_PRIVATE") == str(os.getpid()):
        return
    # exec keeps the pid, so that the mark means this very process
    os.environ["LEGATO_BENCH_PRIVATE"] = str(os.getpid())
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "slave", sys.executable] + sys.argv)


def free_bytes(folder):
    stat = os.statvfs(folder)
    return stat.f_bavail * stat.f_frsize


def usual_place():
    return os.environ.get("TMPDIR") or "/var/tmp"


def image_place(need):
    """Where the image lies: $TMPDIR; else memory, if it leaves half as much
    again to others, because that is the steadiest disk; else whichever of the
    usual folders has most room."""
    if os.environ.get("TMPDIR"):
        return os.environ["TMPDIR"]
    with open("/proc/meminfo", encoding="ascii") as lines:
        info = dict(line.split(":", 1) for line in lines)
    available = int(info["MemAvailable"].split()[0]) * 1024
    if os.path.isdir("/dev/shm") and min(free_bytes("/dev/shm"), available) >= 1.5 * need:
        return "/dev/shm"
    return max((f for f in ("/var/tmp", "/tmp") if os.path.isdir(f)), key=free_bytes)


class Machine:
    def __init__(self, need, fs, user):
        self.place = image_place(need) if is_root() else usual_place()
        if free_bytes(self.place) < need:
            die(f"{self.place} has {free_bytes(self.place) / GIB:.1f} GiB free, {need / GIB:.1f} are needed (TMPDIR chooses)")
        self.user = user
        self.fs = fs
        self.at_end = []
        self.cached = set()  # bases that are in the page cache
        self.drops = cache_drops()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._interrupted)
        # Not where the image may be: a sandbox takes no checkout below /dev.
        self.temp = os.path.realpath(tempfile.mkdtemp(prefix="legato-bench-", dir=usual_place()))
        self.disk = os.path.join(self.temp, "disk")
        self.home = os.path.join(self.temp, "home")
        self.image = None
        try:
            os.chmod(self.temp, 0o755)
            os.mkdir(self.home)
            os.chmod(self.home, 0o777)
            self.env = self._environment()
            self._make_disk(need)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def _interrupted(number, _frame):
        signal.signal(number, signal.SIG_IGN)
        sys.exit(128 + number)

    def _make_disk(self, need):
        os.mkdir(self.disk)
        if not is_root():
            note(f"not root: no image of its own, the data lies in {self.disk}; caches can't be dropped")
            self.fs = "no"
            return
        fd, self.image = tempfile.mkstemp(prefix="legato-bench-", suffix=".img", dir=self.place)
        os.truncate(fd, need)
        os.close(fd)
        # lazy_*_init=0: nothing writes in the background while something is measured
        mkfs = {"ext4": ["mkfs.ext4", "-q", "-F", "-J", "size=128", "-i", "8192",
                         "-E", "lazy_itable_init=0,lazy_journal_init=0"],
                "xfs": ["mkfs.xfs", "-q", "-f"],
                "btrfs": ["mkfs.btrfs", "-q", "-f"]}[self.fs]
        subprocess.run(mkfs + [self.image], check=True)
        subprocess.run(["mount", "-o", "loop", self.image, self.disk], check=True)
        note(f"{self.fs} image of {need / GIB:.0f} GiB, sparse: {self.image}")

    def _environment(self):
        config = os.path.join(self.home, "gitconfig")
        with open(config, "w", encoding="ascii") as file:
            file.write("[user]\n\tname = Bench\n\temail = bench@example.org\n[safe]\n\tdirectory = *\n"
                       "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[advice]\n\tdetachedHead = false\n"
                       "[init]\n\tdefaultBranch = main\n")
        path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        return {"PATH": path, "HOME": self.home, "LC_ALL": "C.UTF-8", "TZ": "UTC",
                "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": config}

    @staticmethod
    def command(argv, user, cwd):
        """argv, run as the user, who may enter folders that root may not: a FUSE mount of his own."""
        if isinstance(argv, str):
            argv = ["/bin/sh", "-c", argv]
        if user and is_root():
            argv = ["setpriv", "--reuid", user, "--regid", group_of(user), "--clear-groups", "--", "env", "-C", cwd, *argv]
        return argv

    def run(self, argv, cwd="/", user=None, null=False):
        """Runs a command to its end; its stdout. What fails ends the run of the workload."""
        done = subprocess.run(self.command(argv, user, cwd), cwd="/" if user else cwd, env=self.env, text=True,
                              errors="replace", stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL if null else subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            shown = argv if isinstance(argv, str) else " ".join(argv)
            raise Failed(f"exit status {done.returncode} of: {shown}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def settle(self):
        """Writes out what is dirty on the image, so that no later row pays for it."""
        fd = os.open(self.disk, os.O_RDONLY)
        try:
            LIBC.syncfs(fd)
        finally:
            os.close(fd)

    def warm(self, folder):
        """Reads all of a base, unless that has been done since the caches were dropped."""
        if folder not in self.cached:
            # Through a pipe: tar reads no file for /dev/null. Holes are not read.
            self.run(f"tar -C {folder} -S -cf - . | cat >/dev/null", null=True)
            self.cached.add(folder)

    def drop_caches(self):
        self.settle()
        self.cached.clear()
        if is_root():
            with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
                file.write("3")
        self.drops = cache_drops()

    def trim(self):
        """Gives the image's free blocks back to where the image lies."""
        if is_root():
            subprocess.run(["fstrim", self.disk], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    def unmount(self, point):
        """Unmounts, waiting for what is just ending."""
        for _ in range(500):
            if not mounted_below(point):
                return
            if is_root():
                argv = ["umount", point]
            else:
                argv = ["fusermount3", "-u", point]
            if subprocess.run(argv, stderr=subprocess.DEVNULL, check=False).returncode:
                time.sleep(0.01)
        raise Failed(f"'{point}' is busy")

    def close(self):
        for action in reversed(self.at_end):
            action()
        for point in mounted_below(self.temp):
            if point == self.disk:
                continue
            subprocess.run(["umount", "-l", point] if is_root() else ["fusermount3", "-uz", point],
                           stderr=subprocess.DEVNULL, check=False)
        for _ in range(100):
            if self.disk not in mounted_below(self.disk):
                break
            if subprocess.run(["umount", self.disk], stderr=subprocess.DEVNULL, check=False).returncode:
                time.sleep(0.1)
        left = mounted_below(self.temp)
        if left:
            note(f"still mounted, not removed: {' '.join(left)}")
            return
        shutil.rmtree(self.temp, ignore_errors=True)
        if self.image:
            os.unlink(self.image)


def cache_drops():
    """How often anybody has dropped caches since the machine started."""
    with open("/proc/vmstat", encoding="ascii") as lines:
        return [int(line.split()[1]) for line in lines if line.startswith("drop_")]


class Failed(Exception):
    """A workload that did not do on a subject what it is to do."""


def group_of(user):
    import grp
    import pwd
    return grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name


def busy_elsewhere(seconds=0.5):
    """How many cores other programs take right now."""
    def idle():
        with open("/proc/stat", encoding="ascii") as lines:
            words = lines.readline().split()[1:]
        return (int(words[3]) + int(words[4])) / os.sysconf("SC_CLK_TCK")
    before, since = idle(), time.monotonic()
    time.sleep(seconds)
    passed = time.monotonic() - since
    return max(0.0, os.cpu_count() - (idle() - before) / passed)
