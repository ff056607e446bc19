"""Pages by a scan of all of them: section 9.6 of docs/protocol."""

import struct

import numpy as np

import column
import ring
from column import hedge
from hintless import LARGEST, Deal
from pir import Gaussian

N, RANK, SET, PIECE = 512, 3, 2, 128
Q = ring.Q40
PLAN = ring.Plan(Q, N)


class Params:
    """The sizes of a table of pages. `outer` is the parameter set for the product of hint and secret. With `copies`, the pages
    are dealt into slots. Otherwise each of the `fetched` groups has all pages.
    """

    def __init__(self, pages, length, fetched, copies, outer):
        self.length, self.copies, self.outer = length, copies, outer
        self.slots = 1 + sum(most < fetched for most in LARGEST[copies]) if copies else 1
        self.groups = copies * self.slots if copies else fetched
        if copies and (self.slots < 2 or self.groups > 64):
            raise ValueError("pages that are dealt into a number of slots that no owner chooses")
        self.columns = -(-pages // self.slots)
        self.polys = -(-self.columns // N)
        self.pieces = [min(PIECE, length - first) for first in range(0, length, PIECE)]
        blocks = sum(outer.blocks(rows * self.groups) for rows in self.pieces)
        self.hint_len = 32 * len(self.pieces) + blocks * -(-(ring.N * outer.hint_eighths // 8) // 8)
        self.answer_len = 32 + -(-(length * self.groups * outer.reply_bits) // 8)


class Client:
    """The public polynomials of a table, and its hint."""

    def __init__(self, params, seed, hint_seed, hint):
        self.params, self.seed = params, seed
        self.deal = Deal(seed, params.copies, params.slots) if params.copies else None
        count = params.groups * params.polys
        self.public = np.stack([ring.uniform(seed, i, Q, RANK * N).reshape(RANK, N) for i in range(count)])
        self.outer = column.Client(params.outer, hint_seed, RANK * N)
        for rows in params.pieces:
            blocks = params.outer.blocks(rows * params.groups)
            length = 32 + blocks * -(-(ring.N * params.outer.hint_eighths // 8) // 8)
            self.outer.extend(hint[:length])
            hint = hint[length:]

    def query(self, pages, random):
        """The secret state of the question, and the message. `random` returns the given number of fresh random
        bytes."""
        p = self.params
        # The page that each group fetches. About once in 2^40 requests, no group is free for a page, and the request then
        # leaves it out.
        of = self.deal.assign(pages) if self.deal else dict(enumerate(pages))
        wanted = np.zeros((p.groups, p.columns), bool)
        for group, page in of.items():
            wanted[group, page // p.slots] = True
        fields = [self.seed, np.array(pages, "<u8").tobytes()]
        seed = hedge(random(32), "scan", fields).digest()
        s = ring.ternary(seed, 0, RANK * N)
        values = PLAN.forward(PLAN.of_signed(s.reshape(RANK, N)))
        products = ring.multiply(self.public, values[None], Q).astype(object).sum(axis=1) % Q
        products = PLAN.inverse(products.astype(np.uint64)).astype(np.int64).reshape(p.groups, -1)[:, : p.columns]
        count = p.groups * p.columns
        drawn = ring.stream(seed, 1, 17 * count)
        errors = Gaussian(16).magnitudes(drawn[: 16 * count])
        signs = np.frombuffer(drawn[16 * count :], np.uint8) & 1
        errors = np.where(signs == 1, -errors, errors).reshape(p.groups, p.columns)
        sums = (products + errors + wanted * (Q + 128 >> 8)) % Q
        words = [(int(x) << 33) + Q >> 1 for x in sums.reshape(-1)]
        words = np.array([x // Q & 0xFFFFFFFF for x in words], "<u4")
        epoch = int.from_bytes(self.seed[:8], "little")
        head = struct.pack("<4sBBHIIQ", b"SLWE", 1, SET, 0, p.groups, p.columns, epoch)
        secret, sent = self.outer.encrypt(-s, random(32))
        return (secret, pages, of), head + words.tobytes() + sent

    def recover(self, asked, answer):
        """The requested pages, in their order."""
        p, (secret, asked, of) = self.params, asked
        values = self.outer.decrypt(secret, answer)
        values = ((values + (1 << 17) >> 18) & 0xFF).astype(np.uint8) ^ 0x80
        pages = [b""] * p.groups
        for rows in p.pieces:
            own, values = values[: rows * p.groups].reshape(p.groups, rows), values[rows * p.groups :]
            pages = [page + part.tobytes() for page, part in zip(pages, own)]
        if not self.deal:
            return pages
        found = {page: pages[group] for group, page in of.items()}
        if missing := set(asked) - set(found):
            raise ValueError(f"{len(missing)} pages without a slot")
        return [found[page] for page in asked]
