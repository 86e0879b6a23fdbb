#!/bin/bash
# Checkouts in places that are views too: in home, in /tmp, in both. The
# mount points that this needs are the launcher's: they are in no user's folder
# and in no diff.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin

same 'a checkout in home: no change in any view' '' "$(inside true >/dev/null 2>&1; changes --name-status --all-views --all)"
inside sh -c 'echo x >~/.note; echo y >~/src/beside; echo z >made' >/dev/null 2>&1
listed=$(changes --name-status --all-views --all)
check 'changes in home are told' sh -c "echo '$listed' | grep -q '\.note'"
check '... and beside the checkout' sh -c "echo '$listed' | grep -q 'src/beside'"
check '... and in the checkout' sh -c "echo '$listed' | grep -q 'made'"
same '... and the checkout itself is not told as one' '' "$(grep -E 'project/?$' <<<"$listed")"
same 'the real home is as it was' 'src' "$(cd "$HOME" && ls)"

# /tmp itself is a view; the checkout lies below the machine's /tmp.
other=$(mktemp -d /tmp/legato-test-XXXXXX)
trap 'rm -rf "$other"; cleanup' EXIT
cp -a "$checkout/." "$other/"
in_other() { (cd "$other" && timeout 60 "$LEGATO_SANDBOX" run --scratch-dir "$state" -- "$@" </dev/null); }
same 'a checkout in /tmp: at its real path' "$other" "$(in_other pwd 2>/dev/null)"
same '... no change in any view' '' "$(changes --name-status --all-views --all)"
# This test's home lies below /tmp as well.
check '... /tmp beside it is empty' in_other sh -c "test \"\$(ls -A /tmp | grep -v -e '${other##*/}' -e '${work##*/}')\" = ''"
check '... and writable' in_other sh -c 'echo x >/tmp/x && echo x >made'
same 'the real one is as it was' '' "$(git -C "$other" status --porcelain)"

# Home inside the checkout, and the checkout is home.
(cd "$HOME" && HOME=$HOME timeout 60 "$LEGATO_SANDBOX" run --scratch-dir "$state" --checkout "$HOME" -- true >"$work/out" 2>&1 </dev/null)
status=$?
if [ "$status" -eq 0 ] || [ "$status" -eq 125 ]; then ok "home as the checkout: works, or is refused ($status)"; else not_ok 'home as the checkout' "status $status" "$(cat "$work/out")"; fi
nothing_left 'nothing is left running or mounted'
base_untouched
finish
