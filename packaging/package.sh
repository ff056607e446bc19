#!/usr/bin/env bash
# Builds the command without symbols, and puts all files of a package into a folder:
#
#   packaging/package.sh DIR         the command alone: 16 MB at most, or this fails
#   packaging/package.sh DIR full    with policies of `sordino serve --root` (Cedar), half as long again
#
# usr/bin/sordino, its manual pages, completions for bash, zsh and fish, the systemd unit and its user,
# a configuration to begin with, a bill of materials, and the licences of the crates in it.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
to=$(mkdir -p "${1:?"expected a folder: packaging/package.sh DIR"}" && cd "$1" && pwd)
case ${2:-} in
    "") features="" ;;
    full) features=policies ;;
    *) echo "package.sh: expected full, or nothing, behind the folder; found $2" >&2 && exit 2 ;;
esac

cargo build --locked --manifest-path "$root/Cargo.toml" --profile dist -p sordino-cli --features "$features"
install -D "${CARGO_TARGET_DIR:-$root/target}/dist/sordino" "$to/usr/bin/sordino"
sordino=$to/usr/bin/sordino
"$sordino" man "$to/usr/share/man/man1"
complete() {
    mkdir -p "$(dirname "$to/$2")"
    "$sordino" completions "$1" >"$to/$2"
}
complete bash usr/share/bash-completion/completions/sordino
complete zsh usr/share/zsh/site-functions/_sordino
complete fish usr/share/fish/vendor_completions.d/sordino.fish
install -Dm644 "$root/packaging/sordino.service" "$to/usr/lib/systemd/system/sordino.service"
install -Dm644 "$root/packaging/sordino.sysusers" "$to/usr/lib/sysusers.d/sordino.conf"
install -Dm644 "$root/packaging/sordino.toml" "$to/etc/sordino/sordino.toml"
install -Dm644 -t "$to/usr/share/doc/sordino" "$root/README.md" "$root/LICENSE-APACHE" "$root/LICENSE-MIT"
"$root/scripts/sbom.py" --features "$features" >"$to/usr/share/doc/sordino/sordino.cdx.json"
"$root/scripts/notices.py" --features "$features" >"$to/usr/share/doc/sordino/NOTICES"
bytes=$(stat -c %s "$sordino")
echo "$bytes $sordino"
if [ -z "$features" ] && [ "$bytes" -gt 16000000 ]; then
    echo "package.sh: $bytes bytes, expected 16000000 at most: see which dependency came with it" >&2 && exit 1
fi
