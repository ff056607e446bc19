#!/usr/bin/env python3
"""Bill of materials of the command `sordino`: CycloneDX 1.5, from Cargo.lock and cargo's metadata of licences.

  scripts/sbom.py > sordino.cdx.json
  scripts/sbom.py --features policies > sordino.cdx.json
  scripts/sbom.py --check           makes it twice, and checks its content

Lists the packages from which the command is built, with their checksums, licences and dependencies. It lists no packages that only tests,
benches or other systems need. The same lock file gives the same bytes, without times or random numbers. Standard library only.
"""
import argparse
import hashlib
import json
import subprocess
import sys
import tomllib

from rust_source import ROOT

COMMAND = "sordino-cli"


def cargo(*args):
    command = ["cargo", *args, "--locked", "--manifest-path", str(ROOT / "Cargo.toml")]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def host():
    lines = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout.splitlines()
    return next(line.split()[1] for line in lines if line.startswith("host"))


def materials(features, name=COMMAND, target=None):
    """The packages of the command (or of a named package) by id, the dependencies of each, and the lock file's checksums."""
    asked = ["--features", ",".join(f"{name}/{feature}" for feature in features)] if features else []
    told = json.loads(cargo("metadata", "--format-version", "1", "--filter-platform", target or host(), *asked))
    packages = {package["id"]: package for package in told["packages"]}
    nodes = {node["id"]: node for node in told["resolve"]["nodes"]}
    root = next(at for at, package in packages.items() if package["name"] == name)
    # Build dependencies are included, since they run on the builder's machine and affect what is built.
    wanted = lambda dep: any(kind["kind"] in (None, "build") for kind in dep["dep_kinds"])
    below, todo = {}, [root]
    while todo:
        at = todo.pop()
        if at not in below:
            below[at] = sorted(dep["pkg"] for dep in nodes[at]["deps"] if wanted(dep))
            todo += below[at]
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    sums = {(package["name"], package["version"]): package.get("checksum") for package in lock}
    return packages, below, sums, root


def bill(features=()):
    packages, below, sums, root = materials(features)
    components = []
    for at in below:
        package = packages[at]
        one = {"type": "application" if at == root else "library", "bom-ref": reference(package), "name": package["name"],
               "version": package["version"], "purl": reference(package)}
        if package["license"]:
            one["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        checksum = sums[package["name"], package["version"]]
        if checksum:
            one["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        components.append(one)
    components.sort(key=lambda one: one["bom-ref"])
    depends = [{"ref": reference(packages[at]), "dependsOn": sorted(reference(packages[dep]) for dep in deps)} for at, deps in below.items()]
    main = next(one for one in components if one["name"] == COMMAND)
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": main},
            "components": [one for one in components if one is not main], "dependencies": sorted(depends, key=lambda one: one["ref"])}


def check():
    first, second = (json.dumps(bill(), indent=1) for _ in range(2))
    assert first == second, "two runs differ"
    found = json.loads(first)
    names = [one["name"] for one in found["components"]]
    for expected in ("aes", "blake3", "ml-dsa", "rustls", "sordino-search"):
        assert expected in names, f"{expected} is missing"
    for other in ("proptest", "criterion", "tfhe-ntt", "casbin", "cedar-policy"):
        assert other not in names, f"{other} is not a part of the command"
    full = [one["name"] for one in bill(["policies"])["components"]]
    assert "cedar-policy" in full, "cedar-policy is missing where there are policies"
    for one in found["components"]:
        assert "licenses" in one, f"{one['name']} has no licence"
        assert "hashes" in one or one["name"].startswith("sordino"), f"{one['name']} has no checksum"
    digest = hashlib.sha256(first.encode()).hexdigest()
    print(f"{len(names)} packages, SHA-256 of the bill {digest}")


if __name__ == "__main__":
    if "--check" in sys.argv:
        check()
    else:
        parser = argparse.ArgumentParser(description="bill of materials of the command")
        parser.add_argument("--features", default="", help="features of the command, separated by commas")
        features = parser.parse_args().features
        print(json.dumps(bill([feature for feature in features.split(",") if feature]), indent=1))
