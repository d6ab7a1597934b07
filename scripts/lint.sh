#!/usr/bin/env bash
# scripts/lint.sh [--fix] [all]: clang-format and clang-tidy on the C++ files that differ from origin/main, where there is one, else from
# branch main (or on all of them).
# --fix lets clang-format write, and leaves clang-tidy out.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

fix='' scope=changed
for argument in "$@"; do
  case "$argument" in
    --fix) fix=1 ;;
    all) scope=all ;;
    *) die "lint: unknown argument \"$argument\"; it takes --fix and all" ;;
  esac
done

"$NW_ROOT/scripts/setup.sh" lint
cd "$NW_ROOT"
base=''    # a local main is what was pushed and more: origin/main goes first
[ "$scope" = all ] || base=$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main 2>/dev/null || true)
if [ -n "$base" ]; then
  mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- '*.h' '*.cc'; git ls-files -o --exclude-standard -- '*.h' '*.cc')
else
  mapfile -t files < <(git ls-files -- '*.h' '*.cc')
fi
[ ${#files[@]} -gt 0 ] || { say "lint: no C++ file differs from main; scripts/lint.sh all looks at every file"; exit; }

if [ -n "$fix" ]; then
  clang-format-16 -i "${files[@]}"
  exit
fi
clang-format-16 --dry-run --Werror "${files[@]}"
cmake --preset debug >/dev/null
sources=()
for file in "${files[@]}"; do [[ $file != *.cc ]] || sources+=("$file"); done
[ ${#sources[@]} = 0 ] || printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -n 1 clang-tidy-16 --quiet -p build/debug 2>/dev/null
say "lint: ${#files[@]} files are in order"
