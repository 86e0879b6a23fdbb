#!/bin/bash
# legato-diff log and why: what the journal says of a command in a sandbox,
# while it runs and afterwards.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin

log() { "$LEGATO_DIFF" log --scratch-dir "$state" --no-pager --id "$@"; } # ID [OPTION...]
why() { "$LEGATO_DIFF" why --scratch-dir "$state" --id "$@"; }            # ID PATH
# The lines of a log without dates and times, pids, and runs of spaces.
plain() { grep -v '^-- ' | sed -E 's/^[0-9:.]+ //; s/\[[0-9]+\]//g; s/ +/ /g'; }

# Each operation once. Only the lines of its own file count.
run --name ops -- sh -c '
  : >new; mkdir dir; mkfifo fifo; ln -s new soft
  echo 12345 >>new; truncate -s 2 new; chmod 640 new; touch -d @5 new
  ln soft hard; mv new moved; rm hard; rmdir dir
  mv dir none
  true' >/dev/null 2>&1
same 'each operation has its line, in order' \
  "$(printf '%s\n' 'A create new sh' 'A mkdir dir mkdir' 'A mknod fifo mkfifo' 'A symlink soft ln' \
    'M write new 6 bytes sh' 'M truncate new to 2 bytes truncate' 'M chmod new 0640 chmod' 'M utimens new touch' \
    'A link soft -> hard ln' 'R rename new -> moved mv' 'D unlink hard rm' 'D rmdir dir rmdir')" \
  "$(log ops --view work --op A,M,D,R | plain | sed 's/0644 -> //')"
same 'of one path' 'A mkdir dir mkdir,D rmdir dir rmdir' "$(log ops --path dir | plain | paste -sd,)"
same 'of one command' 'D rmdir dir rmdir' "$(log ops --process 'rmdir dir' --op D | plain)"
same 'of a time to come' '' "$(log ops --since 2100-01-01)"
log ops --json >"$work/json"
check 'one JSON object on each line' python3 -c '
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
sequences = [row["sequence"] for row in rows]
assert sequences == sorted(set(sequences)), sequences
moved = [row for row in rows if row["operation"] == "rename" and row["path"] == "new"][0]
assert moved["path2"] == "moved" and moved["result"] == 0
assert moved["process"]["command"] == "mv new moved", moved["process"]
' "$work/json"
check 'no such operation is refused' sh -c "! '$LEGATO_DIFF' log --scratch-dir '$state' --op sing ops"
log none-such >/dev/null 2>&1
same 'no such execution: trouble' 2 "$?"

same 'why: through renames, with who did it' \
  'A create new sh,M write new 6 bytes sh,M truncate new to 2 bytes truncate,M chmod new 0640 chmod,M utimens new touch,R rename new -> moved mv' \
  "$(why ops moved | grep '^[0-9-]' | plain | sed 's/0644 -> //' | paste -sd,)"
why ops moved >"$work/why"
check 'the command and what started it' sh -c "sed -n 2p '$work/why' | grep -q 'changed last by mv.* mv new moved' &&
  sed -n 3p '$work/why' | grep -q 'started by sh'"
same 'the same by the path as the sandbox has it' "$(sed 1d "$work/why")" "$(why ops "$checkout/moved" | sed 1d)"
why ops never >/dev/null 2>&1
same 'nothing on record: 1' 1 "$?"

# A build: which command made which file.
run --name build -- sh -c '
  mkdir made
  printf "int main(void) { return 0; }\n" >made/main.c
  printf "made/%%.o: made/%%.c\n\tcc -c -o \$@ \$<\n" >made/rules
  make -s -f made/rules made/main.o' >/dev/null 2>&1
log build --tree --path made >"$work/tree"
check 'a tree: the object is below the compiler, and that below make' python3 -c '
import sys
above = []
for line in open(sys.argv[1]):
    depth = len(line) - len(line.lstrip())
    above = [a for a in above if a[0] < depth] + [(depth, line.strip())]
    if line.strip().startswith("A made/main.o"):
        names = [name.split("[")[0] for _, name in above[:-1]]
        assert names.index("make") < names.index("cc") < len(names), names
        sys.exit()
sys.exit("no object: " + open(sys.argv[1]).read())' "$work/tree"

# While it runs.
(cd "$checkout" && exec "$LEGATO_SANDBOX" run --scratch-dir "$state" --name live -- \
  sh -c 'echo x >first; until [ -e go ]; do sleep 0.1; done; echo x >last') >/dev/null 2>&1 </dev/null &
launcher=$!
pids+=("$launcher")
until_log() { # WORD: at last it is in the log
  local deadline=$((SECONDS + 30))
  until log live 2>/dev/null | grep -q "$1"; do
    if [ "$SECONDS" -gt "$deadline" ]; then return 1; fi
    sleep 0.1
  done
}
check 'a change is in the log while the command runs' until_log 'create *first'
log live --follow --op create --view work >"$work/followed" &
follower=$!
pids+=("$follower")
deadline=$((SECONDS + 30))
until grep -q first "$work/followed" || [ "$SECONDS" -gt "$deadline" ]; do sleep 0.1; done
check 'files can be made from outside' "$LEGATO_SANDBOX" exec --scratch-dir "$state" live -- touch "$checkout/go"
wait "$launcher" "$follower"
same '--follow tells the rest, and ends with the execution' 'A create first sh,A create go touch,A create last sh' \
  "$(plain <"$work/followed" | paste -sd,)"

# A database that is damaged is no end.
database=$state/$(basename "$(ls -d "$state"/*/ | tail -n 1)")/journal/journal.db
rm -f "$database-wal" "$database-shm" # left where somebody read at the end
echo nonsense >"$database"
log live >/dev/null 2>"$work/error"
same 'trouble' 2 "$?"
check 'with one line' grep -q "can't read the journal's database" "$work/error"
changes --name-status live >"$work/status" 2>/dev/null
same 'the changes are shown even so' 0 "$?"
finish
