#!/usr/bin/env bash
# Runs the CEL specification's conformance cases. The last line is "N passed, N failed, N skipped".
#   scripts/conformance.sh [--cases FILE]     --cases: only writes the cases, as JSON lines
# Needs Go (for the converter) and a build of the preset in $PRESET (default: release), which it makes when it is not there.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
use_go || die "conformance: there is no Go $NW_GO_VERSION or newer; run scripts/setup.sh"

write_cases() {     # FILE
  cd "$NW_ROOT/tests/conformance/convert"
  go mod download cel.dev/expr
  go run . "$(go list -m -f '{{.Dir}}' cel.dev/expr)/tests/simple/testdata" >"$1.part"
  mv "$1.part" "$1"
  cd "$NW_ROOT"
}

if [ "${1:-}" = --cases ]; then
  write_cases "$(realpath "${2:?--cases needs a file}")"
  exit 0
fi
build=$NW_ROOT/build/${PRESET:-release}
"$NW_ROOT/scripts/build.sh" "${PRESET:-release}" conformance >&2
write_cases "$build/conformance-cases.jsonl"
exec "$build/bin/conformance" "$build/conformance-cases.jsonl" tests/conformance/skips.tsv
