"""Vectors by the recipe of the example's built-in sets (`datasets/README.md`), from another generator: the same
distributions, other vectors."""

from collections.abc import Iterator

import numpy as np

DIM, QUERIES = 128, 100
CLUSTERS, DIRECTIONS = 400, 12
PART = 100_000


def unit(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(
        x / np.linalg.norm(x, axis=1, keepdims=True), dtype=np.float32
    )


def uniform(n: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(42).standard_normal
    return unit(draw((n, DIM))), unit(draw((QUERIES, DIM)))


def clustered_parts(n: int) -> Iterator[np.ndarray]:
    """The queries, and then the vectors in parts. All vectors together need much memory."""
    rng = np.random.default_rng(42)
    scale = DIM**-0.5
    mean = rng.standard_normal(DIM) * scale * 0.7
    centres = mean + rng.standard_normal((CLUSTERS, DIM)) * scale * 0.7
    lengths = 0.45 / np.sqrt(np.arange(1, DIRECTIONS + 1))
    frames = rng.standard_normal((CLUSTERS, DIRECTIONS, DIM)) * scale * lengths[:, None]
    weights = 1 / (np.arange(CLUSTERS) + 10)
    for count in (QUERIES, *(min(PART, n - first) for first in range(0, n, PART))):
        chosen = rng.choice(CLUSTERS, size=count, p=weights / weights.sum())
        along = rng.standard_normal((count, DIRECTIONS))
        noise = rng.standard_normal((count, DIM)) * scale * 0.12
        x = centres[chosen] + noise + np.einsum("qd,qdx->qx", along, frames[chosen])
        yield unit(x)


def clustered(n: int) -> tuple[np.ndarray, np.ndarray]:
    queries, *parts = clustered_parts(n)
    return np.concatenate(parts), queries
