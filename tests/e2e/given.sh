#!/bin/bash
# What the caller gives a run: sockets and programs, and nothing else with them.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin
served=$work/served runtime=$work/runtime
mkdir -p "$served" "$runtime/gnupg" "$work/bin" "$HOME/.ssh" "$HOME/.local/state/legato"
cat >"$work/server.py" <<'PY'
import os, socket, sys
servers = []
for path in sys.argv[1:]:
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(8)
    servers.append((server, path))
print("ready", flush=True)
import select
while True:
    for server in select.select([s for s, _ in servers], [], [])[0]:
        connection, _ = server.accept()
        name = next(os.path.basename(p) for s, p in servers if s is server)
        connection.sendall(f"hello from {name}\n".encode())
        connection.close()
PY
coproc server { exec python3 "$work/server.py" "$served/broker" "$served/other" "$runtime/agent" "$runtime/bus" "$runtime/gnupg/S.gpg-agent" "$HOME/.ssh/control" "$HOME/.local/state/legato/session"; }
pids+=("$server_PID")
read -r _ <&"${server[0]}"
export XDG_RUNTIME_DIR=$runtime SSH_AUTH_SOCK=$runtime/agent DBUS_SESSION_BUS_ADDRESS=unix:path=$runtime/bus
printf '#!/bin/sh\necho given tool\n' >"$work/bin/git"
cp "$work/bin/git" "$work/single"
chmod +x "$work/bin/git" "$work/single"
: >"$work/plain"
ask='import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(99).decode(), end="")'
refused() { # NAME PATTERN OPTION...
  local status=0 line
  line=$(run "${@:3}" -- true 2>&1 >/dev/null) || status=$?
  same "refused: $1" 125 "$status"
  check '... with the reason' grep -qE "$2" <<<"$line"
}

# One run for all that can be asked of it.
run --discard --socket broker="$served/broker" --socket ssh-agent="$runtime/agent" --socket legato-session="$HOME/.local/state/legato/session" \
  --bin "$work/bin" --bin "$work/single" -- sh -c "
echo \"\$LEGATO_SOCKET_BROKER|\$LEGATO_SOCKET_LEGATO_SESSION|\$SSH_AUTH_SOCK|\$LEGATO_SOCKET_SSH_AGENT\"
for i in \"\$LEGATO_SOCKET_BROKER\" \"\$SSH_AUTH_SOCK\" \"\$LEGATO_SOCKET_LEGATO_SESSION\"; do python3 -c '$ask' \"\$i\"; done
ls /run/legato/sockets | tr '\n' ' '; echo
ls -d '$served' '$runtime' 2>/dev/null; echo none of the folders
rm -f /run/legato/sockets/broker 2>/dev/null || echo not removed
git; single; echo \"\$PATH\" | cut -d: -f1-2
sh -c ': >/run/legato/bin/0/git' 2>/dev/null || echo not written
" >"$work/seen" 2>"$work/err"
same 'what is given is there, and nothing else of its folder' "/run/legato/sockets/broker|/run/legato/sockets/legato-session|/run/legato/sockets/ssh-agent|/run/legato/sockets/ssh-agent
hello from broker
hello from agent
hello from session
broker legato-session ssh-agent 
none of the folders
not removed
given tool
given tool
/run/legato/bin/0:/run/legato/bin/1
not written" "$(cat "$work/seen")"
same 'without, nothing is there' '||absent' "$(inside sh -c 'echo "$SSH_AUTH_SOCK|$LEGATO_SOCKET_BROKER|$(test -e /run/legato/sockets || echo absent)"' 2>/dev/null)"

refused 'the session bus' session-bus --socket bus="$runtime/bus"
refused 'a socket of ssh' 'rule ssh' --socket x="$HOME/.ssh/control"
ln -s "$runtime/bus" "$served/link"
refused 'the session bus through a link' session-bus --socket x="$served/link"
refused 'what is no socket' 'no socket' --socket x="$work/plain"
refused 'what is not there' 'No such file' --socket x="$work/nothing"
refused 'two of one name' 'another one' --socket x="$served/broker" --socket x="$served/other"
refused 'a folder that is hidden, as programs' 'rule ssh' --bin "$HOME/.ssh"
refused 'a folder that holds something hidden' 'it holds' --bin "$HOME"
refused 'a file that is no program' 'no program' --bin "$work/plain"
for bad in x =/y 'a b=/y' "1=$served/broker" '../x=/y'; do
  status=0
  run --socket "$bad" -- true 2>/dev/null || status=$?
  same "an error of usage: '$bad'" 2 "$status"
done
mkdir -p "$HOME/.config/legato"
printf 'agents: {sandbox: {env: {set: {PATH: "/usr/bin:/bin"}}}}\n' >"$HOME/.config/legato/config.yaml"
same 'before the PATH of the configuration' /run/legato/bin/0:/usr/bin:/bin "$(run --discard --bin "$work/bin" -- sh -c 'echo "$PATH"' 2>/dev/null)"
rm "$HOME/.config/legato/config.yaml"
check 'the plan tells it' sh -c "cd '$checkout' && '$LEGATO_SANDBOX' run --dry-run --json --socket broker='$served/broker' --bin '$work/bin' -- true | python3 -c 'import json, sys; assert [m[\"kind\"] for m in json.load(sys.stdin)[\"mounts\"] if m[\"rule\"] in (\"socket\", \"bin\")] == [\"read-only\"] * 2'"
nothing_left 'nothing is left running or mounted'
finish
