#!/usr/bin/env bash
# The inside of demo.sh, on its leash: starts the node in DIR, then becomes `dlo demo`. Its end is the end of all.
set -euo pipefail
rig=$(dirname "$(readlink -f "$0")")
node_output=$1/node.output

"$rig/rabbitmq.sh" "$1/rabbitmq" >"$node_output" &
node=$!
echo "demo: starting a private RabbitMQ in $1; it takes some seconds"
until grep -qsx READY "$node_output"; do
  kill -0 "$node" 2>/dev/null || exit 1
  sleep 0.1
done
# shellcheck source=/dev/null
. "$1/rabbitmq/node.env"
echo "demo: RabbitMQ is up; dlo opens its database and says where its pages are"
# Nothing is configured but this node: the brokers and the channels of whoever runs it are not the demo's.
unset "${!DLO_@}"
export DLO_BROKERS__MAIN__URL=$AMQP_URL DLO_BROKERS__MAIN__MANAGEMENT_URL=$MANAGEMENT_URL
exec "${CARGO_TARGET_DIR:-target}/demo/dlo" --config /dev/null demo
