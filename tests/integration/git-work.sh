#!/bin/bash
# git at work in the view: on a repository of the base, and on a clone.
. "$(dirname "$0")/../lib/lib.sh"
needs_view
export HOME=$work GIT_CONFIG_GLOBAL=/dev/null
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org

view_base
cd "$base" || finish
git init -q -b main .
mkdir -p src/deep doc
for i in $(seq 60); do printf 'line %s\n' "$i" {a..z} >"src/file$i.c"; done
for i in $(seq 20); do echo "doc $i" >"doc/page$i"; done
ln -s src/file1.c link
echo deep >src/deep/f
git add . && git commit -q -m one
git switch -q -c topic
for i in $(seq 1 3 60); do echo topic >>"src/file$i.c"; done
git rm -q -r doc && git mv src/deep src/deeper
git commit -q -a -m topic
git switch -q main
for i in $(seq 2 3 60); do sed -i 1d "src/file$i.c"; done
git commit -q -a -m main
git gc -q
cd /
view_begin

in_view() { (cd "$view" && "$@"); }
clean() { test -z "$(cd "$view" && git status --porcelain)"; }

check 'fsck of the repository of the base' in_view git fsck --strict
check 'status is clean' clean
check 'switch to a branch that deletes and moves' in_view git switch -q topic
check '... the deleted is gone' test ! -e "$view/doc"
check '... the moved is there' grep -q deep "$view/src/deeper/f"
check '... status is clean' clean
check 'switch back' in_view git switch -q main
check '... the deleted is back' grep -q 'doc 7' "$view/doc/page7"
check '... status is clean' clean
check 'commit' in_view sh -c 'echo new >new && echo more >>src/file9.c && git add -A && git commit -q -m new'
check 'rebase' in_view git rebase -q main topic
check '... status is clean' clean
check 'merge' in_view sh -c 'git switch -q main && git merge -q --no-edit topic'
check '... the merge has both' in_view sh -c 'test ! -e doc && test "$(tail -n 1 src/file1.c)" = topic && test "$(head -n 1 src/file2.c)" = "line a"'
check 'stash and apply' in_view sh -c 'echo x >>src/file3.c && git stash -q && git stash pop -q && test -n "$(git status --porcelain)" && git checkout -q .'
check 'worktree' in_view sh -c 'git worktree add -q ../view/wt topic && test -e wt/src/file1.c && git worktree remove wt'
check 'hard reset' in_view git reset -q --hard topic
check 'clean' in_view sh -c 'mkdir junk && touch junk/x && git clean -q -fdx && test ! -e junk'
check 'gc' in_view git gc -q --prune=now
check 'fsck afterwards' in_view git fsck --strict

check 'clone within the view' in_view git clone -q . clone
check 'clone without hard links' in_view git clone -q --no-hardlinks . clone2
check 'work in the clone' in_view sh -c 'cd clone && git switch -q -c x && echo y >y && git add y && git commit -q -m y && git push -q origin x'
check 'fetch it' in_view sh -c 'test "$(git show x:y)" = y'
check 'fsck of the clone' in_view git -C clone fsck --strict
check 'many commits with many lock files' in_view sh -c 'for i in $(seq 30); do echo $i >n && git add n && git commit -q -m $i || exit 1; done'
check 'remove the clones' in_view rm -rf clone clone2

view_end
check 'the repository of the base has one topic and one main' test "$(git -C "$base" rev-list --all --count)" = 3
finish
