#!/bin/bash
# ssh and git over ssh come as far as connecting, whoever owns the system's
# configuration of ssh.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin
have ssh || skip_all 'there is no ssh'
same 'ssh reads its configuration' 'hostname host.example' "$(inside ssh -G host.example 2>"$work/err" | grep '^hostname ')"
check 'git over ssh comes as far as connecting' sh -c "(cd '$checkout' && '$LEGATO_SANDBOX' run --discard --scratch-dir '$state' -- git ls-remote ssh://git@127.0.0.1:1/x </dev/null 2>&1) | grep -q 'port 1: Connection refused'"
if ! is_root || [ -z "${LEGATO_TEST_USER:-}" ]; then
  skip 'files that the system includes' 'root makes them, for a user'
  finish
fi

# Files of root's, in a place of their own, that stand for /etc/ssh.
etc=$work/etc-ssh theirs=$work/theirs
mkdir -p "$etc/ssh_config.d" "$etc/more" "$theirs/project" "$theirs/state"
cp /etc/ssh/ssh_config "$etc/" 2>/dev/null
printf 'Include /etc/ssh/ssh_config.d/*.conf\nHost plain\n  Port 1001\n' >"$etc/ssh_config"
printf 'Host first\n  Port 1002\nHost *\n  Include "more/deep.conf" # relative\n' >"$etc/ssh_config.d/10-first.conf"
ln -s ../more/linked "$etc/ssh_config.d/20-linked.conf"
printf 'Host linked\n  Port 1003\n' >"$etc/more/linked"
printf 'Host deep\n  Port 1004\n' >"$etc/more/deep.conf"
printf 'Host secret\n  Port 1005\n' >"$etc/ssh_config.d/30-unreadable.txt"
chown -R "$LEGATO_TEST_USER" "$theirs"
as_user_with_etc() { # COMMAND...
  unshare -m bash -c 'mount --make-rprivate / && mount --bind "$0" /etc/ssh && cd "$1" && exec setpriv --reuid "$2" --regid "$(id -g "$2")" --init-groups env -u XDG_RUNTIME_DIR HOME="$3" "${@:4}"' \
    "$etc" "$theirs/project" "$LEGATO_TEST_USER" "$theirs" "$@" </dev/null
}
as_user_with_etc "$LEGATO_SANDBOX" run --discard --checkout . --scratch-dir "$theirs/state" -- \
  sh -c 'for i in plain first linked deep; do ssh -G $i | grep "^port "; done' >"$work/seen" 2>"$work/err"
same 'files that the system includes are read' 'port 1001
port 1002
port 1003
port 1004' "$(grep '^port' "$work/seen")"
check '... without a word about their owner' sh -c "! grep -i 'bad owner' '$work/err'"
as_user_with_etc "$LEGATO_SANDBOX" run --dry-run --checkout . --scratch-dir "$theirs/state" -- true >"$work/plan"
check 'the plan has them' grep -qE 'read-only +/etc/ssh/more/deep.conf -> ' "$work/plan"
nothing_left 'nothing is left running or mounted'
finish
