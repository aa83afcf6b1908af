#!/usr/bin/env bash
# Keeps a command on a leash: it runs for as long as the standard input of this script stays open. Whoever holds the
# other end of that pipe may die in any way, by SIGKILL too: the command and all it started die with it.
#   leash.sh [--grace SECONDS] [--remove DIR] COMMAND [ARG…]
#   --grace   after the end of input, how long the command may tidy up by itself after a SIGTERM; default: not at all
#   --remove  a directory of throw-away data to delete when everything is dead
# SIGTERM is passed on to the command. The exit status is the command's.
set -uo pipefail
grace=0 remove=''
while :; do
  case ${1:-} in
    --grace) grace=$2; shift 2 ;;
    --remove) remove=$2; shift 2 ;;
    *) break ;;
  esac
done

# What happens is said in this pipe, both ends of which are ours. What ends just before bash begins to wait for it would not
# be noticed; what stands in a pipe is.
exec {owner}<&0 {events}<> <(:)

# Before the command is there: a SIGTERM that found no trap would end the leash and leave the command running.
command='' terminated='' gone='' status=''
terminate() { if [ -n "$command" ]; then kill -TERM "$command"; else terminated=yes; fi; }
trap terminate TERM
trap 'echo gone >&"$events"' INT HUP

run() {
  # Its own session is how we know later what the command started, even in process groups of their own as Chromium's.
  # In a script's background setsid needs no fork, so that $! is the command and the number of its session.
  setsid "$@" </dev/null {owner}<&- {events}<&- &
  echo "began $!" >&"$events"
  trap '' INT HUP TERM
  exec 2>/dev/null # or bash would report each "Killed"
  wait "$!"
  echo "ended $?" >&"$events"
}
# A signal that comes just before this script begins to read is not noticed before the next event: there is one at least
# every three seconds.
watch() {
  local said=0
  until [ "$said" = 1 ]; do
    read -r -t 3 <&"$owner"
    said=$?
    if [ "$said" -gt 128 ]; then echo tick >&"$events"; fi
  done
  echo gone >&"$events"
}
run "$@" &
exec 2>/dev/null
watch >/dev/null &
watcher=$!

next_event() {
  local event='' value=''
  read -r event value <&"$events"
  case $event in
    began) command=$value ;;
    ended) status=$value ;;
    gone) gone=yes ;;
  esac
}

until [ -n "$command" ]; do next_event; done
if [ -n "$terminated" ]; then terminate; fi
until [ -n "$status$gone" ]; do next_event; done

session_members() {
  local stat line fields
  for stat in /proc/[0-9]*/stat; do
    read -r line <"$stat" || continue
    # After the name in brackets, which may hold anything: state, parent, group, session.
    # shellcheck disable=SC2206 # numbers and a letter
    fields=(${line##*) })
    if [ "${fields[3]}" = "$command" ] && [ "${fields[0]}" != Z ]; then echo "${line%% *}"; fi
  done
}

if [ -z "$status" ] && [ "$grace" != 0 ]; then
  kill -TERM "$command"
  for ((tick = 0; tick < grace * 50; tick++)); do
    kill -0 "$command" || break
    sleep 0.02
  done
fi
# By its number: it may not have its session yet.
if [ -z "$status" ]; then kill -KILL "$command"; fi
until [ -n "$status" ]; do next_event; done
until members=$(session_members) && [ -z "$members" ]; do
  # shellcheck disable=SC2086 # one process id a word
  kill -KILL $members
  sleep 0.01
done
kill "$watcher"
# What others have begun in the directory, which may die at this moment too, is not always seen at once.
if [ -n "$remove" ]; then
  for ((tick = 0; tick < 100; tick++)); do
    rm -rf -- "$remove" && break
    sleep 0.05
  done
fi
exit "$status"
