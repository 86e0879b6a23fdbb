#!/usr/bin/env python3
"""Random trees, random edits through a view: legato-diff apply turns the base
into what the view showed: content, modes, times, attributes, links.

usage: apply_trees.py kernel|daemon [SEEDS [FIRST]]

The view is served by the kernel's overlayfs, or by legato-fs. LEGATO_DIFF and
LEGATO_FS name the programs.
"""

import os
import shutil
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import overlay  # noqa: E402
import random_trees  # noqa: E402


def make_base(maker, execution):
    for _ in range(maker.random.randrange(2, 15)):
        path = os.path.join(execution.base, maker.name())
        if not os.path.lexists(path):
            maker.new_entry(path)
    if maker.chance(0.4):
        random_trees.add_links(maker, execution.base)


def edit(maker, execution):
    """Returns the whole view after random edits."""
    execution.mount()
    try:
        edits = random_trees.Edits(maker, execution)
        edits.run(maker.random.choice([1, 5, 20, 60]))
        return overlay.whole(execution.view)
    finally:
        execution.umount()


def one_seed(seed, top, make_execution):
    maker = random_trees.Maker(seed)
    execution = make_execution(os.path.join(top, f"seed{seed}"))
    make_base(maker, execution)
    before = overlay.whole(execution.base)
    view = edit(maker, execution)
    execution.verb("apply", "--all")
    overlay.compare_whole("after apply", overlay.whole(execution.base), view,
                          before, links=execution.moves_dirs)
    left = os.listdir(os.path.dirname(execution.upper))
    assert not [name for name in left if name.startswith(b"apply")], left
    shutil.rmtree(execution.top)


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in ("kernel", "daemon"):
        sys.exit(__doc__)
    overlay.run_isolated()
    make_execution = (overlay.Execution if sys.argv[1] == "kernel"
                      else overlay.DaemonExecution)
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    if os.environ.get("LEGATO_TEST_LONG"):
        seeds = int(os.environ["LEGATO_TEST_LONG"])
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    os.umask(0o022)
    top = overlay.scratch_folder(make_execution)
    tap = overlay.Tap()
    for seed in range(first, first + seeds):
        try:
            one_seed(seed, top, make_execution)
            tap.check(True, f"seed {seed}")
        except (AssertionError, OSError) as error:
            tap.check(False, f"seed {seed}",
                      "".join(traceback.format_exception(error)[-3:]))
    tap.finish()


if __name__ == "__main__":
    main()
