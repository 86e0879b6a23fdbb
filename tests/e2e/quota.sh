#!/bin/bash
# A quota through the launcher: by flag, by configuration, and changed while
# the command runs.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin
fill='dd if=/dev/zero of=filled bs=64k count=1000 2>&1; rm filled; echo x >after && echo wrote'

output=$(run --quota size=4M -- sh -c "$fill" 2>&1)
check '--quota: no space' grep -q 'No space left' <<<"$output"
check '--quota: it goes on after deleting' grep -qx wrote <<<"$output"
output=$(run --quota size=4M -- sh -c 'cp /dev/null /tmp/a; dd if=/dev/zero of=/tmp/b bs=64k count=40; dd if=/dev/zero of="$HOME/c" bs=64k count=40' 2>&1)
check 'all views share it' grep -q 'No space left' <<<"$output"
same 'df inside tells it' 4096 "$(run --quota size=4M -- sh -c 'df -k --output=size . | tail -n 1' 2>/dev/null | tr -d ' ')"
mkdir -p "$HOME/.config/legato"
printf 'agents:\n  sandbox:\n    quota:\n      size: 3M\n' >"$HOME/.config/legato/config.yaml"
same 'the configuration sets it' 3072 "$(run -- sh -c 'df -k --output=size . | tail -n 1' 2>/dev/null | tr -d ' ')"
same 'the flag is over it' 5120 "$(run --quota size=5M -- sh -c 'df -k --output=size . | tail -n 1' 2>/dev/null | tr -d ' ')"
for bad in '' nonsense size=1G,size=2G files=-1; do
  output=$(run --quota "$bad" -- true 2>&1)
  same "--quota '$bad' is refused" 2 "$?"
done

# Changed while it runs.
run --name living --quota size=2M -- sh -c '
  until head -c 3000000 /dev/zero >big; do sleep 0.1; done 2>/dev/null; echo wrote' >"$work/living" 2>&1 &
pids+=("$!")
living=$!
for ((i = 0; i < 300; i++)); do
  verb show living 2>/dev/null | grep -q '^used' && break
  sleep 0.1
done
check 'show has the usage' grep -q ' of 2' <(verb show living)
check 'as JSON, too' sh -c "timeout 60 '$LEGATO_SANDBOX' show --json --scratch-dir '$state' living | python3 -c '
import json, sys
shown = json.load(sys.stdin)
assert shown[\"quota\"] == {\"size\": 2 << 20}, shown
assert 0 < shown[\"used\"][\"bytes\"] <= (2 << 20) + 8192, shown'"
check 'the limit is raised' verb quota living size=16M
wait "$living"
same 'and the command goes on' 0 "$?"
check 'as it says' grep -qx wrote "$work/living"
check 'an ended one has its usage' grep -q ' of 16' <(verb quota living)
check 'an unknown one is refused' sh -c "! timeout 60 '$LEGATO_SANDBOX' quota --scratch-dir '$state' nobody 2>/dev/null"
base_untouched
nothing_left 'nothing is left'
finish
