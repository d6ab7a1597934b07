#!/usr/bin/env bash
# The demo of the README: builds what it needs, then runs it on a cluster of its own. No cluster that KUBECONFIG names is touched.
#   scripts/demo.sh [--nodes N | --real]        --real needs Go once, to build the real API server
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
unset KUBECONFIG

if [ "${1:-}" = --nodes ] && ! { [[ ${2:-} =~ ^[1-9][0-9]{0,5}$ ]] && [ "$2" -le 100000 ]; }; then
  say "NODES=${2:-}: a number from 1 to 100000"
  exit 2
fi
"$NW_ROOT/scripts/build.sh" release labeler fault-quarantine demo >&2
case " $* " in
  *" --real "*)
    NODEWARD_TESTBED=$("$NW_ROOT/scripts/testbed.sh")
    export NODEWARD_TESTBED
    ;;
esac
exec "$NW_ROOT/build/release/tools/demo/demo" "$@"
