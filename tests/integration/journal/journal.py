"""What the tests of the journal share: TAP, an execution that is served and
killed, and its journal read back.

LEGATO_FS, LEGATO_DIFF and JOURNAL_DUMP name the programs.
"""

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

OPS = [None, "create", "mkdir", "mknod", "symlink", "tmpfile", "link", "unlink",
       "rmdir", "rename", "exchange", "write", "truncate", "fallocate",
       "copy_range", "chmod", "chown", "utimens", "setxattr", "removexattr",
       "read", "refused"]
DEADLINE_S = 30


class Tap:
    count = 0
    failed = 0

    def test(self, name, wrong):
        """Passes where `wrong`, a list of reasons, is empty."""
        self.count += 1
        print(f"{'not ok' if wrong else 'ok'} {self.count} - {name}", flush=True)
        self.failed += bool(wrong)
        for reason in list(wrong)[:20]:
            print(f"#   {reason}", flush=True)

    def finish(self):
        print(f"1..{self.count}")
        sys.exit(self.failed > 0)


def skip_all(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def begin():
    """Becomes the ordinary user where --user says so; checks the machine."""
    if "--user" in sys.argv and os.geteuid() == 0:
        name = os.environ.get("LEGATO_TEST_USER")
        if not name:
            skip_all("LEGATO_TEST_USER is not set")
        user = pwd.getpwnam(name)
        os.environ.update(HOME=user.pw_dir, USER=name)
        os.environ.pop("XDG_RUNTIME_DIR", None)
        os.execvp("setpriv", ["setpriv", "--reuid", name, "--regid",
                              str(user.pw_gid), "--init-groups",
                              sys.executable, *sys.argv])
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        skip_all("/dev/fuse is not open to this user")
    os.umask(0o022)


def wait_for(what, condition):
    end = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.01)


class Execution:
    """One view `work` over self.base, in a folder of its own."""

    def __init__(self, where=None):
        self.top = tempfile.mkdtemp(prefix="legato-test-", dir=where)
        self.base = os.path.join(self.top, "base")
        self.path = os.path.join(self.top, "scratch", "20260101-000000-test")
        self.view = os.path.join(self.path, "mnt", "work")
        self.daemon = None
        os.mkdir(self.base)
        for name in ("upper", "work"):
            os.makedirs(os.path.join(self.path, "views", "work", name))
        os.mkdir(os.path.join(self.path, "mnt"))
        os.chmod(self.path, 0o700)

    def write_manifest(self, **more):
        view = {"name": "work", "kind": "overlay", "base": self.base}
        with open(os.path.join(self.path, "execution.json"), "w") as file:
            json.dump({"format": 1, "id": "20260101-000000-test",
                       "created_ns": 1, "views": [view], **more}, file)

    def serve(self, *options, env=None):
        self.control, theirs = socket.socketpair(socket.AF_UNIX,
                                                 socket.SOCK_SEQPACKET)
        self.daemon = subprocess.Popen(
            [os.environ["LEGATO_FS"], "serve", "--execution", self.path,
             "--control-fd", str(theirs.fileno()), *options],
            pass_fds=[theirs.fileno()], env=env)
        theirs.close()
        self.control.settimeout(DEADLINE_S)
        # The /dev/fuse descriptor that comes with it is thrown away, so that
        # the connection ends with the daemon.
        if self.control.recv(100) != b"ready":
            raise RuntimeError("not served")

    def unmount(self):
        mount = os.path.join(self.path, "mnt")
        command = ["umount", "-l"] if os.geteuid() == 0 else ["fusermount3", "-uz"]
        subprocess.run([*command, mount], stderr=subprocess.DEVNULL, check=False)

    def kill(self):
        self.daemon.send_signal(signal.SIGKILL)
        self.daemon.wait()
        self.control.close()
        self.daemon = None
        self.unmount()

    def stop(self):
        """The clean end; its exit status."""
        self.control.close()
        status = self.daemon.wait(DEADLINE_S)
        self.daemon = None
        return status

    def journal(self):
        """(changes in the order of their sequences, processes by number)"""
        text = subprocess.run([os.environ["JOURNAL_DUMP"], self.path],
                              check=True, capture_output=True).stdout
        changes, processes = [], {}
        for line in text.splitlines():
            entry = json.loads(line)
            for key in ("path", "path2", "exe", "command", "cwd"):
                if key in entry:
                    entry[key] = entry[key].encode("latin-1").decode(
                        "utf-8", "surrogateescape")
            if entry["kind"] == "process":
                processes[entry["number"]] = entry
            else:
                entry["op"] = OPS[entry["op"]]
                changes.append(entry)
        changes.sort(key=lambda change: change["sequence"])
        return changes, processes

    def verify(self):
        """What `legato-diff verify` says is wrong, and its exit status."""
        scratch, name = os.path.split(self.path)
        done = subprocess.run(
            [os.environ["LEGATO_DIFF"], "verify", "--scratch-dir", scratch, name],
            check=False, capture_output=True, text=True)
        return [] if done.returncode == 0 else \
            [f"verify: {done.returncode}: {done.stderr}{done.stdout}"]

    def log(self):
        with open(os.path.join(self.path, "log")) as file:
            return file.read()

    def remove(self):
        if self.daemon:
            self.kill()
        self.unmount()
        shutil.rmtree(self.top, ignore_errors=True)


def lineage(process, processes):
    """The commands of the process and of those above it."""
    seen = []
    while process and process in processes:
        seen.append(processes[process]["command"].split("\0"))
        process = processes[process]["parent"]
    return seen
