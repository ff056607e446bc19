#!/bin/sh
# Runs the clients of sordino-pir, sordino-ckks and sordino-lwe and FF1 of sordino-fpe under memcheck with their
# secrets marked as undefined: any branch or address that depends on one is reported and fails. Needs
# valgrind, which knows no AVX-512: the AVX2 and the portable kernels are checked, and with them
# everything around the kernels.
set -eu
cd "$(dirname "$0")/.."
# Overflow checks, which a release does not have, are branches on every sum.
unchecked() {
    echo "--config profile.dev.package.$1.overflow-checks=false"
}
command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 1; }
crates=${*:-sordino-pir sordino-ckks sordino-lwe sordino-fpe}
# One build of the workspace's test of this name: for a package alone cargo would compile what it uses once more.
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
