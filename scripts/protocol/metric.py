"""Frames, metrics and the public rotation: sections 5 and 6 of docs/protocol."""

import math
import struct

import numpy as np

from keys import ChaCha

COSINE, INNER_PRODUCT, EUCLIDEAN = 0, 1, 2


def length(vector):
    """The length. Squares are added in double precision, in the order of coordinates."""
    squares = 0.0
    for x in vector:
        squares += float(x) * float(x)
    return math.sqrt(squares)


def normalise(vector):
    norm = length(vector)
    if norm == 0.0 or not math.isfinite(norm):
        return None
    return (np.asarray(vector, np.float64) / norm).astype(np.float32)


def lengths(vectors):
    """The lengths of the rows of a matrix."""
    return np.sqrt((np.asarray(vectors, np.float64) ** 2).sum(axis=1))


class Frame:
    """The frame to which stored vectors are relative: a centre, and bases in the rotated space relative to that
    centre."""

    def __init__(self, metric, dim, rotation, content):
        self.metric, self.dim, self.rotation = metric, dim, rotation
        self.bound, _, count = struct.unpack_from("<hIH", content)
        numbers = np.frombuffer(content, "<f4", offset=8)
        if not 1 <= count <= (1 if metric == COSINE else 256) or len(numbers) != dim + count * rotation.dim:
            raise ValueError("a frame of another length")
        # In this form, the comparison also refuses values that are not numbers.
        if not (-140 <= self.bound <= 81 and (np.abs(numbers) <= np.float32(2.0**82)).all()):
            raise ValueError("a frame beyond its bounds")
        numbers = numbers.astype(np.float64)
        self.centre, self.bases = numbers[:dim], numbers[dim:].reshape(count, rotation.dim)
        self.mean = self.rotated(self.centre)

    def rotated(self, vector):
        """The image of a vector of `dim` coordinates. The coordinates that the metric adds are zero."""
        padded = np.zeros(self.rotation.dim, np.float32)
        padded[: self.dim] = vector
        return self.rotation.apply(padded).astype(np.float64)

    def known(self, bases):
        """Numbers of bases. The first base replaces one that does not exist."""
        return np.where(bases < len(self.bases), bases, 0)

    def nearest(self, vector):
        return int(np.argmin(lengths(self.bases - vector)))


class Asked:
    """A query: its vector, and the order in which the returned scores rank records."""

    def __init__(self, frame, vector):
        vector = np.asarray(vector, np.float32)
        if len(vector) != frame.dim or not np.isfinite(vector).all():
            raise ValueError(f"expected {frame.dim} finite coordinates")
        norm = length(vector)
        if frame.metric != COSINE and norm > (2.0**46 if frame.metric == INNER_PRODUCT else 2.0**80):
            raise ValueError("a vector that is too long")
        if norm == 0.0 and frame.metric != EUCLIDEAN:
            raise ValueError("the zero vector has no direction")
        self.frame, self.norm, wide = frame, norm, vector.astype(np.float64)
        if frame.metric != INNER_PRODUCT:
            whole = norm if frame.metric == COSINE else 1.0
            self.p = frame.rotated(wide / whole - frame.centre)
            self.far, self.squares = length(self.p), lengths(self.p - frame.bases) ** 2
            unit = normalise(self.p)
            self.unit = np.eye(1, len(self.p), dtype=np.float32)[0] if unit is None else unit
        else:
            self.p = frame.rotated(wide / norm)
            self.products = frame.bases @ self.p
            self.top, self.middle = self.products.max(), frame.centre @ wide / norm
            self.unit = self.p.astype(np.float32)

    def lifted(self):
        """The vector with which lifted unit vectors, such as centroids, are scored."""
        if self.frame.metric == INNER_PRODUCT:
            return self.unit
        if self.frame.metric == COSINE:
            return normalise((self.p + self.frame.mean).astype(np.float32))
        longest, rotation = 2.0**self.frame.bound, self.frame.rotation
        weight = math.sqrt((self.far / longest) ** 2 + 0.5)
        added = rotation.apply(np.eye(1, rotation.dim, self.frame.dim, dtype=np.float32)[0])
        return (self.p / (longest * weight) - added * (math.sqrt(0.5) / weight)).astype(np.float32)

    def keys(self, scores, bases, scales, constants):
        """The keys by which records are ranked, larger for nearer records, from the scores of their residuals' directions."""
        scores, bases = np.asarray(scores, np.float64), self.frame.known(bases)
        if self.frame.metric != INNER_PRODUCT:
            squares = scales * (constants - 2 * self.far * scores) + self.squares[bases]
            return (-np.sign(squares) * np.sqrt(np.abs(squares))).astype(np.float32)
        return (scales * scores + self.products[bases] - self.top).astype(np.float32)

    def score(self, key):
        """A key's score in the metric."""
        key = float(key)
        if self.frame.metric == EUCLIDEAN:
            return np.float32(-key) if key <= 0 else np.finfo(np.float32).tiny
        if self.frame.metric == COSINE:
            return np.float32(max(1.0 - min(key, 0.0) ** 2 / 2, -1.0))
        return np.float32(self.norm * (key + self.top + self.middle))


def exponents(least, step, codes):
    """The scales that codes of one byte stand for."""
    if step == 0 or not -1000 <= least <= 720:
        raise ValueError("scales beyond their bounds")
    e = np.minimum(least + (codes.astype(np.int64) - 1) * step, 728)
    eighths = np.array([2.0 ** (eighth / 8) for eighth in range(8)])
    scales = np.ldexp(eighths[e % 8], e // 8).astype(np.float32)
    return np.where(codes == 0, np.float32(0), scales).astype(np.float64)


def numbers(least, bits, codes):
    """The lengths that codes of two bytes stand for."""
    if bits not in (8, 10, 12, 14) or not -120 <= least <= 120:
        raise ValueError("lengths beyond their bounds")
    steps = np.maximum(codes.astype(np.int64) - 1, 0)
    parts = 1.0 + (steps % (1 << bits)) / (1 << bits)
    found = np.ldexp(parts, least + steps // (1 << bits))
    return np.where(codes == 0, 0.0, found)


def entry(metric):
    """The fields of each row in a segment's scales."""
    if metric == COSINE:
        return np.dtype([("code", "<u2")])
    return np.dtype([("base", "u1"), ("code", "u1")] + [("constant", "<f4")] * (metric == EUCLIDEAN))


def scales_len(n, metric):
    return 3 + n * entry(metric).itemsize


def scales(metric, n, content):
    """Base, scale and constant of each row."""
    if len(content) != scales_len(n, metric):
        raise ValueError("the scales of other rows")
    rows = np.frombuffer(content, entry(metric), offset=3)
    if metric == COSINE:
        head, codes = struct.unpack_from("<hB", content), rows["code"].astype(np.int64)
        found = numbers(*head, codes)
        before = np.where(codes == 1, found, numbers(*head, np.maximum(codes - 1, 0)))
        middle = (found + before) / 2
        constants = np.divide(middle * middle, found, out=np.zeros(n), where=found > 0)
        return np.zeros(n, np.int64), found, constants.astype(np.float32).astype(np.float64)
    constants = rows["constant"].astype(np.float64) if metric == EUCLIDEAN else np.zeros(n)
    if not np.isfinite(constants).all():
        raise ValueError("a constant that is no number")
    return rows["base"].astype(np.int64), exponents(*struct.unpack_from("<hB", content), rows["code"]), constants


def hadamard(x):
    """The Walsh-Hadamard transform of a power-of-two length, in single precision, without scaling."""
    half = 1
    while half < len(x):
        pairs = x.reshape(-1, 2, half)
        x = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return x


class Rotation:
    """Three rounds of signs, Hadamard blocks and a permutation, drawn from a public seed."""

    def __init__(self, dim, seed):
        self.dim, words, self.rounds = dim, ChaCha(seed), []
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
