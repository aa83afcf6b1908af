#!/usr/bin/env bash
# Runs rabbitmqctl on the private node whose data is in DIR: rabbitmqctl.sh DIR COMMAND…
set -euo pipefail
rig=$(dirname "$(readlink -f "$0")")
dir=$1
# shellcheck source=/dev/null
. "$dir/environment"
shift
exec "$rig/release.sh" run "$dir" rabbitmqctl --node "$RABBITMQ_NODENAME" "$@"
