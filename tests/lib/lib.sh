# shellcheck shell=bash
# What the integration and end-to-end scripts share. A script sources it, says
# what it does with `plan`, `ok`, `check` and `skip`, and ends with `finish`:
#
#   . "$(dirname "$0")/../lib/lib.sh"
#   view_base; echo x >"$base/f"; view_begin
#   check "a file of the base can be read" grep -q x "$view/f"
#   view_end
#   finish
#
# Everything a script makes is below $work, which is removed however the script
# ends; what it mounts is unmounted, what it starts in the background is killed
# by its pid. TAP goes to the real stdout, output of commands to stderr, which
# meson keeps in its log.
#
# With --user as its first argument the script runs as the ordinary user
# LEGATO_TEST_USER, if root started it.
#
# LEGATO_TEST_VIEW chooses what serves the view: "legato" (default), or, to see
# that a test can fail and what is expected of a file system, "plain" (a copy
# of the base) and "overlayfs" (the kernel's, as root).

set -uo pipefail
umask 022
export LC_ALL=C.UTF-8 TZ=UTC GIT_CONFIG_NOSYSTEM=1
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE LEGATO_FAULT

tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
serve=${LEGATO_TEST_VIEW:-legato}
count=0
failures=0
pids=()
mounts=()

exec 3>&1 1>&2 # 3: TAP

# ------------------------------------------------------------ the script's end

is_mounted() { grep -qF " $1 " /proc/self/mountinfo; } # a file too, and without asking who serves it

# Lazily if somebody still sits in it.
unmount() { # DIR
  local try
  if ! is_mounted "$1"; then return 0; fi
  for try in 1 2 3 4 5 6 7 8 9 10; do
    if [ "$(id -u)" -eq 0 ]; then umount "$1" && break; else fusermount3 -u "$1" && break; fi 2>/dev/null
    sleep 0.1
  done
  if is_mounted "$1"; then
    note "'$1' is busy"
    if [ "$(id -u)" -eq 0 ]; then umount -l "$1"; else fusermount3 -uz "$1"; fi
    return 1
  fi
}

cleanup() {
  local i status=$?
  trap '' EXIT INT TERM HUP
  cd /
  for i in "${pids[@]}"; do kill -KILL "$i" 2>/dev/null; done
  for ((i = ${#mounts[@]} - 1; i >= 0; i--)); do unmount "${mounts[i]}" 2>/dev/null; done
  if [ -n "${work:-}" ]; then
    # A mount that would not go must not be emptied.
    if grep -qF " $work/" /proc/self/mountinfo; then
      note "mounts are left below $work: not removed"
    else
      chmod -R u+rwx "$work" 2>/dev/null
      rm -rf "$work"
    fi
  fi
  exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# ------------------------------------------------------------------------- TAP

note() { printf '# %s\n' "$*" >&2; }
plan() { printf '1..%d\n' "$1" >&3; } # optional: `finish` says it otherwise

ok() { # NAME: passed
  count=$((count + 1))
  printf 'ok %d - %s\n' "$count" "$1" >&3
}

not_ok() { # NAME [REASON...]
  count=$((count + 1)) failures=$((failures + 1))
  printf 'not ok %d - %s\n' "$count" "$1" >&3
  shift
  if [ $# -gt 0 ]; then printf '%s\n' "$@" | head -n 30 | sed 's/^/#   /' >&3; fi
}

skip() { # NAME REASON
  count=$((count + 1))
  printf 'ok %d - %s # SKIP %s\n' "$count" "$1" "$2" >&3
}

skip_all() { # REASON: nothing of this script can run here
  printf '1..0 # SKIP %s\n' "$1" >&3
  exit 0
}

check() { # NAME COMMAND...: passes if the command succeeds
  local name=$1 output status=0
  shift
  output=$("$@" 2>&1) || status=$?
  if [ "$status" -eq 0 ]; then ok "$name"; else not_ok "$name" "status $status of: $*" "$output"; fi
  return 0
}

same() { # NAME WANTED SEEN: two texts
  if [ "$2" = "$3" ]; then
    ok "$1"
  else
    not_ok "$1" "$(diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") | sed 's/^</wanted:/; s/^>/seen:  /' | head -n 20)"
  fi
}

same_files() { # NAME WANTED SEEN: two files
  if cmp -s "$2" "$3"; then ok "$1"; else not_ok "$1" "$(diff -a "$2" "$3" | head -n 20)"; fi
}

finish() {
  printf '1..%d\n' "$count" >&3
  exit "$((failures > 0))"
}

# ------------------------------------------------------------------- the parts

is_root() { [ "$(id -u)" -eq 0 ]; }
have() { command -v "$1" >/dev/null 2>&1; }

# Runs the whole script again as the ordinary user LEGATO_TEST_USER, who has
# to be able to read the build; under root without that user it is skipped.
as_test_user() {
  if ! is_root; then return 0; fi
  if [ -z "${LEGATO_TEST_USER:-}" ]; then skip_all 'LEGATO_TEST_USER is not set'; fi
  trap - EXIT INT TERM HUP
  exec 1>&3
  exec setpriv --reuid "$LEGATO_TEST_USER" --regid "$(id -g "$LEGATO_TEST_USER")" --init-groups \
    env -u XDG_RUNTIME_DIR HOME="$(getent passwd "$LEGATO_TEST_USER" | cut -d: -f6)" USER="$LEGATO_TEST_USER" \
    timeout --foreground "${LEGATO_TEST_TIMEOUT:-900}" bash "$0" "$@"
}

can_fuse() { [ -r /dev/fuse ] && [ -w /dev/fuse ]; }

needs_view() { # skips everything where the view can't be had
  case $serve in
    legato)
      [ -x "${LEGATO_FS:-}" ] || skip_all 'legato-fs is not built'
      can_fuse || skip_all '/dev/fuse is not open to this user'
      ;;
    overlayfs) is_root || skip_all "the kernel's overlayfs is mounted as root here" ;;
    plain) ;;
    *) skip_all "LEGATO_TEST_VIEW=$serve is unknown" ;;
  esac
}

# tree_of DIR: all that is in it: type, mode, owner, size, time to the ns,
# target, hash. Two equal texts mean two equal trees.
tree_of() { python3 "$tests/lib/tree.py" "$@"; }

# view_base: makes $base, to be filled before view_begin.
view_base() {
  base=$work/base view=$work/view scratch=$work/scratch
  mkdir -p "$base" "$view" "$scratch"
}

# view_begin: mounts a view over $base at $view, after noting what $base is.
view_begin() {
  tree_of "$base" >"$work/base.before"
  view_mount || {
    not_ok 'mount' "$(cat "$work/mount.log")"
    finish
  }
}

# The mount alone. $upper is then the upper folder.
view_mount() {
  mounts+=("$view")
  case $serve in
    legato)
      timeout 20 "$LEGATO_FS" mount --scratch "$scratch" --overlay work="$base" "$view" \
        >"$work/mount.id" 2>"$work/mount.log" || return 1
      execution=$scratch/$(cat "$work/mount.id")
      upper=$execution/views/work/upper
      is_mounted "$view" || return 1
      ;;
    overlayfs)
      upper=$scratch/upper
      mkdir -p "$upper" "$scratch/work"
      mount -t overlay legato-test -o "userxattr,lowerdir=$base,upperdir=$upper,workdir=$scratch/work" "$view" \
        2>"$work/mount.log"
      ;;
    plain)
      upper=$view
      cp -a "$base/." "$view/"
      ;;
  esac
}

# view_unmount: the daemon must be gone when it returns.
view_unmount() {
  local i copies
  if [ "$serve" = plain ]; then return 0; fi
  unmount "$view" || not_ok 'unmount' 'the view was busy'
  if [ "$serve" != legato ]; then return 0; fi
  for ((i = 0; i < 200; i++)); do # sanitizers look for leaks at the end
    if flock -n "$execution/lock" true; then return 0; fi
    sleep 0.1
  done
  # A mount namespace that somebody made meanwhile, and that lives on, has a
  # copy of the mount: then it isn't unmounted, and the daemon is right.
  copies=$(grep -lF " $view " /proc/[0-9]*/mountinfo 2>/dev/null | cut -d/ -f3 | head -n 3 | tr '\n' ' ')
  if [ -n "$copies" ]; then
    skip 'the daemon ends when it is unmounted' "the mount namespaces of processes $copies have the mount too"
  else
    not_ok 'the daemon ends when it is unmounted' "$execution/lock is still held by" "$(holders "$execution/lock")"
  fi
}

holders() { # FILE: the processes that have it open
  local fd
  for fd in /proc/[0-9]*/fd/*; do
    if [ "$fd" -ef "$1" ]; then ps -o pid=,ppid=,stat=,etimes=,args= -p "$(cut -d/ -f3 <<<"$fd")"; fi
  done 2>/dev/null
}

# view_end: unmounts, and checks that the base is what it was.
view_end() {
  view_unmount
  base_untouched
}

base_untouched() {
  tree_of "$base" >"$work/base.after"
  same_files 'the base is untouched' "$work/base.before" "$work/base.after"
}

background() { # COMMAND...: its pid is in $!, and it dies with the script
  "$@" &
  pids+=("$!")
}

work=
if [ "${1:-}" = --user ]; then
  shift
  as_test_user "$@"
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/legato-test-XXXXXX")
work=$(cd "$work" && pwd -P)
chmod 755 "$work"

# -------------------------------------------------- the three programs together

# sandbox_begin: a checkout (a git repository) in a home folder, and a scratch
# folder beside it. All of it is the test's own: HOME too.
sandbox_begin() {
  [ -x "${LEGATO_SANDBOX:-}" ] || skip_all 'legato-sandbox is not built'
  [ -x "${LEGATO_DIFF:-}" ] || skip_all 'legato-diff is not built'
  have bwrap || skip_all 'there is no bwrap'
  can_fuse || skip_all '/dev/fuse is not open to this user'
  export HOME=$work/home
  unset XDG_STATE_HOME XDG_CONFIG_HOME
  state=$work/state checkout=$HOME/src/project
  mkdir -p "$state" "$checkout"
  git config --global user.name 'Test Person'
  git config --global user.email test@example.org
  cd "$checkout" || exit 1
  git init -q -b main .
  mkdir -p src doc
  printf 'line %d\n' {1..30} >src/a.c
  printf 'b %d\n' {1..30} >src/b.c
  echo doc >doc/page
  ln -s a.c src/link
  printf '#!/bin/sh\necho tool\n' >tool
  chmod +x tool
  git add . && git commit -q -m start
  base=$checkout
  tree_of "$base" >"$work/base.before"
}

# run OPTION... -- COMMAND...: the launcher over the checkout.
run() {
  (cd "$checkout" && timeout 120 "$LEGATO_SANDBOX" run --scratch-dir "$state" "$@" </dev/null)
}
inside() { run -- "$@"; }

# A script that tries what a sandbox must refuse, such as mounting: should
# there be no sandbox around it, it ends before it can do harm.
inside_only() { # SCRIPT
  run -- sh -c "test \"\$(readlink /proc/self/ns/mnt)\" != '$(readlink /proc/self/ns/mnt)' || { echo 'not in a sandbox'; exit 99; }
$1"
}
verb() { timeout 60 "$LEGATO_SANDBOX" "$1" --scratch-dir "$state" "${@:2}" </dev/null; }
changes() { timeout 60 "$LEGATO_DIFF" --scratch-dir "$state" "$@" </dev/null; }
executions() { ls "$state"; } # without those that are just being removed

# The processes that have something to do with this test, but for its scripts:
# launchers, daemons and commands, by the folder in their arguments.
leftovers() {
  local process name
  for process in /proc/[0-9]*; do
    name=$(cat "$process/comm" 2>/dev/null) || continue
    case $name in bash | timeout | meson | python* | sed | ls | cat | tr | grep) continue ;; esac
    if tr '\0' '\n' <"$process/cmdline" 2>/dev/null | grep -qF -e "$work" -e "marker-${work##*-}"; then
      printf '%s %s\n' "${process#/proc/}" "$name"
    fi
  done
  grep -F " $work/" /proc/self/mountinfo | cut -d' ' -f5
}

nothing_left() { # NAME: waits for what is just ending
  local i
  for ((i = 0; i < 50; i++)); do
    [ -n "$(leftovers)" ] || break
    sleep 0.1
  done
  same "$1" '' "$(leftovers)"
}

# serve_again EXECUTION: mounts an ended execution again, as a test of its own;
# the folder of its first view is $again. serve_end is a test too.
serve_again() {
  local i
  python3 "$tests/lib/serve.py" "$LEGATO_FS" "$1" "$work/served" "$work/stop" &
  server=$!
  pids+=("$server")
  mounts+=("$1/mnt")
  for ((i = 0; i < 100; i++)); do
    [ -s "$work/served" ] && break
    sleep 0.1
  done
  same 'it is served again' ready "$(cat "$work/served" 2>/dev/null)"
  again=$1/mnt
  if [ -d "$again/work" ]; then again=$again/work; fi
}
serve_end() {
  local status=0
  touch "$work/stop"
  wait "$server" || status=$?
  rm -f "$work/stop" "$work/served"
  same 'end of file on the control socket ends it, with status 0' 0 "$status"
}
