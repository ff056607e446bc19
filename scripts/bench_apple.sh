#!/bin/sh
# Runs scripts/bench.sh on a Mac with Apple Silicon. macOS pins no process to a core, so the script
# only keeps the machine awake: close other programs and plug it in. Sordino detects NEON, and SHA3
# and AES if the chip has them, at run time, so nothing needs to be configured.
set -eu
if [ "$(uname -sm)" != "Darwin arm64" ]; then
    echo "this is not a Mac with Apple Silicon: use scripts/bench.sh" >&2
    exit 1
fi
exec env SORDINO_PIN="caffeinate -i" "$(dirname "$0")/bench.sh"
