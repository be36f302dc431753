#!/bin/sh
# Writes .env for docker compose: deploy/env.example with a random value for everything that has no default.
set -eu
cd "$(dirname "$0")/.."
if [ -e .env ]; then
  echo 'There is a .env already; it stays as it is.'
  exit 0
fi
random() { od -An -N "$1" -tx1 /dev/urandom | tr -d ' \n'; }
umask 077
while IFS= read -r line; do
  case $line in
    GATEPOST_APP_ID=) printf '%s%s\n' "$line" "$(random 12)" ;;
    [A-Z]*=) printf '%s%s\n' "$line" "$(random 32)" ;;
    *) printf '%s\n' "$line" ;;
  esac
done <deploy/env.example >.env.new
mv .env.new .env
echo 'Wrote .env with new secrets, and the id and keys of a first application. Keep it safe.'
