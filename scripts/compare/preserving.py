"""Format-preserving encryption."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Optional

from compare.run import Run
from compare.table import Key, digits, markdown, notes, ratio, time

PLATFORMS = ("i7-6700K", "EPYC 7443P", "i9-13900H", "Apple M2")
DIGITS = ("6", "9", "16")

# implementation: for each platform the microseconds at 6, 9 and 16 digits; None is the
# reference's N/A, the same as n>=25 for the shorter lengths, or a row that the platform lacks
NONE = (None, None, None)
Figures = tuple[Optional[float], Optional[float], Optional[float]]
ENCRYPT: dict[str, tuple[Figures, ...]] = {
    "pyffx": (
        (51.914, 56.122, 73.006),
        (61.629, 67.412, 76.586),
        (30.322, 33.315, 37.443),
        (26.618, 28.667, 32.322),
    ),
    "FF3 [Python]": (
        (54.579, 63.967, 96.836),
        (63.780, 76.411, 107.523),
        (27.472, 32.223, 43.259),
        (19.991, 23.373, 30.379),
    ),
    "Riffpe(n=10) [Python]": (
        (127.865, 188.436, 390.088),
        (162.363, 243.875, 428.628),
        (77.401, 115.720, 205.259),
        (66.334, 99.297, 172.861),
    ),
    "Riffpe(n=100) [Python]": (
        (225.472, None, 664.142),
        (277.747, None, 731.346),
        (151.648, None, 402.287),
        (148.368, None, 386.732),
    ),
    "Riffpe(n=1000) [Python]": (
        (1502.005, 2269.606, None),
        (1809.771, 2727.125, None),
        (1127.369, 1694.292, None),
        (1128.111, 1690.559, None),
    ),
    "Riffpe(n=10000) [Python]": ((None, None, 42792.584), (None, None, 47411.452), NONE, NONE),
    "RiffpeX(n>=16) [Python]": (
        (None, None, 321.957),
        (None, None, 423.106),
        (None, None, 207.591),
        (None, None, 180.426),
    ),
    "RiffpeX(n>=25) [Python]": (
        (137.044, 199.421, 338.040),
        (171.904, 255.220, 440.679),
        (86.993, 131.247, 220.760),
        (80.953, 120.203, 199.180),
    ),
    "RiffpeX(n>=50) [Python]": (
        (225.091, 267.334, 453.032),
        (282.372, 335.735, 580.938),
        (152.052, 180.682, 307.306),
        (150.878, 173.839, 292.212),
    ),
    "FF1 [Go]": (
        (23.283, 23.204, 23.299),
        (4.456, 4.488, 4.584),
        (124.659, 125.131, 122.621),
        (2.382, 2.421, 2.488),
    ),
    "FF3 [Go]": (
        (25.733, 26.076, 26.685),
        (6.477, 6.725, 7.291),
        (125.639, 127.159, 125.315),
        (3.911, 4.064, 4.407),
    ),
    "Riffpe(n=10) [native]": (
        (4.763, 6.251, 9.710),
        (3.935, 5.634, 9.579),
        (3.238, 4.652, 7.929),
        (7.301, 10.813, 18.484),
    ),
    "Riffpe(n=100) [native]": (
        (27.973, None, 71.189),
        (28.766, None, 75.430),
        (27.777, None, 71.519),
        (40.410, None, 105.504),
    ),
    "Riffpe(n=1000) [native]": (
        (271.570, 405.294, None),
        (277.895, 415.899, None),
        (281.902, 421.978, None),
        (345.125, 510.369, None),
    ),
    "Riffpe(n=10000) [native]": ((None, None, 7420.863), (None, None, 7454.046), NONE, NONE),
    "RiffpeX(n>=16) [native]": (
        (None, None, 19.137),
        (None, None, 19.193),
        (None, None, 17.816),
        (None, None, 31.035),
    ),
    "RiffpeX(n>=25) [native]": (
        (11.267, 16.104, 24.505),
        (10.694, 15.772, 24.893),
        (10.101, 14.894, 23.183),
        (16.374, 24.317, 38.865),
    ),
    "RiffpeX(n>=50) [native]": (
        (28.578, 29.571, 48.447),
        (28.911, 29.843, 49.644),
        (27.821, 28.459, 47.027),
        (40.797, 43.079, 71.560),
    ),
}
DECRYPT: dict[str, tuple[Figures, ...]] = {
    "pyffx": (
        (52.056, 56.111, 73.487),
        (61.774, 67.652, 76.926),
        (30.432, 33.566, 37.965),
        (26.674, 28.794, 32.382),
    ),
    "FF3 [Python]": (
        (54.701, 63.954, 97.146),
        (63.882, 76.461, 107.446),
        (27.512, 31.966, 42.708),
        (20.092, 23.278, 30.310),
    ),
    "Riffpe(n=10) [Python]": (
        (132.180, 195.109, 405.968),
        (168.225, 252.713, 445.224),
        (79.975, 119.841, 212.891),
        (68.838, 103.064, 179.522),
    ),
    "Riffpe(n=100) [Python]": (
        (235.247, None, 701.644),
        (293.218, None, 781.403),
        (153.913, None, 412.937),
        (153.957, None, 401.617),
    ),
    "Riffpe(n=1000) [Python]": (
        (1586.106, 2402.143, None),
        (1953.737, 2955.538, None),
        (1173.245, 1764.721, None),
        (1169.572, 1758.535, None),
    ),
    "Riffpe(n=10000) [Python]": ((None, None, 44878.311), (None, None, 50609.615), NONE, NONE),
    "RiffpeX(n>=16) [Python]": (
        (None, None, 335.044),
        (None, None, 442.164),
        (None, None, 214.145),
        (None, None, 187.644),
    ),
    "RiffpeX(n>=25) [Python]": (
        (142.399, 208.563, 353.481),
        (179.773, 267.006, 462.168),
        (88.383, 133.596, 227.754),
        (84.116, 124.942, 207.467),
    ),
    "RiffpeX(n>=50) [Python]": (
        (234.778, 281.338, 477.145),
        (297.835, 355.148, 616.637),
        (154.226, 184.108, 315.728),
        (156.333, 180.785, 304.449),
    ),
    "FF1 [Go]": (
        (23.051, 23.068, 23.129),
        (4.607, 4.605, 4.654),
        (124.141, 124.710, 122.655),
        (2.469, 2.487, 2.544),
    ),
    "FF3 [Go]": (
        (25.705, 26.107, 26.681),
        (6.618, 6.876, 7.435),
        (126.313, 127.375, 125.389),
        (4.006, 4.192, 4.500),
    ),
    "Riffpe(n=10) [native]": (
        (4.424, 5.823, 9.155),
        (3.501, 5.020, 8.648),
        (3.055, 4.437, 7.607),
        (6.952, 10.291, 17.636),
    ),
    "Riffpe(n=100) [native]": (
        (24.619, None, 67.043),
        (18.586, None, 56.490),
        (19.804, None, 60.257),
        (34.235, None, 94.426),
    ),
    "Riffpe(n=1000) [native]": (
        (271.401, 406.170, None),
        (253.468, 388.475, None),
        (275.531, 416.476, None),
        (334.273, 498.141, None),
    ),
    "Riffpe(n=10000) [native]": ((None, None, 7465.919), (None, None, 7478.778), NONE, NONE),
    "RiffpeX(n>=16) [native]": (
        (None, None, 16.872),
        (None, None, 14.044),
        (None, None, 13.301),
        (None, None, 28.556),
    ),
    "RiffpeX(n>=25) [native]": (
        (9.434, 13.725, 21.744),
        (7.108, 10.667, 17.524),
        (6.536, 10.100, 17.422),
        (14.359, 21.421, 34.687),
    ),
    "RiffpeX(n>=50) [native]": (
        (25.139, 26.220, 44.788),
        (18.701, 19.873, 35.125),
        (19.873, 20.858, 37.587),
        (34.629, 37.094, 63.182),
    ),
}


# Sordino's functions, in the order of the chapter. A batch's time is per record.
OURS = (
    ("ff1", "Sordino FF1, with a plan", False),
    ("ff1-no-plan", "Sordino FF1, without a plan", False),
    ("ff1-batch", "Sordino FF1, one of 1,024 records", True),
    ("ff1-batch-tweak-each", "Sordino FF1, one of 1,024 records, each with its own tweak", True),
    ("ff3", "Sordino FF3", False),
    ("ff3-1", "Sordino FF3-1", False),
    *((f"riffpe-{n}", f"Sordino Riffpe(n={n})", False) for n in (10, 100, 1000, 10000)),
    ("riffpe-10-batch", "Sordino Riffpe(n=10), one of 1,024 records", True),
    *((f"riffpex-{n}", f"Sordino RiffpeX(n>={n})", False) for n in (16, 25, 50)),
)
# Each peer, and Sordino's function with which its ratio is made: the function that prepares in a call what the peer
# prepares in a call. The bench has no such function of FF3 and FF3-1, so these peers have no ratio.
PEERS = (
    ("ff1-fpe-crate", "FF1, crate fpe", "ff1-no-plan"),
    ("ff1-ubiq-go", "FF1, ubiq (Go)", "ff1-no-plan"),
    ("ff1-capitalone-go", "FF1, capitalone (Go)", "ff1-no-plan"),
    ("ffx-pyffx-python", "FFX, pyffx (Python)", "ff1"),
    ("ff3-capitalone-go", "FF3, capitalone (Go)", None),
    ("ff3-1-ubiq-go", "FF3-1, ubiq (Go)", None),
    ("ff3-python", "FF3, ff3 (Python)", None),
)

def table(run: Run) -> str:
    """Encryption at each length: Sordino's figures, then the peers of this run."""

    def ours(function: str, each: bool = False) -> list[float | None]:
        return [Key("fpe/encrypt", function, length, each).time(run) for length in DIGITS]

    rows = [[label, *(f"**{time(ns)}**" if ns else "-" for ns in ours(function, each))] for function, label, each in OURS]
    for function, label, to in PEERS:
        bases = ours(to) if to else [None] * len(DIGITS)
        cells = [time(ns) + (f" ({ratio(ns, base)})" if ns and base else "") for ns, base in zip(ours(function), bases)]
        rows.append([label, *cells])
    return markdown(["encrypt", *(f"{n} digits" for n in DIGITS)], rows)


# One row of each kind from Riffpe's.
SHOWN = ("Riffpe(n=100) [native]", "RiffpeX(n>=25) [native]")


def spread(pairs: Iterable[tuple[float | None, float | None]]) -> str:
    """The smallest and the largest quotient of the two numbers of each pair."""
    ratios = [other / one for one, other in pairs if one and other]
    return f"{min(ratios):.2f} to {max(ratios):.2f} times" if ratios else ""


def decryption(run: Run) -> list[str]:
    """The time of decryption, compared with encryption."""

    def of(functions: Iterable[str]) -> str:
        keys = [(Key("fpe/encrypt", f, n), Key("fpe/decrypt", f, n)) for f in functions for n in DIGITS]
        return spread((there.time(run), back.time(run)) for there, back in keys)

    ours, theirs = of(function for function, *_ in OURS), of(function for function, *_ in PEERS)
    return [f"Decryption takes {ours} as long as encryption in Sordino's rows, and {theirs} in the peers' rows."] if ours and theirs else []


def stated() -> str:
    """For each length, the lowest figure of the reference's platforms, in microseconds."""
    rows = [[name, *(digits(us) if us else "-" for us in at)] for name, at in least().items() if "Riffpe" not in name or name in SHOWN]
    return markdown(["encrypt, µs", *(f"{n} digits" for n in DIGITS)], rows)


def least() -> dict[str, list[float | None]]:
    return {name: [min((us for us in at if us), default=None) for at in zip(*platforms)] for name, platforms in ENCRYPT.items()}


def section(run: Run) -> str:
    return "\n\n".join(
        [
            "# Format-preserving encryption",
            "![FPE](../plots/fpe.svg)",
            "Each cell is the time to encrypt one string of decimal digits, on one thread. In rows `one of 1,024 records`, one call encrypts 1,024 strings, and the "
            "cell is the time for each. A ratio compares a peer with Sordino's row of the same cipher and length. For Riffpe, `n` is the radix of the digits inside the cipher. RiffpeX chooses radices of at least `n`.",
            table(run),
            notes(
                *decryption(run),
                "A *plan* holds what Sordino prepares once for all strings of one length. The crate `fpe`, ubiq and capitalone prepare this in each call, so we compare their FF1 with Sordino's row `without a plan`.",
                "Sordino's rows of FF3 and FF3-1 have a plan too. Their peers prepare each call.",
                "pyffx is FFX over HMAC-SHA1, without a tweak and without AES. It is made for one length, so we compare pyffx with FF1 with a plan, Sordino's closest cipher.",
                "FF3 and FF3-1 are broken, and Riffpe has [no security proof](../../crates/fpe/README.md#security).",
                "In the rows of Riffpe and RiffpeX for single records, input and output are integers instead of strings. Inside these ciphers, each possible value of a digit gets a pseudorandom label of 16 bytes, so large radices take longer.",
                "Times of peers in Go and Python are the least medians of five windows, with the windows of other rows between them.",
                "A dash marks a length for which the cipher is not defined.",
            ),
        ]
    )


def reference(_: Run) -> str:
    pairs = ((there, back) for name in ENCRYPT for one, other in zip(ENCRYPT[name], DECRYPT[name]) for there, back in zip(one, other))
    return "\n\n".join(
        [
            f"Each row is an implementation. Each cell is the time to encrypt one string of digits: the lowest figure of four platforms ({', '.join(PLATFORMS)}). A dash marks a figure that the reference lacks.",
            stated(),
            notes(
                f"Decryption takes {spread(pairs)} as long as encryption.",
                "The `Go` rows call Go packages from Python, so they measure mostly the binding. The [chapter](fpe.md) calls these packages from Go.",
                "The `native` rows include a Python call too. No registry has the Riffpe library, so it is not a peer here. For n = 100, the "
                "library's current code is three to four times faster than these figures.",
            ),
        ]
    )
