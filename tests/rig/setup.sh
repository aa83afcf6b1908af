#!/usr/bin/env bash
# Makes sure that what the tests and the demo use is on this machine: all of it, or what is named. What only `make package`
# uses has to be named.
#   setup.sh [rabbitmq] [postgres] [chromium] [pika] [amqplib] [frameworks] [api] [axe] [oidc] [promtool] [faketime] [systemd] [package]
# DLO_TEST_RABBITMQ=4.0 or 4.3: that RabbitMQ instead, which is not installed but unpacked under target/.
# Installs what is missing with apt where it may (as root, or by sudo without a password). Starts nothing.
set -euo pipefail
rig=$(dirname "$(readlink -f "$0")")
export DEBIAN_FRONTEND=noninteractive

declare -A programs=([rabbitmq]="rabbitmq-server" [postgres]="postgres" [chromium]="chromium"
  [pika]="pika" [amqplib]="node npm" [frameworks]="celery node npm" [api]="python node npm" [axe]="npm" [oidc]="node npm" [promtool]="promtool"
  [faketime]="faketime" [systemd]="systemd-analyze" [package]="musl-gcc buildah")
# Of programs, so that nothing is asked for that is here already: a Node of another origin brings an npm that excludes Debian's.
declare -A packages=([rabbitmq-server]="rabbitmq-server" [postgres]="postgresql" [chromium]="chromium" [pika]="python3-pika"
  [celery]="python3-celery python3-pika" [node]="nodejs" [npm]="npm" [python]="python3 python3-venv" [promtool]="prometheus"
  [faketime]="libfaketime" [systemd-analyze]="systemd" [musl-gcc]="musl-tools" [buildah]="buildah"
  [mmdebstrap]="mmdebstrap debian-archive-keyring")
# Ubuntu's names; there it comes as a snap.
if grep -qs '^ID=ubuntu' /etc/os-release; then packages[chromium]="chromium-browser"; fi
if [ -n "${DLO_TEST_RABBITMQ:-}" ]; then programs[rabbitmq]=mmdebstrap; fi

lacks() { # PART: the programs of it that are not on this machine
  local program
  for program in ${programs[$1]}; do "$rig/find.sh" "$program" >/dev/null || echo "$program"; done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n --preserve-env=DEBIAN_FRONTEND "$@"; fi
}

give_up() {
  echo "setup: missing here: $*" >&2
  echo "setup: please install them, on Debian or Ubuntu as root with: apt-get install ${wanted[*]}" >&2
  if [[ " $* " == *" chromium "* ]]; then
    echo "setup: where there is no such Chromium package, Google Chrome on PATH will do" >&2
  fi
  exit 1
}

# A policy-rc.d that says no keeps dpkg from starting the servers it installs: the rig runs private ones. What was
# there (also nothing, or a link) is put back, by a later run if this one is killed.
policy=/usr/sbin/policy-rc.d saved=/usr/sbin/policy-rc.d.before-dlo-setup
forbid_service_starts() {
  allow_service_starts
  if [ -e "$policy" ] || [ -L "$policy" ]; then as_root mv -f "$policy" "$saved"; fi
  printf '#!/bin/sh\n# made by dlo-setup, for the time of one apt-get install\nexit 101\n' | as_root tee "$policy" >/dev/null
  as_root chmod 755 "$policy"
}
allow_service_starts() {
  if grep -qs 'made by dlo-setup' "$policy"; then as_root rm -f "$policy"; fi
  if [ -e "$saved" ] || [ -L "$saved" ]; then as_root mv -f "$saved" "$policy"; fi
}

# What is installed for the rig shall not come up at the next boot either; what did before, shall.
enabled_units() {
  local unit
  command -v systemctl >/dev/null || return 0
  for unit in rabbitmq-server.service postgresql.service epmd.service epmd.socket prometheus.service; do
    if systemctl is-enabled --quiet "$unit" 2>/dev/null; then echo "$unit"; fi
  done
}
disable_units_but() { # UNITS, one a line
  local unit
  for unit in $(enabled_units); do
    if ! grep -qx "$unit" <<<"$1"; then as_root systemctl disable --quiet "$unit" 2>/dev/null || true; fi
  done
}

apt_install() { as_root apt-get install --yes --no-install-recommends "$@" >>"$log" 2>&1; }
apt_update() { as_root apt-get update >>"$log" 2>&1; }
apt_lists_are_old() { [ -z "$(find /var/lib/apt/lists -maxdepth 1 -name '*_Packages*' -mtime -7 -print -quit)" ]; }

install_packages() {
  local enabled
  enabled=$(enabled_units)
  forbid_service_starts || return 1
  trap allow_service_starts EXIT
  if apt_lists_are_old; then apt_update || true; fi
  apt_install "$@" || { apt_update && apt_install "$@"; } || return 1
  disable_units_but "$enabled"
}

install_missing() {
  if ! { command -v apt-get && as_root true; } >/dev/null 2>&1; then give_up "${missing[@]}"; fi
  # One set-up at a time: two would take each other's policy for what was there before.
  exec 9</usr/sbin
  flock 9
  log=$(mktemp "${TMPDIR:-/tmp}/dlo-setup.XXXXXX.log")
  echo "setup: installing ${wanted[*]} (log: $log)"
  install_packages "${wanted[@]}" || { tail -n 5 "$log" >&2; give_up "${missing[@]}"; }
  for name in "${missing[@]}"; do [ -z "$(lacks "$name")" ] || give_up "$name"; done
}

# Chromium without a window, which takes half the processor time for the same pages, of the version that is here. Where it
# cannot be had, what is here will do.
add_headless_shell() {
  local package
  package=chromium-headless-shell=$(dpkg-query --show --showformat '${Version}' chromium-common 2>/dev/null) || return 0
  if ! { apt-cache show "$package" && as_root true; } >/dev/null 2>&1; then return; fi
  exec 9</usr/sbin
  flock 9
  log=$(mktemp "${TMPDIR:-/tmp}/dlo-setup.XXXXXX.log")
  echo "setup: installing $package (log: $log)"
  apt_install "$package" || echo "setup: going on with the Chromium that is here"
}

missing=() wanted=() unpacked=no fetched=no few=no asking=no axe=no oidc=no browsing=no
for part in "${@:-rabbitmq postgres chromium pika amqplib frameworks api axe oidc promtool faketime systemd}"; do
  for name in $part; do
    if [ -z "${programs[$name]:-}" ]; then
      echo "usage: $0 [rabbitmq] [postgres] [chromium] [pika] [amqplib] [frameworks] [api] [axe] [oidc] [promtool] [faketime] [systemd] [package]" >&2
      exit 2
    fi
    lacking=$(lacks "$name")
    if [ -n "$lacking" ]; then missing+=("$name"); fi
    # shellcheck disable=SC2206 # a list of package names, to be split
    for program in $lacking; do wanted+=(${packages[$program]}); done
    if [ "$name" = rabbitmq ]; then unpacked=yes; fi
    if [ "$name" = chromium ]; then browsing=yes; fi
    if [ "$name" = amqplib ]; then fetched=yes; fi
    if [ "$name" = frameworks ]; then few=yes; fi
    if [ "$name" = api ]; then asking=yes; fi
    if [ "$name" = axe ]; then axe=yes; fi
    if [ "$name" = oidc ]; then oidc=yes; fi
  done
done
if [ ${#missing[@]} -gt 0 ]; then install_missing; fi
if [ "$browsing" = yes ] && ! "$rig/find.sh" chromium-headless-shell >/dev/null; then add_headless_shell; fi
if [ "$unpacked" = yes ]; then "$rig/release.sh" build; fi
if [ "$fetched" = yes ]; then "$rig/amqplib.sh" fetch; fi
if [ "$few" = yes ]; then "$rig/../frameworks/setup.sh" few; fi
if [ "$asking" = yes ]; then "$rig/api-tools.sh" fetch; fi
if [ "$axe" = yes ]; then "$rig/axe.sh" fetch; fi
if [ "$oidc" = yes ]; then "$rig/oidc.sh" fetch; fi
