#!/usr/bin/env bash
# Makes all files of a release of this commit, in a new folder. It publishes nothing.
#
#   scripts/release.sh DIR             the crates, the wheel, the npm package, the packaged command, notes, bill of materials, checksums
#   scripts/release.sh --dry-run DIR   shows the steps and missing conditions, and makes nothing
#
# Needs an annotated tag v<version> at a clean commit, one version in all manifests, and notes with a date in CHANGELOG.md. Run
# scripts/check.sh long before. The wheel and the command are for this machine: .github/workflows/ci.yml makes the wheels of others.
# Needs cargo-deny, npm, and the tools of scripts/python.sh and scripts/js.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

dry=
if [ "${1:-}" = --dry-run ]; then dry=yes && shift; fi
if [ $# -ne 1 ] || [ "${1#-}" != "$1" ]; then
    echo "release.sh: expected a folder: scripts/release.sh [--dry-run] DIR" >&2
    exit 2
fi
to=$(realpath -m "$1")
missing=0

# A missing condition ends a release; a dry run names it and continues.
lacks() {
    echo "release.sh: $1" >&2
    missing=1
    [ -n "$dry" ] || exit 1
}
step() { printf '\n== %s\n' "$1"; }
# Runs a command, or shows it.
run() {
    if [ -n "$dry" ]; then
        printf '  ' && printf ' %q' "$@" && echo
    else
        "$@"
    fi
}

step "version, tag and notes"
version=$(scripts/versions.py)
tag=v$version
echo "version $version"
mapfile -t crates < <(scripts/versions.py --order)
[ ${#crates[@]} -gt 0 ] || { echo "release.sh: no crate is to be published" >&2 && exit 1; }
scripts/versions.py --notes >/dev/null || lacks "there are no notes to release"
[ -z "$(git status --porcelain)" ] || lacks "the working tree has changes: commit them"
if [ "$(git cat-file -t "refs/tags/$tag" 2>/dev/null)" != tag ]; then
    lacks "there is no annotated tag: git tag --annotate $tag"
elif [ "$(git rev-parse "$tag^{commit}")" != "$(git rev-parse HEAD)" ]; then
    lacks "$tag is not this commit: check it out"
fi
for tool in cargo-deny npm; do command -v "$tool" >/dev/null || lacks "$tool is not installed"; done
if [ -e "$to" ] && [ -n "$(ls -A "$to")" ]; then lacks "$to is not empty: name a new folder"; fi
run mkdir -p "$to/crates" "$to/python" "$to/npm"

step "dependencies: advisories, licences, sources"
run cargo deny check

# One command builds each crate from the packages of the crates before it, because no registry has them
# yet.
step "crates, in this order: ${crates[*]}"
packages=()
for crate in "${crates[@]}"; do packages+=(--package "$crate"); done
run cargo package --locked "${packages[@]}"
for crate in "${crates[@]}"; do run cp "${CARGO_TARGET_DIR:-target}/package/$crate-$version.crate" "$to/crates"; done

step "the npm package"
run scripts/js.sh
run npm pack ./js --pack-destination "$to/npm"

step "the wheel"
run scripts/python.sh release
for wheel in "${CARGO_TARGET_DIR:-target}"/python/wheels/*.whl; do
    [ ! -e "$wheel" ] || run cp "$wheel" "$to/python"
done

step "the packaged command"
name=sordino-$version-$(uname -m)-$(uname -s | tr '[:upper:]' '[:lower:]')
run packaging/package.sh "$to/$name" full
# With the same files, order and time, and without a user, the archive has the same bytes.
run tar --create --gzip --file "$to/$name.tar.gz" --directory "$to" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@$(git log -1 --format=%ct)" "$name"
run rm -r "$to/$name"

step "notes, bill of materials, checksums"
if [ -z "$dry" ]; then
    scripts/versions.py --notes >"$to/NOTES.md"
    scripts/sbom.py --features policies >"$to/sordino-$version.cdx.json"
    (cd "$to" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS && cat SHA256SUMS)
fi

step "to publish it"
for crate in "${crates[@]}"; do echo "cargo publish --locked --package $crate"; done
echo "npm publish $to/npm/sordino-$version.tgz"
echo "twine upload $to/python/*.whl"
echo "git push origin $tag"
if [ "$missing" = 1 ]; then
    echo "release.sh: what is missing stands above" >&2
    exit 1
fi
