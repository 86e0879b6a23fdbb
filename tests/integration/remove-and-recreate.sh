#!/bin/bash
# rm -rf of folders of the base, and making them again: nothing old comes
# back, in the view, after a remount, or for the kernel's overlayfs.
. "$(dirname "$0")/../lib/lib.sh"
needs_view

view_base
for top in a b c d; do
  mkdir -p "$base/$top/sub/deep"
  for i in 1 2 3; do echo "old $i" | tee "$base/$top/f$i" "$base/$top/sub/f$i" >"$base/$top/sub/deep/f$i"; done
done
cp -a "$base" "$work/wanted"
view_begin

# The same commands in the view and on the copy; the trees must be equal.
everywhere() { # COMMAND
  local status=0
  (cd "$work/wanted" && eval "$1") || status=1
  (cd "$view" && eval "$1") || status=1
  return "$status"
}
trees_equal() { # NAME
  tree_of "$work/wanted" without=mtime >"$work/wanted.tree"
  tree_of "$view" without=mtime >"$work/view.tree"
  same_files "$1" "$work/wanted.tree" "$work/view.tree"
}

check 'rm -rf a' everywhere 'rm -rf a'
trees_equal '... is gone'
check 'mkdir a' everywhere 'mkdir a && mkdir a/sub && echo new >a/sub/f1'
trees_equal '... holds only what is new'
for i in 1 2 3; do
  check "again, round $i" everywhere 'rm -rf a && mkdir -p a/sub/deep && echo round >a/sub/deep/f2'
done
trees_equal '... holds only the last'
check 'a folder becomes a file' everywhere 'rm -rf b && echo file >b'
check 'and a folder again' everywhere 'rm b && mkdir b && touch b/f1'
trees_equal '... and holds only what is new'
check 'a file becomes a folder' everywhere 'rm c/f1 && mkdir c/f1 && touch c/f1/x'
check 'a folder becomes a link' everywhere 'rm -rf c/sub && ln -s f1 c/sub'
trees_equal '... types changed'
check 'rm -rf of a folder of which half was changed' everywhere 'echo x >>d/sub/f1 && rm d/f2 && touch d/new && rm -rf d && mkdir -p d/sub'
trees_equal '... and again'
check 'everything' everywhere 'rm -rf -- *'
trees_equal '... is gone'
check 'copying the old tree back' everywhere 'cp -a "$base/." .'
trees_equal '... is all there'
check 'find -delete' everywhere 'find . -mindepth 1 -delete && mkdir -p a/sub/deep'
trees_equal '... and only the new is there'

view_end
finish
