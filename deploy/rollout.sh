#!/bin/sh
# Replaces containers of docker compose while requests go on: an upgrade, or a change of .env.
set -eu

usage() {
  cat <<'END'
Usage: sh deploy/rollout.sh [service...]

Brings the databases up to date, then replaces the containers of each service (all of them, unless named) by new ones of
what was built and configured last: starts as many beside the old ones, waits until they are healthy, and stops the old
ones. It stops at the first failure; the old containers then serve on. The console, whose published port only one container
can have, is left alone: docker compose up -d --no-deps console

Build first: docker compose build

COMPOSE          the command, "docker compose" unless set
ROLLOUT_SECONDS  how long new containers may take to become healthy, 120 unless set
END
}

# Callees before callers.
SERVICES='accounts auth-linking mail push-delivery gateway'
POLL_SECONDS=1
: "${COMPOSE:=docker compose}" "${ROLLOUT_SECONDS:=120}"

case ${1-} in
  -h | --help) usage; exit 0 ;;
  -*) usage >&2; exit 2 ;;
esac
for service; do
  case " $SERVICES " in
    *" $service "*) ;;
    *) echo "rollout: there is no service \"$service\" to replace: $SERVICES" >&2; exit 2 ;;
  esac
done
[ $# -gt 0 ] || set -- $SERVICES
cd "$(dirname "$0")/.."

# COMPOSE may be several words.
compose() { $COMPOSE "$@"; }
say() { printf 'rollout: %s\n' "$*"; }
count() { echo $#; }

# The running containers of "$1" except those in "$2".
containers() {
  ids=$(compose ps -q "$1") || return
  for id in $ids; do
    case " ${2-} " in
      *" $id "*) ;;
      *) printf '%s ' "$id" ;;
    esac
  done
}

# Removes containers of an interrupted rollout: compose would start these, of an old version, instead of new ones.
remove_leftovers() {
  for id in $(compose ps -aq "$service"); do
    case $(docker inspect -f '{{.State.Status}}' "$id") in
      created | exited) docker rm -v "$id" >/dev/null ;;
    esac
  done
}

# Removes the new containers of a rollout that failed.
give_up() {
  trap - INT TERM
  fresh=$(containers "$service" "$old")
  say "$service: $1; the old containers serve on" >&2
  for id in $fresh; do
    docker logs --tail 5 "$id" >&2 || true
  done
  [ -z "$fresh" ] || docker rm -fv $fresh >/dev/null
  exit 1
}

await_health() {
  waited=0
  for id in $fresh; do
    until [ "$(docker inspect -f '{{.State.Health.Status}}' "$id")" = healthy ]; do
      [ "$(docker inspect -f '{{.State.Running}} {{.RestartCount}}' "$id")" = 'true 0' ] || give_up 'a new container has ended'
      [ "$waited" -lt "$ROLLOUT_SECONDS" ] || give_up "not healthy within $ROLLOUT_SECONDS seconds"
      sleep "$POLL_SECONDS"
      waited=$((waited + POLL_SECONDS))
    done
  done
}

# Stops all old containers together: as many new ones serve, and a disconnected device must not reconnect to a container that stops next.
stop_old() {
  docker stop $old >/dev/null
  for id in $old; do
    status=$(docker inspect -f '{{.State.ExitCode}}' "$id")
    [ "$status" = 0 ] || say "$service: $id ended with status $status" >&2
  done
  docker rm -v $old >/dev/null
}

replace() {
  old=$(containers "$service")
  replicas=$(count $old)
  if [ "$replicas" = 0 ]; then
    say "$service: does not run, and is left alone"
    return
  fi
  remove_leftovers
  say "$service: starting $replicas beside the $replicas that run"
  trap 'give_up interrupted' INT TERM
  # Compose before 2.30 counts --no-deps as another configuration, and replaces these containers at its next "up" (docker/compose#12069).
  compose up -d --no-deps --no-recreate --scale "$service=$((replicas * 2))" "$service" || give_up 'could not be started'
  fresh=$(containers "$service" "$old")
  [ "$(count $fresh)" = "$replicas" ] || give_up "$(count $fresh) new containers run instead of $replicas"
  await_health
  trap - INT TERM
  say "$service: stopping the old"
  stop_old
  say "$service: done"
}

say 'bringing the databases up to date'
compose run --rm --no-deps migrate
for service; do replace; done
say 'all done'
