#!/bin/bash
# A run that nobody waits for: --detach, exec, kill, --die-after; what is kept
# and for how long; where executions may lie.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin

field() { # FIELD ID
  verb show --json "$2" | python3 -c "import json, sys; print(json.load(sys.stdin).get('$1'))"
}
until_ended() { # ID
  local i
  for ((i = 0; i < 300; i++)); do
    [ "$(field state "$1")" = living ] || return 0
    sleep 0.1
  done
  return 1
}
detached() { run --detach "$@"; } # OPTION... -- COMMAND...: prints the id

# ---------------------------------------------------------- detach and exec
id=$(detached -- sh -c 'echo said; echo complained >&2; : >made; until [ -e /tmp/go ]; do sleep 0.05; done; cat; exit 3')
check '--detach prints the id' test -d "$state/$id"
same 'and it is living' living "$(field state "$id")"
check 'the launcher has left the session of the caller' sh -c "! ps -o args= --ppid $$ | grep -q 'run --scratch'"
in_it() { verb exec "$@"; }
same 'exec is in the same folder and sees the same view' "$checkout made" "$(in_it "$id" -- sh -c 'echo "$(pwd) $(ls made)"')"
same 'exec gets the environment of the first command' "$id $HOME" "$(SECRET=x in_it "$id" -- sh -c 'echo "$LEGATO_EXECUTION $HOME$SECRET"')"
same 'in the same namespaces' "$(in_it "$id" -- sh -c 'for n in mnt pid ipc uts user; do readlink /proc/2/ns/$n; done')" \
  "$(in_it "$id" -- sh -c 'for n in mnt pid ipc uts user; do readlink /proc/self/ns/$n; done')"
confined='grep -E "^(Cap(Prm|Eff|Bnd)|NoNewPrivs|Seccomp):" /proc/self/status'
run -- sh -c "$confined" >"$work/first" 2>/dev/null
in_it "$id" -- sh -c "$confined" >"$work/second"
if is_root; then
  same_files 'confined as the first command is' "$work/first" "$work/second"
else # there the bounding set is whole, and means nothing
  same 'confined as the first command is' "$(grep -v Bnd "$work/first")" "$(grep -v Bnd "$work/second")"
fi
check 'without new privileges, filtered' grep -q 'Seccomp:.*2' "$work/second"
same 'it has three descriptors' '0 1 2' "$(in_it "$id" -- sh -c 'cd /proc/self/fd && echo [0-2] ; for i in $(ls); do [ $i -gt 2 ] && [ -e $i ] && readlink $i; done' | grep -v '^/proc' | xargs)"
status=0; in_it "$id" -- sh -c 'exit 9' || status=$?
same 'its exit code' 9 "$status"
status=0; in_it "$id" -- sh -c 'kill -9 $$' || status=$?
same 'or signal' 137 "$status"
status=0; in_it "$id" -- /no/such 2>/dev/null || status=$?
same 'or that there is no such command' 127 "$status"
same 'its input and output are moved' 'typed' "$(echo typed >"$work/in"; timeout 60 "$LEGATO_SANDBOX" exec --scratch-dir "$state" "$id" -- cat <"$work/in")"
head -c 1000000 /dev/zero >"$work/in"
same '... also more than a pipe holds' 1000000 "$(timeout 60 "$LEGATO_SANDBOX" exec --scratch-dir "$state" "$id" -- wc -c <"$work/in")"
status=0; timeout 60 "$LEGATO_SANDBOX" exec --scratch-dir "$state" "$id" -- yes >/dev/full 2>/dev/null || status=$?
check 'and who writes what nobody can take ends' test "$status" != 124
check 'what it writes is in the view' in_it "$id" -- sh -c 'echo x >second && : >/tmp/go'
check 'the first command ends' until_ended "$id"
same '... with its exit code' 3 "$(field exit_code "$id")"
same 'its output is in the folder' 'said complained' "$(head -n 2 "$state/$id/output" | xargs)"
check 'the summary, too' grep -q "legato-diff .*$id" "$state/$id/output"
same 'both changes are in the diff' "$(printf 'A f\tmade\nA f\tsecond')" "$(changes --name-status "$id" | sort)"
status=0; in_it "$id" -- true 2>"$work/err" || status=$?
same 'exec into an ended one' 125 "$status"
check '... says so' grep -q "runs no command" "$work/err"
status=0; detached --checkout /no/such -- true 2>"$work/err" >&2 || status=$?
same '--detach that cannot start' 125 "$status"
check '... tells the caller why' grep -q 'cannot use checkout' "$work/err"

# ------------------------------------------------------------ kill, die-after
id=$(detached -- sh -c 'trap "exit 4" TERM; while :; do sleep 0.05; done')
verb kill --signal USR2 "$id" # its default is to end it
check 'kill --signal' until_ended "$id"
same '... sends that one' 140 "$(field exit_code "$id")"
id=$(detached -- sh -c 'trap "exit 4" TERM; : >/tmp/ready; while :; do sleep 0.05; done')
until in_it "$id" -- test -e /tmp/ready; do sleep 0.05; done
check 'kill' verb kill "$id"
same '... waits for an end in peace' 'ended 4' "$(field state "$id") $(field exit_code "$id")"
id=$(detached -- sh -c 'trap "" TERM; : >/tmp/ready; while :; do sleep 0.05; done')
until in_it "$id" -- test -e /tmp/ready; do sleep 0.05; done
check 'kill of one that does not listen' verb kill --grace 1 "$id"
same '... kills it' 'ended 137' "$(field state "$id") $(field exit_code "$id")"
check 'kill of an ended one says so' sh -c "! '$LEGATO_SANDBOX' kill --scratch-dir '$state' '$id' 2>&1 | grep -v 'not living'"
status=0; verb kill --signal nonsense "$id" 2>/dev/null || status=$?
same 'an unknown signal is an error of usage' 2 "$status"
id=$(detached -- sleep 300)
in_it "$id" -- sh -c ': >/tmp/inside; exec sleep 300' &
job=$!
pids+=("$job")
until in_it "$id" -- test -e /tmp/inside; do sleep 0.05; done
verb kill "$id"
status=0; wait "$job" || status=$?
same 'what exec started ends with the sandbox' 137 "$status"
status=0; run --die-after 1 -- sleep 300 2>"$work/err" || status=$?
same '--die-after ends it' 143 "$status"
check '... and says so' grep -q 'die-after' "$work/err"
status=0; run --die-after soon -- true 2>/dev/null || status=$?
same 'a time that is none is an error of usage' 2 "$status"

# -------------------------------------------------------- ls, sweep, discard
verb sweep --all >/dev/null
for i in 1 2 3; do run --name "n$i" -- sh -c 'head -c 300000 /dev/urandom >big' 2>/dev/null; done
check 'ls has size and command' sh -c "'$LEGATO_SANDBOX' ls --scratch-dir '$state' | grep -qE 'n1 .* [23][0-9][0-9]K .*sh -c'"
check 'ls --json, too' test "$(field size_bytes n1)" -gt 300000
same 'sweep --dry-run says' 3 "$(verb sweep --all --dry-run | grep -c '^would remove')"
same '... and does nothing' 3 "$(executions | wc -l)"
verb sweep --keep-size 900K >/dev/null
same 'sweep --keep-size keeps the newest' 'n2 n3' "$(verb ls --json | python3 -c "import json, sys; print(*[e['name'] for e in json.load(sys.stdin)])")"
verb sweep --keep-for 1h >/dev/null
same 'sweep --keep-for keeps the young' 2 "$(executions | wc -l)"
verb sweep --keep-for 0 >/dev/null
same '... and removes the old' '' "$(executions)"
run -- sh -c 'mkdir -p many && cd many && seq 2000 | xargs touch' 2>/dev/null
id=$(executions)
verb discard "$id"
same 'discard: gone for everybody at once' '' "$(executions)"
for ((i = 0; i < 300; i++)); do [ -z "$(ls -A "$state")" ] && break; sleep 0.1; done
same '... and then from the disk' '' "$(ls -A "$state")"
run -- sh -c 'echo x >made' 2>/dev/null
mv "$state/$(executions)" "$state/.removing-$(executions)"
verb sweep >/dev/null
same 'sweep goes on with what a discard left' '' "$(ls -A "$state")"

# Two launchers, two sweeps, all at once.
for i in 1 2 3; do
  run -- true 2>"$work/race$i" & jobs[i]=$!; pids+=("$!")
  verb sweep --all >/dev/null 2>"$work/sweep$i" & sweeps[i]=$!; pids+=("$!")
done
for i in 1 2 3; do
  wait "${jobs[i]}"; same "a run among sweeps $i" 0 "$?"
  wait "${sweeps[i]}"; same "a sweep among runs $i" '0 ' "$? $(cat "$work/sweep$i")"
done
verb sweep --all >/dev/null

# ---------------------------------------------------------------- the folder
mkdir "$work/elsewhere" && ln -s "$work/elsewhere" "$work/link"
status=0; (cd "$checkout" && "$LEGATO_SANDBOX" run --scratch-dir "$work/link" -- true </dev/null 2>/dev/null) || status=$?
same 'the scratch folder may be a link' "0 1" "$status $(ls "$work/elsewhere" | wc -l)"
refused() { # NAME FOLDER TEXT
  status=0
  (cd "$checkout" && "$LEGATO_SANDBOX" run --scratch-dir "$2" -- true </dev/null 2>"$work/err") || status=$?
  same "$1" "125 $3" "$status $(grep -o "$3" "$work/err")"
}
mkdir "$work/open" && chmod 777 "$work/open"
refused 'one that others may write in is refused' "$work/open" 'writable by others'
same '... with nothing made' '' "$(ls -A "$work/open")"
if is_root; then
  mkdir "$work/theirs" && chown "${LEGATO_TEST_USER:-65534}" "$work/theirs"
  refused 'one of somebody else is refused' "$work/theirs" 'belongs to user'
  mkdir "$work/ram" && mount -t ramfs none "$work/ram" && mounts+=("$work/ram") && chmod 700 "$work/ram"
  refused 'a disk without extended attributes is refused' "$work/ram" 'has no extended attributes'
  same '... with nothing left' '' "$(ls "$work/ram")"
  unmount "$work/ram"
fi
nothing_left 'nothing is left running or mounted'
base_untouched
finish
