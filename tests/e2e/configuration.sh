#!/bin/bash
# The configuration file, the checkout's own, flags over both.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin
S=$LEGATO_SANDBOX
file=$HOME/.config/legato/config.yaml
mkdir -p "${file%/*}"

config() { (cd "$checkout" && timeout 20 "$S" config "$@" </dev/null); }
says() { # NAME STATUS LINE COMMAND...: the one line on stderr ends so
  local name=$1 wanted=$2 line=$3 status=0
  shift 3
  (cd "$checkout" && timeout 60 "$@" </dev/null) >"$work/out" 2>"$work/err" || status=$?
  if [ "$status" -eq "$wanted" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -e "$line" "$work/err"; then
    ok "$name"
  else
    not_ok "$name" "status $status" "$(cat "$work/out" "$work/err")"
  fi
}

check 'no file: nothing wrong' config check
check 'show without a file' sh -c "$(declare -f config); S=$S; cd $checkout; config show | grep -q 'enabled: true  # default'"
cat >"$file" <<'YAML'
agents:
  sandbox:
    scratch_dir: ~/big
    env:
      allow: [GITHUB_TOKEN]
      deny: ["PLAIN_*"]
      set: { SET_BY_FILE: from file }
YAML
check 'a good file' config check
check '... by its name' config check "$file"
config show --json >"$work/show.json"
same 'show --json tells values and origins' "~/big file $file 3" \
  "$(python3 -c 'import json,sys; v=json.load(open(sys.argv[1]))["agents.sandbox.scratch_dir"]; print(v["value"], v["origin"], v["file"], v["line"])' "$work/show.json")"
(cd "$checkout" && GITHUB_TOKEN=t PLAIN_A=x timeout 60 "$S" run --env SET_BY_FLAG=f --env PLAIN_A -- env </dev/null) >"$work/env" 2>"$work/summary"
same 'ls finds what is in the scratch folder of the file' 1 "$("$S" ls --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)))')"
id=$("$S" ls --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["id"])')
check 'show does' "$S" show "$id"
check 'the line to type names the folder' sh -c "\"$LEGATO_DIFF\" --scratch-dir '$HOME/big' --name-status $id && grep -qF -- '--scratch-dir $HOME/big $id' '$work/summary'"
check 'allow lets a secret pass' grep -qx GITHUB_TOKEN=t "$work/env"
check 'set sets' grep -qx 'SET_BY_FILE=from file' "$work/env"
check '--env sets' grep -qx 'SET_BY_FLAG=f' "$work/env"
check '--env NAME stands over deny' grep -qx 'PLAIN_A=x' "$work/env"
check 'scratch_dir is used' test -n "$(ls -A "$HOME/big")"
check 'sweep keeps what ended just now' sh -c "'$S' sweep && test -d '$HOME/big/$id'"
sed -i 's/^    env:/    keep: { for: 0 }\n    env:/' "$file"
check 'keep of the file: sweep removes it' sh -c "'$S' sweep && test ! -e '$HOME/big/$id'"
(cd "$checkout" && PLAIN_A=x timeout 60 "$S" run --scratch-dir "$state" -- env </dev/null) >"$work/env" 2>/dev/null
same 'deny denies' '' "$(grep '^PLAIN_' "$work/env")"
check '--scratch-dir stands over it' test -n "$(executions)"

printf 'agents:\n  sandbox:\n    env: { deny: [SHOWN] }\n' >"$checkout/.legato.yaml"
same "the checkout's own file can tighten" '' "$(SHOWN=x run -- env 2>/dev/null | grep '^SHOWN=')"
printf 'agents:\n  sandbox:\n    mounts: [{ path: ~ }]\n' >"$checkout/.legato.yaml"
says '... and nothing else' 125 ".legato.yaml:3: 'agents.sandbox.mounts' cannot be set by a checkout" "$S" run --scratch-dir "$state" -- true
ln -sf /etc/shadow "$checkout/.legato.yaml"
says '... and is no link' 125 'cannot read the configuration' "$S" run --scratch-dir "$state" -- true
rm "$checkout/.legato.yaml"

printf 'agents:\n  sandbox:\n    enabeld: true\n' >"$file"
says 'an unknown key: file, line, reason' 125 "$file:3: unknown key 'agents.sandbox.enabeld', did you mean 'enabled'?" "$S" run --scratch-dir "$state" -- true
says '... check says so too' 1 "$file:3: unknown key" "$S" config check
says '... and show' 1 "$file:3: unknown key" "$S" config show
printf 'agents:\n  sandbox:\n    enabled: false\n' >"$file"
says 'turned off: refused, nothing runs outside' 125 "$file:3: the sandbox is turned off" "$S" run --scratch-dir "$state" -- touch "$work/ran"
check '... and did not run' test ! -e "$work/ran"
says '--config must exist' 125 "cannot read the configuration '/none'" "$S" run --config /none --scratch-dir "$state" -- true
mkfifo "$work/fifo"
says 'a FIFO holds nobody up' 125 'cannot read the configuration' "$S" run --config "$work/fifo" --scratch-dir "$state" -- true
: >"$work/empty"
check '--config stands for the usual file' run --config "$work/empty" -- true
says '--env of what is not set' 2 "'NOT_SET' is not set" "$S" run --config "$work/empty" --env NOT_SET -- true
says '--default-mounts takes a truth' 2 'it is true or false' "$S" run --config "$work/empty" --default-mounts no -- true
rm "$file"

# The schema is the table's; both agree on what they take.
config schema >"$work/schema.json"
same 'schema: every key of show, and no other' \
  "$(python3 -c 'import json,sys; print("\n".join(sorted(json.load(open(sys.argv[1])))))' "$work/show.json")" \
  "$(python3 - "$work/schema.json" <<'PY'
import json, sys
def keys(schema, path):
    for name, below in schema.get("properties", {}).items():
        if "properties" in below:
            yield from keys(below, path + [name])
        else:
            yield ".".join(path + [name])
print("\n".join(sorted(keys(json.load(open(sys.argv[1])), []))))
PY
  )"
nothing_left 'nothing is left running or mounted'
same 'the checkout is as it was' '' "$(git -C "$checkout" status --porcelain)"
finish
