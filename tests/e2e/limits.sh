#!/bin/bash
# --limits: what all processes together may use; what can't be limited is told.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin

eat='python3 -c "x = bytearray(300 << 20)"; echo "memory $?"'
fork='i=0; while [ $i -lt 40 ]; do sleep 5 & i=$((i + 1)); done; echo "all forked"'
limited() { run --discard --limits "$@" 2>"$work/err"; }

status=0
seen=$(limited pids=25 -- sh -c "$fork" 2>&1) || status=$?
check 'pids: it can fork no more' grep -q 'Cannot fork' "$work/err"
check '... and says nothing of limits' sh -c "! grep -q 'not limited' '$work/err'"
same 'without a limit it can' 'all forked' "$(limited pids=200 -- sh -c "$fork")"
seen=$(limited memory=100M,cpu=2 -- sh -c "$eat")
if grep -q 'not limited' "$work/err"; then
  note "$(cat "$work/err")"
  same 'what is not limited does not end the command' 'memory 0' "$seen"
else
  same 'memory: who takes more is killed' 'memory 137' "$seen"
fi
same 'without a limit nothing is' 'memory 0' "$(limited pids=300 -- sh -c "$eat")"
if is_root; then
  id=$(run --detach --limits pids=10 -- sleep 300)
  if [ -n "$(find /sys/fs/cgroup -name "legato-$id" 2>/dev/null)" ]; then
    verb exec "$id" -- sh -c "$fork" >"$work/out" 2>"$work/err"
    check 'exec is limited with it' grep -q 'Cannot fork' "$work/err"
  fi
  verb kill "$id"
fi
same 'no control group is left' '' "$(find /sys/fs/cgroup -name "legato-2*" -newer "$work/base.before" 2>/dev/null)"
for bad in memory=lots pids= cpu=0 disk=3 memory; do
  status=0; limited "$bad" -- true || status=$?
  same "--limits $bad is refused" 2 "$status"
done
nothing_left 'nothing is left running or mounted'
base_untouched
finish
