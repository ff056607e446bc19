#!/bin/sh
# Runs the peers that the benches do not contain, in pinned versions, on the inputs of the benches, and
# prints one JSON object a line: {"group", "function", "parameter", "median_ns"}. A peer that cannot
# run here is a line of group "missing", with the reason, and does not stop the others.
set -u
cd "$(dirname "$0")" || exit 1
build=../../target/peers
mkdir -p "$build"
build=$(cd "$build" && pwd)

missing() {
    printf '{"group":"missing","function":"%s","parameter":"","reason":"%s"}\n' "$1" "$2"
    echo "$1: $2" >&2
}

# One thread, on one core if SORDINO_PIN says which.
one() {
    # shellcheck disable=SC2086 # the words of a command
    OMP_NUM_THREADS=1 GOMAXPROCS=1 ${SORDINO_PIN-} "$@"
}

if ! command -v go >/dev/null; then
    missing "Go peers" "go is not installed"
elif ! (cd go && go build -o "$build/go" .) >&2; then
    missing "Go peers" "the modules did not build"
else
    one "$build/go" || missing "Go peers" "stopped before the end"
fi

if ! command -v cargo >/dev/null; then
    missing "AWS-LC" "cargo is not installed"
elif ! (cd rust && CARGO_TARGET_DIR="$build/rust" cargo build --quiet --release --locked) >&2; then
    missing "AWS-LC" "did not build: it needs a C compiler, and on some systems cmake"
else
    one "$build/rust/release/peers" || missing "AWS-LC" "stopped before the end"
fi

if ! command -v python3 >/dev/null; then
    missing "Python peers" "python3 is not installed"
elif ! { python3 -m venv "$build/python" && "$build/python/bin/pip" install --quiet -r python/requirements.txt; } >&2; then
    missing "Python peers" "the packages did not install"
else
    for script in fpe ckks search; do
        one "$build/python/bin/python" "python/$script.py" || missing "Python, $script" "stopped before the end"
    done
fi
