"""faiss on one thread: the cost of a search that protects nothing.

The sets follow the recipe of the example's built-in ones (`datasets/README.md`), from another
generator: the same distributions, other vectors.
"""

import statistics
import time

import faiss
import numpy as np
from bench import emit

DIM, K, QUERIES = 128, 10, 100
SIZES = (5_000, 20_000, 100_000)
CLUSTERS, DIRECTIONS = 400, 12
PROBES = 16


def unit(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(
        x / np.linalg.norm(x, axis=1, keepdims=True), dtype=np.float32
    )


def uniform(n: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(42).standard_normal
    return unit(draw((n, DIM))), unit(draw((QUERIES, DIM)))


def clustered(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(42)
    scale = DIM**-0.5
    mean = rng.standard_normal(DIM) * scale * 0.7
    centres = mean + rng.standard_normal((CLUSTERS, DIM)) * scale * 0.7
    lengths = 0.45 / np.sqrt(np.arange(1, DIRECTIONS + 1))
    frames = rng.standard_normal((CLUSTERS, DIRECTIONS, DIM)) * scale * lengths[:, None]
    weights = 1 / (np.arange(CLUSTERS) + 10)
    chosen = rng.choice(CLUSTERS, size=n + QUERIES, p=weights / weights.sum())
    along = rng.standard_normal((n + QUERIES, DIRECTIONS))
    noise = rng.standard_normal((n + QUERIES, DIM)) * scale * 0.12
    x = centres[chosen] + noise + np.einsum("qd,qdx->qx", along, frames[chosen])
    return unit(x[:n]), unit(x[n:])


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
    index.train(base)
    index.add(base)
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
    )


def main() -> None:
    faiss.omp_set_num_threads(1)
    for n in SIZES:
        for set_name, (base, queries) in (
            ("uniform", uniform(n)),
            ("clustered", clustered(n)),
        ):
            exact = faiss.IndexFlatIP(DIM)
            exact.add(base)
            _, truth = exact.search(queries, K)
            for name, index in indexes(n).items():
                search(name, f"{set_name} {n}x{DIM}", index, base, queries, truth)


if __name__ == "__main__":
    main()
