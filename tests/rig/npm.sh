# Sourced: . npm.sh PACKAGE VERSION
# A package of npm, kept under target/ and not on the machine. Sets `modules`, the directory for NODE_PATH; `fetch` gets it
# where that is not done yet.
# shellcheck shell=bash
package=$1 version=$2
target=$(readlink -m "${CARGO_TARGET_DIR:-$rig/../../target}")
root=$target/$package-$version
modules=$root/node_modules

fetch() {
  local half=$root.half log=$root.log
  mkdir -p "$target"
  # One at a time. What a killed one has left is not taken for the whole.
  exec 9<"$target"
  flock 9
  if [ -e "$root" ]; then return; fi
  rm -rf "$half"
  mkdir "$half"
  echo "setup: fetching $package $version (log: $log)"
  npm install --prefix "$half" --no-audit --no-fund --ignore-scripts "$package@$version" >"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    echo "setup: $package $version could not be fetched from npm's registry" >&2
    exit 1
  }
  mv "$half" "$root"
}
