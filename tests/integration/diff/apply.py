#!/usr/bin/env python3
"""legato-diff apply, rule by rule: what is taken over and what is not,
conflicts, hunks, merges, backups, hostile bases, and an apply that is killed
at every step.

usage: apply.py   (LEGATO_DIFF and LEGATO_FS name the programs)
"""

import os
import shutil
import signal
import subprocess
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import overlay  # noqa: E402
from kinds import expect, make, put  # noqa: E402


def read(*parts):
    with open(os.path.join(*parts), "rb") as file:
        return file.read()


def taken_over(execution, before, view, *options, links=True):
    execution.verb("apply", "--all", *options)
    overlay.compare_whole("after apply", overlay.whole(execution.base), view,
                          before, links)
    # Nothing is left to do.
    execution.verb("apply", "--all", *options)


def every_kind_becomes_every_other(new):
    execution = new()
    kinds = ["f", "d", "D", "l", "p", "s", ""]
    pairs = {f"{a or '0'}{b or '0'}".encode(): (a, b)
             for a in kinds for b in kinds if a != b}
    for name, (old, _) in pairs.items():
        make(old, os.path.join(execution.base, name))
    before = overlay.whole(execution.base)
    execution.mount()
    for name, (old, new_kind) in pairs.items():
        path = os.path.join(execution.view, name)
        if old in ("d", "D"):
            shutil.rmtree(path)
        elif old:
            os.unlink(path)
        make(new_kind, path)
    view = overlay.whole(execution.view)
    execution.umount()
    assert execution.verb("apply", "--all", "--dry-run").count(b"\n") > 40
    overlay.compare_whole("after a dry run", overlay.whole(execution.base),
                          before, {})
    taken_over(execution, before, view)


def attributes(new):
    execution = new()
    for name in (b"mode", b"attr", b"times", b"dir/x", b"shut/x"):
        put(os.path.join(execution.base, name))
    os.setxattr(os.path.join(execution.base, b"attr"), "user.old", b"1")
    before = overlay.whole(execution.base)
    execution.mount()
    view = execution.view
    os.chmod(os.path.join(view, b"mode"), 0o4751)
    os.removexattr(os.path.join(view, b"attr"), "user.old")
    os.setxattr(os.path.join(view, b"attr"), "user.new", b"2")
    put(os.path.join(view, b"times"), b"newer")
    os.utime(os.path.join(view, b"times"), ns=(5, 123456789))
    os.chmod(os.path.join(view, b"dir"), 0o750)
    put(os.path.join(view, b"shut/x"), b"changed")
    put(os.path.join(view, b"made/x"))
    os.chmod(os.path.join(view, b"made"), 0o555)
    os.chmod(os.path.join(view, b"shut"), 0o500)
    want = overlay.whole(view)
    execution.umount()
    taken_over(execution, before, want)


def only_what_is_asked_for(new):
    execution = new()
    for name in (b"a/one", b"a/two", b"ab", b"old/name"):
        put(os.path.join(execution.base, name), name * 4)
    execution.mount()
    for name in (b"a/one", b"a/two", b"ab", b"new/deep/x", b"new/y"):
        put(os.path.join(execution.view, name), b"agent\n")
    os.makedirs(os.path.join(execution.view, b"other"))
    os.rename(os.path.join(execution.view, b"old/name"),
              os.path.join(execution.view, b"other/name"))
    execution.umount()
    base = execution.base
    execution.verb("apply", "--", "a/one")
    expect(read(base, b"a/one"), b"agent\n")
    expect(read(base, b"a/two"), b"a/two" * 4)
    expect(read(base, b"ab"), b"ab" * 4)
    # With the directories it needs, and a rename's one end only.
    execution.verb("apply", "--", "new/deep", "other/name")
    expect(sorted(os.listdir(os.path.join(base, b"new"))), [b"deep"])
    expect(read(base, b"other/name"), b"old/name" * 4)
    expect(read(base, b"old/name"), b"old/name" * 4)
    execution.verb("apply", execution.id, "old")
    assert not os.path.exists(os.path.join(base, b"old/name"))
    expect(execution.verb("apply", "--", "nothing/here"), b"")


def noise(new):
    execution = new()
    home = os.path.join(execution.top, b"home")
    os.mkdir(home)
    put(os.path.join(execution.base, b".gitignore"), b"*.o\nout/\n")
    overlay.git(execution.base, "init", "-q", home=home)
    execution.mount()
    for name in (b"x.o", b"out/a", b"out/b", b".git/hooks/pre-commit", b"x.c",
                 b"sub/y.o"):
        put(os.path.join(execution.view, name))
    execution.umount()

    def has(name):
        return os.path.exists(os.path.join(execution.base, name))

    execution.verb("apply")
    assert b"left out 5" in execution.errors, execution.errors
    assert has(b"x.c") and not has(b"x.o") and not has(b"out")
    assert not has(b".git/hooks/pre-commit") and not has(b"sub")
    execution.verb("apply", "--", "out/a", "x.o")
    assert has(b"out/a") and has(b"x.o") and not has(b"out/b")
    execution.verb("apply", "--", "out")
    assert has(b"out/b")
    execution.verb("apply", "--all")
    assert has(b".git/hooks/pre-commit") and has(b"sub/y.o")


def conflicts(new):
    execution = new()
    for name in (b"a", b"b", b"c", b"gone", b"dir/x"):
        put(os.path.join(execution.base, name))
    for name in (b"a", b"b", b"c", b"gone", b"dir/new"):
        put(os.path.join(execution.upper, name), b"agent\n")
    for name in (b"a", b"b", b"c", b"gone"):
        execution.set_origin(name, name)
    put(os.path.join(execution.base, b"a"), b"by a person\n")
    put(os.path.join(execution.base, b"c"), b"agent\n")
    os.unlink(os.path.join(execution.base, b"gone"))
    moved = overlay.whole(execution.base)
    execution.verb("apply", status=1)
    expect(execution.errors, b"conflict: base moved: a\n"
           b"conflict: base moved: gone\n"
           b"legato-diff: 2 conflicts, nothing was written\n")
    overlay.compare_whole("after conflicts", overlay.whole(execution.base),
                          moved, {})
    # What became the same is none, and others can be taken over.
    execution.verb("apply", "--", "b", "c", "dir")
    expect(read(execution.base, b"b"), b"agent\n")
    expect(read(execution.base, b"dir/new"), b"agent\n")


def through_no_link(new):
    execution = new()
    outside = os.path.join(execution.top, b"outside")
    put(os.path.join(outside, b"x"), b"outside\n")
    put(os.path.join(execution.base, b"dir/x"), b"inside\n")
    execution.mount()
    put(os.path.join(execution.view, b"dir/x"), b"agent\n")
    put(os.path.join(execution.view, b"dir/y"), b"agent\n")
    os.symlink(outside, os.path.join(execution.view, b"way"))
    execution.umount()
    shutil.rmtree(os.path.join(execution.base, b"dir"))
    os.symlink(outside, os.path.join(execution.base, b"dir"))
    execution.verb("apply", status=1)
    # A link of the agent's is taken over as a link.
    execution.verb("apply", "--", "way")
    expect(os.readlink(os.path.join(execution.base, b"way")), outside)
    expect(read(outside, b"x"), b"outside\n")
    expect(os.listdir(outside), [b"x"])


def hunks(new):
    execution = new()
    lines = [b"%d\n" % i for i in range(60)]
    put(os.path.join(execution.base, b"f"), b"".join(lines), 0o644)
    changed = list(lines)
    changed[0] = b"first\n"
    changed[30:31] = []
    changed[59:59] = [b"near the end\n", b"no newline"]
    put(os.path.join(execution.upper, b"f"), b"".join(changed), 0o755)
    put(os.path.join(execution.upper, b"other"))
    execution.verb("apply", "--hunk", "f:2", "--dry-run")
    execution.verb("apply", "--hunk", "f:2")
    want = lines[:30] + lines[31:]
    expect(read(execution.base, b"f"), b"".join(want))
    expect(os.lstat(os.path.join(execution.base, b"f")).st_mode, 0o100644)
    assert not os.path.exists(os.path.join(execution.base, b"other"))
    execution.verb("apply", "--hunk", "f:1", "--hunk", "f:2")
    for wrong in ("f:9", "f", "f:0", "f:x", "none:1", "other:1"):
        execution.verb("apply", "--hunk", wrong, status=2)
        assert execution.errors, wrong


def three_way(new):
    execution = new()
    home = os.path.join(execution.top, b"home")
    os.mkdir(home)
    lines = [b"%d\n" % i for i in range(40)]
    for name in (b"clean", b"clash", b"binary"):
        put(os.path.join(execution.base, name), b"".join(lines))
    overlay.git(execution.base, "init", "-q", home=home)
    overlay.git(execution.base, "add", ".", home=home)
    overlay.git(execution.base, "commit", "-qm", "x", home=home)
    for name in (b"clean", b"clash", b"binary"):
        put(os.path.join(execution.upper, name),
            b"\0" if name == b"binary" else b"agent\n" + b"".join(lines[1:]))
        execution.set_origin(name, name)
        edited = lines[:-1] + [b"person\n"]
        if name == b"clash":
            edited[0] = b"also\n"
        put(os.path.join(execution.base, name), b"".join(edited))
    execution.verb("apply", "--", "clean", status=1)
    execution.verb("apply", "--3way", "--", "clean")
    merged = [b"agent\n"] + lines[1:-1] + [b"person\n"]
    expect(read(execution.base, b"clean"), b"".join(merged))
    execution.verb("apply", "--3way", "--", "clash", status=1)
    assert b"conflict markers in: 'clash'" in execution.errors
    expect(read(execution.base, b"clash"),
           b"<<<<<<< base\nalso\n=======\nagent\n>>>>>>> execution\n"
           + b"".join(merged[1:]))
    execution.verb("apply", "--3way", "--", "binary", status=2)
    assert b"person" in read(execution.base, b"binary")


def backups(new):
    execution = new()
    for name in (b"a", b"b", b"c"):
        put(os.path.join(execution.base, name), name)
    execution.mount()
    put(os.path.join(execution.view, b"a"), b"agent")
    os.unlink(os.path.join(execution.view, b"b"))
    put(os.path.join(execution.view, b"c"), b"agent")
    execution.umount()
    put(os.path.join(execution.base, b"c~"), b"mine")
    execution.verb("apply", "--backup", status=1)
    expect(execution.errors.split(b"\n")[0],
           b"conflict: its backup exists: c")
    execution.verb("apply", "--backup=.orig", "--", "a", "b")
    expect(sorted(os.listdir(execution.base)),
           [b"a", b"a.orig", b"b.orig", b"c", b"c~"])
    expect(read(execution.base, b"a.orig"), b"a")
    execution.verb("apply", "--backup=a/b", status=2)


def exports(new):
    execution = new()
    put(os.path.join(execution.base, b"dir/gone"))
    put(os.path.join(execution.base, b"kept"))
    execution.mount()
    shutil.rmtree(os.path.join(execution.view, b"dir"))
    put(os.path.join(execution.view, b"new/.wh.odd"))
    put(os.path.join(execution.view, b"new/plain"), b"agent\n")
    make("s", os.path.join(execution.view, b"socket"))
    execution.umount()
    patch = execution.verb("export", "--format", "patch", "--", "new/plain")
    assert b"+agent\n" in patch and b"gone" not in patch, patch
    tar = os.path.join(execution.top, b"tar")
    # What it can't hold is told, and no half of it is hidden.
    execution.verb("export", "--format", "tar", "-o", tar, status=2)
    assert b"'new/.wh.odd'" in execution.errors, execution.errors
    assert b"socket: 'socket'" in execution.errors, execution.errors
    names = subprocess.run(["tar", "-tf", tar], capture_output=True).stdout
    expect(names, b".wh.dir\nnew/\nnew/plain\n")
    folder = os.path.join(execution.top, b"folder")
    execution.verb("export", "--format", "dir", "-o", folder, "--", "new")
    expect(sorted(os.listdir(folder)), [b"dir", b"kept", b"new"])
    for wrong in (["--format", "dir", folder], ["--format", "zip"], [],
                  ["--format", "dir"], ["--format", "tar", "-o", "/no/where"],
                  ["--format", "patch", "2026", "x"],
                  ["--format", "patch", "--view", "none"]):
        execution.verb("export", *wrong, status=2)
        expect(execution.errors.count(b"\n"), 1)
    expect(sorted(os.listdir(folder)), [b"dir", b"kept", b"new"])


def scratch_views(new):
    execution = new()
    execution.add_scratch_view("tmp", "/tmp")
    execution.verb("apply", "--view", "tmp", status=2)
    assert b"export" in execution.errors
    execution.verb("apply", "--view", "none", status=2)


def big_and_sparse(new):
    """Reads no file into memory."""
    execution = new()
    for where in (execution.base, execution.upper):
        with open(os.path.join(where, b"huge"), "wb") as file:
            file.truncate(10 << 30)
    with open(os.path.join(execution.upper, b"huge"), "r+b") as file:
        file.write(b"agent")
    command = [os.environ["LEGATO_DIFF"], "apply", "--scratch-dir",
               execution.scratch]
    done = subprocess.run(
        ["sh", "-c", 'ulimit -v 400000 2>/dev/null; exec "$@"', "sh",
         *command], capture_output=True)
    if b"AddressSanitizer" in done.stderr:
        done = subprocess.run(command, capture_output=True)
    expect(done.returncode, 0)
    st = os.lstat(os.path.join(execution.base, b"huge"))
    assert st.st_size == 10 << 30 and st.st_blocks < 1 << 16, st


def fill_for_kills(execution):
    """A base with all that an apply has to do; the edits are below."""
    base = execution.base
    for name in (b"edited", b"linked", b"gone", b"pair", b"tofile/a",
                 b"tofile/b/c", b"todir", b"moved/x", b"moved/deep/y",
                 b"swapa/one", b"swapb/two", b"swapa/both", b"swapb/both",
                 b"tree/a/b", b"name"):
        put(os.path.join(base, name), name * 3)
    os.link(os.path.join(base, b"linked"), os.path.join(base, b"linked2"))
    os.link(os.path.join(base, b"pair"), os.path.join(base, b"pair2"))
    os.symlink(b"old", os.path.join(base, b"link"))


def edit_for_kills(view):
    def at(name):
        return os.path.join(view, name)

    put(at(b"edited"), b"agent")
    put(at(b"linked"), b"agent")
    os.unlink(at(b"pair"))
    os.unlink(at(b"pair2"))
    os.unlink(at(b"gone"))
    shutil.rmtree(at(b"tofile"))
    put(at(b"tofile"), b"a file")
    os.unlink(at(b"todir"))
    put(at(b"todir/a/b"), b"in a directory")
    os.chmod(at(b"todir"), 0o750)
    os.rename(at(b"moved"), at(b"target"))
    put(at(b"target/x"), b"changed there")
    os.rename(at(b"swapa"), at(b"swap"))
    os.rename(at(b"swapb"), at(b"swapa"))
    os.rename(at(b"swap"), at(b"swapb"))
    shutil.rmtree(at(b"tree"))
    os.rename(at(b"name"), at(b"renamed"))
    os.unlink(at(b"link"))
    os.symlink(b"new", at(b"link"))
    put(at(b"fresh"), b"x")
    os.link(at(b"fresh"), at(b"fresh2"))
    os.setxattr(at(b"fresh"), "user.x", b"1")
    os.mkfifo(at(b"fifo"))


def old_or_new(base, before, view):
    """Each path holds, whole, what it held before or what the view has."""
    # A new directory's own mode comes last.
    for path, entry in overlay.whole(base).items():
        options = [tree[path] for tree in (before, view) if path in tree]
        assert options, f"neither old nor new: {path}"
        if entry[0] == "d":
            assert any(option[0] == "d" for option in options), path
        else:
            assert any(entry[:4] == option[:4] for option in options), \
                (path, entry)


def killed_at(call, new):
    """Each run goes on where the one before was killed, and a bit further."""
    execution = new()
    fill_for_kills(execution)
    before = overlay.whole(execution.base)
    execution.mount()
    edit_for_kills(execution.view)
    view = overlay.whole(execution.view)
    execution.umount()
    # What comes before the first step is done again each time.
    for turn in range(200):
        nth = 2 if call == "renameat2" else turn + 2
        done = subprocess.run(
            [os.environ["LEGATO_DIFF"], "apply", "--all", "--scratch-dir",
             execution.scratch], capture_output=True,
            env={**os.environ, "LEGATO_FAULT": f"{call}:{nth}:0"})
        if done.returncode != -signal.SIGKILL:
            break
        tree = overlay.snapshot(execution.base)
        if not any(b".legato-apply-" in path for path in tree):
            old_or_new(execution.base, before, view)
    assert done.returncode == 0 and b"conflict" not in done.stderr, \
        (call, turn, done)
    execution.verb("apply", "--all", "--forget")
    overlay.compare_whole("after all", overlay.whole(execution.base), view,
                          before)
    return turn


def killed_at_every_step(new):
    turns = 0
    for call in ["renameat2", "unlinkat", "linkat", "mkdirat", "symlinkat",
                 "fchmodat", "utimensat", "setxattrat"]:
        def daemon(name=f"killed-{call}"):
            return overlay.DaemonExecution(os.path.join(new.top, name))
        turns += killed_at(call, daemon)
    assert turns > 20, f"killed {turns} times only; -Dfault_injection=true?"


TESTS = [every_kind_becomes_every_other, attributes, only_what_is_asked_for,
         noise, conflicts, through_no_link, hunks, three_way, backups,
         exports, scratch_views, big_and_sparse, killed_at_every_step]


def main():
    overlay.run_isolated()
    os.umask(0o022)
    top = overlay.scratch_folder()
    tap = overlay.Tap()
    names = sys.argv[1:]
    for test in TESTS:
        if names and test.__name__ not in names:
            continue

        def new(name=test.__name__):
            return overlay.Execution(os.path.join(top, name))
        new.top = top
        try:
            test(new)
            tap.check(True, test.__name__.replace("_", " "))
        except (AssertionError, OSError) as error:
            tap.check(False, test.__name__.replace("_", " "),
                      "".join(traceback.format_exception(error)[-3:]))
    tap.finish()


if __name__ == "__main__":
    main()
