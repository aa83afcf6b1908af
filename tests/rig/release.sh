#!/usr/bin/env bash
# The RabbitMQ that the rig runs: the one on this machine or, where DLO_TEST_RABBITMQ names a version, the one of another
# Debian release, unpacked to target/rabbitmq-VERSION. It needs no root, and nothing of it is installed.
#   release.sh root               prints the directory that holds it; the empty string for this machine
#   release.sh sees DIR           prints where its commands find DIR
#   release.sh run DIR COMMAND…   becomes one of its commands, in DIR; of the files of this machine it may find only these
#   release.sh build              unpacks it where that is not done yet
set -euo pipefail
rig=$(dirname "$(readlink -f "$0")")
version=${DLO_TEST_RABBITMQ:-}
case $version in
  '') suite='' ;;
  4.0) suite=trixie ;;
  4.3) suite=sid ;;
  *) echo "rig: there is no RabbitMQ $version to test with; 4.0 and 4.3 there are" >&2; exit 2 ;;
esac
target=$(readlink -m "${CARGO_TARGET_DIR:-$rig/../../target}")
root=${version:+$target/rabbitmq-$version}
seen_as=/rig

# A user who is not root may mount in a user namespace of his own. There he is called root; the processes stay his.
namespaces=(--mount --propagation private)
if [ "$(id -u)" != 0 ]; then namespaces+=(--user --map-root-user); fi

# The mounts are seen by the command alone and end with it.
run() { # DIR COMMAND…
  # shellcheck disable=SC2016 # expanded by that shell
  exec unshare "${namespaces[@]}" sh -euc '
    root=$1 seen_as=$2 dir=$3
    shift 3
    mount --rbind /proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --rbind "$dir" "$root$seen_as"
    PATH=$PATH:/usr/sbin LC_ALL=C.UTF-8 exec chroot "$root" env --chdir="$seen_as" "$@"' sh "$root" "$seen_as" "$@"
}

may_mount() { unshare "${namespaces[@]}" mount --rbind /proc /proc 2>/dev/null; }

# Where this machine gets Debian's packages from. Empty on others than Debian: mmdebstrap then takes Debian's own place.
mirror() {
  apt-get indextargets --format "\$(REPO_URI)" 'Origin: Debian' 'Label: Debian' 2>/dev/null | sort -u | head -n 1
}

# Unpacks, but runs no script of a package. Lists may be older than their date allows, as those of sid are where a mirror
# lags behind; they are still signed.
unpack() { # DIR
  local mirror
  mirror=$(mirror)
  mmdebstrap --mode=chrootless --variant=extract --include=base-files,dash,coreutils,grep,sed,rabbitmq-server \
    --aptopt='Apt::Install-Recommends "false"' --aptopt='Acquire::Check-Valid-Until "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    "$suite" "$1" ${mirror:+"$mirror"} || return 1
  echo '127.0.0.1 localhost' >"$1/etc/hosts"
  mkdir "$1$seen_as"
}

is_of_this_version() { compgen -G "$1/usr/lib/rabbitmq/lib/rabbitmq_server-$version.*" >/dev/null; }

give_up() { echo "setup: $*" >&2; exit 1; }

build() {
  local half=$root.half log=$root.log
  may_mount || give_up "RabbitMQ $version needs mounts of its own, which only root may make here: please run it as root"
  mkdir -p "$target"
  # One at a time. What a killed one has left is not taken for the whole.
  exec 9<"$target"
  flock 9
  if [ -e "$root" ]; then return; fi
  rm -rf "$half"
  echo "setup: unpacking RabbitMQ $version of Debian $suite (log: $log)"
  unpack "$half" >"$log" 2>&1 || { tail -n 5 "$log" >&2; give_up "RabbitMQ $version could not be unpacked"; }
  is_of_this_version "$half" || give_up "Debian $suite has another RabbitMQ than $version by now"
  mv "$half" "$root"
}

case ${1:-} in
  root) echo "$root" ;;
  sees) if [ -n "$root" ]; then echo "$seen_as"; else echo "$2"; fi ;;
  run) shift; if [ -n "$root" ]; then run "$@"; else cd "$1"; shift; exec "$@"; fi ;;
  build) if [ -n "$root" ]; then build; fi ;;
  *) echo "usage: $0 root | sees DIR | run DIR COMMAND... | build" >&2; exit 2 ;;
esac
