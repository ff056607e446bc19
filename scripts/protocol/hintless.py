"""Retrieval without a hint: section 9.5 of docs/protocol, and crates/pir/docs/hintless.md."""

import math
from itertools import product

import numpy as np

import ring
from column import hedge, read_bits
from keys import digest
from pir import HEAD
from ring import N, PLANS, Q50

KEYS, QUERY, ANSWER, SET = 12, 13, 14, 1
LOG_Q, LEFT = 50, 14
# l, w and b of each step, and of the key for s^2.
GADGETS = [(5, 8, 10)] * 3 + [(4, 10, 10)] * 4 + [(3, 12, 14)] * 4 + [(3, 14, 8)]
SQUARE, DIGITS = 11, 9
KEYS_LEN = HEAD.size + 32 + sum(l for l, _, _ in GADGETS) * N * LOG_Q // 8
# The largest numbers of records for groups of 1, 2, 3, ... slots, with five to eight groups.
LARGEST = {
    5: [5, 5, 5, 10, 15, 20, 24, 29, 34, 38, 43, 47, 52, 57, 61, 64],
    6: [6, 6, 12, 17, 23, 29, 34, 40, 46, 51, 57, 63, 64],
    7: [7, 9, 16, 23, 29, 36, 43, 50, 57, 63, 64],
    8: [8, 13, 20, 28, 36, 43, 51, 59, 64],
}
REQUESTS = 64


def of_switch(gadget, y):
    l, w, b = gadget
    return N * (l * 10.5 * (4.0**w + 2) / 12 + y * 4.0**b / 12)


def energy(depth, y=2 / 3):
    switches = sum(2.0 ** (depth - 1 - i) * of_switch(GADGETS[i], y) for i in range(depth))
    return N * switches + N * 2.0**depth * (10.5 + 4.0**LEFT / 12 + 1 / 6)


def of_external(depth):
    of_bit = N * (2 / 3 * energy(depth, 4 / 3) + of_switch(GADGETS[SQUARE], 8 * N / 9))
    digits = 4 * (2.0**20 + 2) / 12 * energy(depth) + 9 * (2.0**10 + 2) / 12 * of_bit
    return digits + (4.0**10 + 2 * N / 3 * 4.0**5) / 12


def depths(count):
    deepest = (min(count, N) - 1).bit_length()
    return range(max(deepest - 2, 0), deepest + 1)


class Params:
    """The layout of records and of requests for `k` of them: the first of the cheapest layouts."""

    def __init__(self, records, record_len, k):
        self.records, self.record_len, self.k = records, record_len, k
        groups = [(k, 1)] if k <= 5 else [(h, 1 + sum(x < k for x in LARGEST[h])) for h in range(5, min(k, 8) + 1)]
        self.best = math.inf
        for p, (h, g) in product((10, 9, 8, 7), groups):
            self._try(p, h, g)
        if self.best == math.inf:
            raise ValueError("no layout serves these records")
        self.p, self.h, self.g, self.f, self.d, self.e, self.k0, self.k1 = self.chosen
        self._derive(self.p, self.g, self.f)
        self.slots = self.h * self.g
        self.of_selectors = -(-self.slots * self.columns // 2**self.d)
        self.ciphertexts = self.of_selectors + -(-DIGITS * self.slots * self.f // 2**self.e)
        self.query_len = HEAD.size + 64 + self.ciphertexts * N * (LOG_Q - LEFT) // 8
        self.answer_len = HEAD.size + self.slots * self.polys * N * (self.k0 + self.k1) // 8

    def _derive(self, p, g, f):
        self.poly = N * p // 8
        self.per_unit = max(1, self.poly // self.record_len)
        self.units = -(-self.records // self.per_unit)
        self.polys = -(-self.record_len // self.poly)
        self.places = -(-self.units // g)
        self.columns = -(-self.places // 2**f)

    def _try(self, p, h, g):
        slots = h * g
        for f in range(10):
            self._derive(p, g, f)
            if 2**f > self.places or slots * self.polys * self.poly > 2**27:
                return
            selectors, bits = slots * self.columns, DIGITS * slots * f
            if max(selectors, bits) > 2**14:
                continue
            rows = -(-self.places // self.columns)
            work = 52 * (selectors + 2 * bits) + 165 * slots * self.polys * (rows - 1) + 150 * slots * self.polys
            work += 3 * h * self.units * self.polys // 2
            for d, e in product(depths(selectors), depths(bits) if f else (0,)):
                ciphertexts = -(-selectors // 2**d) + -(-bits // 2**e)
                cost = HEAD.size + 64 + ciphertexts * N * (LOG_Q - LEFT) // 8 + HEAD.size + work
                variance = self.columns * energy(d) * (4.0**p + 2) / 12 + f * of_external(e)
                self._rounded(cost, variance, (p, h, g, f, d, e))

    def _rounded(self, cost, variance, layout):
        p, h, g = layout[:3]
        radius = (Q50 // 2**p) / 2 - Q50 % 2**p
        bits = 8 * self.record_len
        coefficients = (bits + p - 2) // p + 1 if self.per_unit > 1 else -(-bits // p)
        for above, gap in product(range(7, 12), (5, 6)):
            k1 = p + above
            k0 = k1 - gap
            in_all = cost + h * g * self.polys * N * (k0 + k1) // 8
            unit = Q50 / 2.0**k1
            all_ = 9 / 8 * (variance + unit**2 * (2 * N / 3 + 1 + 4.0**gap) / 12)
            failure = min(0.0, 1 - radius**2 / (2 * math.log(2) * all_)) + math.log2(coefficients)
            if min(failure, 0.0) <= -40 and in_all < self.best:
                self.best, self.chosen = in_all, (*layout, k0, k1)

    def head(self, kind, seed, length):
        epoch = int.from_bytes(seed[:8], "little")
        return HEAD.pack(b"SPIR", 1, kind, SET, self.records, self.record_len, self.k, epoch, length - HEAD.size)


def write_bits(words, bits):
    ones = words[..., None] >> np.arange(bits, dtype=np.uint64) & np.uint64(1)
    return np.packbits(ones.astype(np.uint8).reshape(-1), bitorder="little").tobytes()


class Session:
    """A secret, and the message with its keys. `random` returns the given number of fresh random bytes."""

    def __init__(self, random):
        secret, errors, public = (hedge(random(32), "session", [x]).digest() for x in (b"s", b"e", b"a"))
        plan = PLANS[Q50]
        s = ring.ternary(secret, 0, N)
        self.s = plan.forward(plan.of_signed(s))
        square = ring.multiply(self.s, self.s, Q50)
        count = sum(l for l, _, _ in GADGETS)
        noise = plan.forward(plan.of_signed(ring.binomial(errors, 0, count)))
        polys = []
        for i, (l, w, b) in enumerate(GADGETS):
            # tau^-1(s), for the automorphism that maps X to its power 2^(11 - i) + 1.
            g = pow(N // 2**i + 1, -1, 2 * N) if i < SQUARE else 1
            to = np.arange(N) * g % (2 * N)
            image = np.empty(N, np.int64)
            image[to % N] = np.where(to < N, s, -s)
            under = plan.forward(plan.of_signed(image))
            for t in range(l):
                a = ring.uniform(public, len(polys), Q50)
                hidden = ring.multiply(square if i == SQUARE else self.s, np.uint64(2 ** (b + w * t) % Q50), Q50)
                sum_ = noise[len(polys)] + hidden + np.uint64(Q50) - ring.multiply(a, under, Q50)
                polys.append(sum_ % np.uint64(Q50))
        head = HEAD.pack(b"SPIR", 1, KEYS, SET, 0, 0, 0, 0, KEYS_LEN - HEAD.size)
        self.keys = head + public + write_bits(np.stack(polys), LOG_Q)
        self.name = digest(self.keys)


def mixed(x):
    mask = 2**64 - 1
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & mask
    x = (x ^ x >> 27) * 0x94D049BB133111EB & mask
    return x ^ x >> 31


class Deal:
    """The slots of units: `h` groups of `g` slots. In each group, every unit has one slot."""

    def __init__(self, seed, h, g):
        self.h, self.g = h, g
        words = np.frombuffer(ring.stream(seed, 2**64 - 1, 128), "<u8")
        self.keys = [(int(words[2 * i]), int(words[2 * i + 1])) for i in range(8)]

    def slot(self, i, unit):
        """The slot of a unit in group `i`."""
        (first, second), (run, within) = self.keys[i], divmod(unit, self.g)
        number = lambda j: mixed(mixed((run << 8 | j) ^ first) ^ second) & ~0xFF | j
        return i * self.g + sum(number(j) < number(within) for j in range(self.g))

    def assign(self, units):
        """For each slot, the unit that needs it, found by augmenting paths."""
        of, slots = {}, {u: [self.slot(i, u) for i in range(self.h)] for u in units}

        def place(unit, seen):
            for slot in slots[unit]:
                if slot not in seen:
                    seen.add(slot)
                    if slot not in of or place(of[slot], seen):
                        of[slot] = unit
                        return True
            return False

        for unit in slots:
            place(unit, set())
        return of


class Client:
    """Asks for records of one database."""

    def __init__(self, params, seed):
        self.params, self.seed = params, seed
        self.deal = Deal(seed, params.h, params.g)

    def query(self, session, indices, random):
        """The secret state of the question, and the message. `random` is 32 fresh bytes."""
        p, plan = self.params, PLANS[Q50]
        of = self.deal.assign([index // p.per_unit for index in indices])
        fields = [session.name, self.seed, np.array(indices, "<u8").tobytes()]
        public, errors = (hedge(random, "hintless", [*fields, x]).digest() for x in (b"a", b"e"))
        first, last = 2**p.d * p.of_selectors, 2**p.e * (p.ciphertexts - p.of_selectors)
        messages = [0] * (first + last)
        for slot, unit in of.items():
            row, column = divmod(unit // p.g, p.columns)
            messages[slot * p.columns + column] = (Q50 + 2 ** (p.p - 1) >> p.p) * pow(2**p.d, -1, Q50) % Q50
            for i, t in product(range(p.f), range(DIGITS)):
                if row >> i & 1:
                    at = first + (slot * p.f + i) * DIGITS + t
                    messages[at] = 2 ** (5 + 5 * t) * pow(2**p.e, -1, Q50) % Q50
        b = np.stack([ring.multiply(ring.uniform(public, v, Q50), session.s, Q50) for v in range(p.ciphertexts)])
        b = -plan.inverse(b).astype(np.int64) + ring.binomial(errors, 0, p.ciphertexts)
        for v in range(p.ciphertexts):
            depth = p.d if v < p.of_selectors else p.e
            start = v * 2**p.d if v < p.of_selectors else first + (v - p.of_selectors) * 2**p.e
            for n in range(2**depth):
                if messages[start + n]:
                    b[v, int(format(n, f"0{depth}b")[::-1], 2) if depth else 0] += messages[start + n]
        b = np.mod(b, Q50)
        upper = (b + (1 << LEFT - 1) - 1 + (b >> LEFT & 1)) >> LEFT
        body = session.name + public + write_bits(upper.astype(np.uint64), LOG_Q - LEFT)
        return (indices, of), p.head(QUERY, self.seed, p.query_len) + body

    def recover(self, session, asked, answer):
        """The requested records, in their order."""
        p, plan = self.params, PLANS[Q50]
        if answer[: HEAD.size] != p.head(ANSWER, self.seed, p.answer_len) or len(answer) != p.answer_len:
            raise ValueError("an answer of another layout")
        indices, of = asked
        halves = {unit: self._unit(session, answer, slot) for slot, unit in of.items()}
        records = []
        for index in indices:
            unit, within = divmod(index, p.per_unit)
            if unit not in halves:
                raise ValueError("a record without a slot")
            pad = ring.stream(self.seed, unit, len(halves[unit]))
            plain = bytes(x ^ y for x, y in zip(halves[unit], pad))
            records.append(plain[within * p.record_len :][: p.record_len])
        return records

    def _unit(self, session, answer, slot):
        p, plan = self.params, PLANS[Q50]
        length, out = N * (p.k0 + p.k1) // 8, b""
        for t in range(p.polys):
            part = answer[HEAD.size + (slot * p.polys + t) * length :][:length]
            split = N * p.k0 // 8
            a0 = read_bits(part[:split], N, 8 * p.k0)[0].astype(np.int64)
            a1 = read_bits(part[split:], N, 8 * p.k1)[0].astype(np.int64)
            half = 1 << p.k1 - 1
            a1 = (a1 + half) % (2 * half) - half
            masks = plan.centred(plan.inverse(ring.multiply(plan.forward(plan.of_signed(a1)), session.s, Q50)))
            left = p.k1 - p.p
            rounded = ((a0 << p.k1 - p.k0) + masks + (1 << left - 1)) >> left
            words = (rounded + (1 << p.p - 1)) % (1 << p.p)
            out += write_bits(words.astype(np.uint64), p.p)
        return out
