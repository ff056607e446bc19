#!/bin/sh
# Measures everything on this machine and writes docs/benchmarks/ and docs/plots/.
#
#   scripts/bench.sh
#   scripts/bench.sh --against REV BENCH [FILTER]     that bench alone, of this tree and of REV in turns
#
# Needs cargo and python3 (3.9 or later) with pip, and go and a C compiler for peers. If one of these two is missing,
# the script leaves out its peers and names them. A bench that fails is named too, and then no page is written.
#
# SORDINO_PIN       a command before each measurement; by default `taskset` for the last core, if it exists
# SORDINO_SETS      a file of real vectors, for the table of all modes; a line has NAME BASE QUERIES TRUTH and words
#                   about the set: BASE, QUERIES and TRUTH are paths of vectors, of queries, and of true neighbours
# SORDINO_TEXTS     a Parquet file with the columns id, text and vectors, for the ways to fetch texts (scripts/texts.py);
#                   SORDINO_TEXTS_QUERIES is its file of queries, and SORDINO_TEXTS_NAME describes the texts
# SORDINO_PEER_SOURCES   a folder of sources for scripts/peers/systems.sh
# SORDINO_BENCH_LOAD      words about what else the machine does during the run, for the page of the method
# SORDINO_BENCH_LONG=1   adds the longer sizes of the benches
# SORDINO_BENCH_NATIVE=1 compiles the ML-DSA bench a second time with `-C target-cpu=native`, and adds its rows
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
mkdir -p "$run/bench"
revision() { git describe --always --dirty --exclude '*'; }
commit=$(revision)
case $commit in *-dirty)
    echo "commit the changes of this tree before a run" >&2
    exit 1
    ;;
esac
started=$(date +%s)
export CRITERION_HOME="$PWD/$run/criterion"
export SORDINO_BENCH_GIB="${SORDINO_BENCH_GIB-1}"
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
cargo build --profile bench -p sordino-authz --example authz
# With `true` before each measurement, these two scripts build peers and measure nothing.
step "building peers, with messages in $run/peers.log"
for peers in run systems; do
    SORDINO_PIN=true "scripts/peers/$peers.sh" >>"$run/peers.log" 2>&1 || true
done
# The searches between two processes need these packages.
python=target/peers/python/bin/python
if ! "$python" -c 'import numpy, pyarrow'; then
    echo "$run/peers.log says why numpy and pyarrow were not installed" >&2
    exit 1
fi

measured=$(date +%s)

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

# The stages of a search at one size.
try one cargo run --quiet --profile bench --example private_search -- --json --n 100000 >"$run/search.jsonl"

# All modes on a set, in two files: a search with texts is measured in the first mode of a run. A build of routed mode draws at
# random, so the set of the first page has three builds, in files of their own.
modes() {
    name=$1
    others=$2
    shift 2
    try one target/release/sordino bench --json --mode "masked,$others" "$@" >"$run/bench/$name.masked.json"
    case $name in clustered-100000) builds="1 2 3" ;; *) builds=1 ;; esac
    for build in $builds; do
        try one target/release/sordino bench --json --mode routed "$@" >"$run/bench/$name.routed-$build.json"
    done
}
for n in 10000 100000; do
    modes "clustered-$n" open,sealed,local --set clustered --n "$n"
done
# To build sealed mode for a million vectors takes one core ten minutes.
modes clustered-1000000 open,local --set clustered --n 1000000
modes uniform-100000 open,sealed,local --set uniform --n 100000
if [ -n "${SORDINO_SETS-}" ]; then
    while read -r name base queries truth about; do
        echo "$about" >"$run/bench/$name.txt"
        modes "$name" open,sealed,local --data "$base" --queries "$queries" --truth "$truth"
    done <"$SORDINO_SETS"
fi
# Searches that bring texts: from a Parquet file with the columns id and text, with a file of
# queries.
if [ -n "${SORDINO_TEXTS-}" ]; then
    try scripts/texts.py target/release/sordino "$SORDINO_TEXTS" "$SORDINO_TEXTS_QUERIES" --id-column id \
        --name "${SORDINO_TEXTS_NAME-texts}" --rounds 1 --pin "$pin" >"$run/texts.jsonl"
fi
try example network_search --load --json >"$run/load.jsonl"
try example wire_sizes >"$run/sizes.jsonl"
try env SORDINO_PIN="$pin" scripts/peers/run.sh >"$run/peers.jsonl"
try env SORDINO_PIN="$pin" scripts/peers/systems.sh >"$run/systems.jsonl"
try "$python" scripts/lines.py target/release/sordino --pin "$pin" --sizes 100000 --modes masked,routed,open,sealed,local >"$run/served.jsonl"
try "$python" scripts/lines.py target/release/sordino --pin "$pin" --sizes 1000000 >>"$run/served.jsonl"
# Ten million vectors need 20 GiB of memory for a server and a client, and 20 GB in the folder of TMPDIR.
memory=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo 2>/dev/null || echo 0)
disk=$(df -Pk "${TMPDIR-/tmp}" | awk 'END { print int($4 / 1000000) }')
if [ "$memory" -ge 20 ] && [ "$disk" -ge 20 ]; then
    try "$python" scripts/lines.py target/release/sordino --pin "$pin" --sizes 10000000 --rates 100 \
        --modes masked,routed --bench "$run/bench" >>"$run/served.jsonl"
fi
try cargo run --quiet --profile bench -p sordino-authz --example authz -- 10 --json >"$run/authz.jsonl"

for n in 100000 1000000 10000000 100000000 1000000000; do for line in 10 100 1000; do for queries in 1 10 100 1000; do
    try target/release/sordino plan --json --n "$n" --dim 128 --queries "$queries" --line "${line}Mbit/s"
done; done; done >"$run/plans.jsonl"

[ "$(revision)" = "$commit" ] || failed="$failed
the tree changed during the run, from $commit to $(revision)"
printf '{"commit": "%s", "started": %s, "measured": %s, "ended": %s}\n' \
    "$commit" "$started" "$measured" "$(date +%s)" >"$run/made.json"
if [ -n "$failed" ]; then
    echo "No page was written. Not measured, or not whole:$failed" >&2
    exit 1
fi
step "report"
python3 scripts/compare --made "$run/made.json" --criterion "$CRITERION_HOME" --search "$run/search.jsonl" \
    --bench "$run/bench" --served "$run/served.jsonl" --load "$run/load.jsonl" --plans "$run/plans.jsonl" \
    --texts "$run/texts.jsonl" --peers "$run/sizes.jsonl" --peers "$run/peers.jsonl" --peers "$run/systems.jsonl" \
    --peers "$run/authz.jsonl" --level portable="$run/portable" --level avx2="$run/avx2" --level native="$run/native" \
    --levels "$(example cpu_levels)"
