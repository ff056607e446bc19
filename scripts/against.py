#!/usr/bin/env python3
"""Compares two revisions by one bench. Their runs alternate, so that other load on the machine affects both.

    scripts/bench.sh --against REV BENCH [FILTER] [--rounds 5]

Prints, for each row of the bench, the time of this tree divided by the time of REV: the median of the rounds, the smallest value
and the largest. If a row's interval contains 1, the row shows no difference. """

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from compare.run import criterion  # noqa: E402

Times = dict[str, float]


def built(tree: Path, bench: str) -> Path:
    """The executable of a bench, built from this tree."""
    line = ["cargo", "bench", "--bench", bench, "--no-run", "--message-format", "json-render-diagnostics"]
    told = subprocess.run(line, cwd=tree, check=True, stdout=subprocess.PIPE, text=True).stdout
    for message in map(json.loads, told.splitlines()):
        if message.get("executable") and message["target"]["name"] == bench:
            return Path(message["executable"])
    raise SystemExit(f"against.py: {tree} has no bench {bench}")


def measured(executable: Path, tree: Path, home: Path, pattern: str | None) -> Times:
    """Runs a bench once, and returns the median of each row in nanoseconds."""
    pin = os.environ.get("SORDINO_PIN", "").split()
    line = [*pin, str(executable), "--bench", "--noplot", *([pattern] if pattern else [])]
    environment = {"RAYON_NUM_THREADS": "1"} | os.environ | {"CRITERION_HOME": str(home)}
    subprocess.run(line, cwd=tree / "benches", check=True, env=environment, stdout=subprocess.DEVNULL)
    rows = criterion(home)
    return {"/".join(filter(None, (row.group, row.function, row.parameter))): row.median_ns for row in rows if row.median_ns}


def ratios(old: list[Times], new: list[Times]) -> dict[str, tuple[float, float, float]]:
    """For each row that all rounds have: the median, the smallest and the largest value of new / old."""
    shared = set.intersection(*(set(times) for times in old + new))
    of_rounds = {row: [after[row] / before[row] for before, after in zip(old, new)] for row in sorted(shared)}
    return {row: (statistics.median(all_), min(all_), max(all_)) for row, all_ in of_rounds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", metavar="REV")
    parser.add_argument("bench", metavar="BENCH")
    parser.add_argument("pattern", metavar="FILTER", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error("--rounds: expected 1 or more")
    name = subprocess.run(
        ["git", "rev-parse", "--verify", f"{given.revision}^{{commit}}"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    place = ROOT / "target" / "against" / name
    if not place.exists():
        subprocess.run(["git", "worktree", "add", "--detach", str(place), name], cwd=ROOT, check=True)
    trees = {"old": place, "new": ROOT}
    executables = {side: built(tree, given.bench) for side, tree in trees.items()}
    runs: dict[str, list[Times]] = {"old": [], "new": []}
    for at in range(given.rounds):
        # The second run may find a warmer machine, so the sides alternate.
        for side in ("old", "new") if at % 2 == 0 else ("new", "old"):
            home = ROOT / "target" / "against" / "criterion" / f"{name[:12]}-{os.getpid()}" / f"{side}-{at}"
            runs[side].append(measured(executables[side], trees[side], home, given.pattern))
        print(f"round {at + 1} of {given.rounds}", file=sys.stderr)
    found = ratios(runs["old"], runs["new"])
    print(f"time of this tree / time of {name[:12]}, {given.rounds} rounds: median, least, most")
    for row, (median, least, most) in found.items():
        print(f"{row:60} {median:6.3f}  {least:6.3f}  {most:6.3f}")
    for side, times in runs.items():
        alone = sorted(set.union(*map(set, times)) - set(found))
        if alone:
            print(f"without a pair, {side}: {', '.join(alone)}")


if __name__ == "__main__":
    main()
