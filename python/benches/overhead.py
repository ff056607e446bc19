#!/usr/bin/env python3
"""Measures the Python package: search, batches, build, memory, import, the wheel's size.

    python python/benches/overhead.py [--n 100000] [--dim 128] [--wheel sordino-....whl] [--cli sordino]

With `--cli`, a command line of the same profile, the same search and build in Rust are measured too, in
turns.
Prints JSON. Figures depend on the machine and on what else it does: run it on a quiet one.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

IMPORT = """
import time
start = time.perf_counter()
import sordino
print((time.perf_counter() - start) * 1e3)
"""

BUILD = """
import resource, sys, time
import numpy as np, sordino
vectors = np.load(sys.argv[1])
key = sordino.OwnerKey.load(sys.argv[3])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
sordino.build(sys.argv[2], vectors, key=key)
seconds = time.perf_counter() - start
print(seconds, vectors.nbytes, before * 1024, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def printed(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def median_ms(times):
    return round(1e3 * statistics.median(times), 3)


def imports(rounds=9):
    """Milliseconds of the import, and of an interpreter that imports nothing, each in a new process."""
    own = [float(printed(sys.executable, "-c", IMPORT)) for _ in range(rounds)]
    return round(statistics.median(own), 1)


def searches(index, key, queries, rounds):
    """A search through Python against the native call beneath it, in turns; then batches."""
    import sordino

    with sordino.Client(index, key=key) as client:
        native = client._native
        one = [queries[at : at + 1] for at in range(len(queries))]
        whole, beneath, server = [], [], []
        for at in range(rounds):
            query = one[at % len(one)]
            start = time.perf_counter()
            result = client.search(query)
            middle = time.perf_counter()
            native.search(query, 10)
            end = time.perf_counter()
            whole.append(middle - start)
            beneath.append(end - middle)
            server.append(result.server_ms / 1e3)
        start = time.perf_counter()
        for query in one[:100]:
            client.search(query)
        singles = time.perf_counter() - start
        start = time.perf_counter()
        client.search(queries[:100])
        batch = time.perf_counter() - start
    return {
        "search_ms": median_ms(whole),
        "native_ms": median_ms(beneath),
        "server_ms": median_ms(server),
        "100_one_by_one_s": round(singles, 3),
        "100_in_a_batch_s": round(batch, 3),
    }


SEARCH = """
import sys, time
import numpy as np, sordino
queries = np.load(sys.argv[3])
with sordino.Client(sys.argv[1], key=sordino.OwnerKey.load(sys.argv[2])) as client:
    client.search(queries[0])
    times = []
    for query in queries:
        start = time.perf_counter()
        client.search(query)
        times.append(time.perf_counter() - start)
print(sorted(times)[len(times) // 2] * 1e3)
"""


def beside_rust(index, key_path, queries_path, cli, rounds):
    """The median of a search through Python and in the command line, in new processes that take turns."""
    python, rust = [], []
    for _ in range(rounds):
        python.append(float(printed(sys.executable, "-c", SEARCH, index, key_path, queries_path)))
        command = [cli, "--json", "query", "--index", index, "--key", key_path, "--file", queries_path]
        rust.append(json.loads(printed(*command))["search_ms_median"])
    pairs = sorted(ours - theirs for ours, theirs in zip(python, rust))
    return {
        "search_python_ms": round(statistics.median(python), 3),
        "search_rust_ms": round(statistics.median(rust), 3),
        "search_difference_ms": [round(pair, 3) for pair in pairs],
    }


BATCH = """
import os, sys, time
if sys.argv[4] == "1":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np, sordino
queries = np.load(sys.argv[3])[:100]
with sordino.Client(sys.argv[1], key=sordino.OwnerKey.load(sys.argv[2])) as client:
    client.search(queries[:4])
    times = []
    for _ in range(3):
        start, before = time.perf_counter(), time.process_time()
        client.search(queries)
        times.append((time.perf_counter() - start, time.process_time() - before))
    print(*min(times))
"""


def processors(index_path, key_path, queries_path, rounds):
    """Seconds of a batch of 100 on one processor and on all, in new processes that take turns; and the
    processor time of each, which other programs that run do not change."""
    times = {"1": [], "all": []}
    for _ in range(rounds):
        for which, runs in times.items():
            line = printed(sys.executable, "-c", BATCH, index_path, key_path, queries_path, which)
            runs.append(tuple(map(float, line.split())))
    (one, one_cpu), (all_, all_cpu) = (min(runs) for runs in times.values())
    return {
        "batch_one_processor_s": round(one, 3),
        "batch_all_processors_s": round(all_, 3),
        "batch_speedup": round(one / all_, 2),
        "batch_processor_seconds": [round(one_cpu, 3), round(all_cpu, 3)],
    }


def builds(folder, base, key_path, cli, rounds):
    """Builds from an array, each in a new process, in turns with the command line's."""
    python, rust, memory = [], [], []
    for at in range(rounds):
        line = printed(sys.executable, "-c", BUILD, base, folder / f"python{at}", key_path)
        seconds, vectors, before, after = map(float, line.split())
        python.append(seconds)
        memory.append((after - before) / 1e6)
        if cli:
            built = printed(cli, "--json", "index", "build", base, folder / f"rust{at}", "--key", key_path)
            rust.append(json.loads(built)["seconds"])
    found = {
        "build_s": round(statistics.median(python), 3),
        "peak_over_before_MB": round(statistics.median(memory)),
        "vectors_MB": round(vectors / 1e6),
    }
    if rust:
        found["rust_build_s"] = round(statistics.median(rust), 3)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--cli")
    arguments = parser.parse_args()
    found = {"n": arguments.n, "dim": arguments.dim, "cpus": os.cpu_count(), "import_ms": imports()}
    if arguments.wheel:
        found["wheel_MB"] = round(arguments.wheel.stat().st_size / 1e6, 1)

    import numpy as np

    import sordino

    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        base, asked = folder / "base.npy", folder / "queries.npy"
        np.save(base, rng.standard_normal((arguments.n, arguments.dim), dtype=np.float32))
        queries = rng.standard_normal((200, arguments.dim), dtype=np.float32)
        np.save(asked, queries)
        key = sordino.keygen()
        key.save(folder / "owner.key")
        found |= builds(folder, base, folder / "owner.key", arguments.cli, arguments.rounds)
        index = folder / "python0"
        found |= searches(index, key, queries, 40 * arguments.rounds)
        if arguments.cli:
            found |= beside_rust(index, folder / "owner.key", asked, arguments.cli, arguments.rounds)
        found |= processors(index, folder / "owner.key", asked, arguments.rounds)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
