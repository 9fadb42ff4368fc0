# shellcheck shell=bash
# Making an environment: Debian packages, Python, uv, the locked packages, and last the stamp.
# Whatever ends before the stamp is written is made again by the next call.

: "${repo:?is set by the script that sources this}"
# shellcheck source=bin/lib/environment.sh
source "$repo/bin/lib/environment.sh"
# shellcheck source=bin/lib/debian.sh
source "$repo/bin/lib/debian.sh"

readonly CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt

# Details of the last set-up, and where in them those of the step under way begin.
log=
log_size_before_step=0
# The open file that holds the lock.
setup_lock=

# Sets `environments`, where environment NAME is then ready, and sees to the Debian packages.
ensure_environment() { # NAME NEED…
  local name=$1
  locate_environments "$name"
  find_missing "${@:2}"
  if ((${#missing[@]} == 0)) && is_ready_in "$environments" "$name"; then return; fi
  (set_up "$@") || exit $?
}

set_up() { # NAME NEED…
  local name=$1
  trap 'say "interrupted: call again to finish the set-up."; exit 130' INT
  trap 'exit 143' TERM
  make_folder "$environments"
  take_setup_lock
  start_log
  cd "$repo" || fail_setup "cannot enter $repo: check its permissions."
  find_missing "${@:2}"
  if is_ready_in "$environments" "$name"; then
    install_debian_packages "${missing[@]}"
  else
    build_environment "$name" "${missing[@]}"
  fi
}

make_folder() { # PATH
  local error
  error=$(mkdir -p "$1" 2>&1) ||
    fail_setup "cannot make the folder $1 (${error##*: }): make it writable or free some space, and call again."
}

# The lock is released when its last holder ends, so a killed set-up does not block the next one.
take_setup_lock() {
  { exec {setup_lock}>>"$environments/lock"; } 2>/dev/null ||
    fail_setup "cannot write $environments/lock: check who owns that folder, or delete it, and call again."
  flock --nonblock "$setup_lock" && return
  say "waiting for another set-up in $environments to finish"
  flock "$setup_lock" || fail_setup "cannot lock $environments/lock: call again."
}

start_log() {
  log=$environments/setup.log
  { : >"$log"; } 2>/dev/null ||
    fail_setup "cannot write $log: free some space or check who owns it, and call again."
}

build_environment() { # NAME MISSING_NEED…
  local started_at=$SECONDS
  say "setting up $environments/$1 (once)"
  find_base_python
  find_base_needs
  install_debian_packages "${base_needs[@]}" "${@:2}"
  [[ -n $base_python ]] || find_base_python
  [[ -n $base_python ]] || fail_without_python
  ensure_uv
  [[ $1 == uv ]] || install_lock "$1"
  say "set-up took $((SECONDS - started_at)) s"
}

# Sets `base_python` to a Python that can make environments, or to nothing; `python_without_venv`
# to a Debian Python that lacks only that, and `too_old` to a description of one that is.
find_base_python() {
  local candidate path version usable
  base_python='' python_without_venv='' too_old=''
  for candidate in python3 /usr/bin/python3 python3.{14,13,12,11}; do
    read -r usable version path < <(describe_python "$candidate") || continue
    case $usable in
      yes) base_python=$path && return ;;
      no-venv) [[ $path == /usr/bin/* ]] && python_without_venv=${python_without_venv:-$path} ;;
      too-old) too_old=${too_old:-$version ($path)} ;;
    esac
  done
}

# The base interpreter, and not the link or shim that led to it: those change under an environment.
describe_python() { # PROGRAM
  "$1" -I 2>/dev/null -c '
import os, sys
try:
    import ensurepip, ssl, venv
    usable = "yes"
except ImportError:
    usable = "no-venv"
if sys.version_info < (3, 11):
    usable = "too-old"
path = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
print(usable, "%d.%d.%d" % sys.version_info[:3], path)
'
}

# Sets `base_needs` to what Debian must provide before any Python package can be installed. The
# probes are left open: whether Python will do takes more than a look for a file.
find_base_needs() {
  base_needs=()
  if [[ -z $base_python && -n $python_without_venv ]]; then
    base_needs+=("- ${python_without_venv##*/}-venv making Python environments")
  elif [[ -z $base_python && ! -e /usr/bin/python3 ]]; then
    base_needs+=("- python3 running the test bed" "- python3-venv making Python environments")
  fi
  if [[ ! -e $CA_BUNDLE && -z ${SSL_CERT_FILE:-} ]] && type -P apt-get >/dev/null; then
    base_needs+=("- ca-certificates fetching packages securely")
  fi
}

fail_without_python() {
  fail_setup "Python 3.11 or newer with its venv module is needed, and the one found is ${too_old:-none}: install one (on Ubuntu 22.04: apt-get install python3.11-venv) or put it on PATH, and call again."
}

ensure_uv() {
  local home=$environments/uv
  is_ready_in "$environments" uv && return
  say "installing uv, which installs the other Python packages"
  discard "$home"
  run_logged "$base_python" -I -m venv "$home" ||
    fail_step "the environment $home could not be made"
  PIP_USER=0 run_logged "$home/bin/python" -I -m pip install --disable-pip-version-check --retries 2 \
    --only-binary uv --require-hashes --requirement "$repo/requirements/uv.txt" ||
    fail_step "uv could not be installed"
  write_stamp uv
}

install_lock() { # NAME
  local home=$environments/$1 uv=$environments/uv/bin/uv
  say "installing the Python packages of requirements/$1.txt"
  discard "$home"
  configure_uv
  run_logged "$uv" venv --python "$base_python" "$home" ||
    fail_step "the environment $home could not be made"
  run_logged "$uv" pip install --python "$home/bin/python" --compile-bytecode \
    --require-hashes --requirement "$repo/requirements/$1.txt" ||
    fail_step "the Python packages of requirements/$1.txt could not be installed"
  write_stamp "$1"
}

# uv does not read pip's settings, and on a machine behind a mirror the mirror is often set there.
# Its cache lies beside the environments, from where files are linked and not copied.
configure_uv() {
  local index=${UV_DEFAULT_INDEX:-${UV_INDEX_URL:-${PIP_INDEX_URL:-}}}
  [[ -n $index ]] ||
    index=$("$environments/uv/bin/python" -I -m pip config get global.index-url 2>/dev/null) || true
  [[ -z $index ]] || export UV_DEFAULT_INDEX=$index
  export UV_CACHE_DIR=${UV_CACHE_DIR:-$environments/cache} UV_PYTHON_DOWNLOADS=never UV_SYSTEM_CERTS=1
}

# The stamp goes first: an environment that is half deleted must not look ready.
discard() { # ENVIRONMENT_HOME
  { rm -f "$1/stamp" && rm -rf "$1"; } 2>>"$log" ||
    fail_step "cannot delete $1: delete it as its owner"
}

write_stamp() { # NAME
  local home=$environments/$1
  { stamp_of "$environments" "$1" >"$home/stamp.new" && mv "$home/stamp.new" "$home/stamp"; } 2>>"$log" ||
    fail_step "cannot write $home/stamp"
}

run_logged() {
  log_size_before_step=$(stat -c %s "$log")
  LC_ALL=C.UTF-8 "$@" >>"$log" 2>&1 </dev/null
}

# Names the cause if it is one of the usual ones.
fail_step() { # WHAT_WENT_WRONG
  local remedy='see the details, and call again'
  if disk_is_full; then
    remedy="the disk that holds $environments is full: free some space, and call again"
  elif step_said 'do not match the hashes|hash mismatch'; then
    remedy='a downloaded package is not the one that was locked: check the package index in use, or lock again with bin/lock'
  elif step_said 'could not resolve|name resolution|failure resolving|dns error|unable to connect|connection (refused|reset|error|broken)|timed out|timeout|unreachable|error sending request|failed to (connect|fetch|establish)|proxyerror|ssl.?error|certificate'; then
    remedy='the package server cannot be reached: check the network, the proxy and the configured mirror, and call again'
  fi
  fail_setup "$1; $remedy (details: $log)."
}

step_said() { # REGULAR_EXPRESSION
  tail -c "+$((log_size_before_step + 1))" "$log" | grep -qiE "$1"
}

# On a full disk the log may lack the line that says so.
disk_is_full() {
  local full=no
  step_said 'no space left|disk quota exceeded' && return
  head -c 65536 /dev/zero 2>/dev/null >"$environments/probe" || full=yes
  rm -f "$environments/probe"
  [[ $full == yes ]]
}
