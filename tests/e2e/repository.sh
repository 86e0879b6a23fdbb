#!/bin/bash
# A checkout whose repository lies elsewhere: a worktree, a submodule, a .git
# that is a link. git works as the role allows; in review nothing real changes.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin
main=$checkout
git -C "$main" worktree add -q "$HOME/tree" -b side
git init -q -b main "$HOME/lib" && git -C "$HOME/lib" commit -q --allow-empty -m lib
git init -q -b main "$HOME/super"
git -C "$HOME/super" -c protocol.file.allow=always submodule --quiet add "$HOME/lib" sub 2>/dev/null
git -C "$HOME/super" commit -q -m super
cp -a "$main" "$HOME/linked" && mv "$HOME/linked/.git" "$HOME/store.git" && ln -s "$HOME/store.git" "$HOME/linked/.git"

in_folder() { # FOLDER SCRIPT OPTION...
  (cd "$1" && timeout 60 "$LEGATO_SANDBOX" run --scratch-dir "$state" "${@:3}" -- sh -c "$2" </dev/null) 2>"$work/error"
}
state_of() { # FOLDER: all that a commit could change, in whichever repository
  git -C "$1" log --all --format='%H %s' && git --no-optional-locks -C "$1" status --porcelain && tree_of "$(git -C "$1" rev-parse --path-format=absolute --git-common-dir)"
}
commits='git status --porcelain && echo x >made && git add made && git commit -q -m inside && git log -1 --format=%s && git status --porcelain'
for name in tree super/sub linked; do
  folder=$HOME/$name
  state_of "$folder" >"$work/before"
  same "$name, review: git commits" inside "$(in_folder "$folder" "$commits")"
  state_of "$folder" >"$work/after"
  same_files '... and the real repository is as it was' "$work/before" "$work/after"
  same "$name, find-out: git reads" "$(git -C "$folder" log -1 --format=%s)" \
    "$(in_folder "$folder" 'git status --porcelain; git log -1 --format=%s; ! git commit -q --allow-empty -m x 2>/dev/null' --role find-out)"
  state_of "$folder" >"$work/after"
  same_files '... and writes nothing' "$work/before" "$work/after"
done
same 'tree, work --overlay: git commits' inside "$(in_folder "$HOME/tree" "$commits" --role work --overlay)"
same '... into the view' start "$(git -C "$HOME/tree" log -1 --format=%s)"
same 'tree, work: git commits' inside "$(in_folder "$HOME/tree" "$commits" --role work)"
same '... for real' inside "$(git -C "$HOME/tree" log -1 --format=%s)"
same '... and shows nothing else of the main checkout' '.git' "$(in_folder "$HOME/tree" "ls -A '$main'")"

# A .git that an agent wrote, to see more the next time.
refused() { # NAME TEXT
  local status=0
  (cd "$HOME/forged" && timeout 60 "$LEGATO_SANDBOX" run --scratch-dir "$state" -- true </dev/null >/dev/null 2>"$work/error") || status=$?
  if [ "$status" -eq 125 ] && grep -qF -e "$2" "$work/error"; then ok "$1"; else not_ok "$1" "status $status" "$(cat "$work/error")"; fi
  rm -f "$HOME/forged/.git"
}
mkdir "$HOME/forged" "$HOME/.ssh"
echo "gitdir: $main/.git" >"$HOME/forged/.git"
refused "another checkout's repository" 'does not name it'
echo "gitdir: $main/.git/worktrees/tree" >"$HOME/forged/.git"
refused "another worktree's" 'does not name it'
ln -s "$main/.git" "$HOME/forged/.git"
refused "a link to another checkout's" 'does not name it'
echo "gitdir: $HOME/.ssh" >"$HOME/forged/.git"
refused 'a hidden folder' 'no repository'
git init -q --bare "$HOME/.ssh/x.git"
echo "gitdir: $HOME/.ssh/x.git" >"$HOME/forged/.git"
refused 'a repository in a hidden folder' 'by the rule ssh'
echo 'gitdir: /' >"$HOME/forged/.git"
refused 'the root' 'no repository'
mkfifo "$HOME/forged/.git"
check 'a FIFO holds nobody up' in_folder "$HOME/forged" true --checkout "$HOME/forged"
nothing_left 'nothing is left running or mounted'
finish
