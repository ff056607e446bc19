#!/usr/bin/env python3
"""The version of this workspace, and its published crates in the order of publication.

  scripts/versions.py            prints the version; fails if a manifest or lock file has a different one
  scripts/versions.py --order    prints the published crates, each after those that it needs
  scripts/versions.py --notes    prints the changelog's notes of the version; fails if notes or date are missing

Looks at Cargo.toml, the crates' manifests, Cargo.lock, js/package.json and js/package-lock.json. The wheel has the version of Cargo.toml.
"""
import json
import re
import sys
import tomllib

from rust_source import ROOT


def read(name):
    return tomllib.loads((ROOT / name).read_text())


def manifests():
    """Each member's folder and manifest, including the root's."""
    root = read("Cargo.toml")
    yield "Cargo.toml", root
    for member in root["workspace"]["members"]:
        for file in sorted(ROOT.glob(f"{member}/Cargo.toml")):
            name = str(file.relative_to(ROOT))
            yield name, read(name)


def needs(manifest):
    """Names and versions of this workspace's own crates in a manifest's dependencies and in its workspace table."""
    tables = [manifest.get("workspace", {})] + [manifest, *manifest.get("target", {}).values()]
    for table in tables:
        # A package keeps its test dependencies, except if they have no version.
        for name, value in [*table.get("dependencies", {}).items(), *table.get("dev-dependencies", {}).items()]:
            if name.startswith("sordino"):
                yield name, value.get("version") if isinstance(value, dict) else value


def versions():
    """Each place that states the version, and the version stated there."""
    for name, manifest in manifests():
        stated = manifest.get("package", {}).get("version")
        if isinstance(stated, str):
            yield name, stated
        for need, stated in needs(manifest):
            if stated:
                yield f"{name}, {need}", stated
    for package in read("Cargo.lock")["package"]:
        # Only the workspace's own packages have no source.
        if package["name"].startswith("sordino") and "source" not in package:
            yield f"Cargo.lock, {package['name']}", package["version"]
    for name in ("js/package.json", "js/package-lock.json"):
        yield name, json.loads((ROOT / name).read_text())["version"]


def wrong(version):
    # Packages that are never published have the version 0.0.0.
    return [f"{place} has {stated}, expected {version}" for place, stated in versions() if stated not in (version, "0.0.0")]


def order():
    """The published crates, each after the crates that it needs."""
    of = {}
    # Test dependencies are left out of packages.
    unversioned = {name for name, stated in needs({"workspace": read("Cargo.toml")["workspace"]}) if not stated}
    for _, manifest in manifests():
        package = manifest.get("package", {})
        if package.get("publish") is not False:
            of[package["name"]] = [name for name, _ in needs(manifest) if name not in unversioned]
    placed = []
    while of:
        ready = sorted(name for name, names in of.items() if not set(names) & set(of))
        if not ready:
            sys.exit(f"versions.py: {', '.join(sorted(of))} need each other")
        placed += ready
        for name in ready:
            if missing := set(of.pop(name)) - set(placed):
                sys.exit(f"versions.py: {name} is published and needs {', '.join(sorted(missing))}, which is not")
    return placed


def notes(version, text):
    """The changelog's section of a version, and whether its heading has a date; none if there is no such section."""
    parts = re.split(r"^(## .*)$", text, flags=re.M)
    for heading, section in zip(parts[1::2], parts[2::2]):
        if heading.removeprefix("## ").split(" ")[0] == version:
            return section.strip(), bool(re.search(r"\(\d{4}-\d{2}-\d{2}\)$", heading))
    return None


def main():
    version = read("Cargo.toml")["workspace"]["package"]["version"]
    if faults := wrong(version):
        sys.exit("versions.py: " + "\nversions.py: ".join(faults))
    if "--order" in sys.argv:
        print("\n".join(order()))
    elif "--notes" in sys.argv:
        found = notes(version, (ROOT / "CHANGELOG.md").read_text())
        if not found or not found[0]:
            sys.exit(f"versions.py: CHANGELOG.md has no notes of {version}: write them under '## {version} (YYYY-MM-DD)'")
        if not found[1]:
            sys.exit(f"versions.py: CHANGELOG.md has no date of {version}: write '## {version} (YYYY-MM-DD)'")
        print(found[0])
    else:
        print(version)


if __name__ == "__main__":
    main()
