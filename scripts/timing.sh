#!/bin/sh
# Times every kernel that has a secret for a fixed secret and for random ones, a million measurements each, and fails if their
# means differ (Welch's t of 4.5), or if functions that leak on purpose are not found. Runs the code of this processor's level,
# AVX-512 too, which memcheck does not know. Ten minutes of one core, which it takes for itself where it may:
#   scripts/timing.sh [MEASUREMENTS [NAME]]
# A timing is evidence, and no check of a change rests on it: see docs/security/README.md.
set -eu
cd "$(dirname "$0")/.."
cargo build --workspace --example timing
core=$(($(nproc) - 1))
alone="taskset -c $core"
if chrt -f 1 true 2>/dev/null; then alone="chrt -f 1 $alone"; fi
# shellcheck disable=SC2086 # the words of a command
$alone "${CARGO_TARGET_DIR:-target}/debug/examples/timing" "${1:-1000000}" ${2:+"$2"}
