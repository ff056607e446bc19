"""The first page: ten numbers with the peers' figures from the same run, and the cases in which a peer is faster."""

from __future__ import annotations

from compare import authorization, homomorphic, modes, retrieval, served, signatures, systems
from compare.run import Run
from compare.svg import Ratios, ratio_chart
from compare.table import Key, Row, digits, faster, fastest, markdown, peer, peers, size, time

ABSENT = "not in this run"
TEN_MILLION = "The same, 10,000,000 x 128"
FAISS = (("FAISS flat", "flat"), ("FAISS IVF", "ivf, 16 probes"))
CHAPTERS = (
    ("method", "method"),
    ("search", "private search"),
    ("network", "network"),
    ("retrieval", "private retrieval"),
    ("products", "encrypted products"),
    ("fpe", "FPE"),
    ("signatures", "signatures"),
    ("hashing", "hashing"),
    ("authorization", "authorization"),
    ("kernels", "kernels"),
    ("reference", "reference documents"),
    ("history", "history"),
)


PLOTS = (
    ("search_recall", "Recall of each mode against the bytes that a search moves"),
    ("search_session", "All bytes that a client moves, by its number of searches"),
    ("search_lines", "Where the time of a search with texts goes, on three network links"),
    ("speed", "Comparisons of the table (left of 1, Sordino is slower)"),
)


def against(run: Run, row: Row) -> tuple[str, str]:
    """Sordino's figure, and the figure of each peer with its ratio."""
    found = peers(run, row)
    return ours(run, row), "; ".join(f"{name} {peer(theirs)}" for name, theirs in found.items()) or ABSENT


def ours(run: Run, row: Row) -> str:
    return time(row.ours.time(run)) if isinstance(row.ours, Key) and row.ours.time(run) else ABSENT


def searches(run: Run, n: int) -> tuple[str, str]:
    """Masked and routed searches that bring ten texts, compared with faiss and another private system."""
    found = [(mode, modes.with_texts(run, "clustered", n, mode)) for mode in ("masked", "routed")]
    ours = "; ".join(f"{mode} {time(row['search_ms'] * 1e6)}, recall {row['recall']:.3f}" for mode, row in found if row)
    plain = [(name, run.get("search/plain", f"faiss-python {key}", f"clustered {n}x128")) for name, key in FAISS]
    theirs = [f"{name}, unprotected, {time(m.median_ns)}" for name, m in plain if m]
    if other := systems.hevec(run, n):
        theirs.append(other)
    return ours or ABSENT, "; ".join(theirs) or ABSENT


def session(run: Run) -> tuple[str, str]:
    found = modes.of(run, "clustered", modes.REFERENCE_N)
    each = [(row["mode"], size(modes.session_bytes(row))) for row in found if row["mode"] != "local"]
    whole = next((f"local mode, which downloads everything, {size(row['bytes_once'])}" for row in found if row["mode"] == "local"), ABSENT)
    return "; ".join(f"{mode} {spent}" for mode, spent in each) or ABSENT, whole


def built(run: Run) -> tuple[str, str]:
    found = [(mode, served.of(run, 1_000_000, mode)) for mode in ("masked", "routed")]
    ours = "; ".join(f"{mode} {digits(row['build_s'])} s, server {size(row['server_bytes'])}" for mode, row in found if row)
    peers = [(name, run.get("search/plain", f"faiss-python {key}", "clustered 1000000x128")) for name, key in FAISS]
    theirs = [f"{name} {time(m.more['build_ns'])}, {size(m.more['memory_bytes'])}" for name, m in peers if m and "build_ns" in m.more]
    return ours or ABSENT, "; ".join(theirs) or ABSENT


def throughput(run: Run) -> tuple[str, str]:
    found = {(load["what"], load["clients"]): digits(load["per_second"]) for load in run.loads if load["mode"] == "masked"}
    of = lambda what, clients: found.get((what, clients), ABSENT)  # noqa: E731
    theirs = f"one client {of('requests', 1)} queries a second; whole searches of eight clients, which share the cores, {of('searches', 8)} a second"
    return f"{of('requests', 8)} queries a second", theirs


def scan(run: Run) -> tuple[str, str]:
    best, bandwidth = fastest(run, "pir/answer", retrieval.BACKENDS, "1GiB"), run.get("pir/answer", "read-bandwidth", "1GiB")
    ours = f"{time(best.median_ns)}, {retrieval.throughput(best)}" if best else ABSENT
    theirs = [f"{name} {time(m.median_ns)}" for name, m in retrieval.systems(run) if m.parameter == "1GiB"]
    if hintless := run.get("pir/hintless", "answer", "32768x32768/1"):
        theirs.append(f"Sordino without a hint, records of 32 KiB, {time(hintless.median_ns)}")
    return ours, "; ".join([f"read bandwidth {retrieval.throughput(bandwidth)}", *theirs])


def primitives(run: Run) -> list[Row]:
    """One row of each primitive besides PIR. The note says what the row means."""
    fpe, sign, each, labels = "fpe/encrypt", "mldsa/verify", "hash/each", homomorphic.LABELS
    lists = fastest(run, each, signatures.HASH_BACKENDS, "100000x64B")
    return [
        Row(
            "64 encrypted products of 128 dimensions",
            None,
            homomorphic.row("score", "64x128"),
            [Key("ckks/score", n, "64x128", label=labels[n]) for n in ("fhe", "lattigo-v6-go depth one", "tenseal-python mm")],
            note="The peers' schemes can compute more than products.",
        ),
        Row(
            "FF1, 16 digits",
            None,
            Key(fpe, "ff1", "16"),
            [Key(fpe, "ff1-ubiq-go", "16", label="ubiq (Go)"), Key(fpe, "ff1-fpe-crate", "16", label="crate fpe")],
            note="In a batch, each encryption takes less time.",
        ),
        Row(
            "ML-DSA-87, one verification, key as bytes",
            None,
            Key(sign, "sordino fresh", signatures.SET),
            signatures.keys(sign, ("circl-go fresh", "libcrux fresh", "aws-lc-rs fresh", "ml-dsa fresh"), signatures.SET),
            note="In a batch of one key, each verification takes less time.",
        ),
        Row(
            "BLAKE3, 100,000 messages of 64 B",
            None,
            Key(each, lists.function if lists else "", "100000x64B"),
            signatures.one_thread("100000x64B"),
            note="Single long messages lose by a few percent: see below.",
        ),
        Row(
            "A Cedar decision, uncached, 3 policies",
            None,
            authorization.key("sordino", 3),
            authorization.peers(3),
            note="Sordino finds the policies of a request in an index.",
        ),
    ]


def numbers(run: Run) -> list[list[str]]:
    rows = [
        ("A search that brings ten texts, 100,000 x 128", searches(run, 100_000), "This is the price of hiding the query."),
        ("The same, 1,000,000 x 128", searches(run, 1_000_000), "Routed mode scores some clusters only."),
        *([(TEN_MILLION, searches(run, modes.TEN_MILLION), "An index of this size fits into 24 GiB.")] if modes.TEN_MILLION in modes.sizes(run, "clustered") else []),
        ("All bytes of 100 searches, 100,000 x 128", session(run), "Local mode moves the fewest bytes for many searches, if the client may hold the index."),
        ("Prepared masked queries of eight clients that a server answers on all cores", throughput(run), "Queries that wait share one pass over the index."),
        ("Build with texts, and memory, 1,000,000 x 128", built(run), "Sordino builds on all cores, faiss on one. For faiss, memory is the size of the index, without texts."),
        ("PIR, one answer over 1 GiB", scan(run), "The scan runs near memory speed. Its client first downloads a [hint](../glossary.md); YPIR, InsPIRe and Respire need none, and do more work."),
        *((row.label, against(run, row), row.note) for row in primitives(run)),
    ]
    return [[what, f"**{ours}**", theirs, why] for what, (ours, theirs), why in rows]


def search_ratios(run: Run, n: int) -> list[Ratios]:
    """The times of faiss and HEVEC, divided by the time of a masked or routed search."""
    size = f"clustered {n}x128"
    plain = [(name, m.median_ns) for name, key in FAISS if (m := run.get("search/plain", f"faiss-python {key}", size)) and m.median_ns]
    found = []
    for mode in ("masked", "routed"):
        if texts := modes.with_texts(run, "clustered", n, mode):
            found.append(Ratios(f"{mode}, ten texts, {n:,}", [(f"{name}, unprotected", ns / texts["search_ms"] / 1e6) for name, ns in plain]))
    ids, other = modes.one(run, "clustered", n, "masked"), systems.of(run, n)
    if ids and other:
        found.append(Ratios(f"masked, ids alone, {n:,}", [("HEVEC", systems.taken(other) / ids["search_ms"] / 1e6)]))
    return found


def ratios(run: Run) -> list[Ratios]:
    """Every comparison of the first page."""
    found = [*search_ratios(run, 100_000), *search_ratios(run, 1_000_000)]
    for row in (*retrieval.rows(run), *primitives(run)):
        each = [(name, factor) for name, (_, factor) in peers(run, row).items() if factor]
        found.append(Ratios(row.label.replace(", key as bytes", "").replace(" of 128 dimensions", ""), each))
    return [Ratios(row.name, [(name.partition(" (")[0], factor) for name, factor in row.peers]) for row in found]


def speed(run: Run) -> str:
    return ratio_chart("A peer's time divided by Sordino's", "right of 1: the peer takes longer; left of 1: Sordino takes longer", ratios(run), times)


def times(x: float) -> str:
    return f"{x:.2g}x" if x < 1 else f"{digits(x)}x".replace(".00x", "x").replace(".0x", "x")


def searched(run: Run) -> list[list[str]]:
    """The losses against searches and builds of faiss."""
    found = []
    for n in (100_000, 1_000_000):
        plain = [(name, run.get("search/plain", f"faiss-python {key}", f"clustered {n}x128")) for name, key in FAISS]
        for mode in ("masked", "routed"):
            if row := modes.with_texts(run, "clustered", n, mode):
                cells = [f"{name} {time(m.median_ns)} ({times(m.median_ns / row['search_ms'] / 1e6)})" for name, m in plain if m and m.median_ns]
                found.append([f"a search, {mode} mode with ten texts, {n:,} x 128", f"**{time(row['search_ms'] * 1e6)}**", ", ".join(cells)])
        for mode in ("masked", "routed"):
            if row := served.of(run, n, mode):
                each = [(name, m.more["build_ns"]) for name, m in plain if m and "build_ns" in m.more]
                cells = [f"{name}, one thread, {time(ns)} ({times(ns / row['build_s'] / 1e9)})" for name, ns in each]
                found.append([f"a build, {mode} mode with texts, {n:,} x 128", f"**{digits(row['build_s'])} s** (all threads)", ", ".join(cells)])
    return [row for row in found if row[2]]


def losses(run: Run) -> str:
    rows = [
        *homomorphic.batch(),
        *homomorphic.ring(run),
        *homomorphic.hashing(run),
        *homomorphic.scanned(run),
        *signatures.batches(),
        *signatures.sets(),
        *signatures.hashes(run),
        *signatures.lists(run),
        *authorization.ROWS,
        *retrieval.rows(run),
    ]
    found = [*searched(run), *faster(run, rows)]
    return markdown(["a peer is faster", "Sordino", "the peer"], found) if found else "No peer of this run's tables is faster."


def section(run: Run, machine: str, date: str) -> str:
    return "\n\n".join(
        [
            "# Benchmarks",
            f"This page has the main measurements of one machine ({machine}, {date}). Each measurement is for one thread, unless a row says otherwise. A ratio "
            "above 1x means that the other program takes longer. `100,000 x 128` means 100,000 vectors of 128 dimensions. *Recall* is the share of the ten true nearest vectors that a search finds. [Modes](../guide/modes.md) explains the modes, and [method](method.md) has the rules.",
            markdown(["", "Sordino", "compared with", "what it means"], numbers(run), words=True),
            "\n".join(f"- {what}: ![{name}](../plots/{name}.svg)" for name, what in PLOTS),
            "## Where Sordino loses",
            LOSSES,
            losses(run),
            "## Chapters",
            ", ".join(f"[{title}]({name}.md)" for name, title in CHAPTERS) + ".",
            "`scripts/bench.sh` measures your machine and writes these pages, so do not edit them. It does not write [measurements by hand](by-hand.md). "
            "To run one peer alone, read [the peers' page](../../scripts/peers/README.md).",
        ]
    )


LOSSES = """\
- Unprotected search is faster than masked, routed, open and sealed mode, and its clients download no hint.
- Routed mode is for large indexes. At 100,000 vectors it is slower than masked mode.
- On vectors without clusters, routed and sealed mode do not reach the recall for which their indexes were built.
- The hint of a sealed index can be larger than the index.
- Masked mode scores all vectors, so the time and the bytes of a search grow with the number of vectors.

In the next table, rows that name messages measure BLAKE3. `100000x64B` is a list of 100,000 messages of 64 bytes, and `its kernel` is a function
of the crate `blake3`."""
