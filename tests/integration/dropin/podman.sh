#!/bin/bash
# podman with legato-fs as its mount_program: import, build, run, commit, run
# what was committed, diff, remove. No network. Everything podman keeps is in the
# test's own folder. With LEGATO_INSTALL_PEERS=1 it installs what it needs.
# LEGATO_TEST_MOUNT_PROGRAM takes another program, to see what is asked of one.
. "$(dirname "$0")/../../lib/lib.sh"

if [ "${LEGATO_INSTALL_PEERS:-}" = 1 ] && is_root && have apt-get; then
  apt-get install -y --no-install-recommends --no-remove podman crun runc busybox-static || note 'apt-get failed'
fi
if ! is_root; then skip_all 'podman is run as root here'; fi
[ -x "${LEGATO_FS:-}" ] || skip_all 'legato-fs is not built'
can_fuse || skip_all '/dev/fuse is not open to this user'
for program in podman busybox; do
  have "$program" || skip_all "there is no $program (LEGATO_INSTALL_PEERS=1 installs it)"
done
case $(ldd "$(command -v busybox)" 2>&1) in
  *"not a dynamic executable"*) ;;
  *) skip_all 'busybox is not a static one (busybox-static)' ;;
esac

# crun wants cgroups of one kind; podman wants them for runc.
run_options=(--network=host --ulimit nofile=512:512 --ulimit nproc=1024:1024)
if [ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ] && have crun; then
  run_options+=(--runtime=crun --cgroups=disabled)
elif have runc; then
  run_options+=(--runtime=runc)
else
  skip_all 'there is no container runtime for these cgroups (runc)'
fi

program=${LEGATO_TEST_MOUNT_PROGRAM:-$LEGATO_FS}
mkdir -p "$work"/{store,run,tmp}
cat >"$work/mount-program" <<END
#!/bin/sh
echo "\$@" >>'$work/calls'
exec '$program' "\$@"
END
chmod +x "$work/mount-program"
cat >"$work/storage.conf" <<END
[storage]
driver = "overlay"
graphroot = "$work/store"
runroot = "$work/run"
[storage.options.overlay]
mount_program = "$work/mount-program"
mountopt = "nodev"
END
mounts+=("$work/store/overlay") # podman mounts it on itself
cleanup_podman() {
  timeout 60 podman --cgroup-manager=cgroupfs rm -a -f >/dev/null 2>&1
  local left
  for left in $(awk -v below="$work/store/" 'index($5, below) == 1 { print $5 }' /proc/self/mountinfo | tac); do
    unmount "$left"
  done
}
trap 'cleanup_podman; cleanup' EXIT
export CONTAINERS_STORAGE_CONF=$work/storage.conf TMPDIR=$work/tmp
pod() { timeout 100 podman --cgroup-manager=cgroupfs --events-backend=file "$@" </dev/null; }

# A base: busybox, and something to change.
base=$work/rootfs
mkdir -p "$base"/{bin,etc,tmp,dev,proc,sys,run,var/lib/deep/er}
cp "$(command -v busybox)" "$base/bin/busybox"
for applet in sh ls cat echo id mv rm mkdir ln grep test stat chown touch; do ln -s busybox "$base/bin/$applet"; done
echo old >"$base/etc/motd"
echo keep >"$base/var/lib/deep/er/keep"
tar -C "$base" -cf "$work/base.tar" .
check 'import' pod import "$work/base.tar" base:1

cat >"$work/Containerfile" <<'END'
FROM base:1
RUN ["/bin/sh", "-c", "echo new >/etc/made && rm /etc/motd && mkdir /etc/d && mv /var/lib /var/moved && ln /etc/made /etc/second"]
RUN ["/bin/sh", "-c", "echo more >>/etc/second && grep -q more /etc/made && rm -r /var/moved/deep && mkdir /var/moved/deep && echo x >/var/moved/deep/x"]
END
check 'build' pod build --layers --isolation=chroot --network=host -t built:1 -f "$work/Containerfile" "$work/tmp"
check 'podman asks our program' grep -q '^-o lowerdir=' "$work/calls"
same 'what was built is there' 'new
more
deep
x' "$(pod run --rm "${run_options[@]}" built:1 /bin/sh -c 'cat /etc/made; ls /var/moved /var/moved/deep | grep -v : | grep .')"
check 'what was removed is not' pod run --rm "${run_options[@]}" built:1 /bin/sh -c 'test ! -e /etc/motd && test ! -e /var/lib && test ! -e /var/moved/deep/er'
check 'the base is as it was' pod run --rm "${run_options[@]}" base:1 /bin/sh -c 'grep -q old /etc/motd && grep -q keep /var/lib/deep/er/keep && test ! -e /etc/made'

check 'run, and keep' pod run --name kept "${run_options[@]}" built:1 /bin/sh -c \
  'echo run >/var/run-made; rm /etc/second; mv /var/moved /var/again; mv /etc/d /var/d; chown 7:8 /etc/made; mkdir /etc/d; touch /etc/d/in'
same 'diff' 'A /etc/d/in
A /var/again
A /var/again/deep
A /var/again/deep/x
A /var/d
A /var/run-made
C /etc
C /etc/d
C /etc/made
C /var
D /etc/second
D /var/moved' "$(pod diff kept | sort | grep -vE '/etc/(hosts|hostname|resolv.conf|mtab)$|/run/|/run$')"
check 'commit' pod commit kept committed:1
same 'what was committed' '7:8
in
again
d
run-made' "$(pod run --rm "${run_options[@]}" committed:1 /bin/sh -c 'stat -c %u:%g /etc/made; ls /etc/d; ls /var; test ! -e /etc/second')"
check 'the container goes on' sh -c "timeout 60 podman --cgroup-manager=cgroupfs start -a kept"
check 'save and load' sh -c "timeout 100 podman save -o '$work/saved.tar' committed:1 && timeout 100 podman rmi committed:1 && timeout 100 podman load -i '$work/saved.tar'"
same 'which has the same' '7:8' "$(pod run --rm "${run_options[@]}" committed:1 stat -c %u:%g /etc/made)"
check 'remove the container' pod rm kept
check 'remove the images' pod rmi -a -f
same 'nothing is left mounted' '' "$(awk -v below="$work/store/overlay/" 'index($5, below) == 1 { print $5 }' /proc/self/mountinfo)"
same 'no layer is left' '' "$(ls "$work/store/overlay" | grep -v '^l$')"
nothing_left_of_ours() { # the daemons end a moment after their mounts
  local i
  for ((i = 0; i < 50; i++)); do
    pgrep -f "^$program .*$work/" >/dev/null || return 0
    sleep 0.1
  done
  pgrep -af "^$program .*$work/"
  return 1
}
check 'no daemon is left' nothing_left_of_ours
finish
