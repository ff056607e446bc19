#!/bin/sh
# Builds and measures whole systems that no package registry holds, from clones in the folder that
# SORDINO_PEER_SOURCES names. It prints one JSON object a line, in the form of run.sh, and in nanoseconds and
# bytes. A system that cannot run here is a line of group "missing", and does not stop the others.
#
#   SORDINO_PEER_SOURCES=/path/to/clones scripts/peers/systems.sh [hevec|ypir|inspire|simplepir|respire|opaque|pir]
#
# SORDINO_PIN pins the measured program: SORDINO_PIN='taskset -c 1'.
# SORDINO_HEVEC_COUNTS is how many vectors HEVEC searches: '100000 1000000' if unset.
set -u
cd "$(dirname "$0")" || exit 1
build=../../target/peers/systems
mkdir -p "$build"
build=$(cd "$build" && pwd)
sources=${SORDINO_PEER_SOURCES-}
[ -d "$sources" ] && sources=$(cd "$sources" && pwd)

missing() {
    printf '{"group":"missing","function":"%s","parameter":"","reason":"%s"}\n' "$1" "$2"
    echo "$1: $2" >&2
}

# One thread, on one core if SORDINO_PIN says which.
one() {
    # shellcheck disable=SC2086 # the words of a command
    OMP_NUM_THREADS=1 RAYON_NUM_THREADS=1 GOMAXPROCS=1 ${SORDINO_PIN-} "$@"
}

# source_of PEER CLONE REPOSITORY COMMIT [PATH]: copies that commit to the build folder. A clone stays untouched.
source_of() {
    if ! [ -d "$sources/$2" ]; then
        missing "$1" "SORDINO_PEER_SOURCES holds no folder $2, a clone of github.com/$3"
    elif ! git -C "$sources/$2" cat-file -e "$4^{commit}" 2>/dev/null; then
        missing "$1" "the clone $2 of github.com/$3 does not hold commit $4"
    else
        rm -rf "${build:?}/$2"
        mkdir -p "$build/$2"
        git -C "$sources/$2" archive "$4" ${5+"$5"} | tar -x -C "$build/$2"
        return
    fi
    return 1
}

# needs PEER TOOL...: whether every tool is there.
needs() {
    peer=$1
    shift
    for tool; do
        if ! command -v "$tool" >/dev/null; then
            missing "$peer" "$tool is not installed"
            return 1
        fi
    done
}

# needs_avx512 PEER: whether this processor has AVX-512.
needs_avx512() {
    grep -qw avx512f /proc/cpuinfo 2>/dev/null && return
    missing "$1" "this processor does not have AVX-512"
    return 1
}

# Dependencies that the builds would fetch from GitHub come from a clone if the folder holds one.
export CARGO_NET_GIT_FETCH_WITH_CLI=true GIT_CONFIG_COUNT=0
for dependency in menonsamir/spiral-rs google/cpu_features; do
    if [ -d "$sources/${dependency#*/}" ]; then
        export "GIT_CONFIG_KEY_$GIT_CONFIG_COUNT=url.$sources/${dependency#*/}.insteadOf"
        export "GIT_CONFIG_VALUE_$GIT_CONFIG_COUNT=https://github.com/$dependency.git"
        GIT_CONFIG_COUNT=$((GIT_CONFIG_COUNT + 1))
    fi
done

# HEVEC writes 64 threads into its source, and cuts each sum into 64 parts. The copy has one thread and one part.
hevec() {
    commit=613390a8ee1c75cbfffae5c730d1399fcf665ae9
    hexl=66940b64e94daffa1f25d4f3e2f96b1ea98ebdb6
    needs hevec git cmake c++ || return
    source_of hevec hexl IntelLabs/hexl $hexl || return
    source_of hevec HEVEC cloneisyou/HEVEC $commit server || return
    sed -i 's/N_THREAD = 64;/N_THREAD = 1;/' "$build/HEVEC/server/include/HEVEC/Const.hpp"
    if ! grep -q 'N_THREAD = 1;' "$build/HEVEC/server/include/HEVEC/Const.hpp"; then
        missing hevec "its Const.hpp does not set N_THREAD to 64"
        return
    fi
    if ! {
        cmake -S "$build/hexl" -B "$build/hexl-build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \
            -DHEXL_TESTING=OFF -DHEXL_BENCHMARK=OFF -DCMAKE_INSTALL_PREFIX="$build/hexl-installed" \
            -DCMAKE_INSTALL_LIBDIR=lib &&
            cmake --build "$build/hexl-build" --target install
    } >&2; then
        missing hevec "HEXL did not build"
        return
    fi
    library=$build/HEVEC/server
    if ! c++ -std=c++20 -O3 -march=native -fopenmp -w -I "$library/include" -I "$build/hexl-installed/include" \
        -o "$build/hevec" systems/hevec.cpp "$library/src/Client.cpp" "$library/src/HEval.cpp" \
        "$library/src/Random.cpp" "$library/src/SecretKey.cpp" "$library/src/Server.cpp" \
        "$build/hexl-installed/lib/libhexl.a" -lcrypto >&2; then
        missing hevec "the library did not build; it needs C++20, OpenMP and the headers of OpenSSL"
        return
    fi
    for count in ${SORDINO_HEVEC_COUNTS-100000 1000000}; do
        one "$build/hevec" "$count" 20 $commit || missing hevec "stopped before the end at $count vectors"
    done
}

# rust PEER FOLDER BINARY...: builds programs with the toolchain that the peer's own file names.
rust() {
    peer=$1
    folder=$2
    shift 2
    # The build folder lies inside this repository, so the copy must say that it is no member of its workspace.
    printf '\n[workspace]\n' >>"$folder/Cargo.toml"
    for binary; do
        (cd "$folder" && CARGO_TARGET_DIR="$build/$peer-target" cargo build --release --locked --bin "$binary") >&2 || {
            missing "$peer" "$binary did not build; its README names the toolchain and the compiler that it needs"
            return 1
        }
    done
}

# Both programs are YPIR's own. `ypir`: 2^33 records of one bit. `ypir-sp`: 2^15 records of 32 KiB.
ypir() {
    commit=a73e550a469605c2fa23945a4d96c20fb2f4a839
    needs ypir git cargo python3 c++ && needs_avx512 ypir || return
    source_of ypir ypir menonsamir/ypir $commit || return
    rust ypir "$build/ypir" run || return
    one "$build/ypir-target/release/run" 8589934592 1 1 5 "$build/ypir.json" >&2 &&
        python3 systems/pir.py ypir "$build/ypir.json" $commit || missing ypir "stopped before the end"
    one "$build/ypir-target/release/run" 32768 262144 1 5 "$build/ypir-sp.json" --is-simplepir >&2 &&
        python3 systems/pir.py ypir-sp "$build/ypir-sp.json" $commit || missing ypir-sp "stopped before the end"
}

# inspire_at PEER ITEMS BITS DIM0: measures InsPIRe with this first dimension.
inspire_at() {
    one "$build/inspire-target/release/inspire" --num-items "$2" --item-size-bits "$3" --dim0 "$4" \
        --trials 5 --online-only --out-report-json "$build/$1.json" >&2 &&
        python3 systems/pir.py "$1" "$build/$1.json" $commit "first dimension $4" || missing "$1" "stopped before the end"
}

# The first dimension of each shape is the fastest of its authors' sweep (evaluation/run-inspire.sh) on one Zen 4 core:
# README.md has the times, and says which values of the sweep we did not measure.
# With --online-only the program makes up what it would precompute in a quarter of an hour or more on one thread, so it
# checks no answer.
inspire() {
    commit=89f04516c4b8b48b8e65e50d25b37256e04096ad
    needs inspire git cargo python3 c++ && needs_avx512 inspire || return
    source_of inspire private-membership google/private-membership $commit research/InsPIRe || return
    rust inspire "$build/private-membership/research/InsPIRe" inspire || return
    inspire_at inspire 32768 262144 32768
    inspire_at inspire-64 16777216 512 131072
}

# The shape for which its README claims the highest throughput: 2^22 records of 256 bytes.
simplepir() {
    commit=e9020b03bf2872c75b8954e749e32408b5db87ed
    needs simplepir git go python3 cc || return
    source_of simplepir simplepir ahenzinger/simplepir $commit || return
    if ! (cd "$build/simplepir/pir" && go test -c -o "$build/simplepir.test") >&2; then
        missing simplepir "the package did not build"
        return
    fi
    (cd "$build/simplepir/pir" && LOG_N=22 D=2048 one "$build/simplepir.test" -test.run '^$' \
        -test.bench SimplePirSingle -test.timeout 0) >"$build/simplepir.log" &&
        python3 systems/pir.py simplepir "$build/simplepir.log" $commit || missing simplepir "stopped before the end"
}

# It needs about 20 times the database in memory: the largest of its shapes that fits is measured.
respire() {
    commit=fd20d38e9e94c0298ab21af2f7699a23729eef67
    needs respire git cargo python3 || return
    source_of respire respire AMACB/respire $commit || return
    free=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
    if [ "$free" -ge 22 ]; then
        shape=1g256
    elif [ "$free" -ge 11 ]; then
        shape=512m256
    elif [ "$free" -ge 6 ]; then
        shape=256m256
    else
        missing respire "its smallest shape here needs 6 GiB of free memory, and $free GiB are free"
        return
    fi
    RUSTFLAGS="-C target-cpu=native" rust respire "$build/respire" $shape || return
    one "$build/respire-target/release/$shape" 5 2>"$build/respire.log" &&
        python3 systems/pir.py respire "$build/respire.log" $commit || missing respire "stopped before the end"
}

# Its public API runs client and server in one process, so one figure holds both.
opaque() {
    commit=e9ce7235eeafe1c85274ef0247c670c454f619a6
    needs opaque git go || return
    source_of opaque opaque Prasad-178/opaque $commit || return
    mkdir -p "$build/opaque/cmd/measured"
    cp systems/opaque.go "$build/opaque/cmd/measured/main.go"
    if ! (cd "$build/opaque" && go build -o "$build/opaque-measured" ./cmd/measured) >&2; then
        missing opaque "the module did not build"
        return
    fi
    one "$build/opaque-measured" 100000 10 $commit || missing opaque "stopped before the end"
}

if ! [ -d "$sources" ]; then
    missing "whole systems" "SORDINO_PEER_SOURCES names no folder of clones"
    exit
fi
case ${1-all} in
    all) peers='hevec ypir simplepir respire opaque inspire' ;;
    pir) peers='ypir simplepir respire inspire' ;;
    hevec | ypir | inspire | simplepir | respire | opaque) peers=$1 ;;
    *)
        echo "systems.sh: $1 is no peer; give hevec, ypir, inspire, simplepir, respire, opaque, or pir for four" >&2
        exit 2
        ;;
esac
for peer in $peers; do
    "$peer" || true
done
