#!/bin/bash
# A program that was just linked in the view runs at once, every time: the
# write is over when close returns, so no ETXTBSY.
# usage: compile-and-run.sh [TIMES]
. "$(dirname "$0")/../lib/lib.sh"
needs_view
times=${1:-50}
cc=$(command -v cc || command -v gcc || command -v clang) || skip_all 'there is no compiler'

view_base
printf 'int main(void) { return 7; }\n' >"$base/a.c"
view_begin
cd "$view" || finish

wrong=
for ((i = 1; i <= times; i++)); do
  "$cc" -o a a.c || wrong+=" compilation $i: $?"
  ./a
  status=$?
  [ "$status" -eq 7 ] || wrong+=" run $i: $status"
done
same "$times times: compile, run" '' "$wrong"

# The same through other processes' copies and renames, as build tools do.
wrong=
for ((i = 1; i <= times; i++)); do
  cp a "a.$i" && mv "a.$i" b && ./b
  status=$?
  [ "$status" -eq 7 ] || wrong+=" run $i: $status"
done
same "$times times: copy, rename, run" '' "$wrong"

cd /
view_end
finish
