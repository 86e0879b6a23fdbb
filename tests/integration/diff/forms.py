#!/usr/bin/env python3
"""What legato-diff tells besides the changes: what is odd, what git would
tell, what is folded; and the forms that are one document.

usage: forms.py   (LEGATO_DIFF names the program)
"""

import base64
import hashlib
import html.parser
import json
import os
import shutil
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import overlay  # noqa: E402
from kinds import expect, make, put  # noqa: E402


try:
    import jsonschema
except ImportError:
    jsonschema = None  # then the schema is not tried here

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "../../../tools/diff/legato-diff.schema.json")


class Repository:
    """An execution whose base is a git repository, edited in its view."""

    def __init__(self, new):
        self.execution = new()
        self.home = os.path.join(self.execution.top, b"home")
        os.mkdir(self.home)
        for name in (b"a", b"b"):
            put(os.path.join(self.execution.base, name))
        self.git_base("init", "-q", "-b", "main")
        self.git_base("add", ".")
        self.git_base("commit", "-qm", "First <subject>")
        self.first = self.git_base("rev-parse", "HEAD").strip()

    def git_base(self, *arguments):
        return overlay.git(self.execution.base, *arguments, home=self.home)

    def git(self, *arguments):
        return overlay.git(self.execution.view, *arguments, home=self.home)

    def summary(self):
        self.execution.umount()
        return self.execution.diff("--summary")


def has(text, *lines):
    for line in lines:
        assert line in text.split(b"\n"), f"no {line}\nin {text.decode()}"


def has_not(text, *parts):
    for part in parts:
        assert part not in text, f"{part}\nin {text.decode()}"


def commits(new):
    repository = Repository(new)
    repository.execution.mount()
    put(os.path.join(repository.execution.view, b"a"), b"1\n")
    repository.git("commit", "-qam", "Second \x1b[2J")
    second = repository.git("rev-parse", "HEAD").strip()
    repository.git("checkout", "-qb", "topic")
    put(os.path.join(repository.execution.view, b"a"), b"2\n")
    repository.git("commit", "-qam", "Third")
    repository.git("commit", "-q", "--amend", "-m", "Third, again")
    third = repository.git("rev-parse", "HEAD").strip()
    put(os.path.join(repository.execution.view, b"b"), b"stash me\n")
    repository.git("stash", "-q")
    text = repository.summary()
    has(text,
        b"    commit %s Third, again (topic)" % third[:10],
        b"    commit %s Second ^[[2J (main)" % second[:10],
        b"    1 commit made and dropped (amended, rebased or reset away)",
        b"    HEAD: refs/heads/main -> refs/heads/topic",
        b"    refs/heads/main: %s -> %s Second ^[[2J" % (
            repository.first[:10], second[:10]),
        b"    refs/heads/topic: none -> %s Third, again" % third[:10],
        b"    stash: 0 -> 1 entries",
        b"    stashed: WIP on topic: %s Third, again" % third[:7],
        b"    index changed: 2 -> 2 entries")
    has_not(text, b"refs/stash", b"commit %s" % repository.first[:10],
            b"index on topic")
    # The other forms tell it, too, where no program reads it.
    has(repository.execution.errors or b"", b"")
    repository.execution.diff("--stat")
    has(repository.execution.errors,
        b"  commit %s Third, again (topic)" % third[:10])


def refs(new):
    repository = Repository(new)
    for name in ("gone", "packed", "same"):
        repository.git_base("branch", name)
    repository.git_base("pack-refs", "--all")
    repository.git_base("commit", "-q", "--allow-empty", "-m", "In the base")
    top = repository.git_base("rev-parse", "HEAD").strip()
    repository.execution.mount()
    repository.git("branch", "-D", "gone")
    repository.git("branch", "-f", "packed", "main")
    repository.git("pack-refs", "--all")
    repository.git("tag", "v1", "main")
    text = repository.summary()
    short = top[:10]
    has(text,
        b"    refs/heads/gone: %s -> none" % repository.first[:10],
        b"    refs/heads/packed: %s -> %s In the base" % (
            repository.first[:10], short),
        b"    refs/tags/v1: none -> %s In the base" % short)
    # Packed or not, it is where it was.
    has_not(text, b"refs/heads/same", b"refs/heads/main", b"    commit ")


def hostile_repository(new):
    repository = Repository(new)
    execution = repository.execution
    execution.mount()
    git_dir = os.path.join(execution.view, b".git")
    secret = os.path.join(execution.top, b"secret")
    put(secret, b"ref: refs/heads/secret-of-the-host\n")
    os.unlink(os.path.join(git_dir, b"HEAD"))
    os.symlink(secret, os.path.join(git_dir, b"HEAD"))
    os.unlink(os.path.join(git_dir, b"index"))
    os.mkfifo(os.path.join(git_dir, b"index"))
    os.makedirs(os.path.join(git_dir, b"objects/ab"), exist_ok=True)
    os.makedirs(os.path.join(git_dir, b"logs/refs"), exist_ok=True)
    for name in (b"objects/ab/" + b"c" * 38, b"packed-refs",
                 b"refs/heads/pipe", b"logs/refs/stash"):
        os.mkfifo(os.path.join(git_dir, name))
    # Not zlib; and a commit under another's name.
    put(os.path.join(git_dir, b"objects/ab/" + b"d" * 38), b"\0" * 100)
    made = repository_object(repository, b"fake")
    shutil.copy(made, os.path.join(git_dir, b"objects/ab/" + b"e" * 38))
    put(os.path.join(git_dir, b"refs/heads/fake"), b"ab" + b"e" * 38 + b"\n")
    put(os.path.join(git_dir, b"refs/heads/long"), b"x" * 1000000)
    text = repository.summary()
    has_not(text, b"secret-of-the-host", b"commit abeeee", b"fake subject")
    has(text, b"    refs/heads/fake: none -> ab" + b"e" * 8)


def repository_object(repository, name):
    """The file of a real commit, made elsewhere."""
    other = os.path.join(repository.execution.top, name)
    os.mkdir(other)
    overlay.git(other, "init", "-q", home=repository.home)
    overlay.git(other, "commit", "-q", "--allow-empty", "-m", "fake subject",
                home=repository.home)
    head = overlay.git(other, "rev-parse", "HEAD",
                       home=repository.home).strip()
    return os.path.join(other, b".git/objects", head[:2], head[2:])


def nested_and_hooks(new):
    repository = Repository(new)
    execution = repository.execution
    execution.mount()
    hook = os.path.join(execution.view, b".git/hooks/post-commit")
    put(hook, b"#!/bin/sh\n", 0o755)
    repository.git("config", "core.fsmonitor", "evil")
    nested = os.path.join(execution.view, b"deps/inner")
    os.makedirs(nested)
    overlay.git(nested, "init", "-q", "-b", "main", home=repository.home)
    put(os.path.join(nested, b"n"))
    overlay.git(nested, "add", ".", home=repository.home)
    overlay.git(nested, "commit", "-qm", "Inner", home=repository.home)
    text = repository.summary()
    has(text,
        b"  ! .git/hooks/post-commit: git runs it",
        b"  ! .git/config: git runs what it names",
        b"  ! deps/inner/.git/config: git runs what it names",
        b"    hooks: A 1 (10 bytes); git runs them, later",
        b"      +\tfsmonitor = evil")
    assert b"  deps/inner/.git, a new repository: A " in text, text
    assert b" Inner (main)\n" in text, text


def oddities(new):
    execution = new()
    upper, base = execution.upper, execution.base
    for name in (b"run", b"was"):
        put(os.path.join(base, name), mode=0o644)
    put(os.path.join(base, b"was"), mode=0o755)
    put(os.path.join(upper, b"run"), mode=0o755)
    put(os.path.join(upper, b"was"), b"changed\n", mode=0o755)
    put(os.path.join(upper, b"new"), mode=0o711)
    put(os.path.join(upper, b"root"), mode=0o644)
    os.chmod(os.path.join(upper, b"root"), 0o4755)
    make("p", os.path.join(upper, b"pipe"))
    make("s", os.path.join(upper, b"sock"))
    os.makedirs(os.path.join(upper, b"d/e"))
    top = os.fsdecode(base)
    for name, target in {
            "out": "/etc/passwd", "up": "../x", "d/e/up": "../../../x",
            "sly": "d/../../x", "beside": top + "-other/x",
            "d/e/in": "../../x", "abs": top + "/x", "dots": "./a/..b",
            "esc": "/e\x1b[2J"}.items():
        os.symlink(target, os.path.join(os.fsdecode(upper), name))
    with open(os.path.join(upper, b"huge"), "wb") as file:
        file.truncate(65 << 20)
    put(os.path.join(base, b"package.json"), b'{"scripts": {"a": "1"}}')
    put(os.path.join(upper, b"package.json"),
        b'{"scripts": {"a": "1", "postinstall\\u001b": "2"}, "x": 1}')
    put(os.path.join(base, b"sub/package.json"), b'{"scripts": {"a": "1"}}')
    put(os.path.join(upper, b"sub/package.json"),
        b'{"scripts": {"a": "1"}, "version": 2}')
    execution.diff("--name-status")
    lines = set(execution.errors.decode().splitlines())
    want = {
        "! run: became executable", "! new: new, and executable",
        "! root: new, and executable", "! root: set-user-ID",
        "! pipe: a FIFO", "! sock: a socket", "! huge: 65.0 MiB",
        "! package.json: scripts changed: postinstall^["}
    assert want <= lines, f"{want - lines}\n{lines}"
    links = {line for line in lines if "points outside" in line}
    # Six of them; five are told in full.
    expect(len(links), 5)
    assert "! and 1 more that point outside" in lines, lines
    assert '! esc: points outside, at "/e\\033[2J"' in links, links
    has_not(execution.errors, b"! was", b"! sub/package.json", b"! abs",
            b"! dots", b"! d/e/in", b"\x1b")


def folded(new):
    execution = new()
    put(os.path.join(execution.base, b"vendor/node_modules/x"))
    for i in range(3):
        put(os.path.join(execution.upper, b"node_modules/p/%d" % i), b"1234")
    put(os.path.join(execution.upper, b"src/__pycache__/m.pyc"), b"12")
    put(os.path.join(execution.upper, b"vendor/node_modules/y"))
    put(os.path.join(execution.upper, b"build/.envrc"))
    text = execution.diff("--summary")
    has(text,
        b"  generated A 4 (14 bytes): node_modules/ A 3 (12 bytes), "
        b"src/ A 1 (2 bytes)",
        b"  A f  vendor/node_modules/y")
    expect(sorted(execution.changes()),
           [b"build/.envrc", b"vendor/node_modules/y"])
    assert b"note: generated files: A 4 " in execution.errors
    expect(len(execution.changes("--all")), 6)


def every_kind(new):
    """An execution with much in it, some of it hostile."""
    repository = Repository(new)
    execution = repository.execution
    put(os.path.join(execution.base, b"image.png"), b"\x89PNG\r\n\x1a\n\0old")
    execution.mount()
    view = execution.view
    put(os.path.join(view, b"a"), b"caf\xe9 \xff\n</script><script>x</script>\n")
    repository.git("commit", "-qam", "</script><img src=x onerror=y>\xe9")
    os.rename(os.path.join(view, b"b"), os.path.join(view, b"moved \xff"))
    put(os.path.join(view, b"<img src=x onerror=alert(1)>"), b"x\n")
    put(os.path.join(view, b"]]>&lt;!--\"'\x1b"), b"<!-- </SCRIPT \n")
    put(os.path.join(view, b"image.png"), b"\x89PNG\r\n\x1a\n\0new")
    put(os.path.join(view, b"node_modules/x/y"))
    put(os.path.join(view, b".git/hooks/post-merge"))
    put(os.path.join(view, b"big"), b"line\n" * 300000)
    os.mkdir(os.path.join(view, b"empty"))
    make("p", os.path.join(view, b"pipe"))
    os.symlink("/etc/passwd", os.path.join(view, b"link"))
    execution.umount()
    return execution


def json_document(new):
    execution = every_kind(new)
    plain = json.loads(execution.diff("--json"))
    full = json.loads(execution.diff("--json", "--patch"))
    work = {change["path"]: change for change in full["views"][0]["changes"]}
    moved = work["moved \ufffd"]
    expect(base64.b64decode(moved["path_bytes"]), b"moved \xff")
    expect((moved["letter"], moved["old_path"]), ("R", "b"))
    assert b"+caf\xe9 \xff\n" in base64.b64decode(work["a"]["patch_bytes"])
    assert work["big"]["patch_left_out"] and "patch" not in work["big"]
    expect(work["node_modules/x/y"]["folded"], "generated")
    assert "patch" not in work["node_modules/x/y"]
    assert not any("patch" in change
                   for change in plain["views"][0]["changes"])
    # The same changes as in the other form.
    names = execution.changes("--all")
    expect(sorted(os.fsdecode(base64.b64decode(change["path_bytes"]))
                  if "path_bytes" in change else change["path"]
                  for change in plain["views"][0]["changes"]),
           sorted(os.fsdecode(path.rstrip(b"/")) for path in names))
    only = json.loads(execution.diff("--json", paths=["link"]))["views"][0]
    expect([change["path"] for change in only["changes"]], ["link"])
    expect([odd["kind"] for odd in only["odd"]], ["link-outside"])
    for wrong in (["--json", "--stat"], ["--json", "--summary"],
                  ["--json", "-z"], ["--json", "--view", "nope"]):
        execution.diff(*wrong, status=2)
    if jsonschema:
        with open(SCHEMA, encoding="utf-8") as file:
            schema = json.load(file)
        validator = jsonschema.validators.validator_for(schema)
        validator.check_schema(schema)
        for document in (plain, full):
            validator(schema).validate(document)
        broken = dict(plain, version=2)
        assert not validator(schema).is_valid(broken)


class Page(html.parser.HTMLParser):
    """All elements, attributes and the texts of scripts in a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements = []
        self.scripts = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.elements and self.elements[-1][0] in ("script", "style"):
            self.scripts.append((self.elements[-1][1].get("id", ""), data))


def html_page(new):
    execution = every_kind(new)
    target = os.path.join(execution.top, b"page.html")
    expect(execution.diff("--html", target), b"")
    with open(target, encoding="utf-8") as file:
        text = file.read()
    page = Page(text)
    # Our own markup and nothing that the execution wrote.
    tags = [tag for tag, _ in page.elements]
    expect((tags.count("script"), tags.count("img"), tags.count("style")),
           (2, 0, 1))
    for tag, attributes in page.elements:
        for name in attributes:
            assert not name.startswith("on") and name not in (
                "src", "href", "action"), (tag, attributes)
    policy = next(attributes["content"] for tag, attributes in page.elements
                  if attributes.get("http-equiv") ==
                  "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; "), policy
    assert "unsafe" not in policy and "http" not in policy, policy
    texts = {}
    for name, data in page.scripts:
        texts[name] = texts.get(name, "") + data
    data = json.loads(texts["data"])
    assert "</script><script>x</script>" in next(
        change["patch"] for change in data["views"][0]["changes"]
        if change["path"] == "a")
    image = next(change for change in data["views"][0]["changes"]
                 if change["path"] == "image.png")
    expect(image["new_image"], "data:image/png;base64," + base64.b64encode(
        b"\x89PNG\r\n\x1a\n\0new").decode())
    # What the policy allows is what is there.
    for tag in ("script", "style"):
        start = text.rindex(f"<{tag}>") + len(tag) + 2
        source = text[start:text.index(f"</{tag}>", start)]
        digest = base64.b64encode(
            hashlib.sha256(source.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy, tag
    # Written whole or not at all.
    expect(execution.diff("--html", "-").decode().strip(), text.strip())
    execution.diff("--html", "/nonexistent/page", status=2)
    expect([name for name in os.listdir(execution.top)
            if b".tmp" in name], [])


def word_diff(new):
    execution = new()
    put(os.path.join(execution.base, b"f"),
        b"one\nint f(int a, int b);\nlast\n")
    put(os.path.join(execution.upper, b"f"),
        b"one\nint f(long a, int b_c);\nnew line\nlast\n")
    put(os.path.join(execution.upper, b"gone"), b"\xc3\xa9 x\n")
    text = execution.diff("--word-diff")
    has(text, b"one", b"int f([-int-]{+long+} a, int [-b-]{+b_c+});",
        b"{+new line+}", b"last", b"{+\xc3\xa9 x+}",
        b"@@ -1,3 +1,4 @@")
    has_not(text, b"+last", b"-last", b"\\ No newline")
    text = execution.diff("--word-diff", "--color=always")
    assert b"f(\x1b[31m[-int-]\x1b[m\x1b[32m{+long+}\x1b[m a" in text, text


TESTS = [word_diff, json_document, html_page, commits, refs, hostile_repository, nested_and_hooks, oddities,
         folded]


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
