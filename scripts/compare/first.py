"""The first page: ten numbers with the peers' figures from the same run, and the cases in which a peer is faster."""

from __future__ import annotations

from compare import authorization, homomorphic, modes, retrieval, served, signatures, systems
from compare.run import Run
from compare.table import Key, digits, faster, fastest, markdown, ratio, size, time

ABSENT = "not in this run"
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
    ("search_session", "All bytes that a client moves, by its number of searches"),
    ("lines_100", "Predicted time of a hundred searches at 100 Mbit/s"),
    ("pir_throughput", "Database bytes that PIR scans in a second"),
    ("mldsa", "Time to verify one signature, alone and in a batch of 32"),
)


def against(run: Run, ours: Key, *peers: Key) -> tuple[str, str]:
    """Sordino's figure, and the figure of each peer with its ratio."""
    base = ours.time(run)
    found = [(key.name(), key.time(run)) for key in peers]
    return time(base) if base else ABSENT, "; ".join(f"{name} {time(ns)} ({ratio(ns, base)})" for name, ns in found if ns) or ABSENT


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
    found = {load["clients"]: load for load in run.loads if (load["mode"], load["what"]) == ("masked", "requests")}
    cells = [f"{digits(found[n]['per_second'])} a second" if n in found else ABSENT for n in (8, 1)]
    return cells[0], f"one client {cells[1]}"


def scan(run: Run) -> tuple[str, str]:
    best, bandwidth = fastest(run, "pir/answer", retrieval.BACKENDS, "1GiB"), run.get("pir/answer", "read-bandwidth", "1GiB")
    ours = f"{time(best.median_ns)}, {retrieval.throughput(best)}" if best else ABSENT
    theirs = [f"{name} {time(m.median_ns)}" for name, m in retrieval.systems(run) if m.parameter == "1GiB"]
    return ours, "; ".join([f"read bandwidth {retrieval.throughput(bandwidth)}", *theirs])


def products(run: Run) -> tuple[str, str]:
    labels = homomorphic.LABELS
    names = ("fhe", "lattigo-v6-go depth one", "tenseal-python mm")
    return against(run, homomorphic.row("score", "64x128"), *(Key("ckks/score", n, "64x128", label=labels[n]) for n in names))


def numbers(run: Run) -> list[list[str]]:
    fpe, sign, each = "fpe/encrypt", "mldsa/verify", "hash/each"
    best = fastest(run, each, signatures.HASH_BACKENDS, "100000x64B")
    rows = (
        ("A search that brings ten texts, 100,000 x 128", searches(run, 100_000), "This is the price of hiding the query."),
        ("The same, 1,000,000 x 128", searches(run, 1_000_000), "Routed mode scores some clusters only."),
        ("All bytes of 100 searches, 100,000 x 128", session(run), "Local mode moves the fewest bytes for many searches, if the client may hold the index."),
        ("Masked searches that a server answers on all cores, eight clients", throughput(run), "One scan answers all waiting requests."),
        ("Build with texts, and memory, 1,000,000 x 128", built(run), "faiss stores no texts."),
        ("PIR, one answer over 1 GiB", scan(run), "The scan runs near memory speed. Peers without a hint do more work."),
        ("64 encrypted products of 128 dimensions", products(run), "The peers' schemes can compute more than products."),
        (
            "FF1, 16 digits",
            against(run, Key(fpe, "ff1", "16"), Key(fpe, "ff1-ubiq-go", "16", label="ubiq (Go)"), Key(fpe, "ff1-fpe-crate", "16", label="crate fpe")),
            "In a batch, each encryption takes less time.",
        ),
        (
            "ML-DSA-87, one verification, key as bytes",
            against(
                run,
                Key(sign, "sordino fresh", signatures.SET),
                *signatures.keys(sign, ("circl-go fresh", "libcrux fresh", "aws-lc-rs fresh", "ml-dsa fresh"), signatures.SET),
            ),
            "In a batch of one key, each verification takes less time.",
        ),
        (
            "BLAKE3, 100,000 messages of 64 B",
            against(run, Key(each, best.function if best else "", "100000x64B"), *signatures.one_thread("100000x64B")),
            "For single messages, both take the same time.",
        ),
        (
            "A Cedar decision, uncached, 3 policies",
            against(run, authorization.key("sordino", 3), *authorization.peers(3)),
            "Sordino finds the policies of a request in an index.",
        ),
    )
    return [[what, f"**{ours}**", theirs, why] for what, (ours, theirs), why in rows]


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
        *retrieval.ROWS,
    ]
    found = faster(run, rows)
    return markdown(["a peer is faster", "Sordino", "the peer"], found) if found else "No peer of this run's tables is faster."


def section(run: Run, machine: str, date: str) -> str:
    return "\n\n".join(
        [
            "# Benchmarks",
            f"This page has the main measurements of one machine ({machine}, {date}). They are for one thread, unless a row says otherwise. A ratio "
            "above 1x means that the other program takes longer than Sordino. [Method](method.md) has the rules.",
            markdown(["", "Sordino", "compared with", "what it means"], numbers(run), words=True),
            "\n".join(f"- {what}: ![{name}](../plots/{name}.svg)" for name, what in PLOTS),
            "## Where Sordino loses",
            LOSSES,
            losses(run),
            "## Chapters",
            ", ".join(f"[{title}]({name}.md)" for name, title in CHAPTERS) + ".",
            "`scripts/bench.sh` measures your machine and writes these pages, so do not edit them. It does not write [measurements by hand](by-hand.md).",
        ]
    )


LOSSES = """\
- Unprotected search is faster than every mode of Sordino. FAISS IVF takes a fraction of the time, and its clients download no hint.
- On vectors without clusters, sealed mode does not reach the recall for which its index was built. The hint of a sealed index can be larger
  than the index.
- Masked mode scores all vectors, so the time and the bytes of a search grow with the number of vectors."""
