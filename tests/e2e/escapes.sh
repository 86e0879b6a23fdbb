#!/bin/bash
# What an agent may try in order to get out: each way fails.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin
secret=$HOME/secret-${work##*-}
echo private >"$secret"
background sleep 300
victim=$!
touch "$work/outside"

# The probe prints "NAME out" for each way that leads out, "NAME in" for others.
cat >"$checkout/probe.py" <<'END'
import ctypes, errno, os, signal, socket, struct, subprocess, sys
scratch, secret, outside, victim, work = sys.argv[1:6]
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *args):
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_void_p(a) if isinstance(a, int) else a for a in args]), ctypes.get_errno()
def report(name, is_out):
    print(name, "out" if is_out else "in")
def can(action):
    try:
        return action() is not False
    except (OSError, subprocess.SubprocessError):
        return False
def read(path):
    with open(path, "rb") as file:
        file.read(1)

# Files.
report("secret", can(lambda: read(secret)))
report("outside", can(lambda: os.stat(outside)))
report("scratch", can(lambda: os.listdir(scratch)))
report("control-socket", can(lambda: os.listdir(scratch + "/" + os.environ["LEGATO_EXECUTION"])))
report("dot-dot", can(lambda: read("/tmp/../.." + secret)) or can(lambda: read(os.getcwd() + "/../../../../../../.." + secret)))
os.symlink(secret, "/tmp/link")
report("symlink", can(lambda: read("/tmp/link")))
for i in os.listdir("/proc"):
    if i.isdigit():
        if can(lambda: read(f"/proc/{i}/root{secret}")) or can(lambda: os.stat(f"/proc/{i}/root{outside}")):
            report("proc-root", True)
            break
else:
    report("proc-root", False)
report("proc-cwd", any(can(lambda: read(f"/proc/{i}/cwd/../../../../../../../..{secret}")) for i in os.listdir("/proc") if i.isdigit()))
# Descriptors: nothing that leads to a folder or file of the person's.
links = [os.readlink(f"/proc/self/fd/{i}") for i in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{i}")]
report("fd-leak", any(work in link or link == "/dev/fuse" or "memfd" in link for link in links))
report("fd-count", len([l for l in links if not l.startswith("/proc/")]) > 3)
report("init-fds", can(lambda: [os.readlink(f"/proc/1/fd/{i}") for i in os.listdir("/proc/1/fd")] and False))
# The sandbox's init tells the exit code: not for others to say.
report("init-trace", libc.ptrace(16, 1, None, None) == 0 or libc.ptrace(0x4206, 1, None, None) == 0)
report("init-memory", can(lambda: read("/proc/1/mem")) or can(lambda: os.close(os.open("/proc/1/mem", os.O_RDWR))))
report("init-environ", can(lambda: read("/proc/1/environ")))
report("init-descriptor", libc.syscall(ctypes.c_long(438), libc.syscall(ctypes.c_long(434), 1, 0), 3, 0) >= 0)
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV):
    can(lambda: os.kill(1, number))
report("chroot", can(lambda: (os.chroot("/proc/1/root"), read(secret))))
report("device", can(lambda: os.mknod("/tmp/disk", 0o60600, os.makedev(254, 0)) or open("/tmp/disk", "rb").read(1)))
report("write-usr", can(lambda: open("/usr/made", "w").close()))
report("write-etc", can(lambda: open("/etc/made", "w").close()))
report("write-root", can(lambda: open("/made", "w").close()))
# Opened and no more: what is written there is the machine's.
for path in ("sys/kernel/core_pattern", "sys/kernel/modprobe", "sys/vm/drop_caches", "sys/kernel/hostname", "sysrq-trigger"):
    report("write-proc-" + path, can(lambda: os.close(os.open("/proc/" + path, os.O_WRONLY))))
report("write-shim", can(lambda: open("/run/legato/exec", "r+b")))
# Mounts and namespaces.
none = ctypes.c_char_p(b"none")
report("mount", libc.mount(none, ctypes.c_char_p(b"/tmp"), ctypes.c_char_p(b"tmpfs"), 0, None) == 0)
report("umount", libc.umount2(ctypes.c_char_p(b"/usr"), 2) == 0)
report("remount", libc.mount(none, ctypes.c_char_p(b"/usr"), None, 4096 | 32, None) == 0)
report("unshare-user", libc.unshare(0x10000000) == 0)
report("unshare-mounts", libc.unshare(0x00020000) == 0)
report("setns", can(lambda: libc.setns(os.open("/proc/1/ns/mnt", os.O_RDONLY), 0) == 0))
# Processes.
report("kill", can(lambda: os.kill(int(victim), signal.SIGKILL)) and not os.path.exists(f"/proc/{victim}"))
report("see", os.path.exists(f"/proc/{victim}/cmdline") and b"sleep\x00300" in open(f"/proc/{victim}/cmdline", "rb").read())
report("setuid", can(lambda: subprocess.run(["su", "-c", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=5).check_returncode()) and os.getuid() != 0)
# The kernel.
if os.uname().machine == "x86_64":
    numbers = dict(add_key=248, keyctl=250, bpf=321, perf_event_open=298, userfaultfd=323, kexec_load=246, init_module=175,
                   io_uring_setup=425, open_tree=428, fsopen=430, mount_setattr=442, pivot_root=155, swapon=167, reboot=169,
                   open_by_handle_at=304, fanotify_init=300, clone3=435)
    for name, number in numbers.items():
        result, error = call(number, 0, 0, 0, 0, 0, 0)
        report("call-" + name, result >= 0 or error not in (errno.EPERM, errno.ENOSYS))
for family in (38, 40):
    report(f"family-{family}", can(lambda: socket.socket(family, socket.SOCK_SEQPACKET if family == 38 else socket.SOCK_STREAM).close()))
# System V memory of others, and core dumps of theirs.
report("ipc", "0x" in open("/proc/sysvipc/shm").read().split("\n", 1)[1])
END
chmod 755 "$checkout" "$HOME" 2>/dev/null
(cd "$checkout" && git add probe.py && git commit -qm probe)
tree_of "$base" >"$work/base.before"
inside_only "exec python3 probe.py '$state' '$secret' '$work/outside' '$victim' '$work'" >"$work/seen" 2>"$work/err"
check 'the probe came to its end' grep -q '^ipc' "$work/seen"
while read -r name where; do
  same "no way out: $name" in "$where"
done < <(grep -E '^[a-z]' "$work/seen")
check 'the victim lives' kill -0 "$victim"
same 'many ways were tried' yes "$([ "$(grep -c . "$work/seen")" -ge 35 ] && echo yes)"

# An exit code is the command's own, whatever is done to the init.
status=0
run --discard -- sh -c 'kill -KILL 1; kill -TERM 1; kill -CHLD 1; sleep 0.2; exit 23' 2>/dev/null || status=$?
same 'no signal from inside ends the init' 23 "$status"

# A folder that the agent swaps for a link is not followed by what comes after.
run --name swap -- sh -c 'rm -rf src && ln -s "$0" src; echo x >/tmp/x' "$HOME" 2>/dev/null
changes --name-status swap >"$work/diff"
check 'a folder swapped for a link is one change' grep -q 'src' "$work/diff"
same '... and what it points to is untouched' private "$(cat "$secret")"
check 'discard does not follow it' verb discard swap
same '... nor did removing' private "$(cat "$secret")"

# --nested opens the door to namespaces, and to nothing else of this.
if is_root; then
  note 'root has no right to make mounts inside, with --nested or without'
else
  check '--nested: a sandbox may be made inside' run --discard --nested -- unshare -Urm true
fi
check 'without: not' sh -c "! (cd '$checkout' && '$LEGATO_SANDBOX' run --discard --scratch-dir '$state' -- unshare -Ur true </dev/null 2>/dev/null)"
nothing_left 'nothing is left running or mounted'
base_untouched
finish
