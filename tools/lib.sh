# shellcheck shell=bash
# Functions that the scripts in tools/ and tests/ share. Source it; it does nothing by itself.

LEGATO_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

say() { printf '%s\n' "$*"; }
note() { printf '%s\n' "$*" >&2; }
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }
is_root() { [ "$(id -u)" -eq 0 ]; }

# sbin is missing from the PATH of an ordinary user on Debian, and mkfs, losetup, useradd live there.
case ":$PATH:" in
  *:/usr/sbin:*) ;;
  *) PATH=$PATH:/usr/sbin:/sbin ;;
esac

# ---------------------------------------------------------------- apt sources

# Prints "uri suite" for every Debian source that this machine uses already, whichever of apt's two
# file formats it is written in. Third-party repositories often name their suite after a Debian
# release too: only what the downloaded Release file says is of Debian counts.
# Empty while apt has no package lists.
debian_origins() {
  # shellcheck disable=SC2016 # $(…) is apt's own format syntax
  apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
    sort -u
}

# derive_sources TYPE TO DIR: writes this machine's Debian sources again into DIR/derived.list and
# DIR/derived.sources (whichever of them has content), as TYPE (deb or deb-src), with the release's
# name in the suites replaced by TO (empty: left as it is). All options, mirrors and keys stay as they
# are in the machine's own entries, so nothing here has to know a host.
derive_sources() {
  local type=$1 to=$2 dir=$3 file
  local origins parts=/etc/apt/sources.list.d
  origins=$(debian_origins)
  : >"$dir/derived.list"
  : >"$dir/derived.sources"
  for file in /etc/apt/sources.list "$parts"/*.list; do
    if [ -r "$file" ] && [ "${file##*/}" != legato-fs-trixie.list ]; then
      ORIGINS=$origins awk -v type="$type" -v to="$to" "$DERIVE_COMMON $DERIVE_LIST" "$file" >>"$dir/derived.list"
    fi
  done
  for file in "$parts"/*.sources; do
    if [ -r "$file" ] && [ "${file##*/}" != legato-fs-trixie.sources ]; then
      ORIGINS=$origins awk -v type="$type" -v to="$to" "$DERIVE_COMMON $DERIVE_DEB822" "$file" >>"$dir/derived.sources"
    fi
  done
  for file in "$dir/derived.list" "$dir/derived.sources"; do
    [ -s "$file" ] || rm -f "$file"
  done
  [ -e "$dir/derived.list" ] || [ -e "$dir/derived.sources" ]
}

# Both programs work on mawk, which is all that a fresh Debian has.
# shellcheck disable=SC2016,SC2089
DERIVE_COMMON='
BEGIN {
  n = split(ENVIRON["ORIGINS"], lines, "\n")
  for (i = 1; i <= n; i++) if (split(lines[i], w, " ") == 2) known[w[1], w[2]] = any = 1
}
# The suite to write for (uri, suite), or "" if that is none of ours.
function derived(uri, suite,   dir) {
  if (suite ~ /backports|proposed|experimental|debug/) return ""
  dir = uri
  sub(/\/*$/, "/", dir)
  if (any) { if (!((dir, suite) in known)) return "" }
  else if (suite !~ /^(bookworm|trixie|forky|sid|oldstable|stable|testing|unstable)/) return ""
  if (to != "" && !sub(/^(bookworm|oldstable|stable)/, to, suite)) return ""
  return suite
}'
# shellcheck disable=SC2016
DERIVE_LIST='
/^[ \t]*deb[ \t]/ {
  line = $0
  sub(/^[ \t]*deb[ \t]+/, "", line)
  options = ""
  if (match(line, /^\[[^]]*\][ \t]*/)) {
    options = substr(line, 1, RLENGTH)
    line = substr(line, RLENGTH + 1)
  }
  sub(/#.*/, "", line)
  n = split(line, word, " ")
  suite = derived(word[1], word[2])
  if (n < 3 || suite == "") next
  printf "%s %s%s %s", type, options, word[1], suite
  for (i = 3; i <= n; i++) printf " %s", word[i]
  print ""
}'
# shellcheck disable=SC2016
DERIVE_DEB822='
function flush_stanza(   i, j, u, s, nu, ns, uris, suites, new, types, usable) {
  types = " " value["types"] " "
  usable = types ~ /[ \t]deb[ \t]/ && tolower(value["enabled"]) !~ /^(no|false|off|0)$/
  if (usable) {
    nu = split(value["uris"], u, " ")
    ns = split(value["suites"], s, " ")
    uris = suites = ""
    for (j = 1; j <= ns; j++) {
      new = ""
      for (i = 1; i <= nu && new == ""; i++) new = derived(u[i], s[j])
      if (new != "") suites = suites " " new
    }
    for (i = 1; i <= nu; i++) uris = uris " " u[i]
    if (suites != "") {
      for (i = 1; i <= fields; i++) {
        if (name[i] == "types") print "Types: " type
        else if (name[i] == "uris") print "URIs:" uris
        else if (name[i] == "suites") print "Suites:" suites
        else print text[i]
      }
      print ""
    }
  }
  fields = 0
  split("", value); split("", name); split("", text)
}
/^#/ { next }
/^[ \t]*$/ { flush_stanza(); next }
/^[ \t]/ { text[fields] = text[fields] "\n" $0; value[name[fields]] = value[name[fields]] " " $0; next }
{
  fields++
  name[fields] = tolower(substr($0, 1, index($0, ":") - 1))
  value[name[fields]] = substr($0, index($0, ":") + 1)
  gsub(/^[ \t]+|[ \t]+$/, "", value[name[fields]])
  text[fields] = $0
}
END { flush_stanza() }'

# deb_source PACKAGE DIR: downloads the Debian source package and unpacks it (patches applied) as DIR,
# which must not exist. Some mirrors lack parts of source packages: where only the upstream tarball can
# be had, that is unpacked, and said. Works as an ordinary user and leaves the machine's apt configuration
# alone: the deb-src entries and package lists are private, under build/cache (LEGATO_CACHE chooses
# another folder), where the downloads stay for the next call.
deb_source() (
  set -euo pipefail
  package=$1
  dir=$2
  cache=${LEGATO_CACHE:-$LEGATO_ROOT/build/cache}
  got=$cache/src/$package
  [ ! -e "$dir" ] || die "deb_source: $dir exists already"
  mkdir -p "$cache/apt/lists/partial" "$cache/apt/archives/partial" "$cache/apt/sources" "$cache/src"
  exec 9>"$cache/apt/lock"
  flock 9 # two tests may ask at the same time
  [ -e "$got/complete" ] || download_source "$package" "$cache" 9>&-
  dsc=$(compgen -G "$got/*.dsc" | head -n 1) || true
  # Apt has checked the download against the signed list already, so no keyring is needed here.
  if [ -n "$dsc" ]; then
    dpkg-source --no-check -x "$dsc" "$dir" >"$got/log" 2>&1
  else
    note "deb_source: of $package only the upstream tarball could be had, without Debian's patches"
    mkdir "$dir" && tar -xf "$(compgen -G "$got/*.tar.*" | head -n 1)" -C "$dir" --strip-components=1 >"$got/log" 2>&1
  fi || die "deb_source: can't unpack $package: $(tail -n 1 "$got/log")"
)

download_source() { # PACKAGE CACHE
  local package=$1 cache=$2 log=$2/apt/log
  derive_sources deb-src '' "$cache/apt/sources" || die 'deb_source: no Debian entry in the apt sources'
  # Root's apt downloads as the user _apt, who can't enter a private folder; so it keeps its own user.
  cat >"$cache/apt/apt.conf" <<END
Dir::State::lists "$cache/apt/lists";
Dir::Cache "$cache/apt";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$cache/apt/sources";
Acquire::Retries "2";
Acquire::Languages "none";
APT::Sandbox::User "$(id -un)";
END
  export APT_CONFIG=$cache/apt/apt.conf
  # An entry that has no sources is no failure as long as another one has the package.
  apt-get -qq update >"$log" 2>&1 || true
  local part
  for part in --download-only --tar-only; do
    rm -rf "$cache/src/$package"
    mkdir "$cache/src/$package"
    if (cd "$cache/src/$package" && apt-get -q source --download-only "$part" "$package" >>"$log" 2>&1); then
      touch "$cache/src/$package/complete"
      return 0
    fi
  done
  grep -E '^(E|Err)' "$log" | sort -u | head -n 5 >&2 || true
  die "deb_source: can't download the source of $package (log: $log)"
}

# ---------------------------------------------------------------- building

# build_dir NAME [MESON-OPTION…]: sets up and compiles build/NAME; quiet unless something is wrong.
# A folder that was set up with other options, or that meson refuses (the checkout was moved, meson was
# upgraded), is made anew.
build_dir() {
  local name=$1 dir=$LEGATO_ROOT/build/$1 status=0
  shift
  mkdir -p "$LEGATO_ROOT/build"
  [ -w "$LEGATO_ROOT/build" ] || die "can't write to $LEGATO_ROOT/build: it belongs to $(stat -c %U "$LEGATO_ROOT/build")"
  exec 8>"$LEGATO_ROOT/build/.$name.lock"
  flock 8 # two runs at the same time would write the same files
  configure_dir "$dir" "$*" "$@" 8>&- && ninja -C "$dir" --quiet 8>&- || status=1
  exec 8>&-
  return "$status"
}

configure_dir() { # DIR STAMP [MESON-OPTION…]
  local dir=$1 stamp=$2 log=$1.setup.log
  shift 2
  if [ "$(cat "$dir/.legato-options" 2>/dev/null)" = "$LEGATO_ROOT $stamp" ] &&
    ninja -C "$dir" --quiet build.ninja >"$log" 2>&1; then
    return 0
  fi
  rm -rf "$dir"
  if ! meson setup "$@" "$dir" "$LEGATO_ROOT" >"$log" 2>&1; then
    tail -n 6 "$log" >&2
    return 1
  fi
  printf '%s\n' "$LEGATO_ROOT $stamp" >"$dir/.legato-options"
}

# ---------------------------------------------------------------- the machine

# Makes /dev/fuse usable for everybody, as it is wherever udev runs. As root; says what it changes.
open_dev_fuse() {
  if [ ! -e /dev/fuse ]; then
    if have modprobe; then modprobe fuse 2>/dev/null || true; fi
    [ -e /dev/fuse ] || mknod -m 0666 /dev/fuse c 10 229 ||
      die "there is no /dev/fuse and it can't be made: is this a container? (docker run --device /dev/fuse)"
    note '/dev/fuse was missing: made it.'
  fi
  if [ "$(stat -c %a /dev/fuse)" != 666 ]; then
    note "/dev/fuse had mode 0$(stat -c %a /dev/fuse), open to root only: it is 0666 now, as udev makes it."
    chmod 0666 /dev/fuse
  fi
}

# fusermount3 unmounts nothing where /etc/mtab is missing, and a root that nothing has booted yet (debootstrap,
# a bare container) has none. As root; says what it changes.
make_mtab() {
  if [ -e /etc/mtab ]; then return 0; fi
  ln -sf ../proc/self/mounts /etc/mtab
  note '/etc/mtab was missing, without which fusermount3 unmounts nothing: made it, a link to /proc/self/mounts.'
}
