#!/bin/bash
# Runs a fuzz target on its corpus, and on changes to it for some seconds.
# usage: replay.sh TARGET CORPUS    LEGATO_TEST_LONG: for how many seconds
set -u
export FUZZ_OUT
FUZZ_OUT=$(mktemp)
trap 'rm -f "$FUZZ_OUT"' EXIT
if "$1" "$2" "${LEGATO_TEST_LONG:-3}" "${FUZZ_SEED:-1}"; then exit 0; fi
printf '1..1\nnot ok 1 - an input ended it\n# base64: %s\n' "$(base64 -w0 "$FUZZ_OUT")"
exit 1
