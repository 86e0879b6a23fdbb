#!/bin/bash
# What can't be done is refused: one line, the right code, nothing left behind.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin

refused() { # NAME STATUS COMMAND...
  local name=$1 wanted=$2 status=0 before after
  shift 2
  before=$(executions 2>/dev/null)
  (cd "$checkout" && timeout 60 "$@" >"$work/out" 2>"$work/err" </dev/null) || status=$?
  after=$(executions 2>/dev/null)
  if [ "$status" -ne "$wanted" ]; then
    not_ok "$name" "status $status, not $wanted" "$(cat "$work/out" "$work/err")"
  elif [ "$(wc -l <"$work/err")" -ne 1 ]; then
    not_ok "$name" 'not one line:' "$(cat "$work/err")"
  elif [ "$before" != "$after" ]; then
    not_ok "$name" "left behind: $after"
  elif [ -n "$(leftovers)" ]; then
    not_ok "$name" "left behind: $(leftovers)"
  else
    ok "$name: $(cat "$work/err")"
  fi
}
S=$LEGATO_SANDBOX
at=(--scratch-dir "$state")

status=0
"$S" >"$work/out" 2>"$work/err" || status=$?
same 'no verb: 2' 2 "$status"
check '... and the usage on stderr' grep -q '^usage: ' "$work/err"
refused 'unknown verb' 2 "$S" nonsense
refused 'no command' 2 "$S" run "${at[@]}"
refused 'no command after --' 2 "$S" run "${at[@]}" --
refused 'unknown flag' 2 "$S" run "${at[@]}" --nonsense -- true
refused 'a flag without its value' 2 "$S" run --name
refused 'unknown role' 2 "$S" run "${at[@]}" --role boss -- true
refused 'bad name' 2 "$S" run "${at[@]}" --name 'a/b' -- true
refused 'a name like an id' 2 "$S" run "${at[@]}" --name '2026' -- true
refused 'a checkout that does not exist' 125 "$S" run "${at[@]}" --checkout "$work/none" -- true
refused 'a checkout that is a file' 125 "$S" run "${at[@]}" --checkout "$checkout/tool" -- true
refused 'a checkout that is the root' 125 "$S" run "${at[@]}" --checkout / -- true
refused 'a checkout below /proc' 125 "$S" run "${at[@]}" --checkout /proc/self -- true
refused 'the scratch folder inside the checkout' 125 "$S" run --scratch-dir "$checkout/scratch" -- true
refused 'the scratch folder is the checkout' 125 "$S" run --scratch-dir "$checkout" -- true
refused 'the scratch folder inside it by a link' 125 sh -c "ln -s '$checkout' '$work/to-checkout' && exec '$S' run --scratch-dir '$work/to-checkout/scratch' -- true"
check '... makes no folder there' test ! -e "$checkout/scratch"
refused 'the scratch folder is a file' 125 "$S" run --scratch-dir "$checkout/tool" -- true
refused 'the scratch folder can not be made' 125 "$S" run --scratch-dir /proc/none -- true
if is_root; then
  skip 'a scratch folder without permission' 'root may write everywhere'
else
  refused 'a scratch folder without permission' 125 "$S" run --scratch-dir /usr/none -- true
fi
refused 'no bwrap' 125 env PATH=/nowhere "$S" run "${at[@]}" -- true
printf '#!/bin/sh\necho "bwrap: no" >&2\nexit 1\n' >"$work/bwrap"
chmod +x "$work/bwrap"
refused 'a bwrap that fails' 125 env PATH="$work:$PATH" "$S" run "${at[@]}" -- true
rm "$work/bwrap"
refused 'no daemon' 125 env LEGATO_FS=/nowhere/legato-fs "$S" run "${at[@]}" -- true
refused 'a daemon that fails' 125 env LEGATO_FS=/bin/false "$S" run "${at[@]}" -- true
refused 'a daemon that says nothing' 125 env LEGATO_FS=/bin/true "$S" run "${at[@]}" -- true

# Without /dev/fuse, or user namespaces: only in a namespace of our own.
if is_root && unshare -m true 2>/dev/null; then
  refused 'no /dev/fuse' 125 unshare -m --propagation private sh -c "mount -t tmpfs x /dev && mknod -m 666 /dev/null c 1 3 && exec '$S' run --scratch-dir '$state' -- true"
  for inodes in 3 6 12 18; do
    refused "a full disk ($inodes inodes)" 125 unshare -m --propagation private sh -c "mount -t tmpfs -o size=64k,nr_inodes=$inodes x '$state' && { '$S' run --scratch-dir '$state' -- true; status=\$?; ls -A '$state' >&2; exit \$status; }"
  done
else
  skip 'no /dev/fuse' 'needs root'
  skip 'a full disk' 'needs root'
fi
if ! is_root && [ -n "$(command -v unshare)" ] && unshare -r true 2>/dev/null; then
  # With no user namespace left to make, bwrap can't work.
  refused 'no user namespaces' 125 unshare -r sh -c "echo 0 >/proc/sys/user/max_user_namespaces && exec '$S' run --scratch-dir '$state' -- true"
else
  skip 'no user namespaces' 'needs an ordinary user'
fi

# The other verbs.
refused 'show of an unknown id' 1 "$S" show "${at[@]}" 2099
refused 'discard of an unknown id' 1 "$S" discard "${at[@]}" 2099
refused 'show without an id' 2 "$S" show "${at[@]}"
refused 'discard without an id' 2 "$S" discard "${at[@]}"
refused 'discard that tries to lead out' 1 "$S" discard "${at[@]}" ../project
refused 'diff of an unknown id' 2 "$LEGATO_DIFF" "${at[@]}" 2099
refused 'diff without any execution' 2 "$LEGATO_DIFF" "${at[@]}"
refused 'diff with an unknown flag' 2 "$LEGATO_DIFF" "${at[@]}" --nonsense
check 'ls of nothing' verb ls
check 'sweep of nothing' verb sweep

# What fits two.
run --name twice -- true >/dev/null 2>&1
run --name twice -- true >/dev/null 2>&1
refused 'a name of two' 1 "$S" show "${at[@]}" twice
refused 'a prefix of two' 1 "$S" show "${at[@]}" "$(executions | head -n 1 | cut -c1-4)"
nothing_left 'nothing is left running or mounted'
base_untouched
finish
