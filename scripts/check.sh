#!/usr/bin/env bash
# Every check that a change must pass, in the order in which it is likely to fail.
#
#   scripts/check.sh quick     formatting, lints, tests
#   scripts/check.sh           these and all others but the slowest
#   scripts/check.sh long      these and what is slow and rarely fails: every crate's tests at every
#                              level and under Arm emulation, the packaged command, each fuzz target for a minute
#
# Needs the targets of rust-toolchain.toml's toolchain aarch64-unknown-linux-gnu,
# aarch64-apple-darwin and wasm32-unknown-unknown, qemu-aarch64-static and aarch64-linux-gnu-gcc (.ci/run
# installs them), and Python 3.10 or later with venv and a package index.
set -euo pipefail
cd "$(dirname "$0")/.."

extent=${1:-all}
case $extent in
    quick | all | long) ;;
    *) echo "check.sh: expected quick, all or long" >&2 && exit 2 ;;
esac
# Crates with kernels of their own, whose tests are worth repeating on another processor or level.
kernels=(cpu aes lattice pir ckks lwe lsh fpe mldsa hash)

step() { printf '\n== %s (%s)\n' "$1" "$(date -u +%H:%M:%S)"; }

step "formatting"
cargo fmt --all --check

step "import circles, sizes, comments, pointers of documents"
scripts/import_cycles.py
scripts/sizes.py
scripts/openings.py
scripts/pointers.py

step "lints"
# With all that the command can have, which brings its other features with it; the tests are of the command without.
full=(--features "sordino-cli/policies,sordino-cli/objects")
cargo clippy --workspace --all-targets "${full[@]}" -- -D warnings

step "features"
# Default features, and the command's, are those of the lints before; here none of them, and each alone in the long check.
with_features() { cargo clippy --quiet -p "$1" --no-default-features --features "$2" -- -D warnings; }
alone() {
    crate=$1
    shift
    with_features "$crate" ""
    if [ "$extent" = long ]; then
        for feature in "$@"; do with_features "$crate" "$feature"; done
    fi
}
alone sordino-fpe std legacy-ff3
alone sordino-mldsa std rayon signature digest spki sign
alone sordino-cpu std
alone sordino-aes std
alone sordino-hash std rayon mmap zeroize serde
alone sordino-token sign
alone sordino-lsh rayon
alone sordino-lattice rayon mmap
alone sordino-pir rayon mmap
alone sordino-ckks rayon mmap
alone sordino-lwe rayon mmap
alone sordino-net client server tls
alone sordino-vectors arrow
alone sordino-index secret
alone sordino-search arrow
alone sordino-cli objects policies
with_features sordino-net client,tls
with_features sordino-net server,tls
# A server is built without keys, also one of the network; a reader without the server and for the browser.
if cargo tree -p sordino-net --no-default-features --features server,tls -e normal,features -i sordino-index | grep secret; then
    echo "sordino-net with a server alone has sordino-index's feature secret" >&2 && exit 1
fi
cargo clippy --quiet -p sordino-server -- -D warnings
cargo check --quiet -p sordino-reader --target wasm32-unknown-unknown

step "tests"
cargo test --workspace
# The tests before were of a command without policies and object stores, which refuses them.
cargo test --workspace "${full[@]}" --lib --test search --quiet -- tenants cedar buckets place

step "Python"
scripts/python.sh

step "a client written from docs/protocol.md"
scripts/protocol.sh

[ "$extent" = quick ] && exit 0

step "tests at lower processor levels"
levels=(portable)
# Where there is no AVX-512, level avx2 is what has just been tested.
grep -qs avx512f /proc/cpuinfo && levels+=(avx2)
# All libraries, and of the tests beside them those of kernels and of whole searches: files, networks and command
# lines are the same at every level. By name, for a selection of packages would be built anew.
of_kernels=()
for crate in "${kernels[@]}"; do
    for test in crates/"$crate"/tests/*.rs crates/"$crate"/tests/*/main.rs; do
        if [ -e "$test" ]; then of_kernels+=(--test "$(basename "${test%/main.rs}" .rs)"); fi
    done
done
selected=(--lib --test end_to_end --test attacks --test plain_scoring "${of_kernels[@]}")
[ "$extent" = long ] && selected=(--lib --tests)
for level in "${levels[@]}"; do
    # The libraries ignore a name that is no level's; the example refuses it.
    SORDINO_CPU=$level target/debug/examples/cpu_levels
    SORDINO_CPU=$level PROPTEST_CASES=16 cargo test --workspace "${selected[@]}" --quiet
done

if command -v valgrind >/dev/null; then
    step "constant time, by memcheck"
    scripts/constant_time.sh
fi

# The tool takes longer to build than this project, and fetches the list of advisories: where it is installed, it is asked.
if command -v cargo-deny >/dev/null; then
    step "dependencies: advisories, licences, sources"
    cargo deny check
fi

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

step "packages"
cargo package --workspace --exclude sordino --exclude sordino-benches --exclude network_search --exclude key_service --exclude sordino-fuzz --exclude sordino-memcheck --exclude sordino-python --no-verify --allow-dirty --quiet

step "examples"
# The tests' build has made them all. `cargo run` would build what they need once more, with the features
# that these packages alone ask for.
if SORDINO_CPU=unknown target/debug/examples/cpu_levels; then
    echo "cpu_levels accepts an unknown level" >&2 && exit 1
fi
target/debug/examples/cpu_levels
target/debug/examples/private_search --n 5000 --json
target/debug/examples/network_search
# Too few measurements for an outcome.
target/debug/examples/timing 200 >/dev/null
for example in examples/*.rs crates/*/examples/*.rs; do
    name=$(basename "$example" .rs)
    echo "-- $name"
    "target/debug/examples/$name" >/dev/null
done

step "benches, once through"
# Each function once, in the tests' build: the one of `cargo bench` takes minutes to link.
benches=()
for bench in benches/*.rs; do
    [ "$bench" = benches/settings.rs ] || benches+=(--bench "$(basename "$bench" .rs)")
done
cargo test --workspace "${benches[@]}" --quiet

step "scripts"
scripts/rederive.py
scripts/sbom.py --check
# The solver is a package of 30 MB: where it is installed, it is asked.
if python3 -c 'import z3' 2>/dev/null; then python3 scripts/range_proofs.py; fi
if [ -d scripts/compare/tests ]; then python3 -m unittest discover -s scripts/compare/tests; fi

step "Arm: tests under emulation"
# Emulation is about fifteen times slower: fewer cases, and the crates with kernels alone. Whole searches, and what else
# runs portable code on Arm, are left to the long check. Tests that start the binary start the emulator.
arm() {
    SORDINO_TEST_RUNNER="qemu-aarch64-static -L /usr/aarch64-linux-gnu" PROPTEST_CASES=4 \
        cargo test --target aarch64-unknown-linux-gnu --quiet "$@"
}
if [ "$extent" = long ]; then
    arm --workspace --exclude sordino-fuzz --lib --bins --tests
else
    # Noise is the same on every processor whose kernels are equal, and takes minutes to measure here.
    arm "${kernels[@]/#/-psordino-}" -psordino-index --features sordino-index/secret \
        --lib "${of_kernels[@]}" -- \
        --skip hintless::noise --skip simple::noise --skip on_any_number_of_threads \
        --skip column_packing_keeps_its_bound_for_all_vectors --skip errors_of_uploads_are_zero_on_average \
        --skip errors_have_the_predicted_size --skip worst_errors_stay_within_their_bounds \
        --skip noise_of_uniform_entries_is_as_derived --skip noise_of_the_worst_entries_is_as_derived_and_has_no_mean \
        --skip every_value_of_a_range_has_one_image \
        --skip cross_polytopes_tell_near_from_far_better_than_bits_do --skip rows_of_zeros_and_of_ones \
        --skip one_record_comes_back --skip several_records_come_back_in_order_and_repeated_ones_too
fi

step "Apple Silicon: it builds"
# A check links nothing, so the C of BLAKE3 and of TLS, which needs Apple's headers, is replaced by empty
# objects; on a Mac it builds as it is.
no_cc=$(mktemp)
cat >"$no_cc" <<'END'
#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
        -o) shift; : >"$1" ;;
        *.a) : >"$1" ;;
    esac
    shift
done
END
chmod +x "$no_cc"
CC_aarch64_apple_darwin=$no_cc AR_aarch64_apple_darwin=$no_cc SDKROOT=/ \
    cargo check --workspace --exclude sordino-fuzz --target aarch64-apple-darwin --quiet
rm "$no_cc"

if [ "$extent" = long ]; then
    # Apple's check has built it with the kernels of Arm, and the tests before with those and Linux.
    step "Arm: the Python extension builds"
    cargo check -p sordino-python --target aarch64-unknown-linux-gnu --quiet

    step "the packaged command and its size"
    package=$(mktemp -d)
    packaging/package.sh "$package"
    rm -r "$package"

    # To run them takes a build of all that they use with sanitizers, longer than all tests; that they compile, the
    # lints have shown.
    step "fuzz targets"
    scripts/fuzz.sh 60
fi

step "all checks passed"
