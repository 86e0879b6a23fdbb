#!/bin/bash
# What a start and an end cost, counted in what does not depend on the machine:
# programs that are run, processor time while nothing happens.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin

# Every program that the launcher runs, by wrappers that note it. (libfuse has
# fusermount3 by its path.)
programs=$work/programs
mkdir "$programs"
: >"$work/ran"
note_runs() { # NAME: first of PATH
  local real
  real=$(command -v "$1") || return 0
  printf '#!/bin/sh\necho "%s $1" >>"%s"\nexec "%s" "$@"\n' "$1" "$work/ran" "$real" >"$programs/$1"
  chmod +x "$programs/$1"
}
for name in bwrap git fusermount3 mount umount modprobe sh; do note_runs "$name"; done
# Who unmounts at the end runs fusermount3 by its name, if the daemon is confined and the user no root.
ran() { grep -v '^fusermount3 -u$' "$work/ran" | sort | uniq -c | awk '{print $2, $3 " x" $1}'; }

wanted=$'bwrap --args x1\nbwrap --version x1\ngit config x1'
check 'a run' env PATH="$programs:$PATH" bash -c "cd '$checkout' && exec '$LEGATO_SANDBOX' run --scratch-dir '$state' --discard -- /bin/true"
same 'runs bwrap twice, git once, and nothing else' "$wanted" "$(ran)"

# Nobody waits by asking again and again.
ticks() { awk '{print $14 + $15}' "/proc/$1/stat"; } # PID: its processor time
(cd "$checkout" && exec "$LEGATO_SANDBOX" run --scratch-dir "$state" -- sh -c 'echo x >made; exec sleep 300' </dev/null) &
launcher=$!
pids+=("$launcher")
for ((i = 0; i < 600; i++)); do
  daemon=$(pgrep -P "$launcher" -x legato-fs) && grep -q made <(ls "$state"/*/views/work/upper 2>/dev/null) && break
  sleep 0.1
done
sleep 1 # what the start has left to do
before=$(ticks "$launcher") daemon_before=$(ticks "$daemon")
sleep 2
check 'a launcher that waits needs no processor' test $(($(ticks "$launcher") - before)) -le 2
check 'nor does the daemon' test $(($(ticks "$daemon") - daemon_before)) -le 5
kill -TERM "$launcher"
wait "$launcher"
finish
