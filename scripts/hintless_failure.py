"""How often retrieval without a hint returns a wrong record. The probabilities are derived from the scheme as
crates/pir/docs/hintless.md states it, independently of the code. Standard library only.

A coefficient comes out wrong if its noise exceeds the radius q / 2P. Its noise is

    sum over the columns and all coefficients of  plaintext * selector noise   (the pad makes plaintexts uniform)
    + for every bit of the row, the noise of an external product: digits of c_0 and c_1 * noise of the bit's encryptions
    + the error of rounding A_0 to k0 bits + the error of rounding A_1 to k1 bits, times the secret

Every switch on a selector's path adds noise, which passes through the later steps of the path.

The script computes three bounds for a record. For the layouts checked here, the other two are below the first:

    stated     2 exp(-R^2 / 2V) for every coefficient, with 9/8 of the variance: the bound that sordino-pir states
    convolved  the answer's roundings are convolved numerically, with a distribution that is never below their own;
               the other noise is a Gaussian with its variance
    moments    Chernoff's bound of the noise as a sum of products, without a Gaussian: hintless_moments.py

It also bounds a probability for a request: that its units cannot all have slots of their own, although each unit has one
slot in every group. By Hall's theorem, some t + 1 units then have only t slots between them, in all groups together. A
unit's slot in a group is uniform, units of one run have different slots, and everything else is independent. So the
probability that t + 1 given units lie within a_i slots of group i, of g slots, for all i is at most
prod (a_i / g)^(t + 1). `unassigned` sums this over all choices of t + 1 of k units and of t slots.
"""
import csv, functools, math, os
from fractions import Fraction
from itertools import product

TESTS = os.path.join(os.path.dirname(__file__), "../crates/pir/tests")
TABLE, GROUPS = os.path.join(TESTS, "hintless_failure.csv"), os.path.join(TESTS, "hintless_groups.csv")
FIELDS = ["records", "record_len", "batch", "groups", "group", "log_p", "fold", "depth", "fold_depth", "k0", "k1", "query_len",
          "answer_len", "log2_failure"]
N, Q, KEPT, BOUND = 2048, 2**50 - 16383, 14, -40.0
# l, w and b of each step.
GADGETS = [(5, 8, 10)] * 3 + [(4, 10, 10)] * 4 + [(3, 12, 14)] * 4
# l, w and b for the key for s^2, and for the two components in an external product.
SQUARE, OF_C0, OF_C1 = (3, 14, 8), (4, 10, 10), (9, 5, 5)
MOST_SELECTORS, MOST_FOLD, MOST_ANSWERED = 2**14, 9, 2**27
# The costs of a layout, in bytes: of a key switch, of an external product, of the products of a polynomial in two
# groups, and of a ciphertext of the answer.
SWITCH, EXTERNAL, PRODUCTS, ANSWERED = 52, 165, 3, 150
HEADER, HEAD = 48, 64                   # The bytes of a message's header, and of the name of the keys with a seed.
PARTS = 8                               # The number of parts of a unit in convolved roundings.
SECRET = Fraction(2, 3)                 # The variance of a ternary coefficient.
CASES = [(400, 32768, 1), (406, 32768, 1), (1000, 13000, 24), (1, 1, 1), (1000, 1000, 1), (1024, 2048, 1), (2000, 2048, 1),
         (3000, 700, 10), (1000, 13000, 64), (256, 2304, 1), (60, 900, 3), (20000, 100, 8), (3000, 13000, 2), (4000, 1792, 1), (102400, 1024, 10), (1 << 20, 1024, 10), (1 << 15, 32768, 1),
         (1 << 24, 300, 1), (1 << 20, 256, 64), (1 << 18, 13000, 24), (4749796, 1, 1), (182340, 1, 5), (114888, 3, 1)]


def error():
    """The variance of a centred binomial error of 42 coins."""
    return sum(math.comb(42, k) * (k - 21)**2 for k in range(43)) / Fraction(2**42)


def uniform(low, count):
    """The mean square of `count` consecutive numbers from `low` on, by sums of powers."""
    last = low + count - 1
    squares = lambda n: n * (n + 1) * (2 * n + 1) // 6
    below = lambda n: squares(n) if n >= 0 else -squares(-n - 1)
    return Fraction(below(last) - below(low - 1), count)


def rounding(bits):
    """The mean square of the error from rounding a uniform word to a multiple of 2^bits, in units."""
    if bits == 0: return Fraction(0)
    half = 1 << (bits - 1)
    # Rounding ties upwards gives the errors -half + 1 .. half. Rounding to even turns half of the ties down, which
    # gives the same squares.
    return uniform(-half + 1, 1 << bits)


def of_switch(l, w, b, secret=SECRET):
    """The energy that a switch adds to a coefficient, which has N terms: digits in -z/2..z/2-1 times errors, and the
    rounded-away bits times the secret."""
    digits = l * uniform(-(1 << (w - 1)), 1 << w)
    return N * (digits * error() + rounding(b) * secret)


@functools.cache
def energy(depth, times=1):
    """The energy of a selector's noise. `times` multiplies the energy of the rounded-away bits."""
    switches = sum(of_switch(*GADGETS[i], SECRET * times) * 2**(depth - 1 - i) for i in range(depth))
    # The query's own error has N coefficients. At each step, each half has twice the energy: see check_paths.
    return N * switches + N * 2**depth * (error() + rounding(KEPT))


@functools.cache
def of_external(depth):
    """The energy of one external product: digits of c_0 times encryptions of the bit, and digits of c_1 times
    encryptions of bit * s."""
    # The noise times s has N terms for each of N coefficients. What a switch rounds away is already multiplied by an
    # image of s. If that image is s itself, the product has s^2, whose coefficients are sums of N / 2 pairs that are
    # counted twice.
    twice = SECRET**2 * 4 * (N // 2) / (SECRET**2 * N)
    of_square = SECRET**2 * 4 * (N // 2)
    by_secret = N * SECRET * energy(depth, twice) + N * of_switch(*SQUARE, of_square)
    digits = lambda l, w, b: l * uniform(-(1 << (w - 1)), 1 << w)
    lost = rounding(OF_C0[2]) + N * SECRET * rounding(OF_C1[2])
    return digits(*OF_C0) * energy(depth) + digits(*OF_C1) * by_secret + lost


def of_sum(columns, fold, p, depth, fold_depth):
    return columns * energy(depth) * uniform(-(1 << (p - 1)), 1 << p) + fold * of_external(fold_depth)


def of_rounding(k0, k1):
    unit = Fraction(Q, 2**k1)
    return unit**2 * (N * SECRET + 1 + 4**(k1 - k0)) / 12


def union(log2, events): return min(0.0, log2 + math.log2(events))


def coefficients(record_len, p):
    """The largest number of coefficients that hold bits of one record. If records share a unit, a record may start
    within a coefficient."""
    return (8 * record_len + p - 2) // p + 1 if N * p // 8 // record_len > 1 else -(-8 * record_len // p)


def radius(p): return Fraction(Q // 2**p, 2) - Q % 2**p


def stated(columns, fold, record_len, p, depth, fold_depth, k0, k1):
    v = Fraction(9, 8) * (of_sum(columns, fold, p, depth, fold_depth) + of_rounding(k0, k1))
    return union(min(0.0, 1 - float(radius(p)**2 / (2 * v)) / math.log(2)), coefficients(record_len, p))


@functools.cache
def unassigned(batch, groups, group):
    """An upper bound on the probability that a request of `batch` units has no assignment of slots to all of them."""
    total = Fraction(0)
    for t in range(groups, min(batch - 1, groups * group) + 1):
        one = [0] + [math.comb(group, a) * a**(t + 1) for a in range(1, group + 1)]
        sums = [1]
        for _ in range(groups):
            longer = [0] * min(t + 1, len(sums) + group)
            for i, x in enumerate(sums):
                for a in range(1, min(group, len(longer) - 1 - i) + 1): longer[i + a] += x * one[a]
            sums = longer
        if t < len(sums): total += Fraction(math.comb(batch, t + 1) * sums[t], group**(groups * (t + 1)))
    return total


@functools.cache
def least(batch, groups):
    """The smallest number of slots in a group that keeps the bound."""
    group = 1
    while unassigned(batch, groups, group) > Fraction(1, 2**40): group += 1
    return group


def deals(batch):
    """The possible numbers of groups, each with its number of slots in a group."""
    if batch <= 5: return [(batch, 1)]      # Every slot holds all units.
    return [(groups, least(batch, groups)) for groups in range(5, min(batch, 8) + 1)]


def shape(records, record_len, p, group):
    """T, the number of units, and the number of places in a slot."""
    poly = N * p // 8
    units = -(-records // max(1, poly // record_len))
    return -(-record_len // poly), units, -(-units // group)


def depths(count):
    """The depths to try: the one at which a single ciphertext holds everything, or the largest depth, and the two
    before it."""
    deepest = (min(count, N) - 1).bit_length()
    return range(max(deepest - 2, 0), deepest + 1)


def choose(records, record_len, batch):
    """The layout with the smallest cost. Among layouts of equal cost, it is the first one in the order of the loops. Among numbers of bits of one layout, it is
    the smallest."""
    best = None
    for p, (groups, group) in product((10, 9, 8, 7), deals(batch)):
        polys, units, places = shape(records, record_len, p, group)
        slots = groups * group
        if slots * polys * N * p // 8 > MOST_ANSWERED: continue
        for fold in range(MOST_FOLD + 1):
            if 2**fold > places: break
            columns = -(-places // 2**fold)
            rows = -(-places // columns)
            bits = slots * fold * OF_C1[0]
            if max(slots * columns, bits) > MOST_SELECTORS: continue
            work = (SWITCH * (slots * columns + 2 * bits) + EXTERNAL * slots * polys * (rows - 1)
                    + PRODUCTS * groups * units * polys // 2 + ANSWERED * slots * polys)
            for depth, fold_depth in product(depths(slots * columns), depths(bits) if fold else (0,)):
                ciphertexts = -(-slots * columns // 2**depth) + -(-bits // 2**fold_depth)
                query = HEADER + HEAD + ciphertexts * N * (50 - KEPT) // 8
                within = None
                for above, gap in product(range(7, 12), (5, 6)):
                    k1 = p + above
                    k0 = k1 - gap
                    fail = stated(columns, fold, record_len, p, depth, fold_depth, k0, k1)
                    answer = HEADER + slots * polys * N * (k0 + k1) // 8
                    found = (query + answer + work, groups, group, p, fold, depth, fold_depth, k0, k1, query, answer, fail)
                    if fail <= BOUND and (within is None or found[0] < within[0]): within = found
                if within and (best is None or within[0] < best[0]): best = within
    return best[1:]


def square(pmf):
    """The distribution of the sum of two independent numbers, truncated where probabilities are below 1e-60."""
    n, out = len(pmf), [0.0] * (2 * len(pmf) - 1)
    for i, a in enumerate(pmf):
        if a > 0:
            for j, b in enumerate(pmf): out[i + j] += a * b
    cut = next(i for i, x in enumerate(out) if x > 1e-60)
    return out[cut:len(out) - cut], n


def ends(parts):
    """An interval of length 1 in `parts` parts, with half of each part's probability at either of its ends. For a
    convex function, the expectation is at least the expectation under the uniform distribution."""
    return [(i / parts - .5, (1 if 0 < i < parts else .5) / parts) for i in range(parts + 1)]


@functools.cache
def of_secret():
    """{error: probability} of a sum of N ternary coefficients times uniform errors of one unit, by `ends`."""
    term = [0.0] * (PARTS + 1)                              # in units of 1 / PARTS; symmetric, so the middle is 0
    term[PARTS // 2] += 1 / 3
    for i, (_, weight) in enumerate(ends(PARTS)): term[i] += 2 / 3 * weight
    for _ in range(11): term, _ = square(term)
    return {(i - len(term) // 2) / PARTS: x for i, x in enumerate(term) if x}


@functools.cache
def rounded(gap):
    """{error: probability} of both roundings together, in units of q / 2^k1, with gap = k1 - k0."""
    found = {}
    for x, a in of_secret().items():
        for y, weight in ends(2 * PARTS):
            z = round(x + 2**gap * y, 6)
            found[z] = found.get(z, 0.0) + a * weight
    return found


def convolved(columns, fold, record_len, p, depth, fold_depth, k0, k1):
    """log2 of the failure probability of a record, with the real roundings and a Gaussian of the remaining variance."""
    unit = Q / 2**k1
    sigma = math.sqrt(of_sum(columns, fold, p, depth, fold_depth)) / unit
    within = float(radius(p)) / unit
    def tail(x):
        # Beyond the radius the function continues as a straight line, so it is convex everywhere and never below the true tail.
        if x < 0: return .5 - x / sigma / math.sqrt(2 * math.pi)
        return math.erfc(x / sigma / math.sqrt(2)) / 2
    fail = math.fsum(a * (tail(within - x) + tail(within + x)) for x, a in rounded(k1 - k0).items())
    return union(math.log2(fail) if fail > 0 else -1000.0, coefficients(record_len, p))


def check_paths():
    """Checks that at each step each half has twice the energy, whatever the earlier steps were: all paths of all
    depths, as matrices of small N."""
    for n in (8, 16):
        def image(v, g, by=0):
            out = [0] * n
            for j, x in enumerate(v):
                to = (j * g + by) % (2 * n)
                out[to % n] += x if to < n else -x
            return out
        def halves(v, i):
            t = image(v, n // 2**i + 1)
            return [a + b for a, b in zip(v, t)], image([a - b for a, b in zip(v, t)], 1, 2 * n - 2**i)
        depth = n.bit_length() - 1
        for start in range(depth + 1):
            found = [0] * 2**(depth - start)
            for j in range(n):
                level = [[int(k == j) for k in range(n)]]
                for i in range(start, depth): level = [half for v in level for half in halves(v, i)]
                for leaf, v in enumerate(level): found[leaf] += sum(x * x for x in v)
            assert set(found) == {n * 2**(depth - start)}, (n, start, found)
    # For the real N: different products of later automorphisms differ, and only the identity has a nonzero trace.
    depth = N.bit_length() - 1
    exponents = {1}
    for i in range(depth): exponents = exponents | {e * (N // 2**i + 1) % (2 * N) for e in exponents}
    assert len(exponents) == 2**depth
    for g in sorted(exponents)[1:]:
        trace = 0
        for j in range(N):
            if j * (g - 1) % (2 * N) == 0: trace += 1
            elif j * (g - 1) % (2 * N) == N: trace -= 1
        assert trace == 0, g


def check_coefficients():
    """Counts a record's coefficients for all places in a unit, and checks the bound."""
    for p, record_len in product((10, 9, 8, 7), (1, 2, 3, 5, 7, 9, 64, 100, 255, 896, 1000, 1200, 2000, 3000)):
        starts = [8 * record_len * i for i in range(max(1, N * p // 8 // record_len))]
        most = max((start + 8 * record_len - 1) // p - start // p + 1 for start in starts)
        assert most <= coefficients(record_len, p), (p, record_len, most)


def check_convolution():
    """Checks that the variance of the convolved roundings is the stated one, plus what `ends` add."""
    found = rounded(5)
    total, square_ = math.fsum(found.values()), math.fsum(x * x * a for x, a in found.items())
    expected = float((N * SECRET * (1 + Fraction(2, PARTS**2)) + 4**5 * (1 + Fraction(2, (2 * PARTS)**2))) / 12)
    assert abs(total - 1) < 1e-9 and abs(square_ / expected - 1) < 1e-6, (total, square_, expected)


def table():
    rows = []
    for case in CASES:
        found = choose(*case)
        rows.append([str(x) for x in case + found[:-1]] + ["%.4f" % found[-1]])
    return rows


def write():
    with open(TABLE, "w", newline="") as out: csv.writer(out, lineterminator="\n").writerows([FIELDS] + table())
    with open(GROUPS, "w", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows([["batch", "groups", "group", "log2_unassigned"]] + groups_table())


def check_assignments():
    """Counts small cases completely. The bound holds, and with 2 groups of 3 slots 5 units fail with the probability
    that a test of the code expects."""
    def fits(choices):
        of = {}
        def place(i, seen):
            for slot in choices[i]:
                if slot in seen: continue
                seen.add(slot)
                if slot not in of or place(of[slot], seen):
                    of[slot] = i
                    return True
            return False
        return all(place(i, set()) for i in range(len(choices)))
    for batch, groups, group in [(3, 2, 2), (4, 2, 2), (5, 2, 3), (4, 3, 2), (4, 2, 4)]:
        slots = [tuple((h, x) for h, x in enumerate(of)) for of in product(range(group), repeat=groups)]
        failed = Fraction(sum(not fits(case) for case in product(slots, repeat=batch)), len(slots)**batch)
        assert failed <= unassigned(batch, groups, group), (batch, groups, group, failed)
        if (batch, groups, group) == (5, 2, 3): assert failed == Fraction(487, 2187), failed


def groups_table():
    return [[str(k), str(h), str(least(k, h)), "%.4f" % math.log2(max(unassigned(k, h, least(k, h)), Fraction(1, 2**1000)))]
            for h in range(5, 9) for k in range(max(6, h), 65)]


def check():
    """Runs all checks, and returns the results of hintless_moments.check."""
    import hintless_moments                 # That module imports this one.
    check_paths()
    check_assignments()
    check_coefficients()
    with open(GROUPS, newline="") as golden: rows = list(csv.reader(golden))
    assert rows == [["batch", "groups", "group", "log2_unassigned"]] + groups_table(), "crates/pir/tests/hintless_groups.csv is not what is derived here"
    check_convolution()
    with open(TABLE, newline="") as golden: rows = list(csv.reader(golden))
    assert rows[0] == FIELDS and rows[1:] == table(), "crates/pir/tests/hintless_failure.csv is not what is derived here"
    for row in rows[1:]:
        records, record_len, _, _, group, p, fold, depth, fold_depth, k0, k1 = map(int, row[:11])
        columns = -(-shape(records, record_len, p, group)[2] // 2**fold)
        exact = convolved(columns, fold, record_len, p, depth, fold_depth, k0, k1)
        assert exact <= float(row[-1]) <= BOUND, (row, exact)
        if os.environ.get("VERBOSE"): print(",".join(row), "convolved %.2f" % exact)
    below, drawn, worst, twice = hintless_moments.check(rows[1:])
    print("hintless failure bounds ok; by moments at least %.2f bits below the stated ones, at most 2^%.2f if drawn, 2^%.2f the worst seen"
          % (below, drawn, worst))
    return below, drawn, worst, twice


if __name__ == "__main__": check()
