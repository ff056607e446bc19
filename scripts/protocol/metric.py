"""Metrics and the public rotation: sections 5 and 6 of docs/protocol.md."""

import math

import numpy as np

from keys import ChaCha

COSINE, INNER_PRODUCT, EUCLIDEAN = 0, 1, 2


def length(vector):
    """The length, summed up in double precision in the order of coordinates."""
    squares = 0.0
    for x in vector:
        squares += float(x) * float(x)
    return math.sqrt(squares)


def normalise(vector):
    norm = length(vector)
    if norm == 0.0 or not math.isfinite(norm):
        return None
    return (np.asarray(vector, np.float64) / norm).astype(np.float32)


def query(metric, bound, vector):
    """The unit vector that stands for a query, and the map from its scores to the metric's."""
    vector = np.asarray(vector, np.float32)
    if metric == EUCLIDEAN:
        longest = 2.0**bound
        square = (length(vector) / longest) ** 2
        weight = math.sqrt(square + 0.5)
        lifted = (vector.astype(np.float64) / longest / weight).astype(np.float32)
        unit = np.concatenate([lifted, np.array([-math.sqrt(0.5) / weight, 0.0], np.float32)])
        distance = lambda s: np.float32(longest * math.sqrt(max(square - math.sqrt(6) * weight * float(s), 0.0)))
        return unit, distance
    unit = normalise(vector)
    if unit is None:
        raise ValueError("the zero vector has no direction")
    if metric == COSINE:
        return unit, lambda s: np.float32(float(s))
    scale = 2.0**bound * length(vector)
    return np.append(unit, np.float32(0)), lambda s: np.float32(scale * float(s))


def hadamard(x):
    """The Walsh-Hadamard transform of a power-of-two length, in single precision, not scaled."""
    half = 1
    while half < len(x):
        pairs = x.reshape(-1, 2, half)
        x = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return x


class Rotation:
    """Three rounds of signs, Hadamard blocks and a permutation, drawn from a public seed."""

    def __init__(self, dim, seed):
        words, self.rounds = ChaCha(seed), []
        for _ in range(3):
            signs = np.array([1.0 if words.u32() & 1 == 0 else -1.0 for _ in range(dim)], np.float32)
            order = list(range(dim))
            for last in range(dim - 1, 0, -1):
                at = self._below(words, last + 1)
                order[last], order[at] = order[at], order[last]
            self.rounds.append((signs, np.array(order)))

    @staticmethod
    def _below(words, bound):
        most = (1 << 64) - 1
        zone = most - most % bound
        while (x := words.u64()) >= zone:
            pass
        return x % bound

    def apply(self, vector):
        x = np.array(vector, np.float32)
        for signs, order in self.rounds:
            x, at = x * signs, 0
            while at < len(x):
                size = 1 << ((len(x) - at).bit_length() - 1)
                scale = np.float32(1.0) / np.float32(math.sqrt(size))
                x[at : at + size] = hadamard(x[at : at + size]) * scale
                at += size
            x = x[order]
        return x


class Hashes:
    """The unscaled rotations H D3 H D2 H D1 of keyed hashes: of hashed routing, and of sketches."""

    def __init__(self, seed, dim, copies):
        self.size = max(64, 1 << (dim - 1).bit_length())
        words = ChaCha(seed, 1)
        count = 3 * self.size * copies // 64
        bits = np.frombuffer(words.take(8 * count), np.uint8)
        flips = np.unpackbits(bits, bitorder="little").astype(np.float32)
        self.signs = (1 - 2 * flips).reshape(copies, 3, self.size)

    def apply(self, vector):
        images = []
        for signs in self.signs:
            x = np.zeros(self.size, np.float32)
            x[: len(vector)] = vector
            for flip in signs:
                x = hadamard(x * flip)
            images.append(x)
        return np.concatenate(images)
