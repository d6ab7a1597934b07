#!/usr/bin/env bash
# Builds, then runs every test binary one after the other. The last line is the sum: "N passed, N failed[, N skipped]".
#   scripts/test.sh [--preset PRESET] [--long] [--only BINARY] [FILTER]
# --long asks the tests for their long form (NODEWARD_LONG=1). FILTER is GoogleTest's; a plain word finds tests by a part of
# their name. All output is kept in build/PRESET/test-logs.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

preset=release filter='*' only='' limit=20m
while [ $# -gt 0 ]; do
  case "$1" in
    --preset) preset=${2:?--preset needs a name of CMakePresets.json}; shift ;;
    --only) only=${2:?--only needs the name of a test binary}; shift ;;
    --long) export NODEWARD_LONG=1; limit=3h ;;
    -*) die "test: unknown flag $1; it takes --preset PRESET, --long, --only BINARY and a filter" ;;
    *[*:?]*) filter=$1 ;;
    *) filter="*$1*" ;;
  esac
  shift
done

"$NW_ROOT/scripts/build.sh" "$preset" >&2
NODEWARD_TESTBED=$("$NW_ROOT/scripts/testbed.sh")
export NODEWARD_TESTBED

build=$NW_ROOT/build/$preset
logs=$build/test-logs
rm -rf "$logs"
mkdir -p "$logs"
mapfile -t names < <(ctest --test-dir "$build" -N | sed -n 's/^ *Test *#[0-9]*: //p')    # not what an older build left behind
if [ -n "$only" ]; then
  [[ " ${names[*]} " == *" $only "* ]] || die "test: no test binary \"$only\"; there are: ${names[*]}"
  names=("$only")
fi

passed=0 failed=0 skipped=0

# Prints the output of each failed test; of a binary that did not get to its end, the end of its output.
show_failures() {    # LOG REPORT
  awk '/^\[ RUN/ {part = ""} {part = part $0 "\n"} /^\[  FAILED  \] .* \([0-9]+ ms\)$/ {printf "%s", part}' "$1"
  [ -s "$2" ] || tail -n 60 "$1"
}

run_binary() {       # NAME
  local log=$logs/$1.log report=$logs/$1.xml status=0 begin=$EPOCHREALTIME ok=0 bad=0 left=0 head
  timeout "$limit" "$build/tests/$1_test" --gtest_filter="$filter" --gtest_output="xml:$report" >"$log" 2>&1 || status=$?
  if [ -s "$report" ]; then
    head=$(grep -m1 '<testsuites ' "$report")
    number() { sed -n "s/.* $1=\"\([0-9]*\)\".*/\1/p" <<<"$head"; }
    bad=$(number failures)
    left=$(grep -c 'result="skipped"' "$report" || true)
    ok=$(($(number tests) - bad - left - $(number disabled)))
  fi
  local remark=''
  if [ "$status" != 0 ] && [ "$bad" = 0 ]; then
    bad=1
    remark="  did not end in order: exit status $status$([ "$status" != 124 ] || echo " (more than $limit)")"
  fi
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + left))
  LC_ALL=C printf '%-6s %-24s %5d passed, %d failed %9.1f s%s\n' "$([ "$bad" = 0 ] && echo ok || echo FAILED)" "$1" "$ok" "$bad" \
    "$(seconds_between "$begin" "$EPOCHREALTIME")" "$remark"
  [ "$bad" = 0 ] || show_failures "$log" "$report"
}

seconds_between() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.2f", b - a}'; }

for name in "${names[@]}"; do run_binary "$name"; done

status=0
if [ $((passed + failed)) = 0 ]; then
  say "test: no test ran; the filter was $filter"
  status=1
fi
[ "$failed" = 0 ] || { say "test: the whole output is in ${logs#"$NW_ROOT"/}"; status=1; }
echo "$passed passed, $failed failed$([ "$skipped" = 0 ] || echo ", $skipped skipped")"
exit $status
