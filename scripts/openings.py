#!/usr/bin/env python3
"""Comments that open with a riddle.

  scripts/openings.py [--skip CRATE ...]

A comment is a sentence about the thing below it. One that opens with What, Whether, As, That, Of or How
makes its reader look for the answer first. Looks at Rust, at the schema of the network, and at all scripts and settings.
Prints each, and exits with 1 if there is one.
"""
import argparse
import re
import subprocess
import sys

from rust_source import ROOT, crates, programs

RUST = re.compile(r"\s*//[/!]?\s*(.*)")
SCRIPT = re.compile(r"\s*#(?!!)\s*(.*)")
RIDDLE = re.compile(r"(?:What|Whether|As|That|Of|How)\b")
SCRIPTS = ("*.sh", "*.py", "*.toml", "*.yml", "*.yaml", "*.service", "*Containerfile", ".ci/run")


def openings(lines, comment):
    """The numbers of the lines that open a comment, or a section of one, with one of these words."""
    for number, line in enumerate(lines):
        here = comment.match(line)
        before = comment.match(lines[number - 1]) if number else None
        # A line within a paragraph goes on with the line before.
        within = before and before.group(1) and not before.group(1).startswith(("#", "```"))
        if here and RIDDLE.match(here.group(1)) and not within:
            yield number


def listed(*patterns):
    """The files of the repository whose names are of these patterns."""
    found = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, check=True, capture_output=True, text=True)
    return [ROOT / name for name in found.stdout.split()]


def main():
    parser = argparse.ArgumentParser(description="comments that open with a riddle")
    parser.add_argument("--skip", nargs="*", default=[], metavar="CRATE", help="crates that are left out")
    found = 0
    files = [file for crate in crates(parser.parse_args().skip) for file in sorted(crate.rglob("*.rs"))]
    rust = files + programs("examples", "benches", "fuzz/fuzz_targets") + listed("*.proto")
    for file, comment in [(file, RUST) for file in rust] + [(file, SCRIPT) for file in listed(*SCRIPTS)]:
        lines = file.read_text().splitlines()
        for number in openings(lines, comment):
            found += 1
            print(f"{file.relative_to(ROOT)}:{number + 1}: {lines[number].strip()}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
