"""Types on a terminal what a script says, and waits for what it shows.

    expect.py [--size ROWSxCOLUMNS] SCRIPT COMMAND...

COMMAND runs as the leader of a session on a terminal of its own. SCRIPT has a
step on each line:

    see TEXT      waits until TEXT has been shown, after what was seen before
    type TEXT     with \\n, \\x1a and the like
    size RxC      the terminal gets another size
    modes NAME    notes the terminal's modes as NAME, or, if they were noted
                  before, waits until they are the same again
    raw           waits until the terminal is in raw mode
    kill SIGNAL PATTERN
                  to the process whose command line has PATTERN in it, and that
                  is on this terminal

All that was shown goes to stdout. Exits with the command's status, or with 99
and the step that failed on stderr."""
import fcntl, os, pty, select, signal, struct, sys, termios, time

LIMIT = 20


class Terminal:
    def __init__(self, command, size):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            if size:
                self.master = 0
                self.size(size)
            os.execvp(command[0], command)
        self.shown, self.seen, self.noted, self.gone = b"", 0, {}, False

    def read(self, seconds):
        if self.gone:
            time.sleep(seconds)
        elif select.select([self.master], [], [], seconds)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                data = b""
            self.gone = not data
            self.shown += data

    def wait(self, condition):
        end = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError
            self.read(0.05)

    def see(self, text):
        self.wait(lambda: self.shown.find(text.encode(), self.seen) >= 0 or self.gone)
        at = self.shown.find(text.encode(), self.seen)
        if at < 0:
            raise EOFError
        self.seen = at + len(text)

    def type(self, text):
        os.write(self.master, text.encode().decode("unicode_escape").encode())

    def size(self, text):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", *map(int, text.split("x")), 0, 0))

    def modes(self, name):
        now = lambda: termios.tcgetattr(self.master)
        if name in self.noted:
            self.wait(lambda: now() == self.noted[name])
        self.noted[name] = now()

    def raw(self, _):
        self.wait(lambda: not termios.tcgetattr(self.master)[3] & termios.ICANON)

    def kill(self, text):
        name, pattern = text.split(" ", 1)
        mine = os.stat(os.ptsname(self.master) if hasattr(os, "ptsname") else slave_name(self.master)).st_rdev
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                arguments = open(f"/proc/{entry}/cmdline", "rb").read().replace(b"\0", b" ").decode(errors="replace")
                tty = int(open(f"/proc/{entry}/stat").read().rpartition(")")[2].split()[4])
            except OSError:
                continue
            if pattern in arguments and tty == mine:
                os.kill(int(entry), getattr(signal, name))
                return
        raise ProcessLookupError


def slave_name(master):
    number = struct.unpack("I", fcntl.ioctl(master, 0x80045430, b"\0" * 4))[0]  # TIOCGPTN
    return f"/dev/pts/{number}"


def main(arguments):
    size = None
    if arguments[0] == "--size":
        size, arguments = arguments[1], arguments[2:]
    terminal = Terminal(arguments[1:], size)
    failed = None
    for line in filter(None, map(str.lstrip, arguments[0].split("\n"))):
        verb, _, text = line.partition(" ")
        try:
            getattr(terminal, verb)(text)
        except (TimeoutError, EOFError, ProcessLookupError, OSError) as error:
            failed = f"{line}: {type(error).__name__}"
            break
    end = time.monotonic() + (5 if failed else LIMIT)
    while time.monotonic() < end and not terminal.gone:
        terminal.read(0.1)
    if not terminal.gone:
        failed = failed or "the end: it goes on"
        os.kill(terminal.pid, signal.SIGHUP)
        os.kill(terminal.pid, signal.SIGCONT)
        time.sleep(1)
        os.kill(terminal.pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]) & 255
    sys.stdout.write(terminal.shown.decode(errors="replace"))
    if failed:
        sys.stderr.write(f"expect.py: {failed}\n")
    return 99 if failed else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
