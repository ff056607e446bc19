"""Core operations: homomorphic encryption and hashing of vectors."""

from __future__ import annotations

import re

from compare.run import Run
from compare.table import Key, Row, compare, detected, markdown, notes, size, stated_there, time

PEERS = (
    "lattigo-v6-go reference parameters",
    "lattigo-v6-go depth one",
    "tenseal-python mm",
    "fhe",
)
LABELS = {
    "lattigo-v6-go reference parameters": "Lattigo 6 (reference's parameters)",
    "lattigo-v6-go depth one": "Lattigo 6 (N = 2^13)",
    "tenseal-python mm": "TenSEAL (N = 2^13)",
    "fhe": "fhe.rs (BFV)",
    "slot": "Sordino, slots and rotations",
}
BATCH = "64x128"
BACKENDS = ("portable", "avx2", "avx512", "neon")
LSH_BACKENDS = tuple(f"rotation-{b}" for b in BACKENDS)


def row(operation: str, shape: str) -> Key:
    return Key(f"ckks/{operation}", "row", shape)


def peers(operation: str) -> list[Key]:
    """Every peer, on 64 vectors at once."""
    return [
        Key(f"ckks/{operation}", f, BATCH, label=LABELS[f]) for f in (*PEERS, "slot")
    ]


def batch() -> list[Row]:
    """64 scores of 128 dimensions, which is the operation that the reference's batch search consists of."""
    return [
        Row("evaluation keys", 235.3e6, "none are needed", peers("keygen"), "235 ms (Python: 212 ms)"),
        Row("encrypt the query", 17e6, row("encrypt", BATCH), peers("encrypt")),
        Row("score 64 vectors", 28e6, row("score", BATCH), peers("score")),
        Row("decrypt 64 scores", 2e6, row("decrypt", BATCH), peers("decrypt")),
    ]


def sizes(run: Run) -> str:
    """The bytes of the messages, printed by the same programs."""
    rows = []
    for what in ("query", "reply"):
        found = (run.get(f"ckks/{what}_bytes", name, BATCH) for name in ("row", *PEERS[:3]))
        ours, *theirs = (size(m.wire_bytes if m else None) for m in found)
        rows.append([what, f"**{ours}**", *theirs])
    rows.append(["public key", "**none**", "2.05 MB", "none (secret-key encryption)", "none"])
    return markdown(["message, 64x128", "Sordino", *(LABELS[p] for p in PEERS[:3])], rows)


OPERATIONS = (
    ("encryption, 128 dimensions", "1x128", 5.2e6, "encrypt"),
    ("decryption, 128 dimensions", "1x128", 0.8e6, "decrypt"),
    ("dot product, 128 dimensions", "1x128", 33.0e6, "score"),
)


def operations() -> list[Row]:
    """The reference's table of single operations, with its Python port."""
    python = {
        "encryption, 128": "1,912 ms",
        "decryption, 128": "140 ms",
        "dot product, 128": "91.0 ms",
    }
    rows = []
    for name, shape, reference, operation in OPERATIONS:
        text = time(reference)
        slow = next((v for k, v in python.items() if name.startswith(k)), "")
        text += f" (Python: {slow})" if slow else ""
        rows.append(Row(name, reference, row(operation, shape), (), text))
    return [*rows, Row("serialization of a ciphertext", 226_692, row("serialize", BATCH))]


def hashing(run: Run) -> list[Row]:
    """LSH: one hash, and one search of the codes."""
    rows = []
    for dims, reference in ((32, 1_107.0), (128, 6_013.0), (256, 13_331.0)):
        case = f"{dims}dims-128bits"
        best = detected(run, "lsh/hash", LSH_BACKENDS, case)
        ours: Key | str = Key("lsh/hash", best.function, case) if best else "not in this run"
        loops = Key("lsh/hash", "loops", case, label="plain loops over hyperplanes")
        rows.append(Row(f"hash, {dims} dimensions, 128 bits", reference, ours, [loops]))
    for label, dims, reference in (
        ("search, 50 nearest, 32 dimensions", 32, 3_581.0),
        ("search, 50 nearest, 128 dimensions", 128, 4_298.0),
        ("search, 50 nearest, 256 dimensions", 256, 4_730.0),
    ):
        rows.append(Row(label, reference, Key("lsh/search", "hash-scan-top50", str(dims))))
    return rows


def scanned(run: Run) -> list[Row]:
    """The Hamming scan, for which the reference has no rows."""
    rows = []
    for case in sorted({m.parameter for m in run.group("lsh/scan")}, key=codes):
        best = detected(run, "lsh/scan", BACKENDS, case)
        ours: Key | str = Key("lsh/scan", best.function, case) if best else "not in this run"
        plain = Key("lsh/scan", "popcount-and-select", case, label="popcount and selection")
        rows.append(Row(f"scan, {case}", None, ours, [plain]))
    for m in run.group("lsh/batch"):
        key = Key("lsh/batch", m.function, m.parameter, each=True)
        threads = "all threads" if m.function.endswith("rayon") else "one thread"
        rows.append(Row(f"hash of a batch, {m.parameter}, each, {threads}", None, key))
    return rows


def tables(run: Run) -> str:
    """Candidates of 50,000 vectors, by tables and probes."""
    found = run.group("lsh/tables")
    probes = sorted({m.parameter for m in found}, key=codes)
    names = sorted({m.function for m in found})
    rows = [[name, *(time(Key("lsh/tables", name, p).time(run)) for p in probes)] for name in names]
    return markdown(["candidates of 50,000 vectors", *probes], rows) if rows else "Tables: absent, not in this run."


def codes(parameter: str) -> tuple[int, ...]:
    """The numbers in a parameter, in order: `100000x128bits-top50`."""
    return tuple(int(number) for number in re.findall(r"[0-9]+", parameter))


def column(run: Run) -> str:
    """Scores of all vectors in one pass, for which the reference has no equivalent."""
    kinds = {(m.parameter, m.function.split("/")[0]) for m in run.group("ckks/column")}
    rows = []
    for parameter, kind in sorted(kinds, key=lambda found: (shape(found[0]), found[1])):

        def cell(operation: str, parts: int = 1, parameter: str = parameter, kind: str = kind) -> str:
            ns = Key("ckks/column", f"{kind}/{operation}", parameter).time(run)
            return f"**{time(ns / parts)}**" if ns else "-"

        cells = (cell("encrypt"), cell("score"), cell("score 4 queries", 4), cell("decrypt"))
        rows.append([f"{parameter}, {kind}", *cells])
    head = ["vectors x dimensions", "encrypt", "score", "score 4 queries, each", "decrypt"]
    return markdown(head, rows) if rows else "Absent: not in this run."


def shape(parameter: str) -> tuple[int, int]:
    """The dimensions and the vectors of `vectors x dimensions`, in the order by which rows are sorted."""
    vectors, _, dims = parameter.partition("x")
    return (int(dims), int(vectors)) if vectors.isdigit() and dims.isdigit() else (0, 0)


def column_sizes(run: Run) -> str:
    """The bytes of the messages of a pass over all vectors."""
    rows = []
    for m in sorted(run.group("ckks/query_bytes"), key=lambda m: shape(m.parameter)):
        if m.function == "column":
            others = (
                run.get(f"ckks/{what}_bytes", "column", m.parameter) for what in ("reply", "hint")
            )
            rows.append(
                [
                    m.parameter,
                    size(m.wire_bytes),
                    *(size(other.wire_bytes if other else None) for other in others),
                ]
            )
    head = ["vectors x dimensions", "query", "reply", "hint, once"]
    return markdown(head, rows) if rows else "Absent: not in this run."


def rows_packed(run: Run) -> str:
    """Row packing at every shape, and the operations of slot mode."""
    shapes = sorted({m.parameter for m in run.group("ckks/score") if m.function == "row"}, key=shape)
    rows = [
        [s, *(time(row(what, s).time(run)) for what in ("encrypt", "score", "decrypt"))]
        for s in shapes
    ]
    slots = sorted(run.group("ckks/slot"), key=lambda m: m.function)
    rows += [[f"slots, degree {m.parameter}: {m.function}", "-", time(m.median_ns), "-"] for m in slots]
    head = ["vectors x dimensions", "encrypt", "score", "decrypt"]
    return markdown(head, rows) if rows else "Absent: not in this run."


def ring(run: Run) -> list[Row]:
    """The transform of all encrypted products, compared with the transform of tfhe-rs."""
    rows = []
    for direction in ("forward", "inverse"):
        group = f"ntt/{direction}"
        for n in sorted({int(m.parameter) for m in run.group(group)}):
            key = Key(group, "sordino", str(n))
            peer = Key(group, "tfhe-ntt", str(n), label="tfhe-ntt")
            rows.append(Row(f"{direction}, degree {n:,}", None, key, [peer]))
    return rows


def section(run: Run) -> str:
    return "\n\n".join(
        [
            "# Encrypted products",
            "## 64 dot products of 128 dimensions",
            "Each row is the time of one operation, on one thread. A ratio in brackets is the peer's time divided by Sordino's.",
            compare(run, batch()),
            notes(
                "Sordino packs vectors into the coefficients of polynomials of degree 2,048, with a modulus of 50 bits. Its server needs neither "
                "rotations nor a key, and each secret serves one query. The peers use slots, rotations and longer-lived keys.",
                "By the MATZOV estimate, Sordino has 137 bits of security. The parameters of the [reference](reference.md#products) (N = 2^14, modulus "
                "of 497 bits) have about 110 bits. Lattigo (N = 2^13, modulus of 155 bits) and TenSEAL (N = 2^13, modulus of 160 bits) have more than 128 bits.",
                "Sordino, Lattigo and fhe.rs score vectors that were encoded before. TenSEAL's `mm` encodes the vectors in each call, because TenSEAL's vectors cannot "
                "be multiplied by encoded ones. This encoding is about a tenth of TenSEAL's time to score.",
                "Times of Lattigo and TenSEAL are the least medians of five windows, with the windows of other rows between them.",
                "Encryption times include encoding, and decryption times include decoding. `Sordino, slots and rotations` (*slot mode*) uses slots as the peers do.",
            ),
            "The next table has the bytes of each message:",
            sizes(run),
            "## Row packing at every shape, and slot mode",
            "In *row packing*, each vector is a row of coefficients, and one polynomial has several rows. Each cell is the time of one operation on `vectors x dimensions`; `-` means not "
            "measured. The rows `slots` are operations of slot mode on ciphertexts of the given degree. `rotate` moves all slots by some places. `rescale` divides a product by one factor of "
            "the modulus, and at level 0, no factor is left to divide by.",
            rows_packed(run),
            "## All vectors in one pass",
            "`real` scores floating-point vectors (open mode). `modular` scores integers to which [pads](../glossary.md) are added (masked mode). For "
            "`score 4 queries, each`, the server reads the database once for four queries, and the cell is a quarter of the time.",
            column(run),
            "For `real`, the next table has the bytes of one search and the hint:",
            column_sizes(run),
            "## The number-theoretic transform, modulus of 50 bits",
            "Each cell is the time of one transform of a polynomial, on one thread.",
            compare(run, ring(run)),
        ]
    )


def of_vectors(run: Run) -> str:
    return "\n\n".join(
        [
            "## Hashing of vectors (LSH)",
            "A row `hash` is the time to hash a vector to a code of 128 bits. A row `search` is the time to hash a query and scan the codes of 100,000 vectors. (The reference does not state its number of vectors.) Sordino's hash rotates a vector by fast transforms, which need fewer operations than products with hyperplanes. One rotation of 128 dimensions gives a code; for 32 "
            "dimensions, four rotations do. We know no maintained crate for this task, so `plain loops` are the products in the form that a user would write, without SIMD.",
            compare(run, hashing(run), stated=True),
            "In the next table, `100000x64bits-top50` finds the 50 nearest of 100,000 codes of 64 bits. The peer is a loop that counts differing bits by the "
            "processor's instruction for this (POPCNT), and then selects.",
            compare(run, scanned(run)),
            "The next table has the time to look up candidates in hash tables. A name ends with the number of tables and of parts of a key: bits (`simhash`), rotations (`cross-polytope`) or intervals (`e2lsh`). `8probes` looks up 8 buckets in each table.",
            tables(run),
        ]
    )


def reference(run: Run) -> str:
    return "\n\n".join(
        [
            "Each row is the time of one operation. Times in brackets are for the reference's Python code.",
            stated_there(run, [*batch(), *operations()]),
            notes(
                "The reference's micro-benchmarks (5.2, 33 and 0.8 ms) pack vectors differently from its search (17, 28 and 2 ms).",
                "The reference states 128 bits of security; we [estimate](products.md) about 110 bits.",
                "The reference's Python code uses Paillier from LightPHE, which we did not run.",
            ),
        ]
    )
