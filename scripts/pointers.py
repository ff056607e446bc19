#!/usr/bin/env python3
"""Pointers of documents into the code, and links between documents, that lead nowhere; wrong dependencies in docs/crates.md.

  scripts/pointers.py

Looks at every Markdown file but the changelog. In backquotes a path that ends in .rs, .py or .sh must exist, from the root, from
`crates` or from `src` beside the document; a name in backquotes right behind such a path must occur in that file. A link
without a scheme must exist. The table in docs/crates.md must give the dependencies that each Cargo.toml has. Prints each
fault, and exits with 1 if there is one.
"""
import re
import subprocess
import sys
import tomllib

from rust_source import ROOT

POINTER = re.compile(r"`([\w./-]+/[\w.-]+\.(?:rs|py|sh))`(?:\s+`(\w+)`)?")
CRATE = re.compile(r"^\| \[`sordino-[\w-]+`\]\(([\w./-]+)\) \|.*\| ([^|]*) \|$", re.M)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def lost(document):
    """Line and words of each pointer of a document that leads nowhere."""
    text = document.read_text()
    places = (ROOT, ROOT / "crates", document.parent / "src")
    for match in POINTER.finditer(text):
        path, name = match.groups()
        files = [place / path for place in places if (place / path).is_file()]
        line = text.count("\n", 0, match.start()) + 1
        if not files:
            yield line, f"{path} does not exist"
        elif name and not re.search(rf"\b{name}\b", files[0].read_text()):
            yield line, f"{path} has no {name}"
    for match in LINK.finditer(text):
        path = match.group(1)
        if "://" not in path and not (document.parent / path).exists():
            yield text.count("\n", 0, match.start()) + 1, f"{path} does not exist"


def mistold(document):
    """Line and words of each crate whose dependencies a table gives otherwise than its Cargo.toml."""
    text = document.read_text()
    for match in CRATE.finditer(text):
        folder, told = match.groups()
        manifest = tomllib.loads((document.parent / folder / "Cargo.toml").read_text())
        names = {name.removeprefix("sordino-") for name in manifest.get("dependencies", {}) if name.startswith("sordino-")}
        if set(re.findall(r"[\w-]+", told)) - {"nothing"} != names:
            line = text.count("\n", 0, match.start()) + 1
            yield line, f"{folder} depends on {', '.join(sorted(names)) or 'nothing'}"


def main():
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True)
    found = 0
    for name in listed.stdout.split():
        if name == "CHANGELOG.md":
            continue
        wrong = [*lost(ROOT / name), *(mistold(ROOT / name) if name == "docs/crates.md" else [])]
        for line, why in wrong:
            found += 1
            print(f"{name}:{line}: {why}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
