"""Other systems of private search: HEVEC as it was measured in this run, and what others report."""

from __future__ import annotations

from compare import modes, served
from compare.run import Measurement, Run
from compare.table import digits, markdown, notes, size, time

GROUP = "systems/search"
# What the systems' authors report for their own machines: no ratio is possible.
REPORTED = (
    ("Opaque (August 2026)", "SIFT, 1,000,000 x 128", "357 ms, with all protections 409 to 652 ms; recall 0.984 to 1", "8 cores of a cloud", "the clusters, among decoys"),
    ("Compass (OSDI 2025)", "millions of vectors", "about a second; its repository's slow network has 400 Mbit/s and a delay of 40 ms", "a server and a client", "nothing"),
    ("Pacmann (ICLR 2025)", "SIFT, 1,000,000 x 128", "1.06 s, recall 0.94 to 0.95, 29.3 MB a query", "one machine of its authors", "the vectors"),
    ("Tiptoe (SOSP 2023)", "360 million web pages", "a query takes 2.7 s, 56.9 MiB and 145 core-seconds", "45 servers", "the vectors"),
    ("Wally (Apple, arXiv 2406.06761, version 6)", "3.2 million vectors", "7 to 28 times Tiptoe's queries a second", "one server; its abstract states no hardware", "clusters, among fake queries"),
    ("enVector (product, June 2026, in the public repository of its client rune)", "a store of memories of unstated size", "367 ms to search the memories, 4 to 5 s to insert one", "a cloud service on unstated hardware", "nothing, if queries are encrypted"),
)


NAMES = {"hevec": "HEVEC", "opaque": "Opaque"}


def of(run: Run, n: int) -> Measurement | None:
    return run.get(GROUP, "hevec", f"{n}x128")


def taken(m: Measurement) -> float:
    """The processor time of a search on its one thread, which other programs lengthen less than the clock's."""
    return m.more.get("cpu_ns", m.median_ns)


def columns(run: Run) -> list[tuple[str, dict]]:
    """The other systems and masked mode, at each size that another system was measured at."""
    found = []
    for n in sorted({int(m.parameter.split("x")[0]) for m in run.group(GROUP)}):
        for m in run.group(GROUP, f"{n}x128"):
            values = m.more | {"whole": taken(m), "insert": m.more.get("insert_ns")}
            if "encrypt_ns" in m.more:
                values["client"] = m.more["encrypt_ns"] + m.more["decrypt_ns"]
                values["server"] = taken(m) - values["client"]
            found.append((f"{NAMES.get(m.function, m.function)}, {n:,}", values))
        ours, process = modes.one(run, "clustered", n, "masked"), served.of(run, n, "masked")
        if ours:
            row = {"whole": ours["search_ms"] * 1e6, "server": ours["server_ms"] * 1e6, "client": ours["client_ms"] * 1e6, "recall": ours["recall"]}
            row |= {name: ours[name] for name in ("bytes_up", "bytes_down", "bytes_once")}
            memory = process["server_bytes"] if process else None
            found.append((f"masked mode, {n:,}", row | {"server_bytes": memory, "insert": ours["build_s"] * 1e9 / n}))
    return found


ROWS = (
    ("a search", "whole", time),
    ("of it in the server", "server", time),
    ("of it in the client", "client", time),
    ("recall@10", "recall", lambda x: f"{x:.3f}"),
    ("bytes up", "bytes_up", size),
    ("bytes down", "bytes_down", size),
    ("bytes once, up (HEVEC) or down", "bytes_once", size),
    ("server's memory", "server_bytes", size),
    ("time to insert a vector, by the clock", "insert", time),
)


def measured(run: Run) -> str:
    found = columns(run)
    if not found:
        return "Absent: this run did not measure HEVEC and Opaque."

    def cell(name: str, values: dict, key: str, show) -> str:
        value = values.get(key)
        text = show(value) if value is not None else "-"
        return f"**{text}**" if name.startswith("masked") else text

    rows = [[title, *(cell(name, values, key, show) for name, values in found)] for title, key, show in ROWS]
    return markdown(["128 dimensions", *(name for name, _ in found)], rows)


def hevec(run: Run, n: int) -> str:
    """HEVEC's time, for the first page."""
    m, ids = of(run, n), modes.one(run, "clustered", n, "masked")
    ratio = f" ({digits(taken(m) / ids['search_ms'] / 1e6)}x of masked mode's ids alone)" if m and ids else ""
    return f"HEVEC, ids alone, {time(taken(m))}{ratio}" if m else ""


def section(run: Run) -> str:
    return "\n\n".join(
        [
            "## Other private systems",
            "We built HEVEC and Opaque from source. HEVEC, Opaque and masked mode ran on one thread, without a network, and found only ids. Each column is a system and its number "
            "of vectors.",
            measured(run),
            notes(
                "Search times of HEVEC and Opaque are processor times; times of masked mode are by the clock. If a system ran several times, its fastest run counts.",
                "HEVEC (arXiv 2506.17336) hides the same data from the server as masked mode. We measured HEVEC with encrypted queries. HEVEC's time does not depend on its vectors, which were uniform.",
                "Opaque ran with the configuration of its README. Opaque's server sees the fetched clusters, among decoys. Opaque does not report its bytes.",
                "Advantages of HEVEC: clients keep no hint, and the server packs new rows without a key. Advantages of masked mode: clients check scores, and many readers can have keys.",
            ),
            "The next table has figures that authors report for their own machines. Of these systems, we ran only Opaque, above:",
            markdown(["", "set", "reported", "machine", "what the server sees"], [list(row) for row in REPORTED], words=True),
        ]
    )
