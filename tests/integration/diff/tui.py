#!/usr/bin/env python3
"""legato-diff tui in a terminal of tmux's: what the screen shows, by keys.

usage: tui.py   (LEGATO_DIFF names the program)
"""

import itertools
import os
import shlex
import shutil
import subprocess
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import overlay  # noqa: E402
from kinds import expect, put  # noqa: E402

DEADLINE_SECONDS = 30


class Terminal:
    """A terminal with legato-diff in it; the end of the block ends it."""

    servers = itertools.count()

    def __init__(self, execution, *options, columns=110, lines=24):
        # One for each: kill-server comes back before the server is gone, and
        # a client that reaches such a one fails.
        self.socket = os.path.join(execution.top,
                                   b"tmux-%d" % next(self.servers))
        command = shlex.join([
            os.environ["LEGATO_DIFF"], "tui", "--scratch-dir",
            os.fsdecode(execution.scratch), *options])
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns),
                  "-y", str(lines),
                  f"LC_ALL=C.UTF-8 {command}; echo STATUS $?; exec cat")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")

    def tmux(self, *arguments):
        done = subprocess.run(["tmux", "-S", self.socket, *arguments],
                              capture_output=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise AssertionError(f"tmux {arguments}: {done.stderr}")
        return done.stdout.decode()

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def screen(self, *texts, gone=()):
        """The screen, once all of the texts are on it."""
        end = time.monotonic() + DEADLINE_SECONDS
        while True:
            screen = self.tmux("capture-pane", "-p")
            if (all(text in screen for text in texts) and
                    not any(text in screen for text in gone)):
                return screen
            if time.monotonic() > end:
                raise AssertionError(f"not {texts} {gone} in:\n{screen}")
            time.sleep(0.05)


def sample(new):
    execution = new()
    text = [b"line %d\n" % i for i in range(60)]
    put(os.path.join(execution.base, b"dir/edited"), b"".join(text))
    put(os.path.join(execution.base, b"gone"), b"going, going\n")
    for i in (3, 30, 55):
        text[i] = b"changed %d\n" % i
    put(os.path.join(execution.upper, b"dir/edited"), b"".join(text))
    put(os.path.join(execution.upper, b"dir/new\x1b[2J\xff"), b"\x1b[2Jx\n")
    put(os.path.join(execution.upper, b".envrc"))
    put(os.path.join(execution.upper, b"node_modules/x"))
    os.mknod(os.path.join(execution.upper, b"gone"), 0o020600, 0)
    return execution


def browse(new):
    execution = sample(new)
    with Terminal(execution) as terminal:
        screen = terminal.screen("D 1, M 1, A 2", "v dir/", "M edited",
                                 "D gone", "! .envrc: direnv runs it",
                                 "generated A 1", "1 odd  0 marked")
        assert "new^[[2J<FF>" in screen, screen
        assert "node_modules/x" not in screen.replace("generated", ""), screen
        terminal.keys("j", "j")
        terminal.screen("-line 3", "+changed 3", gone=["direnv"])
        terminal.keys("j")
        terminal.screen("+^[[2Jx")
        terminal.keys("k", "k", "Enter")  # the folder closes
        terminal.screen("> dir/", gone=["edited"])
        terminal.keys("Enter", "a")
        terminal.screen("M edited", "x (generated)")
        terminal.keys("?")
        terminal.screen("take the marked over")
        terminal.keys("?", "o")
        terminal.screen("direnv", gone=["take the marked over "])
        terminal.keys("q")
        terminal.screen("STATUS 0")


def mark_and_export(new):
    execution = sample(new)
    target = os.path.join(os.fsdecode(execution.top), "marked.patch")
    with Terminal(execution) as terminal:
        terminal.screen("0 marked")
        terminal.keys("e")
        terminal.screen("Nothing is marked")
        terminal.keys("j", "j")
        terminal.screen("-line 3")
        terminal.keys("Tab", "n", "n", "Space")
        terminal.screen("+   M edited", "*|-line 30", "1 marked")
        terminal.keys("Tab", "j", "j", "Space")
        terminal.screen("* D gone", "2 marked")
        terminal.keys("e")
        terminal.screen("Write a patch")
        terminal.keys(target, "Enter")
        terminal.screen("2 changes are in the patch")
        # Never over a file.
        terminal.keys("e", target, "Enter")
        terminal.screen("Can't write it: File exists")
        terminal.keys("q")
        terminal.screen("STATUS 0")
    home = execution.top
    overlay.git(execution.base, "init", "-q", home=home)
    overlay.git(execution.base, "apply", target, home=home)
    with open(os.path.join(execution.base, b"dir/edited"), "rb") as file:
        lines = file.read().split(b"\n")
    expect([line for line in lines if line.startswith(b"changed")],
           [b"changed 30"])
    assert not os.path.exists(os.path.join(execution.base, b"gone"))
    assert not os.path.exists(os.path.join(execution.base, b".envrc"))


def mark_and_apply(new):
    execution = sample(new)
    edited = os.path.join(execution.base, b"dir/edited")
    with Terminal(execution) as terminal:
        terminal.screen("0 marked")
        terminal.keys("j", "j")
        terminal.screen("-line 3")
        terminal.keys("Tab", "n", "n", "Space", "A")
        terminal.screen("Take over 1 marked into")
        terminal.keys("n", "Enter")
        terminal.screen("|-line 30")
        with open(edited, "rb") as file:
            assert b"changed" not in file.read()
        terminal.keys("A", "y", "Enter")
        terminal.screen("taken over: M 1", "STATUS 0")
    with open(edited, "rb") as file:
        lines = file.read().split(b"\n")
    expect([line for line in lines if line.startswith(b"changed")],
           [b"changed 30"])
    assert os.path.exists(os.path.join(execution.base, b"gone"))
    # A conflict is told, and the browser stays.
    execution.set_origin(b"dir/edited", b"dir/edited")
    put(edited, b"somebody else's\n")
    with Terminal(execution) as terminal:
        terminal.screen("0 marked")
        terminal.keys("j", "j", "Space", "A")
        terminal.screen("Take over 1 marked into")
        terminal.keys("y", "Enter")
        terminal.screen("1 in conflict, nothing was written",
                        "dir/edited", "1 marked")
        terminal.keys("q")
        terminal.screen("STATUS 0")
    with open(edited, "rb") as file:
        expect(file.read(), b"somebody else's\n")


def narrow_and_empty(new):
    execution = sample(new)
    with Terminal(execution, columns=40, lines=10) as terminal:
        terminal.screen("direnv runs it")
        terminal.keys("j")
        terminal.screen("v dir/", gone=["direnv"])
        terminal.keys("j", "Enter")
        terminal.screen("--- a/dir/edited", gone=["v dir/"])
        terminal.keys("Escape")
        terminal.screen("v dir/")
        terminal.keys("q")
        terminal.screen("STATUS 0")


def interactive_is_the_same(_):
    for option in "--help", "--no-such":
        called = [subprocess.run([os.environ["LEGATO_DIFF"], how, option],
                                 capture_output=True)
                  for how in ("tui", "--interactive")]
        assert called[0].stdout == called[1].stdout, called
        assert called[0].stderr == called[1].stderr, called
        assert called[0].returncode == called[1].returncode, called


def no_terminal(new):
    execution = sample(new)
    execution.diff_verb = [os.environ["LEGATO_DIFF"], "tui", "--scratch-dir",
                           execution.scratch]
    done = subprocess.run(execution.diff_verb, capture_output=True,
                          stdin=subprocess.DEVNULL)
    expect((done.returncode, done.stdout), (2, b""))
    assert b"can't show it on this terminal" in done.stderr, done.stderr
    for wrong in (["--nope"], ["1999"], ["2026", "more"],
                  ["--view", "nope"]):
        done = subprocess.run(execution.diff_verb + wrong,
                              capture_output=True, stdin=subprocess.DEVNULL)
        expect(done.returncode, 2)
        expect(done.stderr.count(b"\n"), 1)


TESTS = [browse, mark_and_export, mark_and_apply, narrow_and_empty, no_terminal,
         interactive_is_the_same]


def main():
    if not shutil.which("tmux"):
        overlay.skip("there is no tmux")
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
