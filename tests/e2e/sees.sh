#!/bin/bash
# What a sandbox shows and never shows: a home full of decoys, and a probe
# inside that says what it can read, write and find.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin
away=$work/away # what variables and links lead to
mkdir -p "$away"

# f, d: a file, a folder. '-' instead of a state: only made, not looked for.
rows() {
  cat <<ROWS
d ~/.claude rw
f ~/.claude/.credentials.json rw
f ~/.claude.json rw
d ~/.local/share/claude/versions ro
d ~/.codex rw
d ~/.chimera rw
d ~/.gemini rw
d ~/.local/share/opencode rw
f ~/.aider.conf.yml ro
d ~/.local/bin ro
d ~/.local/share/mise/installs ro
d ~/.asdf ro
d ~/.nvm ro
d ~/.sdkman ro
d ~/.rustup ro
d ~/.bun/bin ro
d ~/.deno ro
d ~/go/bin ro
d ~/go/pkg/mod rw
d ~/.cache/go-build rw
d ~/.npm rw
d ~/.local/share/pnpm/store rw
f ~/.local/share/pnpm/pnpm ro
d ~/.cache/yarn rw
d ~/.bun/install/cache rw
d ~/.cache/uv rw
d ~/.gradle/caches rw
d ~/.m2/repository rw
f ~/.ssh/known_hosts ro
f ~/.ssh/id_ed25519 absent
f ~/.ssh/config absent
f ~/.config/legato/other absent
f ~/.local/share/legato/db absent
f ~/.local/state/legato/x absent
d ~/.1password absent
d ~/.config/op absent
f ~/.config/gh/hosts.yml absent
f ~/.gitconfig absent
f ~/.git-credentials absent
f ~/.netrc absent
d ~/.azure absent
d ~/.kube absent
f ~/.docker/config.json absent
f ~/.npmrc absent
f ~/.pypirc absent
f ~/.yarnrc absent
f ~/.gradle/gradle.properties absent
f ~/.m2/settings.xml absent
f ~/.config/composer/auth.json absent
d ~/.password-store absent
f ~/.local/share/keyrings/login.keyring absent
f ~/.bash_history absent
d ~/Documents absent
d ~/.mozilla absent
d $away/gnupg absent
f $away/kube/one absent
f $away/kube/two absent
d $away/cargo/registry -
d $away/cargo/bin ro
f $away/cargo/credentials.toml absent
d $away/pyenv/versions ro
d $away/ccache rw
d $away/cache/pip -
d $away/aws -
d $away/codex-target -
ROWS
}
rows | sed "s|~|$HOME|" >"$work/rows"
while read -r kind path _; do
  mkdir -p "$(dirname "$path")"
  if [ "$kind" = d ]; then mkdir -p "$path"; else echo decoy >"$path"; fi
done <"$work/rows"
chmod 644 "$HOME/.ssh/id_ed25519"
chmod 711 "$HOME/.azure"
ln -s "$away/aws" "$HOME/.aws"
rm -rf "$HOME/.gemini" && mkdir "$away/gemini" && ln -s "$away/gemini" "$HOME/.gemini"

export GNUPGHOME=$away/gnupg KUBECONFIG=$away/kube/one:$away/kube/two CARGO_HOME=$away/cargo PYENV_ROOT=$away/pyenv
export CCACHE_DIR=$away/ccache XDG_CACHE_HOME=$away/cache
# These stand where they are without the variable; ~/.cache is moved away.
cat >>"$work/rows" <<ROWS
x $HOME/.cargo/registry rw
x $HOME/.cargo/bin ro
x $HOME/.cargo rw
x $HOME/.cargo/credentials.toml absent
x $HOME/.cache/pip rw
x $HOME/.aws absent
x $away/aws absent
x $away/pyenv ro
x $HOME rw
x /usr/bin ro
x /etc/passwd ro
x /var/run/docker.sock absent
x /run/user absent
x /run/dbus absent
ROWS
sed -i "/\.cache\/\(go-build\|yarn\|uv\) /d" "$work/rows"
if is_root; then echo 'x /etc/shadow denied' >>"$work/rows"; fi

grep -v ' -$' "$work/rows" | cut -d' ' -f2 >"$work/paths"
probe() { # FILE OPTION...: the states of the paths in FILE
  local file=$1
  shift
  (cd "$checkout" && timeout 60 "$LEGATO_SANDBOX" run --scratch-dir "$state" "$@" -- \
    /usr/bin/python3 -c "$(cat "$tests/lib/probe.py")" <"$file" 2>"$work/error")
}
probe "$work/paths" >"$work/seen"
while read -r _ path wanted; do
  same "$path is $wanted" "$wanted $path" "$(grep -F -x -e "absent $path" -e "denied $path" -e "ro $path" -e "rw $path" -e "link $path" "$work/seen")"
done < <(grep -v ' -$' "$work/rows")
# What `why` says is what the probe found.
(cd "$checkout" && xargs -a "$work/paths" -d '\n' timeout 60 "$LEGATO_SANDBOX" why --scratch-dir "$state" --json -- </dev/null) >"$work/why.json"
python3 - "$work/why.json" >"$work/why" <<'PY'
import json, sys
words = {"read-write": "rw", "read-only": "ro"}
for row in json.load(open(sys.argv[1])):
    print(words.get(row["state"], "hidden"), row["path"])
PY
same_files '`why` and the probe agree' <(sed 's/^\(absent\|denied\) /hidden /' "$work/seen") "$work/why"
same '`why` names the rule' "$HOME/.npmrc: masked, by the rule npmrc (the login of npm)" \
  "$(cd "$checkout" && "$LEGATO_SANDBOX" why --scratch-dir "$state" "$HOME/.npmrc")"
same '`run --dry-run --json` is a plan for a program' "$HOME/.nvm read-only nvm" \
  "$(run --dry-run --json -- true | python3 -c 'import json,sys; print(*[m["target"]+" "+m["kind"]+" "+m["rule"] for m in json.load(sys.stdin)["mounts"] if m["target"].endswith("/.nvm")])')"

(cd "$checkout" && timeout 60 "$LEGATO_SANDBOX" run --scratch-dir "$state" -- sh -c 'echo x >~/.cargo/registry/made; echo x >~/.cargo/lock; echo "$CARGO_HOME $XDG_CACHE_HOME $PYENV_ROOT"' </dev/null) >"$work/out" 2>/dev/null
same 'moved roots are told inside' "$HOME/.cargo $HOME/.cache $away/pyenv" "$(cat "$work/out")"
check 'what is written to a cache is there' test -e "$away/cargo/registry/made"
same '... and beside it is not' '' "$(ls "$away/cargo" | grep lock)"
same 'no mount point came to the home' '' "$(cd "$HOME" && ls -A .cargo .ssh/config 2>/dev/null | grep -v '^.ssh/config$')"

cat >"$work/few" <<ROWS
$HOME/.claude
$HOME/.nvm
$HOME/.ssh/known_hosts
$away/ccache
ROWS
same 'default_mounts false leaves out all but the system' "absent $HOME/.claude
absent $HOME/.nvm
ro $HOME/.ssh/known_hosts
absent $away/ccache" "$(probe "$work/few" --default-mounts false)"

# Mounts of the person's: masked, or refused with the rule's name.
printf '%s\n' "$away/aws" "$away/gnupg" "$away/pyenv/versions" "$away/kube/one" "$away/kube" >"$work/few"
same 'a read-only mount masks what it holds' "absent $away/aws
absent $away/gnupg
ro $away/pyenv/versions
absent $away/kube/one
ro $away/kube" "$(probe "$work/few" --mount "$away")"
printf '%s\n' "$HOME/Documents" "$HOME/Documents/deep" >"$work/few"
mkdir "$HOME/Documents/deep"
same 'a mount for writing' "rw $HOME/Documents
rw $HOME/Documents/deep" "$(probe "$work/few" --mount "$HOME/Documents:write")"

refused() { # NAME TEXT OPTION...
  local name=$1 text=$2 status=0
  shift 2
  (cd "$checkout" && timeout 60 "$LEGATO_SANDBOX" run --scratch-dir "$state" "$@" -- true </dev/null >/dev/null 2>"$work/error") || status=$?
  if [ "$status" -eq 125 ] && [ "$(wc -l <"$work/error")" -eq 1 ] && grep -qF -e "$text" "$work/error"; then
    ok "$name"
  else
    not_ok "$name" "status $status" "$(cat "$work/error")"
  fi
}
ln -s "$HOME/.ssh" "$work/innocent"
mkdir -p "$HOME/.ssh/sub"
refused 'a mount of a hidden folder' 'by the rule ssh' --mount "$HOME/.ssh"
refused 'a mount in a hidden folder' 'by the rule ssh' --mount "$HOME/.ssh/sub"
refused 'a mount through a link' 'by the rule ssh' --mount "$work/innocent/sub"
refused 'a mount of what a variable moved' 'by the rule gnupg' --mount "$away/gnupg"
refused 'a mount of what a link leads to' 'by the rule aws' --mount "$away/aws"
refused 'a mount for writing that holds something hidden' "never seen, by the rule" --mount "$away:write"
refused 'a mount for writing that could hold it' "by the rule gradle-properties" --mount "$HOME/.gradle:write"
refused 'a mount around the home' 'the sandbox has its own there' --mount "$work"
refused 'a mount that is not there' 'it is no folder and no file' --mount "$work/none"
refused 'a checkout in a hidden folder' 'never seen, by the rule ssh' --checkout "$HOME/.ssh/sub"
if is_root && unshare -m true 2>/dev/null; then
  mkdir "$work/bound" "$work/around" "$work/around/in"
  export bound=$work/bound hidden=$HOME/.ssh
  refused_in_namespace() { # NAME TEXT SOURCE AT OPTION...
    local status=0
    (cd "$checkout" && unshare -m --propagation private sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' sh "$3" "$4" \
      timeout 60 "$LEGATO_SANDBOX" run --scratch-dir "$state" "${@:5}" -- true </dev/null >/dev/null 2>"$work/error") || status=$?
    if [ "$status" -eq 125 ] && grep -qF -e "$2" "$work/error"; then ok "$1"; else not_ok "$1" "status $status" "$(cat "$work/error")"; fi
  }
  refused_in_namespace 'a bind mount of a hidden folder' 'by the rule ssh' "$HOME/.ssh" "$work/bound" --mount "$work/bound"
  refused_in_namespace 'a bind mount of a part of one' 'by the rule ssh' "$HOME/.ssh/sub" "$work/bound" --mount "$work/bound"
  refused_in_namespace 'a folder with such a mount in it' 'by the rule ssh' "$HOME/.ssh" "$work/around/in" --mount "$work/around:write"
else
  skip 'bind mounts of hidden folders' 'needs root'
fi

# A path of the checkout that is hidden.
echo hidden >"$checkout/secret"
printf 'agents:\n  sandbox:\n    hide: ["%s"]\n' "$checkout/secret" >"$work/hide.yaml"
printf '%s\n' "$checkout/secret" "$checkout/tool" >"$work/few"
same 'review: masked' "absent $checkout/secret
rw $checkout/tool" "$(probe "$work/few" --config "$work/hide.yaml")"
same 'find-out: masked, and read-only' "absent $checkout/secret
ro $checkout/tool" "$(probe "$work/few" --config "$work/hide.yaml" --role find-out)"
refused 'work: refused' 'by the rule hide' --config "$work/hide.yaml" --role work
same 'work --overlay: masked' "absent $checkout/secret
rw $checkout/tool" "$(probe "$work/few" --config "$work/hide.yaml" --role work --overlay)"
check '... and the real one is there' grep -q hidden "$checkout/secret"
nothing_left 'nothing is left running or mounted'
finish
