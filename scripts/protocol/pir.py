"""SimplePIR, by which buckets and payloads are fetched: section 9 of docs/protocol."""

import math
import struct

import numpy as np

from column import hedge, read_bits
from ring import stream

HEAD = struct.Struct("<4sHBBQQQQQ")
PARAMS, HINT, QUERY, ANSWER = 1, 2, 3, 4
ANSWER_BITS = 12
# Number, n, sigma (None: uniform secrets), largest number of columns; in the order in which the sets are tried.
SETS = [(5, 64, None, 81), (6, 128, None, 174), (7, 256, None, 360), (8, 384, None, 547), (9, 512, None, 733)]
SETS += [(1, 1024, 32, None), (2, 1024, 16, None)]


class Params:
    """A layout of records, and the set that is used for it."""

    def __init__(self, records, record_len, per_column):
        self.records, self.record_len, self.per_column = records, record_len, per_column
        self.rows, self.columns = per_column * record_len, -(-records // per_column)
        for self.number, self.n, self.sigma, most in SETS:
            if (most is None or self.columns <= most) and self._round():
                return
        raise ValueError("no set serves this layout")

    def _round(self):
        least = 32 if self.sigma is None else 20
        for self.hint_bits in range(least, 33):
            if self._failure(32) <= -40:
                break
        else:
            return False
        self.query_bits = next(bits for bits in range(24, 33) if self._failure(bits) <= -40)
        return True

    def _failure(self, query_bits):
        """An upper bound on log2 of the probability that a record is wrong."""
        sigma2 = (2.0**20 - 1) / 12 if self.sigma is None else float(self.sigma) ** 2
        rounding = lambda bits: 0.0 if bits == 32 else 4.0 ** (32 - bits) / 12
        radius = 2.0**23 - (64.0 * self.columns if self.sigma is None else 0.0) - 2.0**19
        variance = self.columns * 128.0**2 * (sigma2 + rounding(query_bits))
        variance += 1.25 * self.n * rounding(self.hint_bits) * sigma2
        if radius <= 0:
            return 0.0
        digit = min(1.0 - radius**2 / (2 * math.log(2) * variance), 0.0)
        return min(digit + math.log2(self.record_len), 0.0)

    def head(self, kind, payload):
        fields = (self.records, self.record_len, self.per_column, 0, payload)
        return HEAD.pack(b"SPIR", 1, kind, self.number, *fields)

    def length(self, count, bits):
        return HEAD.size + -(-(count * bits) // 8)

    @property
    def hint_len(self):
        return self.length(self.rows * self.n, self.hint_bits)

    @property
    def query_len(self):
        return self.length(self.columns, self.query_bits)

    @property
    def answer_len(self):
        return self.length(self.rows, ANSWER_BITS)

    def read(self, kind, message, count, bits):
        """The words of a message, if it belongs to this layout."""
        payload = message[HEAD.size :]
        if message[: HEAD.size] != self.head(kind, self.length(count, bits) - HEAD.size):
            raise ValueError("a PIR message of another layout")
        return read_bits(payload, count, 8 * bits)[0].astype(np.uint32)


def write_bits(words, bits):
    ones = words[:, None] >> np.arange(bits, dtype=np.uint32) & np.uint32(1)
    return np.packbits(ones.astype(np.uint8).reshape(-1), bitorder="little").tobytes()


class Gaussian:
    """The table T[k] = floor(2^128 P(|x| >= k)) of a discrete Gaussian, in fixed point of 224 bits."""

    def __init__(self, sigma):
        one = 1 << 224
        term, n, g = one, 0, 0
        while term:
            g += term if n % 2 == 0 else -term
            n += 1
            term = term // (sigma * sigma) // (2 * n)
        densities, density, step, square = [one], one, g, g * g >> 224
        while density := density * step >> 224:
            densities.append(density)
            step = step * square >> 224
        total = densities[0] + 2 * sum(densities[1:])
        tail, table = 0, []
        for density in reversed(densities[1:]):
            tail += density
            table.append((2 * tail << 128) // total)
        self.table = [entry for entry in table if entry]

    def magnitudes(self, data):
        """For each 128-bit number, the number of entries above it. The table is ascending here."""
        words = np.frombuffer(data, "<u8").reshape(-1, 2)
        found = np.zeros(len(words), np.int64)
        for entry in self.table:
            high, low = np.uint64(entry >> 64), np.uint64(entry & ((1 << 64) - 1))
            found += (words[:, 0] < high) | ((words[:, 0] == high) & (words[:, 1] < low))
        return found


class Secrets:
    """A secret and an error, made from one seed."""

    def __init__(self, params, seed):
        self.at, self.seed = 0, seed
        if params.sigma is None:
            low, high = self._uniform(params.n), self._uniform(params.n)
            self.s = (low + (high << 16)).astype(np.uint32)
            self.e = (self._uniform(params.columns) >> 6).astype(np.uint32)
        else:
            table = Gaussian(params.sigma)
            self.s = self._gaussian(table, params.n).astype(np.uint32)
            self.e = self._gaussian(table, params.columns).astype(np.uint32)

    def _take(self, length):
        """`length` bytes. Each call of the sampler begins on a whole block of the stream."""
        data = stream(self.seed, 0, self.at + length)[self.at :]
        self.at += -(-length // 16) * 16
        return data

    def _uniform(self, count):
        parts = [self._take(2 * min(2048, count - at)) for at in range(0, count, 2048)]
        return np.frombuffer(b"".join(parts), "<i2").astype(np.int64)

    def _gaussian(self, table, count):
        """Numbers from 16 bytes each, in steps of 64 and calls of 256, and then a bit for each sign."""
        parts = [min(256, count - at) for at in range(0, count, 256)]
        drawn = [table.magnitudes(self._take(16 * -(-part // 64) * 64))[:part] for part in parts]
        signs = self._take(-(-count // 8))
        negative = np.unpackbits(np.frombuffer(signs, np.uint8), bitorder="little")[:count]
        return np.concatenate(drawn) * (1 - 2 * negative.astype(np.int64))


class Client:
    """The matrix A and the hint of one database."""

    def __init__(self, params, seed, hint):
        self.params, self.seed = params, seed
        rows = [stream(seed, 1 << 56 | j, 4 * params.n) for j in range(params.columns)]
        self.a = np.frombuffer(b"".join(rows), "<u4").reshape(params.columns, params.n)
        words = params.read(HINT, hint, params.rows * params.n, params.hint_bits)
        self.hint = (words << np.uint32(32 - params.hint_bits)).reshape(params.rows, params.n)

    def query(self, indices, t, random):
        """The secret and the message of query number `t` of a batch for these records. `random` is 32 fresh bytes."""
        params = self.params
        number = lambda x: x.to_bytes(8, "little")
        fields = [b"\x01", params.head(PARAMS, 0), self.seed, number(0), number(t)]
        seed = hedge(random, "sordino-pir query", fields)
        seed.update(number(len(indices)) + b"".join(map(number, indices)))
        secret = Secrets(params, seed.digest())
        b = self.a @ secret.s + secret.e
        asked = np.arange(params.columns) == indices[t] // params.per_column
        b += asked.astype(np.uint32) << np.uint32(24)
        dropped = 32 - params.query_bits
        if dropped:
            wide = b.astype(np.uint64)
            odd = wide >> np.uint64(dropped) & np.uint64(1)
            wide = (wide + np.uint64((1 << (dropped - 1)) - 1) + odd) >> np.uint64(dropped)
            b = (wide & np.uint64((1 << params.query_bits) - 1)).astype(np.uint32)
        payload = params.query_len - HEAD.size
        return secret.s, params.head(QUERY, payload) + write_bits(b, params.query_bits)

    def recover(self, secret, index, answer):
        params = self.params
        words = params.read(ANSWER, answer, params.rows, ANSWER_BITS) << np.uint32(20)
        noisy = words - self.hint @ secret
        digits = ((noisy + np.uint32(1 << 23)) >> np.uint32(24)).astype(np.uint8) ^ np.uint8(128)
        slot = index % params.per_column
        return digits[slot * params.record_len :][: params.record_len].tobytes()
