"""Private search: stages, recall and bytes of every mode, and what the reference states."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from compare import rates, texts
from compare.run import Run
from compare.stated import DESCRIPTORS, PRECISION, PYTHON, SENTENCES
from compare.table import Key, Row, digits, markdown, notes, size, stated_there, time

REFERENCE_N = 100_000
MODES = ("masked", "routed", "open", "sealed", "local")

# stage, milliseconds of the reference's standard search, of its batch search, our field
STAGES = (
    ("encrypt the query", "17", "17", "encrypt_ms"),
    ("score all vectors (sealed: centroids)", "1,700 to 1,760", "28", "centroid_scores_ms"),
    ("decrypt the scores", "45", "2", "decrypt_ms"),
    ("select buckets", "< 1", "< 1", ""),
    ("fetch buckets", "75", "50", "fetch_ms"),
    ("open (AES-GCM; masked: the pads)", "85", "45", "open_ms"),
    ("score and rank locally", "75", "30", "rank_ms"),
    ("total", "2,000 to 2,060", "170 to 172", "total_ms"),
)


def label(s: dict) -> str:
    """The name of a mode; sealed mode has two ways to find the buckets."""
    ways = {
        "downloaded": "sealed",
        "encrypted": "sealed, encrypted routing",
    }
    return ways.get(s["centroids"], "sealed") if s["mode"] == "sealed" else s["mode"]


def of(run: Run, n: int, set_name: str) -> list[dict]:
    """The modes measured at one size of one set."""
    found = [s for s in run.searches if (s["n"], s["set"]) == (n, set_name)]
    return sorted(
        found, key=lambda s: (MODES.index(s["mode"]) if s["mode"] in MODES else 9, label(s))
    )


def ms(x: float | None) -> str:
    return time(x * 1e6) if x else "-"


def by_mode(
    found: list[dict],
    rows: Iterable[tuple[str, list[str], Callable[[dict], str]]],
    references: list[str],
) -> str:
    """A table whose columns are the reference's and then our modes."""
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
        ("recall@10", [], lambda s: f"{s['recall']:.3f}"),
        ("buckets read", [], buckets),
        ("bytes up", [], lambda s: size(s["bytes_up"])),
        ("bytes down", [], lambda s: size(s["bytes_down"])),
        ("bytes once", [], lambda s: size(s["bytes_once"])),
        ("connect, once", [], lambda s: ms(s["connect_ms"])),
        ("build, once", [], lambda s: f"{s['build_s']:.1f} s"),
    ]
    unlike = [label(s) for s in found if not s["transcripts_identical"]]
    alike = f"Messages differ between queries: {', '.join(unlike)}." if unlike else "Messages of all queries are alike."
    return "\n\n".join([by_mode(found, rows, []), alike])


def passes(s: dict) -> str:
    scored = s["mode"] in ("masked", "routed", "open") or s["centroids"] == "encrypted"
    return "1" if scored else "0"


def buckets(s: dict) -> str:
    return f"{s['probes']} of {s['clusters']}" if s["clusters"] else "all rows"


def growth(run: Run) -> str:
    """Every mode at every size but the one of the stages."""
    found = sorted((s for s in run.searches if s["n"] != REFERENCE_N), key=lambda s: (s["set"], s["n"], label(s)))
    if not found:
        return "Absent: the run has no other sizes."
    rows = [
        [
            f"{s['set']} {s['n']:,} x {s['dim']}, {label(s)}",
            f"{s['recall']:.3f}",
            ms(s["client_ms"]),
            ms(s["server_ms"]),
            size(s["bytes_up"]),
            size(s["bytes_down"]),
            size(s["bytes_once"]),
        ]
        for s in found
    ]
    return markdown(["set and mode", "recall@10", "client", "server", "up", "down", "once"], rows)


def downloads(run: Run) -> str:
    """What a client would download to have the whole index."""
    found = sorted({(s["n"], s["bytes_download_all"]) for s in run.searches})
    return f"To download everything takes {', '.join(f'{size(b)} for {n:,} vectors' for n, b in found)}." if found else ""


def baseline(run: Run) -> str:
    """The cost of a faiss search on the same sizes, without any protection."""
    found = sorted(
        run.group("search/plain"),
        key=lambda m: (
            m.parameter.split()[0],
            int(m.parameter.split()[1].split("x")[0]),
            m.function,
        ),
    )
    if not found:
        return "Absent: faiss was not run."
    rows = [[m.parameter, m.function, time(m.median_ns), "-" if m.recall is None else f"{m.recall:.3f}"] for m in found]
    return markdown(["set", "index", "median", "recall@10"], rows)


def stated_stages(run: Run) -> str:
    """The reference's stages, and masked mode of ours."""
    found = [s for s in of(run, REFERENCE_N, "uniform") if s["mode"] == "masked"]

    def cell(field: str) -> Callable[[dict], str]:
        return lambda s: ms(s.get(field)) if field else "in the ranking"

    rows = [(name, [f"{standard} ms", f"{batch} ms"], cell(field)) for name, standard, batch, field in STAGES]
    rows += [
        ("recall@10", ["0.95", "0.95"], lambda s: f"{s['recall']:.3f}"),
        ("searches a second", ["0.5", "5.8"], lambda s: digits(1e3 / s["total_ms"])),
        ("homomorphic passes", ["64", "1"], passes),
        ("buckets read", ["32 to 48 of 64"] * 2, buckets),
        ("bytes up", ["1.57 MB"] * 2, lambda s: size(s["bytes_up"])),
        ("bytes down", ["54 to 158 MB (calculated)"] * 2, lambda s: size(s["bytes_down"])),
        ("all queries' messages alike", ["no", "no"], lambda s: "yes" if s["transcripts_identical"] else "NO"),
        ("decoys; second copies", ["2x the bytes; 2x storage"] * 2, lambda _: "none"),
    ]
    return by_mode(found, rows, ["standard", "batch"])


# Tier 1 and 2.5 of the reference
TIERS = (
    ("latency, all stages", "66 ms (108 ms baseline)", "172 ms (2.06 s standard)"),
    ("searches a second", "15.1 (9.3 baseline)", "5.8 (0.5 standard)"),
    ("recall@10", "not stated as recall", "0.95"),
    ("homomorphic operations", "10 (20 baseline)", "1 (64 standard)"),
    ("query up", "1.57 MB", "1.57 MB"),
    ("peak memory for 1,000 vectors", "about 50 MB", "-"),
    ("query", "its hash is visible", "encrypted, but the client scores it"),
    ("which part of the index", "visible", "visible, blurred by decoys"),
    ("stored vectors", "visible", "AES-256-GCM"),
    ("number and sizes of messages", "-", "depend on the query"),
)


def criterion_queries(run: Run) -> str:
    """Whole searches and builds that Criterion timed: no stages, but an interval."""
    found = [*run.group("search/query"), *run.group("search/build")]
    found.sort(key=lambda m: (m.group != "search/query", m.parameter, m.median_ns or 0.0))
    rows = [
        [
            f"{'build' if m.group == 'search/build' else 'search'}, {m.parameter}, {m.function}",
            f"**{time(m.median_ns)}**",
            f"{time(m.low_ns)} to {time(m.high_ns)}",
        ]
        for m in found
    ]
    head = ["clustered set", "Sordino", "95 % interval of the median"]
    return markdown(head, rows) if rows else "Absent: not in this run."


def two_stages() -> list[Row]:
    """The reference's tier 1: hashes first, then encrypted products of ten candidates."""
    score = Key("ckks/score", "row", "64x128")
    return [
        Row("hash search, 200 candidates of 100,000", 5e6, Key("lsh/search", "200-candidates-exact-top10", "128"), note="(exact scores too)"),
        Row("encrypt the query", 5e6, Key("ckks/encrypt", "row", "64x128")),
        Row("products of 10 candidates, 12 cores", 56e6, score, note="(64, one thread)"),
        Row("products of 20 candidates, 12 cores", 98e6, score, note="(64, one thread)"),
        Row("decrypt at the client", 3e6, Key("ckks/decrypt", "row", "64x128"), note="(64 scores)"),
        Row("total, 10 candidates", 66e6, "Sordino has no such protocol"),
        Row("total, 20 candidates", 108e6, "as above"),
        Row("with network and embedding, estimated", 134e6, "as above"),
    ]


def peak(run: Run) -> str:
    """Memory for each 1,000 vectors of the largest uniform set."""
    found = [s for s in of(run, REFERENCE_N, "uniform") if s.get("peak_memory_bytes")]
    if not found:
        return "Peak memory: absent, not in this run."
    return (
        f"The whole process peaks at {size(found[0]['peak_memory_bytes'] / found[0]['n'] * 1e3)} for each 1,000 vectors: owner, server and "
        "client, and every mode measured before."
    )


def section(run: Run) -> str:
    return "\n\n".join(
        [
            "# Private search",
            texts.section(run),
            f"## Stages and recall, {REFERENCE_N:,} vectors of 128 dimensions",
            "Client and server are one process, without a network. `masked` and `open` score everything, and `sealed` reads a fixed number of "
            "buckets by PIR. `local` downloads the encrypted index once and asks nothing. Here `sealed` sends more once than the whole index "
            "has, so the planner advises against it.",
            "### Uniform",
            stages(run, "uniform"),
            "A search that reads a part of such a set misses most neighbours: `sealed` misses the recall asked for.",
            "### Clustered",
            stages(run, "clustered"),
            peak(run),
            "## Other sizes",
            "\n\n".join(f"![{what}](../plots/search_{name}.svg)" for what, name in PLOTS),
            growth(run),
            downloads(run),
            rates.section(run),
            SENTENCES,
            DESCRIPTORS,
            PRECISION,
            "## Whole searches, timed by Criterion",
            criterion_queries(run),
            "## Without protection",
            "faiss on one thread is the price of no privacy. numpy draws the same distributions, not the same vectors.",
            baseline(run),
            PYTHON,
        ]
    )


PLOTS = (("latency", "latency"), ("bytes", "bytes"), ("bytes of a session", "session"), ("recall against bytes", "recall"))


def reference(run: Run) -> str:
    return "\n\n".join(
        [
            stated_stages(run),
            notes(
                "An Apple M4 Pro with 12 cores, ten queries on one uniform set, without a network.",
                "Its server sees which buckets a client fetches, and their number depends on the query. Its runs of 100,000 vectors used no "
                "decoys. Our server learns neither query, scores nor rows. Every query sends the same messages.",
                "In the batch search its client holds the centroids in the clear and scores them itself, so encryption hides nothing from the "
                "server. Its parameters (N = 2^14, 497 bits) have about 110 bits of security, ours 137 (MATZOV, `scripts/param_check.py`).",
                "Its 2 ms for decryption is no measurement: its code does that work inside the scoring stage.",
                "It reads half of all blobs for its 0.95. It lists the recall of ten queries (1.0 for seven, 0.9, 0.8, 0.8), where we give the mean of 100.",
            ),
            markdown(["summary", "tier 1", "tier 2.5"], TIERS, words=True),
            "Its tier 1 shows the server each stored vector and the query's hash, which is a sketch of the query. A mask by a session key "
            "keeps its distances. Sordino measures the parts and builds no such search:",
            stated_there(run, two_stages()),
        ]
    )
