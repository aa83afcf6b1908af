#!/usr/bin/env bash
# A small file system in memory, for what has to be tried on a disk that is full. It needs the right to mount: as root,
# or in a user namespace.
#   small-disk.sh may               says by its exit status whether it may
#   small-disk.sh hold DIR SIZE       mounts it at DIR, says READY and holds it; meant to be run by leash.sh
#   small-disk.sh run PID COMMAND…    becomes a command that finds it at DIR; PID is the process that holds it
# Others find it at /proc/PID/root/DIR, but for SQLite, which takes that for a link.
set -euo pipefail

# A user who is not root may mount in a user namespace of his own. There he is called root; the processes stay his.
begin=(--mount --propagation private) enter=(--mount)
if [ "$(id -u)" != 0 ]; then begin+=(--user --map-root-user) enter+=(--user --preserve-credentials); fi

case ${1:-} in
  may) unshare "${begin[@]}" mount -t tmpfs small /tmp 2>/dev/null ;;
  hold)
    mkdir -p "$2"
    # shellcheck disable=SC2016 # expanded by that shell
    exec unshare "${begin[@]}" sh -euc '
      mount -t tmpfs -o "size=$2,mode=755" small "$1"
      echo READY
      exec sleep infinity' sh "$2" "$3" ;;
  run)
    holder=$2
    shift 2
    exec nsenter --target "$holder" "${enter[@]}" --wd="$PWD" "$@" ;;
  *) echo "usage: $0 may | hold DIR SIZE | run PID COMMAND..." >&2; exit 2 ;;
esac
