"""The code that the runners share: a clock, and one JSON object per measurement on stdout."""

import json
import statistics
import time
from collections.abc import Callable

WINDOWS = 5
SAMPLES = 3  # of a window
SAMPLE_NS = 20_000_000

Call = Callable[[], object]
# The measurements that `run` makes
rows: list[tuple[str, str, object, Call]] = []


def emit(group: str, function: str, parameter: object, **fields: float) -> None:
    """Prints one measurement: `median_ns`, `bytes` or `recall`."""
    line = {"group": group, "function": function, "parameter": str(parameter)}
    print(json.dumps(line | fields), flush=True)


def window_ns(f: Call) -> float:
    """The median time of one call of `f`, over samples that each have a large number of calls."""
    f()
    start = time.perf_counter_ns()
    f()
    calls = SAMPLE_NS // (time.perf_counter_ns() - start + 1) + 1
    times = []
    for _ in range(SAMPLES):
        start = time.perf_counter_ns()
        for _ in range(calls):
            f()
        times.append((time.perf_counter_ns() - start) / calls)
    return statistics.median(times)


def measure(group: str, function: str, parameter: object, f: Call) -> None:
    """Adds a measurement of `f`."""
    rows.append((group, function, parameter, f))


def run() -> None:
    """Prints the least median of each measurement's windows. All other measurements lie between two windows of one, so
    that a slow moment of the machine counts in few of them."""
    rounds = [[window_ns(f) for *_, f in rows] for _ in range(WINDOWS)]
    for (group, function, parameter, _), windows in zip(rows, zip(*rounds)):
        emit(group, function, parameter, median_ns=min(windows))
