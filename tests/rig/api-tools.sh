#!/usr/bin/env bash
# What the tests ask about the API's description: validators, generators of clients, and schemathesis. No distribution has
# them at these versions: pip and npm put them into target/, not on the machine.
#   api-tools.sh path     prints the directory they are in
#   api-tools.sh fetch    gets them where that is not done yet
set -euo pipefail
rig=$(dirname "$(readlink -f "$0")")
python=(schemathesis==4.32.5 openapi-spec-validator==0.9.0 openapi-python-client==0.29.1)
node=(openapi-typescript@7.13.0 typescript@5.9.3 openapi-fetch@0.17.0)
versions=$(printf '%s\n' "${python[@]}" "${node[@]}" | cksum | cut -d ' ' -f 1)
target=$(readlink -m "${CARGO_TARGET_DIR:-$rig/../../target}")
root=$target/api-tools-$versions

fetch() {
  local log=$root.log
  mkdir -p "$target"
  # One at a time. A virtual environment cannot be moved, so a mark says that it is whole.
  exec 9<"$target"
  flock 9
  if [ -e "$root/whole" ]; then return; fi
  rm -rf "$root"
  mkdir "$root"
  echo "setup: fetching what asks about the API (log: $log)"
  {
    "$("$rig/find.sh" python)" -m venv "$root/python" &&
      "$root/python/bin/pip" install --quiet --disable-pip-version-check "${python[@]}" &&
      npm install --prefix "$root" --no-audit --no-fund --ignore-scripts "${node[@]}"
  } >"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    echo "setup: ${python[*]} ${node[*]} could not be fetched from the registries of Python and npm" >&2
    exit 1
  }
  touch "$root/whole"
}

case ${1:-} in
  path) echo "$root" ;;
  fetch) fetch ;;
  *) echo "usage: $0 path | fetch" >&2; exit 2 ;;
esac
