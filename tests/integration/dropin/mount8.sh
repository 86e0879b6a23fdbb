#!/bin/bash
# mount(8): `mount -t fuse.legato-fs` runs mount.fuse3, which has a shell run
# `legato-fs SOURCE MNT -o OPTIONS`, found in PATH.
. "$(dirname "$0")/../../lib/lib.sh"
[ "$serve" = legato ] || skip_all 'needs legato-fs'
if ! is_root; then skip_all 'mount(8) is for root here'; fi
needs_view
have mount.fuse3 || skip_all 'there is no mount.fuse3'

cd "$work" || exit 1
mkdir -p l 'l:2' u w m
echo lower >l/f
echo two >l:2/g
mnt=$work/m
mounts+=("$mnt")
options_of() { awk -v at="$mnt" '$5 == at { print $6 }' /proc/self/mountinfo; }
ended() {
  local i
  for ((i = 0; i < 100; i++)); do
    pgrep -f "legato-fs .*$mnt" >/dev/null || return 0
    sleep 0.05
  done
  return 1
}

# mount(8) resets PATH: what it starts is started here with one of ours.
through_path() { PATH=$(dirname "$LEGATO_FS"):$PATH timeout 20 mount.fuse3 "$@"; }
check 'mount.fuse3 finds it in PATH' through_path source "$mnt" -t fuse.legato-fs -o "rw,lowerdir=$work/l,upperdir=$work/u,workdir=$work/w"
check 'and it is mounted' sh -c 'grep -q lower m/f && echo new >m/new && grep -q new u/new'
check 'dev and suid, as root of mount.fuse3' sh -c "grep ' $mnt ' /proc/self/mountinfo | grep -vq -e nodev -e nosuid"
check 'umount' umount "$mnt"
check 'ends it' ended

# By its path, as fstab may have it too.
check 'mount -t fuse PROGRAM#SOURCE' timeout 20 mount -t fuse -o "lowerdir=$work/l,ro,nodev,nosuid" "$LEGATO_FS#source" "$mnt"
check 'has the options' sh -c "grep ' $mnt ' /proc/self/mountinfo | grep -w ro | grep nosuid | grep -q nodev"
umount "$mnt"
check 'escapes go through mount(8)' timeout 20 mount -t fuse -o "lowerdir=$work/l\:2:$work/l" "$LEGATO_FS#source" "$mnt"
check 'and both lowers are there' sh -c 'grep -q two m/g && grep -q lower m/f'
umount "$mnt"
check 'a table of mounts' sh -c "printf '%s#source %s fuse noauto,nofail,lowerdir=%s 0 0\n' '$LEGATO_FS' '$mnt' '$work/l' >fstab && timeout 20 mount -T fstab '$mnt' && grep -q lower m/f"
umount "$mnt" 2>/dev/null
check 'a failure is told' sh -c "! timeout 20 mount -t fuse -o 'lowerdir=$work/missing' '$LEGATO_FS#source' '$mnt'"

# By its type, where nothing of that name is installed: a link for a moment.
link=/usr/local/bin/legato-fs
if [ -e "$link" ] || [ -L "$link" ] || ! [ -w /usr/local/bin ]; then
  skip 'mount -t fuse.legato-fs' "$link is somebody else's"
else
  trap 'rm -f "$link"; cleanup' EXIT
  ln -s "$LEGATO_FS" "$link"
  check 'mount -t fuse.legato-fs' timeout 20 mount -t fuse.legato-fs -o "lowerdir=$work/l,upperdir=$work/u,workdir=$work/w" source "$mnt"
  rm "$link"
  trap cleanup EXIT
  check 'and it is mounted' sh -c 'grep -q lower m/f && echo more >>m/f && grep -q more u/f'
  check 'with its type' grep -q " $mnt .* - fuse.legato-fs " /proc/self/mountinfo
  umount "$mnt"
  check 'umount ends it' ended
fi
finish
