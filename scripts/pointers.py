#!/usr/bin/env python3
"""Checks the documents: pointers into the code, links and their anchors, and the summary of the book.

  scripts/pointers.py                  prints each fault, and exits with 1 if there is one
  scripts/pointers.py --book FOLDER    writes the source of the book: the pages of docs/SUMMARY.md, and what they link to

Looks at every Markdown file except the changelog. A path in backquotes that ends in .rs, .py or .sh must exist, from the root, from
`crates` or from `src` next to the document. A name in backquotes directly after such a path must occur in that file. The target of a
link without a scheme must exist, with the heading or `id` that the link names. docs/SUMMARY.md must name each page under docs/ once, and
no missing page.
"""
import collections
import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from rust_source import ROOT

POINTER = re.compile(r"`([\w./-]+/[\w.-]+\.(?:rs|py|sh))`(?:\s+`(\w+)`)?")
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
WHOLE = re.compile(r"\[([^\[\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
FENCE = re.compile(r"^ *(```|~~~).*?^ *\1", re.M | re.S)
HEADING = re.compile(r"^#+ +(.*?) *#*$", re.M)
SUMMARY = ROOT / "docs/SUMMARY.md"


def blank(text):
    """The text without its code blocks, with the same line numbers."""
    return FENCE.sub(lambda match: re.sub(r"[^\n]", "", match.group()), text)


@functools.cache
def anchors(document):
    """The names that a link can have after #: of headings, with a number if repeated, and of tags."""
    text = blank(document.read_text())
    found, seen = set(re.findall(r"""\b(?:id|name)="([^"]+)\"""", text)), collections.Counter()
    for title in HEADING.findall(text):
        title = re.sub(r"\]\([^)]*\)", "]", title)
        name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return found


def links(document):
    """The line, target file and anchor of each link without a scheme in a document."""
    text = blank(document.read_text())
    for match in LINK.finditer(text):
        path, anchor = match.groups()
        if "://" not in path and not path.startswith("mailto:"):
            yield text.count("\n", 0, match.start()) + 1, path, anchor


def lost(document):
    """The line and fault of each pointer in a document that leads nowhere."""
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
    for line, path, anchor in links(document):
        target = document.parent / path if path else document
        if target.is_dir() and (target / "README.md").exists():
            target = target / "README.md"
        if not target.exists():
            yield line, f"{path} does not exist"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield line, f"{path}#{anchor} does not exist"


def pages():
    """The files of the book, in the order of its summary, relative to the root."""
    return [os.path.normpath(f"docs/{path}") for _, path, _ in links(SUMMARY) if path]


def unlisted(listed):
    """A fault for each page that the summary has twice or lacks."""
    named = collections.Counter(pages())
    yield from (f"{page} is listed twice" for page, count in named.items() if count > 1)
    wanted = (name for name in listed if name.startswith("docs/") and ROOT / name != SUMMARY)
    yield from (f"{name} is not in the summary" for name in wanted if name not in named)


def book(folder):
    """Copies the pages and the files that they link to into a folder, with the summary at its root. A link to a folder leads to its
    README. A link to anything that is not in the book becomes its words."""
    chosen, linked = pages(), set()
    for name in chosen:
        document, text, at = ROOT / name, (ROOT / name).read_text(), 0

        def moved(match, document=document):
            words, path, anchor = match.groups()
            if not path or "://" in path or path.startswith("mailto:"):
                return match.group()
            target = (document.parent / path).resolve()
            if target.is_dir():
                path, target = path.rstrip("/") + "/README.md", target / "README.md"
            if target.suffix != ".md" and target.is_file():
                linked.add(target)
            elif os.path.relpath(target, ROOT) not in chosen:
                return words
            # mdbook makes this page of a README, without changing links to the README
            path = re.sub(r"README\.md$", "index.html", path)
            return f"[{words}]({path}{anchor or ''})"

        parts = []
        for fence in FENCE.finditer(text):
            parts += [WHOLE.sub(moved, text[at : fence.start()]), fence.group()]
            at = fence.end()
        parts.append(WHOLE.sub(moved, text[at:]))
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text("".join(parts))
    for file in linked:
        copy = folder / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    text = LINK.sub(lambda match: f"]({os.path.normpath('docs/' + match.group(1))})", SUMMARY.read_text())
    (folder / "SUMMARY.md").write_text(text)


def main():
    if sys.argv[1:2] == ["--book"]:
        book(Path(sys.argv[2]))
        return
    command = ["git", "ls-files", "-co", "--exclude-standard", "*.md"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    listed = [name for name in found.stdout.split() if name != "CHANGELOG.md" and (ROOT / name).exists()]
    faults = [f"docs/SUMMARY.md: {why}" for why in unlisted(listed)]
    for name in listed:
        faults += [f"{name}:{line}: {why}" for line, why in lost(ROOT / name)]
    print("\n".join(faults), end="\n" if faults else "")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
