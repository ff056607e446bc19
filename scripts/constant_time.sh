#!/bin/sh
# Runs the clients of sordino-pir, sordino-ckks and sordino-lwe, and FF1 of sordino-fpe, under memcheck. The
# tests mark their secrets as undefined, so memcheck reports any branch or address that depends on one, and the
# script fails. It needs valgrind, which does not support AVX-512. So it checks the AVX2 and the portable
# kernels, and everything around the kernels.
set -eu
cd "$(dirname "$0")/.."
# Overflow checks are branches on every sum. A release has none.
unchecked() {
    echo "--config profile.dev.package.$1.overflow-checks=false"
}
command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 1; }
crates=${*:-sordino-pir sordino-ckks sordino-lwe sordino-fpe}
# Builds the workspace's test with this name once. For a single package, cargo would compile its dependencies
# again.
# shellcheck disable=SC2046 # the words of options
built=$(cargo test $(unchecked sordino-lattice) $(unchecked sordino-ckks) $(unchecked sordino-pir) $(unchecked sordino-lwe) \
    --workspace --test constant_time --no-run --message-format=json 2>/dev/null) || { echo "the tests do not build"; exit 1; }
for crate in $crates; do
    test_binary=$(echo "$built" | grep "/${crate#sordino-}#" | sed -n 's/.*"executable":"\([^"]*constant_time[^"]*\)".*/\1/p' | tail -n 1)
    [ -n "$test_binary" ] || { echo "$crate has no test constant_time"; exit 1; }
    for level in portable avx2; do
        echo "constant time, $crate, $level:"
        SORDINO_VALGRIND=1 SORDINO_CPU=$level RAYON_NUM_THREADS=1 valgrind --quiet \
            --error-exitcode=1 --track-origins=yes --suppressions=scripts/constant_time.supp \
            "$test_binary" --test-threads=1
    done
done
