#!/bin/bash
# `git status` in a fresh view hashes nothing anew: the index of the base stays
# valid, because size, times to the ns, owner, mode and inode number pass
# through. Counted: no tracked file is opened, and the index isn't written.
. "$(dirname "$0")/../lib/lib.sh"
needs_view
have strace || skip_all 'there is no strace'
export HOME=$work GIT_CONFIG_GLOBAL=/dev/null
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org

view_base
cd "$base" || finish
git init -q -b main .
mkdir -p src/deep
for i in $(seq 200); do echo "content $i" >"src/deep/tracked-$i.c"; done
ln src/deep/tracked-1.c src/tracked-hard.c
ln -s tracked-2.c src/deep/tracked-link.c
chmod +x src/deep/tracked-3.c
git add . && git commit -q -m one
# Entries as new as the index would be hashed anyway ("racily clean").
find . -path ./.git -prune -o -type f -print0 | xargs -0 touch -h -d '2 minutes ago'
sleep 1.1
git update-index -q --refresh
cd /
view_begin

index() { stat -c '%y %s' "$view/.git/index"; }
before=$(index)
strace -f -qq -e trace=open,openat,openat2 -o "$work/trace" git -C "$view" status --porcelain >"$work/status"
same 'nothing is changed' '' "$(cat "$work/status")"
same 'no tracked file is opened' '' "$(grep -a 'tracked-' "$work/trace" | head -n 5)"
check 'the trace would show one' grep -q '\.git/index' "$work/trace"
same 'the index is not written' "$before" "$(index)"

# The same again with everything dropped from the kernel's caches.
if is_root; then
  sync
  echo 2 >/proc/sys/vm/drop_caches
  strace -f -qq -e trace=open,openat,openat2 -o "$work/trace" git -C "$view" status --porcelain >"$work/status"
  same 'no tracked file is opened after drop_caches' '' "$(grep -a 'tracked-' "$work/trace" | head -n 5)"
else
  skip 'no tracked file is opened after drop_caches' 'needs root'
fi

# What is copied up keeps its inode number and times: still nothing to hash.
if [ "$serve" = legato ]; then
  before=$(stat -c '%i %Y' "$view/src/deep/tracked-9.c")
  chmod 755 "$view/src/deep/tracked-9.c" && chmod 644 "$view/src/deep/tracked-9.c"
  same 'copy-up keeps inode number and time' "$before" "$(stat -c '%i %Y' "$view/src/deep/tracked-9.c")"
  same 'the inode number is the one of the base' "$(stat -c %i "$base/src/deep/tracked-9.c")" \
    "$(stat -c %i "$view/src/deep/tracked-9.c")"
fi

echo changed >>"$view/src/deep/tracked-5.c"
same 'a change is seen' ' M src/deep/tracked-5.c' "$(git -C "$view" status --porcelain)"
view_end
finish
