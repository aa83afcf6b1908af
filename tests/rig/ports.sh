# shellcheck shell=bash
# Free ports on loopback, to be sourced.

port_is_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Below the range from which Linux takes the ports of outgoing connections (32768 and up), so that none of these can
# be taken while a node is down between two starts.
free_ports() { # COUNT
  local port missing=$1
  for port in $(shuf --input-range=10000-32000 --head-count=$((missing * 20))); do
    if port_is_open "$port"; then continue; fi
    echo "$port"
    missing=$((missing - 1))
    if [ "$missing" = 0 ]; then return; fi
  done
  echo "rig: no free ports" >&2
  return 1
}
