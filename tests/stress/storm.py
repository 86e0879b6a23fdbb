#!/usr/bin/env python3
"""Mounts a view and lets the storm (storm.c) loose on it; then looks whether
all is well: the daemon lives, the tree can be read and is the same after it
was served again, unmounting is clean, and no node is left over.

usage: storm.py [--seconds N] [--processes N] [--seed N] [--user]
                [--view legato|plain|overlayfs]
As root the kernel's caches are dropped all the time. The programs are
$LEGATO_FS and $STORM. TAP goes to stdout.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

import stress

# The roots, and what the kernel itself still holds.
NODES_LEFT = 20


class Tap:
    def __init__(self):
        self.count = self.failures = 0

    def result(self, name, problem):
        self.count += 1
        self.failures += bool(problem)
        print(f"{'not ok' if problem else 'ok'} {self.count} - {name}",
              flush=True)
        if problem:
            stress.note("\n".join(str(problem).splitlines()[:40]))

    def finish(self):
        print(f"1..{self.count}")
        return self.failures > 0


def make_base(base):
    os.mkdir(base, 0o755)
    for i in range(8):
        os.mkdir(os.path.join(base, f"d{i}"))
        for j in range(0, 24, 2):
            path = os.path.join(base, f"d{i}", f"n{j}")
            if j % 6 == 0:
                os.mkdir(path)
                path = os.path.join(path, f"n{j + 1}")
            with open(path, "w", encoding="ascii") as file:
                file.write(f"{i} {j}\n" * 500)
            if j % 4 == 0:
                os.link(path, os.path.join(base, f"linked-{i}-{j}"))


class Dropper(threading.Thread):
    """Makes the kernel forget what it knows, again and again."""

    def __init__(self):
        super().__init__(daemon=True)
        self.stopped = threading.Event()

    def run(self):
        while not self.stopped.wait(0.03):
            stress.drop_caches()


def read_tree(root):
    """All that is there, and a list of what can't be read."""
    lines, wrong = [], []
    for path, dirs, files in os.walk(root, onerror=wrong.append):
        for name in sorted(dirs + files):
            full = os.path.join(path, name)
            try:
                line = stress.describe(os.lstat(full))
                if os.path.isfile(full) and not os.path.islink(full):
                    with open(full, "rb") as file:
                        line += stress.digest(file.read())
            except OSError as error:
                wrong.append(error)
                continue
            lines.append(f"{os.path.relpath(full, root)} {line}")
    return sorted(lines), wrong


def run_storm(root, options):
    dropper = Dropper()
    dropper.start()
    result = subprocess.run(
        [os.environ["STORM"], root, str(options.seconds),
         str(options.processes), str(options.seed)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    dropper.stopped.set()
    dropper.join()
    text = result.stdout.decode("utf-8", "replace")
    stress.note(text.splitlines()[-1] if text else "")
    return text if result.returncode else ""


def differences(before, after):
    return "\n".join(sorted(set(before) ^ set(after)))


def nodes_left(log):
    found = re.findall(r"stopped: (.*), (\d+) nodes", log)
    if not found:
        return "the log does not say how it ended:\n" + log
    how, count = found[-1]
    if how != "ok":
        return f"it stopped with {how}"
    if os.geteuid() == 0 and int(count) > NODES_LEFT:
        return f"{count} nodes are left"
    return ""


def stop(server):
    """Once the kernel has forgotten all that it can."""
    for _ in range(3):
        stress.drop_caches()
        time.sleep(0.2)
    try:
        server.stop()
    except stress.Difference as difference:
        return str(difference)
    return ""


def run(work, options, tap):
    base = os.path.join(work, "base")
    make_base(base)
    base_before = read_tree(base)
    server = stress.VIEWS[options.view](work, base)
    server.start()
    try:
        tap.result("no error but those of a disk", run_storm(server.root,
                                                             options))
        daemon = getattr(server, "daemon", None)
        tap.result("the daemon lives", daemon and daemon.poll() is not None)
        before, wrong = read_tree(server.root)
        tap.result("all of the tree can be read",
                   "\n".join(str(error) for error in wrong))
        tap.result("it is unmounted", stop(server))
        if options.view == "legato":
            log = server.log()
            tap.result("no node is left over", nodes_left(log))
            tap.result("the log has no warning", "\n".join(
                re.findall(r".* (?:warn|error): .*", log)))
        server.start()
        after, wrong = read_tree(server.root)
        tap.result("served again, the tree is the same",
                   differences(before, after) or "\n".join(map(str, wrong)))
    finally:
        problem = stop(server)
    tap.result("it is unmounted again", problem)
    tap.result("the base is untouched",
               differences(base_before[0], read_tree(base)[0]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--user", action="store_true")
    parser.add_argument("--view", choices=stress.VIEWS, default="legato")
    options = parser.parse_args()
    if options.user:
        stress.become_user()
    stress.check_machine(options)
    os.environ.pop("LEGATO_FAULT", None)
    os.umask(0o022)
    work = tempfile.mkdtemp(prefix="legato-test-")
    tap = Tap()
    try:
        run(work, options, tap)
    finally:
        stress.remove_tree(work)
    sys.exit(1 if tap.finish() else 0)


main()
