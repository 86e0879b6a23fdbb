#!/bin/bash
# What stdin, stdout and stderr are redirected from and to is the person's: the
# command gets at it by reading and writing, in order, and in no other way.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin

# With the caller's stdin, unlike `run`.
launch() { # COMMAND...
  (cd "$checkout" && exec timeout 120 "$LEGATO_SANDBOX" run --scratch-dir "$state" -- "$@")
}
# The summary is the launcher's and comes last.
without_summary() { sed '/: [ADMRT] [0-9]\|^no changes$\|^  [ADMRT] \|^legato-diff /,$d' "$@"; }
file=$work/file log=$work/log

# ------------------------------------------------------- they can't be written

reset() { printf 'first\nsecond\nthird\n' >"$file"; }
reset
cp "$file" "$work/wanted"
for way in 'echo pwned >/proc/self/fd/0' 'echo pwned >>/proc/self/fd/0' 'echo pwned >/dev/stdin' ': >/proc/self/fd/0' \
  'echo pwned >/proc/1/fd/0' 'echo pwned 1<>/proc/self/fd/0' 'truncate -s 0 /proc/self/fd/0' 'chmod 777 /proc/self/fd/0' \
  'python3 -c "import os; os.truncate(0, 0)"' 'python3 -c "import os; os.chmod(0, 0o777)"'; do
  launch sh -c "$way" <"$file" >/dev/null 2>&1
  same_files "stdin: $way" "$work/wanted" "$file"
  reset
done
mode=$(stat -c %a "$file")
launch sh -c 'chmod 777 /dev/stdin; chmod 777 /dev/stdout; chmod 777 /dev/stderr' <"$file" >"$log" 2>"$work/log2"
same 'modes stay' "$mode $mode $mode" "$(stat -c %a "$file" "$log" "$work/log2" | tr '\n' ' ' | sed 's/ $//')"
launch sh -c 'echo pwned >/proc/self/fd/0' <>"$file" >/dev/null 2>&1
same_files 'stdin that is open for writing' "$work/wanted" "$file"
for fd in 1 2; do
  for way in ": >/proc/self/fd/$fd" "truncate -s 0 /proc/self/fd/$fd" "python3 -c 'import os; os.truncate($fd, 0)'" \
    "python3 -c 'import os; os.lseek($fd, 0, 0)'" "exec 7<>/proc/self/fd/$fd && : >&7" ": >/proc/1/fd/$fd" \
    "dd of=/proc/self/fd/$fd bs=1 count=1 conv=notrunc </dev/zero status=none"; do
    echo before >"$log"
    launch sh -c "echo kept >&$fd; $way" </dev/null 2>"$work/other" >>"$log"
    if [ "$fd" -eq 2 ]; then
      echo before >"$log"
      launch sh -c "echo kept >&$fd; $way" </dev/null 2>>"$log" >/dev/null
    fi
    same "descriptor $fd: $way" 'before kept' "$(head -n 2 "$log" | tr -d '\0' | tr '\n' ' ' | sed 's/ $//')"
  done
done
printf 'one\ntwo\n' >"$log"
launch sh -c 'cat /proc/self/fd/1 >/tmp/stolen & sleep 0.3; grep -q one /tmp/stolen && echo stolen >&2' </dev/null >>"$log" 2>"$work/other"
check 'what a log held before can not be read' sh -c "! grep -q '^stolen' '$work/other'"
launch sh -c 'ls -d /proc/self/fd/0/..; cat /proc/self/fd/0/outside' <"$work" >"$log" 2>&1
check 'a folder as stdin is no way out' sh -c "! grep -qE '^(/proc/self/fd/0/..|secret)' '$log'"
memory='
import os, subprocess, sys
fd = os.memfd_create("script")
os.write(fd, b"orig")
os.lseek(fd, 0, 0)
subprocess.run(sys.argv[1:], stdin=fd)
print(os.pread(fd, 100, 0))'
same 'a file in memory' "b'orig'" "$(cd "$checkout" && timeout 60 python3 -c "$memory" \
  "$LEGATO_SANDBOX" run --scratch-dir "$state" -- sh -c 'echo pwned >/proc/self/fd/0' 2>/dev/null)"

# ------------------------------------------------- but read and written they are

reset
same 'stdin is read' "$(cat "$file")" "$(launch cat <"$file" 2>/dev/null)"
same 'from where the caller was' 'second third' "$( (read -r _; launch cat 2>/dev/null | tr '\n' ' ' | sed 's/ $//') <"$file")"
seq 1 100000 >"$work/numbers"
same 'what was not read is left to the caller' "$(tail -n +2 "$work/numbers" | md5sum)" \
  "$( (launch sh -c 'read -r x' 2>/dev/null >&2; cat) <"$work/numbers" | md5sum)"
same 'all of it where nothing was read' "$(md5sum <"$work/numbers")" "$( (launch true >/dev/null 2>&1; cat) <"$work/numbers" | md5sum)"
same 'nothing of it where all was read' '' "$( (launch cat >/dev/null 2>&1; cat) <"$work/numbers")"
same 'a loop over lines is not robbed' 3 "$(reset; while read -r _; do launch true 2>/dev/null; echo .; done <"$file" | wc -l)"
same 'an empty file is the end' 0 "$(launch wc -c </dev/null 2>/dev/null)"
same 'a file of procfs' "$(grep -c processor /proc/cpuinfo)" "$(launch grep -c processor </proc/cpuinfo 2>/dev/null)"
same 'a device' 100000 "$(launch head -c 100000 </dev/zero 2>/dev/null | wc -c)"
head -c 300000000 /dev/urandom >"$work/big"
same 'a big one' "$(md5sum <"$work/big")" "$(launch md5sum <"$work/big" 2>/dev/null)"
launch cat <"$work/big" >"$work/copy" 2>/dev/null
same_files 'from file to file' "$work/big" "$work/copy"
rm -f "$work/big" "$work/copy"

printf 'a longer line before\n' >"$log"
(echo caller; launch echo command 2>/dev/null; echo caller) >"$log"
same 'stdout goes where the caller is' 'caller command caller' "$(tr '\n' ' ' <"$log" | sed 's/ $//')"
echo before >"$log"
launch sh -c 'echo out; echo err >&2' >>"$log" 2>&1
same 'appending keeps what was there' 'before out err' "$(without_summary "$log" | tr '\n' ' ' | sed 's/ $//')"
check 'the summary is the last' sh -c "tail -n 1 '$log' | grep -q '^legato-diff '"
interleave='for i in $(seq 1 300); do echo "out $i"; echo "err $i" >&2; done'
sh -c "$interleave" >"$work/wanted" 2>&1
launch sh -c "$interleave" >"$log" 2>&1
same_files '2>&1 keeps the order' "$work/wanted" <(without_summary "$log")
: >"$log"
launch sh -c "$interleave" >>"$log" 2>>"$log"
same_files 'so do two descriptors that append' "$work/wanted" <(without_summary "$log")
launch sh -c "$interleave" >"$log" 2>"$work/log2"
same_files 'one file for each: stdout' <(grep out "$work/wanted") "$log"
same_files 'one file for each: stderr' <(grep err "$work/wanted") <(without_summary "$work/log2")
launch sh -c 'echo out; echo err >&2' 2>&1 >"$log" | without_summary >"$work/log2"
same 'a file and a pipe' 'out err' "$(cat "$log" "$work/log2" | tr '\n' ' ' | sed 's/ $//')"
launch sh -c 'echo named >/dev/stdout; echo more >/dev/stderr' >"$log" 2>"$work/log2"
same 'by name' 'named more' "$(without_summary "$log" "$work/log2" | tr '\n' ' ' | sed 's/ $//')"

# --------------------------------------------------------------- ends and errors

launch sh -c 'head -c 5000000 /dev/zero; kill -KILL $$' >"$log" 2>/dev/null
same 'killed: the exit code' 137 $?
same 'killed: all is in the file' 5000000 "$(stat -c %s "$log")"
launch sh -c '(while :; do echo x; done) & echo start; exit 7' >"$log" 2>/dev/null
same 'a background process that goes on writing' 7 $?
size=$(stat -c %s "$log")
sleep 0.2
same 'has ended' "$size" "$(stat -c %s "$log")"
launch sh -c 'sleep 300 & exec >&- 2>&-; exit 8' >"$log" 2>"$work/log2" <"$file"
same 'closed by the command' 8 $?
wait_for_output() {
  local i
  for ((i = 0; i < 100; i++)); do
    [ -s "$log" ] && break
    sleep 0.05
  done
}
rm "$log"
(cd "$checkout" && exec "$LEGATO_SANDBOX" run --scratch-dir "$state" -- sh -c 'echo up; exec cat /dev/zero') >"$log" 2>"$work/log2" <"$file" &
launcher=$!
pids+=("$launcher")
wait_for_output
kill -TERM "$launcher"
wait "$launcher"
same 'SIGTERM to the launcher' 143 $?
rm "$log"
(cd "$checkout" && exec "$LEGATO_SANDBOX" run --scratch-dir "$state" -- sh -c 'echo up; exec sleep 300') >"$log" 2>"$work/log2" <"$file" &
launcher=$!
pids+=("$launcher")
wait_for_output
same 'a line is in the file at once' up "$(cat "$log")"
kill -KILL "$launcher"
wait "$launcher" 2>/dev/null
nothing_left 'SIGKILL to the launcher leaves nothing'

# The network is shared, so a descriptor can be handed to somebody outside.
python3 -c '
import socket, sys, time
server = socket.socket(socket.AF_UNIX)
server.bind("\0" + sys.argv[1])
server.listen()
held = [socket.recv_fds(server.accept()[0], 1, 3)[1]]
time.sleep(300)' "holder-${work##*/}" </dev/null >/dev/null 2>&1 &
pids+=("$!")
sleep 0.3
start=$SECONDS
launch python3 -c '
import socket, sys
with socket.socket(socket.AF_UNIX) as client:
    client.connect("\0" + sys.argv[1])
    socket.send_fds(client, [b"x"], [0, 1, 2])
print("sent", flush=True)' "holder-${work##*/}" <"$file" >"$log" 2>"$work/log2"
same 'it is sent' sent "$(cat "$log")"
check 'somebody outside who holds the pipes keeps nobody waiting' test "$((SECONDS - start))" -lt 20

launch sh -c 'echo x; sleep 0.3; echo y; sleep 0.3; echo z; exit 9' >/dev/full 2>"$log"
status=$?
check 'a full disk: the exit code is the command'"'"'s' test "$status" -eq 9 -o "$status" -eq 141
same '... and one line says so' 1 "$(grep -c "^legato-sandbox: cannot write stdout: No space left on device$" "$log")"
launch cat /dev/zero >/dev/full 2>"$log"
same 'a command that goes on is ended by SIGPIPE' 141 $?
launch sh -c 'exit 6' >/dev/full 2>"$log"
same 'one that writes nothing is not' '6 0' "$? $(grep -c 'cannot write' "$log")"
launch sh -c 'echo x >&2; exit 6' 2>/dev/full
same 'a full disk for stderr' 6 $?
(ulimit -f 8192 && launch sh -c 'head -c 10000000 /dev/zero; exit 5') >"$log" 2>"$work/log2"
status=$?
check 'a limit on files does not kill the launcher' sh -c "test $status -eq 5 && grep -q '^legato-sandbox: cannot write stdout: File too large' '$work/log2'"
(ulimit -f 8192 && launch sh -c 'head -c 10000000 /dev/zero >big; echo x >after; exit 6') >"$log" 2>"$work/log2"
same '... nor the daemon when a command writes beyond it' 6 $?
(ulimit -f 100 && launch true) >"$log" 2>"$work/log2"
same 'one too small for the journal is refused' 125 $?
check '... with its reason' grep -q 'File too large' "$work/log2"
launch cat <"$work" >"$log" 2>"$work/log2"
check 'a folder as stdin is an error' grep -q '^legato-sandbox: cannot read stdin: Is a directory$' "$work/log2"

# ------------------------------------------------------------ what stays as it is

launch sh -c 'kinds=$(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2); echo "$kinds" >kinds' <&- >&- 2>&-
same 'closed ones are /dev/null' '/dev/null' "$(sort -u "$state/$(executions | tail -n 1)/views/work/upper/kinds")"
for i in 0 1 2; do
  case $i in
    0) launch sh -c 'exit 4' <&- >"$log" 2>"$work/log2" ;;
    1) launch sh -c 'exit 4' <"$file" >&- 2>"$work/log2" ;;
    2) launch sh -c 'exit 4' <"$file" >"$log" 2>&- ;;
  esac
  same "descriptor $i closed, the others files" 4 $?
done
same 'a pipe is the same pipe' 'same' "$(launch readlink /proc/self/fd/1 2>/dev/null | { read -r name; [ "$name" = "$(readlink /proc/self/fd/0)" ] && echo same || echo "$name is not $(readlink /proc/self/fd/0)"; })"
mkfifo "$work/fifo"
(launch cat <"$work/fifo" >"$log" 2>/dev/null) &
pids+=("$!")
echo through >"$work/fifo"
wait "$!"
same 'a FIFO' through "$(cat "$log")"
launch sh -c 'ls -l /proc/1/fd /proc/$$/fd' <"$file" >"$log" 2>"$work/log2"
check 'none of them a file of the caller' sh -c "! grep -F '$work' '$log'"

# Pipe speed: far above a disk's, but this must pass on a slow machine.
start=$(date +%s%N)
launch head -c 1073741824 /dev/zero >"$work/big" 2>/dev/null
taken=$((($(date +%s%N) - start) / 1000000))
note "1 GiB took $taken ms"
same 'a GiB arrives' 1073741824 "$(stat -c %s "$work/big")"
rm -f "$work/big"
nothing_left 'nothing is left running or mounted'
base_untouched
finish
