#!/usr/bin/env bash
# Runs a private RabbitMQ node in the foreground, on free ports of loopback only, Erlang's own included.
#   rabbitmq.sh DIR [--tls] [--set 'key = value']… [--dead-letter-again MS]      meant to be run by leash.sh
# --dead-letter-again: how soon at-least-once dead-lettering tries again, instead of after three minutes.
# When the node is ready, prints how to reach it as KEY=value lines and then READY; DIR/node.env keeps the same lines.
# DLO_TEST_RABBITMQ chooses another RabbitMQ than the one that is installed, see release.sh.
# On SIGTERM the node stops in order. Run again with the same DIR, it comes back with its data and on its old ports.
set -euo pipefail
rig=$(dirname "$(readlink -f "$0")")
# shellcheck source=SCRIPTDIR/ports.sh
. "$rig/ports.sh"

mkdir -p "$1"
dir=$(readlink -f "$1") tls=no settings=() again=180000
shift
while [ $# -gt 0 ]; do
  case $1 in
    --tls) tls=yes; shift ;;
    --set) settings+=("$2"); shift 2 ;;
    --dead-letter-again) again=$2; shift 2 ;;
    *) echo "usage: $0 DIR [--tls] [--set 'key = value']... [--dead-letter-again MS]" >&2; exit 2 ;;
  esac
done

mkdir -p "$dir"/{data,home,log}
[ -e "$dir/ports" ] || free_ports 6 >"$dir/ports"
mapfile -t ports <"$dir/ports"
amqp=${ports[0]} amqps=${ports[1]} management=${ports[2]} prometheus=${ports[3]} dist=${ports[4]} epmd=${ports[5]}
root=$("$rig/release.sh" root)
server=$("$rig/find.sh" rabbitmq-server) || {
  echo "rig: RabbitMQ${DLO_TEST_RABBITMQ:+ $DLO_TEST_RABBITMQ} is not here${root:+, in $root}; run" \
    "${DLO_TEST_RABBITMQ:+DLO_TEST_RABBITMQ=$DLO_TEST_RABBITMQ }$rig/setup.sh rabbitmq" >&2
  exit 1
}
# Paths as the node knows them.
server=${server#"$root"} seen=$("$rig/release.sh" sees "$dir")

write_config() {
  cat <<CONF
listeners.tcp.1 = 127.0.0.1:$amqp
management.tcp.ip = 127.0.0.1
management.tcp.port = $management
prometheus.tcp.ip = 127.0.0.1
prometheus.tcp.port = $prometheus
default_user = guest
default_pass = guest
vm_memory_high_watermark.relative = 0.4
log.console = false
log.file = rabbit.log
log.file.level = info
CONF
  if [ "$tls" = yes ]; then
    cat <<CONF
listeners.ssl.1 = 127.0.0.1:$amqps
ssl_options.cacertfile = $seen/tls/ca.pem
ssl_options.certfile = $seen/tls/server.pem
ssl_options.keyfile = $seen/tls/server.key
ssl_options.verify = verify_none
CONF
  fi
  if [ ${#settings[@]} -gt 0 ]; then printf '%s\n' "${settings[@]}"; fi
}

# HOME is where Erlang keeps its cookie. ERL_FLAGS: whatever starts Erlang here must not leave an epmd behind as a
# daemon, out of the leash's reach; and two busy schedulers are plenty for a node that shares the machine with its tests.
write_environment() {
  cat <<ENV
export DLO_TEST_RABBITMQ='${DLO_TEST_RABBITMQ:-}'
export HOME='$seen/home'
export PATH='$(dirname "$server")':"\$PATH"
export RABBITMQ_CONF_ENV_FILE=/dev/null
export RABBITMQ_NODENAME='dlo-$amqp@localhost'
export RABBITMQ_CONFIG_FILE='$seen/rabbitmq.conf'
export RABBITMQ_ADVANCED_CONFIG_FILE='$seen/none.config'
export RABBITMQ_ENABLED_PLUGINS_FILE='$seen/enabled_plugins'
export RABBITMQ_MNESIA_BASE='$seen/data'
export RABBITMQ_LOG_BASE='$seen/log'
export RABBITMQ_PID_FILE='$seen/rabbit.pid'
export RABBITMQ_DIST_PORT=$dist
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1} +S 2:2 -rabbit dead_letter_worker_publisher_confirm_timeout $again'
export ERL_FLAGS='-start_epmd false'
export ERL_EPMD_ADDRESS=127.0.0.1
export ERL_EPMD_PORT=$epmd
ENV
}

describe_node() {
  cat <<NODE
AMQP_URL=amqp://guest:guest@127.0.0.1:$amqp/%2f
MANAGEMENT_URL=http://guest:guest@127.0.0.1:$management
RABBITMQ_NODENAME=dlo-$amqp@localhost
RABBITMQ_PID=$(cat "$dir/rabbit.pid")
NODE
  if [ "$tls" = yes ]; then
    echo "AMQPS_URL=amqps://guest:guest@localhost:$amqps/%2f"
    echo "CA_FILE=$dir/tls/ca.pem"
  fi
}

report_failure() {
  echo "rig: RabbitMQ did not come up; the end of its logs in $dir/log:" >&2
  tail -n 20 "$dir"/log/*.log >&2
  exit 1
}

if [ "$tls" = yes ] && ! [ -e "$dir/tls/ca.pem" ]; then "$rig/certificates.sh" "$dir/tls"; fi
write_config >"$dir/rabbitmq.conf"
write_environment >"$dir/environment"
echo '[rabbitmq_management,rabbitmq_shovel,rabbitmq_shovel_management,rabbitmq_prometheus].' >"$dir/enabled_plugins"
rm -f "$dir/rabbit.pid" "$dir/node.env"
# shellcheck source=/dev/null
. "$dir/environment"
"$rig/release.sh" run "$dir" epmd -address 127.0.0.1 -port "$epmd" >"$dir/log/epmd.log" 2>&1 &
"$rig/release.sh" run "$dir" "$server" >"$dir/log/console.log" 2>&1 &
node=$!
trap 'kill -TERM "$node" 2>/dev/null' TERM

# The AMQP listener is the last thing to open, when all plugins are up.
deadline=$((SECONDS + 90))
until port_is_open "$amqp" && port_is_open "$management" && [ -s "$dir/rabbit.pid" ]; do
  if ! kill -0 "$node" 2>/dev/null || [ "$SECONDS" -gt "$deadline" ]; then report_failure; fi
  sleep 0.2
done
describe_node >"$dir/node.env"
cat "$dir/node.env"
echo READY

# A caught SIGTERM ends the wait before the node is down.
while kill -0 "$node" 2>/dev/null; do wait "$node" || true; done
