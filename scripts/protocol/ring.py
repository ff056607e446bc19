"""The ring Z_q[X]/(X^2048 + 1), the ring of degree 512, their transform, and the samplers of section 7 of docs/protocol."""

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

N = 2048
Q40 = 1_099_511_590_913
Q50 = 1_125_899_906_826_241


def bits_of(data):
    """The bits of bytes, the lowest of the first byte first."""
    return np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")


def stream(seed, number, length):
    """The first `length` bytes of AES-256 in counter mode: block i is the encryption of i || number, little-endian."""
    blocks = -(-length // 16)
    counters = np.empty((blocks, 2), "<u8")
    counters[:, 0] = np.arange(blocks)
    counters[:, 1] = number
    cipher = Cipher(algorithms.AES(seed), modes.ECB()).encryptor()
    return cipher.update(counters.tobytes())[:length]


def multiply(a, b, q):
    """a b mod q, for a and b below q < 2^50: the quotient is estimated in double precision."""
    a, b = np.asarray(a, np.uint64), np.asarray(b, np.uint64)
    estimate = (a.astype(np.float64) * b.astype(np.float64) / q).astype(np.uint64)
    rest = (a * b - estimate * np.uint64(q)).astype(np.int64)
    rest += q * (rest < 0)
    rest -= q * (rest >= q)
    return rest.astype(np.uint64)


class Plan:
    """The transform mod q: value i is the polynomial's value at psi^(2 brv(i) + 1)."""

    def __init__(self, q, degree=N):
        self.q, self.degree = q, degree
        roots = (pow(x, (q - 1) // (2 * degree), q) for x in range(2, q))
        self.psi = next(root for root in roots if pow(root, degree, q) == q - 1)
        self.forward_factors = self._factors(self.psi)
        self.inverse_factors = self._factors(pow(self.psi, -1, q))

    def _factors(self, root):
        degree = self.degree
        powers = [1] * degree
        for i in range(1, degree):
            powers[i] = powers[i - 1] * root % self.q
        bits = degree.bit_length() - 1
        order = [int(format(i, f"0{bits}b")[::-1], 2) for i in range(degree)]
        return np.array([powers[order[i]] for i in range(degree)], np.uint64)

    def forward(self, polys):
        """Values of polynomials, the last axis of an array."""
        a = np.array(polys, np.uint64)
        shape, q = a.shape, np.uint64(self.q)
        groups, half = 1, self.degree // 2
        while half:
            a = a.reshape(-1, groups, 2, half)
            x, y = a[:, :, 0], a[:, :, 1]
            odd = multiply(y, self.forward_factors[groups : 2 * groups, None], self.q)
            a = np.stack([(x + odd) % q, (x + q - odd) % q], axis=2)
            groups, half = 2 * groups, half // 2
        return a.reshape(shape)

    def inverse(self, values):
        """The polynomials of values."""
        a = np.array(values, np.uint64)
        shape, q = a.shape, np.uint64(self.q)
        groups, half = self.degree // 2, 1
        while groups:
            a = a.reshape(-1, groups, 2, half)
            x, y = a[:, :, 0], a[:, :, 1]
            factors = self.inverse_factors[groups : 2 * groups, None]
            a = np.stack([(x + y) % q, multiply((x + q - y) % q, factors, self.q)], axis=2)
            groups, half = groups // 2, 2 * half
        return multiply(a, pow(self.degree, -1, self.q), self.q).reshape(shape)

    def of_signed(self, values):
        """Residues of signed integers."""
        return np.mod(np.asarray(values, np.int64), self.q).astype(np.uint64)

    def centred(self, values):
        """Representatives in (-q/2, q/2)."""
        signed = np.asarray(values).astype(np.int64)
        return np.where(signed > self.q // 2, signed - self.q, signed)


PLANS = {q: Plan(q) for q in (Q40, Q50)}


def uniform(seed, number, q, count=N):
    """Uniform coefficients from public randomness: words of the stream, truncated to the bits of q, if they are below
    q."""
    mask = np.uint64((1 << q.bit_length()) - 1)
    length = 8 * (count + 64)
    while True:
        words = np.frombuffer(stream(seed, number, length), "<u8") & mask
        taken = words[words < q]
        if len(taken) >= count:
            return taken[:count]
        length *= 2


def ternary(seed, number, count):
    """Uniform values of -1, 0, 1: five digits of each byte below 243."""
    bytes_ = -(-count // 5)
    length = 2 * bytes_ + 64
    while True:
        taken = np.frombuffer(stream(seed, number, length), np.uint8)
        taken = taken[taken < 243]
        if len(taken) >= bytes_:
            break
        length *= 2
    rest, digits = taken[:bytes_].astype(np.int64), []
    for _ in range(5):
        digits.append(rest % 3 - 1)
        rest //= 3
    return np.concatenate(digits)[:count]


# The number of samples that one part of the binomial sampler makes, from a chunk of 4,096 bytes of the stream.
PART = 768


def binomial(seed, number, count):
    """`count` polynomials of centred binomial errors, one after the other, from one stream."""
    blocks = [-(-min(PART, N - at) // 3) for at in range(0, N, PART)]
    words = np.frombuffer(stream(seed, number, 16 * sum(blocks) * count), "<u8").reshape(-1, 2)
    coins = np.uint64((1 << 42) - 1)
    errors, at = np.empty((count, N), np.int64), 0
    for poly in errors:
        for part, m in zip(range(0, N, PART), blocks):
            low, high = words[at : at + m, 0], words[at : at + m, 1]
            at += m
            tops = (low >> np.uint64(43)) << np.uint64(21) | high >> np.uint64(43)
            counts = [np.bitwise_count(bits).astype(np.int64) for bits in (low & coins, high & coins, tops)]
            out = poly[part : part + PART]
            out[:] = np.concatenate(counts)[: len(out)] - 21
    return errors
