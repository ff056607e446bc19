#!/usr/bin/env bash
# Builds the documents as a book: static pages for any host.
#
#   scripts/book.sh [FOLDER]    the folder of the pages; target/book by default
#
# Needs mdbook (https://rust-lang.github.io/mdBook). If it is missing, the script says how to get it and exits with 1.
set -euo pipefail
cd "$(dirname "$0")/.."

pages=$(realpath -m "${1:-${CARGO_TARGET_DIR:-target}/book}")
if ! command -v mdbook >/dev/null; then
    echo "book.sh: mdbook is not installed; get it by: cargo install mdbook --locked" >&2
    exit 1
fi
scripts/pointers.py
source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT
cp docs/book.toml "$source"
# The pages keep their own paths, so that their links lead to each other.
scripts/pointers.py --book "$source/pages"
mdbook build "$source" --dest-dir "$pages"
echo "$pages/index.html"
