#!/usr/bin/env bash
# Makes a Debian 12 machine able to build and test Nodeward: installs the packages that are missing, and a Go for the real API
# server of the tests. Quick and silent when all is there. `scripts/setup.sh demo` leaves Go out, `scripts/setup.sh lint` adds what
# `make lint` and `make format` need, `scripts/setup.sh fuzz` what `make fuzz-smoke` needs.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

tools=(ca-certificates git curl g++ make cmake ninja-build ccache mold pkg-config)
libraries=(
  libfmt-dev libexpected-dev nlohmann-json3-dev                   # base
  libspdlog-dev prometheus-cpp-dev zlib1g-dev                     # telemetry
  libcurl4-openssl-dev libssl-dev libcpp-httplib-dev              # net
  libsimdjson-dev libyaml-cpp-dev                                 # kube
  libre2-dev tzdata                                               # cel
  libtomlplusplus-dev                                             # config
  libcli11-dev                                                    # apps
  libnghttp2-dev                                                  # sim
  libgtest-dev libgmock-dev libbenchmark-dev iproute2             # tests, bench
)
wanted=("${tools[@]}" "${libraries[@]}")
go=needed
case "${1:-}" in
  "") ;;
  demo) go=none ;;
  lint) wanted+=(clang-format-16 clang-tidy-16) ;;
  fuzz) wanted+=(clang-16 libclang-rt-16-dev) ;;
  *) die "setup: unknown argument \"$1\"; it takes none, or: demo, lint, fuzz" ;;
esac

missing_of() {    # those of the given packages that are not installed
  dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' | sort -u |
    comm -13 - <(printf '%s\n' "$@" | sort -u)
}

# Quiet, but everything it said is shown when it fails.
quietly() {
  local log
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    die "setup: failed: $*"
  fi
  rm -f "$log"
}

install_packages() {
  local become=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "setup: packages are missing and there is no sudo; as root: apt-get install -y $*"
    become=(sudo)
  fi
  say "setup: installing from Debian: $*"
  quietly "${become[@]}" apt-get -q update
  quietly "${become[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$@"
}

# Debian 12 has Go 1.19, which cannot switch to a newer one by itself but can fetch it: a toolchain is a module like any other.
# Modules come without execute bits and without nested go.mod files; both are put back here.
install_go() {
  local toolchain=golang.org/toolchain@v0.0.1-go$NW_GO_VERSION.linux-$(dpkg --print-architecture)
  local download=$NW_CACHE/go-download
  command -v go >/dev/null || install_packages golang-go
  say "setup: fetching Go $NW_GO_VERSION (68 MB) through Go's own module download"
  mkdir -p "$download"
  (cd "$download" && quietly env GO111MODULE=on GOMODCACHE="$download" GOFLAGS=-modcacherw GOTOOLCHAIN=local go mod download "$toolchain")
  local tree=$download/$toolchain copy
  chmod -R u+w "$tree"
  chmod +x "$tree"/bin/* "$tree"/pkg/tool/*/*
  while read -r copy; do cp "$copy" "${copy%_go.mod}go.mod"; done < <(find "$tree" -name _go.mod)
  rm -rf "$NW_GO_ROOT"
  mv "$tree" "$NW_GO_ROOT"
  rm -rf "$download"
  use_go || die "setup: the Go that was fetched into $NW_GO_ROOT does not run"
}

command -v dpkg-query >/dev/null || die "setup: this is not Debian; install by hand what scripts/setup.sh lists, Debian 12 names"
mapfile -t missing < <(missing_of "${wanted[@]}")
[ ${#missing[@]} = 0 ] || install_packages "${missing[@]}"
[ $go = none ] || use_go || install_go
