"""faiss on one thread: the cost of a search that protects nothing."""

import statistics
import time

import faiss
import numpy as np
from bench import emit
from sets import DIM, QUERIES, clustered, uniform

K = 10
SIZES = (100_000, 1_000_000)
PROBES = 16


def indexes(n: int) -> dict[str, faiss.Index]:
    cells = max(16, round(n**0.5))
    ivf = faiss.IndexIVFFlat(
        faiss.IndexFlatIP(DIM), DIM, cells, faiss.METRIC_INNER_PRODUCT
    )
    ivf.nprobe = PROBES
    sq8 = faiss.ScalarQuantizer.QT_8bit
    return {
        "faiss-python flat": faiss.IndexFlatIP(DIM),
        "faiss-python sq8": faiss.IndexScalarQuantizer(
            DIM, sq8, faiss.METRIC_INNER_PRODUCT
        ),
        f"faiss-python ivf, {PROBES} probes": ivf,
    }


def search(
    name: str,
    parameter: str,
    index: faiss.Index,
    base: np.ndarray,
    queries: np.ndarray,
    truth: np.ndarray,
) -> None:
    start = time.perf_counter_ns()
    index.train(base)
    index.add(base)
    build_ns = time.perf_counter_ns() - start
    times, found = [], 0
    for at in range(QUERIES):
        start = time.perf_counter_ns()
        _, ids = index.search(queries[at : at + 1], K)
        times.append(time.perf_counter_ns() - start)
        found += len(np.intersect1d(ids[0], truth[at]))
    recall = found / (QUERIES * K)
    emit(
        "search/plain",
        name,
        parameter,
        median_ns=statistics.median(times),
        recall=recall,
        build_ns=build_ns,
        memory_bytes=faiss.serialize_index(index).nbytes,
    )


def main() -> None:
    faiss.omp_set_num_threads(1)
    for n in SIZES:
        for set_name in ("uniform", "clustered") if n == SIZES[0] else ("clustered",):
            base, queries = {"uniform": uniform, "clustered": clustered}[set_name](n)
            exact = faiss.IndexFlatIP(DIM)
            exact.add(base)
            _, truth = exact.search(queries, K)
            for name, index in indexes(n).items():
                search(name, f"{set_name} {n}x{DIM}", index, base, queries, truth)


if __name__ == "__main__":
    main()
