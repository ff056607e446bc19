"""Which mode answers first, by size, line and searches: what `sordino plan` predicts."""

from __future__ import annotations

from compare.run import Run
from compare.svg import Line, line_chart
from compare.table import digits, markdown, notes

RATES = (10, 100, 1000)  # Mbit/s
SEARCHES = (1, 10, 100, 1000)
LARGEST = 10_000_000
# Modes that leave the index at the server and hide the vectors from the server.
PRIVATE = ("masked", "routed", "sealed")


def seconds(x: float) -> str:
    return f"{digits(x)} s"


def planned(run: Run, n: int, rate: int, searches: int) -> dict[str, float]:
    """The seconds that each mode takes for all searches of a client, with the initial download."""
    for plan in run.plans:
        if (plan["n"], plan["line"], plan["queries"]) == (n, rate * 1e6, searches):
            return {mode["mode"]: mode["line_seconds"]["in_all"] for mode in plan["modes"]}
    return {}


def sizes(run: Run) -> list[int]:
    return sorted({plan["n"] for plan in run.plans if plan["n"] <= LARGEST})


def cell(times: dict[str, float]) -> str:
    """The fastest mode whose readers do not hold the index. Local mode is named too if it is faster."""
    private = [(times[mode], mode) for mode in PRIVATE if mode in times]
    if not private:
        return "-"
    best, mode = min(private)
    found = f"{mode} {seconds(best)}"
    local = times.get("local", best)
    return f"{found}; local {seconds(local)}" if local < best else found


def chart(run: Run, rate: int) -> str:
    """The seconds of a client of 100 searches, by the number of vectors."""
    lines = [
        Line(mode, [(n, planned(run, n, rate, 100)[mode]) for n in sizes(run)])
        for mode in (*PRIVATE, "local")
        if all(mode in planned(run, n, rate, 100) for n in sizes(run))
    ]
    title = f"100 searches on a line of {rate} Mbit/s, with the download before the first search"
    return line_chart(
        title,
        "vectors of 128 dimensions",
        "time",
        lines,
        lambda n: f"{n:,.0f}",
        seconds,
        [float(n) for n in sizes(run)],
    )


def charts(run: Run) -> dict[str, str]:
    return {f"lines_{rate}.svg": chart(run, rate) for rate in RATES if run.plans}


def section(run: Run) -> str:
    if not run.plans:
        return "## Which mode on which link\n\nAbsent: not in this run."
    rows = [
        [f"{n:,}", f"{rate} Mbit/s"]
        + [cell(planned(run, n, rate, searches)) for searches in SEARCHES]
        for n in sizes(run)
        for rate in RATES
    ]
    head = ["vectors of 128 dimensions", "link", *(f"{n:,}" for n in SEARCHES)]
    return "\n\n".join(
        [
            "## Which mode on which link",
            "`sordino plan --line` predicted the next table's times for a recall@10 of 0.95. It computes bytes from the formats of messages, and time from "
            "built-in measurements of one core. These searches find only ids; [with texts](#over-a-line), the first search takes much longer.",
            notes(
                "The number above a column is the number of searches that one client makes, one after the other, before the index changes. The times "
                "are for all these searches together, with downloads.",
                "Each cell names the fastest of masked, routed and sealed mode. In these modes, readers do not hold the index, and the server does not see the "
                "vectors. The plan chooses the form of each mode by its bytes, so on a fast line another form may be faster. In local mode, readers hold the index; a cell names local mode only if it is faster than the other three.",
            ),
            markdown(head, rows, words=True),
            *(f"![{rate} Mbit/s](../plots/lines_{rate}.svg)" for rate in RATES),
        ]
    )
