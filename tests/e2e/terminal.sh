#!/bin/bash
# On a terminal: no keystroke can be put into it, job control works.
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
nothing_left 'nothing is left running or mounted'
base_untouched
finish
