#!/usr/bin/env bash
# scripts/build.sh [PRESET [TARGET...]]: configures and builds one preset of CMakePresets.json, release when none is named.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

preset=${1:-release}
cd "$NW_ROOT"
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" ${2:+--target "${@:2}"}
