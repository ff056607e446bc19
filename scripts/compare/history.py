"""The main numbers of each version. `history.jsonl` has one line for each version."""

from __future__ import annotations

import json
import re
from pathlib import Path

from compare import first
from compare.run import Run, lines
from compare.table import markdown

KEPT = Path(__file__).with_name("history.jsonl")
ROOT = Path(__file__).resolve().parents[2]


def version() -> str:
    """The version of the workspace."""
    found = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.M)
    return found[1] if found else "unknown"


def kept() -> list[dict]:
    return list(lines(KEPT.read_text())) if KEPT.is_file() else []


def keep(run: Run, commit: str, date: str, processor: str) -> None:
    """Replaces the line of this version."""
    numbers = {what: ours.strip("*") for what, ours, *_ in first.numbers(run)}
    new = {"version": version(), "commit": commit, "date": date, "processor": processor, "numbers": numbers}
    found = [line for line in kept() if line["version"] != new["version"]]
    KEPT.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in [*found, new]))


def section() -> str:
    found = kept()
    if not found:
        return "# History\n\nNo version has numbers yet."
    names = list(dict.fromkeys(what for line in found for what in line["numbers"]))
    rows = [[what, *(line["numbers"].get(what, "-") for line in found)] for what in names]
    rows[:0] = [[key, *(line[key] for line in found)] for key in ("date", "commit", "processor")]
    about = "Compare two versions only if they were measured on the same processor. To compare this tree with a commit, run `scripts/bench.sh --against REV BENCH`."
    return "\n\n".join(["# History", "This page has the main numbers of each version: Sordino's figures of the [first page](README.md). [Method](method.md) says what other programs did during the newest run.", markdown(["", *(line["version"] for line in found)], rows, words=True), about])
