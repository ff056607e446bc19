"""Each mode on each set of vectors: rows of `sordino bench`."""

from __future__ import annotations

from compare.run import GENERATED, Run
from compare.table import digits, markdown, notes, size, time

REFERENCE_N = 100_000
TEN_MILLION = 10_000_000
MODES = ("masked", "routed", "open", "sealed", "local")
BELOW = "The [first page](README.md#where-sordino-loses) lists the rows whose recall is below this value."
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
    bytes counts. If it was built several times, the build with the median time counts."""
    found = builds(run, set_name, n)
    return [median(found[name]) for name in sorted(found, key=rank)]


def builds(run: Run, set_name: str, n: int) -> dict[str, list[dict]]:
    """The builds of each mode. Each build has a file of its own."""
    found: dict[str, dict[str, dict]] = {}
    for row in run.modes:
        if (row["set"], row["n"]) == (set_name, n) and (n == TEN_MILLION or not row["payloads"]):
            files, file = found.setdefault(label(row), {}), row.get("file", "")
            if file not in files or session_bytes(row) < session_bytes(files[file]):
                files[file] = row
    return {name: list(files.values()) for name, files in found.items()}


def median(rows: list[dict]) -> dict:
    """The row with the median time, or the slower of two such rows."""
    return sorted(rows, key=lambda row: row["search_ms"])[len(rows) // 2]


def one(run: Run, set_name: str, n: int, mode: str) -> dict | None:
    return next((row for row in of(run, set_name, n) if row["mode"] == mode), None)


def with_texts(run: Run, set_name: str, n: int, mode: str) -> dict | None:
    found = [row for row in run.modes if (row["set"], row["n"], row["mode"]) == (set_name, n, mode) and row["payloads"]]
    return median(found) if found else None


# How a search fetches its texts, by the name in the reports of `sordino`.
FETCHED = {"downloaded": "texts downloaded once", "PIR": "texts by PIR with a hint", "scan": "texts by a scan", "no hint": "texts by PIR without a hint"}


def fetched(way: str | None) -> str:
    return FETCHED.get(way or "", way or "-")


def real(run: Run) -> tuple[str, int] | None:
    """The set of real vectors for the first page: SIFT, or else the first."""
    found = [item for item in sets(run) if item[0] not in GENERATED and item[1] >= LEAST]
    return next((item for item in found if item[0] == "sift"), found[0] if found else None)


def title(row: dict) -> str:
    return row["about"] or f"{row['set'].capitalize()} vectors"


def below(run: Run) -> list[list[str]]:
    """A row for each mode that did not reach the planned recall on a set."""
    found = []
    for name, n in sets(run):
        texts = [row for mode in MODES if n != TEN_MILLION and (row := with_texts(run, name, n, mode))]
        for rows, words in ((of(run, name, n), ""), (texts, ", ten texts")):
            masked = next((time(row["search_ms"] * 1e6) for row in rows if row["mode"] == "masked"), "-")
            for row in rows:
                if n >= LEAST and row["recall"] < PLANNED:
                    found.append([f"{title(row)}: {n:,} x {row['dim']}", label(row) + words, f"{row['recall']:.3f}", f"**{time(row['search_ms'] * 1e6)}**", masked])
    return found


def sizes(run: Run, set_name: str) -> list[int]:
    return sorted({row["n"] for row in run.modes if row["set"] == set_name})


def sets(run: Run) -> list[tuple[str, int]]:
    """The sets by their sizes, with generated sets first."""
    found = {(row["set"], row["n"]) for row in run.modes}
    return sorted(found, key=lambda item: (item[0] not in GENERATED, item[0], item[1]))


HEAD = ("", "recall@10", "a search", "of it in the server", "bytes a search", "bytes once", "build", "a search with ten texts")
# The recall for which a build chooses clusters or buckets.
PLANNED = 0.95
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
            rows.append([f"**{title(found[0])}: {n:,} x {found[0]['dim']}**", *[""] * (len(HEAD) - 1)])
            rows += [cells(run, row) for row in found]
    return markdown(HEAD, rows)


def repeated(run: Run) -> list[str]:
    """A sentence for each mode that was built several times."""
    found = []
    for name, n in sets(run):
        for mode, rows in builds(run, name, n).items():
            if len(rows) > 1:
                times, recalls = sorted(row["search_ms"] * 1e6 for row in rows), sorted(row["recall"] for row in rows)
                found.append(
                    f"We built {mode} mode on {n:,} {name} vectors {len(rows)} times. A search takes {time(times[0])} to {time(times[-1])}, with a recall of "
                    f"{recalls[0]:.3f} to {recalls[-1]:.3f}. The table has the build with the median time."
                )
    return found


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
                f"Times are medians. The build plans sealed and routed mode for a recall of {PLANNED}.",
                *([BELOW] if below(run) else []),
                *repeated(run),
                "In the last column, a search also fetches ten texts, in the way that the build found quickest. All other columns are for searches that find only ids.",
                "Each cell of the last column is of a second build. A build in sealed or routed mode draws at random, so the recall and the times "
                "of two builds differ.",
                *([LARGEST] if any(row["n"] == TEN_MILLION for row in run.modes) else []),
            ),
        ]
    )
