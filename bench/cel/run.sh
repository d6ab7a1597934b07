#!/bin/sh
# bench/cel/run.sh [ROUNDS]: the CEL measurements of Nodeward and of cel-go in one run, by turns; prints the table.
set -eu
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >&2
cmake --build --preset release --target cel_engine_bench >&2
cases="$PWD/bench/cel/cases.json"
program="$PWD/build/release/bench/cel_engine"
cd bench/cel/peer
exec go run . "$cases" "$program" "${1:-3}"
