#!/bin/bash
# Many processes on the same tree, with the kernel's caches dropped all the
# time: no error that a local disk would not give, and the daemon lives on.
# usage: many-processes.sh [SECONDS]
. "$(dirname "$0")/../lib/lib.sh"
needs_view
seconds=${1:-6}

view_base
mkdir "$base/shared" "$base/churn"
for i in $(seq 100); do echo "base $i" >"$base/shared/f$i"; done
cat >"$work/worker.py" <<'END'
"""One of many: all share the folder "shared"; names are fought over, so
ENOENT and EEXIST are fine, everything else is not; each has a folder of its
own, where nothing may fail."""
import errno, os, random, sys, time
top, who, end = sys.argv[1], int(sys.argv[2]), time.monotonic() + float(sys.argv[3])
rnd = random.Random(who)
fine = {errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR}
mine = f"{top}/own{who}"
os.mkdir(mine)
rounds = 0

def shared():
    a, b = (f"{top}/shared/f{rnd.randrange(120)}" for _ in range(2))
    what = rnd.randrange(9)
    if what == 0:
        with open(a, "w") as file:
            file.write(f"whole {who}\n" * 3)
    elif what == 1:
        with open(a) as file:
            file.read()
    elif what == 2:
        os.rename(a, b)
    elif what == 3:
        os.unlink(a)
    elif what == 4:
        os.link(a, b)
    elif what == 5:
        os.listdir(f"{top}/shared")
    elif what == 6:
        os.chmod(a, 0o600 + rnd.randrange(64))
    elif what == 7:
        temp = f"{top}/shared/t{who}"
        with open(temp, "w") as file:
            file.write("replaced\n")
        os.rename(temp, a)
    else:
        os.stat(a)

def own():
    name = f"{mine}/x{rounds % 20}"
    with open(name + ".new", "w") as file:
        file.write(f"{rounds}\n" * 100)
    os.rename(name + ".new", name)
    assert open(name).read() == f"{rounds}\n" * 100, name
    os.makedirs(f"{mine}/d/e", exist_ok=True)
    os.rename(name, f"{mine}/d/e/y")
    os.rename(f"{mine}/d", f"{mine}/d{rounds}")
    assert sorted(os.listdir(f"{mine}/d{rounds}/e")) == ["y"]
    os.unlink(f"{mine}/d{rounds}/e/y")
    os.rmdir(f"{mine}/d{rounds}/e")
    os.rmdir(f"{mine}/d{rounds}")

while time.monotonic() < end:
    rounds += 1
    for _ in range(10):
        try:
            shared()
        except OSError as error:
            if error.errno not in fine:
                raise
    own()
assert rounds > 5, rounds
END
view_begin

workers=()
for i in 1 2 3 4 5 6 7 8; do
  background timeout "$((seconds + 60))" python3 "$work/worker.py" "$view" "$i" "$seconds" 2>"$work/worker.$i"
  workers+=("$!")
done
if is_root; then
  (
    end=$((SECONDS + seconds))
    while [ "$SECONDS" -lt "$end" ]; do
      echo 2 >/proc/sys/vm/drop_caches
      sleep 0.05
    done
  ) &
  pids+=("$!")
fi
# Interrupts that no program may notice: a signal with a handler, all the time.
background timeout "$((seconds + 60))" python3 - "$view" "$seconds" <<'END' 2>"$work/worker.signals"
import os, signal, sys, time
top, end = sys.argv[1], time.monotonic() + float(sys.argv[2])
signal.signal(signal.SIGURG, lambda *a: None)
signal.siginterrupt(signal.SIGURG, False)
signal.signal(signal.SIGALRM, lambda *a: None)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
i = 0
while time.monotonic() < end:
    i += 1
    with open(f"{top}/churn/interrupted", "w") as file:
        file.write("x" * 300000)
    os.rename(f"{top}/churn/interrupted", f"{top}/churn/whole")
    assert os.path.getsize(f"{top}/churn/whole") == 300000
    os.listdir(f"{top}/shared")
END
interrupted=$!

for i in "${!workers[@]}"; do
  wait "${workers[i]}"
  same "worker $((i + 1))" 0 "$?"
  tail -n 3 "$work/worker.$((i + 1))" | sed 's/^/#   /' >&3
done
wait "$interrupted"
same 'a program that gets a signal each ms' 0 "$?"
tail -n 3 "$work/worker.signals" | sed 's/^/#   /' >&3
check 'the view still works' sh -c "echo x >'$view/after' && grep -q x '$view/after'"
check 'every listed entry is there, and can be removed' sh -c "cd '$view' && ls -l shared churn >/dev/null && rm -rf -- * && test -z \"\$(ls -A)\""
view_end
finish
