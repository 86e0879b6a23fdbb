#!/bin/bash
# Names are bytes: random ones, through every kind of change, in base and view.
. "$(dirname "$0")/../lib/lib.sh"
needs_view
view_base
cat >"$work/names.py" <<'END'
"""make DIR | change DIR: the same names each time, by seed."""
import os, random, sys
top = os.fsencode(sys.argv[2])
rnd = random.Random(7)
alphabet = [bytes([b]) for b in range(1, 256) if b != ord("/")]
def name():
    return b"".join(rnd.choice(alphabet) for _ in range(rnd.choice((1, 2, 5, 40, 255))))
names = sorted({n for n in (name() for _ in range(150)) if n not in (b".", b"..")})
half = len(names) // 2
if sys.argv[1] == "make":
    for i, n in enumerate(names[:half]):
        if i % 3:
            with open(top + b"/" + n, "wb") as f:
                f.write(n)
        else:
            os.mkdir(top + b"/" + n)
            os.symlink(n, top + b"/" + n + b"/" + n)
else:
    for i, n in enumerate(names[:half]):
        path = top + b"/" + n
        if os.path.isdir(path):
            if i % 2:
                os.unlink(path + b"/" + n)
                os.rmdir(path)
        elif i % 3 == 1:
            os.rename(path, top + b"/" + names[half + i])
        elif i % 4 == 0:
            os.unlink(path)
        else:
            with open(path, "ab") as f:
                f.write(b"more")
            os.setxattr(path, b"user." + n[:100].replace(b"\0", b""), n[:50])
    for n in names[half:]:
        path = top + b"/" + n
        if not os.path.lexists(path):
            os.mkdir(path)
            os.link(path + b"/../" + names[1] if os.path.isfile(top + b"/" + names[1]) else __file__.encode(),
                    path + b"/" + n) if os.path.isfile(top + b"/" + names[1]) else None
END
check 'odd names in the base' python3 "$work/names.py" make "$base"
cp -a "$base" "$work/wanted"
view_begin
tree_of "$base" >"$work/wanted.tree"
tree_of "$view" >"$work/view.tree"
same_files 'the view shows them as they are' "$work/wanted.tree" "$work/view.tree"
check 'changed on the copy' python3 "$work/names.py" change "$work/wanted"
check 'changed in the view' python3 "$work/names.py" change "$view"
tree_of "$work/wanted" without=mtime >"$work/wanted.tree"
tree_of "$view" without=mtime >"$work/view.tree"
same_files 'the trees are equal' "$work/wanted.tree" "$work/view.tree"
view_end
finish
