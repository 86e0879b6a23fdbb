#!/usr/bin/env python3
"""Random trees, random edits through a view: legato-diff apply turns the base
into what the view showed: content, modes, times, attributes, links. So do the
exported tar, OCI image and folder, with a copy of the base.

usage: apply_trees.py kernel|daemon [SEEDS [FIRST]]

The view is served by the kernel's overlayfs, or by legato-fs. LEGATO_DIFF and
LEGATO_FS name the programs.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
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


def unpack(layer, target):
    """As the man page says: the whiteouts first, then the rest, by tar."""
    with tarfile.open(layer, errors="surrogateescape") as archive:
        names = [os.fsencode(name) for name in archive.getnames()]
    for name in names:
        folder, last = os.path.split(name)
        if last.startswith(b".wh."):
            path = os.path.join(target, folder, last[4:])
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
    subprocess.run(["tar", "-C", target, "--xattrs", "--xattrs-include=*",
                    "--exclude=.wh.*", "-xpf", layer], check=True,
                   stderr=subprocess.DEVNULL)


def blob(layout, digest):
    kind, name = digest.split(":")
    path = os.path.join(layout, b"blobs", kind.encode(), name.encode())
    with open(path, "rb") as file:
        content = file.read()
    assert hashlib.sha256(content).hexdigest() == name
    return path, content


def layer_of(image, layout):
    """Checks an image's layout, and returns its layer's path."""
    os.mkdir(layout)
    subprocess.run(["tar", "-C", layout, "-xf", image], check=True)
    with open(os.path.join(layout, b"index.json")) as file:
        index = json.load(file)
    with open(os.path.join(layout, b"oci-layout")) as file:
        assert json.load(file) == {"imageLayoutVersion": "1.0.0"}
    _, content = blob(layout, index["manifests"][0]["digest"])
    manifest = json.loads(content)
    assert len(content) == index["manifests"][0]["size"]
    path, content = blob(layout, manifest["layers"][0]["digest"])
    assert len(content) == manifest["layers"][0]["size"]
    _, config = blob(layout, manifest["config"]["digest"])
    assert json.loads(config)["rootfs"]["diff_ids"] == [
        manifest["layers"][0]["digest"]]
    return path


def exports(execution, view, before):
    def at(name):
        return os.path.join(execution.top, name)

    def check(what, top):
        overlay.compare_whole(what, overlay.whole(top), view, before,
                              execution.moves_dirs)
        shutil.rmtree(top)

    def copy_of_base(name):
        subprocess.run(["cp", "-a", execution.base, at(name)], check=True)
        return at(name)

    execution.verb("export", "--format", "dir", "--all", at(b"dir"))
    check("dir", at(b"dir"))
    execution.verb("export", "--format", "tar", "--all", "-o", at(b"tar"))
    unpack(at(b"tar"), copy_of_base(b"copy"))
    check("tar", at(b"copy"))
    with open(at(b"oci"), "wb") as file:
        file.write(execution.verb("export", "--format=oci", "--all"))
    layer = layer_of(at(b"oci"), at(b"layout"))
    with open(layer, "rb") as one, open(at(b"tar"), "rb") as other:
        assert one.read() == other.read()


def one_seed(seed, top, make_execution):
    maker = random_trees.Maker(seed)
    execution = make_execution(os.path.join(top, f"seed{seed}"))
    make_base(maker, execution)
    before = overlay.whole(execution.base)
    view = edit(maker, execution)
    exports(execution, view, before)
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
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 6
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
