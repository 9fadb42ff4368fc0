# shellcheck shell=bash
# Where the project's Python environments live, whether one is ready, and how Python runs in it.
# Sourced by the scripts in bin/ once they have set `repo`.
#
# requirements/NAME.txt is the lock of environment NAME. Every command passes through here, so
# the way through an environment that is ready starts as few processes as it can.

: "${repo:?is set by the script that sources this}"

# Raise it when environments that were already made have to be made again.
readonly SETUP_VERSION=1
readonly EXIT_SETUP_FAILED=3

say() { printf 'testbed: %s\n' "$*" >&2; }

fail_setup() {
  say "$*"
  exit "$EXIT_SETUP_FAILED"
}

# The interpreter's real path carries its version: /usr/bin/python3.11.
stamp_of() { # FOLDER NAME
  local lock_hash
  lock_hash=$(sha256sum <"$repo/requirements/$2.txt")
  printf '%s %s %s' "$SETUP_VERSION" "${lock_hash%% *}" "$(readlink -f "$1/$2/bin/python")"
}

is_ready_in() { # FOLDER NAME
  local stamp=
  [[ -x $1/$2/bin/python && -r $1/$2/stamp ]] || return 1
  read -r stamp <"$1/$2/stamp" || true
  [[ $stamp == "$(stamp_of "$1" "$2")" ]]
}

can_be_made_in() { # FOLDER NAME
  if [[ ! -e $1 ]]; then [[ -w ${1%/*} ]]; else [[ -w $1 && (-w $1/$2 || ! -e $1/$2) ]]; fi
}

folder_of_this_users_cache() {
  local path_hash
  path_hash=$(sha256sum <<<"$repo")
  printf '%s/testbed/%s' "${XDG_CACHE_HOME:-$(printf '%s' ~)/.cache}" "${path_hash:0:16}"
}

# Sets `environments`. Who can read but not write the repository uses what its owner has made
# there as long as it fits the lock, and otherwise makes their own.
locate_environments() { # NAME
  environments=$repo/.venv
  [[ -r $repo/requirements/$1.txt ]] ||
    fail_setup "there is no lock file requirements/$1.txt in $repo: restore it, or make it with bin/lock."
  is_ready_in "$environments" "$1" && return
  can_be_made_in "$environments" "$1" && return
  environments=$(folder_of_this_users_cache)
}

# Sets `python`. The caller's folder and PYTHONPATH stay off the import path, where a file of
# theirs could take the place of a module of ours; programs that Python starts inherit this.
enter_environment() { # NAME
  # shellcheck disable=SC2034 # for the script that called
  python=$environments/$1/bin/python
  unset PYTHONHOME
  export PYTHONPATH=$repo PYTHONSAFEPATH=1
}
