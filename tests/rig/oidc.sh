#!/usr/bin/env bash
# An OpenID provider, certified by the OpenID Foundation, for the tests of sign-in. npm puts it into target/, not on the
# machine.
#   oidc.sh path      prints the directory for NODE_PATH
#   oidc.sh fetch     gets it where that is not done yet
#   oidc.sh serve DLO runs one that signs people in to dlo at that address; prints ISSUER=… and READY
set -euo pipefail
rig=$(dirname "$(readlink -f "$0")")
version=9.13.3
target=$(readlink -m "${CARGO_TARGET_DIR:-$rig/../../target}")
root=$target/oidc-provider-$version

fetch() {
  local half=$root.half log=$root.log
  mkdir -p "$target"
  # One at a time. What a killed one has left is not taken for the whole.
  exec 9<"$target"
  flock 9
  if [ -e "$root" ]; then return; fi
  rm -rf "$half"
  mkdir "$half"
  echo "setup: fetching oidc-provider $version (log: $log)"
  npm install --prefix "$half" --no-audit --no-fund --ignore-scripts "oidc-provider@$version" >"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    echo "setup: oidc-provider $version could not be fetched from npm's registry" >&2
    exit 1
  }
  mv "$half" "$root"
}

case ${1:-} in
  path) echo "$root/node_modules" ;;
  fetch) fetch ;;
  serve) NODE_PATH=$root/node_modules exec "$("$rig/find.sh" node)" "$rig/clients/oidc_provider.js" "$2" ;;
  *) echo "usage: $0 path | fetch | serve DLO" >&2; exit 2 ;;
esac
