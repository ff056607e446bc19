#!/usr/bin/env bash
# Makes the page that searches definitions, and tests it in Chromium against an index of this machine.
#
#   scripts/web.sh build    target/web/page alone: web/, the client of js/, and their digests
#   scripts/web.sh          the page, and its tests, with screenshots in target/web/screens
#
# Needs Node.js 20 or later with npm, and Chromium (CHROMIUM names it; Debian: chromium). Builds js/dist and the wheel's environment
# by scripts/js.sh and scripts/python.sh if they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
extent=${1:-all}
case $extent in
    all | build) ;;
    *) echo "web.sh: expected build or nothing" >&2 && exit 2 ;;
esac
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
page=$target/web/page

[ -f js/dist/init.js ] || scripts/js.sh build
rm -rf "$page"
mkdir -p "$page/client"
cp web/*.html web/*.css web/*.js "$page"
cp js/dist/init.js js/dist/sordino.wasm "$page/client"
(cd "$page" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
if [ "$extent" = build ]; then exit 0; fi

chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
if [ -z "$chromium" ]; then
    echo "skipped: the page in a browser, for Chromium is not installed"
    exit 0
fi
[ -x "$target/python/fresh/bin/sordino-web" ] || scripts/python.sh
# The library that drives the browser, without its own browser.
(cd web && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --silent --no-audit --no-fund)
# The package as npm installs it for an application, next to the application's bundler.
bundlers=$target/web/bundlers
mkdir -p "$bundlers"
cp js/test/bundlers/* "$bundlers" 2>/dev/null
(cd "$bundlers" && npm ci --silent --no-audit --no-fund --prefer-offline)
packed=$(cd js && npm pack --silent --pack-destination "$bundlers")
mkdir "$bundlers/node_modules/sordino"
tar -xzf "$bundlers/$packed" -C "$bundlers/node_modules/sordino" --strip-components 1
export CHROMIUM=$chromium PAGE=$page SCREENS=$target/web/screens CLIENT=$PWD/js BUNDLERS=$bundlers
export SORDINO_WEB=$target/python/fresh/bin/sordino-web SORDINO_COMMAND=${SORDINO_COMMAND:-$target/debug/sordino}
mkdir -p "$SCREENS"
cd web
node --test --test-concurrency=1 test/*.test.js
