"""Checks of scores: sections 7.7 to 7.9 of docs/protocol."""

import math

import numpy as np

import ring

COUNT, RUN, WORDS = 40, 32, 44


def group(width):
    return RUN * min(38, max(13, 7296 // width))


def stored(n, width):
    return n + COUNT * -(-n // group(width))


def off(key, products, n, width):
    """The largest difference between a check row's product and the sum of its group's products."""
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
    """The largest such difference in an honest reply, for segments with these numbers of records."""
    p, ring_degree = 2.0**26, 2048
    query = 10.5 + 4**params.dropped / 12 + 1 / 6 + 1 / 12
    through = query * params.per * width * p**2 / 12 * (p / params.q) ** 2
    answer = (p / 2**params.answer_bits) ** 2 / 12
    # One of eight numbers of a hint has 19 bits and the others 20, or all have 19.
    short = 1 if params.hint_eighths == 159 else 8
    hint = ((8 - short) * (p / 2**20) ** 2 + short * (p / 2**19) ** 2) / 8 / 12 * (2 / 3) * ring_degree
    terms = group(width) / 2 + math.sqrt(group(width)) + 1
    sigma = math.sqrt((through + answer + hint) * 9 / 8 * terms)
    rows = sum(stored(n, width) - n for n in segments)
    return math.ceil(sigma * math.sqrt(2 * math.log(2) * (41 + math.log2(rows))))


HELD, GROUP = 64, 12288


def held_len(n, width):
    """The number of bytes of the sums of a segment's open rows."""
    return -(-n // GROUP) * HELD * width * 3


def held_off(key, sums, steps, messages, q):
    """For each group, a sum of squares: of the differences, in steps, between sums of its scores and the held sums."""
    width = len(messages)
    numbers = np.frombuffer(sums, np.uint8).reshape(-1, 3).astype(np.int64)
    numbers = numbers[:, 0] | numbers[:, 1] << 8 | numbers[:, 2] << 16
    numbers = ((numbers + 2**23) % 2**24 - 2**23).reshape(-1, HELD, width)
    found = []
    for at, held in enumerate(numbers):
        mine = steps[at * GROUP :][:GROUP].astype(np.int64)
        runs = -(-len(mine) // RUN)
        words = np.frombuffer(ring.stream(key, at, 4 * HELD * runs), "<u4").reshape(runs, HELD)
        bits = words[:, :, None] >> np.arange(RUN, dtype=np.uint32) & 1
        signs = bits.transpose(1, 0, 2).reshape(HELD, -1)[:, : len(mine)].astype(np.int64) * 2 - 1
        expected = np.rint((held * messages).sum(axis=1) * (2.0**20 / q)).astype(np.int64)
        apart = ((signs * mine).sum(axis=1) - expected + 2**31) % 2**32 - 2**31
        found.append(sum(int(x) ** 2 for x in apart))
    return found


def held_tolerances(params, width, segments):
    """For each segment, the largest sum of squares of `held_off` that an honest reply may have."""
    step, norm = 2.05 / 2**20, 1.001 * 8000 + math.sqrt(width) / 2
    carried = (10.5 + 4**params.dropped / 12 + 1 / 6) * params.per * (norm * 2.05 / params.q) ** 2
    hint = (7 * (2.05 / 2**20) ** 2 + (2.05 / 2**19) ** 2) / 8 / 12 * (2 / 3) * 2048
    own = ((2.05 / 2**params.answer_bits) ** 2 / 12 + hint) * (11 / 8 if params.per == 32 else 9 / 8)
    groups = sum(-(-n // GROUP) for n in segments)

    def above(total, rows):
        size, most, probability = 1.0, 0.0, 0.0
        while most > -96:
            size *= 1.02
            ratio = total / (rows * (carried * size + own) / step**2) / HELD
            by = 0.0 if ratio <= 1 else -HELD / 2 * (ratio - 1 - math.log(ratio)) / math.log(2)
            probability += 2 ** (most + by)
            most = -(size - 1 - math.log(size)) / 2 / math.log(2)
        return math.log2(probability + 2**most)

    def tolerance(rows):
        rows = max(rows, 48)
        low = HELD * rows * (carried + own) / step**2
        high = 1024 * low
        for _ in range(48):
            middle = math.sqrt(low * high)
            if above(middle, rows) < -40 - math.log2(groups):
                high = middle
            else:
                low = middle
        return math.ceil(high)

    sizes = [[min(GROUP, n - first) for first in range(0, n, GROUP)] for n in segments]
    known = {rows: tolerance(rows) for rows in {rows for some in sizes for rows in some}}
    return [[known[rows] for rows in some] for some in sizes]


BITS, CHUNK = 96, 4096


def copies(params):
    """The number of combinations of an index whose scores are checked exactly."""
    return -(-BITS // (params.q.bit_length() - 1))


def combined_len(params, width):
    """The number of bytes of all combinations."""
    return copies(params) * (16 + -(-(params.polys(width) * 2048 * params.q.bit_length()) // 8))


def weights(key, n, count):
    """The weights of a segment's rows, for each copy."""
    each, lists = BITS // 8 // count, [[] for _ in range(count)]
    for first in range(0, n, CHUNK):
        rows = min(CHUNK, n - first)
        data = ring.stream(key, first // CHUNK, 12 * rows)
        for row in range(rows):
            for copy, made in enumerate(lists):
                made.append(int.from_bytes(data[12 * row + each * copy :][:each], "little"))
    return lists


def combinations(params, width, data):
    """The combinations of all rows: for each copy, the numbers of all polynomials, one after the other."""
    import column

    length, bits = len(data) // copies(params), params.q.bit_length()
    read = []
    for at in range(0, len(data), length):
        _, body = column.split(13, params, width, data[at : at + length])
        numbers, _ = column.read_bits(body, params.polys(width) * 2048, 8 * bits)
        if (numbers >= np.uint64(params.q)).any():
            raise ValueError("a number that is no residue")
        read.append(numbers)
    return read


def exact(params, combined, sent, answers, segments):
    """True if an honest server would send these answers. `segments` are the segments' weights, first positions and
    numbers of rows."""
    sent, q = sent.reshape(-1), params.q
    for copy, numbers in enumerate(combined):
        expected = sum(int(z) * int(b) for z, b in zip(numbers, sent)) % q
        found = 0
        for lists, first, n in segments:
            found += sum(w * int(y) for w, y in zip(lists[copy], answers[first : first + n]))
        if found % q != expected:
            return False
    return True
