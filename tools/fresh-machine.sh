#!/usr/bin/env bash
# Tries what the README promises on a fresh machine: a minimal root made by debootstrap, with Node, npm and git alone.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: tools/fresh-machine.sh [options] [root|user|both]

Makes a minimal root of a Debian or Ubuntu by debootstrap, puts this machine's Node and npm and a clone of HEAD into it, and runs
"npm start" until it is ready, and then "npm test": as root with apt-get, as an ordinary user without sudo, or both (the default).
Runs as root. The tests see no service of this machine: they have network, process and mount namespaces of their own, with loopback alone.

  --suite NAME     bookworm (default), trixie, jammy, noble
  --mirror URL     where debootstrap takes packages from (default: its own)
  --folder PATH    where roots are made and kept (default: a folder in /var/tmp); a root of the same suite is used again
  --tests "ARGS"   arguments of npm test (default: none, which is all but the slow ones)
  --install        as root: let npm test install what is missing with apt-get, which needs the network of this machine; services of this
                   machine are then hidden by URLs at which none answers. Without it: no network, and TEST_INSTALL=no
  --copy PATH      also copies this file or folder of this machine into the root, such as a CA bundle, or npm's or apt's configuration;
                   may be repeated. /etc/resolv.conf, npm's configuration and what NODE_EXTRA_CA_CERTS names are copied in any case

Ends with a verdict for each, and with status 0 where all have passed. Logs: <folder>/<suite>-<who>.log.
HELP
}

suite=bookworm mirror='' folder=/var/tmp/gatepost-fresh-machine tests='' install=no who=both copies=()
while [ $# -gt 0 ]; do
  case $1 in
    --suite) suite=$2; shift ;;
    --mirror) mirror=$2; shift ;;
    --folder) folder=$2; shift ;;
    --tests) tests=$2; shift ;;
    --install) install=yes ;;
    --copy) copies+=("$2"); shift ;;
    --help) usage; exit 0 ;;
    root | user | both) who=$1 ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ "$(id -u)" = 0 ] || { echo 'debootstrap and chroot need root.' >&2; exit 2; }
for program in debootstrap unshare ip git node npm; do
  command -v "$program" >/dev/null || { echo "$program is missing on this machine." >&2; exit 2; }
done

copy_in() {
  [ -e "$1" ] || return 0
  mkdir -p "$2$(dirname "$1")"
  cp -aLT "$1" "$2$1"
}

# A root of the suite that every run starts from.
make_base() {
  local base=$folder/base-$suite
  if [ ! -e "$base/.complete" ]; then
    rm -rf "$base"
    mkdir -p "$folder"
    echo "Making a root of $suite …"
    debootstrap --variant=minbase --include=ca-certificates,git "$suite" "$base" ${mirror:+"$mirror"} >"$folder/debootstrap.log"
    touch "$base/.complete"
  fi
}

# A root of one user's own, which it may spoil.
make_root() {
  local root=$1 node_folder
  rm -rf "$root"
  cp -a "$folder/base-$suite" "$root"
  node_folder=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
  mkdir -p "$root/usr/local/bin" "$root/usr/local/lib/node_modules"
  cp -L "$(command -v node)" "$root/usr/local/bin/node"
  cp -a "$node_folder" "$root/usr/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
  for path in /etc/resolv.conf "${NODE_EXTRA_CA_CERTS:-}" "${SSL_CERT_FILE:-}" "${copies[@]}"; do
    if [ -n "$path" ]; then copy_in "$path" "$root"; fi
  done
  # debootstrap writes no /etc/hosts; an installed system has this one.
  printf '127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n' >"$root/etc/hosts"
  # npm's configuration of this machine, as npm reads it: registry, proxy, certificates.
  mkdir -p "$root/usr/local/etc"
  for key in registry proxy https-proxy noproxy cafile; do
    value=$(cd / && npm config get "$key" 2>/dev/null)
    case $value in '' | null | undefined) ;; *)
      echo "$key=$value" >>"$root/usr/local/etc/npmrc"
      if [ "$key" = cafile ]; then copy_in "$value" "$root"; fi
      ;;
    esac
  done
  chroot "$root" useradd --create-home --shell /bin/bash developer
}

# The script that runs in the root: its home folder holds the clone.
script_of() {
  cat <<SCRIPT
set -eu
cd ~/gatepost
echo "--- \$(. /etc/os-release; echo "\$PRETTY_NAME"), Node \$(node --version), npm \$(npm --version), as \$(id -un)"
SCRIPT
  cat <<'SCRIPT'
if [ "$1" = packages ]; then exec npm ci --include=dev --no-audit --no-fund; fi
export TEST_INSTALL=$2
if [ "$2" = yes ]; then
  # Port 1: none answers there.
  export DATABASE_URL=postgres://postgres@127.0.0.1:1/postgres REDIS_URL=redis://127.0.0.1:1 AMQP_URL=amqp://127.0.0.1:1
fi
started=$(date +%s)
npm start >~/start.log 2>&1 &
server=$!
until grep -q 'Gatepost is ready' ~/start.log; do
  if ! kill -0 "$server" 2>/dev/null || [ $(($(date +%s) - started)) -gt 600 ]; then
    cat ~/start.log
    echo '--- npm start: FAILED'
    kill "$server" 2>/dev/null || true
    exit 1
  fi
  sleep 1
done
echo "--- npm start: ready after $(($(date +%s) - started)) s"
kill "$server"
wait "$server" || true
shift 2
echo "--- npm test $*"
if [ $# -gt 0 ]; then set -- -- "$@"; fi
npm test "$@"
SCRIPT
}

# Runs the script as the user in the root, in namespaces of its own; without a network but loopback if requested.
enter() {
  local root=$1 user=$2 network=$3
  shift 3
  local spaces=(--mount --pid --fork --ipc --uts)
  if [ "$network" = no ]; then spaces+=(--net); fi
  unshare "${spaces[@]}" bash -c '
    set -eu
    root=$1 user=$2 network=$3; shift 3
    mount --make-rprivate /
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    for device in null zero full random urandom tty; do
      touch "$root/dev/$device"
      mount --bind "/dev/$device" "$root/dev/$device"
    done
    ln -s /proc/self/fd "$root/dev/fd"
    mkdir "$root/dev/shm" "$root/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    if [ "$network" = no ]; then ip link set lo up; fi
    home=$(chroot "$root" getent passwd "$user" | cut -d: -f6)
    exec chroot --userspec="$user:$user" --groups= "$root" /usr/bin/env -i HOME="$home" USER="$user" LANG=C.UTF-8 \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      ${NODE_EXTRA_CA_CERTS:+NODE_EXTRA_CA_CERTS="$NODE_EXTRA_CA_CERTS"} \
      bash /fresh-machine.sh "$@"
  ' bash "$root" "$user" "$network" "$@"
}

try() {
  local user=$1 root=$folder/$suite-$1 home network=no allowed=no
  make_root "$root"
  home=$(chroot "$root" getent passwd "$user" | cut -d: -f6)
  git clone --quiet "$source_folder" "$root$home/gatepost"
  chroot "$root" chown -R "$user:$user" "$home/gatepost"
  script_of >"$root/fresh-machine.sh"
  if [ "$user" = root ] && [ "$install" = yes ]; then network=yes allowed=yes; fi
  enter "$root" "$user" yes packages
  # shellcheck disable=SC2086 -- several arguments in one option
  enter "$root" "$user" "$network" test "$allowed" $tests
}

make_base
users=(root developer)
case $who in root) users=(root) ;; user) users=(developer) ;; esac
verdicts=() failed=0
for user in "${users[@]}"; do
  log=$folder/$suite-$user.log
  set +e
  (set -e; try "$user") 2>&1 | tee "$log"
  if [ "${PIPESTATUS[0]}" = 0 ]; then verdict=passed; else verdict=FAILED failed=1; fi
  set -e
  verdicts+=("$suite, $user: $verdict ($log)")
done
printf '=== %s\n' "${verdicts[@]}"
exit "$failed"
