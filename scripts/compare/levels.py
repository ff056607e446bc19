"""Each kernel at each processor level of one machine. This shows what processors with fewer instructions reach."""

from __future__ import annotations

from compare.run import Run, at_level
from compare.table import Key, markdown, notes, ratio, time

# From the lowest to the highest.
LEVELS = ("portable", "avx2", "avx512", "amx", "neon")
# For each row: what is measured, group, parameter, and the bench's name of a level, in which {} is the level. If a
# bench also measures the fastest kernel of the machine under a name without a level, the last field is this name.
NAMED = (
    ("PIR, one answer, 128 MiB", "pir/answer", "128MiB", "{}", ""),
    ("PIR, hint of a database of 1 MB", "pir/hint", "1MB", "{}", ""),
    ("BLAKE3, 100,000 messages of 64 B", "hash/each", "100000x64B", "{}", ""),
    ("BLAKE3, 256 messages of 1 KiB", "hash/each", "256x1024B", "{}", ""),
    ("BLAKE3, 10,000 messages of 0 to 2,048 B", "hash/each", "10000x0..2048B", "{}", ""),
    ("LSH, hash of one vector of 128 dimensions", "lsh/hash", "128dims-128bits", "rotation-{}", ""),
    ("LSH, scan of 100,000 codes of 128 bits", "lsh/scan", "100000x128bits-top50", "{}", ""),
    *(
        (f"{s}, 32 signatures, {keys}", "mldsa/batch", f"{s}x32", f"sordino {{}} {keys}", f"sordino {keys}")
        for s in ("ML-DSA-65", "ML-DSA-87")
        for keys in ("one key", "many keys")
    ),
)
# The rows that are measured again with SORDINO_CPU at a lower level.
REPEATED = (
    ("encrypted scores of 64 vectors of 128 dimensions", "ckks/score", "row", "64x128"),
    ("encrypted scores of 10,000 vectors (open mode)", "ckks/column", "real/score", "10000x128"),
    ("encrypted scores of 10,000 vectors (open mode), 4 queries", "ckks/column", "real/score 4 queries", "10000x128"),
    ("encrypted scores of 10,000 vectors (masked mode)", "ckks/column", "modular/score", "10000x128"),
    ("number-theoretic transform, degree 2,048", "ntt/forward", "sordino", "2048"),
)


def measured(run: Run) -> tuple[str, ...]:
    """The levels that this machine supports."""
    return tuple(
        level for level in LEVELS if any(Key(group, form.format(level), parameter).time(run) for _, group, parameter, form, _ in NAMED)
    )


def named(run: Run) -> list[list[str]]:
    rows, levels = [], measured(run)
    for what, group, parameter, form, fastest in NAMED:
        times = {
            level: Key(group, form.format(level), parameter).time(run) for level in levels
        }
        detected = Key(group, fastest, parameter).time(run) if fastest else None
        rows.append(row(what, times, detected))
    return rows


def repeated(run: Run) -> list[list[str]]:
    rows, levels = [], measured(run)
    for what, group, function, parameter in REPEATED:
        times = {
            level: Key(at_level(group, level), function, parameter).time(run) for level in levels
        }
        rows.append(row(what, times, Key(group, function, parameter).time(run)))
    return rows


def row(what: str, times: dict[str, float | None], detected: float | None) -> list[str]:
    """The times, and the factor by which the detected level is faster than the portable definition. Without a measurement of what the processor
    chooses, the highest level counts, because programs choose it."""
    found = [ns for ns in times.values() if ns]
    best = detected or (found[-1] if found else None)
    return [
        what,
        *map(time, times.values()),
        f"**{time(best)}**" if best else "absent: not in this run",
        ratio(times.get("portable"), best),
    ]


def section(run: Run) -> str:
    head = ["kernel", *measured(run), "as detected", "portable / as detected"]
    return "\n\n".join(
        [
            "# Kernels by processor level",
            "Each row is the time of one kernel, on one thread. A column such as `avx2` is a processor level: its kernels use no newer instructions. For `as detected`, Sordino "
            "chooses the kernel. A dash marks a level that the benchmark does not measure separately.",
            markdown(head, [*named(run), *repeated(run)]),
            notes(
                "All levels give the same results, bit for bit.",
                "A processor without AVX-512, but with the same clock and caches, has the times of the column `avx2`.",
            ),
        ]
    )
