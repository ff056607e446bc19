#!/bin/sh
# Measures everything on this machine and writes docs/benchmarks.md and docs/plots/.
#
#   scripts/bench.sh
#
# Needs cargo and python3 (3.9 or later); go and pip for the peers of other languages, which are
# left out, and named, where those are missing. SORDINO_PIN is a command in front of each
# measurement; by default the last core is kept for it where taskset exists. The benches' own
# variables for longer sizes (SORDINO_BENCH_LONG, SORDINO_CKKS_LONG, SORDINO_BENCH_GIB) work here.
set -eu
cd "$(dirname "$0")/.."

if command -v taskset >/dev/null; then last="taskset -c $(($(nproc) - 1))"; else last=""; fi
pin=${SORDINO_PIN-$last}
run=target/report
rm -rf "$run"
mkdir -p "$run"
export CRITERION_HOME="$PWD/$run/criterion"

# One thread, on one core.
one() {
    # shellcheck disable=SC2086 # the words of a command
    RAYON_NUM_THREADS=1 $pin "$@"
}

cargo bench --no-run
cargo build --profile bench --example private_search --example wire_sizes --example cpu_levels
for bench in pir ckks lsh fpe mldsa hash search; do
    one cargo bench --bench "$bench"
done
# The rows that use all threads, once more, with all threads.
for bench in lsh mldsa hash; do
    cargo bench --bench "$bench" -- rayon
done
for n in 5000 20000 100000; do
    one cargo run --quiet --profile bench --example private_search -- --json --n "$n" >>"$run/search.jsonl"
done
cargo run --quiet --profile bench --example wire_sizes >"$run/sizes.jsonl"
SORDINO_PIN=$pin scripts/peers/run.sh >"$run/peers.jsonl"

python3 scripts/compare --criterion "$CRITERION_HOME" --search "$run/search.jsonl" \
    --peers "$run/sizes.jsonl" --peers "$run/peers.jsonl" \
    --levels "$(cargo run --quiet --profile bench --example cpu_levels)"
