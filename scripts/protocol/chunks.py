"""Sealed chunks and buckets: sections 8 and 9 of docs/protocol."""

import struct

import numpy as np

from metric import exponents, lengths, normalise

INT8, RESIDUAL6, RESIDUAL4, INT12 = range(4)
BITS = {INT8: 8, RESIDUAL6: 6, RESIDUAL4: 4, INT12: 12}
TAG = 16


def dots(rows, query):
    """Inner products in single precision, in sixteen partial sums: the same bits on every machine."""
    whole = rows.shape[1] // 16 * 16
    sums = np.zeros((len(rows), 16), np.float32)
    for at in range(0, whole, 16):
        sums += rows[:, at : at + 16] * query[..., at : at + 16]
    total, rest = np.zeros(len(rows), np.float32), np.zeros(len(rows), np.float32)
    for lane in range(16):
        total += sums[:, lane]
    for at in range(whole, rows.shape[1]):
        rest += rows[:, at] * query[..., at]
    return total + rest


def fixed(units):
    """Coordinates in 16-bit fixed point, to the nearest, ties to even."""
    one = np.float32(32767)
    return np.rint(np.clip(np.asarray(units, np.float32) * one, -one, one)).astype(np.int64)


def score(products):
    one = np.float32(32767)
    return products.astype(np.float32) / (one * one)


class Layout:
    """The shape of a bucket or chunk."""

    def __init__(self, dim, slots, codec):
        self.dim, self.slots, self.codec = dim, slots, codec
        self.vector_len = -(-dim * BITS[codec] // 8)
        # Codes of scalar codecs have base and scale before them, and the head defines the scales.
        self.scaled = codec in (INT8, INT12)
        self.head_len, self.front = (3, 2) if self.scaled else (dim + 4, 0)
        self.plain_len = 4 + self.head_len + slots * (4 + self.front + self.vector_len)
        self.sealed_len = self.plain_len + TAG
        self.shape = struct.pack(">IIB", dim, slots, BITS[codec])

    def read(self, plain, frame):
        """The rows of a bucket's content, their bases, and their residuals to the bases."""
        count = int.from_bytes(plain[:4], "little")
        if len(plain) != self.plain_len or count > self.slots:
            raise ValueError("a bucket of another form")
        head, entries = plain[4 : 4 + self.head_len], plain[4 + self.head_len :]
        entries = np.frombuffer(entries, np.uint8).reshape(self.slots, -1)[:count]
        rows, front, codes = np.split(entries, (4, 4 + self.front), axis=1)
        rows = rows.copy().view("<u4").reshape(-1).astype(np.int64)
        levels = self._levels(codes)
        if self.scaled:
            scales = exponents(*struct.unpack("<hB", head), front[:, 1])
            most = (1 << (BITS[self.codec] - 1)) - 1
            return rows, frame.known(front[:, 0].astype(np.int64)), levels * (scales / most)[:, None]
        left = self._units(head, levels) - frame.mean
        bases = np.array([frame.nearest(one) for one in left], np.int64)
        return rows, bases, left - frame.bases[bases]

    def _levels(self, codes):
        """The integers of codes, which are signed for scalar codecs."""
        bits = np.unpackbits(codes, axis=1, bitorder="little")[:, : self.dim * BITS[self.codec]]
        bits = bits.reshape(len(codes), self.dim, BITS[self.codec]).astype(np.int32)
        levels = (bits << np.arange(BITS[self.codec])).sum(axis=2)
        half = 1 << (BITS[self.codec] - 1)
        return np.where(levels >= half, levels - 2 * half, levels) if self.scaled else levels

    def _units(self, head, levels):
        """The unit vectors that codes relative to a bucket's centroid stand for."""
        step = np.frombuffer(head[-4:], "<f4")[0]
        middle = np.float32(((1 << BITS[self.codec]) - 1) / 2)
        vectors = unit_of_int8(head[:-4]) + (levels.astype(np.float32) - middle) * step
        norms = np.sqrt(np.concatenate([dots(row[None], row) for row in vectors] or [np.zeros(0, np.float32)]))
        scales = np.divide(np.float32(1), norms, out=np.zeros_like(norms), where=norms > 0)
        return vectors * scales[:, None]


class Residuals:
    """The differences of vectors and their bases, as directions, scales and constants."""

    def __init__(self, frame, bases, residuals):
        self.bases, self.scales = bases, lengths(residuals)
        # A row that equals its base has no direction. Only its scale of 0 counts.
        inverse = np.divide(1, self.scales, out=np.zeros_like(self.scales), where=self.scales > 0)
        self.units = fixed(residuals * inverse[:, None])
        self.constants = self.scales + 2 * (residuals * frame.bases[bases]).sum(axis=1) * inverse

    def keys(self, asked):
        scores = score(self.units @ fixed(asked.unit))
        return asked.keys(scores, self.bases, self.scales, self.constants)


def unit_of_int8(codes):
    unit = normalise(np.frombuffer(codes, np.int8).astype(np.float32))
    return np.zeros(len(codes), np.float32) if unit is None else unit
