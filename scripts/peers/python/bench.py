"""The code that the runners share: a clock, and one JSON object per measurement on stdout."""

import json
import statistics
import time
from collections.abc import Callable

SAMPLES = 15
SAMPLE_NS = 20_000_000


def emit(group: str, function: str, parameter: object, **fields: float) -> None:
    """Prints one measurement: `median_ns`, `bytes` or `recall`."""
    line = {"group": group, "function": function, "parameter": str(parameter)}
    print(json.dumps(line | fields), flush=True)


def median_ns(f: Callable[[], object]) -> float:
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


def measure(
    group: str, function: str, parameter: object, f: Callable[[], object]
) -> None:
    """Measures `f` and prints its time."""
    emit(group, function, parameter, median_ns=median_ns(f))
