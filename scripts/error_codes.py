#!/usr/bin/env python3
"""Compares docs/errors.md with the code: each error code has one row there, which says what to do.

  scripts/error_codes.py

Reads the exit codes of the command, the kinds of `sordino-index`, the refusals of `sordino-net`, the codes in the description of
the HTTP gateway, the classes of the Python package and the codes of the npm package. Prints each code that the page lacks, each
code that only the page has, and each row that does not say what to do. Exits with 1 if it prints any.
"""
import ast
import json
import re
import sys

from rust_source import ROOT

PAGE = "docs/errors.md"
# A row of a table whose first cell is one or more names in backquotes, and the row's last cell.
ROW = re.compile(r"^\| (`[^|]*`) \|.*\|([^|]*)\|$", re.M)
# The codes that need no remedy.
FINE = {"0"}


def found(file, pattern, inside=r"(?s).*"):
    """The matches of a pattern in a part of a file."""
    part = re.search(inside, (ROOT / file).read_text())
    return re.findall(pattern, part.group()) if part else []


def exit_codes():
    return found("crates/cli/src/error.rs", r"pub const \w+: u8 = (\d+);")


def kinds():
    return found("crates/index/src/error/kind.rs", r"(?m)^    (\w+),$", r"(?s)pub enum Kind \{.*?\n\}")


def refusals():
    return found("crates/net/src/refusal.rs", r'Self::\w+ => "([\w-]+)"')


def gateway():
    """The codes that the description lists. Checks that they are the codes that the code uses."""
    text = (ROOT / "crates/proxy/src/openapi.json").read_text()
    listed = set()

    def collect(value):
        if isinstance(value, dict):
            code = value.get("properties", {}).get("code") if isinstance(value.get("properties"), dict) else None
            if code:
                listed.update(code.get("enum", ()))
            value = list(value.values())
        if isinstance(value, list):
            for item in value:
                collect(item)

    collect(json.loads(text))
    used = found("crates/proxy/src/problem.rs", r'(?:StatusCode::\w+, |Kind::\w+ => |_ => )"(\w+)"', r"(?s)^.*?(?=#\[cfg\(test\)\])")
    return listed | set(used)


def classes():
    tree = ast.parse((ROOT / "python/python/sordino/_errors.py").read_text())
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.name != "Error"]


def javascript():
    return found("js/index.d.ts", r'"([\w-]+)"', r"(?s)readonly code:.*?;")


SECTIONS = {
    "Exit codes of the command": exit_codes,
    "Kinds in Rust": kinds,
    "Refusals of a server": refusals,
    "Codes of the HTTP gateway": gateway,
    "Classes in Python": classes,
    "Codes in JavaScript": javascript,
}


def faults(text):
    """Each difference between the page's text and the code."""
    parts = dict(part.split("\n", 1) for part in re.split(r"^## ", text, flags=re.M)[1:])
    for title, codes in SECTIONS.items():
        wanted, shown = set(codes()), []
        if not wanted:
            yield f"{title}: nothing was found in the code"
        for names, remedy in ROW.findall(parts.get(title, "")):
            names = re.findall(r"`([^`]+)`", names)
            shown += names
            if not remedy.strip() and not set(names) <= FINE:
                yield f"{title}: {', '.join(names)} has no remedy"
        yield from (f"{title}: {name} stands there twice" for name in sorted(set(shown)) if shown.count(name) > 1)
        yield from (f"{title}: {name} is missing" for name in sorted(wanted - set(shown)))
        yield from (f"{title}: {name} is in no code" for name in sorted(set(shown) - wanted))
    yield from (f"{title}: no section of codes" for title in parts if title not in SECTIONS)


def main():
    wrong = [f"{PAGE}: {fault}" for fault in faults((ROOT / PAGE).read_text())]
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
