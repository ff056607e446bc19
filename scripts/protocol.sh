#!/usr/bin/env bash
# Tests an independent client, written from docs/protocol, against the vectors and against a server.
#
#   scripts/protocol.sh
#
# Needs the programs of `cargo build --workspace --bins --examples` or of the tests' build. Also needs Python 3.10 or
# later with venv, and packages from its index (scripts/protocol/requirements.txt). If these are missing, the script
# says what it skips.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
work=$target/protocol
requirements=scripts/protocol/requirements.txt

if ! cmp -s "$requirements" "$work/requirements.txt"; then
    rm -rf "$work"
    if ! python3 -m venv "$work/environment" ||
        ! "$work/environment/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements"; then
        rm -rf "$work"
        echo "protocol.sh: skipped: the client of docs/protocol, whose packages cannot be installed"
        exit 0
    fi
    cp "$requirements" "$work/requirements.txt"
fi
"$target/debug/examples/protocol_vectors" >"$work/vectors.json"
vectors=$(realpath "$work/vectors.json")
sordino=$(realpath "$target/debug/sordino")
VECTORS=$vectors SORDINO=$sordino PYTHONDONTWRITEBYTECODE=1 \
    "$work/environment/bin/python" -m unittest discover -s scripts/protocol 2>&1 | tee "$work/said"
# Before version 3.12, Python exits with 0 if it finds no test.
grep -q '^Ran [1-9]' "$work/said" || { echo "protocol.sh: scripts/protocol has no test" >&2 && exit 1; }
