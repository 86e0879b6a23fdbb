#!/bin/bash
# The same calls on a plain directory and on the view give the same results,
# whatever state the files are in; parity/ has the cases.
# usage: parity.sh [--user]   PARITY (the program), PARITY_ONLY="case ..."
. "$(dirname "$0")/../lib/lib.sh"
needs_view
view_base

plain=$work/plain
mkdir "$plain"
"$PARITY" base "$plain" && "$PARITY" base "$base" || {
  not_ok 'the base is built'
  finish
}
view_begin
"$PARITY" run "$plain" >"$work/plain.txt"
"$PARITY" run "$view" >"$work/view.txt"

status=0
"$PARITY" compare "$work/plain.txt" "$work/view.txt" "$tests/expected-differences.md" >"$work/tap" || status=1

# The program's TAP, with our own test behind it.
sed -n '/^1\.\./!p' "$work/tap" >&3
count=$(grep -c -E '^(not )?ok ' "$work/tap")
failures=$status
if [ -n "${PARITY_KEEP:-}" ]; then cp "$work/plain.txt" "$work/view.txt" "$PARITY_KEEP" || note "not kept"; fi
view_end
finish
