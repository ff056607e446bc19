"""The first page: ten numbers with the peers' figures from the same run, and the cases in which a peer is faster."""

from __future__ import annotations

from compare import authorization, homomorphic, modes, retrieval, search, served, signatures, systems
from compare.run import Measurement, Run
from compare.svg import Ratios, ratio_chart
from compare.table import Key, Row, detected, digits, faster, markdown, notes, peer, peers, size, time

ABSENT = "not in this run"
TEN_MILLION = "The same, 10,000,000 x 128"
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


def texts(run: Run, n: int) -> dict[str, dict]:
    """The searches between two processes that bring ten texts, by mode."""
    return {mode: row for mode in ("masked", "routed") if (row := served.of(run, n, mode))}


def told(found: dict[str, dict]) -> str:
    """The time and the recall of each mode."""
    return "; ".join(f"{mode} {time(row['search_ms'] * 1e6)}, recall {row['recall']:.3f}" for mode, row in found.items()) or ABSENT


def ways(found: dict[str, dict]) -> str:
    """How the searches fetch their texts."""
    each = dict.fromkeys(modes.fetched(row["fetch"]) for row in found.values())
    return f" ({', '.join(each)})" if each else ""


def plain(run: Run, n: int) -> list[tuple[str, str, Measurement]]:
    """faiss's searches with the recall of this run's searches that bring ten texts."""
    found = texts(run, n)
    recall = {mode: row["recall"] for mode, row in found.items()}
    return search.unprotected(run, n, recall.get("masked", 1.0), recall.get("routed", modes.PLANNED))


def searches(run: Run, n: int) -> tuple[str, str]:
    """Masked and routed searches that bring ten texts, compared with faiss and another private system."""
    theirs = [f"{name}, unprotected, {time(m.median_ns)}" for _, name, m in plain(run, n)]
    if other := systems.hevec(run, n):
        theirs.append(other)
    return told(texts(run, n)) + ways(texts(run, n)), "; ".join(theirs) or ABSENT


def real(run: Run) -> list[tuple[str, tuple[str, str], str]]:
    """The row of a set of real vectors, if the run has one."""
    item = modes.real(run)
    found = {row["mode"]: row for row in (modes.of(run, *item) if item else []) if row["mode"] in ("masked", "routed")}
    if not found:
        return []
    row = next(iter(found.values()))
    slower = found.get("routed", row)["search_ms"] > row["search_ms"]
    what = f"On these vectors, routed mode is {'slower' if slower else 'not slower'} than masked mode."
    return [(f"A search for ids alone in one process, real vectors ({modes.title(row)}), {row['n']:,} x {row['dim']}", (told(found), "not compared"), what)]


def session(run: Run) -> tuple[str, str]:
    found = modes.of(run, "clustered", modes.REFERENCE_N)
    each = [(row["mode"], size(modes.session_bytes(row))) for row in found if row["mode"] != "local"]
    whole = next((f"local mode, which downloads everything, {size(row['bytes_once'])}" for row in found if row["mode"] == "local"), ABSENT)
    return "; ".join(f"{mode} {spent}" for mode, spent in each) or ABSENT, whole


def built(run: Run) -> tuple[str, str]:
    found = [(mode, served.of(run, 1_000_000, mode)) for mode in ("masked", "routed")]
    ours = "; ".join(f"{mode} {digits(row['build_s'])} s, server {size(row['server_bytes'])}" for mode, row in found if row)
    theirs = [f"{name} {time(m.more['build_ns'])}, {size(m.more['memory_bytes'])}" for name, _, m in plain(run, 1_000_000) if "build_ns" in m.more]
    return ours or ABSENT, "; ".join(theirs) or ABSENT


def throughput(run: Run) -> tuple[str, str]:
    found = {(load["what"], load["clients"]): digits(load["per_second"]) for load in run.loads if load["mode"] == "masked"}
    of = lambda what, clients: found.get((what, clients), ABSENT)  # noqa: E731
    theirs = f"one client {of('requests', 1)} queries a second; whole searches of eight clients, which share the cores, {of('searches', 8)} a second"
    return f"{of('requests', 8)} queries a second", theirs


def scan(run: Run) -> tuple[str, str]:
    best, bandwidth = retrieval.answered(run, "1GiB"), run.get("pir/answer", "read-bandwidth", "1GiB")
    ours = f"{time(best.median_ns)}, {retrieval.throughput(best)}" if best else ABSENT
    theirs = [f"{name} {time(m.median_ns)}" for name, m in retrieval.systems(run) if m.parameter == "1GiB"]
    if hintless := run.get("pir/hintless", "answer", "32768x32768/1"):
        theirs.append(f"Sordino without a hint, records of 32 KiB, {time(hintless.median_ns)}")
    return ours, "; ".join([f"read bandwidth {retrieval.throughput(bandwidth)}", *theirs])


def unprepared(run: Run) -> Row:
    """FF1 as the peers use it: each call prepares the length."""
    fpe = "fpe/encrypt"
    plan = Key(fpe, "ff1", "16").time(run)
    return Row(
        "FF1, 16 digits, each call prepares the length",
        None,
        Key(fpe, "ff1-no-plan", "16"),
        [Key(fpe, "ff1-ubiq-go", "16", label="ubiq (Go)"), Key(fpe, "ff1-fpe-crate", "16", label="crate fpe")],
        note=f"With a plan, which prepares the length once, Sordino takes {time(plan)}." if plan else "In a batch, each encryption takes less time.",
    )


def primitives(run: Run) -> list[Row]:
    """One row of each primitive besides PIR. The note says what the row means."""
    sign, each, labels = "mldsa/verify", "hash/each", homomorphic.LABELS
    lists = detected(run, each, signatures.HASH_BACKENDS, "100000x64B")
    return [
        Row(
            "64 encrypted products of 128 dimensions",
            None,
            homomorphic.row("score", "64x128"),
            [Key("ckks/score", n, "64x128", label=labels[n]) for n in ("fhe", "lattigo-v6-go depth one", "tenseal-python mm")],
            note="The peers' schemes can compute more than products.",
        ),
        unprepared(run),
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
            note="The list has one length.",
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
        ("A search between two processes that brings ten texts, 100,000 x 128", searches(run, 100_000), "This is the price of hiding the query. The server has one core, and the client all."),
        ("The same, 1,000,000 x 128", searches(run, 1_000_000), "Routed mode scores some clusters only."),
        *([(TEN_MILLION, searches(run, modes.TEN_MILLION), "An index of this size fits into 24 GiB.")] if texts(run, modes.TEN_MILLION) else []),
        *real(run),
        ("All bytes of 100 searches for ids alone, 100,000 x 128", session(run), "Local mode moves the fewest bytes for many searches, if the client may hold the index."),
        ("Prepared masked queries of eight clients that a server answers on all cores", throughput(run), "Queries that wait share one pass over the index."),
        ("Build with texts, and memory, 1,000,000 x 128", built(run), "Sordino builds on all cores, faiss on one. For faiss, memory is the size of the index, without texts."),
        ("PIR, one answer over 1 GiB", scan(run), "Its client first downloads a [hint](../glossary.md); YPIR, InsPIRe and Respire need none, and do more work."),
        *((row.label, against(run, row), row.note) for row in primitives(run)),
    ]
    return [[what, f"**{ours}**", theirs, why] for what, (ours, theirs), why in rows]


def search_ratios(run: Run, n: int) -> list[Ratios]:
    """The times of faiss and HEVEC, divided by the time of a masked or routed search."""
    theirs = [(name, m.median_ns or 0.0) for name, _, m in plain(run, n)]
    found = [
        Ratios(f"{mode}, ten texts, {n:,}", [(f"{name}, unprotected", ns / row["search_ms"] / 1e6) for name, ns in theirs])
        for mode, row in texts(run, n).items()
    ]
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
    """The losses against searches and builds of faiss, and against the bytes of another private system."""
    found = []
    for n in (100_000, 1_000_000):
        theirs = plain(run, n)
        for mode, row in texts(run, n).items():
            found.append([f"a search, {mode} mode with ten texts, {n:,} x 128", f"**{time(row['search_ms'] * 1e6)}**", compared(theirs, row["search_ms"])])
        found += [*local(run, n), *built_slower(run, n, theirs), *uploaded(run, n)]
    return [row for row in found if row[2]]


def compared(theirs: list[tuple[str, str, Measurement]], ms: float) -> str:
    """The searches that take less than `ms`, with the quotient of both times."""
    faster = [(name, m.median_ns / ms / 1e6) for _, name, m in theirs if m.median_ns and m.median_ns < ms * 1e6]
    return "; ".join(f"{name}, {time(x * ms * 1e6)} ({times(x)})" for name, x in faster)


def local(run: Run, n: int) -> list[list[str]]:
    """Local mode's search for ids, compared with faiss's searches that reach its recall."""
    row = modes.one(run, "clustered", n, "local")
    if not row:
        return []
    theirs = search.unprotected(run, n, row["recall"], row["recall"])
    return [[f"a search, local mode, ids alone, {n:,} x 128", f"**{time(row['search_ms'] * 1e6)}**", compared(theirs, row["search_ms"])]]


def built_slower(run: Run, n: int, theirs: list[tuple[str, str, Measurement]]) -> list[list[str]]:
    found = []
    for mode in ("masked", "routed"):
        if row := served.of(run, n, mode):
            each = [(name, m.more["build_ns"]) for name, _, m in theirs if m.more.get("build_ns", 1e18) < row["build_s"] * 1e9]
            cells = "; ".join(f"{name}, one thread, {time(ns)} ({times(ns / row['build_s'] / 1e9)})" for name, ns in each)
            found.append([f"a build, {mode} mode with texts, {n:,} x 128", f"**{digits(row['build_s'])} s** (all threads)", cells])
    return found


def uploaded(run: Run, n: int) -> list[list[str]]:
    """HEVEC's queries, if they are smaller than those of masked mode."""
    m, ids = systems.of(run, n), modes.one(run, "clustered", n, "masked")
    up = m.more.get("bytes_up") if m else None
    if not (up and ids and up < ids["bytes_up"]):
        return []
    return [[f"bytes up of a search, masked mode, {n:,} x 128", f"**{size(ids['bytes_up'])}**", f"HEVEC {size(up)} ({times(up / ids['bytes_up'])})"]]


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
    return markdown(["a peer is faster, or sends less", "Sordino", "the peer"], found) if found else "No peer of this run's tables is faster."


def known(run: Run) -> str:
    """The losses in words. Those that depend on the run are there only if its measurements show them."""
    found = {mode: modes.one(run, "clustered", modes.REFERENCE_N, mode) for mode in ("masked", "routed", "sealed")}
    masked, routed, sealed = found.values()
    words = ["Unprotected search is faster than masked, routed, open and sealed mode, and its clients download no hint."]
    if masked and routed and routed["search_ms"] > masked["search_ms"]:
        each = [time(row["search_ms"] * 1e6) for row in (routed, masked)]
        words.append(f"Routed mode is for large indexes. At {modes.REFERENCE_N:,} vectors, a search for ids takes {each[0]}, and {each[1]} in masked mode.")
    if sealed and sealed["bytes_once"] > sealed["bytes_download_all"]:
        words.append("The hint of a sealed index can be larger than the index.")
    words.append("Masked mode scores all vectors, so the time and the bytes of a search grow with the number of vectors.")
    return notes(*words)


def recalls(run: Run) -> list[str]:
    """The sets and modes whose recall is below the planned one."""
    rows = [
        [f"Clustered vectors, between two processes: {n:,} x 128", f"{mode}, ten texts", f"{row['recall']:.3f}", f"**{time(row['search_ms'] * 1e6)}**", "-"]
        for n in (modes.REFERENCE_N, 1_000_000, modes.TEN_MILLION)
        for mode in ("routed", "sealed")
        if (row := served.of(run, n, mode)) and row["recall"] < modes.PLANNED
    ]
    rows += modes.below(run)
    if not rows:
        return []
    words = f"Routed and sealed mode plan a recall of {modes.PLANNED}. In the next rows, searches did not reach this recall."
    return [words, markdown(["set", "mode", "recall@10", "a search", "masked mode"], rows)]


def section(run: Run, machine: str, date: str) -> str:
    return "\n\n".join(
        [
            "# Benchmarks",
            f"This page has the main measurements of one machine ({machine}, {date}). Each measurement is for one thread, unless a row says otherwise. A ratio "
            "above 1x means that the other program takes longer. `100,000 x 128` means 100,000 vectors of 128 dimensions. We generated them in clusters, which is the good case of routed mode. *Recall* is the share of the ten true nearest vectors that a search finds. [Modes](../guide/modes.md) explains the modes, and [method](method.md) has the rules.",
            markdown(["", "Sordino", "compared with", "what it means"], numbers(run), words=True),
            "\n".join(f"- {what}: ![{name}](../plots/{name}.svg)" for name, what in PLOTS),
            "## Where Sordino loses",
            known(run),
            *recalls(run),
            LOSSES,
            losses(run),
            "## Chapters",
            ", ".join(f"[{title}]({name}.md)" for name, title in CHAPTERS) + ".",
            "`scripts/bench.sh` measures your machine and writes these pages, so do not edit them. It does not write [measurements by hand](by-hand.md). "
            "To run one peer alone, read [the peers' page](../../scripts/peers/README.md).",
        ]
    )


LOSSES = """\
In the next table, rows that name messages measure BLAKE3. `100000x64B` is a list of 100,000 messages of 64 bytes, and `its kernel` is a function
of the crate `blake3`. For faiss, the table has the fastest of the measured inverted lists (IVF) and graphs (HNSW) that reach routed mode's recall. For the row
of local mode, they reach its recall. We built no graph of a
million vectors, because one thread needs minutes for it."""
