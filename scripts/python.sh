#!/usr/bin/env bash
# Builds the Python wheel, and tests it as a user installs it, in a fresh virtual environment.
#
#   scripts/python.sh            the wheel in the profile of the tests, then its types, python/tests and docs/python.md
#   scripts/python.sh release    the same with the wheel that is released
#
# Needs Python 3.10 or later with venv, and packages from its index (pinned in python/pyproject.toml). If PostgreSQL is
# installed with pgvector, the script tests the migration from it (Debian 13: postgresql-17-pgvector; Debian 12 lacks it).
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-dev} in
    dev) profile=(--profile dev) ;;
    release) profile=(--profile dist) ;;
    *) echo "python.sh: expected nothing or release" >&2 && exit 2 ;;
esac
work=$(realpath -m "${CARGO_TARGET_DIR:-target}")/python
tools=$work/tools
wheels=$work/wheels
packages=$work/packages
fresh=$work/fresh

mkdir -p "$work"
# Modules are compiled when they are imported, because only a small part of the installed ones is
# used.
pip() { "$tools/bin/python" -m pip --python "$1/bin/python" install --quiet --disable-pip-version-check --no-compile "${@:2}"; }
if ! [ -x "$tools/bin/maturin" ]; then
    python3 -m venv "$tools"
    pip "$tools" "maturin==1.16.0"
fi

# maturin compiles only its package. For this, cargo would compile all dependencies again, with fewer features than in the
# workspace's tests. So this command gives maturin the library of the workspace's build, and gives the tests of tokens the
# command that makes tokens.
if [ "${profile[*]}" = "--profile dev" ] && [ "$(uname)" = Linux ]; then
    cat >"$work/cargo" <<'END'
#!/usr/bin/env bash
[ "$1" = rustc ] || exec cargo "$@"
unset "${!PYO3_@}"
exec cargo build --workspace --lib --bin sordino --example cpu_levels --locked --quiet --message-format json-render-diagnostics
END
    chmod +x "$work/cargo"
    export CARGO=$work/cargo SORDINO_CLI=${work%/python}/debug/sordino
else
    echo "skipped: tests of tokens in Python, for no command is built with this wheel"
fi
rm -rf "$wheels" "$fresh"
# The wheel contains the licences of the crates inside.
scripts/notices.py --package sordino-python >python/NOTICES
# It also contains the page of sordino-web: in a release always, otherwise if the page exists.
if [ "${profile[*]}" = "--profile dist" ]; then scripts/web.sh build; fi
rm -rf python/python/sordino/web/page
if [ -d "$work/../web/page" ]; then cp -r "$work/../web/page" python/python/sordino/web/page; fi
"$tools/bin/maturin" build --quiet "${profile[@]}" --locked --manifest-path python/Cargo.toml --out "$wheels"
ls -l "$wheels"
wheel=$(echo "$wheels"/*.whl)
"$tools/bin/python" -m zipfile --list "$wheel" >"$work/listing"
grep -q 'licenses/NOTICES' "$work/listing" || { echo "python.sh: no notices in $wheel" >&2 && exit 1; }

# The tests' packages stay between runs until their pins change. The wheel has a separate environment.
pins=$(cat python/pyproject.toml <(python3 --version) | sha256sum)
if [ "$(cat "$packages/pins" 2>/dev/null)" != "$pins" ]; then
    rm -rf "$packages"
    python3 -m venv --without-pip "$packages"
    pip "$packages" "$wheel[test]"
    "$tools/bin/python" -m pip --python "$packages/bin/python" uninstall --quiet --yes sordino
    echo "$pins" >"$packages/pins"
fi
python3 -m venv --without-pip "$fresh"
pip "$fresh" --no-deps "$wheel"
site() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
site "$packages" >"$(site "$fresh")/packages.pth"
# Runs outside the package's folder, so that Python imports the wheel and not its sources.
export PYTHONSAFEPATH=1
mypy=(--config-file python/pyproject.toml --cache-dir "$work/mypy")
"$fresh/bin/python" -m mypy "${mypy[@]}" --package sordino
"$fresh/bin/python" -m mypy "${mypy[@]}" python/tests/typed.py
# Compares the native module's stubs with its functions.
MYPY_CACHE_DIR=$work/mypy "$fresh/bin/python" -m mypy.stubtest --mypy-config-file python/pyproject.toml sordino._sordino
# Tests that skip say why, in the form that check.sh collects.
"$fresh/bin/python" -m pytest -p no:cacheprovider -n auto -rs python/tests | sed -u 's#^SKIPPED \[[0-9]*\] \(python/tests/[^:]*\):[0-9]*: #skipped: \1: #'
