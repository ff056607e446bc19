"""Each mode on each set of vectors: rows of `sordino bench`."""

from __future__ import annotations

from compare.run import GENERATED, Run
from compare.table import digits, markdown, notes, size, time

REFERENCE_N = 100_000
TEN_MILLION = 10_000_000
MODES = ("masked", "routed", "open", "sealed", "local")
LARGEST = (
    "For ten million vectors, searches of all columns also fetch ten texts, and another process built each index on all cores, from a file. The other builds used one core."
)


def label(row: dict) -> str:
    """The name of a mode. Sealed mode has two names, for its two ways to find buckets."""
    ways = {"downloaded": "sealed", "encrypted": "sealed, encrypted routing"}
    return ways.get(row["centroids"], "sealed") if row["mode"] == "sealed" else row["mode"]


def session_bytes(row: dict) -> float:
    """The bytes of a client that searches a hundred times."""
    return row["bytes_once"] + 100 * (row["bytes_up"] + row["bytes_down"])


def rank(name: str) -> tuple[int, str]:
    mode = name.split(",")[0]
    return (MODES.index(mode) if mode in MODES else len(MODES), name)


def of(run: Run, set_name: str, n: int) -> list[dict]:
    """The modes that were measured on one set, without texts except at the largest size. If a mode has several forms, only the form with the fewest
    bytes counts."""
    found: dict[str, dict] = {}
    for row in run.modes:
        if (row["set"], row["n"]) == (set_name, n) and (n == TEN_MILLION or not row["payloads"]):
            best = found.setdefault(label(row), row)
            if session_bytes(row) < session_bytes(best):
                found[label(row)] = row
    return [found[name] for name in sorted(found, key=rank)]


def one(run: Run, set_name: str, n: int, mode: str) -> dict | None:
    return next((row for row in of(run, set_name, n) if row["mode"] == mode), None)


def with_texts(run: Run, set_name: str, n: int, mode: str) -> dict | None:
    found = (row for row in run.modes if (row["set"], row["n"], row["mode"]) == (set_name, n, mode))
    return next((row for row in found if row["payloads"]), None)


def sizes(run: Run, set_name: str) -> list[int]:
    return sorted({row["n"] for row in run.modes if row["set"] == set_name})


def sets(run: Run) -> list[tuple[str, int]]:
    """The sets by their sizes, with generated sets first."""
    found = {(row["set"], row["n"]) for row in run.modes}
    return sorted(found, key=lambda item: (item[0] not in GENERATED, item[0], item[1]))


HEAD = ("", "recall@10", "a search", "of it in the server", "bytes a search", "bytes once", "build", "a search with ten texts")
# Only the pictures show smaller sets.
LEAST = 20_000


def cells(run: Run, row: dict) -> list[str]:
    brought = with_texts(run, row["set"], row["n"], row["mode"])
    return [
        label(row),
        f"**{row['recall']:.3f}**",
        f"**{time(row['search_ms'] * 1e6)}**",
        time(row["server_ms"] * 1e6) if row["server_ms"] else "none",
        size(row["bytes_up"] + row["bytes_down"]),
        size(row["bytes_once"]),
        f"{digits(row['build_s'])} s",
        time(brought["search_ms"] * 1e6) if brought else "-",
    ]


def table(run: Run) -> str:
    """The rows of a set follow a row with its name."""
    rows: list[list[str]] = []
    for name, n in sets(run):
        found = of(run, name, n)
        if found and n >= LEAST:
            title = found[0]["about"] or f"{name.capitalize()} vectors"
            rows.append([f"**{title}: {n:,} x {found[0]['dim']}**", *[""] * (len(HEAD) - 1)])
            rows += [cells(run, row) for row in found]
    return markdown(HEAD, rows)


def section(run: Run) -> str:
    parts = ["## Every mode on every set"]
    if not run.modes:
        return "\n\n".join([*parts, "Absent: this run did not measure the modes."])
    return "\n\n".join(
        [
            *parts,
            "Each row is a mode. A row with a bold name starts a set of vectors, with its number of vectors and dimensions. Server and client run in one process, on one thread. "
            "`bytes once` is the download before the first search.",
            table(run),
            notes(
                "Times are medians. The build plans sealed and routed mode for a recall of 0.95. On vectors without clusters, recall stays below this value.",
                "In the last column, a search also fetches ten texts, in the way that the build found quickest. All other columns are for searches that find only ids.",
                "Each cell of the last column is of a second build. A build in sealed or routed mode draws at random, so recall differs by up to 0.01 between two builds, and "
                "times differ with the number of clusters that a search reads.",
                *([LARGEST] if any(row["n"] == TEN_MILLION for row in run.modes) else []),
            ),
        ]
    )
