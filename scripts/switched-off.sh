#!/usr/bin/env bash
# The proof that each mechanism is held by a test: switches them off one after the other, in a copy of the tree, and demands that
# the test which is named fails. The rows are tests/switched_off/*.patch (see the README there). The last line is the sum.
#   scripts/switched-off.sh [PART...]      only the rows with one of these in their name: R13 lease
# All output is kept in build/switched-off/logs.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

rows=$NW_ROOT/tests/switched_off work=$NW_ROOT/build/switched-off
tree=$work/tree logs=$work/logs
[ $# -gt 0 ] || set -- ''
for part in "$@"; do
  compgen -G "$rows/*$part*.patch" >/dev/null || die "switched-off: no row has \"$part\" in its name; ls tests/switched_off shows them"
done
mapfile -t names < <(for part in "$@"; do compgen -G "$rows/*$part*.patch"; done | sed 's|.*/||; s|\.patch$||' | sort -u)
mkdir -p "$tree" "$logs"
exec 9>"$work/lock"
flock -n 9 || die "switched-off: another run is using $work"

# Only what differs, with a new time: what an interrupted run left switched off is put back and built anew.
copy_tree() {
  local file
  while IFS= read -r -d '' file; do
    [ -f "$file" ] && ! cmp -s "$file" "$tree/$file" || continue
    mkdir -p "$tree/$(dirname "$file")"
    cp "$file" "$tree/$file"
  done < <(git ls-files -z --cached --others --exclude-standard)
}
apply() { git apply --directory="${tree#"$NW_ROOT"/}" "$@"; }
field() { sed -n "/^--- /q; s/^$2: //p" "$rows/$1.patch"; }    # ROW NAME
test_of() { field "$1" Test; }                                 # ROW: the binary, and GoogleTest's filter
build() { (cd "$tree" && cmake --build --preset release --target "$@") >"$log" 2>&1 9>&-; }
# In a shell of its own, whose word about a test that crashes goes into the log, too.
run() {                                                        # SECONDS BINARY FILTER
  (timeout -k 5 "$1" "$tree/build/release/tests/$2_test" --gtest_filter="$3" || exit $?) >"$log" 2>&1 9>&-
}
ran_any() { grep -q '^\[==========\] Running [1-9]' "$log" && ! grep -q '^\[  SKIPPED \]' "$log"; }

cd "$NW_ROOT"
copy_tree
(cd "$tree" && cmake --preset release >/dev/null)
NODEWARD_TESTBED=$("$NW_ROOT/scripts/testbed.sh")
export NODEWARD_TESTBED

caught=0 missed=0
verdict() {    # WORDS ROW [REMARK]
  if [ "$1" = caught ]; then caught=$((caught + 1)); else missed=$((missed + 1)); fi
  LC_ALL=C printf '%-10s %5.1f s  %s: %s%s\n' "$1" "$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN {print b - a}')" "$2" \
    "$(head -n 1 "$rows/$2.patch")" "${3:+ [$3]}"
}

# A test that fails anyway proves nothing.
log=$logs/as-it-stands
say "switched-off: building ${#names[@]} rows' tests as they stand"
mapfile -t binaries < <(for name in "${names[@]}"; do test_of "$name" | cut -d' ' -f1; done | sort -u)
build "${binaries[@]/%/_test}" || { tail -n 30 "$log" >&2; die "switched-off: the tree does not build as it stands"; }
declare -A fails=()
while read -r binary filter; do
  log="$logs/as-it-stands-$binary"
  if run 300 "$binary" "$filter" && ran_any; then continue; fi
  fails["$binary $filter"]=1
done < <(for name in "${names[@]}"; do test_of "$name"; done | sort -u)

for name in "${names[@]}"; do
  begin=$EPOCHREALTIME log=$logs/$name
  read -r binary filter <<<"$(test_of "$name")"
  if [ -n "${fails["$binary $filter"]:-}" ]; then
    verdict BROKEN "$name" "as it stands the test fails or is skipped, or there is none"
    continue
  fi
  apply "$rows/$name.patch" 2>"$log" || { verdict BROKEN "$name" "the patch does not apply: $(head -n 1 "$log")"; continue; }
  hangs=$(field "$name" Hangs) status=0
  if ! build "${binary}_test"; then
    verdict BROKEN "$name" "it does not build: build/switched-off/logs/$name"
  else
    run "${hangs:-120}" "$binary" "$filter" || status=$?
    case "$status:$hangs" in
      0:*) verdict 'NOT CAUGHT' "$name" "$binary $filter" ;;
      124: | 137:) verdict 'NOT CAUGHT' "$name" "the test has no end" ;;
      124:* | 137:*) verdict caught "$name" ;;
      *) verdict caught "$name" "$([ "$status" -lt 128 ] || echo crashed)" ;;
    esac
  fi
  apply -R "$rows/$name.patch"
done
echo "$caught caught, $missed not caught"
[ "$missed" = 0 ]
