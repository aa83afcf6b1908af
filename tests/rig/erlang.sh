#!/usr/bin/env bash
# Has the private node whose data is in DIR evaluate what comes in, a line of Erlang, and prints {ok, RESULT}: erlang.sh DIR
# `rabbitmqctl eval` does the same, with an Erlang of its own that takes a hundred times as long to start.
set -euo pipefail
rig=$(dirname "$(readlink -f "$0")")
dir=$1
# shellcheck source=/dev/null
. "$dir/environment"
# A name of its own: it goes by that of its user otherwise, and a node takes one connection of each name.
exec "$rig/release.sh" run "$dir" erl_call -h "eval-$$" -n "$RABBITMQ_NODENAME" -c "$(<"$dir/home/.erlang.cookie")" -e
