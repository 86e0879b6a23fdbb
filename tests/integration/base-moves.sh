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
  (cd / && tree_of "$base") >"$work/base.before" # from where this shell may be nothing can start
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

# ------------------------------------------- renamed while the view has it open
exec 5<>"$view/d/open" 6<>"$view/d/written" 7<>"$view/d/kept"
read -r line <&5
read -r line <&6
echo mine >>"$view/d/kept"
rename_all() { for i in open written kept; do mv "d/$i" "d/$i-moved"; done; }
person rename_all
eventually 'the new name is seen' test -e "$view/d/open-moved"
if echo more >&5; then
  check 'what is written through an old descriptor is at the new name' grep -q more "$view/d/open-moved"
else
  ok 'what is written through an old descriptor is at the new name, or refused'
fi
check 'opened by the new name it is written to' bash -c 'echo again >>"$1"' - "$view/d/written-moved"
check 'and so it is through the old descriptor' bash -c 'echo more >&6'
check 'both are there' grep -q more "$view/d/written-moved"
same 'what was changed before stays where it was' $'kept\nmine' "$(cat "$view/d/kept")"
echo late >&7
check 'and is the file that was opened' grep -q late "$view/d/kept"
exec 5>&- 6>&- 7>&-

# ----------------------------------------------- a folder that somebody is in
cd "$view/cwd/sub" || exit 1
person mv cwd cwd-moved
cd "$work" || exit 1
eventually 'a renamed folder is seen' test -e "$view/cwd-moved/f"
check 'its old name is gone' test ! -e "$view/cwd"
check 'it can be changed' bash -c 'echo x >"$1/new" && rm "$1/f"' - "$view/cwd-moved"
same 'and shows it' $'new\nsub' "$(ls "$view/cwd-moved")"
view_end
finish
