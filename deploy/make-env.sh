#!/bin/sh
# Writes .env for docker compose: deploy/env.example with a random value for everything that has no default.
set -eu

usage() {
  cat <<'END'
Usage: sh deploy/make-env.sh [--domain <domain>] [--dev]

Writes .env with new secrets, and the id and keys of a first application. A .env that is there stays as it is.
--domain  the API's domain, such as accounts.example.com: the entrance gets a certificate for it
--dev     mails are caught, and shown on http://localhost:8025
END
}

domain= dev=
while [ $# -gt 0 ]; do
  case $1 in
    --domain)
      [ $# -gt 1 ] || { usage >&2; exit 2; }
      domain=$2
      shift
      ;;
    --dev) dev=yes ;;
    --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done
case $domain in
  *[!A-Za-z0-9.-]*) echo "\"$domain\" is no domain: give its name alone, such as accounts.example.com." >&2; exit 2 ;;
esac

cd "$(dirname "$0")/.."
of_domain() {
  printf '\nGATEPOST_DOMAIN=%s\n' "$domain"
  echo 'COMPOSE_FILE=docker-compose.yml:deploy/compose.tls.yml'
}
of_dev() {
  printf '\nCOMPOSE_PROFILES=dev\nSMTP_URL=smtp://mailpit:1025\nGATEPOST_MAIL_FROM=no-reply@localhost\n'
}
if [ -e .env ]; then
  [ -n "$domain$dev" ] || { echo 'There is a .env already; it stays as it is.'; exit 0; }
  { echo 'There is a .env already; it stays as it is. Set in it:'; [ -z "$domain" ] || of_domain; [ -z "$dev" ] || of_dev; } >&2
  exit 1
fi
random() { od -An -N "$1" -tx1 /dev/urandom | tr -d ' \n'; }
umask 077
{
  while IFS= read -r line; do
    case $line in
      GATEPOST_APP_ID=) printf '%s%s\n' "$line" "$(random 12)" ;;
      [A-Z]*=) printf '%s%s\n' "$line" "$(random 32)" ;;
      *) printf '%s\n' "$line" ;;
    esac
  done <deploy/env.example
  [ -z "$domain" ] || of_domain
  [ -z "$dev" ] || of_dev
} >.env.new
mv .env.new .env
echo 'Wrote .env with new secrets, and the id and keys of a first application. Keep it safe.'
