"""Sealed chunks and buckets: sections 8 and 9 of docs/protocol.md."""

import struct

import numpy as np

from metric import normalise

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
        self.frame_len = dim + 4 if codec in (RESIDUAL6, RESIDUAL4) else 0
        self.plain_len = 4 + self.frame_len + slots * (4 + self.vector_len)
        self.sealed_len = self.plain_len + TAG
        self.shape = struct.pack(">IIB", dim, slots, BITS[codec])

    def read(self, plain):
        """The rows and the unit vectors of a bucket's content."""
        count = int.from_bytes(plain[:4], "little")
        if len(plain) != self.plain_len or count > self.slots:
            raise ValueError("a bucket of another form")
        frame, entries = plain[4 : 4 + self.frame_len], plain[4 + self.frame_len :]
        entries = np.frombuffer(entries, np.uint8).reshape(self.slots, 4 + self.vector_len)[:count]
        rows = entries[:, :4].copy().view("<u4").reshape(-1)
        return rows, self._decode(frame, entries[:, 4:])

    def _decode(self, frame, codes):
        if self.codec == INT8:
            vectors = codes.view(np.int8).astype(np.float32)
        else:
            bits = np.unpackbits(codes, axis=1, bitorder="little")[:, : self.dim * BITS[self.codec]]
            bits = bits.reshape(len(codes), self.dim, BITS[self.codec]).astype(np.int32)
            levels = (bits << np.arange(BITS[self.codec])).sum(axis=2)
            if self.codec == INT12:
                vectors = np.where(levels >= 2048, levels - 4096, levels).astype(np.float32)
            else:
                centroid = unit_of_int8(frame[:-4])
                step = np.frombuffer(frame[-4:], "<f4")[0]
                middle = np.float32(((1 << BITS[self.codec]) - 1) / 2)
                vectors = centroid + (levels.astype(np.float32) - middle) * step
        norms = np.sqrt(np.concatenate([dots(row[None], row) for row in vectors] or [np.zeros(0, np.float32)]))
        scales = np.divide(np.float32(1), norms, out=np.zeros_like(norms), where=norms > 0)
        return vectors * scales[:, None]


def unit_of_int8(codes):
    unit = normalise(np.frombuffer(codes, np.int8).astype(np.float32))
    return np.zeros(len(codes), np.float32) if unit is None else unit
