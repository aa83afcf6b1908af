#!/usr/bin/env bash
# axe-core, which looks for what keeps people from using a page, for the tests of pages.
#   axe.sh path     prints the directory of its package
#   axe.sh fetch    gets it where that is not done yet
set -euo pipefail
rig=$(dirname "$(readlink -f "$0")")
# shellcheck source=SCRIPTDIR/npm.sh
. "$rig/npm.sh" axe-core 4.14.1

case ${1:-} in
  path) echo "$modules" ;;
  fetch) fetch ;;
  *) echo "usage: $0 path | fetch" >&2; exit 2 ;;
esac
