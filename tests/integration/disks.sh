#!/bin/bash
# A base on each kind of disk, and an upper on each that can hold one, on the
# same and on another disk: the same work, with the same result. LEGATO_TEST_LONG
# set: every pair.
. "$(dirname "$0")/../lib/lib.sh"
if ! is_root; then skip_all 'making disks needs root'; fi
[ "$serve" = legato ] || skip_all 'needs legato-fs'
needs_view
cd "$work" || exit 1

loops=()
detach() { for i in "${loops[@]}"; do losetup -d "$i" 2>/dev/null; done; }
trap 'detach; cleanup' EXIT # a loop device goes once it is unmounted

# disk KIND: an empty one of the kind at disks/KIND, from an image that is made here.
disk() {
  local at=$work/disks/$1 image=$work/$1.img loop
  mkdir -p "$at"
  mounts+=("$at")
  case $1 in
    tmpfs) mount -t tmpfs legato-test "$at" ;;
    overlayfs)
      mkdir -p "$work"/stack/{l,u,w}
      mount -t overlay legato-test -o "lowerdir=$work/stack/l,upperdir=$work/stack/u,workdir=$work/stack/w" "$at"
      ;;
    *)
      have "mkfs.$1" || return 1
      truncate -s 320M "$image"
      "mkfs.$1" -q "$image" >/dev/null 2>&1 || return 1
      loop=$(losetup -f --show "$image") || return 1
      loops+=("$loop")
      mount "$loop" "$at" && chmod 755 "$at"
      ;;
  esac
}

fill() { # DIR
  mkdir -p "$1"/{d/e/f,gone,kept}
  echo base | tee "$1/a" "$1/d/b" "$1/d/e/f/c" "$1/gone/x" >"$1/kept/y"
  ln "$1/a" "$1/d/a2"
  ln -s ../a "$1/d/link"
  mkfifo "$1/fifo"
  truncate -s 1M "$1/sparse"
  head -c 300000 /dev/urandom >"$1/big"
  chmod 0750 "$1/d"
  touch -d @1000000000.123456789 "$1/kept/y"
}

# What every view must do; run in a plain folder, too.
# (A shell of its own: `set -e` means nothing in what `check` calls.)
work_in() {
  bash -ec 'cd "$1"
  echo more >>a
  grep -q more d/a2
  mv d/e moved
  echo changed >moved/f/c
  mv moved d/back
  rm -r gone
  mkdir gone
  echo new >gone/new
  ln gone/new gone/new2
  mknod kept/pipe p
  rm fifo
  chmod 0700 kept/y
  touch -d @1000000001 kept/y
  dd if=/dev/zero of=big bs=4096 seek=3 count=1 conv=notrunc status=none
  fallocate -l 8192 space
  mv -T kept d/kept
  cp a copy
  mv copy a3' - "$1"
}
names_and_data() { (cd "$1" && find . -mindepth 1 -printf '%P %y %m %s %l\n' | sed 's/^\([^ ]* d [0-7]*\) [0-9]*/\1/' | sort && find . -type f | sort | xargs -d '\n' cat | md5sum); }

# (What links.h knows of d/a2 is not in the upper.)
names() { (cd "$1" && find . -mindepth 1 -printf '%P %y %m %l\n' | sort); }

one() { # BASE-KIND UPPER-KIND
  local name="base on $1, upper on $2" id
  base=$work/disks/$1/base
  rm -rf "$work/plain" "$work/disks/$2/scratch"
  mkdir -p "$work/disks/$2/scratch"
  cp -a "$base" "$work/plain"
  work_in "$work/plain"
  tree_of "$base" >before
  if ! id=$(timeout 20 "$LEGATO_FS" mount --scratch "$work/disks/$2/scratch" --overlay work="$base" "$view" 2>mount.log); then
    not_ok "$name" "$(cat mount.log)"
    return
  fi
  check "$name: work" work_in "$view"
  same "$name: result" "$(names_and_data "$work/plain")" "$(names_and_data "$view")"
  unmount "$view" || not_ok "$name: unmount"
  for ((i = 0; i < 100; i++)); do
    flock -n "$work/disks/$2/scratch/$id/lock" true && break
    sleep 0.1
  done
  tree_of "$base" >after
  same_files "$name: the base is untouched" before after
  again "$name" "$work/disks/$2/scratch/$id"
}

# What others read of an ended execution: served again, and the diff.
again() { # NAME EXECUTION
  local views=$2/views/work
  mkdir -p "$work/other"
  mounts+=("$work/other")
  if "$LEGATO_FS" -o "lowerdir=$base,upperdir=$views/upper,workdir=$views/work" "$work/other"; then
    same "$1: served again" "$(names "$work/plain")" "$(names "$work/other")"
    unmount "$work/other"
  else
    not_ok "$1: served again"
  fi
  timeout 60 "$LEGATO_DIFF" --scratch-dir "${2%/*}" --name-status --no-pager --all "${2##*/}" >changes.seen </dev/null
  [ -s changes ] || { grep -q gone/x changes.seen && mv changes.seen changes; } && return
  same_files "$1: legato-diff as on the first disk" changes changes.seen
}

view=$work/view
mkdir -p "$view"
mounts+=("$view")
kinds=()
for kind in ext4 xfs btrfs tmpfs overlayfs; do
  if disk "$kind"; then
    fill "$work/disks/$kind/base"
    kinds+=("$kind")
  else
    skip "$kind" "no mkfs.$kind, or the kernel has none"
  fi
done
# The view goes before the disks below it.
mounts+=("$view")
for kind in "${kinds[@]}"; do
  one "$kind" "$kind"
  if [ "$kind" != ext4 ] && { [ "$kind" = tmpfs ] || [ "$kind" = overlayfs ] || [ -n "${LEGATO_TEST_LONG:-}" ]; }; then
    one "$kind" ext4
    one ext4 "$kind"
  fi
done
mount -o remount,ro "$work/disks/ext4" && check 'the base is read-only' test ! -w "$work/disks/ext4/base/a"
one ext4 tmpfs
finish
