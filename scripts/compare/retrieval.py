"""Private information retrieval: SimplePIR and DoublePIR."""

from __future__ import annotations

from compare.run import Measurement, Run
from compare.table import Key, Row, compare, digits, fastest, markdown, notes, ratio, size, stated_there, time

SIZES = ((1_000, "1000"), (10_000, "10000"), (100_000, "100000"))
BACKENDS = ("portable", "avx2", "avx512", "amx", "neon")
# median, then the interval that the reference's Criterion printed; nanoseconds
RAW = {
    ("simple-setup", "1000"): (999.84e3, "957 µs to 1.06 ms"),
    ("simple-setup", "10000"): (8.5423e6, "8.38 to 8.72 ms"),
    ("simple-setup", "100000"): (76.787e6, "74.7 to 79.4 ms"),
    ("simple-end-to-end", "1000"): (10.489e3, "10.3 to 10.7 µs"),
    ("simple-end-to-end", "10000"): (18.192e3, "18.0 to 18.6 µs"),
    ("simple-end-to-end", "100000"): (62.311e3, "62.0 to 62.7 µs"),
    ("double-setup", "1000"): (45.721e6, "45.1 to 46.4 ms"),
    ("double-setup", "10000"): (281.52e6, "279 to 284 ms"),
    ("double-setup", "100000"): (1.0969e9, "1.05 to 1.15 s"),
    ("double-end-to-end", "1000"): (289.74e3, "281 to 302 µs"),
    ("double-end-to-end", "10000"): (341.40e3, "317 to 377 µs"),
    ("double-end-to-end", "100000"): (534.16e3, "513 to 560 µs"),
}
ANSWERS = {"1000": (384, 12), "10000": (1_200, 12), "100000": (3_804, 12)}


def raw() -> list[Row]:
    """The reference's summary and its raw data in one: 12 rows."""
    rows = []
    for (function, records), (reference, interval) in RAW.items():
        scheme, operation = function.split("-", 1)
        what = "setup" if operation == "setup" else "query, answer and recover"
        online = Key("pir/reference_table", f"{scheme}-online", records, label="Sordino, query prepared ahead")
        rows.append(
            Row(
                f"{scheme.capitalize()}PIR {what}, {int(records):,} records",
                reference,
                Key("pir/reference_table", function, records),
                [online] if operation != "setup" else (),
                f"{time(reference)} ({interval})",
            )
        )
    return rows


def sizes(run: Run) -> str:
    rows = []
    for count, records in SIZES:

        def ours(what: str, scheme: str, records: str = records) -> str:
            m = run.get(f"pir/{what}_bytes", scheme, records)
            return f"**{size(m.wire_bytes if m else None)}**"

        cells = (ours(what, scheme) for scheme in ("simple", "double") for what in ("answer", "query", "hint"))
        rows.append([f"{count:,}", size(count * 3), *cells])
    head = ["records", "trivial download", *(f"{s}PIR {what}" for s in ("Simple", "Double") for what in ("answer", "query", "hint"))]
    return markdown(head, rows)


def answers() -> str:
    """The sizes of the reference's answers."""
    rows = [[f"{count:,}", *(f"{found:,} B" for found in ANSWERS[records])] for count, records in SIZES]
    return markdown(["records of 3 bytes", "SimplePIR answer", "DoublePIR answer"], rows)


def setup_ratio(run: Run) -> str:
    """The trade-off rows: how much slower DoublePIR's setup is, and each latency."""
    rows = []
    for what, reference in (
        ("setup", "13 to 52 times slower"),
        ("end-to-end", "290 to 530 µs against 10 to 60 µs"),
    ):
        factors = []
        for _, records in SIZES:
            simple = Key("pir/reference_table", f"simple-{what}", records).time(run)
            double = Key("pir/reference_table", f"double-{what}", records).time(run)
            factors.append(ratio(double, simple))
        rows.append([f"DoublePIR / SimplePIR, {what}", reference, "**" + ", ".join(factors) + "**"])
    return markdown(["1,000, 10,000 and 100,000 records", "reference", "Sordino"], rows)


def order(parameter: str) -> int:
    """Bytes of a size as the bench writes it."""
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


def scans(run: Run) -> str:
    parameters = sorted({m.parameter for m in run.group("pir/answer")}, key=order)
    rows = []
    for parameter in parameters:
        bandwidth = run.get("pir/answer", "read-bandwidth", parameter)
        best = fastest(run, "pir/answer", BACKENDS, parameter)
        share = (
            f"{best.bytes_per_second / bandwidth.bytes_per_second:.2f}"
            if best and bandwidth
            else "-"
        )
        rows.append(
            [
                parameter,
                throughput(bandwidth),
                *(throughput(run.get("pir/answer", b, parameter)) for b in BACKENDS),
                share,
                throughput(run.get("pir/answer", "plain-loop", parameter)),
                throughput(run.get("pir/answer", "simplepir-crate", parameter)),
                throughput(run.get("pir/answer", "double", parameter)),
            ]
        )
    head = [
        "database",
        "read bandwidth",
        *(f"Sordino {b}" for b in BACKENDS),
        "best / bandwidth",
        "plain loop",
        "crate simplepir",
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
            throughput(m),
            gain(m),
        ]
        for m in found
    ]
    head = ["one scan", "Sordino", "for each query", "database bytes x queries", "compared with separate scans"]
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
    return markdown(head, rows) if rows else "Absent: not in this run."


def section(run: Run) -> str:
    return "\n\n".join(
        [
            "# Private information retrieval",
            "## Scans",
            "![throughput](../plots/pir_throughput.svg)",
            scans(run),
            "`plain loop` is the same loop, compiled without SIMD code of ours.",
            "## Several queries in one scan",
            batches(run),
            "## Without a hint",
            hintless(run),
            notes(
                "The [package's page](../../crates/pir/README.md) lists the bytes. A client downloads nothing beforehand, and uploads 589 kB of "
                "keys once a session.",
                "For an answer, the server makes 2,000 to 16,000 key switches. Then it reads each record once, at 8 to 9 bytes for each byte of "
                "the record. The column `encoding` encodes a database into memory that is new to the process.",
            ),
            "## Records of 3 bytes",
            "A [reference document](reference.md#retrieval) measures these sizes. Do not use PIR for such a database: the whole 300 kB download "
            "is smaller than the hint of either scheme. The planner says so too.",
            compare(run, raw()),
            notes(
                "`prepared ahead` is the remaining time if the client computes the query's mask before it knows which record to fetch.",
                "For so few columns, Sordino uses uniform secrets of n = 64 to 384 and errors of standard deviation 296. They hide a query "
                "statistically: it is within 2^-128 of uniform words. Larger databases use n = 1,024, with sigma = 32 (144 bits of security) or "
                "16 (134 bits).",
            ),
            sizes(run),
            "An answer has 12 bits for each byte of a column, and a header that names its format.",
        ]
    )


def reference(run: Run) -> str:
    return "\n\n".join(
        [
            stated_there(run, raw()),
            answers(),
            setup_ratio(run),
            notes(
                "The reference ran on Apple Silicon; its document names no model. No package of a registry computes a whole row. The crate "
                "`simplepir` has no records; its scan is in the [chapter](retrieval.md#scans).",
                "Its parameters n = 1,024 and sigma = 6.4 give 121.5 bits of security (MATZOV).",
                "Its DoublePIR sends the row selector unscaled, so noise destroys the record. In our simulation at sigma = 6.4, 199 of 200 "
                "records came out wrong; its tests set sigma to 0. Its 12-byte answers do not decrypt. Ours follow the published construction, "
                "and decrypt.",
                "It reports that explicit SIMD made its product five times slower, and that threads made it slower too. Of the improvements that "
                "it proposes, we [measure](retrieval.md#scans) SIMD and batches. Sordino uses no GPU, and uses Ring-LWE for [products](products.md).",
            ),
        ]
    )
