#!/usr/bin/env bash
# The AMQP client of Node that the tests use. Debian has no package of it: npm puts it into target/, not on the machine.
#   amqplib.sh path     prints the directory for NODE_PATH
#   amqplib.sh fetch    gets it where that is not done yet
set -euo pipefail
rig=$(dirname "$(readlink -f "$0")")
version=2.3.1
target=$(readlink -m "${CARGO_TARGET_DIR:-$rig/../../target}")
root=$target/amqplib-$version

fetch() {
  local half=$root.half log=$root.log
  mkdir -p "$target"
  # One at a time. What a killed one has left is not taken for the whole.
  exec 9<"$target"
  flock 9
  if [ -e "$root" ]; then return; fi
  rm -rf "$half"
  mkdir "$half"
  echo "setup: fetching amqplib $version (log: $log)"
  npm install --prefix "$half" --no-audit --no-fund --ignore-scripts "amqplib@$version" >"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    echo "setup: amqplib $version could not be fetched from npm's registry" >&2
    exit 1
  }
  mv "$half" "$root"
}

case ${1:-} in
  path) echo "$root/node_modules" ;;
  fetch) fetch ;;
  *) echo "usage: $0 path | fetch" >&2; exit 2 ;;
esac
