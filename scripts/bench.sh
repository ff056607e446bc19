#!/bin/sh
# Measures everything on this machine and writes docs/benchmarks/ and docs/plots/.
#
#   scripts/bench.sh
#   scripts/bench.sh --against REV BENCH [FILTER]     that bench alone, of this tree and of REV in turns
#
# Needs cargo and python3 (3.9 or later), and go and pip for the peers of other languages. If go or pip is missing, the
# script leaves out its peers and names them. A bench that fails is named too, and the report marks its rows as
# absent. The command SORDINO_PIN precedes each measurement: by default `taskset` for the last core, if it exists.
# The benches' own variables for longer sizes work here (SORDINO_BENCH_LONG, SORDINO_BENCH_GIB). SORDINO_CKKS_LONG has
# by default the value of the report: 100,000 vectors. SORDINO_BENCH_NATIVE=1 compiles everything a second time with `-C
# target-cpu=native`, and adds that build's rows to the report. SORDINO_TEXTS and SORDINO_TEXTS_QUERIES are files of texts with
# vectors and of queries, for the first section (scripts/texts.py). SORDINO_TEXTS_NAME describes the texts.
set -eu
cd "$(dirname "$0")/.."

if [ "${1-}" = --against ]; then
    shift
    exec scripts/against.py "$@"
fi

if command -v taskset >/dev/null; then last="taskset -c $(($(nproc) - 1))"; else last=""; fi
pin=${SORDINO_PIN-$last}
run=target/report
rm -rf "$run"
mkdir -p "$run"
export CRITERION_HOME="$PWD/$run/criterion"
failed=""

step() { printf '\n== %s (%s)\n' "$*" "$(date -u +%H:%M:%S)" >&2; }

# Continues after a command that fails.
try() {
    step "$@"
    "$@" || failed="$failed
$*"
}

# Runs a command with one thread, on one core.
one() {
    # shellcheck disable=SC2086 # the words of a command
    RAYON_NUM_THREADS=1 $pin "$@"
}

example() {
    name=$1
    shift
    cargo run --quiet --profile bench --example "$name" -- "$@"
}

step "building"
cargo bench --no-run
cargo build --profile bench -p sordino-cli --bin sordino
cargo build --profile bench --example private_search --example network_search \
    --example wire_sizes --example cpu_levels

for bench in pir lwe lsh fpe mldsa hash authz; do
    try one cargo bench --bench "$bench"
done
try one env SORDINO_CKKS_LONG="${SORDINO_CKKS_LONG-1}" cargo bench --bench ckks
# Runs the benches again whose rows are for all threads.
for bench in lsh mldsa hash; do
    try cargo bench --bench "$bench" -- rayon
done
# Measures code that chooses its kernels itself again at lower levels. The other benches name each level.
for level in portable avx2; do
    try one env CRITERION_HOME="$PWD/$run/$level" SORDINO_CPU="$level" cargo bench --bench ckks -- \
        '^(ckks/score/row/64x128|ckks/column/.*score.*|ntt/forward/sordino/2048)$'
done

if [ "${SORDINO_BENCH_NATIVE-0}" = 1 ]; then
    try one env CRITERION_HOME="$PWD/$run/native" RUSTFLAGS="-C target-cpu=native" cargo bench \
        --target-dir target/native --bench mldsa -- mldsa/verify
fi

for n in 5000 20000 100000; do
    try one cargo run --quiet --profile bench --example private_search -- --json --n "$n" \
        >>"$run/search.jsonl"
done
# Searches that bring texts: from a Parquet file with the columns id and text, with a file of
# queries.
if [ -n "${SORDINO_TEXTS-}" ]; then
    try scripts/texts.py target/release/sordino "$SORDINO_TEXTS" "$SORDINO_TEXTS_QUERIES" --id-column id \
        --name "${SORDINO_TEXTS_NAME-texts}" --pin "$pin" >"$run/texts.jsonl"
fi
try example network_search --load --json >"$run/load.jsonl"
try example wire_sizes >"$run/sizes.jsonl"
try env SORDINO_PIN="$pin" scripts/peers/run.sh >"$run/peers.jsonl"
try cargo run --quiet --profile bench -p sordino-authz --example authz -- 10 --json >"$run/authz.jsonl"

for n in 100000 1000000 10000000; do for line in 10 100 1000; do for queries in 1 10 100 1000; do
    try target/release/sordino plan --json --n "$n" --dim 128 --queries "$queries" --line "${line}Mbit/s"
done; done; done >"$run/plans.jsonl"

step "report"
python3 scripts/compare --criterion "$CRITERION_HOME" --search "$run/search.jsonl" \
    --load "$run/load.jsonl" --plans "$run/plans.jsonl" --texts "$run/texts.jsonl" --peers "$run/sizes.jsonl" --peers "$run/peers.jsonl" --peers "$run/authz.jsonl" \
    --level portable="$run/portable" --level avx2="$run/avx2" --level native="$run/native" \
    --levels "$(example cpu_levels)"
if [ -n "$failed" ]; then
    echo "not measured, or not whole:$failed" >&2
    exit 1
fi
