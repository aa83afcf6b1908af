#!/usr/bin/env bash
# Prints the directory of a program that is built from its source where it is not there yet, in the version named here:
#   tool.sh cargo-deb|cargo-deny|cargo-cyclonedx
# It is kept under target/tools. This takes minutes, so only what uses it asks for it.
set -euo pipefail
rig=$(dirname "$(readlink -f "$0")")
case ${1:-} in
  cargo-deb) version=3.8.0 ;;
  cargo-deny) version=0.20.2 ;;
  cargo-cyclonedx) version=0.5.9 ;;
  *) echo "usage: $0 cargo-deb|cargo-deny|cargo-cyclonedx" >&2; exit 2 ;;
esac
target=$(readlink -m "${CARGO_TARGET_DIR:-$rig/../../target}")
root=$target/tools/$1-$version
if [ ! -x "$root/bin/$1" ]; then
  echo "setup: building $1 $version" >&2
  # It runs for seconds and is built for minutes.
  CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
    cargo install --quiet --locked --root "$root" --target-dir "$target/tools/build" "$1@$version" >&2
  rm -rf "$target/tools/build"
fi
echo "$root/bin"
