#!/bin/bash
# The summary that `run` ends with tells of files that their owner can't read.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin

run -- sh -c 'echo more >>src/a.c && chmod 0 src/a.c && mkdir shut && echo x >shut/new && chmod 0 shut' 2>"$work/summary"
check 'the file is among the changes' grep -qF 'src/a.c' "$work/summary"
check '... and what is in the folder' grep -qF 'shut/new' "$work/summary"
check 'nothing could not be read' sh -c "! grep -iE 'read|denied|error' '$work/summary'"
same 'the same as from legato-diff' "$(changes --name-status 2>&1 | grep -c .)" "$(grep -cE '^  [ADMRT] ' "$work/summary")"
nothing_left 'nothing is left running or mounted'
base_untouched
finish
