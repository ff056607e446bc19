"""Vectors by the recipe of the example's built-in sets (`datasets/README.md`), from another generator: the same
distributions, other vectors."""

import numpy as np

DIM, QUERIES = 128, 100
CLUSTERS, DIRECTIONS = 400, 12


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
