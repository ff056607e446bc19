"""faiss on one thread: the cost of a search that protects nothing."""

import statistics
import time
from collections.abc import Iterator

import faiss
import numpy as np
from bench import WINDOWS, emit
from sets import DIM, QUERIES, clustered, uniform

K = 10
SIZES = (100_000, 1_000_000)
PROBES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)
LINKS, CANDIDATES = 32, (16, 32, 64, 128)


def indexes(n: int, graph: bool) -> Iterator[tuple[str, faiss.Index]]:
    """Empty indexes. A graph of a million vectors takes many minutes to build on one thread."""
    yield "flat", faiss.IndexFlatIP(DIM)
    sq8 = faiss.ScalarQuantizer.QT_8bit
    yield "sq8", faiss.IndexScalarQuantizer(DIM, sq8, faiss.METRIC_INNER_PRODUCT)
    cells = max(16, round(n**0.5))
    flat = faiss.IndexFlatIP(DIM)
    yield "ivf", faiss.IndexIVFFlat(flat, DIM, cells, faiss.METRIC_INNER_PRODUCT)
    if graph:
        yield "hnsw", faiss.IndexHNSWFlat(DIM, LINKS, faiss.METRIC_INNER_PRODUCT)


def configured(name: str, index: faiss.Index) -> Iterator[str]:
    """The names of an index, after each change of how much a search reads."""
    if name == "ivf":
        for probes in PROBES:
            index.nprobe = probes
            yield f"ivf, {probes} probe{'s' if probes > 1 else ''}"
    elif name == "hnsw":
        for candidates in CANDIDATES:
            index.hnsw.efSearch = candidates
            yield f"hnsw, efSearch {candidates}"
    else:
        yield name


def build(index: faiss.Index, base: np.ndarray) -> dict[str, int]:
    start = time.perf_counter_ns()
    index.train(base)
    index.add(base)
    build_ns = time.perf_counter_ns() - start
    return {"build_ns": build_ns, "memory_bytes": faiss.serialize_index(index).nbytes}


def search(
    index: faiss.Index, queries: np.ndarray, truth: np.ndarray
) -> dict[str, float]:
    """The least median time of a query in a window, and the recall."""
    medians = []
    for _ in range(WINDOWS):
        times, found = [], 0
        for at in range(QUERIES):
            start = time.perf_counter_ns()
            _, ids = index.search(queries[at : at + 1], K)
            times.append(time.perf_counter_ns() - start)
            found += len(np.intersect1d(ids[0], truth[at]))
        medians.append(statistics.median(times))
    return {"median_ns": min(medians), "recall": found / (QUERIES * K)}


def main() -> None:
    faiss.omp_set_num_threads(1)
    for n in SIZES:
        for set_name in ("uniform", "clustered") if n == SIZES[0] else ("clustered",):
            base, queries = {"uniform": uniform, "clustered": clustered}[set_name](n)
            exact = faiss.IndexFlatIP(DIM)
            exact.add(base)
            _, truth = exact.search(queries, K)
            graph = n == SIZES[0] and set_name == "clustered"
            for name, index in indexes(n, graph):
                built = build(index, base)
                for full in configured(name, index):
                    parameter = f"{set_name} {n}x{DIM}"
                    found = search(index, queries, truth) | built
                    emit("search/plain", f"faiss-python {full}", parameter, **found)


if __name__ == "__main__":
    main()
