#!/usr/bin/env python3
"""What legato-diff's cost follows: system calls per changed file, counted and
not timed; big files are neither loaded nor read where nothing is in them; and
what is ignored is what git ignores, although most names are never asked about.

usage: scale.py   (LEGATO_DIFF names the program)
"""

import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import overlay  # noqa: E402

FEW, MANY = 50, 450
GIB = 1 << 30


def put(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def make_changes(execution, kind, number):
    overlay.git(execution.base, "init", "-q", home=execution.top)
    put(os.path.join(execution.base, b".gitignore"), b"*.o\n/build/\n")
    for i in range(number):
        path = b"a/b%02d/c%05d.txt" % (i // 100, i)
        old = os.path.join(execution.base, path)
        new = os.path.join(execution.upper, path)
        os.makedirs(os.path.dirname(new), exist_ok=True)
        os.makedirs(os.path.dirname(old), exist_ok=True)
        if kind != "added":
            put(old, b"old %d\n" % i)
        if kind == "deleted":
            os.mknod(new, 0o020600, 0)
        else:
            put(new, b"new %d\n" % i)
        if kind == "modified":
            execution.set_origin(path, path)


def count_calls(execution):
    """All but those for memory. LeakSanitizer can't work under strace."""
    options = os.environ.get("ASAN_OPTIONS", "")
    environment = dict(os.environ, ASAN_OPTIONS=options + ":detect_leaks=0")
    with tempfile.NamedTemporaryFile(dir=execution.top) as counts:
        subprocess.run(
            ["strace", "-f", "-c", "-o", counts.name, "-e",
             "trace=!mmap,munmap,mremap,mprotect,madvise,brk,futex",
             os.environ["LEGATO_DIFF"], "--scratch-dir", execution.scratch,
             "--name-status"],
            check=True, stdin=subprocess.DEVNULL, capture_output=True,
            env=environment)
        total = re.search(rb"^ *100\.00 .* total$", counts.read(), re.M)
    return int(total.group().split()[3])


def calls_per_file(new):
    """Added: its stat, the base's, its origin. Deleted: two stats. Modified,
    of the same size: the three, two lists of attributes, whether the
    upper's is partial, and open, fstat, read and close of both. More is a regression; the rest is for directories."""
    if not shutil.which("strace"):
        return
    for kind, most in ("added", 3), ("deleted", 2), ("modified", 14):
        counts = []
        for number in FEW, MANY:
            execution = new(f"{kind}{number}")
            make_changes(execution, kind, number)
            counts.append(count_calls(execution))
        each = (counts[1] - counts[0]) / (MANY - FEW)
        assert each <= most + 0.5, f"{kind}: {each} calls for each file"


def big_files_cost_little(new):
    """10 GiB with a page of data at either end, changed, and renamed: memory
    stays far below that."""
    execution = new("big")
    for top, names in ((execution.base, (b"big", b"was")),
                       (execution.upper, (b"big", b"is"))):
        for name in names:
            with open(os.path.join(top, name), "wb") as file:
                file.truncate(10 * GIB)
                file.write(b"first")
                file.seek(10 * GIB - 4096)
                file.write(b"changed" if top == execution.upper and
                           name == b"big" else b"last")
    os.mknod(os.path.join(execution.upper, b"was"), 0o020600, 0)

    for form in "--name-status", "--stat", "--patch", "--json":
        done = subprocess.run(
            [os.environ["LEGATO_DIFF"], "--scratch-dir", execution.scratch,
             form],
            capture_output=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, (form, done.stderr)
        assert b"is" in done.stdout, (form, done.stdout)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    assert peak < GIB, peak
    assert execution.changes() == {
        b"big": ("M", "f"), b"is": ("R", "f", b"was")}, execution.changes()


def holes_stay_holes_in_a_tar(new):
    """Data at the start, in the middle and at the end; at the end only; none
    at all. tar and Python, which know nothing of ours, read the same."""
    execution = new("holes")
    files = {b"ends": (0, GIB, 2 * GIB - 5), b"end": (GIB,), b"none": ()}
    for name, offsets in files.items():
        with open(os.path.join(execution.upper, name), "wb") as file:
            file.truncate(2 * GIB)
            for offset in offsets:
                file.seek(offset)
                file.write(b"datum")
    packed = os.path.join(execution.top, b"packed.tar")
    with open(packed, "wb") as file:
        file.write(execution.verb("export", "--format", "tar"))
    assert os.path.getsize(packed) < 1 << 20, os.path.getsize(packed)
    unpacked = os.path.join(execution.top, b"unpacked")
    os.mkdir(unpacked)
    subprocess.run(["tar", "-xf", packed, "-C", unpacked], check=True)
    with tarfile.open(os.fsdecode(packed)) as archive:
        sizes = {os.fsencode(m.name): m.size for m in archive}
    assert sizes == dict.fromkeys(files, 2 * GIB), sizes
    for name, offsets in files.items():
        with open(os.path.join(unpacked, name), "rb") as file:
            st = os.fstat(file.fileno())
            assert st.st_size == 2 * GIB, (name, st.st_size)
            assert st.st_blocks * 512 <= 1 << 20, (name, st.st_blocks)
            for offset in offsets:
                assert os.pread(file.fileno(), 5, offset) == b"datum", name


NAMES = ["a", "b", "ab", "x.o", "x.c", "out", "é", "é.o", "A.O", "a b", " a",
         "a ", "#a", "!a", "[a", "a\\", "*", "f\t"]
RULES = ["*.o", "out/", "/a", "*.o\n!x.o", "a/*", "**/b", "a/**", "a/**/b", "?",
         "??", "[ab]", "[!a]b", "\\#a", "\\!a", "a\\ ", "é*", "# a", "", "/",
         " a", "a\\b", "x.*\r", "ab/out/", "*", "\\[a", "[a"]


def ignored_is_what_git_ignores(new):
    """Random rules in each place that git reads; our answer with the short cut
    is git's. (Left out: a negated rule alone in its file, and a tab at the end,
    which libgit2 reads in another way than git.)"""
    for seed in range(int(os.environ.get("SEEDS", 5))):
        rng = random.Random(seed)
        execution = new(f"ignored{seed}")
        overlay.git(execution.base, "init", "-q", home=execution.top)
        rules = rng.sample(RULES, 3)
        places = [".git/info/exclude", ".gitignore", "a/.gitignore"]
        for place, rule in zip(places, rules):
            put(os.path.join(execution.base, os.fsencode(place)),
                rule.encode() + b"\n")
        paths = {os.fsencode("/".join(rng.choices(NAMES, k=depth)))
                 for depth in (1, 2, 3) for _ in range(25)}
        paths = {p for p in paths
                 if not any(o.startswith(p + b"/") for o in paths)}
        for path in paths:
            put(os.path.join(execution.upper, path), b"new\n")
        done = subprocess.run(
            ["git", "-c", "safe.directory=*", "check-ignore", "-z", "--stdin"],
            cwd=execution.base, input=b"\0".join(sorted(paths)) + b"\0",
            capture_output=True, env=overlay.git_environment(execution.top))
        ignored = set(done.stdout.split(b"\0")) - {b""}
        shown = execution.changes().keys() & paths
        assert shown == paths - ignored, (
            f"seed {seed}, {rules}: folded {sorted(paths - shown)}, "
            f"git ignores {sorted(ignored)}")


TESTS = [calls_per_file, big_files_cost_little, holes_stay_holes_in_a_tar,
         ignored_is_what_git_ignores]


def main():
    overlay.run_isolated()
    os.umask(0o022)
    os.environ.setdefault("LEGATO_DIFF", shutil.which("legato-diff") or "")
    top = overlay.scratch_folder()
    tap = overlay.Tap()
    for test in TESTS:
        def new(name):
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
