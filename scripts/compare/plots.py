"""The pictures of the report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from compare import first, modes, preserving, rates, retrieval, served
from compare.run import Run
from compare.svg import Bar, Line, bar_chart, line_chart
from compare.table import Key, detected, digits, size, time

LINK = 100e6 / 8  # the link's bytes per second, which the dashed line of the latency plot assumes


def milliseconds(ms: float) -> str:
    return time(ms * 1e6).replace(".00", "").replace(".0 ", " ")


def count(n: float) -> str:
    return f"{n:,.0f}"


def short_size(n: float) -> str:
    return size(n).replace(".00", "").replace(".0 ", " ")


def by_mode(run: Run, set_name: str, field: Callable[[dict], float]) -> list[Line]:
    points: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for n in modes.sizes(run, set_name):
        for s in modes.of(run, set_name, n):
            if value := field(s):
                points[modes.label(s)].append((n, value))
    return [
        Line(name, found)
        for name, found in sorted(points.items(), key=lambda item: modes.rank(item[0]))
    ]


def sizes_of(run: Run, set_name: str) -> list[float]:
    return [float(n) for n in modes.sizes(run, set_name)]


def download(run: Run, set_name: str) -> list[tuple[float, float]]:
    return sorted({(s["n"], s["bytes_download_all"]) for s in run.modes if s["set"] == set_name})


def search_latency(run: Run) -> str:
    lines = by_mode(run, "clustered", lambda s: s["total_ms"])
    whole = [(n, b / LINK * 1e3) for n, b in download(run, "clustered")]
    lines.append(Line("download everything, 100 Mbit/s", whole, dashed=True))
    title = "One private search: client and server time, one process, no network"
    return line_chart(
        title,
        "vectors of 128 dimensions (clustered set)",
        "time",
        lines,
        count,
        milliseconds,
        sizes_of(run, "clustered"),
    )


def search_bytes(run: Run) -> str:
    lines = by_mode(run, "clustered", lambda s: s["bytes_up"] + s["bytes_down"])
    lines.append(Line("download everything, once", download(run, "clustered"), dashed=True))
    title = "One private search: bytes up and down (what is sent once is not in it)"
    return line_chart(
        title,
        "vectors of 128 dimensions (clustered set)",
        "bytes",
        lines,
        count,
        short_size,
        sizes_of(run, "clustered"),
    )


def search_session(run: Run) -> str:
    """All bytes of a client, by the number of its searches, at the reference's size."""
    searches = (1, 10, 100, 1000)
    lines = []
    for s in modes.of(run, "clustered", modes.REFERENCE_N):
        if s["mode"] != "local":
            each = s["bytes_up"] + s["bytes_down"]
            points = [(n, s["bytes_once"] + n * each) for n in searches]
            lines.append(Line(modes.label(s), points))
    whole = [b for n, b in download(run, "clustered") if n == modes.REFERENCE_N]
    lines.append(
        Line(
            "local: download everything", [(n, b) for n in searches for b in whole[:1]], dashed=True
        )
    )
    title = (
        f"All bytes of a client, {modes.REFERENCE_N:,} vectors of 128 dimensions (clustered set)"
    )
    return line_chart(
        title, "searches before the index changes", "bytes", lines, count, short_size, searches
    )


def beside_clustered(run: Run) -> str:
    """A set of real vectors of the reference's size, or the uniform vectors."""
    name, n = modes.real(run) or ("", 0)
    return name if n == modes.REFERENCE_N else "uniform"


def search_recall(run: Run) -> str:
    """Recall against all bytes of a client that searches 100 times, at the reference's size."""
    lines = []
    other = beside_clustered(run)
    for set_name in ("clustered", other):
        for style, s in enumerate(modes.of(run, set_name, modes.REFERENCE_N)):
            spent = s["bytes_up"] + s["bytes_down"] + s["bytes_once"] / 100
            point, name = [(spent, s["recall"])], f"{modes.label(s)} ({set_name})"
            hollow = set_name == other
            lines.append(Line(name, point, lone=True, style=style, hollow=hollow))
    title = f"Recall against bytes of a search, {modes.REFERENCE_N:,} vectors"
    lowest = min((y for line in lines for _, y in line.points), default=0.0)
    floor = 0.9 if lowest >= 0.9 else int(lowest * 10) / 10
    label = "bytes of a search, a hundredth of what is sent once included"
    return line_chart(
        title, label, "recall@10", lines, short_size, lambda y: f"{y:.2f}", linear_y=(floor, 1.0)
    )


def pir_throughput(run: Run) -> str:
    functions = [*retrieval.BACKENDS, "plain-loop", "simplepir-crate", "double"]
    names = {
        "plain-loop": "plain loop",
        "simplepir-crate": "crate simplepir",
        "double": "DoublePIR",
    }
    lines = []
    for function in functions:
        found = [m for m in run.group("pir/answer") if m.function == function]
        points = [(retrieval.order(m.parameter), m.bytes_per_second / 1e9) for m in found]
        lines.append(Line(names.get(function, f"Sordino {function}"), points))
    bandwidth = [m for m in run.group("pir/answer") if m.function == "read-bandwidth"]
    lines.append(
        Line(
            "read bandwidth",
            [(retrieval.order(m.parameter), m.bytes_per_second / 1e9) for m in bandwidth],
            dashed=True,
        )
    )
    title = "SimplePIR: database bytes answered in a second, one query"
    ticks = sorted({float(retrieval.order(m.parameter)) for m in bandwidth})
    return line_chart(
        title,
        "database",
        "GB/s",
        lines,
        short_size,
        lambda y: digits(y).replace(".00", "").replace(".0", ""),
        ticks,
    )


FPE = (
    ("ff1", "Sordino FF1", False),
    ("ff1-batch", "Sordino FF1, one of 1,024 records", True),
    ("riffpe-10", "Sordino Riffpe, n = 10", False),
    ("ff1-fpe-crate", "FF1, crate fpe", False),
    ("ff1-ubiq-go", "FF1, ubiq (Go)", False),
    ("ff1-capitalone-go", "FF1, capitalone (Go)", False),
    ("ff3-python", "FF3, ff3 (Python)", False),
    ("ffx-pyffx-python", "FFX, pyffx (Python)", False),
)


def fpe(run: Run) -> str:
    panels = []
    for length in preserving.DIGITS:
        bars = []
        for function, name, each in FPE:
            if ns := Key("fpe/encrypt", function, length, each).time(run):
                bars.append(Bar(name, ns, name.startswith("Sordino")))
        panels.append((f"{length} decimal digits", bars))
    return bar_chart(
        "Format-preserving encryption: time of one encryption, one thread",
        "time, logarithmic",
        panels,
        nanoseconds,
    )


def nanoseconds(ns: float) -> str:
    return time(ns).replace(".00", "").replace(".0 ", " ")


def mldsa(run: Run) -> str:
    single = (
        ("sordino fresh", "Sordino"),
        ("libcrux fresh", "libcrux"),
        ("aws-lc-rs fresh", "AWS-LC"),
        ("circl-go fresh", "circl (Go)"),
        ("fips204 fresh", "fips204"),
        ("ml-dsa fresh", "ml-dsa"),
    )
    batch = (
        ("sordino one key", "Sordino, one key"),
        ("sordino many keys", "Sordino, 32 keys"),
        ("libcrux many keys", "libcrux"),
        ("aws-lc-rs many keys", "AWS-LC"),
        ("circl-go one key", "circl (Go), one key"),
        ("ml-dsa one key", "ml-dsa, one key"),
    )

    def bars(
        group: str, parameter: str, functions: tuple[tuple[str, str], ...], n: int
    ) -> list[Bar]:
        found = [(name, Key(group, function, parameter).time(run)) for function, name in functions]
        return [Bar(name, ns / n, name.startswith("Sordino")) for name, ns in found if ns]

    panels = [
        ("one signature, key as bytes", bars("mldsa/verify", "ML-DSA-87", single, 1)),
        ("each of 32 signatures", bars("mldsa/batch", "ML-DSA-87x32", batch, 32)),
    ]
    return bar_chart(
        "ML-DSA-87: time of one verification, one thread", "time, logarithmic", panels, nanoseconds
    )


def blake3(run: Run) -> str:
    cases = (
        ("100000x64B", "100,000 messages of 64 B"),
        ("256x1024B", "256 messages of 1 KiB"),
        ("10000x0..2048B", "10,000 messages of 0 to 2,048 B"),
        ("1000x65536B", "1,000 messages of 64 KiB"),
    )
    panels = []
    for case, name in cases:
        ours = detected(run, "hash/each", retrieval.BACKENDS, case)
        peer = run.get("hash/each", "blake3", case)
        found = [("Sordino", ours, True), ("crate blake3", peer, False)]
        bars = [
            Bar(who, m.bytes_per_second / 1e9, mine)
            for who, m, mine in found
            if m and m.bytes_per_second
        ]
        panels.append((name, bars))
    return bar_chart(
        "BLAKE3 over lists of messages: throughput, one thread",
        "GB/s, logarithmic",
        panels,
        lambda x: f"{digits(x)} GB/s".replace(".00", "").replace(".0 ", " "),
    )


def all_plots(run: Run) -> dict[str, str]:
    drawn = (
        search_latency,
        search_bytes,
        search_session,
        search_recall,
        pir_throughput,
        fpe,
        mldsa,
        blake3,
    )
    drawn_elsewhere = {"search_lines.svg": served.lines_chart(run, modes.REFERENCE_N), "speed.svg": first.speed(run)}
    return {f"{plot.__name__}.svg": plot(run) for plot in drawn} | drawn_elsewhere | rates.charts(run)
