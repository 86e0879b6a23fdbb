#!/bin/bash
# Whoever writes without end gets ENOSPC at the limit, and goes on after
# deleting; df tells the limit; it is changed while the execution lives.
. "$(dirname "$0")/../../lib/lib.sh"
[ "$serve" = legato ] || skip_all 'needs legato-fs'
[ -x "${LEGATO_SANDBOX:-}" ] || skip_all 'legato-sandbox is not built'
needs_view
view_base
mkdir -p "$base/base/empty"
echo g >"$base/base/g"
echo small >"$base/base/small"
head -c 200000 /dev/zero | tr '\0' b >"$base/base/big"
here=$(cd "$(dirname "$0")" && pwd)
view_begin
id=$(basename "$execution")
quota() { timeout 60 "$LEGATO_SANDBOX" quota --scratch-dir "$scratch" "$id" "$@" </dev/null; }
python3 "$here/limits.py" "$view" "$execution" \
  "$LEGATO_SANDBOX" quota --scratch-dir "$scratch" "$id" >"$work/results"
same 'nothing else went wrong' 0 "$?"
while read -r line; do
  case $line in
    ok\ *) ok "${line#ok }" ;;
    *) not_ok "${line#not ok }" ;;
  esac
done <"$work/results"

check 'a count on request' quota recount
check 'the limits are shown' sh -c "timeout 60 '$LEGATO_SANDBOX' show --scratch-dir '$scratch' '$id' | grep -q ^used"
for bad in nonsense size=x size=1G,size=2G bytes=1 ''; do
  check "'$bad' is refused" sh -c "! timeout 60 '$LEGATO_SANDBOX' quota --scratch-dir '$scratch' '$id' '$bad' 2>/dev/null"
done
check '--quota of mount' sh -c "! timeout 20 '$LEGATO_FS' mount --scratch '$scratch' --overlay work='$base' --quota nonsense '$work' 2>/dev/null"

# The daemon is killed while files are written: what is counted can be off by
# the changes that were under way, and a count mends it.
quota size=64M >/dev/null
background python3 -c "
import os, sys
os.chdir('$view')
n = 0
while True:
    with open(f'k{n % 200}', 'wb') as file: file.write(b'x' * (n * 37 % 50000))
    n += 1
    open('$work/progress', 'w').write(str(n))
" 2>/dev/null
writer=$!
for ((i = 0; i < 300; i++)); do
  [ "$(cat "$work/progress" 2>/dev/null || echo 0)" -gt 300 ] 2>/dev/null && break
  sleep 0.1
done
for daemon in /proc/[0-9]*; do
  if [ "$(cat "$daemon/comm" 2>/dev/null)" = legato-fs ] && tr '\0' ' ' <"$daemon/cmdline" | grep -qF "$view"; then
    kill -KILL "${daemon#/proc/}"
  fi
done
wait "$writer" 2>/dev/null
unmount "$view"
for ((i = 0; i < 300; i++)); do
  flock -n "$execution/lock" true && break
  sleep 0.1
done
serve_again "$execution"
check 'off by no more than what was under way' python3 -c "
import sys
sys.path.insert(0, '$here')
from usage import Execution
execution = Execution('$execution')
used, disk = execution.page(), execution.disk()
sys.exit(None if abs(used[0] - disk[0]) <= 200000 and abs(used[1] - disk[1]) <= 4 else f'{used} {disk}')"
check 'the count is mended' quota recount
check 'and right' python3 -c "
import sys
sys.path.insert(0, '$here')
from usage import Execution
sys.exit(Execution('$execution').agrees() or None)"
same 'the limit is still there' 1 "$(quota | grep -c 'of 64M')"
serve_end
unmount "$execution/mnt"
base_untouched
finish
