#!/usr/bin/env bash
# Runs provision.sh in a clean Debian 12 root, where there is no virtual machine to run it in:
#
#   images/vagrant/rehearse.sh FOLDER    (as root; FOLDER is made, and removed again at the end)
#
# Packages come from where this machine takes its own. No service is started, no kernel is booted:
# what is shown is that the packages can be had, that the set-up works from nothing, and that a
# user without rights finds `testbed` and runs it.
set -euo pipefail
root=${1:?FOLDER is missing: name a folder to be made}
repo=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
[[ ! -e $root ]] || { echo "rehearse.sh: $root is there already: name a folder to be made." >&2; exit 2; }

mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 'Origin: Debian' | head -n 1)
[[ -n $mirror ]] || { echo "rehearse.sh: this machine has no source of Debian 12 packages." >&2; exit 2; }

inside() { chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"; }

clean_up() {
  local point
  for point in "$root/dev/pts" "$root/dev" "$root/sys" "$root/proc"; do
    if mountpoint --quiet "$point"; then umount "$point"; fi
  done
  rm -rf --one-file-system "$root"
}
trap clean_up EXIT

debootstrap --variant=minbase bookworm "$root" "$mirror"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
# Its own few devices, and not this machine's.
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for device in null zero full random urandom tty; do cp -a "/dev/$device" "$root/dev/"; done
printf '127.0.0.1 localhost\n' >"$root/etc/hosts"
cp /etc/resolv.conf "$root/etc/"
# How this machine reaches its package servers.
for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources /etc/apt/apt.conf.d/*proxy* /etc/pip.conf; do
  if [[ -e $file ]]; then install -D -m 644 "$file" "$root$file"; fi
done
if [[ -d /usr/local/share/ca-certificates ]]; then
  cp -R /usr/local/share/ca-certificates "$root/usr/local/share/"
fi
# Nothing of what is installed shall start here.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"

mkdir "$root/opt/testbed"
tar -C "$repo" --exclude=.venv --exclude=runs --exclude=.git --exclude='__pycache__' \
  --exclude='.*_cache' --exclude=.hypothesis -cf - . | tar -C "$root/opt/testbed" --no-same-owner -xf -

inside bash /opt/testbed/images/vagrant/provision.sh /opt/testbed
# Again, as `vagrant provision` would: there is nothing left to do.
inside bash /opt/testbed/images/vagrant/provision.sh /opt/testbed

for environment in run analysis lan full; do
  inside test -s "/opt/testbed/.venv/$environment/stamp"
done

inside useradd --create-home vagrant
printf 'vagrant ALL=(ALL) NOPASSWD: ALL\n' >"$root/etc/sudoers.d/vagrant"
inside su - vagrant -c 'testbed simulate camcast-table-1 --repetitions 1'
inside su - vagrant -c 'testbed up --help' >/dev/null
inside sh -c 'java -version && dockerd --version && ls /lib/modules/*/kernel/net/sched/sch_netem.ko*'
echo "rehearse.sh: the provisioning works."
