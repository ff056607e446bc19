#!/usr/bin/env bash
# Every check that a change must pass, in the order in which it is likely to fail.
#
#   scripts/check.sh quick     formatting, lints, tests
#   scripts/check.sh           these, and all others except the slowest
#   scripts/check.sh long      these, and slow ones that rarely fail: each feature alone, every crate's tests at every
#                              level and under Arm emulation, kernels under Miri, each bench once, the packaged command,
#                              each fuzz target for a minute
#
# Needs the targets of rust-toolchain.toml's toolchain aarch64-unknown-linux-gnu,
# aarch64-apple-darwin and wasm32-unknown-unknown, qemu-aarch64-static and aarch64-linux-gnu-gcc (.ci/run
# installs them), and Python 3.10 or later with venv and a package index. At the end it names levels that this processor
# lacks, missing tools and skipped tests.
set -euo pipefail
cd "$(dirname "$0")/.."

extent=${1:-all}
case $extent in
    quick | all | long) ;;
    *) echo "check.sh: expected quick, all or long" >&2 && exit 2 ;;
esac
# Crates with kernels of their own, whose tests are worth repeating on another processor or level.
kernels=(cpu aes lattice pir ckks lwe lsh fpe mldsa hash vault)
# Crates with kernels for Arm.
arm_kernels=(cpu aes lattice ckks lwe lsh mldsa hash vault)
target=${CARGO_TARGET_DIR:-target}

step() { printf '\n== %s (%s)\n' "$1" "$(date -u +%H:%M:%S)"; }

output=$(mktemp)
skips=$(mktemp)
trap 'rm -f "$output" "$skips"' EXIT

# Records a check that does not run here, with the reason.
skip() { echo "skipped: $1" | tee -a "$skips"; }

# Runs a command, and records each line in which it reports a skipped test.
heard() {
    "$@" 2>&1 | tee "$output"
    { grep -o 'skipped: .*' "$output" || true; } >>"$skips"
}

# Runs the tests whose names have one of these words. Fails if no test has one of the words, because after a change of
# names nothing would be tested.
named() {
    local words=$1 word
    shift
    # shellcheck disable=SC2086 # the words are filters
    "$@" -- $words 2>&1 | tee "$output"
    for word in $words; do
        grep -q "^test .*$word" "$output" || { echo "check.sh: no test is named $word" >&2 && exit 1; }
    done
}

finish() {
    step "all checks passed"
    if [ -s "$skips" ]; then
        echo "not run here:"
        sed 's/^skipped: /  /' "$skips" | sort -u
    fi
    exit 0
}

step "Cargo.lock is of today"
cargo metadata --locked --format-version 1 >/dev/null

step "formatting"
cargo fmt --all --check

step "walls between the parties, import circles, sizes, prose, pointers, error codes, versions and summary of documents"
scripts/walls.py
scripts/import_cycles.py
scripts/sizes.py
scripts/prose.py --check
scripts/pointers.py
scripts/error_codes.py
scripts/versions.py >/dev/null
scripts/crate_map.py --check
scripts/pictures.py --check

step "lints"
# Lints the command with all its optional features, which enable further ones. The tests use the command without them.
full=(--features "sordino-cli/policies,sordino-cli/objects")
cargo clippy --workspace --all-targets "${full[@]}" -- -D warnings

step "features"
# The lints above had the default features and the command's. Here are the combinations that clients and servers have.
# The long check lints each crate without features, and with each feature alone.
with_features() { cargo clippy --quiet -p "$1" --no-default-features --features "$2" -- -D warnings; }
if [ "$extent" = long ]; then
    alone() {
        crate=$1
        shift
        with_features "$crate" ""
        for feature in "$@"; do with_features "$crate" "$feature"; done
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
    alone sordino-net client web-client server tls
    alone sordino-vectors arrow json text
    alone sordino-search arrow text
    alone sordino-cli objects policies
fi
# Without features, none of these crates enables features of the others.
cargo clippy --quiet -p sordino-net -p sordino-vectors -p sordino-fpe -p sordino-hash --no-default-features -- -D warnings
with_features sordino-net client,tls
with_features sordino-net server,tls
# A server is built without keys, and a reader for the browser. scripts/walls.py has shown what they depend on.
cargo clippy --quiet -p sordino-server -- -D warnings
cargo check --quiet -p sordino-reader --target wasm32-unknown-unknown
cargo clippy --quiet -p sordino-net --no-default-features --features web-client -- -D warnings

step "tests"
heard cargo test --workspace
# Only the benches use these features, so the tests must include these names.
for name in serde generic_callers; do
    grep -q "^test .*$name" "$output" || { echo "check.sh: no test is named $name" >&2 && exit 1; }
done
# The tests above were of a command without policies and object stores, which refuses them.
named "tenants cedar buckets place" cargo test --workspace "${full[@]}" --lib --test search

if [ "$extent" = long ]; then
    cargo test --workspace --test search -- --ignored a_build_of_any_form_needs_no_more_memory_than_it_asked_for
fi

# Kernels of undetected levels and extensions do not run.
detected=" $("$target/debug/examples/cpu_levels") "
if [ "$(uname -m)" = x86_64 ]; then
    lacking=
    for level in avx2 avx2-fma aes-ni avx2-vaes avx512 avx512-{vnni,ifma,vbmi,vpopcntdq,vaes} amx; do
        [[ $detected == *" $level "* ]] || lacking+=" $level"
    done
    if [ -n "$lacking" ]; then skip "kernels of$lacking, which are not detected here"; fi
else
    skip "kernels of x86-64, which this processor is not"
fi

step "Python"
heard scripts/python.sh

step "JavaScript"
if command -v npm >/dev/null; then
    heard scripts/js.sh
else
    skip "the npm package, for npm is not installed"
fi

step "a client written from docs/protocol"
heard scripts/protocol.sh

step "the page, in a browser"
if command -v npm >/dev/null; then
    heard scripts/web.sh
else
    skip "the page in a browser, for npm is not installed"
fi

if [ "$extent" = quick ]; then finish; fi

step "tests at lower processor levels"
# The tests above ran at the highest level. The tests of kernels force each backend themselves, so these runs test the
# code that calls kernels.
levels=(portable)
if [ "$extent" = long ]; then
    [[ $detected == *" avx512 "* ]] && levels+=(avx2)
    [[ $detected == *" amx "* ]] && levels+=(avx512)
fi
# Runs all libraries, and of the other tests those of kernels and whole searches: files, networks
# and command lines are the same at every level. The tests are chosen by name, because for a
# selection of packages cargo would build again.
tests_of() {
    local crate test
    for crate in "$@"; do
        for test in crates/"$crate"/tests/*.rs crates/"$crate"/tests/*/main.rs; do
            if [ -e "$test" ]; then printf -- '--test\n%s\n' "$(basename "${test%/main.rs}" .rs)"; fi
        done
    done
}
mapfile -t of_kernels < <(tests_of "${kernels[@]}")
mapfile -t of_arm < <(tests_of "${arm_kernels[@]}")
# Noise is the same if kernels are equal, and measuring it takes minutes.
noise=()
for name in hintless::noise simple::noise column_packing_keeps_its_bound_for_all_vectors errors_of_uploads_are_zero_on_average \
    errors_have_the_predicted_size worst_errors_stay_within_their_bounds worst_errors_are_those_stated \
    noise_of_uniform_entries_is_as_derived noise_of_the_worst_entries_is_as_derived_and_has_no_mean \
    honest_sums_are_as_far_off_as_derived honest_clusters_are_as_far_off_as_derived \
    a_change_is_seen_from_a_quarter_of_the_root_on_and_less_is_noise; do
    noise+=(--skip "$name")
done
for level in "${levels[@]}"; do
    # The libraries ignore an unknown level, and the example refuses it.
    SORDINO_CPU=$level "$target/debug/examples/cpu_levels"
    export SORDINO_CPU=$level PROPTEST_CASES=16
    if [ "$extent" = long ]; then
        cargo test --workspace --quiet --lib --tests
    else
        cargo test --workspace --quiet --lib "${of_kernels[@]}" -- "${noise[@]}"
        named "end_to_end:: attacks:: plain_scoring::" cargo test --workspace --test searches
    fi
    unset SORDINO_CPU PROPTEST_CASES
done
if [ "$extent" = long ]; then
    # Tests each crate separately, because two packages together would enable each other's features.
    for crate in lattice hash lsh aes; do cargo test -p "sordino-$crate" --no-default-features --tests --quiet; done
fi

step "constant time, by memcheck"
if command -v valgrind >/dev/null; then
    scripts/constant_time.sh
else
    skip "constant time by memcheck, for valgrind is not installed"
fi

if [ "$extent" = long ]; then
    step "vector kernels, under Miri"
    if rustup component list --toolchain nightly 2>/dev/null | grep -q '^miri.*(installed)'; then
        scripts/miri.sh
    else
        skip "vector kernels under Miri, which the nightly toolchain lacks"
    fi
fi

# The tool takes longer to build than this project, and it fetches the list of advisories. It only runs if it is installed.
step "dependencies: advisories, licences, sources"
if command -v cargo-deny >/dev/null; then
    cargo deny check
else
    skip "advisories, licences and sources of dependencies, for cargo-deny is not installed"
fi

step "documentation"
# With an example in the command, packages have the features with which the lints have checked them.
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet --lib --bin sordino --example cpu_levels
# The book's tool takes minutes to build. It only runs if it is installed.
if command -v mdbook >/dev/null; then scripts/book.sh; else skip "the book, for mdbook is not installed"; fi

step "packages"
# Each package contains its licences, which are links into the root.
for crate in crates/*/Cargo.toml; do
    if ! grep -q '^publish = false' "$crate" && ! [ -e "${crate%Cargo.toml}LICENSE-MIT" ]; then
        echo "check.sh: no licence next to $crate" >&2 && exit 1
    fi
done
cargo package --workspace --exclude sordino --exclude sordino-benches --exclude network_search --exclude key_service --exclude sordino-fuzz --exclude sordino-memcheck --exclude sordino-python --exclude sordino-testkit --no-verify --allow-dirty --quiet

step "examples"
# The tests' build has made all examples. `cargo run` would build their dependencies again, with only the
# features that these packages need.
if SORDINO_CPU=unknown "$target/debug/examples/cpu_levels"; then
    echo "cpu_levels accepts an unknown level" >&2 && exit 1
fi
"$target/debug/examples/cpu_levels"
"$target/debug/examples/private_search" --n 5000 --json
"$target/debug/examples/network_search"
# This number of measurements is too small for a verdict.
"$target/debug/examples/timing" 200 >/dev/null
for example in examples/*.rs crates/*/examples/*.rs; do
    name=$(basename "$example" .rs)
    echo "-- $name"
    "$target/debug/examples/$name" >/dev/null
done

if [ "$extent" = long ]; then
    step "benches, once through"
    # Runs each function once, in the tests' build, because the build of `cargo bench` takes minutes
    # to link. The lints have compiled the benches.
    benches=()
    for bench in benches/*.rs; do
        [ "$bench" = benches/settings.rs ] || benches+=(--bench "$(basename "$bench" .rs)")
    done
    SORDINO_BENCH_N=5000 cargo test --workspace "${benches[@]}" --quiet
fi

step "scripts"
scripts/rederive.py
scripts/sbom.py --check
scripts/notices.py >/dev/null
# The solver is a package of 30 MB. The proofs only run if it is installed.
if python3 -c 'import z3' 2>/dev/null; then
    python3 scripts/range_proofs.py
else
    skip "proofs of the ranges of modular arithmetic, for the Python package z3-solver is not installed"
fi
for folder in scripts/tests scripts/compare/tests; do
    heard python3 -m unittest discover -s "$folder"
    # Before version 3.12, Python exits with 0 if it finds no test.
    grep -q '^Ran [1-9]' "$output" || { echo "check.sh: $folder has no test" >&2 && exit 1; }
done

step "Arm: tests under emulation"
# Emulation is about fifteen times slower. So there are fewer cases, and only the crates with kernels. Whole searches,
# and other portable code on Arm, run in the long check. Tests that start the binary start the emulator.
arm() {
    SORDINO_TEST_RUNNER="qemu-aarch64-static -L /usr/aarch64-linux-gnu" PROPTEST_CASES=4 \
        cargo test --target aarch64-unknown-linux-gnu --quiet "$@"
}
if [ "$extent" = long ]; then
    arm --workspace --exclude sordino-fuzz --lib --bins --tests
else
    # The tests of probability laws take minutes here. In the vault, only the tests of sums use
    # kernels.
    SORDINO_LIES=200 arm "${arm_kernels[@]/#/-psordino-}" \
        --lib "${of_arm[@]}" -- "${noise[@]}" --skip reader_secret:: --skip reader_keys:: \
        --skip key_wrap:: --skip decoded_rows:: --skip bucket_codec:: \
        --skip simhash_bits_differ_with_probability_theta_over_pi --skip e2lsh_intervals_are_shared_as_often_as_the_paper_says \
        --skip a_hundred_thousand_records_prepared_batched_and_over_the_wire \
        --skip cross_polytopes_tell_near_from_far_better_than_bits_do
fi

step "Apple Silicon: it builds"
# A check links nothing. BLAKE3's and TLS's C code needs Apple's headers, so empty objects replace it. On
# a Mac it builds normally.
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
    # The check for Apple has built it with the kernels of Arm, and the tests above with those and
    # Linux.
    step "Arm: the Python extension builds"
    cargo check -p sordino-python --target aarch64-unknown-linux-gnu --quiet

    step "the packaged command and its size"
    package=$(mktemp -d)
    packaging/package.sh "$package"
    rm -r "$package"

    # The fuzz targets run in a build of all their dependencies with sanitizers, which takes longer than all tests.
    # The lints have shown that the targets compile.
    step "fuzz targets"
    scripts/fuzz.sh 60
fi

finish
