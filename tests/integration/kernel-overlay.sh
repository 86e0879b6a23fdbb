#!/bin/bash
# The upper of a finished view, mounted with the kernel's overlayfs
# (userxattr), shows the tree that the view showed.
. "$(dirname "$0")/../lib/lib.sh"
[ "$serve" = plain ] && skip_all 'needs an upper'
if ! is_root; then skip_all 'mounting the overlayfs needs root here'; fi
needs_view

view_base
mkdir -p "$base"/{d,gone,again,swap,deep/er/est,keep}
for f in f g d/a d/b gone/x again/old deep/er/f deep/er/est/f keep/k; do echo "base $f" >"$base/$f"; done
ln -s f "$base/l"
mkfifo "$base/p"
touch -d '2001-02-03 04:05:06.123456789' "$base"/{f,g,d/a,keep/k} "$base/keep"
setfattr -n user.note -v base "$base/g"
view_begin
(
  cd "$view" || exit 1
  echo changed >>f
  chmod 0700 g
  setfattr -n user.more -v view g
  rm -rf gone
  rm -rf again && mkdir again && echo new >again/new
  rmdir swap && echo file >swap
  mv d/a d/moved
  echo x >d/new
  ln -s new d/link
  mkfifo d/fifo
  mkdir -m 2750 made && echo in >made/f
  rm deep/er/est/f
  ln made/f made/hard
  rm p
  mkdir p
  touch -d '1999-01-01 00:00:00.000000001' made/f
  truncate -s 100000 sparse
)
check 'the changes are made' test -e "$view/sparse"
# The first line is the top, which every mount makes anew.
tree_of "$view" without=links | tail -n +2 >"$work/view.tree"
view_unmount

mkdir "$work/kernel" "$work/kernel.work"
# A work folder on the upper's disk; a second upper keeps ours as it is.
mkdir "$scratch/kernel.upper" "$scratch/kernel.work"
mounts+=("$work/kernel")
check 'the kernel mounts it' mount -t overlay legato-test \
  -o "userxattr,lowerdir=$upper:$base,upperdir=$scratch/kernel.upper,workdir=$scratch/kernel.work" "$work/kernel"
tree_of "$work/kernel" without=links | tail -n +2 >"$work/kernel.tree"
same_files 'and shows the same tree' "$work/view.tree" "$work/kernel.tree"
unmount "$work/kernel"
check 'as an upper too' mount -t overlay legato-test \
  -o "userxattr,lowerdir=$base,upperdir=$upper,workdir=$scratch/kernel.work" "$work/kernel"
tree_of "$work/kernel" without=links | tail -n +2 >"$work/kernel.tree"
same_files 'and shows the same tree as an upper' "$work/view.tree" "$work/kernel.tree"
unmount "$work/kernel"
base_untouched
finish
