#!/usr/bin/env python3
"""Runs the ann-benchmarks module next to faiss, with queries one at a time, in one process.

    pip install sordino faiss-cpu
    python python/benches/ann/run.py [--sift BASE.npy QUERIES.npy] [--n 100000]

The sets are uniform and clustered vectors made here, and files. Recall is of ten results against exact search. Prints
a table in Markdown. faiss sees queries and vectors; its rows say what privacy costs.
"""

import argparse
import importlib.util
import sys
import time
import types
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
K = 10


class BaseANN:
    """The part of ann-benchmarks' base class that is used here."""

    def get_additional(self):
        return {}

    def done(self):
        pass


def module():
    """The module as ann-benchmarks loads it: within its packages."""
    base = types.ModuleType("ann_benchmarks.algorithms.base.module")
    base.BaseANN = BaseANN
    for name in ("ann_benchmarks", "ann_benchmarks.algorithms", "ann_benchmarks.algorithms.base"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = []
    sys.modules["ann_benchmarks.algorithms.base.module"] = base
    spec = importlib.util.spec_from_file_location(
        "ann_benchmarks.algorithms.sordino.module", HERE / "sordino" / "module.py"
    )
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


class Faiss(BaseANN):
    """faiss on unit vectors: Flat, or IVF with 1024 lists and `probes` probes."""

    def __init__(self, probes=None):
        self._probes = probes
        self.name = "faiss Flat" if probes is None else f"faiss IVF1024, {probes} probes"

    def fit(self, X):
        import faiss

        X = units(X)
        if self._probes is None:
            self._index = faiss.IndexFlatIP(X.shape[1])
        else:
            quantiser = faiss.IndexFlatIP(X.shape[1])
            self._quantiser = quantiser
            self._index = faiss.IndexIVFFlat(quantiser, X.shape[1], 1024, faiss.METRIC_INNER_PRODUCT)
            self._index.train(X)
            self._index.nprobe = self._probes
        self._index.add(X)

    def query(self, q, n):
        return self._index.search(units(q.reshape(1, -1)), n)[1][0]


def units(X):
    X = np.asarray(X, np.float32)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def sets(arguments):
    rng = np.random.default_rng(1)
    n, dim = arguments.n, 128
    uniform = rng.standard_normal((n + 200, dim), dtype=np.float32)
    yield f"uniform {n} x {dim}", uniform[:-200], uniform[-200:]
    centres = rng.standard_normal((n // 100, dim), dtype=np.float32)
    places = rng.integers(len(centres), size=n + 200)
    clustered = centres[places] + 0.5 * rng.standard_normal((n + 200, dim), dtype=np.float32)
    yield f"clustered {n} x {dim}", clustered[:-200], clustered[-200:]
    for base, queries in arguments.sift or ():
        base = np.load(base)
        yield f"{Path(arguments.sift[0][0]).stem} {base.shape[0]} x {base.shape[1]}", base, np.load(queries)[:200]


def run(algorithm, base, queries, exact):
    start = time.perf_counter()
    algorithm.fit(base)
    build = time.perf_counter() - start
    algorithm.query(queries[0], K)
    found, times = [], []
    for query in queries:
        start = time.perf_counter()
        ids = algorithm.query(query, K)
        times.append(time.perf_counter() - start)
        found.append(ids)
    recall = np.mean([len(set(ids) & set(true)) / K for ids, true in zip(found, exact)])
    extra = algorithm.get_additional()
    algorithm.done()
    return recall, 1e3 * float(np.median(times)), build, extra


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--sift", nargs=2, action="append", metavar=("BASE", "QUERIES"))
    arguments = parser.parse_args()
    sordino = module().Sordino
    print("| set | algorithm | recall@10 | a query, ms | queries a second | build, s | bytes a query | bytes once |")
    print("|---|---|---|---|---|---|---|---|")
    for name, base, queries in sets(arguments):
        scores = units(queries) @ units(base).T
        exact = np.argpartition(-scores, K, axis=1)[:, :K]
        algorithms = [Faiss(), Faiss(16), Faiss(64)]
        algorithms += [sordino("angular", {"mode": mode}) for mode in ("masked", "open", "local")]
        for algorithm in algorithms:
            recall, ms, build, extra = run(algorithm, base, queries, exact)
            moved = extra.get("bytes_up", 0) + extra.get("bytes_down", 0)
            once = extra.get("bytes_once", 0)
            print(
                f"| {name} | {algorithm.name} | {recall:.4f} | {ms:.2f} | {1e3 / ms:.0f} | {build:.1f} "
                f"| {moved:,.0f} | {once:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
