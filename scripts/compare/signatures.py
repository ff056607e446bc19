"""ML-DSA verification and BLAKE3."""

from __future__ import annotations

import re

from compare.run import Run, at_level
from compare.table import Key, Row, compare, detected, markdown, notes, time

SET = "ML-DSA-87"
# n: (sequential, parallel on 16 threads); nanoseconds. The reference's own "Go" column is an estimate
# equal to the sequential one.
BATCHES = {
    8: (436.8e3, 152.3e3),
    32: (1.764e6, 336.27e3),
    64: (3.554e6, 576.28e3),
    128: (7.133e6, 1.071e6),
}
HASH_BACKENDS = ("portable", "avx2", "avx512", "neon")
FRESH = ("ml-dsa fresh", "libcrux fresh", "aws-lc-rs fresh", "fips204 fresh", "circl-go fresh")
EXPANDED = ("ml-dsa expanded", "aws-lc-rs parsed", "fips204 expanded", "circl-go expanded")
ONE_KEY = ("ml-dsa one key", "circl-go one key", "libcrux many keys", "aws-lc-rs one key")
MANY_KEYS = ("libcrux many keys", "aws-lc-rs many keys", "circl-go many keys")
LABELS = {"circl-go": "circl (Go)", "aws-lc-rs": "AWS-LC"}


def keys(group: str, functions: tuple[str, ...], parameter: str) -> list[Key]:
    """Peers by their names only, because a row states which keys they use."""
    names = [function.split()[0] for function in functions]
    return [Key(group, f, parameter, label=LABELS.get(name, name)) for f, name in zip(functions, names)]


def batches() -> list[Row]:
    fresh = Key("mldsa/verify", "sordino fresh", SET)
    expanded = Key("mldsa/verify", "sordino expanded", SET)
    rows = [
        Row("one signature, key as bytes", None, fresh, keys("mldsa/verify", FRESH, SET)),
        Row("one signature, key expanded before", None, expanded, keys("mldsa/verify", EXPANDED, SET)),
    ]
    for n in BATCHES:
        for what, function, peers in (("one key", "sordino one key", ONE_KEY), (f"{n} keys", "sordino many keys", MANY_KEYS)):
            case = f"{SET}x{n}"
            ours = Key("mldsa/batch", function, case)
            threads = Key("mldsa/batch", f"{function}, rayon", case, label="Sordino, all threads")
            rows.append(Row(f"{n} signatures, {what}", None, ours, [*keys("mldsa/batch", peers, case), threads]))
    return rows


def sets() -> list[Row]:
    """The other parameter sets, which the reference lacks."""
    rows = []
    for name in ("ML-DSA-44", "ML-DSA-65"):
        fresh, batch = Key("mldsa/verify", "sordino fresh", name), Key("mldsa/batch", "sordino one key", f"{name}x32")
        peers = keys("mldsa/batch", ("ml-dsa one key", "libcrux many keys", "aws-lc-rs one key"), f"{name}x32")
        rows.append(Row(f"{name}, key as bytes", None, fresh, keys("mldsa/verify", FRESH, name)))
        rows.append(Row(f"{name}, 32 signatures of one key", None, batch, peers))
    return rows


def native(run: Run) -> str:
    """The same calls in a build for this machine's processor only."""
    rows = []
    group = at_level("mldsa/verify", "native")
    for name in ("ML-DSA-44", "ML-DSA-65", SET):
        for keys_are, function, peers in (
            ("key as bytes", "sordino fresh", FRESH),
            ("key expanded before", "sordino expanded", EXPANDED),
        ):
            row = Row(f"{name}, {keys_are}", None, Key(group, function, name), keys(group, peers, name))
            rows.append(row)
    if not run.group(group):
        return ""
    return f"\n\n## Built with `-C target-cpu=native`\n\n{compare(run, rows)}"


def hashes(run: Run) -> list[Row]:
    """Single messages and lists of long ones, on one thread and on all."""
    threads = "all threads"

    def one(label: str, reference: float | None, length: int, all_threads: bool = False) -> Row:
        function = "sordino-rayon" if all_threads else "sordino"
        return Row(label, reference, Key("hash/single", function, str(length)), single(length), note=f"({threads})" if all_threads else "")

    def many(label: str, reference: float, case: str, text: str = "") -> Row:
        return Row(label, reference, Key("hash/each", "sordino-rayon", case), each(case), text, f"({threads})")

    long = "100x65536B"
    return [
        one("one message, 1 KB", 803.82, 1024),
        one("one message, 64 KB", 29.16e3, 65536),
        one("one message, 1 MB", 460.96e3, 1048576),
        one("one message, 1 MB, threads", 154.3e3, 1048576, True),
        one("one message, 16 MB, threads", 1.063e6, 16777216, True),
        many("1,000 messages of 64 KB, threads", 7.449e6, "1000x65536B"),
        Row("1,000 messages of 64 KB", None, each_on_one_thread(run, "1000x65536B"), one_thread("1000x65536B")),
        many("100 messages of 64 KB, threads", 1.41e6, long, "about 1.4 ms (4.33 GiB/s)"),
        Row("100 messages of 64 KB", 5.4e6, each_on_one_thread(run, long), one_thread(long), "5.4 ms (calculated: the reference states 3.84 times the row above)"),
    ]


def each_on_one_thread(run: Run, case: str) -> Key | str:
    best = detected(run, "hash/each", HASH_BACKENDS, case)
    return Key("hash/each", best.function, case) if best else "not in this run"


def single(length: int) -> list[Key]:
    return [
        Key("hash/single", "blake3", str(length), label="crate blake3"),
        Key("hash/single", "blake3-update_rayon", str(length), label="crate blake3, all threads"),
    ]


def each(case: str) -> list[Key]:
    return [
        one_by_one(case),
        Key("hash/each", "blake3-rayon", case, label="crate blake3, all threads"),
    ]


def one_by_one(case: str) -> Key:
    """The crate is called once for each message. The bench says why short messages are measured in several
    processes."""
    short = case.endswith(("x64B", "..64B"))
    label = "crate blake3, best of ten process starts" if short else "crate blake3"
    return Key("hash/each", "blake3", case, label=label)


def one_thread(case: str) -> list[Key]:
    many = "its kernel for lists of one length (not documented)"
    return [one_by_one(case), Key("hash/each", "blake3-hash_many", case, label=many)]


# Lists of the lengths that the rows of single messages have.
SHOWN = {"100x65536B", "1000x65536B"}


def lists(run: Run) -> list[Row]:
    """Lists of every length of the bench: Sordino's time, and the crate called once for each message."""
    rows = []
    cases = {m.parameter for m in run.group("hash/each") if m.function == "blake3"} - SHOWN
    for case in sorted(cases, key=lambda case: [int(n) for n in re.findall("[0-9]+", case)][::-1]):
        best = detected(run, "hash/each", HASH_BACKENDS, case)
        ours: Key | str = Key("hash/each", best.function, case) if best else "not in this run"
        rows.append(Row(case, None, ours, one_thread(case)))
    for m in sorted(run.group("hash/tree"), key=lambda m: (m.function, int(m.parameter))):
        label = f"tree of {int(m.parameter):,} digests, {m.function}"
        rows.append(Row(label, None, Key("hash/tree", m.function, m.parameter)))
    return rows


def section(run: Run) -> str:
    return "\n\n".join(
        [
            "# ML-DSA verification",
            "![ML-DSA](../plots/mldsa.svg)",
            f"## {SET}, messages of 64 bytes",
            "Each row is the time to verify one signature, or a batch, on one thread. A ratio in brackets is the time of a column divided by Sordino's.",
            compare(run, batches()),
            notes(
                "In a batch, Sordino expands each key once, and computes with several signatures at once by SIMD instructions. No key of a batch was seen before, so all times of batches include the expansion of their keys.",
                "In rows such as `8 signatures, 8 keys`, each signature has its own key.",
                "libcrux stores nothing of a key between calls. Its cells for one key therefore repeat the figure for many keys. "
                "AWS-LC stores a key as bytes, and expands it in each call.",
                "Times of AWS-LC and circl are the least medians of five windows, with the windows of other rows between them. Their rows for a key as "
                "bytes, and for many keys, time the same call, so they share the least time.",
            ),
            "## ML-DSA-44 and ML-DSA-65, messages of 64 bytes",
            "Cells are as in the first table.",
            compare(run, sets()),
        ]
    ) + native(run)


STATED = [
    ["one signature", time(54.605e3), "-"],
    *([f"{n} signatures", *map(time, BATCHES[n])] for n in (32, 128)),
]


def reference(_: Run) -> str:
    return "\n\n".join(
        [
            "The table has the reference's times to verify signatures: one after the other, or on 16 threads. Our figures are in the [chapter](signatures.md).",
            markdown(["ML-DSA-87", "sequential", "16 threads"], STATED),
            notes(
                "The reference shares no work between signatures.",
                "The reference's library (`pqcrypto`, from PQClean's AVX2 code) omitted the norm check of z. This library fails 50 of 244 Wycheproof "
                "and ACVP cases for this parameter set, mostly by accepting forgeries. We do not compare Sordino with it, because it does less than a "
                "verification.",
            ),
        ]
    )


def blake3(run: Run) -> str:
    return "\n\n".join(
        [
            "## BLAKE3",
            "![BLAKE3](../plots/blake3.svg)",
            "Each row is the time to hash one message, or a list of messages. `threads` in a row, or `all threads` in a column, means all threads; all other "
            "figures are for one thread. A ratio such as 1.09x is a peer's time divided by Sordino's.",
            compare(run, hashes(run), stated=True),
            notes(
                "For one message, Sordino calls the official crate `blake3`. For a message of 65 to 1,024 bytes, Sordino uses its own portable code if this code is faster.",
            ),
            "The next table is for lists of messages on one thread, and for hash trees. `4096x256B` is a list of 4,096 messages of 256 bytes. `its kernel` is a function of the crate `blake3`.",
            compare(run, lists(run)),
            notes(
                "For messages of one length in whole blocks, at most 1,024 bytes, Sordino calls `its kernel` too. In addition, Sordino reads addresses and lengths, and copies digests.",
            ),
        ]
    )


def hash_reference(_: Run) -> str:
    return "\n\n".join(
        [
            "The [chapter](hashing.md#blake3) has the reference's figures next to ours.",
            notes(
                "The reference's figure of 154 µs for 1 MB is for a batch by SIMD, which hashes 64 KB in 21.1 µs.",
            ),
        ]
    )
