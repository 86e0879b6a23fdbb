#!/usr/bin/env python3
"""SIGKILL of the daemon at random moments, while several processes change
files: after each, what was acknowledged is on the record, in its order, nothing
is invented, and the view holds what the record says.

usage: kills.py [--user] [--rounds N] [--seed N]

Each round has folders of its own, one for each process, with files of the base
in them. A process notes what it was told; after the kill the same execution is
served again, with the same journal.
"""

import argparse
import multiprocessing
import os
import random
import sys
import time

import journal

PROCESSES = 4
BASE_FILES = 6
ROUNDS_EACH = 20  # kills of one execution


class Changer:
    """Changes files below one folder, and knows what must be there."""

    def __init__(self, top, prefix, seed):
        self.top = top
        self.prefix = prefix
        self.random = random.Random(seed)
        self.files = {f"b{i}": b"base\n" for i in range(BASE_FILES)}
        self.dirs = set()
        self.number = 0
        self.done = []  # (op, path, path2, bytes, began, ended)

    def path(self, name):
        return os.path.join(self.top, name)

    def new(self):
        self.number += 1
        where = sorted(self.dirs)
        folder = self.random.choice(where) + "/" if where and \
            self.random.random() < 0.3 else ""
        return f"{folder}n{self.number}"

    def call(self, op, path, path2, function, size=0):
        self.pending = (op, path, path2, size)
        began = time.monotonic_ns()
        result = function()
        self.done.append((op, path, path2, size, began, time.monotonic_ns()))
        self.pending = None
        return result

    def create(self):
        name = self.new()
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        self.would_be = {**self.files, name: b""}
        fd = self.call("create", name, None,
                       lambda: os.open(self.path(name), flags, 0o644))
        try:
            self.files[name] = b""
            self.write_to(fd, name)
        finally:
            os.close(fd)

    def write_to(self, fd, name):
        for _ in range(self.random.randrange(1, 6)):
            data = bytes([self.random.randrange(256)]) * self.random.randrange(1, 9000)
            at = len(self.files[name])
            self.would_be = {**self.files, name: self.files[name] + data}
            made = self.call("write", name, None,
                             lambda: os.pwrite(fd, data, at), len(data))
            self.files[name] += data[:made]
            if made != len(data):
                # The kernel cuts calls into requests; it was killed between.
                self.done[-1] = (*self.done[-1][:3], made, *self.done[-1][4:])
                self.pending = ("write", name, None, len(data) - made)
                raise OSError("short write")

    def write(self):
        name = self.random.choice(sorted(self.files))
        fd = os.open(self.path(name), os.O_WRONLY)
        try:
            self.write_to(fd, name)
        finally:
            os.close(fd)

    def change(self, op, name, files, function, path2=None):
        self.would_be = files
        self.call(op, name, path2, function)
        self.files = files

    def step(self):
        files = self.files
        name = self.random.choice(sorted(files)) if files else None
        pick = self.random.random()
        if pick < 0.3 or not name:
            self.create()
        elif pick < 0.5:
            self.write()
        elif pick < 0.62:
            left = {n: c for n, c in files.items() if n != name}
            self.change("unlink", name, left, lambda: os.unlink(self.path(name)))
        elif pick < 0.76:
            to = self.random.choice([self.new(), self.random.choice(sorted(files))])
            if to != name:
                moved = {n: c for n, c in files.items() if n != name}
                moved[to] = files[name]
                self.change("rename", name, moved, lambda: os.rename(
                    self.path(name), self.path(to)), to)
        elif pick < 0.84:
            size = self.random.randrange(0, 5000)
            cut = files[name][:size].ljust(size, b"\0")
            self.change("truncate", name, {**files, name: cut},
                        lambda: os.truncate(self.path(name), size))
        elif pick < 0.9:
            mode = self.random.choice([0o600, 0o644, 0o755])
            self.change("chmod", name, files,
                        lambda: os.chmod(self.path(name), mode))
        elif pick < 0.95:
            self.change("utimens", name, files,
                        lambda: os.utime(self.path(name), ns=(1, 2)))
        else:
            folder = f"d{self.number}"
            self.number += 1
            self.change("mkdir", folder, files,
                        lambda: os.mkdir(self.path(folder)))
            self.dirs.add(folder)

    def run(self, result):
        self.pending = None
        self.would_be = self.files
        try:
            while True:
                self.step()
        except OSError:
            pass  # the daemon is gone
        result.send((self.prefix, os.getpid(), self.done, self.pending,
                     self.files, self.would_be))
        result.close()


def flatten(changes):
    """What was done to each path, in order, writes that follow each other as
    one number of bytes (the kernel may cut a call into several requests); and
    what was done to names, in order."""
    by_path, names = {}, []
    for op, path, path2, size in changes:
        steps = by_path.setdefault(path, [])
        if op != "write":
            steps.append(op)
            names.append((op, path, path2))
        elif steps and isinstance(steps[-1], int):
            steps[-1] += size
        elif size:
            steps.append(size)
        if path2:
            by_path.setdefault(path2, []).append(f"{op} to")
    return by_path, names


def told(changes, prefix):
    """Of the record, in the form of a process's own notes."""
    def below(path):
        return path[len(prefix) + 1:] if path else path

    return [(c["op"], below(c["path"]), below(c.get("path2")), c["bytes"])
            for c in changes if c["done"] or c["op"] != "write"]


def may_be(notes, pending, seen):
    """What may be on the record: the notes, and the call that was never
    answered or, of a write, the part that was made."""
    done = [(op, path, path2, size) for op, path, path2, size, _, _ in notes]
    both = [flatten(done)]
    if pending and pending[0] == "write":
        made = sum(s for s in seen[0].get(pending[1], []) if isinstance(s, int)) - \
            sum(s for s in both[0][0].get(pending[1], []) if isinstance(s, int))
        if 0 < made <= pending[3]:
            both.append(flatten(done + [(*pending[:3], made)]))
    elif pending:
        both.append(flatten(done + [pending]))
    return both


def check_process(outcome, changes):
    """What is wrong with the record of one process."""
    prefix, pid, notes, pending, _, _ = outcome
    mine = [c for c in changes if c["path"].startswith(prefix + "/")]
    wrong = []
    seen = flatten(told(mine, prefix))
    allowed = may_be(notes, pending, seen)
    if seen not in allowed:
        wanted = allowed[0]
        wrong += [f"{prefix}: {path}: {seen[0].get(path)} on the record, done: "
                  f"{wanted[0].get(path)}, not answered: {pending}"
                  for path in {*seen[0], *wanted[0]}
                  if seen[0].get(path) != wanted[0].get(path)]
        wrong += [f"{prefix}: names: {s} on the record, done: {w}" for s, w in
                  zip(seen[1], wanted[1]) if s != w][:3]
        wrong.append(f"{prefix}: {len(seen[1])} on the record, "
                     f"{len(wanted[1])} done, not answered: {pending}")
    begun = [c for c in mine if not c["done"] or c["more"]]
    if len(begun) > 1 or (begun and not pending):
        wrong.append(f"{prefix}: begun and not done: {begun}")
    wrong += [f"{prefix}: failed: {c}" for c in mine if c["result"]]
    return wrong


def check_times(outcomes, changes):
    """Sequences are in an order in which the calls can have been made."""
    spans = {}
    for prefix, _, notes, _, _, _ in outcomes:
        for op, path, _, _, began, ended in notes:
            if op != "write":
                spans.setdefault((op, f"{prefix}/{path}"), []).append((began, ended))
    latest, wrong = 0, []
    for change in changes:
        span = spans.get((change["op"], change["path"]))
        if not span:
            continue
        began, ended = span.pop(0)
        if not began <= change["mono"] <= ended:
            wrong.append(f"not at the time of its call: {change}")
        if latest > ended:
            wrong.append(f"after one that began later: {change}")
        latest = max(latest, began)
    return wrong


def check_owners(outcomes, changes, processes):
    pids = {prefix: pid for prefix, pid, *_ in outcomes}
    wrong = []
    for change in changes:
        pid = pids.get(os.path.dirname(change["path"]).split("/d")[0])
        process = processes.get(change["process"])
        if pid and (not process or process["pid"] != pid):
            wrong.append(f"by {process}, not {pid}: {change}")
    return wrong


def tree(top):
    files = {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                files[os.path.relpath(path, top)] = file.read()
    return files


def check_tree(execution, outcome):
    prefix, _, _, _, files, would_be = outcome
    seen = tree(os.path.join(execution.view, prefix))
    # Of a write that was never answered, any part from its beginning.
    partly = {name: content if content.startswith(files.get(name, b"")) and
              would_be.get(name, b"").startswith(content)
              else files.get(name) for name, content in seen.items()}
    if seen in (files, would_be) or (seen == partly and seen.keys() == files.keys()):
        return []
    return [f"{prefix}/{name}: in the view: {describe(seen.get(name))}, "
            f"by the record: {describe(files.get(name))}"
            for name in {*seen, *files} if seen.get(name) != files.get(name)]


def describe(content):
    return "missing" if content is None else f"{len(content)} bytes"


def start(execution, number, seed):
    started = []
    for i in range(PROCESSES):
        prefix = f"r{number}p{i}"
        changer = Changer(os.path.join(execution.view, prefix), prefix,
                          f"{seed} {number} {i}")
        ours, theirs = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(
            target=changer.run, args=[theirs])
        process.start()
        theirs.close()
        started.append((process, ours))
    return started


def play(execution, number, seed, last_sequence):
    """One round; (what is wrong, the highest sequence)"""
    started = start(execution, number, seed)
    time.sleep(random.Random(f"{seed} {number}").uniform(0.02, 0.4))
    execution.kill()
    outcomes = [result.recv() for _, result in started]
    for process, _ in started:
        process.join()
    changes, processes = execution.journal()
    changes = [c for c in changes if c["sequence"] > last_sequence]
    wrong = []
    for outcome in outcomes:
        wrong += check_process(outcome, changes)
    wrong += check_times(outcomes, changes)
    wrong += check_owners(outcomes, changes, processes)
    known = {f"r{number}p{i}" for i in range(PROCESSES)}
    wrong += [f"nobody's: {c}" for c in changes
              if c["path"].split("/")[0] not in known]
    wrong += execution.verify()
    execution.serve()
    for outcome in outcomes:
        wrong += check_tree(execution, outcome)
    answered = sum(len(outcome[2]) for outcome in outcomes)
    return wrong, max([last_sequence] + [c["sequence"] for c in changes]), answered


def fill_base(execution, rounds):
    for number in range(rounds):
        for i in range(PROCESSES):
            top = os.path.join(execution.base, f"r{number}p{i}")
            os.mkdir(top)
            for k in range(BASE_FILES):
                with open(os.path.join(top, f"b{k}"), "wb") as file:
                    file.write(b"base\n")


def play_rounds(rounds, seed):
    """One execution, killed `rounds` times; (what is wrong, calls answered)"""
    execution = journal.Execution()
    try:
        fill_base(execution, rounds)
        execution.write_manifest()
        execution.serve()
        wrong, last, total = [], 0, 0
        for number in range(rounds):
            of_round, last, answered = play(execution, number, seed, last)
            total += answered
            wrong += [f"seed {seed}: round {number}: {reason}"
                      for reason in of_round]
            if len(wrong) > 20:
                break
        print(f"# {rounds} kills, {total} calls answered, {last} on the record, "
              f"{len(wrong)} wrong", flush=True)
        if execution.stop():
            wrong.append("the end isn't clean")
        return wrong, total
    finally:
        execution.remove()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--user", action="store_true")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    journal.begin()
    rounds = options.rounds or int(os.environ.get("LEGATO_TEST_LONG") or 12)
    tap = journal.Tap()
    wrong, total = [], 0
    # Each round reads all of the journal, so one that grows for ever takes
    # ever longer.
    for first in range(0, rounds, ROUNDS_EACH):
        of_rounds, answered = play_rounds(min(ROUNDS_EACH, rounds - first),
                                          options.seed + first)
        wrong += of_rounds
        total += answered
        if len(wrong) > 20:
            break
    tap.test("after each kill the record and the view agree with what was "
             "acknowledged, and the end is clean", wrong)
    tap.test("something was done in between", [] if total > rounds * 10 else
             [f"{total} calls in {rounds} rounds"])
    tap.finish()


if __name__ == "__main__":
    sys.exit(main())
