#!/bin/sh
# Every header compiles alone, with the include folders of its layer only.
# usage: headers.sh CC SOURCE_ROOT BUILD_ROOT
set -u
cc=$1 root=$2 build=$3

n=0
failed=0

compiles() { # HEADER FLAG...
	header=$1
	shift
	n=$((n + 1))
	# shellcheck disable=SC2086 # $libraries is a list of flags
	if printf '#include "%s"\n' "$header" |
		$cc -std=gnu17 -D_GNU_SOURCE -DFUSE_USE_VERSION=317 -Wall \
			-Werror -fsyntax-only -I"$build" "$@" $libraries -xc -; then
		echo "ok $n - ${header#"$root"/}"
	else
		failed=1
		echo "not ok $n - ${header#"$root"/}"
	fi
}

layer() { # NAME INCLUDED...: every header of fs/NAME
	name=$1
	shift
	flags=
	for included in "$@"; do
		flags="$flags -I$root/fs/$included"
	done
	for header in "$root/fs/$name"/*.h; do
		# shellcheck disable=SC2086
		[ ! -e "$header" ] || compiles "$header" $flags
	done
}

libraries=
layer base base
layer store base store
layer core base store core
libraries=$(pkg-config --cflags fuse3)
layer fuse base store core fuse
echo "1..$n"
exit "$failed"
