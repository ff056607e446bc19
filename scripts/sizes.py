#!/usr/bin/env python3
"""Finds source files and functions that have grown too long.

  scripts/sizes.py [--skip CRATE ...]

Files over 350 lines and functions over 80, outside tests, in libraries, programs, examples, benches, fuzz targets and
build scripts. Prints each, and exits with 1 if there is one.
"""
import argparse
import re
import sys

from rust_source import ROOT, closing, code, crates, programs, sources

FILE, FUNCTION = 350, 80


def functions(text):
    """The name, the first line and the length of each function."""
    for match in re.finditer(r"\bfn\s+(\w+)", text):
        end = re.compile(r"[;{]").search(text, match.end())
        # The `;` of an array type in a signature is within brackets.
        while end and end.group() == ";" and text.count("[", match.end(), end.start()) > text.count(
            "]", match.end(), end.start()
        ):
            end = re.compile(r"[;{]").search(text, end.end())
        if end and end.group() == "{":
            body = text[match.start() : closing(text, end.start())]
            yield match.group(1), text.count("\n", 0, match.start()) + 1, body.count("\n") + 1


def main():
    parser = argparse.ArgumentParser(description="files and functions that have grown too long")
    parser.add_argument("--skip", nargs="*", default=[], metavar="CRATE", help="crates that are left out")
    found = 0
    chosen = crates(parser.parse_args().skip)
    files = [file for crate in chosen for file in sources(crate)]
    files += [file for crate in chosen for file in [*sorted(crate.glob("examples/**/*.rs")), *crate.glob("build.rs")]]
    for file in files + programs("examples", "benches", "fuzz/fuzz_targets"):
        name = file.relative_to(ROOT)
        # Tests are at the end of a file.
        lines = len(code(file).rstrip().splitlines())
        if lines > FILE:
            found += 1
            print(f"{name}: {lines} lines, over {FILE}")
        for function, line, length in functions(code(file)):
            if length > FUNCTION:
                found += 1
                print(f"{name}:{line}: {function} has {length} lines, over {FUNCTION}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
