#!/usr/bin/env bash
# Runs rabbitmqctl on the private node whose data is in DIR: rabbitmqctl.sh DIR COMMAND…
set -euo pipefail
# shellcheck source=/dev/null
. "$1/environment"
shift
exec rabbitmqctl --node "$RABBITMQ_NODENAME" "$@"
