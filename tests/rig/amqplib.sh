#!/usr/bin/env bash
# The AMQP client of Node that the tests use. Debian has no package of it.
#   amqplib.sh path     prints the directory for NODE_PATH
#   amqplib.sh fetch    gets it where that is not done yet
set -euo pipefail
rig=$(dirname "$(readlink -f "$0")")
# shellcheck source=SCRIPTDIR/npm.sh
. "$rig/npm.sh" amqplib 2.3.1

case ${1:-} in
  path) echo "$modules" ;;
  fetch) fetch ;;
  *) echo "usage: $0 path | fetch" >&2; exit 2 ;;
esac
