#!/usr/bin/env bash
# Prints where a program the rig needs is, or exits 1 with nothing printed. The one place that knows the usual places.
#   find.sh rabbitmq-server|mmdebstrap|postgres|chromium|chromium-headless-shell|pika|celery|python|node|npm|amqplib|few-frameworks|api-tools|axe|oidc-provider|promtool|faketime|systemd-analyze|musl-gcc|buildah
set -euo pipefail
rig=$(dirname "$(readlink -f "$0")")
shopt -s nullglob

first_executable() {
  local candidate
  for candidate in "$@"; do
    if [ -n "$candidate" ] && [ -x "$candidate" ]; then echo "$candidate"; return; fi
  done
  return 1
}

python_with() { # MODULE…
  local python modules
  modules=$(IFS=,; echo "$*")
  for python in /usr/bin/python3 "$(on_path python3)"; do
    if "$python" -c "import $modules" 2>/dev/null; then echo "$python"; return; fi
  done
  return 1
}

on_path() { command -v -- "$1" || true; }

case ${1:-} in
  # Debian's rabbitmq-server on PATH is a wrapper that changes the user, so the real script comes first.
  rabbitmq-server)
    root=$("$rig/release.sh" root)
    if [ -n "$root" ]; then first_executable "$root/usr/lib/rabbitmq/bin/rabbitmq-server"; exit; fi
    first_executable /usr/lib/rabbitmq/bin/rabbitmq-server "$(on_path rabbitmq-server)" \
      /opt/rabbitmq/sbin/rabbitmq-server /usr/local/sbin/rabbitmq-server ;;
  mmdebstrap) first_executable "$(on_path mmdebstrap)" ;;
  # Found by its neighbour initdb: a link to postgres alone would not do. Newest version first.
  postgres)
    mapfile -t versions < <(printf '%s\n' /usr/lib/postgresql/*/bin/initdb | sort -rV)
    initdb=$(first_executable "${versions[@]}" "$(on_path initdb)" /usr/local/pgsql/bin/initdb)
    first_executable "$(dirname "$(readlink -f "$initdb")")/postgres" ;;
  # The one without a window first: it takes half the processor time for the same pages.
  chromium) "$0" chromium-headless-shell || first_executable "$(on_path chromium)" "$(on_path google-chrome)" "$(on_path google-chrome-stable)" \
      "$(on_path chromium-browser)" /snap/bin/chromium ;;
  chromium-headless-shell)
    first_executable /usr/lib/chromium/chromium-headless-shell "$(on_path chromium-headless-shell)" "$(on_path chrome-headless-shell)" ;;
  # A Python that has it. Debian's is for Debian's Python, which need not be the first on PATH.
  pika) python_with pika ;;
  celery) python_with celery pika ;;
  # One that can make a virtual environment. What Debian has of it without python3-venv cannot.
  python)
    for python in /usr/bin/python3 "$(on_path python3)"; do
      if "$python" -c 'import ensurepip, venv, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then echo "$python"; exit; fi
    done
    exit 1 ;;
  api-tools)
    root=$("$rig/api-tools.sh" path)
    if [ -e "$root/whole" ]; then echo "$root"; else exit 1; fi ;;
  node) first_executable "$(on_path node)" "$(on_path nodejs)" ;;
  npm) first_executable "$(on_path npm)" ;;
  # The library for programs with threads.
  faketime)
    for library in /usr/lib/*/faketime/libfaketimeMT.so.1; do echo "$library"; exit; done
    exit 1 ;;
  promtool) first_executable "$(on_path promtool)" ;;
  musl-gcc | buildah | systemd-analyze) first_executable "$(on_path "$1")" ;;
  # The directory of modules it is in.
  amqplib)
    modules=$("$rig/amqplib.sh" path)
    if [ -e "$modules/amqplib" ]; then echo "$modules"; else exit 1; fi ;;
  # The script itself.
  axe)
    modules=$("$rig/axe.sh" path)
    if [ -e "$modules/axe-core/axe.min.js" ]; then echo "$modules/axe-core/axe.min.js"; else exit 1; fi ;;
  oidc-provider)
    modules=$("$rig/oidc.sh" path)
    if [ -e "$modules/oidc-provider" ]; then echo "$modules"; else exit 1; fi ;;
  few-frameworks)
    few=$(readlink -m "${CARGO_TARGET_DIR:-$rig/../../target}")/frameworks/few
    if [ -e "$few/made-from" ]; then echo "$few/node_modules"; else exit 1; fi ;;
  *)
    echo "usage: $0 rabbitmq-server|mmdebstrap|postgres|chromium|chromium-headless-shell|pika|celery|python|node|npm|amqplib|few-frameworks|api-tools|axe|oidc-provider|promtool|faketime|systemd-analyze|musl-gcc|buildah" >&2
    exit 2 ;;
esac
