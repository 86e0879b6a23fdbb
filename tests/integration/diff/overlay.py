"""What the tests of legato-diff share: uppers made by the kernel's overlayfs,
or by legato-fs.

An upper that the kernel made is an independent witness of the format: our own
daemon takes no part. Needs root, or user namespaces with unprivileged
overlayfs (Linux 5.11); run_isolated() sees to either, or skips.
"""

import ctypes
import json
import os
import shutil
import stat
import struct
import subprocess
import sys
import tempfile

SKIP = 77
ORIGIN_ATTR = "user.legato.origin"


def skip(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(SKIP)


def run_isolated():
    """Runs the script again in mount namespace of its own, as root in it."""
    if os.environ.get("LEGATO_TEST_ISOLATED"):
        return
    command = ["unshare", "--mount", "--propagation", "private"]
    if os.geteuid() != 0:
        command[1:1] = ["--user", "--map-root-user"]
    if subprocess.run(command + ["true"], capture_output=True).returncode:
        skip("neither root nor user namespaces")
    os.environ["LEGATO_TEST_ISOLATED"] = "1"
    os.execvp(command[0], command + [sys.executable] + sys.argv)


def mount(kind, target, options):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(kind.encode(), os.fsencode(target), kind.encode(), 0,
                  os.fsencode(options)) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"mount {kind}: {os.strerror(error)}")


def umount(target):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.umount2(os.fsencode(target), 0) != 0:
        raise OSError(ctypes.get_errno(), "umount")


class Execution:
    """An execution's folder with one overlay view, served by the kernel."""

    moves_dirs = False  # rename(2) of a base directory is EXDEV

    def __init__(self, top, execution_id="20260101-000000-test"):
        self.top = os.fsencode(top)
        self.id = execution_id
        self.scratch = os.path.join(self.top, b"scratch")
        self.folder = os.path.join(self.scratch, execution_id.encode())
        self.base = os.path.join(self.top, b"base")
        self.view = os.path.join(self.top, b"view")
        self.upper = os.path.join(self.folder, b"views/work/upper")
        self.work = os.path.join(self.folder, b"views/work/work")
        for path in (self.base, self.view, self.upper, self.work):
            os.makedirs(path)
        os.chmod(self.folder, 0o700)
        with open(os.path.join(self.folder, b"lock"), "wb"):
            pass
        base = os.fsdecode(self.base)
        manifest = {
            "format": 1, "id": self.id, "role": "review", "checkout": base,
            "created_ns": 1, "views": [
                {"name": "work", "kind": "overlay", "base": base,
                 "mount_at": base}]}
        with open(os.path.join(self.folder, b"execution.json"), "w") as file:
            json.dump(manifest, file)

    def add_scratch_view(self, name, mount_at):
        """Returns its upper."""
        top = os.path.join(self.folder, b"views", name.encode())
        os.makedirs(os.path.join(top, b"base"))
        os.makedirs(os.path.join(top, b"upper"))
        path = os.path.join(self.folder, b"execution.json")
        with open(path) as file:
            manifest = json.load(file)
        manifest["views"].append({
            "name": name, "kind": "scratch", "mount_at": mount_at,
            "base": os.fsdecode(os.path.join(top, b"base"))})
        with open(path, "w") as file:
            json.dump(manifest, file)
        return os.path.join(top, b"upper")

    def mount(self):
        # Index and redirects off: the plain format, as in the daemon.
        mount("overlay", self.view,
              "userxattr,lowerdir=%s,upperdir=%s,workdir=%s" % tuple(
                  os.fsdecode(p) for p in (self.base, self.upper, self.work)))

    def umount(self):
        umount(self.view)

    def set_origin(self, path, base_path):
        """What the daemon writes at copy-up, on the upper file `path`."""
        st = os.lstat(os.path.join(self.base, base_path))
        record = struct.pack("<B7x6Q", 1, st.st_dev, st.st_ino, st.st_size,
                             st.st_mtime_ns, st.st_ctime_ns, 0)
        os.setxattr(os.path.join(self.upper, path), ORIGIN_ATTR, record,
                    follow_symlinks=False)

    def diff(self, *options, paths=(), status=0):
        """Output of legato-diff, as bytes; checks its exit status."""
        command = [os.environ.get("LEGATO_DIFF", "legato-diff"),
                   "--scratch-dir", self.scratch, *options]
        if paths:
            command += ["--", *paths]
        done = subprocess.run(command, capture_output=True,
                              stdin=subprocess.DEVNULL)
        self.errors = done.stderr
        if done.returncode != status:
            raise AssertionError(
                f"{command}: exit status {done.returncode}: {done.stderr}")
        return done.stdout

    def verb(self, verb, *options, status=0):
        """Output of a verb of legato-diff; checks its exit status."""
        command = [os.environ.get("LEGATO_DIFF", "legato-diff"), verb,
                   "--scratch-dir", self.scratch, *options]
        done = subprocess.run(command, capture_output=True,
                              stdin=subprocess.DEVNULL)
        self.errors = done.stderr
        if done.returncode != status:
            raise AssertionError(
                f"{command}: exit status {done.returncode}: {done.stderr}")
        return done.stdout

    def changes(self, *options):
        """{path: (letter, kind)} of --name-status; R keeps its old path."""
        fields = self.diff("--name-status", "-z", *options).split(b"\0")
        changes = {}
        at = 0
        while at + 1 < len(fields):
            letter, kind = fields[at].decode().split(" ")
            if letter[0] == "R":
                old, new = fields[at + 1:at + 3]
                changes[new] = (letter[0], kind, old)
                at += 3
            else:
                changes[fields[at + 1]] = (letter, kind)
                at += 2
        return changes


class DaemonExecution(Execution):
    """The same, served by legato-fs."""

    moves_dirs = True

    def mount(self):
        shutil.rmtree(self.folder)
        done = subprocess.run(
            [os.environ["LEGATO_FS"], "mount", "--scratch", self.scratch,
             "--overlay", b"work=" + self.base, self.view],
            capture_output=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise OSError(done.stderr)
        self.id = done.stdout.decode().strip()
        self.folder = os.path.join(self.scratch, self.id.encode())
        self.upper = os.path.join(self.folder, b"views/work/upper")

    def set_origin(self, path, base_path):
        pass  # the daemon has


def scratch_folder(execution=Execution):
    """A folder whose disk can hold an overlay's upper, removed at exit."""
    import atexit
    for parent in (None, "/var/tmp", "/dev/shm"):
        top = tempfile.mkdtemp(prefix="legato-diff-", dir=parent)
        atexit.register(shutil.rmtree, top, ignore_errors=True)
        probe = execution(os.path.join(top, "probe"))
        try:
            probe.mount()
            probe.umount()
            return top
        except OSError as error:
            reason = error
    skip(f"can't mount here: {reason}")


KINDS = {stat.S_IFREG: "f", stat.S_IFDIR: "d", stat.S_IFLNK: "l",
         stat.S_IFIFO: "p", stat.S_IFSOCK: "s", stat.S_IFBLK: "b",
         stat.S_IFCHR: "c"}


def snapshot(top):
    """{path: (kind, mode, content, attributes)} of a tree, read plainly."""
    tree = {}

    def visit(path):
        full = os.path.join(top, path) if path else top
        st = os.lstat(full)
        kind = KINDS[stat.S_IFMT(st.st_mode)]
        mode = stat.S_IMODE(st.st_mode) if kind != "l" else 0
        content = None
        attributes = {}
        if kind == "f":
            with open(full, "rb") as file:
                content = file.read()
        elif kind == "l":
            content = os.readlink(full)
        if kind in "fd":
            attributes = {
                name: os.getxattr(full, name, follow_symlinks=False)
                for name in os.listxattr(full, follow_symlinks=False)
                if name.startswith("user.")
                and not name.startswith(("user.overlay.", "user.legato."))}
        if path:
            tree[path] = (kind, mode, content, attributes)
        if kind == "d":
            for name in os.listdir(full):
                visit(os.path.join(path, name))

    visit(b"")
    return tree


def whole(top):
    """All that can be told of a tree: snapshot() with times of files and the
    names of each file."""
    tree = snapshot(top)
    names = {}
    for path in sorted(tree):
        st = os.lstat(os.path.join(top, path))
        names.setdefault((st.st_dev, st.st_ino), []).append(path)
    for path in tree:
        st = os.lstat(os.path.join(top, path))
        kind = tree[path][0]
        tree[path] += (st.st_mtime_ns if kind in "fl" else None,
                       names[st.st_dev, st.st_ino] if kind == "f" else None)
    return tree


def compare_whole(what, got, want, before, links=True):
    """What is as in `before` but for times or links is no change, so that these
    don't count there."""
    def relevant(tree):
        return {path: entry[:4] if path in before and
                before[path][:4] == entry[:4]
                else entry[:6 if links else 5] for path, entry in tree.items()}

    got, want = relevant(got), relevant(want)
    wrong = sorted(k for k in got.keys() | want.keys()
                   if got.get(k) != want.get(k))
    if wrong:
        raise AssertionError(f"{what}:\n" + "\n".join(
            f"{k}: got {str(got.get(k))[:300]}, want {str(want.get(k))[:300]}"
            for k in wrong[:10]))


def is_empty_dir(tree, path):
    prefix = path + b"/"
    return not any(other.startswith(prefix) for other in tree)


def expected_changes(base, view):
    """The same answer as changes("--no-renames", "--all"), the slow way."""
    changes = {}
    for path in base.keys() | view.keys():
        old, new = base.get(path), view.get(path)
        side, tree = (old, base) if new is None else (new, view)
        name = path + b"/" if side[0] == "d" else path
        if old is not None and new is not None:
            if old[0] != new[0]:
                changes[name] = ("T", f"{old[0]}>{new[0]}")
            elif old != new:
                changes[name] = ("M", new[0])
        elif side[0] != "d" or is_empty_dir(tree, path):
            changes[name] = ("D" if new is None else "A", side[0])
    return changes


def git_environment(home):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith("GIT_")}
    environment.update(
        HOME=os.fsdecode(home), GIT_CONFIG_NOSYSTEM="1",
        GIT_CONFIG_GLOBAL="/dev/null", GIT_AUTHOR_NAME="a",
        GIT_AUTHOR_EMAIL="a@example.org", GIT_COMMITTER_NAME="a",
        GIT_COMMITTER_EMAIL="a@example.org", LC_ALL="C.UTF-8",
        GIT_CEILING_DIRECTORIES=os.fsdecode(home))
    return environment


def git(directory, *arguments, home, stdin=b""):
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", "-c", "core.autocrlf=false",
         "-c", "gc.auto=0",
         *arguments],
        cwd=directory, input=stdin, capture_output=True,
        env=git_environment(home))
    if done.returncode:
        raise AssertionError(f"git {arguments[0]}: {done.stderr}")
    return done.stdout


class Tap:
    """Counts and prints results; one call of check() each."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def check(self, good, name, detail=""):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}",
              flush=True)
        if not good:
            for line in str(detail).splitlines():
                print(f"# {line}", flush=True)

    def finish(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)
