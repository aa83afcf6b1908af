#!/usr/bin/env bash
# Runs a private PostgreSQL in the foreground, on a free port of loopback only; anyone on this machine may log in.
#   postgres.sh DIR [--durable] [--tables-in DIR] [--standby-of URL]
# Meant to be run by leash.sh, with a --grace of some seconds.
# When it is ready, prints how to reach it as KEY=value lines and then READY.
# Run again with the same DIR, it comes back with its data and on its old port.
# Data is not synced to disk, which tests do not need, nor are queries compiled, which takes longer than to run them on
# what tests have; --durable does as a real server does, for benchmarks.
# --tables-in: a directory, as on a disk of its own, that tables are in when nothing else is said.
# --standby-of: it begins as a copy of that server, follows it and takes nothing but reads until it is promoted.
set -euo pipefail
rig=$(dirname "$(readlink -f "$0")")
# shellcheck source=SCRIPTDIR/ports.sh
. "$rig/ports.sh"

mkdir -p "$1"
dir=$(readlink -f "$1") sync=off jit=off tables='' primary=''
shift
while [ $# -gt 0 ]; do
  case $1 in
    --durable) sync=on jit=on; shift ;;
    --tables-in) tables=$2; shift 2 ;;
    --standby-of) primary=$2; shift 2 ;;
    *) echo "usage: $0 DIR [--durable] [--tables-in DIR] [--standby-of URL]" >&2; exit 2 ;;
  esac
done
bin=$(dirname "$("$rig/find.sh" postgres)")
[ -e "$dir/port" ] || free_ports 1 >"$dir/port"
port=$(<"$dir/port")

# PostgreSQL refuses to run as root. The capability lets the other user come to the directory through parents that are
# closed to it, such as /root.
as_other_user=()
if [ "$(id -u)" = 0 ]; then
  user=postgres
  id "$user" >/dev/null 2>&1 || user=nobody
  chown "$user" "$dir" ${tables:+"$tables"}
  as_other_user=(setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups
    --inh-caps +dac_override --ambient-caps +dac_override)
fi

cd "$dir"
# Lets initdb finish before: it too runs a server with shared memory.
trap 'exit 1' TERM
if [ -n "$primary" ] && ! [ -e "$dir/data/PG_VERSION" ]; then
  "${as_other_user[@]}" "$bin/pg_basebackup" --dbname="$primary/postgres" --pgdata="$dir/data" --write-recovery-conf \
    --create-slot --slot=standby --checkpoint=fast --no-sync >"$dir/initdb.log" 2>&1 || { cat "$dir/initdb.log" >&2; exit 1; }
elif ! [ -e "$dir/data/PG_VERSION" ]; then
  "${as_other_user[@]}" "$bin/initdb" --pgdata="$dir/data" --username=dlo --auth=trust --encoding=UTF8 --locale=C.UTF-8 \
    --no-sync --no-instructions >"$dir/initdb.log" 2>&1 || { cat "$dir/initdb.log" >&2; exit 1; }
fi
"${as_other_user[@]}" "$bin/postgres" -D "$dir/data" -p "$port" -c listen_addresses=127.0.0.1 \
  -c unix_socket_directories= -c fsync="$sync" -c full_page_writes="$sync" -c max_connections=300 \
  -c shared_buffers=128MB -c jit="$jit" ${tables:+-c default_tablespace=apart} >"$dir/postgres.log" 2>&1 &
server=$!
# Not SIGKILL: the server must give back its System V shared memory, but it need not write a checkpoint.
trap 'kill -QUIT "$server" 2>/dev/null' TERM

deadline=$((SECONDS + 60))
until "$bin/pg_isready" --quiet --host=127.0.0.1 --port="$port" --timeout=1; do
  if ! kill -0 "$server" 2>/dev/null || [ "$SECONDS" -gt "$deadline" ]; then
    echo "rig: PostgreSQL did not come up:" >&2
    tail -n 20 "$dir/postgres.log" >&2
    exit 1
  fi
  sleep 0.05
done
run() { "$bin/psql" --no-psqlrc --quiet --tuples-only --no-align --host=127.0.0.1 --port="$port" --username=dlo postgres --command "$1"; }
if [ -n "$tables" ] && [ -z "$(run "SELECT 1 FROM pg_tablespace WHERE spcname = 'apart'")" ]; then
  run "CREATE TABLESPACE apart LOCATION '$tables'"
fi
echo "POSTGRES_URL=postgres://dlo@127.0.0.1:$port" # no database: one is to be created
echo "PSQL=$bin/psql"
echo READY

while kill -0 "$server" 2>/dev/null; do wait "$server" || true; done
