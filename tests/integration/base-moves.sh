#!/bin/bash
# What somebody does in the base while the view is in use.
. "$(dirname "$0")/../lib/lib.sh"
needs_view
[ "$serve" = legato ] || skip_all 'needs legato-fs'
view_base
cd "$work" || exit 1

mkdir -p "$base"/{d/e,cwd/sub,gone}
for i in open written mapped kept; do echo "$i" >"$base/d/$i"; done
echo in >"$base/cwd/f"
for i in {1..40}; do echo "$i" >"$base/gone/$i"; done

view_begin
# person COMMAND...: somebody outside of the view does it in the base, which
# nobody else has touched since.
person() {
  base_untouched
  (cd "$base" && "$@") || not_ok "in the base: $*"
  tree_of "$base" >"$work/base.before"
}
eventually() { # NAME COMMAND...: the command succeeds soon
  local i
  for ((i = 0; i < 200; i++)); do "${@:2}" 2>/dev/null && break; sleep 0.1; done
  check "$@"
}
ino() { stat -c %i "$@"; }

# ------------------------------------------------------- numbers used again
# Copied up, then renamed in the base, where the disk's number stays, or removed
# there, and others made there and in the view, to which some disks give it.
for i in {1..40}; do echo more >>"$view/gone/$i"; done
before=$(ino "$view"/gone/*)
replace() { for i in {1..20}; do mv "gone/$i" "d/renamed$i"; done && rm gone/* && for i in {1..60}; do echo new >"d/new$i"; done; }
person replace
for i in {1..60}; do echo new >"$view/d/made$i"; done
eventually 'new files of the base are seen' test -e "$view/d/new60"
same 'no number is shown twice' '' "$(find "$view" -type f -printf '%i\n' | sort | uniq -d)"
same 'copied-up files keep their numbers' "$before" "$(ino "$view"/gone/*)"
numbers=$(find "$view" -type f -printf '%P %i\n' | sort)
remembered=$(find "$view/gone" -type f | wc -l)
check 'copied-up files are still there' test "$remembered" -eq 40
for i in "$view"/d/{new,renamed}*; do echo more >>"$i"; done
same 'so do those that were told apart' "$numbers" "$(find "$view" -type f -printf '%P %i\n' | sort)"
same 'a listing has the numbers of stat' "$(find "$view/d" -type f -printf '%i\n' | sort)" \
  "$(for i in "$view"/d/*; do [ -f "$i" ] && ls -i -d "$i"; done | awk '{ print $1 }' | sort)"
view_end
finish
