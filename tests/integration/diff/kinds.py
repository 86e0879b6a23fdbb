#!/usr/bin/env python3
"""legato-diff, rule by rule: each kind of entry that becomes each other kind,
opaque directories, whiteouts over nothing, what is no change, base moved,
noise, paths, views, exit statuses, what a terminal is shown, and a view that
changes while it is read.

usage: kinds.py   (LEGATO_DIFF names the program)
"""

import json
import os
import pty
import shutil
import socket
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import overlay  # noqa: E402


def put(path, content=b"text\n", mode=None):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    if mode is not None:
        os.chmod(path, mode)


def whiteout(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.mknod(path, 0o020600, 0)


def make(kind, path):
    if kind == "f":
        put(path)
    elif kind == "d":
        os.mkdir(path)
    elif kind == "D":
        put(os.path.join(path, b"inner"))
    elif kind == "l":
        os.symlink(b"target", path)
    elif kind == "p":
        os.mkfifo(path)
    elif kind == "s":
        # The address of a socket is short: bind by a short relative path.
        here = os.open(".", os.O_PATH)
        os.chdir(os.path.dirname(path))
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(os.path.basename(path))
        os.fchdir(here)
        os.close(here)


def expect(got, want):
    assert got == want, f"got:  {got}\nwant: {want}"


def every_kind_becomes_every_other(new):
    execution = new()
    kinds = ["f", "d", "D", "l", "p", "s", ""]
    pairs = {f"{a or '0'}{b or '0'}".encode(): (a, b)
             for a in kinds for b in kinds if a != b}
    for name, (old, _) in pairs.items():
        make(old, os.path.join(execution.base, name))
    execution.mount()
    for name, (old, new_kind) in pairs.items():
        path = os.path.join(execution.view, name)
        if old in ("d", "D"):
            shutil.rmtree(path)
        elif old:
            os.unlink(path)
        make(new_kind, path)
    view = overlay.snapshot(execution.view)
    execution.umount()
    want = overlay.expected_changes(overlay.snapshot(execution.base), view)
    expect(execution.changes("--no-renames"), want)
    assert want[b"lf"] == ("T", "l>f") and want[b"Df/inner"] == ("D", "f")
    # Named pipes and sockets can't be in a patch, and say so.
    patch = execution.diff("--no-renames")
    for line in (b"# A p 0p: new FIFO", b"# D s s0: old socket",
                 b"# T f>p fp: new FIFO", b"# T p>f pf: old FIFO"):
        assert line + b"\n" in patch, line
    assert b" b/pf\n" not in patch and b"diff --git a/fp b/fp\n" in patch


def whiteouts_and_opaque(new):
    execution = new()
    put(os.path.join(execution.base, b"dir/old"))
    put(os.path.join(execution.base, b"dir/sub/deep"))
    put(os.path.join(execution.base, b"dir/kept"))
    os.makedirs(os.path.join(execution.base, b"gone/empty"))
    put(os.path.join(execution.upper, b"dir/kept"))
    put(os.path.join(execution.upper, b"dir/sub/new"))
    whiteout(os.path.join(execution.upper, b"dir/nothing"))
    whiteout(os.path.join(execution.upper, b"nothing"))
    whiteout(os.path.join(execution.upper, b"gone"))
    os.setxattr(os.path.join(execution.upper, b"dir"),
                "user.overlay.opaque", b"y")
    expect(execution.changes("--no-renames"), {
        b"dir/old": ("D", "f"), b"dir/sub/deep": ("D", "f"),
        b"dir/sub/new": ("A", "f"), b"gone/empty/": ("D", "d")})
    # Only whiteouts inside: empty in the view.
    whiteout(os.path.join(execution.upper, b"hollow/x"))
    expect(execution.changes("--no-renames")[b"hollow/"], ("A", "d"))


def touched_is_no_change(new):
    execution = new()
    for where in (execution.base, execution.upper):
        put(os.path.join(where, b"same"), b"x" * 300000)
        put(os.path.join(where, b"empty"), b"")
        os.symlink(b"t", os.path.join(where, b"link"))
        os.mkfifo(os.path.join(where, b"fifo"))
        os.mkdir(os.path.join(where, b"dir"))
    for name in (b"same", b"dir"):
        os.utime(os.path.join(execution.upper, name), (1, 1))
    expect(execution.diff("--exit-code"), b"")
    put(os.path.join(execution.upper, b"same"), b"x" * 299999 + b"y")
    os.chmod(os.path.join(execution.upper, b"dir"), 0o700)
    os.setxattr(os.path.join(execution.upper, b"empty"), "user.a", b"1")
    expect(execution.changes(), {b"same": ("M", "f"), b"dir/": ("M", "d"),
                                 b"empty": ("M", "f")})
    # The format's own attributes are none of the agent's.
    os.removexattr(os.path.join(execution.upper, b"empty"), "user.a")
    os.setxattr(os.path.join(execution.upper, b"empty"),
                "user.overlay.impure", b"y")
    execution.set_origin(b"empty", b"empty")
    assert b"empty" not in execution.changes()


def base_moved(new):
    execution = new()
    for name in (b"still", b"edited", b"replaced", b"renamed", b"target"):
        put(os.path.join(execution.base, name), name * 3)
        put(os.path.join(execution.upper, name), name * 3 + b"agent")
        execution.set_origin(name, name)
    # The agent did `mv renamed target`: no reason for a warning.
    os.unlink(os.path.join(execution.upper, b"renamed"))
    whiteout(os.path.join(execution.upper, b"renamed"))
    execution.set_origin(b"target", b"renamed")
    execution.diff()
    assert b"base moved" not in execution.errors, execution.errors
    put(os.path.join(execution.base, b"edited"), b"by a person")
    put(os.path.join(execution.base, b"beside"), b"by an editor")
    os.rename(os.path.join(execution.base, b"beside"),
              os.path.join(execution.base, b"replaced"))
    execution.diff()
    moved = [line for line in execution.errors.split(b"\n")
             if b"base moved" in line]
    expect(sorted(moved), [b"warning: base moved: 'edited'",
                           b"warning: base moved: 'replaced'"])


def base_moved_below_a_deletion(new):
    execution = new()
    names = (b"kept", b"edited", b"dir/kept", b"dir/edited", b"link")
    for name in names:
        put(os.path.join(execution.base, name))
    execution.mount()
    shutil.rmtree(os.path.join(execution.view, b"dir"))
    for name in (b"kept", b"edited", b"link"):
        os.unlink(os.path.join(execution.view, name))
    os.symlink(b"t", os.path.join(execution.view, b"link"))
    execution.umount()
    execution.diff()
    assert b"base moved" not in execution.errors, execution.errors
    # The clock of files has ticks.
    deadline = time.monotonic() + 30
    born = os.lstat(os.path.join(execution.upper, b"link")).st_ctime_ns
    while time.monotonic() < deadline:
        put(os.path.join(execution.base, b"link"), b"by a person")
        if os.lstat(os.path.join(
                execution.base, b"link")).st_ctime_ns > born:
            break
    for name in (b"edited", b"dir/edited", b"dir/new"):
        put(os.path.join(execution.base, name), b"by a person")
    execution.diff("--name-status")
    moved = [line for line in execution.errors.split(b"\n")
             if b"base moved" in line]
    expect(sorted(moved), [b"warning: base moved: '" + name + b"'" for name in
                           (b"dir/edited", b"dir/new", b"edited", b"link")])


def renames(new):
    execution = new()
    put(os.path.join(execution.base, b"a/one"), b"1\n2\n3\n4\n5\n6\n7\n")
    put(os.path.join(execution.base, b"a/two"), b"second\n")
    put(os.path.join(execution.base, b"b/two"), b"second\n")
    os.symlink(b"there", os.path.join(execution.base, b"link"))
    put(os.path.join(execution.base, b"empty"), b"")
    put(os.path.join(execution.base, b"dir/x"), b"in a moved directory\n")
    for name in (b"a", b"b", b"link", b"empty", b"dir"):
        whiteout(os.path.join(execution.upper, name))
    put(os.path.join(execution.upper, b"c/uno"), b"1\n2\n3\n4\n5\n6\n7\n8\n")
    execution.set_origin(b"c/uno", b"a/one")
    put(os.path.join(execution.upper, b"c/two"), b"second\n")
    os.symlink(b"there", os.path.join(execution.upper, b"c/link"))
    put(os.path.join(execution.upper, b"c/empty"), b"")
    os.mkdir(os.path.join(execution.upper, b"moved"))
    os.setxattr(os.path.join(execution.upper, b"moved"),
                "user.overlay.redirect", b"/dir")
    expect(execution.changes(), {
        b"c/uno": ("R", "f", b"a/one"), b"c/two": ("R", "f", b"a/two"),
        b"b/two": ("D", "f"), b"c/link": ("R", "l", b"link"),
        b"empty": ("D", "f"), b"c/empty": ("A", "f"),
        b"moved/x": ("R", "f", b"dir/x")})
    patch = execution.diff()
    assert b"rename from a/one\nrename to c/uno\n" in patch
    assert b"similarity index 100%\nrename from a/two\n" in patch
    expect(execution.changes("--no-renames")[b"moved/x"], ("A", "f"))
    assert b"+in a moved directory\n" in execution.diff("--no-renames")


def noise(new):
    execution = new()
    home = os.path.join(execution.top, b"home")
    os.mkdir(home)
    put(os.path.join(execution.base, b".gitignore"), b"*.o\nout/\n!keep.o\n")
    put(os.path.join(execution.base, b"tracked.o"))
    overlay.git(execution.base, "init", "-q", home=home)
    overlay.git(execution.base, "add", "-f", ".", home=home)
    overlay.git(execution.base, "commit", "-qm", "x", home=home)
    put(os.path.join(execution.base, b"stale.o"), b"stale\n")
    execution.mount()
    view = execution.view
    put(os.path.join(view, b"tracked.o"), b"changed\n")
    put(os.path.join(view, b"keep.o"))
    put(os.path.join(view, b"new.o"))
    put(os.path.join(view, b"out/x/y"))
    put(os.path.join(view, b".git/hooks/pre-commit"))
    put(os.path.join(view, b"vendor/.git/config"))
    # Its own rules must not hide what the agent did.
    put(os.path.join(view, b".gitignore"), b"*\n")
    os.unlink(os.path.join(view, b"stale.o"))
    execution.umount()
    shown = {b"tracked.o": ("M", "f"), b"keep.o": ("A", "f"),
             b".gitignore": ("M", "f")}
    # Deletions are never folded in a list of names.
    expect(execution.changes(), {**shown, b"stale.o": ("D", "f")})
    assert b"ignored files: A 2 " in execution.errors, execution.errors
    assert b"below .git: A 2 " in execution.errors, execution.errors
    expect(execution.changes("--all"), {
        **shown, b"stale.o": ("D", "f"), b"new.o": ("A", "f"),
        b"out/x/y": ("A", "f"), b".git/hooks/pre-commit": ("A", "f"),
        b"vendor/.git/config": ("A", "f")})
    patch = execution.diff()
    assert b"stale.o" not in patch and b"new.o" not in patch
    assert b"ignored files: D 1, A 2 " in execution.errors, execution.errors
    patch = execution.diff("--all")
    assert b"stale.o" in patch and b"new.o" in patch
    # git apply refuses any path with .git in it.
    assert b"pre-commit" not in patch and b"below .git" in patch


def paths_and_views(new):
    execution = new()
    put(os.path.join(execution.upper, b"a/b/c"))
    put(os.path.join(execution.upper, b"ab"))
    tmp = os.path.join(execution.folder, b"views/tmp")
    put(os.path.join(tmp, b"upper/note"), b"12345")
    os.makedirs(os.path.join(tmp, b"base"))
    manifest = os.path.join(execution.folder, b"execution.json")
    with open(manifest) as file:
        content = json.load(file)
    content["views"].append({
        "name": "tmp", "kind": "scratch", "mount_at": "/tmp",
        "base": os.fsdecode(os.path.join(tmp, b"base"))})
    with open(manifest, "w") as file:
        json.dump(content, file)

    def names(*options, paths=()):
        return execution.diff("--name-status", *options, paths=paths)

    expect(names(), b"A f\ta/b/c\nA f\tab\n")
    expect(execution.errors,
           b"note: view tmp: A 1 (5 bytes); --view tmp shows it\n")
    expect(names(paths=["a"]), b"A f\ta/b/c\n")
    expect(names(paths=["./a/b/", "x"]), b"A f\ta/b/c\n")
    expect(names(paths=[os.path.join(execution.base, b"ab")]), b"A f\tab\n")
    expect(names(paths=["."]), b"A f\ta/b/c\nA f\tab\n")
    expect(names("--view", "tmp"), b"A f\t/tmp/note\n")
    both = names("--all-views").split(b"\n")
    expect(both[1:], [b"A f\t" + execution.base + b"/ab", b"A f\t/tmp/note",
                      b""])
    assert b"diff --git a/tmp/note b/tmp/note\n" in execution.diff(
        "--view", "tmp")
    execution.diff("--view", "nope", status=2)


def statuses(new):
    execution = new()
    execution.diff("--exit-code", status=0)
    put(os.path.join(execution.upper, b"x"))
    execution.diff(status=0)
    execution.diff("--exit-code", status=1)
    execution.diff("2026", "--exit-code", status=1)
    for wrong in (["--nope"], ["--color=red"], ["--view"], ["1999"],
                  ["2026", "x"], ["--scratch-dir", "/nonexistent"]):
        execution.diff(*wrong, status=2)
        assert execution.errors.count(b"\n") == 1, execution.errors
    expect(execution.diff("--version")[:11], b"legato-diff")
    assert b"usage:" in execution.diff("--help")
    # A disk that is full is no success.
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [os.environ["LEGATO_DIFF"], "--scratch-dir", execution.scratch],
            stdout=full, stderr=subprocess.PIPE)
    expect(done.returncode, 2)


def big_and_binary(new):
    execution = new()
    for where, size in ((execution.base, 700), (execution.upper, 701)):
        with open(os.path.join(where, b"huge"), "wb") as file:
            file.truncate(size << 20)
        put(os.path.join(where, b"bin"), b"\0" * size)
    patch = execution.diff()
    assert b"# M f huge: old content too big for a patch (700.0 MiB), " \
        b"new content too big for a patch (701.0 MiB)\n" in patch, patch[:300]
    assert b"GIT binary patch\n" in patch
    assert b"a/huge" not in patch
    patch = execution.diff("--no-binary")
    assert b"Binary files a/bin (700 bytes, " in patch
    assert b" differ\n" in patch and b"GIT binary patch" not in patch
    assert b" bin  | Bin 700 -> 701 bytes\n" in execution.diff("--stat")


def on_terminal(execution, *options, **environment):
    """What legato-diff writes to a terminal."""
    master, slave = pty.openpty()
    keep = {key: value for key, value in os.environ.items()
            if key not in ("PAGER", "GIT_PAGER", "NO_COLOR", "LESS")}
    process = subprocess.Popen(
        [os.environ["LEGATO_DIFF"], "--scratch-dir", execution.scratch,
         *options], stdin=slave, stdout=slave, stderr=slave,
        env={**keep, "TERM": "xterm", **environment})
    os.close(slave)
    output = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        output += piece
    process.wait()
    os.close(master)
    expect(process.returncode, 0)
    return output.replace(b"\r\n", b"\n")


def terminal(new):
    execution = new()
    put(os.path.join(execution.upper, b"evil\x1b[2J"),
        b"a\x1b]0;title\x07\rb \xe2\x80\xae \xff \xc3\xa9\n")
    put(os.path.join(execution.upper, b"bin"), b"\0")
    text = on_terminal(execution, "--no-pager")
    assert b"\x1b[32m+a^[]0;title^G^Mb <U+202E> <FF> \xc3\xa9\x1b[m" in text
    assert b"\x1b[1mdiff --git a/bin b/bin\x1b[m\n" in text
    assert b"Binary files /dev/null and b/bin (1 byte, " in text
    assert b"\x1b[2J" not in text
    assert b"\x1b" not in on_terminal(execution, "--no-pager", NO_COLOR="1")
    assert b"\x1b" not in on_terminal(execution, "--no-pager", TERM="dumb")
    paged = on_terminal(execution, PAGER="sed s/^/paged:/")
    assert paged.startswith(b"paged:"), paged
    assert b"paged:\x1b[1mdiff --git" in paged
    # The bytes of a patch in a pipe are the file's own.
    assert b"+a\x1b]0;title\x07\rb \xe2\x80\xae \xff" in execution.diff()
    assert b"\x1b[32m" in execution.diff("--color=always")


def while_it_changes(new):
    """Every answer on a view in use is an answer, never a failure."""
    execution = new()
    for i in range(50):
        put(os.path.join(execution.base, b"d%d/f" % i), b"base\n" * 1000)
    done = threading.Event()

    def churn():
        turn = 0
        while not done.is_set():
            top = os.path.join(execution.upper, b"d%d" % (turn % 50))
            turn += 1
            try:
                put(os.path.join(top, b"f"), b"agent\n" * (turn % 2000))
                put(os.path.join(top, b"new/x"), b"n" * (turn % 99))
                os.truncate(os.path.join(top, b"f"), turn % 7)
                os.rename(os.path.join(top, b"new"),
                          os.path.join(execution.upper, b"n%d" % (turn % 9)))
            except OSError:
                pass
            if turn % 3 == 0:
                shutil.rmtree(top, ignore_errors=True)
                shutil.rmtree(os.path.join(
                    execution.upper, b"n%d" % (turn % 9)), ignore_errors=True)
                try:
                    whiteout(top)
                    os.unlink(top)
                except OSError:
                    pass

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        end = time.monotonic() + 4
        while time.monotonic() < end:
            execution.diff("--name-status")
            execution.diff("--stat")
            execution.diff()
    finally:
        done.set()
        thread.join()


TESTS = [every_kind_becomes_every_other, whiteouts_and_opaque,
         touched_is_no_change, base_moved,
         base_moved_below_a_deletion, renames, noise, paths_and_views,
         statuses, big_and_binary, terminal, while_it_changes]


def main():
    overlay.run_isolated()
    os.umask(0o022)
    os.environ.setdefault("LEGATO_DIFF", shutil.which("legato-diff") or "")
    top = overlay.scratch_folder()
    tap = overlay.Tap()
    for test in TESTS:
        def new(name=test.__name__):
            return overlay.Execution(os.path.join(top, name))
        try:
            test(new)
            tap.check(True, test.__name__.replace("_", " "))
        except (AssertionError, OSError) as error:
            tap.check(False, test.__name__.replace("_", " "),
                      "".join(traceback.format_exception(error)[-3:]))
    tap.finish()


if __name__ == "__main__":
    main()
