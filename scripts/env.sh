# Sourced by the other scripts: the root of the clone, the cache folder outside of build/, and a Go that is new enough.
set -euo pipefail

NW_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Go, ccache and the cache folder all hang on HOME, which a CI runner may not set, or not let us write to.
is_home() { [ -n "$1" ] && { [ -d "$1/.cache" ] || mkdir "$1/.cache" 2>/dev/null; } && [ -w "$1/.cache" ]; }
if ! is_home "${HOME:-}"; then
  HOME=$(getent passwd "$(id -u)" | cut -d: -f6) || HOME=''
  if ! is_home "$HOME"; then
    HOME=/var/tmp/nodeward-home-$(id -u)
    mkdir -p -m 700 "$HOME"
    [ -O "$HOME" ] || { echo "$HOME belongs to somebody else; set HOME to a folder of yours" >&2; exit 1; }
  fi
  export HOME
fi
NW_CACHE=${NODEWARD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/nodeward}
NW_GO_VERSION=1.26.0
NW_GO_ROOT=$NW_CACHE/go-$NW_GO_VERSION    # filled by setup.sh where the machine has no Go of this version or newer

# One cache for every clone: paths below the root count as relative, and so does where the build stands. One for every locale too, which
# only words the compiler's messages: a CI runner without LANG finds what a shell with it has built.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$NW_ROOT} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-locale}

say() { echo "$*" >&2; }
die() { say "$*"; exit 1; }

go_is_new_enough() {    # go_is_new_enough PROGRAM
  local have
  have=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
  printf '%s\n%s\n' "$NW_GO_VERSION" "${have#go}" | sort -V -C
}

# Puts a Go of version NW_GO_VERSION or newer first in PATH; fails when there is none.
use_go() {
  go_is_new_enough go && return 0
  go_is_new_enough "$NW_GO_ROOT/bin/go" || return 1
  export PATH=$NW_GO_ROOT/bin:$PATH GOTOOLCHAIN=local
}
