#!/usr/bin/env bash
# Builds the npm package of js/, and runs its tests against a server on this machine.
#
#   scripts/js.sh build     js/dist alone
#   scripts/js.sh           js/dist, and the tests
#
# Needs Node.js 20 or later with npm, and the target wasm32-unknown-unknown. SORDINO_COMMAND names the command that the
# tests serve with. By default this is the command of the tests' build, which is built if it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
extent=${1:-all}
case $extent in
    all | build) ;;
    *) echo "js.sh: expected build or nothing" >&2 && exit 2 ;;
esac
target=${CARGO_TARGET_DIR:-target}
# These builds have separate folders: the flags of WebAssembly differ from the tests' build, and the generator of JavaScript
# is outside the workspace.
wasm=$target/wasm bindgen=$target/bindgen

# The generator of JavaScript and the library for which it writes must have one version.
version() { sed -n "/^name = \"$2\"$/{n;s/version = \"\(.*\)\"/\1/p}" "$1"; }
code=$(version Cargo.lock wasm-bindgen) writer=$(version js/bindgen/Cargo.lock wasm-bindgen-cli-support)
if [ "$code" != "$writer" ]; then
    echo "js.sh: wasm-bindgen $code in Cargo.lock, and $writer in js/bindgen: make them one" >&2
    exit 1
fi
# The names in a module are a third of its bytes. The module keeps its list of features, which the generator
# of JavaScript reads.
CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="-C target-feature=+simd128 -C link-arg=--strip-debug" CARGO_PROFILE_RELEASE_DEBUG=none \
    cargo build --quiet --locked --release --package sordino-wasm --target wasm32-unknown-unknown --target-dir "$wasm"
cargo build --quiet --locked --manifest-path js/bindgen/Cargo.toml --target-dir "$bindgen"
"$bindgen/debug/sordino-bindgen" "$wasm/wasm32-unknown-unknown/release/sordino_wasm.wasm" js/target
(cd js && npm ci --silent --no-audit --no-fund && node build.mjs)
# The package contains the licences of Sordino and of the crates inside. npm packs no links, so the
# files are copied.
cp LICENSE-APACHE LICENSE-MIT js/
scripts/notices.py --package sordino-wasm --target wasm32-unknown-unknown >js/NOTICES
echo "sordino.wasm: $(gzip -9c js/dist/sordino.wasm | wc -c) bytes compressed"
if [ "$extent" = build ]; then exit 0; fi

if [ -z "${SORDINO_COMMAND:-}" ]; then
    SORDINO_COMMAND=$PWD/$target/debug/sordino
    [ -x "$SORDINO_COMMAND" ] || cargo build --quiet --package sordino-cli
fi
export SORDINO_COMMAND
cd js
node --test test/*.test.js
# Deno runs the same tests where it is installed.
if command -v deno >/dev/null; then
    deno test --quiet --allow-all --no-check test/*.test.js
else
    echo "skipped: the npm package in Deno, for deno is not installed"
fi
