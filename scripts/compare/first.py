"""The first page: ten numbers with the peers' figures from the same run, and the cases in which a peer is faster."""

from __future__ import annotations

from compare import authorization, homomorphic, retrieval, search, signatures
from compare.run import Run
from compare.table import Key, digits, faster, fastest, markdown, ratio, size, time

ABSENT = "not in this run"
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


def with_texts(run: Run) -> tuple[str, str]:
    ways = {line["fetch"]: line for line in run.texts}
    if "pir" not in ways:
        return ABSENT, ABSENT
    line = ways["pir"]
    ours = f"{time(line['search_ms'] * 1e6)}, {size(line['bytes_up'] + line['bytes_down'])}"
    return ours, f"ids alone {time(ways['none']['search_ms'] * 1e6)}" if "none" in ways else ABSENT


def of_day(run: Run) -> str:
    """The texts may be from a separate run."""
    return "".join(f", masked, {line['n']:,} x {line['dim']}, {line['date']}" for line in run.texts[:1])


def masked(run: Run) -> dict | None:
    found = search.of(run, search.REFERENCE_N, "clustered")
    return next((s for s in found if s["mode"] == "masked"), None)


def searches(run: Run) -> tuple[str, str]:
    s, flat = masked(run), run.get("search/plain", "faiss-python flat", f"clustered {search.REFERENCE_N}x128")
    ours = f"{search.ms(s['total_ms'])}, recall {s['recall']:.3f}" if s else ABSENT
    return ours, f"FAISS flat, unprotected, {time(flat.median_ns)}" if flat else ABSENT


def session(run: Run) -> tuple[str, str]:
    s = masked(run)
    if not s:
        return ABSENT, ABSENT
    return size(s["bytes_once"] + 100 * (s["bytes_up"] + s["bytes_down"])), f"downloading everything {size(s['bytes_download_all'])}"


def throughput(run: Run) -> tuple[str, str]:
    found = {load["clients"]: load for load in run.loads if (load["mode"], load["what"]) == ("masked", "requests")}
    cells = [f"{digits(found[n]['per_second'])} a second" if n in found else ABSENT for n in (8, 1)]
    return cells[0], f"one client {cells[1]}"


def scan(run: Run) -> tuple[str, str]:
    best = fastest(run, "pir/answer", retrieval.BACKENDS, "13MB")
    crate, bandwidth = (run.get("pir/answer", name, "13MB") for name in ("simplepir-crate", "read-bandwidth"))
    return retrieval.throughput(best), f"read bandwidth {retrieval.throughput(bandwidth)}; crate simplepir {retrieval.throughput(crate)}"


def products(run: Run) -> tuple[str, str]:
    labels = homomorphic.LABELS
    names = ("fhe", "lattigo-v6-go depth one", "tenseal-python mm")
    return against(run, homomorphic.row("score", "64x128"), *(Key("ckks/score", n, "64x128", label=labels[n]) for n in names))


def numbers(run: Run) -> list[list[str]]:
    fpe, sign, each = "fpe/encrypt", "mldsa/verify", "hash/each"
    best = fastest(run, each, signatures.HASH_BACKENDS, "100000x64B")
    rows = (
        (f"A search that brings ten texts by PIR{of_day(run)}", with_texts(run), "Texts cost little more than ids."),
        ("A masked search, 100,000 x 128", searches(run), "This is the price of hiding the query."),
        ("All bytes of 100 masked searches, 100,000 x 128", session(run), "A client of many searches moves less in local mode, if it may hold the index."),
        ("Masked searches that a server answers on all cores, eight clients", throughput(run), "Requests that wait share a scan."),
        ("PIR, one answer over 13 MB", scan(run), "The scan runs near memory speed."),
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
            "An index finds the policies that matter.",
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
    ]
    found = faster(run, rows)
    return markdown(["a peer is faster", "Sordino", "the peer"], found) if found else "No peer of this run's tables is faster."


def section(run: Run, machine: str, date: str) -> str:
    return "\n\n".join(
        [
            "# Benchmarks",
            f"Ten measurements of one machine ({machine}, {date}), on one thread unless a row says otherwise. A ratio above 1x means that the peer "
            "takes longer. [Method](method.md) has the rules.",
            markdown(["", "Sordino", "compared with", "what it means"], numbers(run), words=True),
            "\n".join(f"- {what}: ![{name}](../plots/{name}.svg)" for name, what in PLOTS),
            "## Where Sordino loses",
            LOSSES,
            losses(run),
            "## Chapters",
            ", ".join(f"[{title}]({name}.md)" for name, title in CHAPTERS) + ".",
            "`scripts/bench.sh` measures your machine and writes these pages, except [measurements by hand](by-hand.md): do not edit them.",
        ]
    )


LOSSES = """\
- Unprotected search is faster. FAISS IVF answers in a fraction of the time, and its clients download no hint.
- Sealed mode misses its target recall on vectors without clusters. Its hint can be larger than the index.
- This run measures no other private search system. [Related work](../security/sheet.md#related-work) describes such systems.
- This run has no row for routed mode. The run on [image descriptors](search.md#image-descriptors) has one."""
