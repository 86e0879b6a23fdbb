#!/bin/bash
# The command line of fuse-overlayfs: every option, what is refused, mount(8),
# and how a mount ends.
. "$(dirname "$0")/../../lib/lib.sh"
[ "$serve" = legato ] || skip_all 'needs legato-fs'
needs_view

cd "$work" || exit 1
mkdir -p l u w m
echo lower >l/f
mnt=$work/m
mounts+=("$mnt")
fs() { timeout 20 "$LEGATO_FS" "$@" </dev/null; }
drop() { # OPTIONS [MNT]: mounts
  fs -o "$1" "${2:-$mnt}"
}
options_of() { awk -v at="$mnt" '$5 == at { print $6 }' /proc/self/mountinfo; }
daemon_of() { pgrep -f "^$LEGATO_FS .*$mnt\$"; }
gone() { # the daemon of the mount that was
  local i
  for ((i = 0; i < 100; i++)); do
    daemon_of >/dev/null || return 0
    sleep 0.05
  done
  return 1
}

# ------------------------------------------------------------ mounted, and ended

check 'it returns when mounted' drop lowerdir=l,upperdir=u,workdir=w
check 'and then it is there' grep -q lower m/f
check 'the type is fuse.legato-fs' grep -q " $mnt .* - fuse.legato-fs legato-fs " /proc/self/mountinfo
check 'nosuid and nodev' sh -c "grep ' $mnt ' /proc/self/mountinfo | grep nosuid | grep -q nodev"
check 'it can be written' sh -c 'echo upper >m/f && echo new >m/g'
same 'the upper has it' 'upper new' "$(echo $(cat u/f u/g))"
check 'the lower has not' grep -q lower l/f
check 'unmount' unmount "$mnt"
check 'which ends the process' gone
check 'mounted again, it is the same' drop lowerdir=l,upperdir=u,workdir=w
same 'with what was written' 'upper new' "$(echo $(cat m/f m/g))"
if is_root; then
  check 'umount -l ends it too' umount -l "$mnt"
else
  check 'fusermount3 -uz ends it too' fusermount3 -uz "$mnt"
fi
check 'the process is gone' gone

background "$LEGATO_FS" -f -o lowerdir=l "$mnt"
daemon=$!
for ((i = 0; i < 100; i++)); do
  is_mounted "$mnt" && break
  sleep 0.05
done
check '-f stays in the foreground' kill -0 "$daemon"
kill -TERM "$daemon"
wait "$daemon"
same 'SIGTERM ends it with status 0' 0 "$?"
check 'unmounted' sh -c "! grep -qF ' $mnt ' /proc/self/mountinfo"

# -------------------------------------------------------------------- one option

mounted_with() { # NAME OPTIONS COMMAND...: a command over such a mount
  local name=$1 output
  if ! output=$(drop "$2" 2>&1); then
    not_ok "$name" "$output"
    return
  fi
  check "$name" "${@:3}"
  unmount "$mnt" || not_ok 'unmount'
}
has_option() { options_of | tr , '\n' | grep -qx "$1"; }
has_not_option() { ! has_option "$1"; }

mounted_with 'without an upper it is read-only' lowerdir=l has_option ro
mounted_with 'and says EROFS' lowerdir=l sh -c 'touch m/new 2>&1 | grep -q Read-only'
mounted_with 'rw without an upper is read-only' rw,lowerdir=l has_option ro
mounted_with 'ro with an upper' ro,lowerdir=l,upperdir=u,workdir=w has_option ro
mounted_with 'the last of ro and rw counts' ro,rw,lowerdir=l,upperdir=u,workdir=w has_option rw
mounted_with 'noexec' noexec,lowerdir=l has_option noexec
mounted_with 'exec' noexec,exec,lowerdir=l has_not_option noexec
mounted_with 'noatime' noatime,lowerdir=l has_option noatime
mounted_with 'fsname' fsname=some-name,lowerdir=l grep -q " $mnt .* - fuse.legato-fs some-name " /proc/self/mountinfo
mounted_with 'with a comma in it' 'fsname=a\,b\\c,lowerdir=l' grep -qF " $mnt " /proc/self/mountinfo
links_of() { stat -c %h "$1"; }
mkdir -p l/sub/{a,b} u/sub/c
if [ "$(links_of l/sub)" = 4 ]; then
  mounted_with 'links of a merged folder are counted' lowerdir=l,upperdir=u,workdir=w sh -c 'test "$(stat -c %h m/sub)" = 5'
  mounted_with 'static_nlink: they are not' static_nlink,lowerdir=l,upperdir=u,workdir=w sh -c 'test "$(stat -c %h m/sub)" = 1'
fi
rm -r l/sub u/sub
if have setfacl && setfacl -m u:0:r l/f 2>/dev/null; then
  mounted_with 'ACLs are shown' lowerdir=l sh -c 'getfacl -c m/f | grep -q "^user:[^:]"'
  mounted_with 'noacl: they are not' noacl,lowerdir=l sh -c '! getfacl -c m/f | grep -q "^user:[^:]"'
  mounted_with 'noacl: nor set' noacl,lowerdir=l,upperdir=u,workdir=w sh -c '! setfacl -m u:0:rw m/f'
  setfacl -b l/f
else
  skip 'noacl' 'no setfacl, or a disk without ACLs'
fi
mounted_with "fuse-overlayfs's own attributes stay its own" lowerdir=l,upperdir=u,workdir=w sh -ec '
  python3 -c "import os; os.setxattr(\"m/f\", \"user.fuseoverlayfs.opaque\", b\"y\"); print(os.listxattr(\"m/f\"))" | grep -q fuseoverlayfs.opaque
  python3 -c "import os; print(os.listxattr(\"u/f\"))" | grep -q user.fuseoverlayfs.fuseoverlayfs.opaque'
for option in default_permissions volatile noacl fsync=0 xino=auto xino=off static_nlink redirect_dir=on userxattr \
  index=off metacopy=off metacopy=on atime relatime nodiratime lazytime async defaults user nofail noauto _netdev nodev nosuid ''; do
  mounted_with "'$option' is taken" "$option,lowerdir=l,upperdir=u,workdir=w" test -f m/f
done
if is_root; then
  mounted_with 'dev' dev,lowerdir=l has_not_option nodev
  mounted_with 'suid' suid,lowerdir=l has_not_option nosuid
  mounted_with 'nodev after dev' dev,nodev,lowerdir=l has_option nodev
  mounted_with 'nosuid after suid' suid,nosuid,lowerdir=l has_option nosuid
  mknod l/null c 1 3 && chmod 666 l/null
  mounted_with 'a device works with dev' dev,lowerdir=l sh -c 'echo x >m/null'
  mounted_with 'and not without' lowerdir=l sh -c '! echo x 2>/dev/null >m/null'
  rm l/null
  cp "$(command -v id)" l/id && chmod 4755 l/id
  if [ -n "${LEGATO_TEST_USER:-}" ]; then
    as_user() { setpriv --reuid "$LEGATO_TEST_USER" --regid "$(id -g "$LEGATO_TEST_USER")" --clear-groups "$@"; }
    effective() { [ "$(as_user m/id -u)" = "$1" ]; }
    mounted_with 'a set-uid program with suid' suid,allow_other,lowerdir=l effective 0
    mounted_with 'and without' allow_other,lowerdir=l effective "$(id -u "$LEGATO_TEST_USER")"
  else
    skip 'a set-uid program with suid' 'LEGATO_TEST_USER is not set'
  fi
  rm l/id
elif grep -q '^user_allow_other' /etc/fuse.conf 2>/dev/null; then
  mounted_with 'allow_other' allow_other,lowerdir=l test -f m/f
else
  check 'allow_other is refused where fuse.conf says so' sh -c "! timeout 20 '$LEGATO_FS' -o allow_other,lowerdir=l '$mnt'"
fi

# ------------------------------------------------------------------------ lowers

for ((i = 1; i <= 20; i++)); do
  mkdir -p "many/$i/d"
  echo "$i" | tee "many/$i/top" >"many/$i/d/$i"
  lowers=${lowers:+$lowers:}many/$i
  mounted_with "$i lowers" "lowerdir=$lowers" sh -c "test \$(ls m/d | wc -l) = $i && test \$(cat m/top) = 1 && test \$(cat m/d/$i) = $i"
done
mkdir 'a:b' 'a,b' 'b\' 'sp ace' 'a\b'
for name in 'a:b' 'a,b' 'b\' 'sp ace' 'a\b'; do echo "$name" >"$name/name"; done
cat >shows <<'END'
test "$(cat m/name)" = "$1" && test -f m/f
END
mounted_with '\: in a lower' 'lowerdir=a\:b:l' sh shows 'a:b'
mounted_with '\, in a lower' 'lowerdir=a\,b:l' sh shows 'a,b'
mounted_with '\\ at the end of a lower' 'lowerdir=b\\:l' sh shows 'b\'
mounted_with '\\ in a lower' 'lowerdir=l:a\\b' sh shows 'a\b'
mounted_with 'a space' 'lowerdir=sp ace:l' sh shows 'sp ace'
mkdir -p 'up:1,2\' 'wo:1,2'
mounted_with 'the same in upperdir and workdir' 'lowerdir=l,upperdir=up\:1\,2\\,workdir=wo\:1\,2' sh -c 'echo x >m/made'
same 'is where it was written' x "$(cat 'up:1,2\/made')"
mounted_with ': in upperdir needs no backslash' 'workdir=wo:1\,2,lowerdir=l,upperdir=up:1\,2\\' test -f m/made
mounted_with 'the last lowerdir counts' 'lowerdir=l,lowerdir=a\:b' sh -c '! test -e m/f'
check '-o more than once' fs -o lowerdir=l -o upperdir=u -o workdir=w -d "$mnt"
check 'is added up' sh -c 'echo x >m/more-than-once'
unmount "$mnt"
check 'names before the options' fs -o lowerdir=l some-source "$mnt"
check 'with a source' grep -q lower m/f
unmount "$mnt"

# ----------------------------------------------------------------------- refused

refused() { # NAME WORD ARGUMENT...: one line with the word, status 2, no mount
  local name=$1 word=$2 status=0 output
  shift 2
  output=$(fs "$@" 2>&1) || status=$?
  if is_mounted "$mnt"; then unmount "$mnt"; status="$status, mounted"; fi
  if [ "$status" != 2 ] || [ "$(printf '%s\n' "$output" | wc -l)" != 1 ] || [[ $output != *"$word"* ]]; then
    not_ok "$name" "status $status; it said: $output"
  else
    ok "$name"
  fi
}
for option in nonsense plugins=x sync dirsync context=x timeout=1 threaded=1 lowerdirs=l Lowerdir=l; do
  refused "'$option' is refused by name" "'${option%%=*}'" -o "lowerdir=l,$option" "$mnt"
done
for option in lowerdir upperdir workdir uidmapping gidmapping squash_to_uid squash_to_gid fsname xino ro=1 dev=1 squash_to_root=1 volatile=1; do
  refused "'$option': a value too few or too many" "'${option%%=*}'" -o "lowerdir=l,$option" "$mnt"
done
for option in uidmapping=0:1 uidmapping=x:1:1 gidmapping=0:1:2:3 uidmapping= squash_to_uid=x squash_to_uid=-1 squash_to_gid=4294967295 squash_to_uid= \
  redirect_dir=off redirect_dir=nofollow xino=maybe metacopy=x index= fsync=2; do
  refused "'$option': a bad value" "'${option%%=*}'" -o "lowerdir=l,$option" "$mnt"
done
refused '501 lowers' "'lowerdir'" -o "lowerdir=$(yes l | head -n 501 | paste -sd:)" "$mnt"
refused 'no lower' lowerdir -o upperdir=u,workdir=w "$mnt"
refused 'an empty lower' "''" -o lowerdir=l::l "$mnt"
refused 'an upper without a work folder' workdir -o lowerdir=l,upperdir=u "$mnt"
refused 'a work folder without an upper' upperdir -o lowerdir=l,workdir=w "$mnt"
refused 'no mount point' 'mount point' -o lowerdir=l
refused 'an option that is none' "'x'" -x -o lowerdir=l "$mnt"
refused 'a lower that is missing' "'missing'" -o lowerdir=l:missing "$mnt"
refused 'an upper that is missing' "'missing'" -o lowerdir=l,upperdir=missing,workdir=w "$mnt"
refused 'a work folder that is missing' "'missing'" -o lowerdir=l,upperdir=u,workdir=missing "$mnt"
refused 'a mount point that is missing' "'missing'" -o lowerdir=l missing
check 'a lower that is a file is refused' sh -c "! timeout 20 '$LEGATO_FS' -o lowerdir=l/f '$mnt'"
mounts+=("$work/l/f")
refused 'a mount point that is a file' directory -o lowerdir=l "$work/l/f"
check 'nothing of these is left' gone

finish
