#!/bin/bash
# The exit code of `run` is the command's, or says what went wrong.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin

gives() { # STATUS NAME COMMAND...
  local wanted=$1 name=$2 status=0
  shift 2
  inside "$@" >"$work/out" 2>&1 || status=$?
  if [ "$status" -eq "$wanted" ]; then ok "$name"; else not_ok "$name" "status $status, not $wanted" "$(cat "$work/out")"; fi
}
gives 0 'success' true
gives 1 'failure' false
gives 42 'any number' sh -c 'exit 42'
gives 125 "the command's own 125" sh -c 'exit 125'
gives 255 '255' sh -c 'exit 255'
printf 'no program\n' >"$work/text"
gives 127 'not found' no-such-command
gives 127 'not found by path' /nowhere/command
gives 126 'not executable' ./src/a.c
gives 126 'a folder' ./src
gives 137 'killed by SIGKILL' sh -c 'kill -KILL $$'
gives 143 'killed by SIGTERM' sh -c 'kill -TERM $$'
gives 139 'killed by SIGSEGV' sh -c 'kill -SEGV $$'
gives 0 'a script of the checkout' ./tool
gives 0 'many arguments' sh -c 'test $# -eq 1000' sh $(seq 1000)
gives 0 'odd arguments' sh -c 'test "$1" = "a b
c" && test -z "$2" && test "$3" = "--flag"' sh 'a b
c' '' --flag
gives 0 'stdin is passed' sh -c 'test -z "$(cat)"'
same 'stdin with content' 'through' "$(cd "$checkout" && echo through | timeout 60 "$LEGATO_SANDBOX" run --scratch-dir "$state" -- cat 2>/dev/null)"
same 'stdout is only the command'"'"'s' 'only this' "$(inside echo 'only this' 2>/dev/null)"
same 'stderr is passed' 1 "$(inside sh -c 'echo to-stderr >&2' 2>&1 >/dev/null | grep -c '^to-stderr$')"

# Signals to the launcher.
for signal in TERM HUP; do
  number=$(kill -l "$signal")
  (cd "$checkout" && exec "$LEGATO_SANDBOX" run --scratch-dir "$state" -- sh -c 'echo up >started; exec sleep 100') >/dev/null 2>&1 &
  launcher=$!
  pids+=("$launcher")
  for ((i = 0; i < 100; i++)); do
    newest=$(executions | tail -n 1)
    [ -e "$state/$newest/views/work/upper/started" ] && break
    sleep 0.05
  done
  kill -"$signal" "$launcher"
  wait "$launcher"
  same "SIG$signal to the launcher gives 128 + $number" $((128 + number)) "$?"
  verb discard "$newest"
done
nothing_left 'nothing is left running or mounted'
base_untouched
finish
