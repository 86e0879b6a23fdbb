#!/bin/bash
# Layers that others wrote: whiteouts and opaque marks of three kinds, by hand,
# in lowers and in the upper, and by the kernel's overlayfs; what is then changed
# over them is what the kernel's overlayfs shows of the same layers.
. "$(dirname "$0")/../../lib/lib.sh"
[ "$serve" = legato ] || skip_all 'needs legato-fs'
if ! is_root; then skip_all 'making devices and mounting the overlayfs needs root here'; fi
needs_view

cd "$work" || exit 1
mnt=$work/m
mkdir m k
mounts+=("$mnt" "$work/k")
drop() { timeout 20 "$LEGATO_FS" -o "$1" "$mnt" </dev/null; }
names() { (cd "$1" && find . -mindepth 1 | LC_ALL=C sort | paste -sd' '); }
tree() { tree_of "$1" without=links,dirtime | tail -n +2; }

# What each kind hides, in a layer over `l`: the file `gone`, the folder
# `gone.d`, and what the folders `o` and `o/deep` had.
make_lower() {
  rm -rf l && mkdir -p l/{gone.d,o/deep,stays}
  echo l | tee l/gone l/gone.d/f l/o/old l/o/deep/old l/stays/f >l/top
}
make_marks() { # KIND DIR
  mkdir -p "$2/o/deep"
  echo new | tee "$2/o/deep/new" >"$2/o/new"
  case $1 in
    device)
      mknod "$2/gone" c 0 0 && mknod "$2/gone.d" c 0 0
      setfattr -n trusted.overlay.opaque -v y "$2/o"
      ;;
    user-attribute)
      mknod "$2/gone" c 0 0 && mknod "$2/gone.d" c 0 0
      setfattr -n user.overlay.opaque -v y "$2/o"
      ;;
    empty-file)
      touch "$2/gone" "$2/gone.d"
      setfattr -n trusted.overlay.whiteout -v y "$2/gone"
      setfattr -n trusted.overlay.whiteout -v y "$2/gone.d"
      setfattr -n trusted.overlay.opaque -v x "$2"
      setfattr -n trusted.overlay.opaque -v y "$2/o"
      ;;
    wh) touch "$2/.wh.gone" "$2/.wh.gone.d" "$2/o/.wh..wh..opq" ;;
    fuse-overlayfs)
      touch "$2/.wh.gone" "$2/.wh.gone.d"
      setfattr -n user.fuseoverlayfs.opaque -v y "$2/o"
      ;;
  esac
}
shown='./o ./o/deep ./o/deep/new ./o/new ./stays ./stays/f ./top'

for kind in device user-attribute empty-file wh fuse-overlayfs; do
  for where in lower middle upper; do
    make_lower
    rm -rf mid up w over && mkdir mid up w over
    case $where in
      lower) make_marks "$kind" mid && options=lowerdir=mid:l ;;
      middle) make_marks "$kind" mid && options=lowerdir=over:mid:l,upperdir=up,workdir=w ;;
      upper) make_marks "$kind" up && options=lowerdir=l,upperdir=up,workdir=w ;;
    esac
    if ! drop "$options"; then
      not_ok "$kind, $where: mount"
      continue
    fi
    same "$kind, $where: what is hidden" "$shown" "$(names m)"
    check "$kind, $where: by name, too" sh -c 'for i in gone gone.d o/old o/deep/old .wh.gone o/.wh..wh..opq; do test ! -e m/$i || exit 1; done'
    if [ "$where" = lower ]; then
      unmount "$mnt"
      continue
    fi
    if [ "$kind, $where" = 'fuse-overlayfs, middle' ]; then
      touch m/o/made
      unmount "$mnt"
      drop "$options"
      check "$kind, $where: a change hides nothing" test -e m/o/new
      unmount "$mnt"
      continue
    fi
    check "$kind, $where: changes" sh -ec 'cd m
      echo again >gone
      mkdir gone.d && echo x >gone.d/g
      echo back >o/old
      mv o/deep moved
      mkdir o/deep && echo y >o/deep/z
      rm -r stays && mkdir stays
      ln top top2 && rm top
      mv top2 o/top'
    tree m >before
    same "$kind, $where: after them" './gone ./gone.d ./gone.d/g ./moved ./moved/new ./o ./o/deep ./o/deep/z ./o/new ./o/old ./o/top ./stays' "$(names m)"
    unmount "$mnt"
    drop "$options"
    tree m >after
    same_files "$kind, $where: mounted again" before after
    unmount "$mnt"
  done
done

# The kernel writes, we read and change, the kernel reads: with user attributes,
# which are ours.
make_lower
rm -rf up w && mkdir up w
mount -t overlay legato-test -o userxattr,lowerdir=l,upperdir=up,workdir=w k
(cd k && rm gone && rm -r gone.d o && mkdir o && echo kernel >o/k && echo more >>stays/f && mv top moved)
tree k >kernel
unmount "$work/k"
check 'what the kernel wrote: mount' drop lowerdir=l,upperdir=up,workdir=w
tree m >ours
same_files 'is what it showed' kernel ours
(cd m && rm o/k && echo x >o/old && rm -r stays && mkdir stays && echo y >stays/y && echo z >gone && mkdir -p gone.d/f && rm moved)
tree m >ours
unmount "$mnt"
check 'and back' mount -t overlay legato-test -o userxattr,lowerdir=l,upperdir=up,workdir=w k
tree k >kernel
same_files 'the kernel shows what we showed' ours kernel
unmount "$work/k"

# A redirected folder in what was an upper and now is a lower.
make_lower
rm -rf up w up2 && mkdir up w up2
drop lowerdir=l,upperdir=up,workdir=w
(cd m && mv o renamed && mv renamed/deep stays/deeper && echo n >renamed/n)
tree m >before
unmount "$mnt"
check 'a redirect in a lower' drop lowerdir=up:l,upperdir=up2,workdir=w
tree m >after
same_files "is followed" before after
(cd m && mv renamed twice && echo 2 >twice/n2 && mv stays/deeper twice/deepest)
names m >before
unmount "$mnt"
check 'and one over it' drop lowerdir=up2:up:l
names m >after
same_files "too" before after
unmount "$mnt"

# -------------------------------------------- what the kernel writes as root

# Redirects, absolute and relative, and files that have their attributes only,
# in trusted.* attributes: as a lower, and as a lower below another of that kind.
kernel_layer() { # LOWERS UPPER: changes made by the kernel's overlayfs
  rm -rf w "$2" && mkdir w "$2"
  mount -t overlay legato-test -o "redirect_dir=on,metacopy=on,lowerdir=$1,upperdir=$2,workdir=w" k
}
make_lower
head -c 100000 /dev/urandom >l/big
head -c 5000 /dev/urandom >l/o/deep/mid
if kernel_layer l up; then
  (cd k && chmod 0640 big && touch -d @1000000000 o/deep/mid && mv o/deep o/deeper && mv o stays/o && mv big stays/big2 && mv stays/f stays/g && chmod 604 top)
  unmount "$work/k"
  same 'the kernel has left data where it was' 1 "$(find up -name big2 -printf '%b\n' | awk '$1 < 100' | wc -l)"
  kernel_layer up:l up2
  (cd k && mv stays/o back && chmod 0600 stays/big2 && mv stays/big2 big3 && mkdir o && echo o >o/o && echo more >>back/deeper/mid)
  tree k >kernel
  unmount "$work/k"
  check 'layers of the kernel: mount' drop lowerdir=up2:up:l
  tree m >ours
  same_files 'are shown as the kernel shows them' kernel ours
  unmount "$mnt"
  rm -rf up3 w && mkdir up3 w
  check 'with an upper' drop lowerdir=up2:up:l,upperdir=up3,workdir=w
  cp -a m/big3 big3
  check 'attributes of such a file' chmod 0444 m/big3
  check 'it keeps its data' cmp big3 m/big3
  check 'renamed again' mv m/back m/stays/again
  echo last >>m/stays/again/deeper/mid
  ln m/big3 m/big4
  tree m >before
  unmount "$mnt"
  check 'mounted again' drop lowerdir=up2:up:l,upperdir=up3,workdir=w
  tree m >after
  same_files 'all of it is there' before after
  unmount "$mnt"
  mv l/big l/lost
  check 'the data is gone: mount' drop lowerdir=up2:up:l
  check 'EIO, not zeros' sh -c 'cat m/big3 2>&1 | grep -q "Input/output error"'
  check 'the rest works' grep -q o m/o/o
  unmount "$mnt"
  mv l/lost l/big
  if [ -n "${LEGATO_TEST_USER:-}" ]; then
    as_user() { setpriv --reuid "$LEGATO_TEST_USER" --regid "$(id -g "$LEGATO_TEST_USER")" --init-groups "$@"; }
    chmod 755 . l up && chmod -R a+rX l up && mkdir -p mu && chown "$LEGATO_TEST_USER" mu
    mounts+=("$work/mu")
    check "somebody who can't see trusted.*: mount" as_user timeout 20 "$LEGATO_FS" -o lowerdir=up:l "$work/mu"
    check 'EIO, not zeros' as_user sh -c 'cat mu/top 2>&1 | grep -q "Input/output error"'
    unmount "$work/mu"
  fi
else
  skip 'layers of the kernel' 'it does not do redirects or metacopy here'
fi

# ---------------------------------------------------------------- many layers

rm -rf many up w && mkdir -p up w $(seq -f 'many/%g' 500)
for ((i = 1; i <= 500; i++)); do
  echo "$i" >"many/$i/f"
  echo "$i" >"many/$i/f$((i % 10))"
done
mkdir many/500/d many/3/d && touch many/500/d/low many/3/d/high
check '500 lowers' drop "lowerdir=$(seq -f 'many/%g' -s : 500),upperdir=up,workdir=w"
same 'the topmost counts' '1 10 9' "$(cat m/f m/f0 m/f9 | paste -sd' ')"
same 'folders merge' 'high low' "$(ls m/d | paste -sd' ')"
check 'they can be changed' sh -c 'echo x >m/f && rm m/f0 && test ! -e m/f0 && mv m/d m/e && test -e m/e/low'
unmount "$mnt"

# ------------------------------------------------------------------ shown owners

make_lower
rm -rf up w && mkdir up w
chown 5:6 l/top && chown 5000:5000 l/gone
owner() { stat -c %u:%g "$1"; }
check 'uidmapping: mount' drop uidmapping=:0:100000:1000,gidmapping=0:200000:1000,lowerdir=l,upperdir=up,workdir=w
same "the disk's number comes first" 100005:200006 "$(owner m/top)"
same 'outside all ranges: nobody' 65534:65534 "$(owner m/gone)"
check 'chown' chown 100007:200008 m/top
same 'on the disk' 7:8 "$(owner up/top)"
check 'a user in the range' chmod 777 m/stays
check 'makes a file' setpriv --reuid 100009 --regid 200009 --clear-groups touch m/stays/mine
same 'which is shown as his' 100009:200009 "$(owner m/stays/mine)"
same "and is the container's on the disk" 9:9 "$(owner up/stays/mine)"
unmount "$mnt"
for how in squash_to_root=0:0 squash_to_uid=12:0=12 squash_to_gid=13:=13; do
  case $how in
    squash_to_root*) option=squash_to_root wanted=0:0 ;;
    squash_to_uid*) option=squash_to_uid=12 wanted=12:6 ;;
    *) option=squash_to_gid=13 wanted=5:13 ;;
  esac
  drop "$option,lowerdir=l"
  same "$option" "$wanted" "$(owner m/top)"
  unmount "$mnt"
done
finish
