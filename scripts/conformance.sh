#!/bin/sh
# Runs the CEL specification's conformance cases. The last line is "N passed, N failed, N skipped".
# Needs Go (for the converter) and a build of the preset in $PRESET (default: release), which it makes when it is not there.
set -eu
cd "$(dirname "$0")/.."
preset="${PRESET:-release}"
build="build/$preset"
[ -f "$build/build.ninja" ] || cmake --preset "$preset"
cmake --build --preset "$preset" --target conformance >&2
(
  cd tests/conformance/convert
  data="$(go list -m -f '{{.Dir}}' cel.dev/expr)"
  [ -n "$data" ] || { go mod download cel.dev/expr && data="$(go list -m -f '{{.Dir}}' cel.dev/expr)"; }
  go run . "$data/tests/simple/testdata"
) > "$build/conformance-cases.jsonl"
exec "$build/bin/conformance" "$build/conformance-cases.jsonl" tests/conformance/skips.tsv
