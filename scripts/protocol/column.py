"""Encrypted scores of all rows: section 7 of docs/protocol."""

import struct

import numpy as np
from blake3 import blake3

import ring
from ring import N, PLANS, Q40, Q50

HEAD = struct.Struct("<4sBBBBII")
QUERY, REPLY, HINT = 3, 4, 5


class Params:
    """A named parameter set."""

    def __init__(self, number, name, q, t, dropped, answer_bits, hint_eighths, log_p=None, whole=False):
        self.number, self.name, self.q, self.t = number, name, q, t
        self.dropped, self.answer_bits, self.log_p = dropped, answer_bits, log_p
        # The number of bits of a reply's number. If answers are whole, the client rounds them.
        self.whole, self.reply_bits = whole, q.bit_length() if whole else answer_bits
        self.hint_eighths = hint_eighths
        self.hint_bits = -(-hint_eighths // 8)
        self.upload_bits = q.bit_length() - dropped
        self.per = N // t

    def polys(self, dim):
        return -(-dim // self.t)

    def blocks(self, count):
        return -(-count // self.per)


# The number of bits of the scores' steps in open mode.
STEP_BITS = 20
REAL_SCALE, WINDOW = 8000.0, 2.05
SETS = [
    Params(1, "column-2048-40-real-t4", Q40, 4, 7, 15, 159),
    Params(2, "column-2048-40-real-t8", Q40, 8, 7, 15, 159),
    Params(3, "column-2048-50-mod26-t4", Q50, 4, 2, 15, 159, 26),
    Params(4, "column-2048-50-mod26-t8", Q50, 8, 2, 15, 159, 26),
    Params(5, "column-2048-50-mod18-exact", Q50, 8, 2, 22, 27 * 8, 18),
    Params(6, "column-2048-50-mod26-t64", Q50, 64, 4, 16, 19 * 8, 26),
    Params(7, "column-2048-50-mod26-t128", Q50, 128, 4, 16, 19 * 8, 26),
    Params(8, "column-2048-50-mod26-t16", Q50, 16, 4, 15, 19 * 8, 26),
    Params(9, "column-2048-50-mod26-t32", Q50, 32, 4, 15, 19 * 8, 26),
    Params(10, "column-2048-40-real-t16", Q40, 16, 8, 15, 159),
    Params(11, "column-2048-40-real-t32", Q40, 32, 8, 15, 159),
    Params(12, "column-2048-40-real-t64", Q40, 64, 8, 15, 159),
]


def whole(params):
    """The same set with answers that are residues, which the client rounds."""
    bits = max(params.hint_bits, params.log_p or 0)
    made = (params.number + 32, params.name + "-whole", params.q, params.t, params.dropped, bits, params.hint_eighths)
    return Params(*made, params.log_p, whole=True)


SETS += [whole(params) for params in SETS]


def head(kind, params, dim, count):
    return HEAD.pack(b"SCKS", 2, kind, params.number, 0, dim, count)


def split(kind, params, dim, message):
    """The count and the body of a message, if it has this kind, set and dimension."""
    magic, version, found, number, reserved, found_dim, count = HEAD.unpack_from(message)
    if (magic, version, found, number, reserved, found_dim) != (b"SCKS", 2, kind, params.number, 0, dim):
        raise ValueError("a message of another kind, set or dimension")
    return count, message[HEAD.size :]


def write_planes(numbers, bits):
    """For each whole byte of a number's width, that byte of every number. Then, for each remaining bit, that bit of
    every number."""
    planes = [(numbers >> np.uint64(8 * p)).astype(np.uint8).tobytes() for p in range(bits // 8)]
    for bit in range(bits // 8 * 8, bits):
        ones = (numbers >> np.uint64(bit) & np.uint64(1)).astype(np.uint8)
        planes.append(np.packbits(ones, bitorder="little").tobytes())
    return b"".join(planes)


def read_bits(data, count, eighths):
    """Numbers one after the other, lowest bit first; number i is at bits floor(i e / 8) to floor((i + 1) e / 8)."""
    starts = np.arange(count + 1, dtype=np.int64) * eighths // 8
    padded = np.frombuffer(bytes(data) + bytes(8), np.uint8)
    at = starts[:-1] // 8
    words = sum(padded[at + byte].astype(np.uint64) << np.uint64(8 * byte) for byte in range(8))
    widths = np.diff(starts)
    masks = (np.uint64(1) << widths.astype(np.uint64)) - np.uint64(1)
    return words >> (starts[:-1] % 8).astype(np.uint64) & masks, widths


def centre(values, bits):
    """The representatives mod 2^bits in [-2^(bits-1), 2^(bits-1))."""
    half = 1 << (bits - 1)
    return (values + half) % (1 << bits) - half


def hedge(random, purpose, fields):
    """BLAKE3 under fresh random bytes of everything that determines a query. Each part has its length before it."""
    hasher = blake3(key=random)
    for field in [purpose.encode(), *fields]:
        hasher.update(len(field).to_bytes(8, "little") + field)
    return hasher


class Client:
    """The public polynomials of one seed, and the hints of segments."""

    def __init__(self, params, seed, dim):
        self.params, self.seed, self.dim = params, seed, dim
        self.public = np.stack([ring.uniform(seed, l, params.q) for l in range(params.polys(dim))])
        self.count, self.hints = 0, []

    def extend(self, message):
        """Appends a segment. Returns the position of its first row among the scores."""
        params = self.params
        count, body = split(HINT, params, self.dim, message)
        epoch, version = struct.unpack_from("<QQ", body)
        length = -(-(N * params.hint_eighths // 8) // 8)
        if (epoch, version) != (self.epoch, 0) or len(body) != 16 + length * params.blocks(count):
            raise ValueError("a hint of another state or length")
        first = params.blocks(self.count) * params.per
        for j in range(params.blocks(count)):
            numbers, widths = read_bits(body[16 + j * length :][:length], N, params.hint_eighths)
            numbers = numbers.astype(np.int64)
            half = np.int64(1) << (widths - 1)
            centred = (numbers + half) % (half * 2) - half
            self.hints.append(PLANS[Q50].forward(PLANS[Q50].of_signed(centred << (params.hint_bits - widths))))
        self.count = first + count
        return first

    @property
    def epoch(self):
        return int.from_bytes(self.seed[:8], "little")

    def encrypt(self, query, random):
        """The secret and the message of a query of real numbers, or of integers in [-P/2, P/2). `random` is 32 fresh
        bytes."""
        params, plan = self.params, PLANS[self.params.q]
        if params.log_p is None:
            query = np.asarray(query, np.float32)
            words = query.view(np.uint32).astype("<u8")
            messages = self.messages(query)
        else:
            words = np.asarray(query, "<i8")
            half = 1 << (params.log_p - 1)
            messages = np.array([(int(x) * params.q + half) >> params.log_p for x in query], np.int64)
        hasher = hedge(random, "sordino-ckks column query", [bytes([params.number]), self.seed])
        hasher.update(len(query).to_bytes(8, "little") + words.tobytes())
        seed = hasher.digest()
        secret = ring.ternary(seed, 0, N)
        s = plan.forward(plan.of_signed(secret))
        b = plan.inverse(ring.multiply(self.public, s[None, :], params.q)).astype(np.int64)
        padded = np.zeros(len(b) * params.t, np.int64)
        padded[: self.dim] = messages
        b[:, : params.t] += padded.reshape(-1, params.t)
        b = np.mod(b + ring.binomial(seed, 1, len(b)), params.q).astype(np.uint64)
        drop = np.uint64(params.dropped)
        odd = b >> drop & np.uint64(1)
        upper = (b + np.uint64((1 << (params.dropped - 1)) - 1) + odd) >> drop
        planes = b"".join(write_planes(poly, params.upload_bits) for poly in upper)
        message = head(QUERY, params, self.dim, 0) + struct.pack("<Q", self.epoch) + planes
        return secret, message

    def messages(self, query):
        """The integers that stand for real numbers in a query."""
        scale = self.params.q / (REAL_SCALE * WINDOW)
        return np.rint(np.asarray(query, np.float32).astype(np.float64) * scale).astype(np.int64)

    def answers(self, reply):
        """The numbers of a reply."""
        params = self.params
        count, body = split(REPLY, params, self.dim, reply)
        length = -(-(count * params.reply_bits) // 8)
        state = struct.unpack_from("<QQ", body)
        if (count, state, len(body)) != (self.count, (self.epoch, 0), 16 + length):
            raise ValueError("a reply about another state of the index")
        answers, _ = read_bits(body[16:], count, 8 * params.reply_bits)
        if params.whole and (answers >= np.uint64(params.q)).any():
            raise ValueError("an answer that is no residue")
        return answers

    def sent(self, message):
        """The residues of a query's polynomials, as a server reads them."""
        params = self.params
        body = np.frombuffer(message, np.uint8)[24:].reshape(params.polys(self.dim), -1)
        whole, rest = divmod(params.upload_bits, 8)
        numbers = np.zeros((len(body), N), np.uint64)
        for plane in range(whole):
            numbers |= body[:, plane * N :][:, :N].astype(np.uint64) << np.uint64(8 * plane)
        for bit in range(rest):
            packed = body[:, whole * N + bit * N // 8 :][:, : N // 8]
            ones = np.unpackbits(packed, axis=1, bitorder="little").astype(np.uint64)
            numbers |= ones << np.uint64(8 * whole + bit)
        return numbers << np.uint64(params.dropped)

    def steps(self, secret, reply):
        """The score at every position as an integer, and the number of bits of these integers."""
        params, plan = self.params, PLANS[Q50]
        answers, count = self.answers(reply), self.count
        if params.whole:
            # Rounds to the nearest in Python's integers, because products have more than 64 bits.
            scaled = [(int(x) << params.answer_bits) * 2 + params.q for x in answers]
            answers = np.array([x // (2 * params.q) % (1 << params.answer_bits) for x in scaled], np.uint64)
        bits = max(params.hint_bits, params.answer_bits, params.log_p or 0)
        s = plan.forward(plan.of_signed(secret))
        products = plan.inverse(ring.multiply(np.stack(self.hints), s[None, :], Q50))
        masks = plan.centred(products)[:, params.t - 1 :: params.t].reshape(-1)[:count]
        answers = answers.astype(np.int64) << (bits - params.answer_bits)
        return centre(answers - (masks << (bits - params.hint_bits)), bits), bits

    def decrypt(self, secret, reply):
        """The score at every position: real numbers, or integers mod P."""
        params = self.params
        steps, bits = self.steps(secret, reply)
        if params.log_p is None:
            return (steps * (WINDOW / 2**bits)).astype(np.float32)
        half = (1 << (bits - params.log_p)) >> 1
        return centre((steps + half) >> (bits - params.log_p), params.log_p)
