#!/usr/bin/env python3
"""Licences and notices of the packages from which the command `sordino`, or a different package of ours, is built.

  scripts/notices.py > NOTICES
  scripts/notices.py --package sordino-python > NOTICES
  scripts/notices.py --package sordino-wasm --target wasm32-unknown-unknown > NOTICES
  scripts/notices.py --features policies > NOTICES

The output goes with the binary. It has each text once, after the names of the packages that carry it. Packages without a text are at the
end, with the licence that they name. Sordino's own licences are separate files. Standard library only.
"""
import argparse
import re
import sys
from pathlib import Path

from sbom import COMMAND, cargo, materials

NAME = re.compile(r"(licen[cs]e|copying|notice|copyright|unlicense)", re.I)


def texts(package):
    """The files of a package that state its licence."""
    folder = Path(package["manifest_path"]).parent
    found = {path for path in folder.iterdir() if NAME.match(path.name) and path.is_file()}
    if package.get("license_file"):
        found.add(folder / package["license_file"])
    return sorted(found)


def built(name, target):
    """Packages that are built for a target with this package alone. In the workspace, other packages enable more of their features."""
    told = cargo("tree", "--package", name, "--target", target, "--edges", "normal", "--prefix", "none", "--format", "{p}")
    return {tuple(line.split()[:2]) for line in told.splitlines() if line}


def notices(features=(), name=COMMAND, target=None):
    """The names of packages by the text that they carry, and the packages without a text."""
    packages, below, _, _ = materials(features, name, target)
    within = built(name, target) if target else None
    carried, without = {}, []
    for package in sorted((packages[at] for at in below), key=lambda package: (package["name"], package["version"])):
        if package["source"] is None:
            continue
        if within is not None and (package["name"], f"v{package['version']}") not in within:
            continue
        called = f"{package['name']} {package['version']}"
        files = texts(package)
        for path in files:
            text = path.read_text(errors="replace").strip()
            if text:
                carried.setdefault(text, []).append(called)
        if not files:
            without.append(f"{called}: {package['license'] or 'no licence named'}")
    return carried, without


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", default=COMMAND)
    parser.add_argument("--target", help="the system that it is built for; without it this one")
    parser.add_argument("--features", default="")
    args = parser.parse_args()
    features = [feature for feature in args.features.split(",") if feature]
    carried, without = notices(features, args.package, args.target)
    if not carried:
        sys.exit("notices.py: no package carries a licence")
    for text, names in carried.items():
        print("\n".join(names), text, "=" * 80, sep="\n\n", end="\n\n")
    if without:
        print("Without a text of their own:", "", *without, sep="\n")


if __name__ == "__main__":
    main()
