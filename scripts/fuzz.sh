#!/usr/bin/env bash
# Runs every fuzz target for some seconds from its seed corpus:  scripts/fuzz.sh [seconds] [target ...]
#
# Needs a nightly toolchain and cargo-fuzz; both are installed if they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
shift || true
rustup toolchain list | grep -q nightly || rustup toolchain install nightly --profile minimal
command -v cargo-fuzz >/dev/null || cargo +nightly install cargo-fuzz --locked --quiet

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for file in fuzz/fuzz_targets/*.rs; do targets+=("$(basename "$file" .rs)"); done
fi
cargo +nightly fuzz build --release
for target in "${targets[@]}"; do
    echo "-- $target"
    found=$(mktemp -d)
    # New inputs go to a scratch folder, so that a run leaves the corpus as it was.
    cargo +nightly fuzz run --release "$target" "$found" "fuzz/corpus/$target" -- \
        -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -verbosity=0 -print_final_stats=0
    rm -r "$found"
done
