"""Encrypted scores of centroids: section 9.2 of docs/protocol."""

import numpy as np

import ring
from column import HEAD, centre, hedge
from ring import N, PLANS, Q50

QUERY, REPLY = 1, 2
WINDOW, VECTOR_SCALE = 2.01, float(1 << 21)
BITS, DROPPED = 25, 2


def shape(dim):
    """The number of parts into which a vector is cut, of coordinates of a part, and of vectors in a pack."""
    parts = -(-dim // N)
    width = -(-dim // parts)
    return parts, width, N // width


def encrypt(query, random):
    """The secret and the message of a unit vector. `random` is 32 fresh bytes."""
    query = np.asarray(query, np.float32)
    parts, width, _ = shape(len(query))
    hasher = hedge(random, "sordino-ckks dot query", [b"\x01"])
    hasher.update(len(query).to_bytes(8, "little") + query.view(np.uint32).astype("<u8").tobytes())
    seeds = hasher.digest(64)
    public, seed, plan = seeds[:32], seeds[32:], PLANS[Q50]
    secret = ring.ternary(seed, 0, N)
    s = plan.forward(plan.of_signed(secret))
    errors = ring.binomial(seed, 1, parts)
    messages = np.rint(query.astype(np.float64) * (Q50 / (WINDOW * VECTOR_SCALE))).astype(np.int64)
    body = [public]
    for part in range(parts):
        b = plan.inverse(ring.multiply(ring.uniform(public, part, Q50), s, Q50)).astype(np.int64)
        coordinates = messages[part * width :][:width]
        b[: len(coordinates)] += coordinates
        b = np.mod(b + errors[part], Q50)
        upper = (b + (1 << (DROPPED - 1)) - 1 + (b >> DROPPED & 1)) >> DROPPED
        body.append(upper.astype("<u8").view(np.uint8).reshape(N, 8)[:, :6].tobytes())
    return secret, HEAD.pack(b"SCKS", 2, QUERY, 1, 0, len(query), 0) + b"".join(body)


def read_planes(data, count, bits):
    """The numbers in planes, and the bytes after them."""
    numbers = np.zeros(count, np.int64)
    for p in range(bits // 8):
        numbers |= np.frombuffer(data[p * count :][:count], np.uint8).astype(np.int64) << (8 * p)
    data, eighth = data[bits // 8 * count :], -(-count // 8)
    for p in range(bits % 8):
        ones = np.unpackbits(np.frombuffer(data[p * eighth :][:eighth], np.uint8), bitorder="little")[:count]
        numbers |= ones.astype(np.int64) << (bits // 8 * 8 + p)
    return numbers, data[bits % 8 * eighth :]


def decrypt(secret, dim, count, reply):
    if reply[: HEAD.size] != HEAD.pack(b"SCKS", 2, REPLY, 1, 0, dim, count):
        raise ValueError("a reply about other centroids")
    _, width, per = shape(dim)
    plan, rest, scores = PLANS[Q50], reply[HEAD.size :], []
    s = plan.forward(plan.of_signed(secret))
    for first in range(0, count, per):
        here = min(per, count - first)
        c0, rest = read_planes(rest, here, BITS)
        c1, rest = read_planes(rest, N, BITS)
        product = plan.inverse(ring.multiply(plan.forward(c1.astype(np.uint64)), s, Q50))
        masks = plan.centred(product)[width - 1 :: width][:here]
        scores.append((centre(c0 - masks, BITS) * WINDOW / (1 << BITS)).astype(np.float32))
    if rest:
        raise ValueError("a reply of another length")
    return np.concatenate(scores)
