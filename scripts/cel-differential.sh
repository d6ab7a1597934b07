#!/bin/sh
# Compares Nodeward's CEL with cel-go. Without arguments: makes tests/data/cel/*-by-cel-go.jsonl anew. With a count and a seed:
# that many other expressions, compared and thrown away. Needs Go and a build of the preset in $PRESET (default: release).
set -eu
cd "$(dirname "$0")/.."
data="$PWD/tests/data/cel"
build="$PWD/build/${PRESET:-release}"
if [ $# -eq 0 ]; then
  cd tests/conformance/second_opinion
  go run . generate "$data/values.json" 2000 20260901 > "$data/generated-by-cel-go.jsonl"
  go run . table "$data/values.json" "$data/absorption.tsv" "$data/null-and-absent.tsv" "$data/regex.tsv" "$data/strings.tsv" \
    "$data/syntax.tsv" "$data/deep.tsv" > "$data/field-by-cel-go.jsonl"
  go run . table "$data/values.json" "$data/edges.tsv" > "$data/edges-by-cel-go.jsonl"
  exit 0
fi
(cd tests/conformance/second_opinion && go run . generate "$data/values.json" "$1" "${2:-1}") > "$build/differential.jsonl"
CEL_DIFFERENTIAL="$build/differential.jsonl" exec "$build/tests/cel_differential_test" --gtest_filter='*AFileGiven*'
