#!/usr/bin/env bash
# Makes a Debian 12 machine ready for the test bed, by the launcher's own set-up (as root):
#
#   provision.sh REPOSITORY
#
# Afterwards `testbed` is on everybody's PATH, every command has what it needs, and the kernel has
# netem, perhaps only after a restart, which is then asked for. Can be called again at any time.
set -euo pipefail
repo=$(readlink -f "$1")

install_debian_packages() {
  DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends \
    -o DPkg::Lock::Timeout=300 install "$@"
}

# For each kind of command one that only shows its help: the launcher sets up what the kind needs,
# packages of Debian among it.
set_up_for_every_command() {
  local words
  for words in "simulate" "analyze" "up --runtime docker" "reproduce" "run --runtime docker"; do
    # shellcheck disable=SC2086 # they are words
    "$repo/bin/testbed" $words --help >/dev/null
  done
}

# Emulating a LAN takes root. Who works in a machine that was made for it is asked no password; what
# the commands write is root's, and can be read by everybody.
put_on_path() {
  cat >/usr/local/bin/testbed <<EOF
#!/bin/sh
# Written by images/vagrant/provision.sh
if [ "\$(id -u)" = 0 ]; then exec "$repo/bin/testbed" "\$@"; fi
exec sudo -- "$repo/bin/testbed" "\$@"
EOF
  chmod 755 /usr/local/bin/testbed
}

ensure_netem() {
  if ! compgen -G '/lib/modules/*/kernel/net/sched/sch_netem.ko*' >/dev/null; then
    install_debian_packages "linux-image-$(dpkg --print-architecture)"
  fi
  if ischroot || modprobe sch_netem; then return; fi
  echo "provision.sh: the kernel that runs has no netem, the one just installed has: restart this machine (vagrant reload)." >&2
}

apt-get update
install_debian_packages ca-certificates kmod sudo
set_up_for_every_command
ensure_netem
put_on_path
echo "provision.sh: ready; try 'testbed doctor'."
