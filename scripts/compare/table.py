"""Markdown tables: figures, ratios, and reasons where a figure is absent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compare.run import Measurement, Run

# Between these ratios, a kernel of a peer and Sordino's call of the same kernel take the same time.
ALIKE = (0.995, 1.2)
NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def time(ns: float | None) -> str:
    """A time with three significant digits."""
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
    """The quotient of `other` and `ours`."""
    return f"{digits(other / ours)}x" if other and ours else "-"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], words: bool = False) -> str:
    """A table. The first column is text; the others are figures, unless they are words."""
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    first, *others = ("| " + " | ".join(row) + " |" for row in escaped)
    rule = "|---" + ("|---" if words else "|---:") * (len(head) - 1) + "|"
    return "\n".join((first, rule, *others))


@dataclass(frozen=True)
class Key:
    """Names a measurement. `each` divides its time by the number of elements of an iteration."""

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
    """One row of a table. `ours` is a key, or the reason why there is none. `reference` is what a reference document states."""

    label: str
    reference: float | None
    ours: Key | str
    peers: Sequence[Key] = ()
    reference_text: str = ""
    note: str = ""


def shown(run: Run, row: Row) -> str:
    """The cell of Sordino's figure. If there is no measurement, it says so."""
    if isinstance(row.ours, str):
        return f"absent: {row.ours}"
    ours = row.ours.time(run)
    note = f" {row.note}" if row.note else ""
    return (f"**{time(ours)}**" if ours else "absent: not in this run") + note


def peers(run: Run, row: Row) -> dict[str, tuple[float, float | None]]:
    """Each measured peer: its time, and the quotient of its time and Sordino's."""
    ours = None if isinstance(row.ours, str) else row.ours.time(run)
    found = {}
    for key in row.peers:
        if ns := key.time(run):
            found[key.name()] = (ns, factor(key.name(), ns, ours))
    return found


def factor(name: str, ns: float, ours: float | None) -> float | None:
    """The quotient of a peer's time and Sordino's. If Sordino calls this peer's kernel, a small advantage is no result, and has no quotient."""
    if not ours:
        return None
    found = ns / ours
    return None if name.startswith("its kernel") and ALIKE[0] <= found <= ALIKE[1] else found


def compare(run: Run, all_rows: Sequence[Row], first: str = "", stated: bool = False) -> str:
    """Sordino's figure, then a column for each peer of this run, and the figure that a reference document states. A
    factor above 1x means that the peer takes longer."""
    measured = [peers(run, row) for row in all_rows]
    names = list(dict.fromkeys(name for found in measured for name in found))
    cells = []
    for row, found in zip(all_rows, measured):
        theirs = [found.get(name) for name in names]
        cells.append([row.label, shown(run, row), *(peer(each) for each in theirs), *([there(row)] if stated else [])])
    return markdown([first, "Sordino", *names, *(["[reference](reference.md)"] if stated else [])], cells)


def there(row: Row) -> str:
    """The figure that a reference document states. It was measured on another machine, so it has no ratio."""
    return row.reference_text or time(row.reference)


def peer(found: tuple[float, float | None] | None) -> str:
    if found is None:
        return "-"
    ns, factor = found
    return time(ns) + (f" ({digits(factor)}x)" if factor else "")


def faster(run: Run, all_rows: Sequence[Row]) -> list[tuple[str, str, str]]:
    """The cases in which a peer takes less time than Sordino with the same threads: the row, Sordino's time, and the
    peer."""
    return [
        (row.label, shown(run, row), f"{name} {peer(found)}")
        for row in all_rows
        for name, found in peers(run, row).items()
        if found[1] and found[1] < 0.995 and ("all threads" in row.note or "all threads" not in name)
    ]


def stated_there(run: Run, all_rows: Sequence[Row]) -> str:
    """The figures of a reference document, and Sordino's. They come from two machines, so there is no ratio."""
    rows = [
        [row.label, there(row), shown(run, row)]
        for row in all_rows
        if row.reference or row.reference_text
    ]
    return markdown(["", "reference", "Sordino"], rows)


def notes(*texts: str) -> str:
    """The facts that a reader of the table above needs."""
    return "\n".join(f"- {text}" for text in texts)


def detected(run: Run, group: str, functions: Sequence[str], parameter: object) -> Measurement | None:
    """The measurement of the last function that has one: functions are in the order of their SIMD levels, and programs use the highest on this machine.
    A lower level may have been faster."""
    found = [m for f in functions if (m := run.get(group, f, parameter)) and m.median_ns]
    return found[-1] if found else None
