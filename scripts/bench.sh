#!/usr/bin/env bash
# scripts/bench.sh [NAME [ARGUMENT...]]: builds the measurements of bench/ and runs one of them, or all.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

"$NW_ROOT/scripts/build.sh" release bench_all >&2
NODEWARD_TESTBED=$("$NW_ROOT/scripts/testbed.sh")
export NODEWARD_TESTBED

folder=$NW_ROOT/build/release/bench
mapfile -t programs < <(find "$folder" -maxdepth 1 -type f -executable | sort)
[ ${#programs[@]} -gt 0 ] || die "bench: bench/CMakeLists.txt names no measurement"
if [ $# -gt 0 ]; then
  [ -x "$folder/$1" ] || die "bench: no measurement \"$1\"; there are: ${programs[*]##*/}"
  exec "$folder/$1" "${@:2}"
fi
for program in "${programs[@]}"; do
  say "bench: ${program##*/}"
  "$program"
done
