"""Pages by a scan of all of them: section 9.6 of docs/protocol."""

import struct

import numpy as np

import column
import ring
from column import hedge
from pir import Gaussian

N, RANK, SET, PIECE = 512, 3, 2, 128
Q = ring.Q40
PLAN = ring.Plan(Q, N)


class Params:
    """The sizes of a table of pages; `outer` is the set of the product of hint and secret."""

    def __init__(self, pages, length, fetched, outer):
        self.pages, self.length, self.fetched, self.outer = pages, length, fetched, outer
        self.polys = -(-pages // N)
        self.pieces = [min(PIECE, length - first) for first in range(0, length, PIECE)]
        blocks = sum(outer.blocks(rows * fetched) for rows in self.pieces)
        self.hint_len = 32 * len(self.pieces) + blocks * -(-(ring.N * outer.hint_eighths // 8) // 8)
        self.answer_len = 32 + -(-(length * fetched * outer.reply_bits) // 8)


class Client:
    """The public polynomials of a table, and its hint."""

    def __init__(self, params, seed, hint_seed, hint):
        self.params, self.seed = params, seed
        count = params.fetched * params.polys
        self.public = np.stack([ring.uniform(seed, i, Q, RANK * N).reshape(RANK, N) for i in range(count)])
        self.outer = column.Client(params.outer, hint_seed, RANK * N)
        for rows in params.pieces:
            blocks = params.outer.blocks(rows * params.fetched)
            length = 32 + blocks * -(-(ring.N * params.outer.hint_eighths // 8) // 8)
            self.outer.extend(hint[:length])
            hint = hint[length:]

    def query(self, pages, random):
        """The secret of the answer, and the message. `random` gives that many fresh random bytes."""
        p = self.params
        fields = [self.seed, np.array(pages, "<u8").tobytes()]
        seed = hedge(random(32), "scan", fields).digest()
        s = ring.ternary(seed, 0, RANK * N)
        values = PLAN.forward(PLAN.of_signed(s.reshape(RANK, N)))
        products = ring.multiply(self.public, values[None], Q).astype(object).sum(axis=1) % Q
        products = PLAN.inverse(products.astype(np.uint64)).astype(np.int64).reshape(p.fetched, -1)[:, : p.pages]
        count = p.fetched * p.pages
        drawn = ring.stream(seed, 1, 17 * count)
        errors = Gaussian(16).magnitudes(drawn[: 16 * count])
        signs = np.frombuffer(drawn[16 * count :], np.uint8) & 1
        errors = np.where(signs == 1, -errors, errors).reshape(p.fetched, p.pages)
        wanted = np.arange(p.pages)[None, :] == np.array(pages)[:, None]
        sums = (products + errors + wanted * (Q + 128 >> 8)) % Q
        words = [(int(x) << 33) + Q >> 1 for x in sums.reshape(-1)]
        words = np.array([x // Q & 0xFFFFFFFF for x in words], "<u4")
        epoch = int.from_bytes(self.seed[:8], "little")
        head = struct.pack("<4sBBHIIQ", b"SLWE", 1, SET, 0, p.fetched, p.pages, epoch)
        secret, sent = self.outer.encrypt(-s, random(32))
        return secret, head + words.tobytes() + sent

    def recover(self, secret, answer):
        """The pages that were asked for, in their order."""
        p = self.params
        values = self.outer.decrypt(secret, answer)
        values = ((values + (1 << 17) >> 18) & 0xFF).astype(np.uint8) ^ 0x80
        pages = [b""] * p.fetched
        for rows in p.pieces:
            own, values = values[: rows * p.fetched].reshape(p.fetched, rows), values[rows * p.fetched :]
            pages = [page + part.tobytes() for page, part in zip(pages, own)]
        return pages
