#!/bin/bash
# doctor: this system, and one that lacks something.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin
status=0; verb doctor >"$work/text" || status=$?
same 'where sandboxes work, doctor is content' 0 "$status"
check '... and says nothing fails' sh -c "! grep -q '^fails' '$work/text'"
check 'it looked at the scratch disk' grep -q "^ok .*scratch .*$state" "$work/text"
verb doctor --json >"$work/json"
check '--json tells the same' python3 - "$work/json" "$work/text" <<'END'
import json, sys
found = json.load(open(sys.argv[1]))
lines = [line.split()[:2] for line in open(sys.argv[2]) if not line.startswith(" ")]
assert [[f["state"], f["name"]] for f in found] == lines and len(found) > 8, (found, lines)
END
mkdir "$work/bin" # a PATH with an old bwrap and no fusermount3
printf '#!/bin/sh\necho bubblewrap 0.4.1\n' >"$work/bin/bwrap" && chmod +x "$work/bin/bwrap"
status=0; PATH=$work/bin "$LEGATO_SANDBOX" doctor --scratch-dir "$state" >"$work/text" || status=$?
same 'where they do not, it fails' 1 "$status"
check '... an old bubblewrap' grep -q '^fails  bubblewrap .* 0.8 or newer' "$work/text"
check '... with what to do' grep -q -- '-> install a newer' "$work/text"
is_root || check '... no fusermount3' grep -q '^fails  fusermount .*not installed' "$work/text"
printf '#!/bin/sh\necho bubblewrap 0.9.0\n' >"$work/bin/bwrap"
check 'one before 0.12 costs' sh -c "PATH='$work/bin' '$LEGATO_SANDBOX' doctor --scratch-dir '$state' | grep -q '^costs  bubblewrap .*GHSA-pxhw-h44j-8pfx'"
chmod 777 "$state"
check 'a scratch folder that is not private fails' sh -c "'$LEGATO_SANDBOX' doctor --scratch-dir '$state' | grep -q '^fails  scratch'"
chmod 700 "$state"
same 'nothing is left in it' '' "$(ls -A "$state")"
same 'nor is a control group' '' "$(find /sys/fs/cgroup -name 'legato-doctor*' 2>/dev/null)"
base_untouched
finish
