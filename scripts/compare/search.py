"""Private search: the reference's stages, recall and estimates beside every mode of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from compare import rates
from compare.run import Run
from compare.stated import DESCRIPTORS
from compare.table import Key, Row, compare, digits, markdown, notes, size, time

REFERENCE_N = 100_000
MODES = ("masked", "routed", "open", "sealed", "local")

# stage, milliseconds of the standard search, of the batch search, our field
STAGES = (
    ("encrypt the query", "17", "17", "encrypt_ms"),
    (
        "score the centroids (ours: masked and open score all vectors)",
        "1,700 to 1,760",
        "28",
        "centroid_scores_ms",
    ),
    ("decrypt the scores", "45", "2", "decrypt_ms"),
    ("select buckets", "< 1", "< 1", ""),
    ("fetch buckets", "75", "50", "fetch_ms"),
    ("open (AES-GCM; masked: the pads)", "85", "45", "open_ms"),
    ("score and rank locally", "75", "30", "rank_ms"),
    ("total", "2,000 to 2,060", "170 to 172", "total_ms"),
)

STAGE_NOTES = (
    "Another machine: the reference ran on an Apple M4 Pro with 12 cores; its row totals are for ten "
    "queries on one set without cluster structure (the `uniform` set here). Neither side contains a network.",
    "Not the same protection. In the reference the buckets that a client fetches are visible to the server, "
    "its 100,000-vector runs used no decoys, and how many buckets it fetches depends on the query. Ours send the "
    "same number of messages of the same sizes for every query, and the server learns none of: the query, the "
    "scores, the rows touched.",
    "The reference's client holds the centroids in the clear and does the homomorphic scoring itself in the "
    "batch search, so that encryption hides nothing from the server there; its parameters (N = 2^14, 497 bits "
    "of modulus) are estimated at 110 bits of security, ours at 137 (MATZOV model, `scripts/param_check.py`).",
    "The reference's 2 ms for decryption in the batch search is not a measurement: its code does that work "
    "inside the scoring stage.",
    "Recall must be read with the mode. A search that reads a part of such a set misses most neighbours: the reference "
    "reads half of all blobs for its 0.95, `sealed` reads the few buckets that its plan can pay for, and misses the "
    "recall asked for on this set; `masked` and `open` score everything, and `routed` nearly all of it where there are no clusters.",
    "What `sealed` sends once is more than the whole index: at this size it is not the mode to choose, and the planner "
    "says so. It is here because the reference has buckets.",
    "In `masked` and `open`, one product scores every vector; in `routed`, one cluster in each of some groups is scored, chosen under "
    "encryption; in `sealed`, fetching is private information "
    "retrieval of a fixed number of buckets; `local` downloads the encrypted index once and asks nothing.",
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


def stages(run: Run, set_name: str) -> str:
    found = of(run, REFERENCE_N, set_name)
    if not found:
        return f"Absent: the run has no search of {REFERENCE_N:,} `{set_name}` vectors."

    def cell(field: str) -> Callable[[dict], str]:
        return lambda s: ms(s.get(field)) if field else "in the ranking"

    rows = [
        (name, [f"{standard} ms", f"{batch} ms"], cell(field))
        for name, standard, batch, field in STAGES
    ]
    rows += [
        ("of it in the server", ["-", "-"], lambda s: ms(s["server_ms"])),
        ("recall@10", ["0.95", "0.95"], lambda s: f"{s['recall']:.3f}"),
        ("searches a second (1 / total)", ["0.5", "5.8"], lambda s: digits(1e3 / s["total_ms"])),
        ("homomorphic passes", ["64", "1"], passes),
        ("buckets read", ["32 to 48 of 64", "32 to 48 of 64"], buckets),
        ("bytes up", ["not stated", "not stated"], lambda s: size(s["bytes_up"])),
        ("bytes down", ["54 to 158 MB (calculated)"] * 2, lambda s: size(s["bytes_down"])),
        ("bytes once", ["not stated"] * 2, lambda s: size(s["bytes_once"])),
        ("to download everything instead", ["-", "-"], lambda s: size(s["bytes_download_all"])),
        ("connect, once", ["-", "-"], lambda s: ms(s["connect_ms"])),
        ("build, once", ["-", "-"], lambda s: f"{s['build_s']:.1f} s"),
        (
            "all queries' messages alike",
            ["no", "no"],
            lambda s: "yes" if s["transcripts_identical"] else "NO",
        ),
    ]
    return by_mode(found, rows, ["reference, standard", "reference, batch"])


def passes(s: dict) -> str:
    scored = s["mode"] in ("masked", "routed", "open") or s["centroids"] == "encrypted"
    return "1" if scored else "0"


def buckets(s: dict) -> str:
    return f"{s['probes']} of {s['clusters']}" if s["clusters"] else "all rows"


def growth(run: Run) -> str:
    """Every size and mode of the run."""
    found = sorted(run.searches, key=lambda s: (s["set"], s["n"], label(s)))
    rows = [
        [
            f"{s['set']} {s['n']:,} x {s['dim']}, {label(s)}",
            f"{s['recall']:.3f}",
            ms(s["client_ms"]),
            ms(s["server_ms"]),
            size(s["bytes_up"]),
            size(s["bytes_down"]),
            size(s["bytes_once"]),
            size(s["bytes_download_all"]),
        ]
        for s in found
    ]
    head = [
        "set and mode",
        "recall@10",
        "client",
        "server",
        "up",
        "down",
        "once",
        "download everything",
    ]
    return markdown(head, rows)


def baseline(run: Run) -> str:
    """faiss on the same sizes: what a search costs without any protection."""
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


def targets(run: Run) -> str:
    """The reference's closing tables: its two tiers, its estimates, and ours."""
    found = of(run, REFERENCE_N, "uniform")
    if not found:
        return "Absent: no search of this size in the run."
    rows = [
        (
            "latency, all stages",
            ["66 ms (108 ms baseline)", "172 ms (2.06 s standard)"],
            lambda s: ms(s["total_ms"]),
        ),
        (
            "searches a second",
            ["15.1 (9.3 baseline)", "5.8 (0.5 standard)"],
            lambda s: digits(1e3 / s["total_ms"]),
        ),
        ("recall@10", ["not stated as recall", "0.95"], lambda s: f"{s['recall']:.3f}"),
        ("homomorphic operations", ["10 (20 baseline)", "1 (64 standard)"], passes),
        ("query up", ["1.57 MB ciphertext", "1.57 MB ciphertext"], lambda s: size(s["bytes_up"])),
        (
            "peak memory for 1,000 vectors",
            ["about 50 MB", "-"],
            lambda s: size(s["peak_memory_bytes"] and s["peak_memory_bytes"] / s["n"] * 1e3),
        ),
    ]
    return by_mode(found, rows, ["reference, tier 1", "reference, tier 2.5"])


PRIVACY = (
    (
        "query",
        "encrypted (but see above: scored by the client)",
        "hidden",
        "hidden",
        "hidden",
        "hidden",
        "never sent",
    ),
    (
        "which part of the index",
        "visible, blurred by decoys",
        "hidden: all rows are read",
        "hidden: all groups are read",
        "hidden: all rows are read",
        "hidden by PIR",
        "hidden: one download",
    ),
    (
        "stored vectors",
        "AES-256-GCM",
        "one-time pad by a PRF",
        "one-time pad by a PRF",
        "visible to the server",
        "AES-256-GCM",
        "AES-256-GCM",
    ),
    (
        "centroids",
        "in the clear at the client",
        "none",
        "sealed; downloaded once",
        "none",
        "sealed, or quantised at the server",
        "none",
    ),
    ("scores", *["not returned"] * 5, "not sent"),
    (
        "number and sizes of messages",
        "depend on the query",
        "constant",
        "constant",
        "constant",
        "constant",
        "constant",
    ),
)

OVERHEAD = (
    ("encryption of the query", "5 ms", "encrypt_ms"),
    ("homomorphic scoring", "28 ms", "centroid_scores_ms"),
    ("AES decryption (masked: the pads)", "45 ms for about 50,000 blobs", "open_ms"),
)


def overhead(run: Run) -> str:
    found = of(run, REFERENCE_N, "uniform")
    if not found:
        return "Absent: no search of this size in the run."
    rows = [(name, [theirs], lambda s, f=field: ms(s.get(f))) for name, theirs, field in OVERHEAD]
    rows.append(("decoys", ["2x the bytes"], lambda _: "none"))
    rows.append(
        (
            "second copies",
            ["2x storage"],
            lambda s: "in the bucket's free slots" if s["mode"] == "sealed" else "none",
        )
    )
    return by_mode(found, rows, ["reference"])


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


def two_stages(run: Run) -> str:
    """The reference's tier 1: hashes first, then encrypted products of ten candidates."""
    rows = [
        Row(
            "hash search, 200 candidates of 100,000",
            5e6,
            Key("lsh/search", "200-candidates-exact-top10", "128"),
            note="(with the exact scores of the 200)",
        ),
        Row("encrypt the query", 5e6, Key("ckks/encrypt", "row", "64x128")),
        Row(
            "products of 10 candidates (12 cores in the reference)",
            56e6,
            Key("ckks/score", "row", "64x128"),
            note="(64 candidates, one thread)",
        ),
        Row(
            "products of 20 candidates",
            98e6,
            Key("ckks/score", "row", "64x128"),
            note="(64 candidates, one thread)",
        ),
        Row("decrypt at the client", 3e6, Key("ckks/decrypt", "row", "64x128"), note="(64 scores)"),
        Row(
            "total, 10 candidates",
            66e6,
            "Sordino has no such protocol: hashes shown to a server leak the query",
        ),
        Row("total, 20 candidates", 108e6, "as above"),
        Row(
            "with network and embedding",
            134e6,
            "an estimate of the reference, not a measurement; searches over loopback are under `Over a network`",
        ),
    ]
    return compare(run, rows)


# Stated, not measured by this run: the vectors come from a model that is no part of the project.
SENTENCES = """\
Embeddings of sentences lie closer together than either set above: nearly all cosines of this one are between .71 and .89. It is
39,328 definitions of Open English WordNet by the transformer multilingual-e5-small in four bits (384 dimensions), with 200 short
queries that are not definitions; measured on 23 November 2026, with indexes of k = 10. `examples/definitions` with `--recall`
measures the like on WordNet's definitions with all-MiniLM-L6-v2.

| 39,328 definitions x 384 | recall@10 |
| --- | ---: |
| open | .9965 |
| masked | .9955 |
| local | .9805 |"""


def section(run: Run) -> str:
    return "\n\n".join(
        [
            "## Private search",
            f"### Stages and recall, {REFERENCE_N:,} uniform vectors of 128 dimensions",
            stages(run, "uniform"),
            notes(*STAGE_NOTES),
            "The reference lists the recall of ten queries one by one (1.0 for seven of them, 0.9, 0.8, 0.8); the "
            "example averages 100 queries and prints the mean, so those ten rows have no counterpart.",
            f"### The same on {REFERENCE_N:,} clustered vectors",
            "The reference has no such table; real embeddings have clusters, its set has none.",
            stages(run, "clustered"),
            "### All sizes",
            "![latency](plots/search_latency.svg)\n\n![bytes](plots/search_bytes.svg)\n\n![bytes of a session](plots/search_session.svg)\n\n![recall against bytes](plots/search_recall.svg)",
            growth(run) if run.searches else "Absent: the run has no searches.",
            rates.section(run),
            "### Real sentences",
            SENTENCES,
            "### Image descriptors",
            DESCRIPTORS,
            "### Whole searches, timed by Criterion",
            criterion_queries(run),
            "### Without protection",
            "faiss on one thread: the price of no privacy at all. The same distributions, drawn by numpy: not the same vectors.",
            baseline(run),
            "### What is protected",
            markdown(
                ["", "reference, tier 2.5", *MODES],
                PRIVACY,
                words=True,
            ),
            "### What privacy costs",
            overhead(run),
            "### Hashes, then encrypted products (the reference's tier 1)",
            compare_note(),
            two_stages(run),
            "### The reference's summary rows",
            targets(run),
            notes(
                "Rows of three nodes and of the Python port (QPS 0.15, 5 s) have no counterpart: they are estimates. One server "
                "under load, with p50 and p99, is below, under `Over a network`.",
                "Peak memory is of the whole process: owner, server and client, and every mode measured before it.",
            ),
        ]
    )


def compare_note() -> str:
    return (
        "The server of that tier sees each stored vector and the query's hash, which is a sketch of the query; masking "
        "it with a session key keeps its distances. Sordino measures the parts, and builds no such search."
    )
