#!/bin/bash
# A real C project, from a Debian source package, is built with make in a
# reviewer's sandbox by an ordinary user and passes its own tests; the checkout
# is the same to the byte and the nanosecond, and legato-diff lists what a plain
# comparison with the checkout lists.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin
# shellcheck source=tools/lib.sh disable=SC1091
. "$tests/../tools/lib.sh"
set +e
have make && have dpkg-source && have apt-get || skip_all 'needs make, dpkg-source and apt'
package=zlib
base=$HOME/src/$package
# An ordinary user can't write to the build folder that root made.
LEGATO_CACHE=${LEGATO_CACHE:-/var/tmp/legato-cache-$(id -u)} deb_source "$package" "$base" || skip_all "no source of $package (network?)"
cd "$base" || finish
git init -q -b main . && git add -f . && git commit -q -m upstream
tree_of "$base" >"$work/base.before"
git --no-optional-locks status --porcelain >"$work/status.before"

project() { (cd "$base" && timeout 280 "$LEGATO_SANDBOX" run --scratch-dir "$state" "$@" </dev/null); }
check 'configure, make and make test' project --name build -- sh -c './configure && make -j2 && make test'
base_untouched
same 'git status outside is clean' '' "$(git --no-optional-locks status --porcelain)"

execution=$state/$(executions)
serve_again "$execution"
view=$again
check 'the program that was built runs' sh -c "echo text | '$view/minigzip' | gzip -dc | grep -q text"

# Both lists: letter, kind, path; of files, links and empty folders.
cat >"$work/compare.py" <<'END'
import os, stat, sys
old, new = (os.fsencode(p) for p in sys.argv[1:3])
KIND = {stat.S_IFREG: "f", stat.S_IFDIR: "d", stat.S_IFLNK: "l", stat.S_IFIFO: "p", stat.S_IFSOCK: "s"}
def entries(top):
    found = {}
    for path, folders, files in os.walk(top):
        for name in folders + files:
            full = path + b"/" + name
            st = os.lstat(full)
            kind = KIND[stat.S_IFMT(st.st_mode)]
            what = [kind, stat.S_IMODE(st.st_mode) & 0o111 if kind == "f" else 0]
            if kind == "f":
                what.append(open(full, "rb").read())
            elif kind == "l":
                what.append(os.readlink(full))
            elif kind == "d" and os.listdir(full):
                continue
            found[full[len(top) + 1:]] = what
    return found
a, b = entries(old), entries(new)
for path in sorted(a.keys() | b.keys()):
    if path not in b:
        print(f"D {a[path][0]}\t{os.fsdecode(path)}")
    elif path not in a:
        print(f"A {b[path][0]}\t{os.fsdecode(path)}")
    elif a[path][0] != b[path][0]:
        print(f"T {b[path][0]}\t{os.fsdecode(path)}")
    elif a[path] != b[path]:
        print(f"M {b[path][0]}\t{os.fsdecode(path)}")
END
python3 "$work/compare.py" "$base" "$view" | grep -v '	\.git/' | sort >"$work/plain.list"
# The same without our own code: diff names what differs; new folders whole.
diff -rq --no-dereference -x .git "$base" "$view" | wc -l >"$work/diff.count"
serve_end
changes --name-status --all --no-renames build | grep -v '	\.git/' | sort >"$work/our.list"
same_files 'legato-diff --name-status --all lists what a plain comparison lists' "$work/plain.list" "$work/our.list"
check 'which is not little' test "$(wc -l <"$work/our.list")" -gt 20
check 'and not less than diff -r says' test "$(wc -l <"$work/our.list")" -ge "$(cat "$work/diff.count")"

# The patch, binaries and all, gives the same tree.
cp -a "$base" "$work/copy"
changes --patch --binary --all build >"$work/patch" 2>"$work/patch.err"
check 'git apply takes the patch' git -C "$work/copy" apply --exclude='.git/*' "$work/patch"
python3 "$work/compare.py" "$base" "$work/copy" | grep -v '	\.git/' | sort >"$work/copy.list"
same_files 'and it gives the same list' "$work/plain.list" "$work/copy.list"
nothing_left 'nothing is left running or mounted'
finish
