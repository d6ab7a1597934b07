#!/usr/bin/env bash
# Makes sure that the real API server of the tests (kube-apiserver and etcd) is built, and prints the folder of the two programs.
# Takes KUBEBUILDER_ASSETS when it holds both. Otherwise builds once per version into the cache folder, which `make clean` leaves.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

has_both() { [ -x "$1/kube-apiserver" ] && [ -x "$1/etcd" ]; }

if [ -n "${KUBEBUILDER_ASSETS:-}" ] && has_both "$KUBEBUILDER_ASSETS"; then
  echo "$KUBEBUILDER_ASSETS"
  exit
fi

module=$NW_ROOT/tests/api/cluster
folder=$NW_CACHE/testbed/$(cat "$module/go.mod" "$module/go.sum" | sha256sum | cut -c1-16)
if ! has_both "$folder"; then
  mkdir -p "$NW_CACHE/testbed"
  exec 9>"$NW_CACHE/testbed/lock"
  flock -n 9 || { say "testbed: waiting for another build of the API server"; flock 9; }
fi
if ! has_both "$folder"; then
  use_go || die "testbed: no Go $NW_GO_VERSION or newer here; run: make setup"
  say "testbed: building kube-apiserver and etcd, once (3 to 7 minutes on two cores)"
  rm -rf "$NW_CACHE"/testbed/partial.*    # of builds that were interrupted; the lock is ours
  partial=$NW_CACHE/testbed/partial.$$
  mkdir -p "$partial"
  version=$(cd "$module" && go list -m -f '{{.Version}}' k8s.io/kubernetes)
  # Go names each module it fetches and, with -v, each package it compiles: a line now and then shows that it is alive.
  progress() {    # PROGRAM PACKAGES
    local line fetched=0 compiled=0
    while IFS= read -r line; do
      case "$line" in
        "go: downloading"*) ((++fetched % 50)) || say "testbed: $fetched modules fetched for $1" ;;
        *[\ :#]*) say "$line" ;;
        *) ((++compiled % 100)) || say "testbed: $compiled of $2 packages of $1 compiled" ;;
      esac
    done
  }
  build() {    # PROGRAM PACKAGE
    local packages
    packages=$(cd "$module" && go list -deps "$2" 2> >(progress "$1" 0) | wc -l)
    (cd "$module" &&
      go build -v -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" -o "$partial/$1" "$2") \
      2> >(progress "$1" "$packages")
  }
  build etcd go.etcd.io/etcd/server/v3
  build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
  rm -rf "$folder"
  mv "$partial" "$folder"
fi
echo "$folder"
