#!/bin/bash
# On a terminal: no keystroke can be put into it, job control works, and it is
# the person's again at the end.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin
cat >"$work/on-pty.py" <<'END'
"""Runs a command on a terminal of its own, types TYPED when it says "go", and
prints what the terminal showed. Ends with the command's exit status."""
import os, pty, select, signal, sys, time
typed = sys.argv[1].encode().decode("unicode_escape").encode()
pid, master = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
shown, end, sent = b"", time.monotonic() + 60, not typed
while time.monotonic() < end:
    ready, _, _ = select.select([master], [], [], 0.2)
    if ready:
        try:
            data = os.read(master, 4096)
        except OSError:
            break
        if not data:
            break
        shown += data
    if not sent and b"go" in shown:
        time.sleep(0.3)
        os.write(master, typed)
        sent = True
else:
    os.kill(pid, signal.SIGKILL)
sys.stdout.write(shown.decode(errors="replace"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
END
on_pty() { # TYPED COMMAND...
  (cd "$checkout" && timeout 90 python3 "$work/on-pty.py" "$1" "$LEGATO_SANDBOX" run --scratch-dir "$state" -- "${@:2}")
}
inject='
import fcntl, sys, termios, errno
def attempt(request, argument):
    try:
        fcntl.ioctl(0, request, argument)
        return "injected"
    except OSError as error:
        return errno.errorcode[error.errno]
tiocsti, tioclinux = 0x5412, 0x541C
print("results", attempt(tiocsti, b"x"), attempt(tiocsti + (1 << 32), b"x"), attempt(tioclinux, b"\x03"))
'
# Where the machine itself refuses, refusing proves nothing.
injectable=$(python3 "$work/on-pty.py" '' python3 -c "$inject" | grep -ac '^results injected' || true)
shown=$(on_pty '' python3 -c "$inject" | tr -d '\r' | grep -a '^results')
if [ "$injectable" -gt 0 ]; then note 'TIOCSTI works here outside'; else note 'TIOCSTI is refused here anyway'; fi
check 'TIOCSTI and TIOCLINUX are refused' sh -c "echo '$shown' | grep -qE '^results (EPERM|EIO|EACCES|EINVAL|ENOTTY|ENOSYS) (EPERM|EIO|EACCES|EINVAL|ENOTTY|ENOSYS|.*) (EPERM|EIO|EACCES|EINVAL|ENOTTY|ENOSYS)$' && ! echo '$shown' | grep -q injected"
shown=$(on_pty '' sh -c 'test -t 0 && test -t 1 && test -t 2 && echo a-terminal')
check 'stdin, stdout and stderr are the terminal' grep -q a-terminal <<<"$shown"
shown=$(on_pty 'typed\n' sh -c 'echo go; read -r x; echo "got <$x>"')
check 'what is typed arrives' grep -q 'got <typed>' <<<"$shown"
status=0
on_pty '\x03' sh -c 'echo go; exec sleep 30' >/dev/null || status=$?
same 'Ctrl-C ends the command' 130 "$status"
shown=$(on_pty '\x03' sh -c 'trap "echo trapped; exit 5" INT; echo go; while :; do sleep 0.1; done')
same 'a command may handle Ctrl-C itself' 5 "$?"
shown=$(on_pty '' sh -c 'stty size >/dev/null && echo has-size; : >/dev/tty && echo has-tty')
check 'there is a controlling terminal' grep -q has-tty <<<"$shown"
# A person's shell, which has jobs. The launcher is called `l` in it.
cat >"$work/rc" <<RC
PS1='ready> '
cd '$checkout'
e() { '$LEGATO_SANDBOX' exec --scratch-dir '$state' held -- "\$@"; }
l() { '$LEGATO_SANDBOX' run --discard --scratch-dir '$state' "\$@"; }
RC
shell() { # SCRIPT: typed into a shell on a terminal; what it showed is in $shown
  status=0
  shown=$(timeout 100 python3 "$tests/lib/expect.py" --size 33x101 "$1" bash --rcfile "$work/rc" -i 2>"$work/expect.err") || status=$?
  shown=${shown//$'\r'/}
  if [ "$status" -ne 0 ]; then shown+=$'\n'$(cat "$work/expect.err"); fi
  return "$status"
}
typed() { # NAME SCRIPT
  if shell "$2"; then ok "$1"; else not_ok "$1" "status $status" "$shown"; fi
}

typed 'the size of the terminal is the command'"'"'s, also when it changes' 'see ready>
type l -- bash -c '"'"'stty size; trap "stty size; exit" WINCH; echo wait-$((1+2)); while :; do sleep 0.1; done'"'"'; exit 0\n
see 33 101
see wait-3
size 44x122
see 44 122'

typed 'Ctrl-Z stops the command and the launcher as one job; fg goes on' 'see ready>
modes shell
type l -- bash -c '"'"'echo up-$((1+2)); read -r x; echo "got $x"; exit 7'"'"'\n
see up-3
raw
type \x1a
see Stopped
see ready>
modes shell
type echo still-$((1+1))\n
see still-2
type fg\n
raw
type word\n
see got word
see ready>
modes shell
type echo status-$?; exit 0\n
see status-7'

typed 'what stops itself is a stopped job, too, and may go on in the background' 'see ready>
type l -- bash -c '"'"'kill -STOP $$; echo on-$((2+3)); sleep 1; echo done-$((3+4))'"'"'\n
see Stopped
see ready>
type bg\n
see on-5
see done-7
type wait; exit 0\n'

typed 'from the background to the foreground the keyboard comes along' 'see ready>
type l -- bash -c '"'"'kill -STOP $$; echo on-$((2+3)); read -r x; echo "got $x"'"'"'\n
see Stopped
see ready>
type bg\n
see on-5
type fg\n
raw
type word\n
see got word
see ready>
type exit 0\n'

typed 'a shell inside has jobs of its own' 'see ready>
type l -- bash --norc -i; exit 0\n
see bash-
type sh -c '"'"'echo run-$((1+1)); exec sleep 300'"'"'\n
see run-2
type \x1a
see Stopped
type jobs; echo inner-$((4+5))\n
see inner-9
type exit\n
see stopped jobs
type exit\n'

for signal in TERM USR1; do
  typed "SIG$signal to the launcher leaves the terminal as it was" "see ready>
modes shell
type l -- sh -c 'stty raw -echo; echo up-\$((1+2)); sleep 300'\\n
see up-3
raw
kill SIG$signal legato-sandbox run
see ready>
modes shell
type exit 0\\n"
done

typed 'SIGINT to the launcher reaches the command' "see ready>
type l -- bash -c 'trap \"echo trapped-\$((3+3)); exit 5\" INT; echo up-\$((1+2)); while :; do sleep 0.1; done'; exit 0\\n
see up-3
raw
kill SIGINT legato-sandbox run
see trapped-6"

run --name held --discard --detach -- sleep 600 >/dev/null
typed 'exec: the same terminal, and the same stops' 'see ready>
modes shell
type e bash -c '"'"'stty size; trap "echo trapped-$((3+3))" INT; echo up-$((1+2)); read -r x; echo "got $x"; exit 7'"'"'\n
see 33 101
see up-3
type \x03
see trapped-6
type \x1a
see Stopped
see ready>
modes shell
type fg\n
raw
type word\n
see got word
see ready>
modes shell
type exit 0\n'
verb kill held >/dev/null

# Not the person's: what is done to it is not done to theirs.
shown=$(on_pty '' sh -c 'for i in 0 1 2; do echo "is $(stat -L -c %t:%T /proc/$$/fd/$i)"; done' | tr -d '\r' | sed -n 's/^is //p' | sort -u)
same 'stdin, stdout and stderr are one terminal' 1 "$(wc -l <<<"$shown")"
typed 'it is not the person'"'"'s' 'see ready>
type stat -L -c "outer %t:%T" /proc/self/fd/0; l -- stat -L -c "inner %t:%T" /proc/self/fd/0; exit 0\n'
same '... but another' 2 "$(grep -oE '(outer|inner) [0-9a-f]+:[0-9a-f]+' <<<"$shown" | cut -d' ' -f2 | sort -u | wc -l)"

typed 'stdout may be a file' "see ready>
modes shell
type l -- sh -c 'read -r x; echo out-\$x; echo err-\$((5+5)) >&2' >'$work/out.txt'; cat '$work/out.txt'; exit 0\\n
raw
type word\\n
see err-10
see out-word"
typed 'behind a pipe the terminal stays as it is, for the other one to read' "see ready>
modes shell
type l -- sh -c 'echo piped-\$((6+6)); test -t 0 && echo still-a-terminal' | cat\\n
see piped-12
see still-a-terminal
see ready>
modes shell
type exit 0\\n"
nothing_left 'nothing is left running or mounted'
base_untouched
finish
