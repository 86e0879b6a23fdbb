#!/bin/bash
# What a command sees in the sandbox, and what it does not.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin
mkdir -p "$HOME/.ssh" "$HOME/other"
echo secret >"$HOME/.ssh/id"
echo secret >"$HOME/other/file"
echo secret >"$work/outside"
chmod 644 "$HOME/.ssh/id"

sees() { # NAME SCRIPT: the script succeeds inside
  local output status=0
  output=$(inside_only "$2" 2>&1) || status=$?
  if [ "$status" -eq 0 ]; then ok "$1"; else not_ok "$1" "status $status" "$output"; fi
}

same 'starts in the checkout, at its real path' "$checkout" "$(inside pwd 2>/dev/null)"
same 'starts where the caller is in it' "$checkout/src" \
  "$(cd "$checkout/src" && timeout 60 "$LEGATO_SANDBOX" run --scratch-dir "$state" -- pwd </dev/null 2>/dev/null)"
sees 'the checkout, whole' 'test "$(git status --porcelain)" = "" && test "$(./tool)" = tool && test "$(readlink src/link)" = a.c'
sees 'and may write there' 'echo x >src/new && rm src/a.c && mkdir d && mv src d/src'
sees 'the user is the same' "test \$(id -u) -eq $(id -u)"
sees 'home is at its real path' "test \"\$HOME\" = '$HOME'"
sees 'and empty, but for the way to the checkout' "test \"\$(ls -A \"\$HOME\")\" = src && test \"\$(ls -A \"\$HOME/src\")\" = project"
sees 'and writable' 'mkdir -p ~/.cache/x && echo x >~/.cache/x/y && echo x >~/src/beside'
sees 'nothing of the real home' "! test -e ~/.ssh && ! test -e ~/other && ! test -e ~/.gitconfig"
sees '/tmp is its own' "test -w /tmp && ! test -e '$work/outside' && echo x >/tmp/x"
sees 'TMPDIR is usable' 'test -w "${TMPDIR:-/tmp}" && mktemp >/dev/null'
sees 'each run has a home and a /tmp of its own' '! test -e /tmp/x && ! test -e ~/.cache'
sees 'not the scratch folder' "! test -e '$state'"
sees 'the system, read-only' 'test -x /usr/bin/env && test -r /etc/passwd && ! touch /usr/x 2>/dev/null && ! touch /etc/x 2>/dev/null && ! touch /x 2>/dev/null'
sees 'not /root, /var, /srv of the machine' '! test -e /srv && ! ls /var/log 2>/dev/null | grep -q .'
sees '/dev is small' 'test -c /dev/null && test -c /dev/tty && echo x >/dev/null && test -z "$(ls /dev | grep -E "^(sd|vd|nvme|mem|kmem|fuse|loop)")"'
sees '/proc shows only its own processes' 'test "$(ls -d /proc/[0-9]* | wc -l)" -lt 10'
sees 'pid 1 is not the machine'"'"'s' '! test -e /proc/1/root/boot && ! test -e /proc/1/root/srv'
sees 'the host name space is its own' "test \"\$(readlink /proc/self/ns/uts)\" != '$(readlink /proc/self/ns/uts)'"
sees 'so are System V IPC and processes' "test \"\$(readlink /proc/self/ns/ipc)\" != '$(readlink /proc/self/ns/ipc)' && test \"\$(readlink /proc/self/ns/pid)\" != '$(readlink /proc/self/ns/pid)'"
sees 'the network is shared' "test \"\$(readlink /proc/self/ns/net)\" = '$(readlink /proc/self/ns/net)'"
sees 'no mount can be made' '! mount -t tmpfs x src 2>/dev/null && ! umount /tmp 2>/dev/null'
sees 'no descriptor but 0, 1 and 2' 'for fd in /proc/self/fd/*; do case ${fd##*/} in 0 | 1 | 2) ;; *) case $(readlink "$fd") in /proc/*|"") ;; *) echo "$fd: $(readlink "$fd")"; exit 1 ;; esac ;; esac; done'
exec 7<"$work/outside"
sees 'not even one that the caller had open' '! test -e /proc/self/fd/7 || exit 1'
exec 7<&-

# Names of folders and files above views are not the caller's to change.
sees 'the way to the checkout can not be replaced' "! mv ~/src/project ~/src/other 2>/dev/null && ! rm -rf ~/src/project 2>/dev/null; test -d ~/src/project"

# The environment.
export GITHUB_TOKEN=t AWS_SECRET_ACCESS_KEY=s OP_SERVICE_ACCOUNT_TOKEN=o NPM_TOKEN=n DOCKER_HOST=unix:///x
export SSH_AUTH_SOCK=$work/sock DBUS_SESSION_BUS_ADDRESS=unix:path=/x XDG_RUNTIME_DIR=/run/user/1 MY_API_KEY=k
export DATABASE_URL=postgres://me:pw@host/db LEGATO_ORDINARY=hidden ORDINARY=passes COLORTERM=truecolor LD_PRELOAD_X=y
environment=$(inside env 2>/dev/null)
for name in GITHUB_TOKEN AWS_SECRET_ACCESS_KEY OP_SERVICE_ACCOUNT_TOKEN NPM_TOKEN DOCKER_HOST SSH_AUTH_SOCK \
  DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR MY_API_KEY DATABASE_URL; do
  same "$name does not pass" '' "$(grep "^$name=" <<<"$environment")"
done
same 'what is no secret passes' 'ORDINARY=passes' "$(grep '^ORDINARY=' <<<"$environment")"
sees 'init has nothing of it either' '! tr "\0" "\n" </proc/1/environ 2>/dev/null | grep -qE "TOKEN|SECRET|SOCK"'
unset GITHUB_TOKEN AWS_SECRET_ACCESS_KEY OP_SERVICE_ACCOUNT_TOKEN NPM_TOKEN DOCKER_HOST SSH_AUTH_SOCK
sees 'git knows who commits' 'git commit -q --allow-empty -m x && test "$(git log -1 --format="%an %ae")" = "Test Person test@example.org"'
sees 'LEGATO_EXECUTION is the id' 'echo "$LEGATO_EXECUTION" | grep -qE "^[0-9]{8}-[0-9]{6}-[a-z]{4}$"'

# What a background process does, ends with the command.
inside sh -c "sleep 300 & setsid sleep 300 & (exec -a marker-${work##*-} sleep 300) & exit 0" >/dev/null 2>&1
nothing_left 'background processes end with the command'

# The other roles.
check 'role find-out: the checkout is read-only' run --role find-out -- sh -c '! touch new 2>/dev/null && ! echo x >>src/a.c 2>/dev/null && test -r src/a.c'
check 'role work: the real checkout' run --role work -- sh -c 'echo x >by-work'
check '... has the change' test -e "$checkout/by-work"
rm -f "$checkout/by-work"
git -C "$checkout" status --porcelain >"$work/status"
same 'nothing else came to the checkout' '' "$(cat "$work/status")"
nothing_left 'nothing is left running or mounted'
finish
