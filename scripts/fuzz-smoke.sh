#!/bin/sh
# scripts/fuzz-smoke.sh [SECONDS [FUZZER]]: builds the fuzzers with clang-16 under ASan and UBSan and runs each for that long
# (default 15 s each), from the corpus in the tree. New inputs go to build/fuzz/found; exit 1 when one of them crashes.
set -eu
cd "$(dirname "$0")/.."
seconds="${1:-15}"
cmake -S fuzz -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-16 > /dev/null
cmake --build build/fuzz >&2
for fuzzer in ${2:-cel_parse_fuzz cel_eval_fuzz}; do
  found="build/fuzz/found/$fuzzer"
  mkdir -p "$found"
  echo "$fuzzer: $seconds s"
  "build/fuzz/bin/$fuzzer" -max_total_time="$seconds" -dict=fuzz/cel.dict -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="$found/" -print_final_stats=1 "$found" fuzz/corpus/cel 2> "build/fuzz/$fuzzer.log" || {
    tail -40 "build/fuzz/$fuzzer.log"
    exit 1
  }
  grep -E 'number_of_executed_units|new_units_added' "build/fuzz/$fuzzer.log"
done
