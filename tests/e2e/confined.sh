#!/bin/bash
# What the daemon gives up once it serves, and who unmounts for it.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin

made=0
begin_run() { # sets launcher, daemon, folder
  made=$((made + 1))
  (cd "$checkout" && exec env LEGATO_PROBE=1 "$LEGATO_SANDBOX" run --scratch-dir "$state" -- \
    sh -c "echo x >made-$made; exec sleep 300" </dev/null) &
  launcher=$! folder=
  pids+=("$launcher")
  local i
  for ((i = 0; i < 600; i++)); do
    folder=$(dirname "$(ls -d "$state"/*/views/work/upper/made-$made 2>/dev/null | tail -n 1)")
    folder=${folder%/views/work/upper}
    [ "$folder" != . ] && daemon=$(pgrep -P "$launcher" -x legato-fs) && return
    sleep 0.1
  done
  not_ok 'the command has started' "$(ls "$state")"
  finish
}
of_threads() { cat "/proc/$daemon/task"/*/status | awk -v key="$1:" '$1 == key { print $2 }' | sort -u; } # FIELD

begin_run
if grep -q 'not confined: built with a sanitizer' "$folder/log"; then
  kill -TERM "$launcher"; wait "$launcher"
  skip_all 'a daemon with a sanitizer is not confined'
fi
same 'all threads have a filter' 2 "$(of_threads Seccomp)"
same 'and no new privileges' 1 "$(of_threads NoNewPrivs)"
if is_root; then
  skip 'the daemon is closed to its user' 'root may look at every process'
else
  check 'the daemon is closed to its user' sh -c "! cat /proc/$daemon/maps"
fi
if grep -q 'probe: ' "$folder/log"; then
  same 'it can make no process, socket or mount, nor signal or trace' '' "$(grep 'probe: .* allowed' "$folder/log")"
  same '... of all that was tried' 14 "$(grep -c 'probe: .* refused' "$folder/log")"
else
  skip 'it can make no process, socket or mount' 'built without fault_injection'
fi
kill -TERM "$launcher"
wait "$launcher"
check 'it is unmounted at the end' sh -c "! grep -F ' $folder/mnt ' /proc/self/mountinfo"

gone() {
  local i
  for ((i = 0; i < 600; i++)); do
    grep -qF " $folder/mnt " /proc/self/mountinfo || [ -n "$(leftovers)" ] || return 0
    sleep 0.1
  done
  return 1
}
begin_run
kill -KILL "$daemon" "$launcher"
wait "$launcher"
check 'and when both are killed at once' gone
finish
