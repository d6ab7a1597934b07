#!/usr/bin/env bash
# The proof that a fresh clone on a bare Debian 12 is enough: debootstraps one into a temporary folder, copies the last commit
# into it and runs the commands given there, `make demo` and `make test` when none is given. Needs root; takes 20 minutes.
# Mirror, proxies and certificates are the machine's own. Leaves nothing behind.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

[ "$(id -u)" = 0 ] || die "bare: needs root, for chroot; run: sudo scripts/bare.sh"
command -v debootstrap >/dev/null || die "bare: debootstrap is missing; run: apt-get install -y debootstrap"
[ $# -gt 0 ] || set -- "make demo" "make test"

# The machine's own Debian sources, one "URI SUITE COMPONENT" a line.
sources=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sed -n 's/^Debian //p' | sort -u)
mirror=$(awk '$2 == "bookworm" {print $1; exit}' <<<"$sources")
[ -n "$mirror" ] || die "bare: apt on this machine knows no bookworm; run apt-get update on a Debian 12"

# In a mount namespace of its own, so that /proc and /dev of the chroot vanish with it.
[ "${NW_BARE_INSIDE:-}" = 1 ] || NW_BARE_INSIDE=1 exec unshare --mount --propagation private "$0" "$@"

root=$(mktemp -d "${TMPDIR:-/var/tmp}/nodeward-bare.XXXXXX")
leave() {
  umount -l "$root/proc" "$root/dev" 2>/dev/null || true
  rm -rf --one-file-system "$root" "$root.log"
}
trap leave EXIT
chmod 755 "$root"    # apt fetches as a user of its own

say "bare: debootstrap into $root"
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 || { tail -n 20 "$root.log" >&2; die "bare: debootstrap failed"; }
sed 's/^/deb /' <<<"$sources" >"$root/etc/apt/sources.list"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
git -c safe.directory='*' clone -q --no-local --depth 1 "file://$NW_ROOT" "$root/root/nodeward" 2>/dev/null ||
  die "bare: cannot clone $NW_ROOT"

environment=(PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)    # HOME stays unset, as in a CI runner
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY GOPROXY GOSUMDB GONOSUMDB GONOSUMCHECK GOPRIVATE GOINSECURE; do
  [ -z "${!name:-}" ] || environment+=("$name=${!name}")
done
# A machine behind a proxy of its own trusts more than Debian does.
if [ -n "${SSL_CERT_FILE:-}" ]; then
  cp "$SSL_CERT_FILE" "$root/etc/machine-ca.pem"
  environment+=(SSL_CERT_FILE=/etc/machine-ca.pem)
fi

inside() { chroot "$root" env -i "${environment[@]}" sh -c "cd /root/nodeward && $1"; }
say "bare: apt-get install make (all that a reader of the README has to know)"
inside "apt-get -qq update && apt-get -qq install -y --no-install-recommends make git >/dev/null 2>&1"
for command in "$@"; do
  say "bare: $command"
  begin=$SECONDS
  inside "$command"
  say "bare: $command: done in $((SECONDS - begin)) s"
done
