#!/bin/bash
# ls, show, discard, sweep; names and prefixes; eight executions side by side.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin

run --name first -- sh -c 'echo x >new; exit 7' >"$work/out" 2>"$work/summary"
id=$(executions)
check 'the id is sortable and typed easily' grep -qxE '[0-9]{8}-[0-9]{6}-[a-z]{4}' <<<"$id"
same 'the folder is private' 700 "$(stat -c %a "$state/$id")"
check 'the summary names the way to the diff' grep -q "legato-diff.*$id" "$work/summary"
check 'and the change' grep -q 'new' "$work/summary"
same 'the command wrote nothing to stdout, and neither did we' '' "$(cat "$work/out")"
check 'ls shows it' sh -c "'$LEGATO_SANDBOX' ls --scratch-dir '$state' | grep -q '$id.*first.*ended.*review'"
json() { # PYTHON: with the JSON as `j`
  python3 -c "import json, sys; j = json.load(sys.stdin); assert $1, j"
}
check 'ls --json' sh -c "'$LEGATO_SANDBOX' ls --json --scratch-dir '$state' | python3 -c 'import json, sys; j = json.load(sys.stdin); assert len(j) == 1 and j[0][\"id\"] == \"$id\" and j[0][\"name\"] == \"first\" and j[0][\"exit_code\"] == 7 and j[0][\"state\"] == \"ended\", j'"
verb show --json first >"$work/show.json"
check 'show --json by name' json "j['id'] == '$id' and j['command'][-1].startswith('echo x') and j['checkout'] == '$checkout'" <"$work/show.json"
check 'show by a prefix' sh -c "'$LEGATO_SANDBOX' show --scratch-dir '$state' '${id%?}' | grep -q '$id'"
verb show --json --stats first >"$work/stats.json"
check 'show --stats counts requests, and each one once in its histogram' json "any(r['request'] == 'CREATE' and r['count'] >= 1 for r in j) and all(sum(r['buckets']) == r['count'] >= r['failed'] and r['total_ns'] > 0 for r in j)" <"$work/stats.json"
check 'show --stats for a person' sh -c "'$LEGATO_SANDBOX' show --stats --scratch-dir '$state' first | grep -q '^CREATE  *1 '"
check 'ls takes no --stats' sh -c "'$LEGATO_SANDBOX' ls --stats --scratch-dir '$state'; test \$? -eq 2"
same 'diff by name' 'A f	new' "$(changes --name-status first)"
same 'diff of the newest' 'A f	new' "$(changes --name-status)"
check 'sweep keeps what ended just now' sh -c "'$LEGATO_SANDBOX' sweep --scratch-dir '$state' && test -d '$state/$id'"
check 'discard by name' verb discard first
same '... removes it' '' "$(executions)"
run --discard -- sh -c 'echo x >new; mkdir -m 0 closed; mkdir -p a/b && chmod 500 a' >/dev/null 2>&1
same '--discard leaves nothing, whatever the modes' '' "$(executions)"

# Eight at once: each sees its own, none the others'.
for i in 1 2 3 4 5 6 7 8; do
  run --name "p$i" -- sh -c "
    echo $i >mine && echo $i >/tmp/mine && echo $i >~/mine
    for n in \$(seq 40); do echo $i >f\$n; done
    rm src/a.c; echo $i >>src/b.c
    sleep 1
    test \$(cat mine) = $i && test \$(cat /tmp/mine) = $i && test \$(cat ~/mine) = $i &&
    test \"\$(cat f1 f40 | sort -u)\" = $i && test \"\$(tail -n 1 src/b.c)\" = $i" >"$work/p$i" 2>&1 &
  eval "job$i=$!"
  pids+=("$!")
done
for i in 1 2 3 4 5 6 7 8; do
  job=job$i
  wait "${!job}"
  same "execution $i of eight" 0 "$?"
done
same 'eight folders' 8 "$(executions | wc -l)"
for i in 1 8; do
  same "the diff of $i" "$({ printf 'D f\tsrc/a.c\nM f\tsrc/b.c\nA f\tmine\n'; printf 'A f\tf%s\n' $(seq 40); } | sort)" \
    "$(changes --name-status --all "p$i" | sort)"
done
check 'sweep --all removes all' sh -c "'$LEGATO_SANDBOX' sweep --all --scratch-dir '$state' && test -z \"\$(ls -A '$state')\""
nothing_left 'nothing is left running or mounted'
base_untouched
finish
