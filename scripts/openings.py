#!/usr/bin/env python3
"""Comments that open with a riddle.

  scripts/openings.py [--skip CRATE ...]

A comment is a sentence about the thing below it. One that opens with What, Whether, As, That, Of or How
makes its reader look for the answer first. Prints each, and exits with 1 if there is one.
"""
import argparse
import re
import sys

from rust_source import ROOT, crates, programs

OPENING = re.compile(r"\s*//[/!]?\s*(?:What|Whether|As|That|Of|How)\b")
COMMENT = re.compile(r"\s*//[/!]?\s*(.*)")


def openings(lines):
    """The numbers of the lines that open a comment, or a section of one, with one of these words."""
    for number, line in enumerate(lines):
        before = COMMENT.match(lines[number - 1]) if number else None
        # A line within a paragraph goes on with the line before.
        within = before and before.group(1) and not before.group(1).startswith(("#", "```"))
        if OPENING.match(line) and not within:
            yield number


def main():
    parser = argparse.ArgumentParser(description="comments that open with a riddle")
    parser.add_argument("--skip", nargs="*", default=[], metavar="CRATE", help="crates that are left out")
    found = 0
    files = [file for crate in crates(parser.parse_args().skip) for file in sorted(crate.rglob("*.rs"))]
    for file in files + programs("examples", "benches", "fuzz/fuzz_targets"):
        lines = file.read_text().splitlines()
        for number in openings(lines):
            found += 1
            print(f"{file.relative_to(ROOT)}:{number + 1}: {lines[number].strip()}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
