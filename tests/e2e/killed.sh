#!/bin/bash
# kill -9 of the launcher, the daemon, the command: nothing lives on, and sweep
# clears up.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin
marker=marker-${work##*-}

# start: a run that has begun; $launcher, $execution, $daemon.
start() {
  (cd "$checkout" && exec "$LEGATO_SANDBOX" run --scratch-dir "$state" -- \
    bash -c "echo work >made; (exec -a $marker sleep 500) & exec -a $marker sleep 500") >"$work/run.out" 2>&1 </dev/null &
  launcher=$!
  pids+=("$launcher")
  local i
  for ((i = 0; i < 200; i++)); do
    execution=$state/$(executions | tail -n 1)
    [ -e "$execution/views/work/upper/made" ] && break
    sleep 0.05
  done
  sleep 0.2
  daemon=$(pids_of "$execution" | while read -r pid; do
    [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = legato-fs ] && echo "$pid"
  done | head -n 1)
  mounts+=("$execution/mnt")
}
pids_of() { # TEXT: processes with it in their arguments
  local process
  for process in /proc/[0-9]*; do
    if tr '\0' '\n' <"$process/cmdline" 2>/dev/null | grep -qF -- "$1"; then echo "${process#/proc/}"; fi
  done
}
wait_for_end() {
  local i
  for ((i = 0; i < 100; i++)); do
    kill -0 "$launcher" 2>/dev/null || break
    sleep 0.1
  done
  status=0
  wait "$launcher" 2>/dev/null || status=$?
}
free() { # the lock
  local i
  for ((i = 0; i < 50; i++)); do
    flock -n "$execution/lock" true && return 0
    sleep 0.1
  done
  return 1
}
state_of() { verb ls | awk -v id="${execution##*/}" '$1 == id { print $3 }'; }

start
check 'while it runs: it is living' test "$(state_of)" = living
check 'and is not discarded' sh -c "! '$LEGATO_SANDBOX' discard --scratch-dir '$state' '${execution##*/}' 2>/dev/null"
check 'nor swept' sh -c "'$LEGATO_SANDBOX' sweep --all --scratch-dir '$state'; test -d '$execution'"
kill -KILL "$launcher"
wait_for_end
nothing_left 'kill -9 of the launcher: no process or mount is left'
check '... the lock is free' free
same '... it is "killed"' killed "$(state_of)"
same '... the change is kept' 'A f	made' "$(changes --name-status "${execution##*/}")"
check '... discard removes it' verb discard "${execution##*/}"
check '... whole' test ! -e "$execution"

start
kill -KILL "$daemon"
wait_for_end
same 'kill -9 of the daemon: the launcher says 125' 125 "$status"
nothing_left '... no process or mount is left'
check '... the lock is free' free
check '... the change is kept' sh -c "'$LEGATO_DIFF' --scratch-dir '$state' --name-status '${execution##*/}' | grep -q made"
verb discard "${execution##*/}"

start
# shellcheck disable=SC2046
kill -KILL $(pids_of "$marker" | while read -r pid; do [ "$(cat "/proc/$pid/comm")" = sleep ] && echo "$pid"; done)
wait_for_end
same 'kill -9 of the command: 137' 137 "$status"
nothing_left '... no process or mount is left'
same '... it is "ended"' ended "$(state_of)"
verb discard "${execution##*/}"

start
kill -STOP "$daemon"
kill -KILL "$launcher"
wait_for_end
kill -KILL "$daemon"
sleep 0.3
check 'kill -9 of the launcher and a daemon that hangs: sweep clears up' verb sweep --all
nothing_left '... no process or mount is left'
check '... and the folder is gone' test ! -e "$execution"

# In every early moment of a start.
for delay in 0.005 0.01 0.02 0.03 0.04 0.06 0.08; do
  (cd "$checkout" && exec "$LEGATO_SANDBOX" run --scratch-dir "$state" -- sleep 500) >/dev/null 2>&1 </dev/null &
  launcher=$!
  sleep "$delay"
  kill -KILL "$launcher" 2>/dev/null
  wait "$launcher" 2>/dev/null
done
# The launcher and its daemon at once, when the daemon is there: it may be killed with a request that it has read,
# and the launcher must not be who waits for the answer, for it holds the connection.
stuck=
for delay in 0 0.002 0.005 0.01 0.015 0.02 0.03 0.04 0.05 0.06; do
  (cd "$checkout" && exec "$LEGATO_SANDBOX" run --scratch-dir "$state" -- sleep 500) >/dev/null 2>&1 </dev/null &
  launcher=$!
  until daemon=$(pgrep -P "$launcher" -x legato-fs) || ! kill -0 "$launcher" 2>/dev/null; do :; done
  sleep "$delay"
  kill -KILL "$daemon" "$launcher" 2>/dev/null
  for ((i = 0; i < 100; i++)); do
    kill -0 "$launcher" 2>/dev/null || break
    sleep 0.1
  done
  if [ $i = 100 ]; then stuck+=" $launcher"; else wait "$launcher" 2>/dev/null; fi
done
same 'kill -9 of the launcher and its daemon early in a start: both end' '' "$stuck"
for ((i = 0; i < 50; i++)); do
  [ -n "$(leftovers)" ] || break
  sleep 0.1
done
check 'kill -9 early in a start, then sweep' verb sweep --all
nothing_left '... no process or mount is left'
same '... no folder is left' '' "$(executions)"
base_untouched
finish
