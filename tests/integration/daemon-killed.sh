#!/bin/bash
# SIGKILL of the daemon: what was acknowledged is in the upper, nothing is half
# there, and the same folder can be served again.
. "$(dirname "$0")/../lib/lib.sh"
[ "$serve" = legato ] || skip_all 'needs legato-fs'
needs_view

# The processes that run our daemon for this test.
daemon_pids() {
  local process
  for process in /proc/[0-9]*; do
    if [ "$(readlink "$process/exe" 2>/dev/null)" = "$LEGATO_FS" ] &&
      tr '\0' '\n' <"$process/cmdline" 2>/dev/null | grep -qF -- "$work"; then
      basename "$process"
    fi
  done
}
# The one that serves, not a helper of its own.
daemon_pid() {
  local pid all
  all=" $(daemon_pids | tr '\n' ' ')"
  for pid in $all; do
    case $all in *" $(ps -o ppid= -p "$pid" | tr -d ' ') "*) ;; *) echo "$pid" ;; esac
  done
}

# Keeps writing until the mount dies; notes what was acknowledged.
write_on() {
  python3 - "$view" "$work/acknowledged" <<'END'
import os, sys
view, notes = sys.argv[1], open(sys.argv[2], "w")
base_files = sorted(n for n in os.listdir(view) if n.startswith("old"))
try:
    for i in range(100000):
        name = f"{view}/new{i}"
        with open(name, "w") as file:
            file.write(f"content {i}\n" * 50)
        os.rename(name, f"{view}/done{i}")
        print("done", i, file=notes, flush=True)
        if i < len(base_files):
            with open(f"{view}/{base_files[i]}", "a") as file:
                file.write("appended\n")
            print("appended", base_files[i], file=notes, flush=True)
except OSError:
    pass
END
}

verify() { # DIR: every note is true of it
  python3 - "$1" "$work/acknowledged" <<'END'
import os, re, sys
view, lines = sys.argv[1], open(sys.argv[2]).read().splitlines()
wrong = []
for line in lines:
    what, which = line.split()
    if what == "done":
        path, wanted = f"{view}/done{which}", f"content {which}\n" * 50
    else:
        path, wanted = f"{view}/{which}", "old\n" * 5000 + "appended\n"
    try:
        if open(path).read() != wanted:
            wrong.append(f"{line}: wrong content, {os.path.getsize(path)} bytes")
    except OSError as error:
        wrong.append(f"{line}: {error.strerror}")
# A file of the base is as it was, or whole with its line: never half copied.
for name in os.listdir(view):
    if name.startswith("old"):
        text = open(f"{view}/{name}").read()
        if text not in ("old\n" * 5000, "old\n" * 5000 + "appended\n"):
            wrong.append(f"{name}: {len(text)} bytes")
print("\n".join(wrong[:10]))
sys.exit(bool(wrong) or len(lines) < 10)
END
}

view_base
for i in $(seq 200); do yes old | head -n 5000 >"$base/old$i"; done
view_begin
background write_on
writer=$!
sleep 1
pid=$(daemon_pid)
same 'there is one daemon' 1 "$(wc -w <<<"$pid")"
kill -KILL "$pid"
for ((i = 0; i < 100; i++)); do
  kill -0 "$writer" 2>/dev/null || break
  sleep 0.1
done
check 'the writer got an error and ended' sh -c "! kill -0 $writer 2>/dev/null"
check 'something was acknowledged' test "$(wc -l <"$work/acknowledged")" -ge 10
unmount "$view"
for ((i = 0; i < 50; i++)); do
  [ -n "$(daemon_pids)" ] || break
  sleep 0.1
done
same 'no process of it is left' '' "$(daemon_pids)"
check 'the lock is free' flock -n "$execution/lock" true

serve_again "$execution"
check 'all that was acknowledged is there, nothing is half there' verify "$again"
check 'and it can be changed' sh -c "echo more >>$again/old150 && rm $again/old151 && test ! -e $again/old151"
serve_end
check 'and unmounts' sh -c "! grep -qF ' $execution/' /proc/self/mountinfo"
base_untouched
finish
