"""Check rows: section 7.7 of docs/protocol.md."""

import math

import numpy as np

import ring

COUNT, RUN, WORDS = 40, 32, 44


def group(width):
    return RUN * min(38, max(13, 7296 // width))


def stored(n, width):
    return n + COUNT * -(-n // group(width))


def off(key, products, n, width):
    """The most that a check row's product is away from the sum of its group's."""
    rows, sums, worst = products[:n], products[n:].reshape(-1, COUNT), 0
    for at, expected in enumerate(sums):
        mine = rows[at * group(width) :][: group(width)]
        runs = -(-len(mine) // RUN)
        words = np.frombuffer(ring.stream(key, at, 4 * WORDS * runs), "<u4").reshape(runs, WORDS)
        bits = words[:, : 1 + COUNT, None] >> np.arange(RUN, dtype=np.uint32) & 1
        bits = bits.transpose(1, 0, 2).reshape(1 + COUNT, -1)[:, : len(mine)].astype(np.int64)
        sums = (bits[1:] * (1 - 2 * bits[0]) * mine).sum(axis=1)
        apart = (expected - sums + 2**25) % 2**26 - 2**25
        worst = max(worst, int(np.abs(apart).max()))
    return worst


def tolerance(params, width, segments):
    """The most that an honest reply's is, for segments of these numbers of records."""
    p, ring_degree = 2.0**26, 2048
    query = 10.5 + 4**params.dropped / 12 + 1 / 6 + 1 / 12
    through = query * params.per * width * p**2 / 12 * (p / params.q) ** 2
    answer = (p / 2**params.answer_bits) ** 2 / 12
    hint = (7 * (p / 2**20) ** 2 + (p / 2**19) ** 2) / 8 / 12 * (2 / 3) * ring_degree
    terms = group(width) / 2 + math.sqrt(group(width)) + 1
    sigma = math.sqrt((through + answer + hint) * 9 / 8 * terms)
    rows = sum(stored(n, width) - n for n in segments)
    return math.ceil(sigma * math.sqrt(2 * math.log(2) * (41 + math.log2(rows))))
