#!/bin/bash
# `legato-fs mount`: several views, what it prints, how it ends, and what it
# refuses: in one line, with nothing left behind.
. "$(dirname "$0")/../lib/lib.sh"
[ "$serve" = legato ] || skip_all 'needs legato-fs'
needs_view
view_base
echo base >"$base/f"
view_begin
check 'the id is printed' grep -qxE '[0-9]{8}-[0-9]{6}-[a-z0-9]{4}' "$work/mount.id"
same "the execution's folder is private" 700 "$(stat -c %a "$execution")"
check 'the type is fuse.legato-fs' grep -q " $view .* - fuse.legato-fs " /proc/self/mountinfo
check 'nosuid and nodev' sh -c "grep ' $view ' /proc/self/mountinfo | grep nosuid | grep -q nodev"
check 'its lock is held' sh -c "! flock -n '$execution/lock' true"
view_end

# Several views: each is a folder.
mkdir "$work/many" "$work/base2"
echo two >"$work/base2/g"
mounts+=("$work/many")
check 'several views' sh -c "timeout 20 '$LEGATO_FS' mount --scratch '$scratch' --overlay one='$base' --overlay two='$work/base2' --view tmp '$work/many' >'$work/id2'"
same 'each is a folder' 'one tmp two' "$(cd "$work/many" && echo *)"
check 'with its own content' sh -c "cd '$work/many' && grep -q base one/f && grep -q two two/g && test -z \"\$(ls -A tmp)\""
check 'which can be changed' sh -c "cd '$work/many' && echo x >tmp/x && echo x >one/x && rm two/g && mkdir tmp/d"
check 'a file moves from view to view by copying' sh -c "cd '$work/many' && mv tmp/x two/x && grep -q x two/x"
check 'nothing is made beside the views' sh -c "! mkdir '$work/many/other' 2>/dev/null"
check 'no view is removed or renamed' sh -c "cd '$work/many' && ! rmdir tmp 2>/dev/null && ! mv one three 2>/dev/null && test -d one"
unmount "$work/many"
check 'the base of the second is untouched' grep -q two "$work/base2/g"

# In the foreground, ended by a signal, while somebody sits in it.
mounts+=("$view")
background "$LEGATO_FS" mount --foreground --scratch "$scratch" --overlay work="$base" "$view" >/dev/null
daemon=$!
for ((i = 0; i < 100; i++)); do
  is_mounted "$view" && break
  sleep 0.05
done
check 'in the foreground' test -e "$view/f"
exec 5<"$view/f"
kill -TERM "$daemon"
for ((i = 0; i < 100; i++)); do
  kill -0 "$daemon" 2>/dev/null || break
  sleep 0.05
done
check 'SIGTERM ends it within 5 s, files open or not' sh -c "! kill -0 $daemon 2>/dev/null"
wait "$daemon"
same 'with status 0' 0 "$?"
exec 5<&-
check 'and it is unmounted' sh -c "! grep -qF ' $view ' /proc/self/mountinfo"

# What it refuses.
refused() { # NAME usage|failure ARGUMENT...
  local name=$1 wanted=$2 status=0 output before after
  shift 2
  before=$(ls -A "$scratch")
  output=$(timeout 20 "$LEGATO_FS" "$@" 2>&1 </dev/null) || status=$?
  after=$(ls -A "$scratch")
  if [ "$wanted" = usage ] && [ "$status" -ne 2 ] || [ "$status" -eq 0 ] || [ "$status" -gt 2 ]; then
    not_ok "$name" "status $status; it said: $output"
    unmount "${!#}" # what was mounted by mistake must not spoil the next
  elif [ "$wanted" = failure ] && [ "$(wc -l <<<"$output")" -ne 1 ]; then
    not_ok "$name" "not one line: $output"
  elif [ -z "$output" ]; then
    not_ok "$name" 'it said nothing'
  elif [ "$before" != "$after" ]; then
    not_ok "$name" "a folder is left behind: $after"
  elif grep -qF " $work/" /proc/self/mountinfo; then
    not_ok "$name" 'a mount is left behind'
  else
    ok "$name: ${output%%$'\n'*}"
  fi
}
echo x >"$work/file"
mounts+=("$work/file")
mkdir -p "$view/inside"
refused 'no command' usage
refused 'unknown command' usage nonsense
refused 'unknown option' usage mount --nonsense "$view"
refused 'no mount point' usage mount --scratch "$scratch" --overlay "work=$base"
refused 'no view' usage mount --scratch "$scratch" "$view"
refused 'an overlay without a base' usage mount --scratch "$scratch" --overlay work "$view"
refused 'a bad view name' usage mount --scratch "$scratch" --view a/b "$view"
refused 'the same view twice' usage mount --scratch "$scratch" --view a --view a "$view"
refused 'a base that does not exist' failure mount --scratch "$scratch" --overlay "work=$base/none" "$view"
refused 'a base that is a file' failure mount --scratch "$scratch" --overlay "work=$work/file" "$view"
refused 'a mount point that does not exist' failure mount --scratch "$scratch" --overlay "work=$base" "$view/none"
refused 'a mount point that is a file' failure mount --scratch "$scratch" --overlay "work=$base" "$work/file"
refused 'scratch that can not be made' failure mount --scratch "$work/file/x" --overlay "work=$base" "$view"
refused 'scratch inside the mount point' failure mount --scratch "$view/inside" --overlay "work=$base" "$view"
refused 'scratch inside the base' failure mount --scratch "$base/inside" --overlay "work=$base" "$view"
check '... makes no folder there' test ! -e "$base/inside"
base_untouched
finish
