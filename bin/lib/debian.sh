# shellcheck shell=bash disable=SC2154
# Installing Debian packages, only those that are missing.
#
# A need is a line "PROBE PACKAGE reason": the package is missing when PROBE, a program's name or
# an absolute path, is not there. Looking for a file is free; asking dpkg would slow every command.
# Needs what setup.sh defines: run_logged, fail_step, log and setup_lock.

is_there() { # PROBE
  if [[ $1 == /* ]]; then [[ -e $1 ]]; else type -P "$1" >/dev/null; fi
}

# Sets `missing`, the needs that are not met.
find_missing() { # NEED…
  local need probe
  missing=()
  for need in "$@"; do
    read -r probe _ <<<"$need"
    is_there "$probe" || missing+=("$need")
  done
}

install_debian_packages() { # NEED…
  local need package reason packages=() reasons=()
  (($#)) || return 0
  for need in "$@"; do
    read -r _ package reason <<<"$need"
    packages+=("$package")
    reasons+=("$reason")
  done
  require_root_for_apt "${packages[*]}" "$(join_with ', ' "${reasons[@]}")"
  say "installing Debian packages: ${packages[*]} (for: $(join_with ', ' "${reasons[@]}"))"
  # A call that was killed may have left packages half configured; apt refuses to work until then.
  as_root dpkg --configure -a || true
  # One unreachable third-party source makes the update fail although the packages can be had.
  as_root apt-get update || true
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends \
    -o DPkg::Lock::Timeout=300 install "${packages[@]}" ||
    fail_step "the Debian packages ${packages[*]} could not be installed"
}

require_root_for_apt() { # PACKAGES REASONS
  type -P apt-get >/dev/null ||
    fail_setup "missing: $1 (for: $2), and there is no apt-get here: install what they contain in this system's way, and call again."
  ((EUID == 0)) && return
  if type -P sudo >/dev/null; then
    sudo -n true 2>/dev/null && return
    say "asking for your password to install Debian packages: $1"
    sudo -v 2>>"$log" && return
  fi
  fail_setup "missing Debian packages: $1 (for: $2); run 'apt-get install $1' as root, and call again."
}

# A service started by a package must not inherit the set-up lock and hold it for ever.
as_root() {
  if ((EUID == 0)); then
    run_logged "$@" {setup_lock}>&-
  else
    run_logged sudo "$@" {setup_lock}>&-
  fi
}

join_with() { # SEPARATOR WORD…
  local separator=$1 joined=$2 word
  for word in "${@:3}"; do joined+=$separator$word; done
  printf '%s' "$joined"
}
