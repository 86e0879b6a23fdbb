#!/usr/bin/env python3
"""Random trees, random edits through a view: legato-diff says what a plain
comparison of both trees says, and its patch, applied to a copy of the base,
gives the view's files.

usage: random_trees.py kernel|daemon [SEEDS [FIRST]]

The view is served by the kernel's overlayfs, or by legato-fs. LEGATO_DIFF and
LEGATO_FS name the programs.
"""

import os
import random
import shutil
import stat
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import overlay  # noqa: E402

NAMES = [
    b"a", b"b", b"c", b"d.txt", b"e.o", b"main.c", b"Makefile", b"build",
    b"with space", b" lead", b"trail ", b"tab\there", b"new\nline", b"quo\"te",
    b"apo'strophe", b"back\\slash", b"-dash", b"x b", b"#hash", b"star*",
    b"question?", b"$(dollar)", "größe".encode(), "日本語".encode(),
    b"latin1-\xe4\xf6", b"c1-\xc2\x9b31m", b"esc-\x1b[31m", b"bell\x07",
    b"\x7f", b"\xff\xfe", b"@@ -1 +1 @@", b"dev", b"null", b"n" * 255,
]


class Maker:
    """Draws trees and edits from one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, share):
        return self.random.random() < share

    def text(self):
        line = self.random.choice(["%d\n", "line %d\n", "\t%d\r\n", "é %d\n"])
        count = self.random.choice([0, 1, 3, 10, 60, 400])
        lines = [line % self.random.randrange(50) for _ in range(count)]
        text = "".join(lines).encode()
        return text[:-1] if self.chance(0.25) else text

    def content(self):
        pick = self.random.random()
        if pick < 0.7:
            return self.text()
        size = self.random.choice([0, 1, 5, 4096, 70000])
        if pick < 0.9:
            return self.random.randbytes(size)
        return self.text() + b"\0" + self.text()

    def edited(self, content):
        if self.chance(0.2):
            return self.content()
        lines = content.splitlines(keepends=True)
        for _ in range(self.random.randrange(1, 4)):
            at = self.random.randrange(len(lines) + 1)
            if lines and self.chance(0.4):
                del lines[min(at, len(lines) - 1)]
            else:
                lines.insert(at, b"edit %d\n" % self.random.randrange(99))
        return b"".join(lines)

    def target(self):
        return self.random.choice(
            [b"missing", b"../b", b"/etc/passwd", b"no\nwhere", b"\xff", b"x" * 200])

    def name(self):
        return self.random.choice(NAMES)

    def new_entry(self, path, depth=0, special=False):
        """Makes something at `path`, where nothing is."""
        pick = self.random.random()
        if pick < 0.25 and depth < 3:
            os.mkdir(path)
            for _ in range(self.random.randrange(5)):
                inner = os.path.join(path, self.name())
                if not os.path.lexists(inner):
                    self.new_entry(inner, depth + 1, special)
            # git apply can't put a file where empty directories are nested.
            if depth > 0 and not os.listdir(path):
                self.new_entry(os.path.join(path, b"a"), 9)
        elif pick < 0.35:
            os.symlink(self.target(), path)
        elif pick < 0.4 and special:
            os.mkfifo(path)
        else:
            with open(path, "wb") as file:
                file.write(self.content())
            if self.chance(0.3):
                os.chmod(path, self.random.choice(
                    [0o755, 0o600, 0o444, 0o700, 0o4755]))
            if self.chance(0.05):
                os.setxattr(path, "user.mark", b"new")


class Edits:
    """Random operations in a mounted view, and which base file each regular
    file still is (as the daemon would record it)."""

    def __init__(self, maker, execution):
        self.maker = maker
        self.top = execution.view
        self.moves_dirs = execution.moves_dirs
        self.origins = {
            path: path for path, entry in
            overlay.snapshot(execution.base).items() if entry[0] == "f"
            and os.lstat(os.path.join(execution.base, path)).st_nlink == 1}

    def paths(self, kinds):
        found = []
        for path, entry in overlay.snapshot(self.top).items():
            inside = path.split(b"/")
            if entry[0] in kinds and b".git" not in inside:
                found.append(path)
        return sorted(found)

    def pick(self, kinds):
        paths = self.paths(kinds)
        return self.maker.random.choice(paths) if paths else None

    def full(self, path):
        return os.path.join(self.top, path)

    def forget(self, path):
        for known in list(self.origins):
            if known == path or known.startswith(path + b"/"):
                del self.origins[known]

    def remove(self, path):
        self.forget(path)
        if os.path.isdir(self.full(path)) and not os.path.islink(
                self.full(path)):
            shutil.rmtree(self.full(path))
        else:
            os.unlink(self.full(path))

    def fresh_path(self):
        parent = self.pick("d") if self.maker.chance(0.6) else None
        path = os.path.join(parent or b"", self.maker.name())
        return None if os.path.lexists(self.full(path)) else path

    def write(self):
        path = self.pick("f")
        if path:
            with open(self.full(path), "r+b") as file:
                new = self.maker.edited(file.read())
                file.seek(0)
                file.truncate()
                file.write(new)

    def rewrite_equal(self):
        path = self.pick("f")
        if path:
            with open(self.full(path), "r+b") as file:
                same = file.read()
                file.seek(0)
                file.truncate()
                file.write(same)

    def replace(self):
        path = self.pick("f")
        if path:
            with open(self.full(path), "rb") as file:
                new = self.maker.edited(file.read())
            self.remove(path)
            with open(self.full(path), "wb") as file:
                file.write(new)

    def chmod(self):
        path = self.pick("fd")
        if path:
            mode = self.maker.random.choice([0o755, 0o644, 0o700, 0o600])
            if os.path.isdir(self.full(path)):
                mode |= 0o700
            os.chmod(self.full(path), mode)

    def touch(self):
        path = self.pick("fd")
        if path:
            os.utime(self.full(path), (1, 1))

    def attribute(self):
        path = self.pick("fd")
        if path:
            os.setxattr(self.full(path), "user.mark", b"set")

    def delete(self):
        path = self.pick("fdlp")
        if path:
            self.remove(path)

    def create(self):
        path = self.fresh_path()
        if path:
            self.maker.new_entry(self.full(path), 1, special=True)

    def turn_into(self):
        # A FIFO of the base can't give way to a file in a patch.
        path = self.pick("fdl")
        if path:
            self.remove(path)
            self.maker.new_entry(self.full(path), 1)

    def recreate_dir(self):
        path = self.pick("d")
        if path:
            self.remove(path)
            os.mkdir(self.full(path))
            if self.maker.chance(0.7):
                self.maker.new_entry(
                    os.path.join(self.full(path), self.maker.name()), 2)

    def rename(self):
        path, to = self.pick("fl"), self.fresh_path()
        if self.maker.chance(0.2):
            to = self.pick("f")
        if not path or not to or path == to:
            return
        os.rename(self.full(path), self.full(to))
        origin = self.origins.pop(path, None)
        self.origins.pop(to, None)
        if origin is not None:
            self.origins[to] = origin

    def rename_dir(self):
        path, to = self.pick("d"), self.fresh_path()
        if (not self.moves_dirs or not path or not to
                or (to + b"/").startswith(path + b"/")):
            return
        os.rename(self.full(path), self.full(to))
        for known in sorted(self.origins):
            if known.startswith(path + b"/"):
                self.origins[to + known[len(path):]] = self.origins.pop(known)

    def link(self):
        path, to = self.pick("f"), self.fresh_path()
        if path and to:
            os.link(self.full(path), self.full(to))
            if path in self.origins:
                self.origins[to] = self.origins[path]

    def run(self, count):
        operations = [self.write] * 3 + [self.create] * 2 + [self.delete] * 2
        operations += [self.rename] * 2 + [
            self.rewrite_equal, self.replace, self.chmod, self.touch,
            self.attribute, self.turn_into, self.recreate_dir, self.link,
            self.rename_dir]
        for _ in range(count):
            self.maker.random.choice(operations)()


def files_of(tree):
    """What git can hold of a tree."""
    files = {}
    for path, (kind, mode, content, _) in tree.items():
        if kind in "fl" and b".git" not in path.split(b"/"):
            files[path] = (kind, bool(mode & stat.S_IXUSR), content)
    return files


def check_renames(edits, base, view, ignored, changes):
    """Each file that was renamed and lost its old name is told as such,
    unless it left or joined what is ignored."""
    for path, origin in edits.origins.items():
        sources = [p for p, o in edits.origins.items() if o == origin]
        if (path != origin and path not in base and origin not in view
                and len(sources) == 1
                and (path in ignored) == (origin in ignored)):
            assert changes.get(path, ("?",))[0] == "R", (path, origin)
            assert changes[path][2] == origin, (path, changes[path])


def expand_renames(changes):
    plain = {}
    for path, change in changes.items():
        if change[0] == "R":
            plain[change[2]] = ("D", change[1])
            plain[path] = ("A", change[1])
        else:
            plain[path] = change
    return plain


def compare_dicts(what, got, want):
    if got != want:
        keys = sorted(k for k in got.keys() | want.keys()
                      if got.get(k) != want.get(k))
        lines = [f"{k}: got {str(got.get(k))[:200]}, "
                 f"want {str(want.get(k))[:200]}" for k in keys[:10]]
        raise AssertionError(f"{what}:\n" + "\n".join(lines))


def apply_patch(execution, patch, home, view, relevant):
    """Applies to a copy of the base, and compares what is `relevant`."""
    copy = os.path.join(execution.top, b"copy")
    shutil.copytree(execution.base, copy, symlinks=True)
    try:
        if patch.replace(b"\n#", b"\ndiff").find(b"diff --git") >= 0:
            overlay.git(copy, "apply", "--whitespace=nowarn", "-", home=home,
                        stdin=patch)
        got = files_of(overlay.snapshot(copy))
        want = files_of(view)
        compare_dicts("after git apply",
                      {p: v for p, v in got.items() if relevant(p)},
                      {p: v for p, v in want.items() if relevant(p)})
    finally:
        shutil.rmtree(copy)


def ignored_paths(execution, home, base, view):
    """What git itself ignores, by the base's rules, of both trees."""
    paths = [p for p in base.keys() | view.keys()
             if b".git" not in p.split(b"/")]
    asked = [p + b"/" if (view.get(p) or base.get(p))[0] == "d" else p
             for p in paths]
    if not asked:
        return set()
    # An empty tree with the same rules: git refuses to look behind links.
    rules = os.path.join(execution.top, b"rules")
    os.mkdir(rules)
    shutil.copytree(os.path.join(execution.base, b".git"),
                    os.path.join(rules, b".git"))
    shutil.copy(os.path.join(execution.base, b".gitignore"), rules)
    asked.append(b"always.o")
    answer = overlay.git(rules, "check-ignore", "--stdin", "-z",
                         home=home, stdin=b"\0".join(asked) + b"\0")
    return {p.rstrip(b"/") for p in answer.split(b"\0") if p}


def add_links(maker, base):
    """More names for some of the base's files."""
    files = sorted(path for path, entry in overlay.snapshot(base).items()
                   if entry[0] == "f")
    for _ in range(min(len(files), 4)):
        path = maker.random.choice(files)
        to = os.path.join(os.path.dirname(maker.random.choice(files)),
                          maker.name())
        if not os.path.lexists(os.path.join(base, to)):
            os.link(os.path.join(base, path), os.path.join(base, to))


def one_seed(seed, top, make_execution):
    maker = Maker(seed)
    execution = make_execution(os.path.join(top, f"seed{seed}"))
    home = os.path.join(execution.top, b"home")
    os.mkdir(home)
    for _ in range(maker.random.randrange(2, 15)):
        path = os.path.join(execution.base, maker.name())
        if not os.path.lexists(path):
            maker.new_entry(path)
    if maker.chance(0.4):
        add_links(maker, execution.base)
    is_repository = maker.chance(0.5)
    if is_repository:
        with open(os.path.join(execution.base, b".gitignore"), "wb") as file:
            file.write(b"*.o\nbuild/\n/Makefile\n")
        overlay.git(execution.base, "init", "-q", home=home)
        overlay.git(execution.base, "add", "-A", home=home)
        overlay.git(execution.base, "commit", "-qm", "base", home=home)
        maker.new_entry(os.path.join(execution.base, b"late.o"), 3)
    before = overlay.snapshot(execution.base)

    execution.mount()
    try:
        edits = Edits(maker, execution)
        edits.run(maker.random.choice([1, 5, 20, 60]))
        view = overlay.snapshot(execution.view)
    finally:
        execution.umount()
    with_origin = execution.moves_dirs or maker.chance(0.5)
    if with_origin:
        for path, origin in edits.origins.items():
            if os.path.lexists(os.path.join(execution.upper, path)):
                execution.set_origin(path, origin)

    want = overlay.expected_changes(before, view)
    compare_dicts("--no-renames", execution.changes("--no-renames", "--all"),
                  want)
    renamed = execution.changes("--all")
    compare_dicts("renames", expand_renames(renamed), want)
    assert b"base moved" not in execution.errors, execution.errors
    ignored = set()
    if is_repository:
        ignored = ignored_paths(execution, home, before, view)
    if with_origin:
        check_renames(edits, before, view, ignored, renamed)
    status = 1 if want else 0
    execution.diff("--stat", "--all", "--exit-code", status=status)
    execution.diff("--color=always", "--no-binary")

    apply_patch(execution, execution.diff("--all"), home, view,
                lambda path: True)
    apply_patch(execution, execution.diff("--all", "--no-renames"), home, view,
                lambda path: True)
    apply_patch(execution, execution.diff(), home, view,
                lambda path: path not in ignored)
    compare_dicts("base", overlay.snapshot(execution.base), before)
    shutil.rmtree(execution.top)


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in ("kernel", "daemon"):
        sys.exit(__doc__)
    overlay.run_isolated()
    make_execution = (overlay.Execution if sys.argv[1] == "kernel"
                      else overlay.DaemonExecution)
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    os.umask(0o022)
    top = overlay.scratch_folder(make_execution)
    tap = overlay.Tap()
    for seed in range(first, first + seeds):
        try:
            one_seed(seed, top, make_execution)
            tap.check(True, f"seed {seed}")
        except (AssertionError, OSError) as error:
            if os.environ.get("LEGATO_TEST_KEEP"):
                print(f"# kept: {top}", flush=True)
                time.sleep(100000)
            tap.check(False, f"seed {seed}", error)
    tap.finish()


if __name__ == "__main__":
    main()
