#!/usr/bin/env bash
# Gets the frameworks that run.py drives, in the versions that are pinned here, into target/frameworks:
#   setup.sh [python] [node] [php] [java] [go] [ruby]     without a name: all of these
#   setup.sh few                                          what `make test` runs of it: three frameworks of Node
# Python packages into a virtual environment, those of Node beside them; the rest are Debian's packages, by apt as root or
# by sudo without a password. Prints what is missing where it may not install it.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
target=$(readlink -m "${CARGO_TARGET_DIR:-$here/../../target}")/frameworks
mkdir -p "$target"

declare -A packages=(
  [python]="python3-venv"
  [node]="nodejs npm"
  [php]="php-cli php-amqp php-amqplib php-symfony-messenger php-symfony-amqp-messenger php-symfony-serializer
    php-symfony-property-access php-symfony-event-dispatcher php-symfony-error-handler"
  [java]="default-jdk-headless librabbitmq-client-java"
  [go]="golang-go golang-github-rabbitmq-amqp091-go-dev"
  [ruby]="ruby ruby-bunny"
)

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

installed() { dpkg-query --show --showformat='${db:Status-Status}\n' "$@" 2>/dev/null | grep -cx installed; }

debian() { # PART
  local wanted
  read -ra wanted <<<"$(tr '\n' ' ' <<<"${packages[$1]}")"
  if [ "$(installed "${wanted[@]}")" = ${#wanted[@]} ]; then return; fi
  echo "frameworks: installing ${wanted[*]} (log: $target/apt.log)"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${wanted[@]}" \
    >"$target/apt.log" 2>&1 || {
    echo "frameworks: please install, on Debian or Ubuntu as root with: apt-get install ${wanted[*]}" >&2
    exit 1
  }
}

# A directory with the lock file it was made from is whole; another is made anew.
fetched() { # DIR LOCK
  cmp --quiet "$1/made-from" "$2"
}

python() {
  local lock=$here/requirements.txt
  if fetched "$target/venv" "$lock"; then return; fi
  python3 -c 'import ensurepip' 2>/dev/null || debian python
  rm -rf "$target/venv"
  echo "frameworks: fetching packages for Python (log: $target/pip.log)"
  python3 -m venv "$target/venv"
  "$target/venv/bin/pip" install --requirement "$lock" --no-deps >"$target/pip.log" 2>&1 || { tail -n 5 "$target/pip.log" >&2; exit 1; }
  cp "$lock" "$target/venv/made-from"
}

node() { # DIR PACKAGES
  local dir=$target/$1 lock=$2/package-lock.json log=$target/npm-$1.log
  if fetched "$dir" "$lock"; then return; fi
  command -v npm >/dev/null || debian node
  rm -rf "$dir"
  mkdir "$dir"
  cp "$2/package.json" "$lock" "$dir"
  echo "frameworks: fetching packages for Node (log: $log)"
  # foo-foo-mq says that it is for Node up to 18; it works with 20.
  (cd "$dir" && npm ci --no-audit --no-fund --ignore-scripts) >"$log" 2>&1 || { tail -n 5 "$log" >&2; exit 1; }
  cp "$lock" "$dir/made-from"
}

# One at a time.
exec 9<"$target"
flock 9
for part in "${@:-python node php java go ruby}"; do
  for name in $part; do
    case $name in
      python) python ;;
      node) node node "$here" ;;
      few) node few "$here/few" ;;
      php | java | go | ruby) debian "$name" ;;
      *) echo "usage: $0 [python] [node] [php] [java] [go] [ruby] [few]" >&2; exit 2 ;;
    esac
  done
done
