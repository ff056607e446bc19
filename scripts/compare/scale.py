"""Sizes that no machine of the run can hold: from measured pieces and list prices."""

from __future__ import annotations

from compare import modes, rates, served
from compare.run import Run
from compare.table import markdown, notes, size, time

SIZES = (100_000_000, 1_000_000_000)
MEASURED = 1_000_000
# Assumptions in dollars: list prices of general-purpose machines on demand, and of bytes that leave a large cloud.
CORE_HOUR, CORE_BYTES, OUT_GB = 0.05, 4e9, 0.09
MONTH_HOURS, MONTH_SEARCHES, DOWNLOAD_SEARCHES = 730, 1e6, 1000
SHARD_BYTES = 64e9


def planned(run: Run, n: int, mode: str) -> dict | None:
    plans = (plan for plan in run.plans if (plan["n"], plan["queries"], plan["line"]) == (n, 100, rates.RATES[1] * 1e6))
    return next((each for plan in plans for each in plan["modes"] if each["mode"] == mode), None)


def row(run: Run, n: int, mode: str) -> list[str] | None:
    plan, small = planned(run, n, mode), planned(run, MEASURED, mode)
    measured, process = modes.one(run, "clustered", MEASURED, mode), served.of(run, MEASURED, mode)
    if not (plan and small and measured and process):
        return None
    seconds = plan["server_ms"] * measured["server_ms"] / small["server_ms"] / 1e3
    memory = process["server_bytes"] * n / MEASURED
    up, down = (plan[f"bytes_{way}"] * measured[f"bytes_{way}"] / small[f"bytes_{way}"] for way in ("up", "down"))
    shards = max(1, round(memory / SHARD_BYTES + 0.5))
    searching = MONTH_SEARCHES * seconds / 3600 * CORE_HOUR
    holding = memory / CORE_BYTES * CORE_HOUR * MONTH_HOURS
    sending, first = (MONTH_SEARCHES * each / 1e9 * OUT_GB for each in (down, plan["bytes_once"] / DOWNLOAD_SEARCHES))
    cost = max(searching, holding) + sending + first
    return [
        f"{n:,}, {mode}",
        time(seconds * 1e9),
        size(up + down),
        size(plan["bytes_once"]),
        size(memory),
        f"{shards:,}",
        f"{searching:,.0f}, {holding:,.0f}, {sending:,.0f}, {first:,.0f}",
        f"**{cost:,.0f}**",
    ]


HEAD = (
    "simulated",
    "server's processor time a search",
    "bytes a search",
    "bytes once",
    "servers' memory",
    "shards",
    "dollars a month: searching, holding, sending, first downloads",
    "in all",
)
ASSUMED = (
    ("searches a month", f"{MONTH_SEARCHES:,.0f}"),
    ("searches of a client for each download of `bytes once`", f"{DOWNLOAD_SEARCHES:,}"),
    ("one processor core of a general-purpose machine, with its memory", f"{CORE_HOUR:.2f} dollars an hour"),
    ("memory of such a core", size(CORE_BYTES)),
    ("bytes that leave the cloud", f"{OUT_GB:.2f} dollars for each GB"),
    ("hours of a month", f"{MONTH_HOURS}"),
    ("memory of a shard", size(SHARD_BYTES)),
)
LARGE = ("recall@10", "a search", "of it in the server", "bytes up", "bytes down", "bytes once", "build")


def largest(run: Run) -> str:
    """The largest size that was measured, if it is larger than the sizes of other tables."""
    n = max(modes.sizes(run, "clustered"), default=0)
    if n <= MEASURED:
        return "This run did not measure ten million vectors, because they need 20 GiB of free memory."
    return f"The largest index that this run measured has {n:,} vectors: [between two processes](#between-two-processes-with-texts)."


def section(run: Run) -> str:
    rows = [found for n in SIZES for mode in ("masked", "routed") if (found := row(run, n, mode))]
    if not rows:
        return "## Beyond one machine\n\nAbsent: this run has no plans of such sizes."
    return "\n\n".join(
        [
            "## Beyond one machine",
            largest(run),
            "We did not build the indexes of the next table, which have 128 dimensions. Each row is an index; its numbers scale up what this run measured at a million vectors.",
            markdown(HEAD, rows),
            "The table rests on these assumptions. The prices are typical of the list prices of large clouds in 2026, for rent by the hour; they are no provider's offer:",
            markdown(["assumption", "value"], ASSUMED),
            notes(
                "`searching` is the rent of processor time for the searches, and `holding` is the rent of memory for a whole month. `sending` is the price of the bytes "
                "down of searches, and `first downloads` is the price of `bytes once`.",
                "The rented processors also search. `in all` is therefore the larger of `searching` and `holding`, plus `sending` and `first downloads`.",
                f"`sordino plan` predicts time and bytes for each size. We multiplied time and bytes of a search by a factor: at {MEASURED:,} vectors, "
                "the measurement divided by the prediction.",
                "For masked mode at ten million vectors, the tables above have measurements. They show how a larger index changes the time for each vector.",
                "Memory grows in proportion to the number of vectors. For 1,000 million vectors, `sordino plan` has no masked mode.",
            ),
        ]
    )
