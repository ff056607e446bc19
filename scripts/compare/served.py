"""Searches with texts between two processes, over lines of several rates: lines of `scripts/lines.py`."""

from __future__ import annotations

from compare import modes
from compare.run import Run
from compare.svg import Parts, parts_chart
from compare.table import digits, markdown, notes, size, time

HEAD = (
    "vectors, mode",
    "recall@10",
    "how texts are fetched",
    "a search",
    "first search of a new process",
    "bytes once",
    "server's memory",
    "build",
    "peak memory of the build",
)


def of(run: Run, n: int, mode: str, rate: int = 0) -> dict | None:
    found = (line for line in run.served if (line["n"], line["mode"], line["rate"]) == (n, mode, rate))
    return next(found, None)


def each(run: Run) -> list[tuple[int, str]]:
    return list(dict.fromkeys((line["n"], line["mode"]) for line in run.served))


def ms(x: float) -> str:
    return time(x * 1e6)


def row(line: dict) -> list[str]:
    return [
        f"{line['n']:,}, {line['mode']}",
        f"{line['recall']:.3f}",
        modes.fetched(line.get("fetch")).removeprefix("texts "),
        f"**{ms(line['search_ms'])}**",
        ms(line["first_ms"]),
        size(line["bytes_once"]),
        size(line["server_bytes"]),
        f"{digits(line['build_s'])} s",
        size(line["build_bytes"]),
    ]


def predicted(run: Run, n: int, mode: str, rate: int) -> float | None:
    """The milliseconds of one more search, from the bytes and the times that `sordino plan` predicts for a session of a hundred searches. The plan knows
    no texts and no round trip."""
    found = (each for plan in run.plans if (plan["n"], plan["queries"], plan["line"]) == (n, 100, rate * 1e6) for each in plan["modes"] if each["mode"] == mode)
    plan = next(found, None)
    return (plan["bytes_up"] + plan["bytes_down"]) * 8e3 / (rate * 1e6) + plan["server_ms"] + plan["client_ms"] if plan else None


def over_lines(run: Run) -> str:
    rows = []
    found = sorted({line["rate"] for line in run.served if line["rate"]})
    for n, mode in each(run):
        cells = [f"{n:,}, {mode}"]
        for rate in found:
            line = of(run, n, mode, rate)
            plan = predicted(run, n, mode, rate)
            cells.append(f"{ms(line['first_ms'])}, **{ms(line['search_ms'])}** ({ms(plan) if plan else '-'})" if line else "-")
        rows.append(cells)
    return markdown(["vectors, mode", *(f"{rate} Mbit/s" for rate in found)], rows)


def lines_chart(run: Run, n: int) -> str:
    """The parts of the time of one more search. The server's part was measured in one process, and the rest is the client's."""
    panels = []
    for rate in sorted({line["rate"] for line in run.served if line["rate"]}):
        bars = []
        for mode in modes.MODES:
            here, far, alone = of(run, n, mode), of(run, n, mode, rate), modes.one(run, "clustered", n, mode)
            if here and far and alone:
                server = min(alone["server_ms"] or 0.0, here["search_ms"])
                bars.append(Parts(mode, [server, here["search_ms"] - server, max(far["search_ms"] - here["search_ms"], 0.0)]))
        panels.append((f"{rate} Mbit/s, round trip {run.served[0]['delay_ms']:.0f} ms", bars))
    title = f"A search that brings ten texts, {n:,} vectors of 128 dimensions"
    return parts_chart(title, ("server scores", "client, and fetch of texts", "line"), panels, ms)


def section(run: Run) -> str:
    parts = ["## Between two processes, with texts"]
    if not run.served:
        return "\n\n".join([*parts, "Absent: this run did not measure searches between two processes."])
    here = [line for n, mode in each(run) if (line := of(run, n, mode))]
    first = run.served[0]
    return "\n\n".join(
        [
            *parts,
            "Vectors have 128 dimensions. They are generated and form clusters, which is the good case of routed mode. The command line searches a server on the same machine, without TLS, for ten results with texts "
            "of about 300 bytes. The server has one core.",
            markdown(HEAD, [row(line) for line in here]),
            notes(
                "`first search of a new process` starts with the command, and ends with the printed texts. This time includes the download of `bytes once`.",
                "`server's memory` excludes mapped files. A build uses all cores, and so does a client. The tables of one process below are for one thread.",
                "In local mode, a client downloads all vectors once.",
            ),
            "### Over a line",
            f"The next table repeats the searches above over a simulated network link, a *line*. Between client and server, a relay program limits the rate of each direction and adds a "
            f"round trip of {first['delay_ms']:.0f} ms. Unlike a network, the relay loses no packets.",
            "Each cell has three times: the first search of a new process, each later search (bold), and in brackets what `sordino plan` predicts for a later "
            "search. The prediction includes neither texts nor the round trip.",
            over_lines(run),
        ]
    )
