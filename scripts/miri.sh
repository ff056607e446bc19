#!/usr/bin/env bash
# Vector kernels under Miri, which detects accesses outside a slice or its type. Each is compared with its definition, at few sizes.
#
#   scripts/miri.sh avx2       kernels of AVX2 and of the AES instructions, except binomial and Gaussian errors, which are portable
#                              loops compiled for AVX2, with tests that take minutes here
#   scripts/miri.sh avx512     the kernels of AVX-512 whose instructions Miri has
#   scripts/miri.sh            all of these, two at a time
#
# Miri detects the level that it builds for, on any processor. Not installed here: rustup component add --toolchain nightly miri rust-src
set -euo pipefail
cd "$(dirname "$0")/.."
# This variable would lower the detected level to portable code.
unset SORDINO_CPU

# A crate, its tests, and words in their names. The two lists take about the same time.
avx2=(
    "cpu --lib miri_detects"
    "lattice --lib backends_agree_and_invert a_strided_inverse a_fused_product sums_of_neighbours kernels_equal several_lists wraps_around at_every_level digits_add_up small_numbers_are_added is_the_nearest"
    "lattice --test arithmetic words_times_small rounded_words_times_small products_agree"
    "mldsa --lib on_every_backend every_backend each_hint_bit every_value_of_z the_norm_is_checked"
)
rest=(
    "aes --lib key:: stream::"
    "hash --test hashes published_digests every_batch_size messages_that_share"
    "lwe --lib scan::"
    "lsh --test families hashes_of_every_small_dimension scans_of_every_code_length"
    "ckks --lib kernels_equal_the_definition backends_agree"
    "vault --lib every_backend_equals backends_equal"
)
# Miri lacks IFMA, VNNI, VBMI and the permutations of bytes and words.
avx512=(
    "cpu --lib miri_detects"
    "aes --lib key:: stream::"
    "ckks --lib planes::tests::backends_agree"
    "lattice --lib at_every_level digits_add_up small_numbers_are_added"
    "vault --lib every_backend_equals"
)

level() {
    local name=$1 cpu=$2 line crate kind words test word
    output=$(mktemp)
    trap 'rm -f "$output"' EXIT
    shift 2
    for line in "$@"; do
        read -r crate kind words <<<"$line"
        local selection=("$kind")
        if [ "$kind" = --test ]; then
            read -r test words <<<"$words"
            selection+=("$test")
        fi
        # The ciphers for comparison must be plain Rust. Isolation is off, because failing cases are written to
        # files.
        # shellcheck disable=SC2086 # the words are filters
        PROPTEST_CASES=1 MIRIFLAGS=-Zmiri-disable-isolation CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/miri-$name" \
            RUSTFLAGS="-Ctarget-cpu=$cpu -Ctarget-feature=+aes,+vaes --cfg aes_backend=\"soft\" --cfg polyval_backend=\"soft\"" \
            cargo +nightly miri test -p "sordino-$crate" "${selection[@]}" -- $words >"$output" 2>&1 ||
            { cat "$output"; exit 1; }
        # If tests were renamed, nothing would be tested, so that is an error.
        for word in $words; do
            grep -q "^test .*$word.* ok$" "$output" || { echo "miri.sh: no test of $crate is named $word" >&2 && exit 1; }
        done
        echo "$name, sordino-$crate: $(sed -n 's/^test result: //p' "$output")"
    done
    rm "$output"
}

case ${1:-all} in
    avx2) level avx2 x86-64-v3 "${avx2[@]}" "${rest[@]}" ;;
    avx512) level avx512 x86-64-v4 "${avx512[@]}" ;;
    all)
        # Each level has its own process group, so that the script can end one if the other fails.
        set -m
        level avx2 x86-64-v3 "${avx2[@]}" &
        first=$!
        {
            level avx512 x86-64-v4 "${avx512[@]}"
            level avx2 x86-64-v3 "${rest[@]}"
        } &
        second=$!
        trap 'kill -- -"$first" -"$second" 2>/dev/null || true' EXIT
        wait -n
        wait -n
        ;;
    *) echo "miri.sh: expected avx2, avx512 or nothing" >&2 && exit 2 ;;
esac
