#!/usr/bin/env bash
# Checks that take hours. If a tool is missing, each check names what it skips.
#
#   scripts/long.sh miri            kernels and whole libraries that Miri can run, few cases
#   scripts/long.sh address         libraries under the address sanitizer
#   scripts/long.sh thread          the tests with threads under the thread sanitizer
#   scripts/long.sh reproduce       two builds of the program in two folders have one digest
#   scripts/long.sh lies            100,000 replies of each kind of lie in each mode, and 100,000 honest ones: an hour a mode
#                                   (SORDINO_LIE=small chooses kinds, by a word in their names)
#   scripts/long.sh fuzz SECONDS    every fuzz target for this time; executions are added to fuzz/executions.csv
#                                   (SORDINO_SANITIZER=none is faster: decoders are safe Rust, whose bounds and sums are checked either way)
#   scripts/long.sh                 all of these, an hour of fuzzing a target
#
# The script installs nothing. Nightly's components: rustup component add --toolchain nightly miri
# rust-src
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')

# True if nightly has this component. Otherwise it says what is skipped.
has() {
    if rustup component list --toolchain nightly 2>/dev/null | grep -q "^$1.*(installed)"; then return 0; fi
    echo "skipped: $2, for the nightly toolchain has no $1"
    return 1
}

miri() {
    has miri "Miri" || return 0
    scripts/miri.sh
    # Isolation is off, because tests read files. Without flags only the portable kernels run.
    PROPTEST_CASES=1 MIRIFLAGS=-Zmiri-disable-isolation \
        cargo +nightly miri test -p sordino-hash -p sordino-lattice -p sordino-aes -p sordino-lwe -p sordino-mldsa \
        -p sordino-fpe -p sordino-token --lib
}

address() {
    has rust-std "the address sanitizer" || return 0
    RUSTFLAGS=-Zsanitizer=address CARGO_PROFILE_TEST_LTO=off PROPTEST_CASES=16 \
        cargo +nightly test --workspace --lib --target "$host" --target-dir target/address
}

thread() {
    # If the standard library is not instrumented too, its synchronisation looks like races.
    has rust-src "the thread sanitizer" || return 0
    sanitized() {
        RUSTFLAGS=-Zsanitizer=thread CARGO_PROFILE_TEST_LTO=off PROPTEST_CASES=4 \
            cargo +nightly test -Zbuild-std -p sordino-server -p sordino-reader -p sordino-net -p sordino-authz -p sordino-search \
            --target "$host" --target-dir target/thread "$@"
    }
    sanitized --lib
    sanitized --test policies --test searches -- threads:: together::
}

# Builds the last commit, so that changes during the builds are in neither of the two.
reproduce() {
    local digests=() places folder
    places=$(mktemp -d)
    # Both folders have one commit, even if a newer one is made during the builds.
    git clone --quiet . "$places/first"
    cp -r "$places/first" "$places/second"
    for folder in first second; do
        (
            cd "$places/$folder"
            RUSTFLAGS="--remap-path-prefix=$PWD=/sordino --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo" \
                CARGO_TARGET_DIR=target cargo build --locked --release -p sordino-cli
        )
        # The digest has a separate command, so that a failed build ends the script.
        digests+=("$(sha256sum "$places/$folder/target/release/sordino" | cut -d ' ' -f 1)")
    done
    printf '%s\n' "${digests[@]}"
    [ "${digests[0]}" = "${digests[1]}" ] || { echo "long.sh: two builds differ, in $places" >&2; exit 1; }
    rm -rf "$places"
}

lies() {
    SORDINO_LIES=${1:-100000} cargo test -p sordino-search --test searches -- liars:: --nocapture --test-threads 1
}

fuzz() {
    command -v cargo-fuzz >/dev/null || { echo "skipped: fuzzing, for there is no cargo-fuzz"; return 0; }
    local record=fuzz/executions.csv sanitizer=${SORDINO_SANITIZER:-address} file target log executed covered
    [ -e "$record" ] || echo "date,commit,target,seconds,executions,features,sanitizer" >"$record"
    export CARGO_PROFILE_RELEASE_LTO=off
    local built=(--release --debug-assertions --sanitizer "$sanitizer")
    cargo +nightly fuzz build "${built[@]}"
    for file in fuzz/fuzz_targets/*.rs; do
        target=$(basename "$file" .rs)
        log=$(mktemp)
        cargo +nightly fuzz run "${built[@]}" "$target" "$(mktemp -d)" "fuzz/corpus/$target" -- \
            -max_total_time="$1" -rss_limit_mb=2048 -timeout=20 -print_final_stats=1 >"$log" 2>&1 || { tail -n 40 "$log" >&2; exit 1; }
        executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        covered=$(sed -n 's/.* ft: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
        echo "$(date -u +%F),$(git rev-parse --short HEAD),$target,$1,${executed:-0},${covered:-0},$sanitizer" | tee -a "$record"
        rm "$log"
    done
    awk -F, 'NR > 1 { sum += $5 } END { print sum " executions recorded" }' "$record"
}

case ${1:-all} in
    miri | address | thread | reproduce) "$1" ;;
    lies) lies "${2:-100000}" ;;
    fuzz) fuzz "${2:?long.sh: how many seconds a target}" ;;
    all)
        # These commands are not joined by &&, because a function in such a list continues after a
        # failed command.
        miri
        address
        thread
        reproduce
        lies
        fuzz 3600
        ;;
    *) echo "long.sh: expected miri, address, thread, reproduce, lies, fuzz SECONDS or nothing" >&2 && exit 2 ;;
esac
