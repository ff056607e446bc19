#!/usr/bin/env bash
# Runs fuzz targets from their seed corpora.
#
#   scripts/fuzz.sh smoke                  every target, the same 3,000 inputs each time
#   scripts/fuzz.sh 60 [target ...]        every target, or these, for 60 seconds each
#
# Needs a nightly toolchain and cargo-fuzz; both are installed if they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-60} in
    smoke) limit=(-runs=3000 -seed=1) ;;
    *) limit=(-max_total_time="${1:-60}") ;;
esac
shift || true
rustup toolchain list | grep -q nightly || rustup toolchain install nightly --profile minimal
command -v cargo-fuzz >/dev/null || cargo +nightly install cargo-fuzz --locked --quiet

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for file in fuzz/fuzz_targets/*.rs; do targets+=("$(basename "$file" .rs)"); done
fi
# Sanitizers do not work with link-time optimisation.
export CARGO_PROFILE_RELEASE_LTO=off
cargo +nightly fuzz build --release
for target in "${targets[@]}"; do
    echo "-- $target"
    found=$(mktemp -d)
    # New inputs go to a scratch folder, so a run does not change the corpus.
    cargo +nightly fuzz run --release "$target" "$found" "fuzz/corpus/$target" -- \
        "${limit[@]}" -rss_limit_mb=2048 -timeout=20 -verbosity=0 -print_final_stats=0
    rm -r "$found"
done
