#!/bin/sh
# scripts/bench.sh on a Mac with Apple Silicon. What differs: macOS pins nothing to a core, so that
# the measurements only keep the machine awake; close other programs and plug it in. NEON, and SHA3
# and AES where the chip has them, are found at run time: nothing is to be configured.
set -eu
if [ "$(uname -sm)" != "Darwin arm64" ]; then
    echo "this is not a Mac with Apple Silicon: use scripts/bench.sh" >&2
    exit 1
fi
exec env SORDINO_PIN="caffeinate -i" "$(dirname "$0")/bench.sh"
