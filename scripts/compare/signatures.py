"""ML-DSA verification and BLAKE3."""

from __future__ import annotations

import re

from compare.run import Run, at_level
from compare.table import Key, Row, compare, fastest, markdown, notes

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
EXPANDED = ("ml-dsa expanded", "fips204 expanded", "circl-go expanded")


def keys(group: str, functions: tuple[str, ...], parameter: str) -> list[Key]:
    return [Key(group, f, parameter) for f in functions]


def batches(run: Run) -> str:
    one = ("ml-dsa one key", "circl-go one key", "libcrux many keys", "aws-lc-rs many keys")
    many = ("libcrux many keys", "aws-lc-rs many keys", "circl-go many keys")
    rows = [
        Row(
            "one signature, key as bytes",
            54.605e3,
            Key("mldsa/verify", "sordino fresh", SET),
            keys("mldsa/verify", FRESH, SET),
        ),
        Row(
            "one signature, key expanded before",
            54.605e3,
            Key("mldsa/verify", "sordino expanded", SET),
            keys("mldsa/verify", EXPANDED, SET),
        ),
    ]
    for n, (sequential, parallel) in BATCHES.items():
        case = f"{SET}x{n}"
        rows += [
            Row(
                f"{n} signatures, sequential; ours: one key",
                sequential,
                Key("mldsa/batch", "sordino one key", case),
                keys("mldsa/batch", one, case),
            ),
            Row(
                f"{n} signatures, sequential; ours: {n} keys",
                sequential,
                Key("mldsa/batch", "sordino many keys", case),
                keys("mldsa/batch", many, case),
            ),
            Row(
                f"{n} signatures, 16 threads; ours: one key, all threads here",
                parallel,
                Key("mldsa/batch", "sordino one key, rayon", case),
            ),
            Row(
                f"{n} signatures, 16 threads; ours: {n} keys, all threads here",
                parallel,
                Key("mldsa/batch", "sordino many keys, rayon", case),
            ),
        ]
    return compare(run, rows)


def rates(run: Run) -> str:
    """The reference's signatures per second."""
    rows = []
    for n, text in ((32, "18,144 / 95,163"), (64, "18,011 / 111,060"), (128, "17,945 / 119,500")):
        cells = [f"{n} signatures", text]
        for function in ("sordino one key", "sordino many keys", "sordino one key, rayon"):
            ns = Key("mldsa/batch", function, f"{SET}x{n}").time(run)
            cells.append(f"**{n / ns * 1e9:,.0f}**" if ns else "absent: not in this run")
        rows.append(cells)
    return markdown(
        [
            "verifications a second",
            "reference, sequential / 16 threads",
            "Sordino, one key",
            "Sordino, many keys",
            "one key, all threads",
        ],
        rows,
    )


def sets(run: Run) -> str:
    """The other parameter sets, which the reference does not have."""
    rows = []
    for name in ("ML-DSA-44", "ML-DSA-65"):
        rows += [
            Row(
                f"{name}, key as bytes",
                None,
                Key("mldsa/verify", "sordino fresh", name),
                keys("mldsa/verify", FRESH, name),
            ),
            Row(
                f"{name}, 32 signatures of one key",
                None,
                Key("mldsa/batch", "sordino one key", f"{name}x32"),
                keys("mldsa/batch", ("ml-dsa one key", "libcrux many keys"), f"{name}x32"),
            ),
        ]
    return compare(run, rows)


def native(run: Run) -> str:
    """The same calls in a build for this machine's processor alone."""
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
        return "Absent: not in this run (`SORDINO_BENCH_NATIVE=1 scripts/bench.sh`)."
    return compare(run, rows)


def hashes(run: Run) -> str:
    rows = [
        Row(
            "one message, 1 KB (estimate for Go: about 800 ns)",
            803.82,
            Key("hash/single", "sordino", "1024"),
            single(1024),
        ),
        Row(
            "one message, 64 KB (Go: about 29 µs)",
            29.16e3,
            Key("hash/single", "sordino", "65536"),
            single(65536),
        ),
        Row(
            "one message, 64 KB, the reference's SIMD batch",
            21.1e3,
            Key("hash/single", "sordino", "65536"),
            single(65536),
        ),
        Row(
            "one message, 1 MB (Go: about 461 µs)",
            460.96e3,
            Key("hash/single", "sordino", "1048576"),
            single(1048576),
        ),
        Row(
            "one message, 1 MB, the reference's SIMD batch",
            154.3e3,
            Key("hash/single", "sordino-rayon", "1048576"),
            single(1048576),
            note="(all threads)",
        ),
        Row(
            "one message, 16 MB, threads (Go: about 7.4 ms)",
            1.063e6,
            Key("hash/single", "sordino-rayon", "16777216"),
            single(16777216),
            note="(all threads)",
        ),
        Row(
            "1,000 messages of 64 KB, threads",
            7.449e6,
            Key("hash/each", "sordino-rayon", "1000x65536B"),
            each("1000x65536B"),
            note="(all threads)",
        ),
        Row(
            "100 messages of 64 KB, threads",
            1.41e6,
            Key("hash/each", "sordino-rayon", "100x65536B"),
            each("100x65536B"),
            reference_text="about 1.4 ms (4.33 GiB/s)",
            note="(all threads)",
        ),
        Row(
            "the same, no threads",
            5.4e6,
            each_on_one_thread(run, "100x65536B"),
            one_thread("100x65536B"),
            reference_text="5.4 ms (calculated from 3.84x)",
        ),
    ]
    for case, label in (
        ("100000x64B", "100,000 messages of 64 B (no row there)"),
        ("256x1024B", "256 messages of 1 KB (no row there)"),
        ("10000x0..2048B", "10,000 messages of 0 to 2,048 B (no row there)"),
    ):
        rows.append(Row(label, None, each_on_one_thread(run, case), one_thread(case)))
    return compare(run, rows)


def each_on_one_thread(run: Run, case: str) -> Key | str:
    best = fastest(run, "hash/each", HASH_BACKENDS, case)
    return Key("hash/each", best.function, case) if best else "not in this run"


def single(length: int) -> list[Key]:
    return [
        Key("hash/single", "blake3", str(length), label="crate blake3"),
        Key("hash/single", "blake3-update_rayon", str(length), label="the same, all threads"),
    ]


def each(case: str) -> list[Key]:
    return [
        one_by_one(case),
        Key("hash/each", "blake3-rayon", case, label="the same, all threads"),
    ]


def one_by_one(case: str) -> Key:
    """The crate called for each message; the bench says why short ones are measured in several processes."""
    short = case.endswith(("x64B", "..64B"))
    label = "crate blake3, best of ten process starts" if short else "crate blake3"
    return Key("hash/each", "blake3", case, label=label)


def one_thread(case: str) -> list[Key]:
    many = "its kernel for lists of one length (not documented)"
    return [one_by_one(case), Key("hash/each", "blake3-hash_many", case, label=many)]


def lists(run: Run) -> str:
    """Lists of every length of the bench: the best of ours, and the crate called for each message."""
    rows = []
    cases = {m.parameter for m in run.group("hash/each") if m.function == "blake3"}
    for case in sorted(cases, key=lambda case: [int(n) for n in re.findall("[0-9]+", case)][::-1]):
        best = fastest(run, "hash/each", HASH_BACKENDS, case)
        ours: Key | str = Key("hash/each", best.function, case) if best else "not in this run"
        rows.append(Row(f"{case}, one thread", None, ours, one_thread(case)))
    for m in sorted(run.group("hash/tree"), key=lambda m: (m.function, int(m.parameter))):
        label = f"tree of {int(m.parameter):,} digests, {m.function}"
        rows.append(Row(label, None, Key("hash/tree", m.function, m.parameter)))
    return compare(run, rows) if rows else "Absent: not in this run."


def section(run: Run) -> str:
    return "\n\n".join(
        [
            "## ML-DSA verification",
            "![ML-DSA](plots/mldsa.svg)",
            f"### {SET}, messages of 64 bytes",
            batches(run),
            notes(
                "Another machine: Apple M4 Max, 16 threads in its parallel rows; here the threads named at the head.",
                "The reference verifies one signature after the other and shares nothing. ML-DSA has no algebraic batching: what Sordino "
                "shares is the expansion of a key that several signatures have in common, and the lanes of the processor, so that the "
                "verdicts are those of single verification. Compare `one key` only where a deployment has few keys; `many keys` has a "
                "new key for each signature.",
                "The library that the reference uses (`pqcrypto`, from PQClean's AVX2 code) left out the norm check of z: of the "
                "Wycheproof and ACVP cases for this parameter set it gets 50 of 244 wrong, most of them forgeries accepted. It is therefore "
                "not among the peers: its time is for less than a verification.",
                "Its Go column is an estimate equal to its own sequential figures; circl is measured here in its place.",
                "Zero allocations: the reference's batch builds a vector and a string for each item. Sordino's tests count its own: none in `verify_each` after the first batch.",
                "libcrux and AWS-LC keep nothing of a key between calls, so that their `many keys` figure is their figure for one key too; AWS-LC needs `--features aws-lc`.",
            ),
            "### Verifications a second",
            rates(run),
            "The reference prints these figures in thousands; they are too large by that factor there.",
            "### Other parameter sets (no rows in the reference)",
            sets(run),
            "### Built with `-C target-cpu=native` (no rows in the reference)",
            native(run),
            "## BLAKE3",
            "![BLAKE3](plots/blake3.svg)",
            hashes(run),
            notes(
                "For one message Sordino calls the official crate, or its own portable code where that is measured to be faster on the "
                "processor at hand. For lists of one length of whole blocks it calls that crate's kernel for them, which is public but not "
                "documented. The gain over one call for each message is in lists of messages of up to "
                "4 KB, of equal or mixed lengths, which the reference does not have: its batch hashes one message after the other on each thread.",
                "The reference divides some of its figures from others (16 MB with threads stands beside 1 MB without); each row here names what it is.",
            ),
            "### Lists of every length, and trees (no rows in the reference)",
            lists(run),
        ]
    )
