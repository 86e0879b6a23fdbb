#!/bin/bash
# legato-diff after a run: its patch, applied to the checkout with git apply,
# gives exactly the tree that the view had; its list is what a plain comparison
# of the two trees finds.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin
cp -a "$checkout" "$work/copy"

run --name work -- sh -c '
  sed -i "3s/.*/changed/;20d" src/a.c
  echo appended >>src/b.c
  git mv doc/page doc/moved
  rm tool
  mkdir -p new/sub && echo added >new/sub/f
  printf "no newline at the end" >new/bare
  printf "bin\000ary\377" >new/binary
  : >new/empty
  chmod +x src/a.c
  ln -sf b.c src/link
  rm -rf doc && mkdir doc && echo other >doc/page
  echo "a name with spaces" >"new/with space"
  echo odd >"new/tab	and
newline"
  git add -A && git commit -q -m change' >/dev/null 2>&1
same 'the command succeeded' 0 "$?"
execution=$state/$(executions)

serve_again "$execution"
view=$again
tree_of "$view" without=mtime,links,xattr | grep -v " './.git" >"$work/view.tree"
cp -a "$view" "$work/view.copy" # for the comparison below
serve_end

changes --patch work >"$work/patch"
check 'git apply takes the patch' git -C "$work/copy" apply "$work/patch"
tree_of "$work/copy" without=mtime,links,xattr | grep -v " './.git" >"$work/copy.tree"
same_files 'and gives the tree of the view' "$work/view.tree" "$work/copy.tree"

plain_comparison() { # OLD NEW: what differs below them, without .git
  diff -rq --no-dereference -x .git "$1" "$2" | sed "s#$1#OLD#g; s#$2#NEW#g" | sort
}
same 'a plain diff -r of the view agrees with the list' \
  "$(plain_comparison "$checkout" "$work/copy")" "$(plain_comparison "$checkout" "$work/view.copy")"
same '--name-status' \
  "$(printf '%s\n' 'A f	new/bare' 'A f	new/binary' 'A f	new/empty' 'A f	new/sub/f' 'A f	"new/tab\tand\nnewline"' \
    'A f	new/with space' 'D f	tool' 'M f	doc/page' 'M f	src/a.c' 'M f	src/b.c' 'M l	src/link' | sort)" \
  "$(changes --name-status --no-renames work | grep -v '\.git' | sort)"
check '--stat counts' sh -c "'$LEGATO_DIFF' --scratch-dir '$state' --stat work | grep -qE 'src/a.c .*\|'"
changes --exit-code work >/dev/null
same '--exit-code: 1 where there are changes' 1 "$?"
run --name none -- true >/dev/null 2>&1
changes --exit-code none >/dev/null
same '--exit-code: 0 where there is none' 0 "$?"
run --name same -- sh -c 'touch src/a.c; chmod 600 src/b.c; chmod 644 src/b.c; mv tool t; mv t tool' >/dev/null 2>&1
same 'touched, but equal: no change' '' "$(changes --name-status same)"

# A change that is there while the command runs.
(cd "$checkout" && exec "$LEGATO_SANDBOX" run --scratch-dir "$state" --name live -- sh -c 'echo x >alive; sleep 100') >/dev/null 2>&1 </dev/null &
launcher=$!
pids+=("$launcher")
for ((i = 0; i < 100; i++)); do
  if changes --name-status live 2>/dev/null | grep -q alive; then break; fi
  sleep 0.1
done
same 'the diff of a living execution' 'A f	alive' "$(changes --name-status live)"
kill -TERM "$launcher"
wait "$launcher"
nothing_left 'nothing is left running or mounted'
base_untouched
finish
