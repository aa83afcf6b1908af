#!/usr/bin/env bash
# Runs `dlo demo` with a private RabbitMQ node until Ctrl-C; then both are stopped and the node's data is deleted.
set -euo pipefail
rig=$(dirname "$(readlink -f "$0")")
target=${CARGO_TARGET_DIR:-target}

echo "demo: building dlo, not optimised; the first time this takes some minutes, and cargo shows how far it is"
cargo build --profile demo --bin dlo
mkdir -p "$target"
data=$(mktemp -d "$target/demo-XXXXXX")

# The coprocess's input is the leash: should this script be killed, all ends. In a session of its own it does not get
# the Ctrl-C itself, only the one SIGTERM passed on below: dlo takes a second signal for "at once".
exec 3>&1
# shellcheck disable=SC2034 # of the coprocess only the process id is used
coproc world { exec setsid "$rig/leash.sh" --grace 20 --remove "$data" "$rig/demo-world.sh" "$data" >&3 3>&-; }
# shellcheck disable=SC2154 # set by coproc
leash=$world_PID
trap 'kill -TERM "$leash" 2>/dev/null' INT TERM

# A trapped signal ends the wait too, before the leash has ended.
while kill -0 "$leash" 2>/dev/null; do
  status=0
  wait "$leash" || status=$?
done
exit "$status"
