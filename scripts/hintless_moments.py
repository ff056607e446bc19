"""The failure bound of retrieval without a hint by moments: Chernoff's bound of the noise as a sum of products. Unlike
hintless_failure.py, it has no Gaussian with the mean variance and no factor 9/8. That script has the scheme's constants,
and calls this one. Standard library only.

For a coefficient, the bound is the least 2 exp(-x R) E exp(x noise) over x. Given all other numbers, the noise is linear in
each kind of numbers. The expectation is bounded for one kind after the other, mostly by E exp(x D) <= exp(x^2 w / 2), with
w the mean square of D:

    plaintexts, digits of external products   given selectors' noise n: this leaves exp(k |n|^2), k = x^2 w / 2
    expansion's digits, rounded-away parts    given errors and secret: exp(k |n|^2) = E exp(sqrt(2k) g n), g Gaussian,
                                              first over them, then over g: det(1 - 2M)^(-1/2)
    errors of keys                            the exponent is linear in their squares: E exp(a e^2), by the distribution
    secret                                    by the number of its nonzero coefficients, summed over the binomial distribution
    roundings of A_1, times the secret        sinh(y) / y to the power of that number, y half a step times x
    rounding of A_0                           given all else, uniform over multiples of A_1's step, offset by at most half a step

`Tree` computes the determinant. Step i adds its noise to both halves. The map from there to a leaf is a shift and the
product of all 1 + tau_j, j > i, since tau_i(X^(2^j)) is -X^(2^j) for j = i and X^(2^j) for j > i. In a block of all leaves
below one node, M is one number per level. Above a block the tau_j commute. Their eigenvalues on the X^m with m = 2^k odd
belong to the primitive characters mod 2N / 2^k. If only some leaves of a block are used, they count at most their share of
the block: adding to all leaves' numbers is an isometry, and -log det of the parts of a matrix is supermodular. A slot lies
in at most two blocks, and on the steps above them M is at most twice the M of each.

A switch's noise is not white. Suppose that its power is at most `peak` times the mean at every root of unity. Then the
logarithm is at most the integral over 0 < u < 1 of the trace of M / (1 - 2uM'), with M' for white noise of the peak. There,
all tau but the identity have trace 0, so the trace depends on the errors only by their squares. Above a block, a leaf has
sums over windows of roots of unity. The peak of a window's average, times the largest gain, is a bound there as well. A
power above its peak counts as a failure.

crates/pir/docs/hintless.md, under Noise, says which steps are proved and which assumptions remain.

  scripts/hintless_moments.py COUNT SEED     draws COUNT layouts, a second each, and prints their bounds

docs/security/retrieval.md has 500 drawn layouts: 250 from each of the seeds 1 and 2.
"""
import cmath, functools, itertools, math, os, random, sys

import hintless_failure as scheme

N, LN2 = scheme.N, math.log(2)
LOG_N = N.bit_length() - 1
COINS = 42
SQUARES = {k * k: sum(math.comb(COINS, COINS // 2 + j) for j in {k, -k}) / 2**COINS for k in range(COINS // 2 + 1)}
ERROR = sum(x * p for x, p in SQUARES.items())          # mean square of an error
# log2 of the probability that powers of errors or of the secret, or the number of its nonzero coefficients, exceed the
# assumed values.
BEYOND = (-90.0, -60.0, -54.0, -48.0, -44.0)
# The value with which the script tries peaks that are twice as large.
TWICE = -48.0
# If the peaks of windows are lower by this factor, a step's gain on all its noise is replaced by the largest gain.
FLAT = 1.5
# The share of the exponent that noise times s gets, relative to its share of the energy. Bounds are smallest from 0.84 to 0.9.
SPLIT = .86
# For a depth and a step: the share of the images of s that a leaf multiplies by s and in which X -> 1 / X was applied.
INVERSE = {(LOG_N, 3): 2**-7}
# The layouts with the largest bounds among 500 drawn ones, 250 for each of the seeds 1 and 2: records, bytes, records
# at once.
DRAWN = [(5147, 2304, 32), (5927, 2304, 47), (8354, 2304, 64)]
# The layout with the largest bound seen: the form of the layouts above, with the longest records of that form.
WORST = (7800, 6912, 60)


def radau(count):
    """The nodes and weights of an integral over 0..1, with one node at 1. The result is an upper bound if all
    derivatives are positive."""
    def legendre(n, x):
        before, value = 1.0, x
        for k in range(2, n + 1): before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
        return value
    rest, grid, found = lambda x: legendre(count, x) - legendre(count - 1, x), 64 * count, []
    # All roots except 1 are further apart than these cells, which are finer towards both ends.
    cells = [-math.cos(math.pi * i / grid) for i in range(grid)]
    for low, high in zip(cells, cells[1:]):
        if rest(low) * rest(high) >= 0: continue
        for _ in range(60):
            middle = (low + high) / 2
            if rest(low) * rest(middle) <= 0: high = middle
            else: low = middle
        found.append(((1 + low) / 2, (1 + low) / 2 / (count * legendre(count - 1, low))**2))
    found.append((1.0, 1 / count**2))
    assert len(found) == count and all(abs(sum(w * u**k for u, w in found) - 1 / (k + 1)) < 1e-12 for k in range(2 * count - 1))
    return found


RADAU = radau(7)


@functools.cache
def mean_square(bits):
    """The mean square of a uniform number in -2^(bits-1)..2^(bits-1)-1. It equals the mean square of the error from
    rounding away `bits` bits, with ties to even."""
    half = 1 << (bits - 1)
    return sum(x * x for x in range(-half, half)) / (2 * half)


@functools.cache
def gains(steps, log_n):
    """[(|1 + tau_j|^2 for all j < steps, number of eigenvectors)]."""
    def log5(x, n):
        power, y = 0, 1
        while y != x % 2**n: power, y = power + 1, y * 5 % 2**n
        return power
    found = {}
    def count(values):
        key = tuple(round(abs(1 + v)**2, 9) for v in values)
        found[key] = found.get(key, 0) + 1
    units = [1 + 2**(log_n - j) for j in range(steps)]
    for k in range(log_n + 1):
        n = log_n + 1 - k                               # X^m, m = 2^k v: characters of v mod 2^n
        if n < 3: count([1 if x % 2**n == 1 else -1 for x in units])
        else:
            logs = [(1, log5(x, n)) if x % 4 == 1 else (-1, log5(-x, n)) for x in units]
            for r in range(1, 2**(n - 2), 2):
                turn = lambda log: cmath.exp(2j * math.pi * r * log / 2**(n - 2))
                for sign in (1, -1): count([(sign if of < 0 else 1) * turn(log) for of, log in logs])
    assert sum(found.values()) == 2**log_n
    return list(found.items())


class Tree:
    """A block of 2^held leaves at a depth. The powers c are of each step's noise, of the query's noise, and of what the
    leaves add themselves."""

    def __init__(self, depth, held, log_n=LOG_N):
        self.depth, self.top, self.n, self.leaves = depth, depth - held, 2**log_n, 2**held
        self.gains = gains(self.top, log_n)

    def log_mgf(self, c, flat=()):
        """-log det(1 - 2M) / 2. `flat` are powers of steps above the block, in order, which have the largest gain
        everywhere."""
        parts, s = [(self.n * self.leaves, 2 * c[-1])], 1 / max(1 - 2 * c[-1], 1e-9)
        for i in reversed(range(self.top, self.depth)):
            x = 4 * c[i] * s
            if x >= 1: return math.inf
            parts.append((self.n * 2**(i - self.top), x))
            s = 2 * s + 2 * s / (1 - x)                 # variance of what a node has from below it, under the tilt
        most = sum(x * 4**(self.top - 1 - i) for i, x in enumerate(flat))
        for gain, count in self.gains:
            power, by = most, 1.0
            for i in reversed(range(self.top)):
                power += c[i] * by
                by *= gain[i]
            parts.append((count, 2 * s * (power + c[-2] * by)))
        if max(x for _, x in parts) >= 1: return math.inf
        return -math.fsum(count * math.log1p(-x) for count, x in parts) / 2

    def slopes(self, c, most, flat=()):
        """For each power: the integral over u of the derivative at u * `most`, computed a little too large, as log_mgf
        is convex. None if it may be infinite."""
        if self.log_mgf([x + 1e-5 * y for x, y in zip(most, c)], flat) == math.inf: return None
        found = [0.0] * len(c)
        for u, weight in RADAU:
            at, even = [u * x for x in most], [u * x for x in flat]
            base = self.log_mgf(at, even)
            for i, x in enumerate(c):
                by = 1e-5 * u * x
                if x: found[i] += weight * (self.log_mgf(at[:i] + [at[i] + by] + at[i + 1:], even) - base) / by
        return found


@functools.cache
def peak(weights, beyond, window=1):
    """An upper bound, relative to the mean, on a sum of powers of polynomials with these mean powers: at any root of
    unity, or averaged over any window of roots. It is Chernoff's bound."""
    # Real and imaginary part have equal variance and no covariance, so E exp(y power) <= 1 / (1 - y) for a mean of 1.
    # There are 24 sums and N windows.
    nats, total = (math.log(N * 24) - (beyond - 1) * LN2) / window, sum(weights)
    def reached(y): return (nats - math.fsum(math.log1p(-y * w) for w in weights)) / y / total
    low, high = 0.0, 1 / max(weights)
    for _ in range(60):
        a, b = low + (high - low) * .382, low + (high - low) * .618
        if reached(a) <= reached(b): high = b
        else: low = a
    return reached(low)


@functools.cache
def nonzeros(beyond):
    """{largest number of a secret's nonzero coefficients in a range: probability of the range}, and the number that is
    exceeded with probability 2^beyond."""
    of = [math.exp(math.lgamma(N + 1) - math.lgamma(k + 1) - math.lgamma(N - k + 1) + k * LN2 - N * math.log(3)) for k in range(N + 1)]
    most = N
    while math.fsum(of[most:]) < 2**(beyond - 1): most -= 1
    return {k: p for k in range(most, -1, -4) if (p := math.fsum(of[max(k - 3, 0):k + 1])) > 0}, most


class Part:
    """Selectors' noise times numbers of one mean square: `leaves` leaves out of `span` consecutive ones. With
    `by_secret`, the noise is times s."""

    def __init__(self, depth, span, leaves, square, aligned, by_secret=False):
        held = min(depth, (span - 1).bit_length())
        self.tree, self.used, self.square = Tree(depth, held), leaves / 2**held, square
        self.depth, self.by_secret, self.aligned = depth, by_secret, aligned

    def powers(self, errors, nonzero, stated=False):
        """The powers of all steps, the query and the leaves: from errors of this mean square, and from what is rounded
        away."""
        times = nonzero if self.by_secret else 1
        digits = [times * l * N * mean_square(w) * errors for l, w, _ in scheme.GADGETS[:self.depth]]
        lost = [times * nonzero * mean_square(b) for _, _, b in scheme.GADGETS[:self.depth]]
        # What a switch rounds away at step i is multiplied by an image of s, made by tau_i and some of the later ones,
        # and never by s itself. The product of s and this image has the energy of independent factors. The exception is
        # X -> 1 / X, which doubles one of the images that a leaf adds up: see check_images.
        if self.by_secret: lost = [x * (2 if stated else 1 + INVERSE.get((self.depth, i), 0)) for i, x in enumerate(lost)]
        l, w, b = scheme.SQUARE
        leaf = (l * N * mean_square(w) * errors, 2 * nonzero**2 * mean_square(b)) if self.by_secret else (0.0, 0.0)
        return digits + [0.0, leaf[0]], lost + [times * (ERROR + mean_square(scheme.KEPT)), leaf[1]]

    def energy(self, stated=False):
        """The energy of this part's noise. As stated, s counts twice if a switch has rounded away before it."""
        powers = [x + y for x, y in zip(*self.powers(ERROR, 2 * N / 3, stated))]
        times = [2**(self.depth - 1 - i) for i in range(self.depth)] + [2**self.depth, 1]
        return self.square * self.used * self.tree.leaves * N * sum(x * y for x, y in zip(times, powers))

    def slopes(self, x, beyond, spread):
        """The slopes of log E exp(x noise) by each power, or None if it may be infinite. If s is a factor, peaks are
        multiplied by `spread`."""
        k, top = x * x * self.square / 2, self.tree.top
        c, most, flat = [], [], [0.0] * top
        for i, (digits, lost) in enumerate(zip(*self.powers(ERROR, nonzeros(beyond)[1]))):
            l = (scheme.GADGETS[:self.depth] + [(0, 0, 0), scheme.SQUARE])[i][0]
            weights = (*[digits / l] * l, lost) if digits else ()
            high = peak(weights, beyond) if weights else 1
            c.append(k * (digits + lost))
            times = (spread if self.by_secret else 1) * (1 if self.aligned or top <= i != self.depth else 2)
            wide = peak(weights, beyond, 2**(top - 1 - i)) if weights and i < top else high
            if FLAT * wide < high: flat[i] = c[i] * times * wide
            most.append(0.0 if i < top and flat[i] else c[i] * times * high)
        found = self.tree.slopes(c, most, flat)
        return found and [k * self.used * y for y in found]


class Layout:
    def __init__(self, row):
        records, record_len, _, groups, group, p, fold, depth, fold_depth, k0, k1 = map(int, row[:11])
        columns = -(-scheme.shape(records, record_len, p, group)[2] // 2**fold)
        aligned = groups * group == 1
        self.parts = [(1.0, Part(depth, columns, columns, mean_square(p), aligned))]
        if fold:
            (l0, w0, b0), (l1, w1, b1) = scheme.OF_C0, scheme.OF_C1
            span = l1 * fold
            both = [Part(fold_depth, span, l0 * fold, mean_square(w0), aligned), Part(fold_depth, span, span, mean_square(w1), aligned, True)]
            # For the same leaves, E exp(A + B) <= (E exp(A / z))^z (E exp(B / (1 - z)))^(1 - z) for every z in 0..1. By
            # energies alone, the part of B, noise times s, would be the larger one. The part of A, whose steps have the
            # same peaks, needs more than its share.
            energies = [part.energy() for part in both]
            by_secret = SPLIT * energies[1] / sum(energies)
            self.parts += [(1 - by_secret, both[0]), (by_secret, both[1])]
        self.variance = float(scheme.of_sum(columns, fold, p, depth, fold_depth))
        self.share = fold * float(scheme.of_external(fold_depth)) / (self.variance + float(scheme.of_rounding(k0, k1)))
        self.unit, self.steps = scheme.Q / 2**k1, 2**(k1 - k0)
        # The largest error from external products' roundings. The roundings of the switches to k0 and k1 bits are
        # replaced by uniform ones, which changes them at most by unit / 1000.
        lost = fold * (2**(scheme.OF_C0[2] - 1) + N * 2**(scheme.OF_C1[2] - 1))
        self.radius = float(scheme.radius(p)) - lost - self.unit / 1000
        self.count = scheme.coefficients(record_len, p)

    def given_secrets(self, x, beyond, spread):
        """An upper bound on log E exp(x noise), given the number of a secret's nonzero coefficients. None if it may be
        infinite."""
        slopes = [part.slopes(x / math.sqrt(share), beyond, spread) for share, part in self.parts]
        if None in slopes: return None
        y = x * self.unit / 2
        flat = math.log(math.sinh(y) / y)
        first = y + math.log(math.sinh(self.steps * y) / (self.steps * math.sinh(y)))
        def given(nonzero):
            of_keys, total = [0.0] * (len(scheme.GADGETS) + 1), first + nonzero * flat
            for (share, part), slope in zip(self.parts, slopes):
                digits, rest = part.powers(1.0, nonzero)
                total += share * sum(map(float.__mul__, slope, rest))
                for i in (*range(part.depth), -1): of_keys[i] += share * slope[i] * digits[i]
            for a, (l, _, _) in zip(of_keys, scheme.GADGETS + [scheme.SQUARE]):
                if a: total += l * N * math.log(math.fsum(p * math.exp(a / (l * N) * e) for e, p in SQUARES.items()))
            return total
        return given

    def with_peaks(self, beyond, spread):
        """log2 of the failure probability of a record, and of a coefficient, with peaks that are exceeded with
        probability 2^beyond."""
        def value(x):
            given = self.given_secrets(x, beyond, spread)
            return given(2 * N / 3) - x * self.radius if given else math.inf
        low, high = 0.0, 300 / self.radius
        for _ in range(12):
            a, b = low + (high - low) * .382, low + (high - low) * .618
            if value(a) <= value(b): high = b
            else: low = a
        given = self.given_secrets(low, beyond, spread)
        logs = [given(k) + math.log(p) - low * self.radius for k, p in nonzeros(beyond)[0].items()]
        one = 1 + (max(logs) + math.log(math.fsum(math.exp(y - max(logs)) for y in logs))) / LN2
        return math.log2(self.count * 2**one + 2**beyond), one

    def bound(self):
        """The smallest bound over all peaks, for a record and for a coefficient."""
        best = (0.0, 0.0)
        for beyond in BEYOND:
            if best[0] > beyond: best = min(best, self.with_peaks(beyond, 1))
        return best


def check_terms():
    """Checks that the moments of errors, secrets, digits and roundings are at most those of Gaussians with their mean
    squares."""
    for x in (1e-3, .01, .1, .3, 1.0, 3.0):
        error = math.fsum(p * math.cosh(x * math.sqrt(e)) for e, p in SQUARES.items())
        assert math.log(error) <= x * x * ERROR / 2 + 1e-12 and math.log((1 + 2 * math.cosh(x)) / 3) <= x * x / 3
        for bits in (5, 7, 8):
            half = 2**(bits - 1)
            centred = math.fsum(math.exp(x * (k + .5)) for k in range(-half, half)) / (2 * half)
            assert math.log(centred * math.cosh(x / 2)) <= x * x * mean_square(bits) / 2 + 1e-12


def check_images():
    """Checks which images of s the noise times s contains: never s itself, and its inverse only at one step of the
    largest depth, in one image of that step."""
    found = {}
    for depth in range(1, LOG_N + 1):
        for i in range(depth):
            of = [N // 2**i + 1]
            for j in range(i + 1, depth): of += [g * (N // 2**j + 1) % (2 * N) for g in of]
            assert 1 not in of and len(set(of)) == len(of)
            if 2 * N - 1 in of: found[depth, i] = 1 / len(of)
    assert found == INVERSE
    # The energy of s times an image of s, over all ternary secrets of a small ring.
    n = 4
    for g in range(1, 2 * n, 2):
        total = 0
        for s in itertools.product((-1, 0, 1), repeat=n):
            out = [0] * n
            for a, x in enumerate(s):
                for b, y in enumerate(s):
                    to = (a + b * g) % (2 * n)
                    out[to % n] += x * y if to < n else -x * y
            total += sum(x * x for x in out)
        assert total / 3**n / (2 / 3 * n)**2 <= (2 if g in (1, 2 * n - 1) else 1), g


def check_units():
    """Checks that the digits of a uniform c_1 rarely all vanish at a root mod q, so that nodes on a path have
    independent digits."""
    # At a root r, at most one pair of digits gives the same sum of the values at places 0 and 1. At r^g this holds for
    # places 0 and 1 / g.
    q = scheme.Q
    root = next(r for x in range(2, 99) if pow(r := pow(x, (q - 1) // (2 * N), q), N, q) == q - 1)
    for _, w, b in scheme.GADGETS:
        assert all(2**w < x * root % q < q - 2**w for x in range(1, 2**w + 1))
        # Sums over both places, all roots, and all nodes above a record's selectors.
        assert 2 * (b - math.log2(q)) + math.log2(N * scheme.MOST_SELECTORS) < -46


def check_tree():
    """Compares the determinants of a small ring's M with noise that passes through all steps. For blocks they are
    equal. For leaves in two blocks with noise that is not white, the bound holds."""
    n, log_n, depth = 8, 3, 3
    def image(v, g, by=0):
        out = [0.0] * n
        for j, x in enumerate(v):
            to = (j * g + by) % (2 * n)
            out[to % n] += x if to < n else -x
        return out
    def descend(v, i, out, name):
        if i == depth: return out.update({name: v})
        t = image(v, n // 2**i + 1)
        descend([a + b for a, b in zip(v, t)], i + 1, out, 2 * name)
        descend(image([a - b for a, b in zip(v, t)], 1, 2 * n - 2**i), i + 1, out, 2 * name + 1)
    def log_mgf(leaves, c, errors):
        rows = [[float(a == b) * (1 - 2 * c[-1]) for b in range(n * len(leaves))] for a in range(n * len(leaves))]
        def add(out, power):
            v = [x for leaf in leaves for x in out.get(leaf, [0.0] * n)]
            for a, x in enumerate(v):
                if x: rows[a] = [y - 2 * power * x * z for y, z in zip(rows[a], v)]
        for m in range(n):
            out = {}
            descend([float(k == m) for k in range(n)], 0, out, 0)
            add(out, c[-2])
            for i in range(depth):
                noise = image(image(errors[i], 1, m), n // 2**i + 1)
                for node in range(2**i):
                    out = {}
                    descend(noise, i + 1, out, 2 * node)
                    descend(image([-x for x in noise], 1, 2 * n - 2**i), i + 1, out, 2 * node + 1)
                    add(out, c[i])
        total = 0.0
        for i, row in enumerate(rows):
            total += math.log(row[i])
            for k in range(i + 1, len(rows)):
                by = rows[k][i] / row[i]
                if by: rows[k] = [a - by * b for a, b in zip(rows[k], row)]
        return -total / 2
    white, c = [[1.0] + [0.0] * (n - 1)] * depth, [.002, .005, .02, .0005, .01]
    for held in range(depth + 1):
        found = log_mgf(range(2**held, 2**(held + 1)) if held < depth else range(8), c, white)
        assert abs(Tree(depth, held, log_n).log_mgf(c) - found) < 1e-9, held
    errors = [[1, 0, -2, 0, 1, 1, 0, 0], [0, 3, 1, 0, 0, -1, 0, 0], [2, 0, 0, -1, 0, 0, 0, 1]]
    power = lambda e: [abs(sum(x * cmath.exp(1j * math.pi * (2 * r + 1) * m / n) for m, x in enumerate(e)))**2 for r in range(n)]
    means = [sum(x * x for x in e) for e in errors] + [1, 1]
    peaks = [max(power(e)) for e in errors] + [1, 1]
    for leaves in ([3, 4], [2, 3, 4], [1, 2, 3, 4, 5, 6], [6, 7]):
        tree = Tree(depth, (len(leaves) - 1).bit_length(), log_n)
        small = [x / 10 for x in c]
        most = [x * y * (2 if i < tree.top or i == depth else 1) for i, (x, y) in enumerate(zip(small, peaks))]
        bound = sum(x * y * z for x, y, z in zip(tree.slopes(small, most), small, means)) * len(leaves) / tree.leaves
        found = log_mgf(leaves, small, errors)
        assert 0 < found <= bound <= 1.2 * found, (leaves, found, bound)
    # The first step above a block of two leaves, with the largest gain everywhere. Its windows are a root and the
    # root's image by tau_1.
    at = power(errors[0])
    wide = max(at[r] + at[((2 * r + 1) * (n // 2 + 1) % (2 * n) - 1) // 2] for r in range(n)) / 2
    assert wide < peaks[0]
    most = [0.0] + [x * y for x, y in zip(small[1:], peaks[1:])]
    slopes = Tree(depth, 1, log_n).slopes(small, most, [small[0] * wide, 0.0])
    assert log_mgf([6, 7], small, errors) <= sum(x * y * z for x, y, z in zip(slopes, small, means)) < math.inf


def check(rows):
    """Checks every named layout and the worst drawn ones. Returns the smallest number of bits by which named layouts are below their stated bounds, the largest
    bound of DRAWN, the bound of WORST, and that bound with peaks twice as large."""
    check_terms()
    check_images()
    check_units()
    check_tree()
    below, others = math.inf, []
    drawn = [[str(x) for x in of] + ["%.4f" % stated] for of, stated in map(filled, (*DRAWN, WORST))]
    for row in rows + drawn:
        layout, stated = Layout(row), float(row[-1])
        assert abs(sum(part.energy(stated=True) for _, part in layout.parts) / layout.variance - 1) < 1e-6 or not layout.variance, row
        record, one = layout.bound()
        if os.environ.get("VERBOSE"):
            print(",".join(row), "by moments %.2f, %.2f of a coefficient, external products %.2f of the variance" % (record, one, layout.share))
        assert stated <= scheme.BOUND and record <= (scheme.BOUND if row in drawn else stated), (row, record)
        twice, _ = layout.with_peaks(TWICE, 2)
        if row in drawn: others.append((record, twice))
        else:
            assert twice <= scheme.BOUND, (row, twice)
            below = min(below, stated - record)
    return below, max(record for record, _ in others[:-1]), *others[-1]


def filled(case):
    """The layout of a case's form with the largest number of columns that its stated bound allows, which is the worst
    of its form. It has no more selectors than a request may have. None if no form serves."""
    try: _, group, p, fold, depth, fold_depth, k0, k1, *_ = form = scheme.choose(*case)
    except TypeError: return None
    at = lambda columns: scheme.stated(columns, fold, case[1], p, depth, fold_depth, k0, k1)
    low, high = 1, scheme.MOST_SELECTORS // (form[0] * group)
    while low < high:
        middle = (low + high + 1) // 2
        if at(middle) <= scheme.BOUND: low = middle
        else: high = middle - 1
    per_unit = max(1, N * p // 8 // case[1])
    row = low * 2**fold * group * per_unit, case[1], case[2], *form[:8]
    return row, at(low)


def draw(count, seed):
    """`count` filled layouts, of which external products may make most of the noise, the largest bound first: (bound,
    stated, share, case, row)."""
    numbers, found = random.Random(seed), []
    log_uniform = lambda low, high: int(2**numbers.uniform(math.log2(low), math.log2(high)))
    while len(found) < count:
        length = log_uniform(64, 2**14)
        # Every other layout fills whole polynomials of nine bits, for which stated bounds have the least margin.
        if len(found) % 2: length = max(1, round(length / (N * 9 // 8))) * (N * 9 // 8)
        case = log_uniform(2**12, 2**21.5), length, log_uniform(6, 65)
        if of := filled(case):
            layout = Layout(of[0])
            found.append((layout.bound()[0], of[1], layout.share, case, of[0]))
    return sorted(found, reverse=True)


if __name__ == "__main__":
    drawn = draw(*map(int, sys.argv[1:]))
    for record, stated, share, case, row in drawn:
        print("%d of %d bytes, %d at once:" % case, "by moments %.2f, stated %.2f; external products %.2f of the variance; filled:" % (record, stated, share), *row)
    assert drawn[0][0] <= scheme.BOUND
