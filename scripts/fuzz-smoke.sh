#!/usr/bin/env bash
# scripts/fuzz-smoke.sh [SECONDS [FUZZER]]: builds the fuzzers with clang-16 under ASan and UBSan and runs each for that long
# (default 15 s each), from the corpus in the tree. New inputs go to build/fuzz/found; exit 1 when one of them crashes.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
cd "$NW_ROOT"
seconds="${1:-15}"
command -v clang++-16 >/dev/null || "$NW_ROOT/scripts/setup.sh" fuzz
cmake -S fuzz -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-16 > /dev/null
cmake --build build/fuzz >&2
for fuzzer in ${2:-cel_parse_fuzz cel_eval_fuzz watch_fuzz protobuf_fuzz}; do
  language="${fuzzer%%_*}"    # names the dictionary and the corpus
  found="build/fuzz/found/$fuzzer"
  mkdir -p "$found"
  echo "$fuzzer: $seconds s"
  "build/fuzz/bin/$fuzzer" -max_total_time="$seconds" -dict="fuzz/$language.dict" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="$found/" -print_final_stats=1 "$found" "fuzz/corpus/$language" 2> "build/fuzz/$fuzzer.log" || {
    tail -40 "build/fuzz/$fuzzer.log"
    exit 1
  }
  grep -E 'number_of_executed_units|new_units_added' "build/fuzz/$fuzzer.log"
done
