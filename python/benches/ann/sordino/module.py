"""Sordino for ann-benchmarks: copy this folder to ann_benchmarks/algorithms/sordino.

Client and server run in one process, with real cryptography. Bytes of a query and bytes downloaded once are in
the extra attributes.
"""

import tempfile

import numpy as np
import sordino

from ..base.module import BaseANN

METRICS = {"angular": "cosine", "euclidean": "euclidean"}


class Sordino(BaseANN):
    """One mode of one index. `method_param` is a dict of keyword arguments of `sordino.build`."""

    def __init__(self, metric, method_param):
        if metric not in METRICS:
            raise NotImplementedError(f"Sordino doesn't support metric {metric}")
        self._metric = METRICS[metric]
        self._param = {"k": 10, **method_param}
        self._folder = tempfile.TemporaryDirectory()
        self._client = None
        self._answers = None
        self.name = f"Sordino({self._param})"

    def fit(self, X):
        key = sordino.keygen()
        index = sordino.build(
            f"{self._folder.name}/index", np.asarray(X), key=key, metric=self._metric, **self._param
        )
        self._client = sordino.Client(index, key=key.reader())

    def query(self, q, n):
        return self._client.search(q, k=n).ids[0]

    def batch_query(self, X, n):
        self._answers = self._client.search(X, k=n).ids

    def get_batch_results(self):
        return self._answers

    def get_additional(self):
        stats = self._client.stats()
        searches = max(1, stats["searches"])
        return {
            "bytes_up": stats["bytes_up"] / searches,
            "bytes_down": stats["bytes_down"] / searches,
            "bytes_once": stats["bytes_once"],
        }

    def done(self):
        if self._client is not None:
            self._client.close()
        self._folder.cleanup()

    def __str__(self):
        return self.name
