#!/bin/bash
# `--mask VIEW:PATH`: what of the base a view never shows, however it is asked
# for, and what a program can do around it.
. "$(dirname "$0")/../lib/lib.sh"
[ "$serve" = legato ] || skip_all 'needs legato-fs'
needs_view
view_base
mkdir -p "$base/d/keys" "$base/only" "$base/e"
echo TOKEN=1 >"$base/.env"
echo secret >"$base/d/secret"
echo key >"$base/d/keys/key"
echo shown >"$base/d/shown"
echo alone >"$base/only/masked"
ln "$base/d/secret" "$base/e/alias"
ln -s ../.env "$base/e/link"
echo f >"$base/e/f"

tree_of "$base" >"$work/base.before"
mounts+=("$view")
timeout 20 "$LEGATO_FS" mount --scratch "$scratch" --overlay work="$base" --mask work:.env --mask work:d/secret \
  --mask work:d/keys --mask work:only/masked --mask work:reserved "$view" >"$work/mount.id" ||
  { not_ok 'mount' && finish; }
execution=$scratch/$(cat "$work/mount.id")
upper=$execution/views/work/upper

absent() { # PATH: for every way to ask
  python3 - "$view/$1" <<'PYTHON'
import errno, os, sys
path = sys.argv[1]
calls = {
    "stat": lambda: os.lstat(path),
    "open": lambda: os.open(path, os.O_RDONLY),
    "open for writing": lambda: os.open(path, os.O_WRONLY),
    "open as a path": lambda: os.open(path, os.O_PATH),
    "truncate": lambda: os.truncate(path, 0),
    "chmod": lambda: os.chmod(path, 0o600),
    "utime": lambda: os.utime(path),
    "unlink": lambda: os.unlink(path),
    "rmdir": lambda: os.rmdir(path),
    "rename": lambda: os.rename(path, path + ".moved"),
    "link": lambda: os.link(path, path + ".linked"),
    "readlink": lambda: os.readlink(path),
    "listdir": lambda: os.listdir(path),
    "getxattr": lambda: os.getxattr(path, "user.a"),
    "chdir": lambda: os.chdir(path),
    "execve": lambda: os.execv(path, [path]),
    "statvfs": lambda: os.statvfs(path),
    "stat through ..": lambda: os.stat(path + "/../" + os.path.basename(path)),
}
for name, call in calls.items():
    try:
        call()
    except OSError as error:
        if error.errno == errno.ENOENT:
            continue
        sys.exit(f"{name}: {error}")
    sys.exit(f"{name}: it is there")
PYTHON
}
for path in .env d/secret d/keys d/keys/key only/masked reserved e/alias; do
  check "'$path' is not there" absent "$path"
done
check 'nor through a symbolic link' sh -c "! cat '$view/e/link' 2>/dev/null"
same 'no listing has them' '. .. d e only' "$(cd "$view" && ls -a | xargs)"
same '... in a folder' 'shown' "$(ls "$view/d")"
same '... with the other names of a file' 'f link' "$(ls "$view/e" | xargs)"
same 'a walk meets none' 'd d/shown e e/f e/link only' "$(cd "$view" && find . -mindepth 1 -printf '%P\n' | sort | xargs)"

refused() { # NAME COMMAND...: with EACCES
  local name=$1 output
  shift
  output=$("$@" 2>&1) && { not_ok "$name" 'it was made' && return; }
  check "$name is refused" grep -qi 'permission denied' <<<"$output"
}
refused 'a file in its place' sh -c "echo mine >'$view/.env'"
refused 'a folder in its place' mkdir "$view/d/keys"
refused 'a symbolic link in its place' ln -s x "$view/reserved"
refused 'a hard link in its place' ln "$view/d/shown" "$view/d/secret"
refused 'a FIFO in its place' mkfifo "$view/.env"
refused 'a file renamed to its place' python3 -c "import os; os.rename('$view/e/f', '$view/only/masked')"
refused 'a folder renamed to its place' python3 -c "import os; os.rename('$view/e', '$view/reserved')"
same 'and nothing has changed' 'd d/shown e e/f e/link only' "$(cd "$view" && find . -mindepth 1 -printf '%P\n' | sort | xargs)"

check 'a folder is renamed' mv "$view/d" "$view/moved"
same 'and goes on hiding' shown "$(ls "$view/moved")"
check '... by name' absent moved/secret
check 'a folder with nothing else in it can be removed' rmdir "$view/only"
ln "$base/.env" "$base/e/late"
for ((i = 0; i < 300; i++)); do
  cat "$view/e/late" >"$work/late" 2>&1 || break
  sleep 0.1
done
check 'a link that is made in the base is hidden soon' test "$i" -lt 300
rm "$base/e/late"
check 'nothing masked was copied up' sh -c "! grep -rqE 'TOKEN|secret|key' '$execution/views'"

if [ -x "${LEGATO_DIFF:-}" ]; then
  diff_of() { timeout 60 "$LEGATO_DIFF" --scratch-dir "$scratch" "$@" </dev/null; }
  # The letter and the (new) path.
  told() { diff_of --name-status | awk '{sub("/$", "", $NF); print substr($1, 1, 1), $NF}' | sort | xargs; }
  same 'legato-diff shows what a program could see' 'D only R moved/shown' "$(told)"
  cat "$view/.env" 2>/dev/null
  cat "$view/.env" 2>/dev/null
  timeout 60 "$LEGATO_DIFF" log --json --op refused --path .env --process cat --scratch-dir "$scratch" >"$work/log" </dev/null
  # These, and the one through the symbolic link.
  check 'each question is on the record' test "$(wc -l <"$work/log")" -eq 3
  diff_of --patch >"$work/patch"
  check '... and no content of what is masked' sh -c "! grep -qE 'TOKEN|secret|key' '$work/patch'"
  rm -r "$view/moved" "$view/e"
  same '... nor its removal' 'D d/shown D e/f D e/link D only' "$(told)"
fi

view_unmount
# The link counts and times of the base have changed by our own hand.
check 'the base keeps what is masked' sh -c "cd '$base' && cat .env d/secret d/keys/key only/masked e/alias"

for bad in work .env work: work:/a work:a/../b work:a// other:a; do
  check "--mask $bad is refused" sh -c "
    timeout 20 '$LEGATO_FS' mount --scratch '$scratch' --overlay 'work=$base' --mask '$bad' '$view' 2>&1 | grep -q 'bad mask'"
done
finish
