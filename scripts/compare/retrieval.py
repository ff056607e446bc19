"""Private information retrieval: SimplePIR and DoublePIR."""

from __future__ import annotations

from compare.run import Measurement, Run
from compare.table import Key, Row, detected, digits, markdown, notes, peers, size, time

SIZES = ((1_000, "1000"), (10_000, "10000"), (100_000, "100000"))
BACKENDS = ("portable", "avx2", "avx512", "amx", "neon")
# The reference's medians, in nanoseconds.
RAW = {
    ("simple-setup", "1000"): 999.84e3,
    ("simple-setup", "10000"): 8.5423e6,
    ("simple-setup", "100000"): 76.787e6,
    ("simple-end-to-end", "1000"): 10.489e3,
    ("simple-end-to-end", "10000"): 18.192e3,
    ("simple-end-to-end", "100000"): 62.311e3,
    ("double-setup", "1000"): 45.721e6,
    ("double-setup", "10000"): 281.52e6,
    ("double-setup", "100000"): 1.0969e9,
    ("double-end-to-end", "1000"): 289.74e3,
    ("double-end-to-end", "10000"): 341.40e3,
    ("double-end-to-end", "100000"): 534.16e3,
}


def operations(run: Run) -> str:
    """The reference's summary and its raw data in one table: a row for each scheme and size."""
    rows = []
    for scheme in ("simple", "double"):
        for count, records in SIZES:

            def ours(function: str, scheme: str = scheme, records: str = records) -> str:
                ns = Key("pir/reference_table", f"{scheme}-{function}", records).time(run)
                return f"**{time(ns)}**" if ns else "-"

            setup, whole = (RAW[f"{scheme}-{function}", records] for function in ("setup", "end-to-end"))
            cells = (time(setup), ours("setup"), time(whole), ours("end-to-end"), ours("online"))
            rows.append([f"{scheme.capitalize()}PIR, {count:,} records", *cells])
    head = ["", "setup: reference", "setup: Sordino", "query, answer and recover: reference", "all three: Sordino", "all three: Sordino, prepared ahead"]
    return markdown(head, rows)


def answers(run: Run) -> str:
    """The sizes of Sordino's SimplePIR answers."""
    found = [run.get("pir/answer_bytes", "simple", records) for _, records in SIZES]
    first, second, third = (size(m.wire_bytes if m else None) for m in found)
    return f"{first}, {second} and {third}"


def order(parameter: str) -> int:
    """The number of bytes of a size in the bench's notation."""
    for unit, scale in (
        ("GiB", 2**30),
        ("MiB", 2**20),
        ("KiB", 2**10),
        ("MB", 10**6),
        ("KB", 10**3),
    ):
        if parameter.endswith(unit):
            return int(parameter.removesuffix(unit)) * scale
    return 0


def throughput(m: Measurement | None) -> str:
    return f"{digits(m.bytes_per_second / 1e9)} GB/s" if m and m.bytes_per_second else "-"


def served(run: Run, parameter: str) -> Measurement | None:
    """The server's whole answer to one query. The server uses the highest level of the processor."""
    found = [m for m in run.group("pir/answer_batch", parameter) if queries_of(m) == 1 and m.median_ns]
    return found[0] if found else None


def answered(run: Run, parameter: str) -> Measurement | None:
    """The server's whole answer to one query. For a size without this bench, the scan at the highest level."""
    return served(run, parameter) or detected(run, "pir/answer", BACKENDS, parameter)


def scans(run: Run) -> str:
    parameters = sorted({m.parameter for m in run.group("pir/answer")}, key=order)
    backends = [b for b in BACKENDS if any(run.get("pir/answer", b, parameter) for parameter in parameters)]
    rows = []
    for parameter in parameters:
        bandwidth = run.get("pir/answer", "read-bandwidth", parameter)
        ours = answered(run, parameter)
        share = (
            f"{ours.bytes_per_second / bandwidth.bytes_per_second:.2f}"
            if ours and bandwidth
            else "-"
        )
        rows.append(
            [
                parameter,
                throughput(bandwidth),
                *(throughput(run.get("pir/answer", b, parameter)) for b in backends),
                throughput(served(run, parameter)),
                share,
                throughput(run.get("pir/answer", "plain-loop", parameter)),
                throughput(run.get("pir/answer", "simplepir-crate", parameter)),
                throughput(run.get("pir/answer", "double", parameter)),
            ]
        )
    head = [
        "database",
        "read bandwidth",
        *(f"Sordino {b}" for b in backends),
        "Sordino's server",
        "server / bandwidth",
        "plain loop",
        "crate simplepir (u64)",
        "DoublePIR",
    ]
    return markdown(head, rows)


def queries_of(m: Measurement) -> int:
    return int(m.function.split("-")[1])


def batches(run: Run) -> str:
    found = sorted(run.group("pir/answer_batch"), key=lambda m: (order(m.parameter), queries_of(m)))
    single = {m.parameter: m.median_ns for m in found if queries_of(m) == 1}

    def gain(m: Measurement) -> str:
        alone = single.get(m.parameter)
        return f"{queries_of(m) * alone / m.median_ns:.1f}x" if alone and m.median_ns else "-"

    rows = [
        [
            f"{m.parameter}, {queries_of(m)} queries",
            time(m.median_ns),
            time((m.median_ns or 0) / queries_of(m)),
            gain(m),
        ]
        for m in found
    ]
    head = ["one scan", "Sordino", "for each query", "compared with separate scans"]
    return markdown(head, rows) if rows else "Absent: not in this run."


def hintless(run: Run) -> str:
    """Retrieval without a hint: a row for each database and number of records at once."""
    found = {m.parameter for m in run.group("pir/hintless") if m.parameter}
    rows = []
    for name in sorted(found, key=lambda name: [int(x) for x in name.replace("/", "x").split("x")]):
        records, rest = name.split("x")
        length, batch = rest.split("/")
        cells = [run.get("pir/hintless", what, name) for what in ("answer", "query", "recover")]
        encode = run.get("pir/hintless", "encode", name)
        rows.append(
            [
                f"{int(records):,} of {int(length):,} B",
                batch,
                *(time(m.median_ns) if m else "-" for m in cells),
                throughput(encode) if encode else "-",
            ]
        )
    head = ["records", "at once", "server", "client: query", "client: recover", "encoding"]
    bytes_of = "The [package's page](../../crates/pir/README.md#without-a-hint) lists the bytes of requests and answers."
    return f"{markdown(head, rows)}\n\n{bytes_of}" if rows else f"Absent: not in this run. {bytes_of}"


PEERS = {
    "simplepir": "SimplePIR (Go and C, its authors)",
    "ypir": "YPIR",
    "ypir-sp": "YPIR with SimplePIR",
    "inspire": "InsPIRe, records of 32 KiB",
    "inspire-64": "InsPIRe, records of 64 B",
    "respire": "Respire",
}
LONG_RECORDS = Row(
    "PIR without a hint, a record of 32 KiB, 1 GiB",
    None,
    Key("pir/hintless", "answer", "32768x32768/1"),
    [Key("systems/pir", name, "1GiB", label=PEERS[name]) for name in ("ypir-sp", "inspire")],
)


def systems(run: Run) -> list[tuple[str, Measurement]]:
    """The peers that `scripts/peers/systems.sh` built from source."""
    found = [m for m in run.group("systems/pir") if m.median_ns]
    return [(PEERS.get(m.function, m.function), m) for m in sorted(found, key=lambda m: m.median_ns or 0)]


def rows(run: Run) -> list[Row]:
    """Comparisons with peers that were built from source."""
    ours = answered(run, "1GiB")
    return [
        Row(
            "PIR, one answer over 1 GiB",
            None,
            Key(ours.group, ours.function, "1GiB") if ours else Key("pir/answer", "", "1GiB"),
            [Key("systems/pir", name, "1GiB", label=PEERS[name]) for name in ("simplepir", "ypir", "respire", "inspire-64")],
        ),
        LONG_RECORDS,
    ]


def bytes_of(run: Run, what: str, function: str, parameter: str) -> str:
    m = run.get(f"pir/{what}_bytes", function, parameter)
    return size(m.wire_bytes) if m else "-"


def ours(run: Run) -> list[list[str]]:
    """Sordino's rows over 1 GiB: SimplePIR with its hint, and the databases without a hint."""
    rows = []
    if answer := answered(run, "1GiB"):
        moved = [bytes_of(run, what, "simple", "1GiB") for what in ("query", "answer", "hint")]
        rows.append(["Sordino, SimplePIR", f"**{time(answer.median_ns)}**", *moved, "one column of 32 KiB; the hint is downloaded"])
    for m in sorted(run.group("pir/hintless"), key=lambda m: m.parameter):
        if m.function != "answer" or not (shape := m.parameter.split("/")) or order_of(shape[0]) != 2**30:
            continue
        moved = [bytes_of(run, what, "hintless", m.parameter) for what in ("query", "answer", "key")]
        records, length = shape[0].split("x")
        note = f"{shape[1]} of {int(records):,} records of {int(length):,} B; keys are uploaded"
        rows.append(["Sordino, without a hint", f"**{time(m.median_ns)}**", *moved, note])
    return rows


def order_of(shape: str) -> int:
    records, length = shape.split("x")
    return int(records) * int(length)


def sources(run: Run) -> str:
    """A table of the peers that were built from source: the server's time for an answer over 1 GiB, and the bytes sent."""
    others = []
    for name, m in systems(run):
        moved = [size(m.more.get(f"bytes_{way}")) for way in ("up", "down", "once")]
        others.append([name if m.parameter == "1GiB" else f"{name}, over {m.parameter}", time(m.median_ns), *moved, m.more.get("note", "")])
    if not others:
        return "Absent: `scripts/peers/systems.sh` did not run."
    head = ["one answer over 1 GiB", "server", "bytes up", "bytes down", "bytes once", "configuration"]
    return markdown(head, [*ours(run), *others], words=True)


def without_hint(run: Run) -> list[str]:
    """How Sordino without a hint compares with the peers for the same records, in a sentence if this run has both."""
    found = [f"{digits(1 / factor)} times as long as {name}" for name, (_, factor) in peers(run, LONG_RECORDS).items() if factor]
    return [f"For one record of 32 KiB in 1 GiB, the server of Sordino without a hint takes {' and '.join(found)}."] if found else []


def section(run: Run) -> str:
    return "\n\n".join(
        [
            "# Private information retrieval",
            "## Scans",
            "![throughput](../plots/pir_throughput.svg)",
            "In a scan, the server multiplies the database by one encrypted query, on one thread. Each row is a size of the database. GB/s are bytes of the "
            "database a second. `read bandwidth` is the rate of only reading these bytes. Columns such as `Sordino avx2` are the scan alone at one processor "
            "level. `Sordino's server` is the whole answer to one query, at the highest of these levels, even if a lower level was faster. "
            "`server / bandwidth` divides its rate by the read bandwidth. For a size without this figure, the scan at the highest level takes its place. "
            "`plain loop` is the same scan in a simple loop, without Sordino's SIMD code. A dash marks a size that was not measured.",
            scans(run),
            "The crate `simplepir` computes with words of 64 bits (`u64`), and Sordino with words of 32 bits. Sordino chooses its SIMD code at run time. If no "
            "`target-cpu` is set, as in `scripts/bench.sh`, the crate and the plain loop are compiled for the baseline of the processor's family. For x86-64, "
            "this baseline is SSE2.",
            "The cells of a row were measured minutes apart, on a shared machine whose bandwidth varies. So a scan can be faster than the measured reading. For the same reason, the "
            "scans of [several queries](#several-queries-in-one-scan) differ by some percent.",
            "## Peers built from source",
            "Each row is a system. `server` is its time for one answer, on one thread. `bytes once` is the hint, or the keys, of a client.",
            sources(run),
            notes(
                "`made-up precomputed data`: this system's own benchmark fills the results of its preprocessing with random data. The time of an answer is the same, but answers "
                "cannot be checked.",
                "`first dimension` is a parameter of InsPIRe. Among the values that we measured, a larger one made the query longer and the server faster. "
                "[The peers' page](../../scripts/peers/README.md#the-first-dimension-of-inspire) has the sweep.",
                *without_hint(run),
                "A [separate run](../../crates/pir/docs/peers.md) on another day also measured 1 GiB of records of 32 KiB, and Spiral, and smaller databases.",
            ),
            "## Several queries in one scan",
            "Each row is one scan that answers several queries. The last column is the time of separate scans, divided by the time of this scan.",
            batches(run),
            "## Without a hint",
            "Each row is a database. A client fetches the number of records `at once` with one request, and the times are for this request. `encoding` is the rate at "
            "which the server encodes the database before the first request.",
            hintless(run),
            "[Reference documents](reference.md#retrieval) has figures for databases of few, short records.",
        ]
    )


def reference(run: Run) -> str:
    return "\n\n".join(
        [
            "Each row is a scheme and a number of records of 3 bytes. `setup` is the server's work before the first query. Do not use PIR for such databases: all "
            "records, at most 300 kB, are smaller than the hint of either scheme.",
            operations(run),
            notes(
                "`prepared ahead` is the time that remains if the client computes most of a query before it knows which record to fetch.",
                f"The reference's SimplePIR answers have 384 B, 1,200 B and 3,804 B. Sordino's answers have {answers(run)}: 12 bits for each "
                "byte of a column, and a header.",
                "The reference's parameters (secrets of n = 1,024 words, errors of deviation sigma = 6.4) give 121.5 bits of security (MATZOV).",
                "The reference's DoublePIR does not scale the row selector of a query, so noise destroys the record. In our simulation at sigma = 6.4, "
                "199 of 200 records were wrong; the reference's tests set sigma to 0. The reference's 12-byte answers do not decrypt. Sordino's answers "
                "follow the published construction, and decrypt.",
            ),
        ]
    )
