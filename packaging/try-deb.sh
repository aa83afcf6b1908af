#!/usr/bin/env bash
# Installs, starts, upgrades, removes and purges the .deb in a Debian of its own, booted with systemd beside a RabbitMQ
# as it comes. Needs root, mmdebstrap and systemd-nspawn; nothing of this machine is changed.
#   try-deb.sh [SUITE]      bookworm if it is left out
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
suite=${1:-bookworm}
out=$PWD/target/package
system=$out/$suite.tar
made=$out/$suite
trap 'rm -rf "$made"' EXIT

if [ ! -e "$system" ]; then
  mmdebstrap --quiet --variant=apt --aptopt='Apt::Install-Recommends "false"' \
    --include=systemd-sysv,dbus,adduser,ca-certificates,rabbitmq-server "$suite" "$out/half.tar"
  mv "$out/half.tar" "$system"
fi
rm -rf "$made"
mkdir -p "$made"
tar --extract --numeric-owner --file "$system" --directory "$made"

packages=$made/packages
mkdir "$packages"
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
cp "$out/dlo_$version-1_amd64.deb" "$packages/one.deb"
DLO_REVISION=2 packaging/package.sh deb
mv "$out/dlo_$version-2_amd64.deb" "$packages/two.deb"

install -m 755 packaging/try-deb-inside.sh "$packages/try"
cat >"$made/etc/systemd/system/try.service" <<'END'
[Unit]
Wants=rabbitmq-server.service
After=rabbitmq-server.service dbus.service systemd-logind.service
[Service]
Type=oneshot
ExecStart=/packages/try
StandardOutput=file:/packages/log
StandardError=file:/packages/log
# Its exit code becomes that of the whole system.
ExecStopPost=/bin/sh -c 'systemctl exit $EXIT_STATUS'
END
mkdir -p "$made/etc/systemd/system/multi-user.target.wants"
ln -s ../try.service "$made/etc/systemd/system/multi-user.target.wants/try.service"

# Where systemd does not run, nobody can be told of the new machine.
alone=()
if [ ! -d /run/systemd/system ]; then alone=(--register=no --keep-unit); fi
code=0
timeout 600 systemd-nspawn --quiet --boot --private-network --link-journal=no --hostname=debian --console=pipe \
  --directory="$made" "${alone[@]}" </dev/null >"$out/$suite.boot.log" 2>&1 || code=$?
cat "$packages/log"
if [ "$code" != 0 ]; then echo "try-deb: it failed with exit code $code; $out/$suite.boot.log has how it booted" >&2; fi
exit "$code"
