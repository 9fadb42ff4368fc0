#!/bin/sh
# Makes the root of a small Debian with Python, where no registry answers, and packs it:
#
#   base.sh SUITE MIRROR FOLDER TAR     (as root; FOLDER is made, TAR is written)
#
# The same packages give the same bytes: what differs from one call to the next is deleted or set.
set -eu
suite=$1 mirror=$2 root=$3 tar=$4

debootstrap --variant=minbase --include=python3 "$suite" "$root" "$mirror"

epoch=$(date --date "$(sed -n 's/^Date: //p' "$root"/var/lib/apt/lists/debootstrap*_Release \
  "$root"/var/lib/apt/lists/*_"$suite"_Release "$root"/var/lib/apt/lists/*_"$suite"_InRelease \
  2>/dev/null | head -n 1)" +%s)

cd "$root"
# What nobody reads in a container, and what only this machine knows.
rm -rf usr/share/doc/* usr/share/man/* usr/share/info/* usr/share/locale/* usr/share/zoneinfo/* \
  usr/lib/*/gconv var/cache/* var/log/* var/lib/apt/lists/* var/lib/dpkg/*-old etc/*- \
  var/lib/systemd etc/machine-id etc/resolv.conf etc/hostname dev/* tmp/* run/*
# The day on which a password was set.
sed -i 's/^\([^:]*:[^:]*\):[0-9]*:/\1::/' etc/shadow
printf '127.0.0.1 localhost\n::1 localhost\n' >etc/hosts

# Compiled modules carry the times of their sources, so that only what is newer than the suite changes.
tar --create --sort=name --numeric-owner --clamp-mtime --mtime="@$epoch" \
  --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime --file "$tar" .
