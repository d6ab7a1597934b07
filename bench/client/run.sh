#!/usr/bin/env bash
# bench/client/run.sh [ARGUMENT...]: our reflector and client-go's informer by turns on one simulated server; prints the table.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/env.sh"
use_go || die "bench: no Go $NW_GO_VERSION or newer here; run: make setup"
peer=$NW_ROOT/build/release/bench/client-peer
(cd "$NW_ROOT/bench/client/peer" && go build -o "$peer" .)
exec "$NW_ROOT/scripts/bench.sh" client --peer "$peer" "$@"
