#!/bin/bash
# After every kind of change, what is counted is what the disk says: of all
# inodes in uppers and links folders, and of files that are open but have no
# name.
. "$(dirname "$0")/../../lib/lib.sh"
[ "$serve" = legato ] || skip_all 'needs legato-fs'
needs_view
view_base
mkdir -p "$base/d/sub" "$base/many" "$base/locked"
head -c 300000 /dev/urandom >"$base/big"
head -c 5000 /dev/urandom >"$base/two"
ln "$base/two" "$base/two.link"
ln "$base/two" "$base/d/two.third"
echo f >"$base/d/f"
echo g >"$base/d/sub/g"
ln -s f "$base/d/link"
mkfifo "$base/fifo"
for ((i = 0; i < 50; i++)); do echo "$i" >"$base/many/$i"; done
here=$(cd "$(dirname "$0")" && pwd)
view_begin
python3 "$here/count.py" "$view" "$execution" >"$work/results"
same 'all changes were made' 0 "$?"
while read -r line; do
  case $line in
    ok\ *\#\ SKIP*) skip "${line#ok }" '' ;;
    ok\ *) ok "${line#ok }" ;;
    *) not_ok "${line#not ok }" ;;
  esac
done <"$work/results"

# A page that is lost is made again, with what the disk says.
view_unmount
agrees() { python3 -c "
import sys
sys.path.insert(0, '$here')
from usage import Execution
sys.exit(Execution('$execution').agrees() or None)"; }
check 'after it has ended' agrees
rm "$execution/quota"
serve_again "$execution"
check 'counted again where the page is lost' agrees
echo more >"$again/more"
check 'and counted on' agrees
serve_end
printf 'nonsense' >"$execution/quota"
serve_again "$execution"
check 'counted again where the page is broken' agrees
serve_end
unmount "$execution/mnt"
base_untouched
finish
