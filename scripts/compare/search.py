"""Private search: stages, recall and bytes of every mode, and what the reference states."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from compare import modes, rates, scale, served, systems, texts
from compare.modes import REFERENCE_N, label
from compare.run import Measurement, Run
from compare.stated import PRECISION, PYTHON
from compare.table import digits, markdown, notes, size, time

# For each stage: the milliseconds of the reference's standard search and of its batch search, and the field of
# Sordino's run.
STAGES = (
    ("encrypt the query", "17", "17", "encrypt_ms"),
    ("score all vectors (routed: some clusters; sealed: centroids)", "1,700 to 1,760", "28", "centroid_scores_ms"),
    ("decrypt the scores", "45", "2", "decrypt_ms"),
    ("select buckets", "< 1", "< 1", ""),
    ("fetch buckets", "75", "50", "fetch_ms"),
    ("decrypt buckets or subtract pads, and check", "85", "45", "open_ms"),
    ("score and rank locally", "75", "30", "rank_ms"),
    ("total", "2,000 to 2,060", "170 to 172", "total_ms"),
)


def of(run: Run, n: int, set_name: str) -> list[dict]:
    """The modes whose stages were measured at one size of one set."""
    found = [s for s in run.searches if (s["n"], s["set"]) == (n, set_name)]
    return sorted(found, key=lambda s: modes.rank(label(s)))


def ms(x: float | None) -> str:
    return time(x * 1e6) if x else "-"


def by_mode(
    found: list[dict],
    rows: Iterable[tuple[str, list[str], Callable[[dict], str]]],
    references: list[str],
) -> str:
    """A table with columns for the reference and for Sordino's modes."""
    head = ["", *references, *(label(s) for s in found)]
    return markdown(
        head, [[name, *theirs, *(f"**{cell(s)}**" for s in found)] for name, theirs, cell in rows]
    )


def absent(set_name: str) -> str:
    return f"Absent: the run has no search of {REFERENCE_N:,} `{set_name}` vectors."


def stages(run: Run, set_name: str) -> str:
    found = of(run, REFERENCE_N, set_name)
    if not found:
        return absent(set_name)

    def cell(field: str) -> Callable[[dict], str]:
        return lambda s: ms(s.get(field))

    rows = [(name, [], cell(field)) for name, _, _, field in STAGES if field]
    rows += [
        ("of it in the server", [], lambda s: ms(s["server_ms"])),
        ("buckets (routed: clusters) chosen", [], buckets),
        ("connect, once", [], lambda s: ms(s["connect_ms"])),
    ]
    unlike = [label(s) for s in found if not s["transcripts_identical"]]
    alike = f"The number or sizes of messages differ between queries in these modes: {', '.join(unlike)}." if unlike else "In each mode, all queries have the same number and sizes of messages."
    words = (
        "`connect, once` is the time until a client can search: it reads the manifest, and downloads and prepares the hint. The next to last row names how many of all buckets or "
        "clusters a search reads. The example `private_search` measured this table on indexes of its own, so its figures differ from those above."
    )
    return f"{by_mode(found, rows, [])}\n\n{words} {alike}"


# How much lower the recall of faiss's scan of 8-bit values may be than the recall of masked mode.
LOWER = 0.005


def unprotected(run: Run, n: int, masked: float, routed: float) -> list[tuple[str, str, Measurement]]:
    """faiss's fastest searches that reach the recall of Sordino's: the scan, the inverted lists, and the graph. Each has a short name and one with its
    configuration."""
    found = run.group("search/plain", f"clustered {n}x128")
    least = {"flat": 0.0, "sq8": masked - LOWER, "ivf": routed, "hnsw": routed}
    kinds = {"flat": "FAISS scan", "sq8": "FAISS scan", "ivf": "FAISS IVF", "hnsw": "FAISS HNSW"}
    best: dict[str, tuple[str, str, Measurement]] = {}
    for m in found:
        kind, _, rest = m.function.removeprefix("faiss-python ").partition(", ")
        if kind in kinds and m.median_ns and (m.recall or 0.0) + 1e-9 >= least[kind]:
            short = kinds[kind]
            words = {"flat": "FAISS flat", "sq8": "FAISS, 8 bits"}.get(kind, f"{short}, {rest}")
            if short not in best or m.median_ns < (best[short][2].median_ns or 0.0):
                best[short] = (short, f"{words}, recall {m.recall or 0:.3f}", m)
    return [best[short] for short in dict.fromkeys(kinds.values()) if short in best]


def passes(s: dict) -> str:
    scored = s["mode"] in ("masked", "routed", "open") or s["centroids"] == "encrypted"
    return "1" if scored else "0"


def buckets(s: dict) -> str:
    return f"{s['probes']} of {s['clusters']}" if s["clusters"] else "all rows"


def baseline(run: Run) -> str:
    """faiss on the same distributions: the cost of a search without any protection."""
    found = run.group("search/plain")
    if not found:
        return "Absent: faiss was not run."

    def cell(m: Measurement | None) -> str:
        return f"{time(m.median_ns)}, {m.recall or 0:.3f}" if m else "-"

    sets = sorted({m.parameter for m in found}, key=lambda name: (name.split()[0], int(name.split()[1].split("x")[0])))
    names = sorted({m.function for m in found}, key=lambda name: (name.partition(",")[0], [int(n) for n in re.findall("[0-9]+", name)]))
    rows = [[name.removeprefix("faiss-python "), *(cell(run.get("search/plain", name, of_set)) for of_set in sets)] for name in names]
    return markdown(["median, recall@10", *sets], rows)


def stated_stages(run: Run) -> str:
    """The reference's stages, and Sordino's masked mode."""
    found = [s for s in of(run, REFERENCE_N, "uniform") if s["mode"] == "masked"]

    def cell(field: str) -> Callable[[dict], str]:
        return lambda s: ms(s.get(field)) if field else "in the ranking"

    rows = [(name.replace("all vectors (routed: some clusters; sealed: centroids)", "under encryption"), [f"{standard} ms", f"{batch} ms"], cell(field)) for name, standard, batch, field in STAGES]
    rows += [
        ("recall@10", ["0.95", "0.95"], lambda s: f"{s['recall']:.3f}"),
        ("searches a second", ["0.5", "5.8"], lambda s: digits(1e3 / s["total_ms"])),
        ("homomorphic passes", ["64", "1"], passes),
        ("bytes up", ["1.57 MB"] * 2, lambda s: size(s["bytes_up"])),
        ("bytes down", ["54 to 158 MB (calculated)"] * 2, lambda s: size(s["bytes_down"])),
    ]
    return by_mode(found, rows, ["standard", "batch"])


def section(run: Run) -> str:
    return "\n\n".join(
        [
            "# Private search",
            served.section(run),
            texts.section(run),
            modes.section(run),
            "\n\n".join(f"![{what}](../plots/search_{name}.svg)" for what, name in PLOTS),
            f"## Stages of a search, {REFERENCE_N:,} clustered vectors of 128 dimensions",
            "Each cell is the time of one step of a search. Client and server run in one process, without a network. [How private search works](../search.md) describes the "
            "modes.",
            stages(run, "clustered"),
            rates.section(run),
            systems.section(run),
            "## Without protection",
            "faiss, on one thread, shows what a search costs without privacy. Each cell has the least of five median times of a search, and recall@10. For faiss, numpy drew other vectors "
            "from the distributions of the tables above. A search of inverted lists (`ivf`) reads one list for each probe. A search of the graph (`hnsw`) keeps `efSearch` "
            "candidates. `sq8` stores 8 bits of each value. We build the graph for 100,000 clustered vectors only, because larger builds on one thread take minutes.",
            baseline(run),
            scale.section(run),
            PRECISION,
            PYTHON,
        ]
    )


PLOTS = (("latency", "latency"), ("bytes", "bytes"), ("bytes of a session", "session"), ("recall against bytes", "recall"))


def reference(run: Run) -> str:
    return "\n\n".join(
        [
            "Each row is a step or a property of one search among 100,000 uniform vectors of 128 dimensions. `standard` and `batch` are the reference's two ways "
            "to search, in its tier 2.5, in which AES-256-GCM encrypts stored vectors. Both score the centroids of 64 buckets. `masked` is Sordino's "
            "[masked mode](../search.md), which scores all vectors.",
            stated_stages(run),
            notes(
                "The reference made ten queries, on 12 cores, without a network.",
                "The reference's server sees which 32 to 48 of 64 buckets a client fetches, and their number depends on the query.",
                "In the reference's batch search, the client holds the centroids unencrypted and scores them itself. Its encryption of queries therefore hides nothing from the server.",
                "The reference's 2 ms for decryption are not a measurement: its code decrypts inside the scoring stage.",
            ),
        ]
    )
