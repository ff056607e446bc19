#!/usr/bin/env bash
# Builds the Python wheel, and tests it as a stranger has it: in a fresh virtual environment.
#
#   scripts/python.sh            the wheel in the profile of the tests, then python/tests and docs/python.md
#   scripts/python.sh release    the same with the wheel that is released
#
# Needs Python 3.10 or later with venv, and packages from its index (pinned in python/pyproject.toml).
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-dev} in
    dev) profile=(--profile dev) ;;
    release) profile=(--release) ;;
    *) echo "python.sh: expected nothing or release" >&2 && exit 2 ;;
esac
work=${CARGO_TARGET_DIR:-target}/python
tools=$work/tools
wheels=$work/wheels
fresh=$work/fresh

mkdir -p "$work"
pip() { "$1" -m pip install --quiet --disable-pip-version-check "${@:2}"; }
if ! [ -x "$tools/bin/maturin" ]; then
    python3 -m venv "$tools"
    pip "$tools/bin/python" "maturin==1.16.0"
fi
rm -rf "$wheels" "$fresh"
"$tools/bin/maturin" build --quiet "${profile[@]}" --locked --manifest-path python/Cargo.toml --out "$wheels"
ls -l "$wheels"

python3 -m venv "$fresh"
wheel=$(echo "$wheels"/*.whl)
pip "$fresh/bin/python" "$wheel[test]"
# From outside the package's folder, so that the wheel is imported and not its sources.
"$fresh/bin/python" -P -m pytest -p no:cacheprovider python/tests
