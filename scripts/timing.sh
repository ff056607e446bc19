#!/bin/sh
# Times every kernel that has a secret, for a fixed secret and for random ones, with a million measurements each. Fails if
# the means differ (Welch's t of 4.5), or if the test misses functions that leak on purpose. Runs the code of this
# processor's level, also AVX-512, which memcheck lacks. Takes ten minutes on one core, which the script
# reserves if it may:
#   scripts/timing.sh [MEASUREMENTS [NAME]]
# A timing is only evidence, and no check of a change depends on it: see docs/security/README.md.
set -eu
cd "$(dirname "$0")/.."
cargo build --workspace --example timing
core=$(($(nproc) - 1))
alone="taskset -c $core"
if chrt -f 1 true 2>/dev/null; then alone="chrt -f 1 $alone"; fi
# shellcheck disable=SC2086 # the words of a command
$alone "${CARGO_TARGET_DIR:-target}/debug/examples/timing" "${1:-1000000}" ${2:+"$2"}
