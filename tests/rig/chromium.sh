#!/usr/bin/env bash
# Runs a headless Chromium in the foreground that is spoken to in the DevTools protocol, without a port: each message
# ends with a zero byte, requests go into DIR/requests, answers and events come out of DIR/answers.
#   chromium.sh DIR      meant to be run by leash.sh
# Prints READY when one may open both.
set -euo pipefail
rig=$(dirname "$(readlink -f "$0")")
dir=$(readlink -f "$1")
chromium=$("$rig/find.sh" chromium)
mkfifo "$dir/requests" "$dir/answers"

# Several windows, none of which is in front for long: a page must not be slowed down for that. A page one comes back to
# is loaded again rather than thawed. It must not call home: tests run on closed networks too. In containers /dev/shm is
# too small for it.
options=(--headless=new --remote-debugging-pipe --no-first-run --disable-gpu --disable-dev-shm-usage
  --host-resolver-rules="MAP *.test 127.0.0.1" --disable-backgrounding-occluded-windows --disable-renderer-backgrounding --disable-background-timer-throttling
  --disable-back-forward-cache --disable-quic --disable-background-networking --disable-component-update --disable-sync
  --user-data-dir="$dir/profile" --window-size=1280,900)
# Chromium refuses to run its sandbox as root.
if [ "$(id -u)" = 0 ]; then options+=(--no-sandbox); fi

echo READY
# Whatever it wants to keep anywhere goes to the directory too. Both for reading and writing, so that neither side waits
# for the other to open them.
HOME=$dir TMPDIR=$dir exec "$chromium" "${options[@]}" 3<>"$dir/requests" 4<>"$dir/answers"
