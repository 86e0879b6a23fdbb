#!/bin/bash
# A small disk as the scratch folder, which somebody else fills: above the
# floor of free space the agent is stopped, and the disk keeps that much.
. "$(dirname "$0")/../../lib/lib.sh"
[ "$serve" = legato ] || skip_all 'needs legato-fs'
is_root || skip_all 'mounts a disk of its own'
needs_view
view_base
echo f >"$base/f"
truncate -s 64M "$work/image"
mounts+=("$scratch")
if ! { mkfs.ext4 -q -F "$work/image" && mount -o loop "$work/image" "$scratch"; } 2>/dev/null; then
  mount -t tmpfs -o size=64M none "$scratch" || skip_all 'can not mount a disk'
fi
tree_of "$base" >"$work/base.before"
mounts+=("$view")
timeout 20 "$LEGATO_FS" mount --scratch "$scratch" --overlay work="$base" --quota min_free=16M "$view" \
  >"$work/mount.id" 2>"$work/mount.log" || { not_ok 'mount' "$(cat "$work/mount.log")" && finish; }
execution=$scratch/$(cat "$work/mount.id")
free() { df -B1 --output=avail "$scratch" | tail -n 1; }

# But for what the daemon itself writes: the journal, and its database.
floor_is_kept() { test "$(free)" -ge "$(((16 << 20) - (1 << 20)))"; }
take() { # BYTES: as somebody else
  check "others take $1 bytes" sh -c "head -c $1 /dev/zero >'$scratch/other$1'"
}
before=$(free)
shown=$(df -B1 --output=avail "$view" | tail -n 1)
check 'df inside leaves the floor out' test $((before - shown)) -ge $((15 << 20))
output=$(head -c 100000000 /dev/zero 2>&1 >"$view/filled")
check 'the agent is stopped' test "$(stat -c %s "$view/filled")" -lt 60000000
check 'and the floor is kept' floor_is_kept
rm "$view/filled"
check 'it goes on after deleting' sh -c "head -c 5000000 /dev/zero >'$view/again' && rm '$view/again'"
# Somebody else takes what is left.
take 29000000
head -c 8000000 /dev/zero >"$view/more" 2>/dev/null
check 'what others take counts, too' test "$(stat -c %s "$view/more")" -lt 4000000
check 'and the floor is kept' floor_is_kept
take 4000000
check 'below it nothing is made' sh -c "! mkdir '$view/dir' 2>/dev/null"
check 'but reading works' grep -qx f "$view/f"
check 'and removing' rm "$view/f" "$view/more"
# All of the disk: our own files, too.
head -c 100000000 /dev/zero >"$scratch/other-all" 2>/dev/null
check 'a full disk ends nobody' sh -c "ls '$view' && ! mkdir '$view/dir' 2>/dev/null"
rm "$scratch"/other*
check 'with space again it goes on' sh -c "mkdir '$view/dir' && echo x >'$view/dir/f' && cat '$view/dir/f'"
view_end
unmount "$scratch"
finish
