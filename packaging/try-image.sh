#!/usr/bin/env bash
# Runs the container image as it should be run: no rights, nothing to write to but its volume, no user of this machine.
# It works with a private RabbitMQ. Needs podman, and the right to run it; PODMAN="podman --runtime runc" has it take
# another runtime.
set -euo pipefail
read -ra podman <<<"${PODMAN:-podman}"
podman() { command "${podman[@]}" "$@"; }
cd "$(dirname "$(readlink -f "$0")")/.."
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
archive=target/package/dlo-$version.docker.tar
most_bytes=$((45 * 1000 * 1000))
name=dlo-try-$$
work=$(mktemp -d)
fail() { echo "try-image: FAILED: $*" >&2; podman logs "$name" 2>&1 | tail -n 20 >&2 || true; exit 1; }
clean_up() {
  podman rm --force --volumes "$name" >/dev/null 2>&1 || true
  exec 8>&- # The RabbitMQ ends with its input.
  rm -rf "$work"
}
trap clean_up EXIT

bytes=$(stat --format %s "$archive")
[ "$bytes" -lt "$most_bytes" ] || fail "it has $bytes bytes, and may have $most_bytes"
echo "try-image: $bytes bytes"
podman load --quiet --input "$archive" >/dev/null
files=$(tar --extract --to-stdout --file "$archive" --wildcards '*.tar' | tar --list --ignore-zeros | grep -v '/$' | sort | tr '\n' ' ')
echo "try-image: files: $files"

mkfifo "$work/input"
tests/rig/leash.sh tests/rig/rabbitmq.sh "$work/rabbitmq" <"$work/input" >"$work/rabbitmq.out" 2>&1 &
exec 8>"$work/input"
timeout 120 sh -c "until grep -q READY '$work/rabbitmq.out'; do sleep 0.1; done" || fail "no RabbitMQ: $(cat "$work/rabbitmq.out")"
# shellcheck source=tests/rig/ports.sh
port=$(. tests/rig/ports.sh && free_ports 1)
value() { sed -n "s/^$1=//p" "$work/rabbitmq.out"; }

# The network of this machine, since without sign-in dlo listens on loopback only.
podman run --detach --name "$name" --network host --read-only --read-only-tmpfs=false --cap-drop all \
  --security-opt no-new-privileges --ulimit nofile=4096:4096 --ulimit nproc=1024:1024 --env "DLO_WEB__LISTEN=127.0.0.1:$port" \
  --env "DLO_BROKERS__MAIN__URL=$(value AMQP_URL)" "dlo:$version" >/dev/null
timeout 60 sh -c "until ${podman[*]} exec $name dlo health --ready >/dev/null 2>&1; do sleep 0.1; done" || fail "it is not ready"
echo "try-image: ready: $(podman exec "$name" dlo health --ready)"
podman healthcheck run "$name" || fail "it is not healthy"
[ "$(podman inspect --format '{{.Config.User}}' "$name")" = 65532:65532 ] || fail "it runs as another user"
user=$(stat --format %u "/proc/$(podman inspect --format '{{.State.Pid}}' "$name")")
[ "$user" != 0 ] || fail "it runs as root"
podman exec "$name" dlo backup /var/lib/dlo/copy.db || fail "its volume cannot be written"
if podman exec "$name" dlo backup /copy.db 2>/dev/null; then fail "its root can be written"; fi
podman stop --time 30 "$name" >/dev/null
code=$(podman inspect --format '{{.State.ExitCode}}' "$name")
[ "$code" = 0 ] || fail "it ended with $code"
echo "try-image: healthy, user $user, root read-only, ended in order"
