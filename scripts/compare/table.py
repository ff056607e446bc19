"""Markdown tables: figures, ratios, and reasons where a figure is absent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compare.run import Measurement, Run

NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def time(ns: float | None) -> str:
    """A time with three digits."""
    if ns is None:
        return "-"
    for unit, size in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6)):
        if ns < 999.5 * size:
            return f"{digits(ns / size)} {unit}"
    return f"{digits(ns / 1e9)} s"


def digits(x: float) -> str:
    """Three significant digits, without an exponent."""
    if x >= 99.95:
        return f"{x:,.0f}"
    return f"{x:.1f}" if x >= 9.995 else f"{x:.2f}"


def size(count: float | None) -> str:
    """A number of bytes, in decimal units."""
    if count is None:
        return "-"
    for unit, scale in (("B", 1.0), ("kB", 1e3), ("MB", 1e6)):
        if count < 999.5 * scale:
            return f"{count / scale:.0f} B" if scale == 1 else f"{digits(count / scale)} {unit}"
    return f"{digits(count / 1e9)} GB"


def ratio(other: float | None, ours: float | None) -> str:
    """How many times `ours` goes into `other`."""
    return f"{digits(other / ours)}x" if other and ours else "-"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], words: bool = False) -> str:
    """A table; the first column is text, the others are figures unless they are words."""
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    rule = ["---"] + ["---" if words else "---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in (escaped[0], rule, *escaped[1:]))


@dataclass(frozen=True)
class Key:
    """Names a measurement; `each` divides its time by the elements of an iteration."""

    group: str
    function: str
    parameter: str
    each: bool = False
    label: str = ""

    def time(self, run: Run) -> float | None:
        m = run.get(self.group, self.function, self.parameter)
        if m is None or m.median_ns is None:
            return None
        return m.median_ns / (m.elements or 1) if self.each else m.median_ns

    def name(self) -> str:
        return self.label or self.function


@dataclass(frozen=True)
class Row:
    """One row of a reference table. `ours` is a key, or the reason why there is none."""

    label: str
    reference: float | None
    ours: Key | str
    peers: Sequence[Key] = ()
    reference_text: str = ""
    note: str = ""


HEAD = (
    "row",
    "reference",
    "Sordino",
    "reference / Sordino",
    "peers in this run (time / Sordino's)",
)


def rows(run: Run, all_rows: Sequence[Row]) -> list[list[str]]:
    return [cells(run, row) for row in all_rows]


def cells(run: Run, row: Row) -> list[str]:
    """The cells of a row; what was not measured says so."""
    reference = row.reference_text or time(row.reference)
    if isinstance(row.ours, str):
        ours, shown = None, f"absent: {row.ours}"
    else:
        ours = row.ours.time(run)
        shown = f"**{time(ours)}**" if ours else "absent: not in this run"
    note = f" {row.note}" if row.note else ""
    return [
        row.label,
        reference,
        shown + note,
        ratio(row.reference, ours),
        peers(run, row.peers, ours) or "-",
    ]


def peers(run: Run, keys: Sequence[Key], ours: float | None) -> str:
    """Each peer that was measured, with how many times longer it takes."""
    shown = []
    for key in keys:
        if ns := key.time(run):
            factor = f" ({ratio(ns, ours)})" if ours else ""
            shown.append(f"{key.name()} {time(ns)}{factor}")
    return "; ".join(shown)


def compare(run: Run, all_rows: Sequence[Row], head: Sequence[str] = HEAD) -> str:
    return markdown(head, rows(run, all_rows))


def notes(*texts: str) -> str:
    """What a reader of the table above must know."""
    return "\n".join(f"- {text}" for text in texts)


def fastest(
    run: Run, group: str, functions: Sequence[str], parameter: object
) -> Measurement | None:
    """The fastest of the named functions: of the backends that this machine has."""
    found = [m for m in run.group(group, parameter) if m.function in functions and m.median_ns]
    return min(found, key=lambda m: m.median_ns or 0.0, default=None)
