"""The probability that PIR returns a wrong record. The probabilities are derived from the scheme as its paper and sordino-pir's
README state it, independently of the code. Standard library only.

A digit comes out wrong if its noise exceeds the radius 2^23. Its noise is, over one row of digits D_j in -128..127,

    sum_j D_j (e_j + f_j)  -  sum_c r_c s_c  +  (the error of rounding the answer, 2^19 at most)

Here e are the errors of the query, f the errors of rounding the query to its bits (ties to even), s is the secret, and r
the errors of rounding the row's hint (ties upwards). The rounded words are uniform: over the seed, A s and D A are uniform.
One relation connects them, D (A s) = (D A) s. It only implies that the noise is a multiple of what both roundings drop. If
all digits of a row are multiples of 2^v, the words of its hint are multiples of 2^v, and so is r.

The script computes three numbers for one digit. The other two are below the first:

    stated    2 exp(-R^2 / 2V), V = m 2^14 (sigma^2 + 4^dropped / 12) + 5/4 n sigma^2 4^dropped / 12, where R is the radius
              less 2^19 for the answer. Uniform errors have the mean -1/2, so for them R is less by a further 64 m. This is
              the bound that sordino-pir states
    chernoff  the least exp(-x 2^23) E exp(x noise) over x, with the distributions themselves. It holds for *every*
              database: log E exp(x D X) is convex in D, so for each x the worst row is all -128 or all 127. Given the
              noise, the answer's word is uniform in steps of which the hint's words are multiples. From 10,000 columns on,
              the bound is multiplied by 0.51: in the distribution tilted by exp(x noise), the sum exceeds its mean with
              at most this probability (Berry and Esseen). A row with a norm below 0.97 of the largest gains more by its norm
    exact     the probability, by inverting the Fourier transform, for the row of all -128 (zeros) and for the row of
              all 127 (0xff), with the worst rounding of the answer

A record's number is the sum over its digits. In DoublePIR, each digit counts the first level and kappa (n + 1) digits of
the second level.
"""
import bisect, cmath, csv, math, os
from fractions import Fraction

TABLE = os.path.join(os.path.dirname(__file__), "../crates/pir/tests/failure.csv")
FIELDS = ["scheme", "security", "records", "record_len", "per_column", "set", "hint_bits", "query_bits", "log2_failure"]
BOUND, LN2 = -40.0, math.log(2)
RADIUS, ANSWER = 2**23, 2**19
# For each set: n, and the sigma of the Gaussian secrets and errors. None: secrets are uniform, and errors are uniform
# over -512..511.
SETS = {"N64U": (64, None), "N128U": (128, None), "N256U": (256, None), "N384U": (384, None), "N512U": (512, None),
        "N1024S32": (1024, 32), "N1024S16": (1024, 16), "N1280S16": (1280, 16)}
UNIFORM = [name for name, (_, sigma) in SETS.items() if sigma is None]
ORDER = {"classical": UNIFORM + ["N1024S32", "N1024S16"], "core": UNIFORM + ["N1280S16"]}


def rounding_error(dropped, ties_up=False):
    """{error: probability} of rounding a uniform word to a multiple of 2^dropped, found by trying two steps of
    words."""
    step, found = 1 << dropped, {}
    for word in range(2 * step):
        low, quotient = word % step, word // step
        up = 2 * low > step or (2 * low == step and (ties_up or quotient % 2 == 1))
        error = (quotient + up) * step - word
        found[error] = found.get(error, 0) + Fraction(1, 2 * step)
    return found


def moments(distribution):
    mean = sum(x * p for x, p in distribution.items())
    return mean, sum((x - mean)**2 * p for x, p in distribution.items())


def ratio(x, n):
    """sinh(n x / 2) / (n sinh(x / 2)): E exp(x U), with U uniform over n consecutive numbers centred at 0."""
    return cmath.sinh(n * x / 2) / (n * cmath.sinh(x / 2)) if abs(x) > 1e-15 else 1.0


class Noise:
    """The noise of one digit: sums over `columns` terms, with a parameter set and numbers of bits."""

    def __init__(self, name, columns, hint_bits, query_bits, answered=True):
        self.n, self.sigma = SETS[name]
        self.columns, self.hint, self.query = columns, 32 - hint_bits, 32 - query_bits
        self.radius, self.answered = RADIUS, answered
        # DoublePIR's first level fetches its hint and its answer exactly, so neither of them is rounded.
        self.rounded_hint = answered and self.hint > 0
        if self.sigma:
            weights = [math.exp(-k * k / (2 * self.sigma**2)) for k in range(11 * self.sigma)]
            total = math.fsum(weights) * 2 - 1
            self.gauss = [(k, (w if k == 0 else 2 * w) / total) for k, w in enumerate(weights)]

    def margin(self):
        return self.radius - (ANSWER if self.answered else 0)

    def variance(self, digit=128):
        of_error = Fraction(2**20 - 1, 12) if self.sigma is None else Fraction(self.sigma)**2
        rounded = lambda dropped: Fraction(4**dropped, 12) if dropped else 0
        total = self.columns * digit**2 * (of_error + rounded(self.query))
        return total + (Fraction(5, 4) * self.n * of_error * rounded(self.hint) if self.rounded_hint else 0)

    def stated(self):
        """log2 of the bound that sordino-pir states."""
        radius = self.margin() - (64 * self.columns if self.sigma is None else 0)
        return min(0.0, 1 - float(Fraction(radius)**2 / (2 * self.variance())) / LN2) if radius > 0 else 0.0

    def impossible(self):
        """True if uniform errors cannot add up to the radius."""
        return self.sigma is None and self.columns * 128 * (512 + (1 << self.query) / 2) < self.margin()

    def of_word(self, x):
        """E exp(x (e + f))."""
        if self.sigma is None: value = cmath.exp(-x / 2) * ratio(x, 1024)
        else: value = sum(p * cmath.cosh(x * k) for k, p in self.gauss)
        # Ties to even are as likely as half of one further step at either end.
        return value * (ratio(x, 1 << self.query) * cmath.cosh(x / 2) if self.query else 1)

    def of_hint(self, x, v):
        """E exp(x r s), with r over the multiples of 2^v."""
        if not self.rounded_hint or v >= self.hint: return 1
        n, x = 1 << (self.hint - v), x * 2**v
        return sum(p * cmath.cosh(x * k / 2) * ratio(x * k, n) for k, p in self.gauss)

    def log_mgf(self, x, digit, v):
        return self.columns * cmath.log(self.of_word(digit * x)) + self.n * cmath.log(self.of_hint(x, v))

    def of_answer(self, x, v):
        """An upper bound on log E exp(x (rounding error of the answer)), in steps of which the hint's words are
        multiples."""
        steps = max(self.hint, v)
        return math.log(ratio(x * 2**steps, 1 << (20 - steps)).real) + x * 2**steps / 2

    def best(self, digit, v, worst_answer):
        """For x > 0 and for x < 0: the x that minimises log E exp(x noise) - |x| R, and that minimum."""
        found = []
        for sign in (1, -1):
            counted = lambda x: 0.0 if not self.answered else x * ANSWER if worst_answer else self.of_answer(x, v)
            value = lambda x: self.log_mgf(sign * x, digit, v).real + counted(x) - x * self.radius
            low, high = 0.0, 1.5 * self.radius / self.variance(digit)
            for _ in range(30):
                a, b = low + (high - low) * .382, low + (high - low) * .618
                if value(a) < value(b): high = b
                else: low = a
            found.append((sign * (low + high) / 2, min(0.0, value((low + high) / 2))))
        return found

    def chernoff(self):
        """log2 of the bound for any row. For each sign it takes the worse extreme digit, and the coarsest hint."""
        if self.impossible(): return -math.inf
        coarsest = min(7, max(0, self.hint - 1))
        sides = [self.best(digit, v, worst_answer=False) for digit in (-128, 127) for v in {0, coarsest}]
        plus, minus = (max(side[i][1] for side in sides) for i in (0, 1))
        beyond = .51 if self.sigma and self.columns >= 10_000 else 1
        return min(0.0, math.log2(beyond * (math.exp(plus) + math.exp(minus))))

    def exact(self, digit):
        """log2 of the probability for a row whose digits are all equal."""
        if self.impossible(): return -math.inf
        v = 7 if digit == -128 else 0
        unit = abs(digit) if not self.rounded_hint or digit == -128 else 1
        total = 0.0
        for x, _ in self.best(digit, v, worst_answer=True):
            total += self.tail(x, digit, v, unit)
        return math.log2(total) if total > 0 else -math.inf

    def tail(self, x, digit, v, unit):
        """Pr[sign(x) noise >= R], by the transform of the distribution tilted by exp(x noise). The noise is a multiple
        of `unit`. The sum over one period of the transform is exact, except for the mass at least a period away."""
        sign, x = (1, x) if x > 0 else (-1, -x)
        log_mgf = lambda z: self.log_mgf(sign * z, digit, v)
        step = 1e-3 * x
        spread = math.sqrt((log_mgf(x + step) + log_mgf(x - step) - 2 * log_mgf(x)).real) / step
        period = math.ceil(40 * spread / unit)
        first = math.ceil(self.margin() / unit)
        total, base = 0.0, log_mgf(x)
        for k in range(period // 2 + 1):
            angle = 2j * math.pi * k / period
            log_value = log_mgf(x + angle / unit) - base
            if log_value.real < -60: break
            geometric = cmath.exp(-angle * first) / (1 - cmath.exp(-x * unit - angle))
            total += (1 if k == 0 else 2) * (cmath.exp(log_value) * geometric).real
        return max(0.0, total / period) * math.exp((base - x * unit * first).real)


def levels(scheme, name, records, record_len, per_column, hint_bits, query_bits):
    """For each level: the noise of one digit, and the number of such digits in a record."""
    columns = -(-records // per_column)
    if scheme == "simple": return [(Noise(name, columns, hint_bits, query_bits), record_len)]
    digits = 4 * (SETS[name][0] + 1)                       # kappa (n + 1): the row of H1 and the word of the answer
    return [(Noise(name, columns, hint_bits, query_bits, answered=False), record_len),
            (Noise(name, per_column, hint_bits, query_bits), record_len * digits)]


def record(parts, bound):
    total = [bound(noise) + math.log2(count) for noise, count in parts]
    most = max(total)
    if most == -math.inf: return most
    return min(0.0, most + math.log2(sum(2**(x - most) for x in total)))


def choose(scheme, security, records, record_len, per_column):
    """The first set that keeps the bound, with the fewest bits of the hint, and then of the query."""
    columns = -(-records // per_column)
    for name in ORDER[security]:
        n, sigma = SETS[name]
        if sigma is None and max(columns, per_column if scheme == "double" else 0) > (32 * n - 254) // 22: continue
        stated = lambda hint, query: record(levels(scheme, name, records, record_len, per_column, hint, query), Noise.stated)
        hint = next((h for h in range(32 if sigma is None else 20, 33) if stated(h, 32) <= BOUND), None)
        if hint is None: continue
        query = next(b for b in range(24, 33) if stated(hint, b) <= BOUND)
        return name, hint, query, stated(hint, query)
    return None


LAYOUTS = [("simple", "classical", m, length, 1) for m, length in (
    (1, 1), (81, 1), (174, 12), (360, 100), (547, 13000), (564, 13000), (565, 13000), (541, 65536), (647, 100), (691, 12),
    (733, 1), (734, 1), (1000, 10000), (2048, 13000), (3000, 10000), (8192, 4000), (10000, 10000), (16384, 2000),
    (32768, 32768), (43166, 1048592), (45000, 10000), (53000, 256), (57808, 32), (60000, 1), (61745, 256), (100000, 1), (100000, 10000),
    (150000, 1), (185000, 1), (190000, 10000), (231232, 32))]
LAYOUTS += [("simple", "classical", 1 << 20, 16, 256), ("simple", "core", 2048, 10000, 1), ("simple", "core", 150000, 1, 1)]
LAYOUTS += [("double", "classical", *layout) for layout in (
    (593**2, 1, 593), (576**2, 3, 576), (518**2, 256, 518), (100000, 3, 316), (594**2, 1, 594), (220000, 1, 2),
    (300000, 1, 2), (1 << 20, 3, 64), (1 << 30, 3, 16384))]


def table():
    """The rows of the golden table."""
    rows = []
    for layout in LAYOUTS:
        name, hint, query, stated = choose(*layout)
        rows.append([str(x) for x in layout] + [name, str(hint), str(query), "%.4f" % stated])
    return rows


def write():
    with open(TABLE, "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows(table())


def check_rounding():
    for dropped in range(1, 13):
        mean, variance = moments(rounding_error(dropped))
        assert mean == 0 and variance == Fraction(4**dropped, 12) + Fraction(1, 6)
        assert moments(rounding_error(dropped, ties_up=True))[0] == Fraction(1, 2)
        noise = Noise("N64U", 1, 32, 32 - dropped)
        direct = sum(float(p) * math.exp(1e-3 * x) for x, p in rounding_error(dropped).items())
        direct *= sum(math.exp(1e-3 * e) for e in range(-512, 512)) / 1024
        assert abs(noise.of_word(1e-3) / direct - 1) < 1e-12


def check_convolution():
    """Compares tails by the transform with a convolution of the real distributions in integers."""
    columns, query_bits = 24, 24
    counts = [1]
    def times(counts, n):                                  # with n ones
        out, total = [], 0
        for i in range(len(counts) + n - 1):
            total += counts[i] if i < len(counts) else 0
            total -= counts[i - n] if i >= n else 0
            out.append(total)
        return out
    # e has 1024 values from -512 on. f has 256 values from -128 on, averaged with the same distribution one step
    # higher.
    for _ in range(columns): counts = times(times(times(counts, 1024), 256), 2)
    low = columns * (-512 - 128)
    whole = (1024 * 256 * 2) ** columns
    assert sum(counts) == whole
    for radius in (1_000_000, 1_300_000, 1_500_000):
        noise = Noise("N64U", columns, 32, query_bits, answered=False)
        noise.radius = radius
        for digit in (-128, 127):
            far = sum(c for i, c in enumerate(counts, low) if abs(digit * i) >= radius)
            exact = math.log2(far) - math.log2(whole)
            found, chernoff = noise.exact(digit), noise.chernoff()
            assert abs(found - exact) < 1e-6, (found, exact)
            assert exact < chernoff < noise.stated() + 64 * columns, (exact, chernoff)


def check_hint():
    """The same with a rounded hint: the secret is one Gaussian, the rounding errors have 6 bits, and the sum goes term
    by term."""
    noise = Noise("N1024S16", 2, 26, 31)
    noise.n, noise.answered, noise.radius = 1, False, 2000
    word = {}
    for e, p in noise.gauss:
        for f, q in rounding_error(1).items():
            for x in {e, -e}: word[x + f] = word.get(x + f, 0) + p * float(q) / len({e, -e})
    sums = {}
    for x, p in word.items():
        for y, q in word.items(): sums[x + y] = sums.get(x + y, 0) + p * q
    hint = {}
    for s, p in noise.gauss:
        for r, q in rounding_error(6, ties_up=True).items():
            for x in {s, -s}: hint[r * x] = hint.get(r * x, 0) + p * float(q) / len({s, -s})
    reach, at_least = sorted(hint), [0.0]
    for x in reversed(reach): at_least.append(at_least[-1] + hint[x])
    far = lambda bound: at_least[len(reach) - bisect.bisect_left(reach, bound)]
    exact = math.log2(math.fsum(2 * p * far(noise.radius - x) for x, p in sums.items()))
    assert abs(noise.exact(1) - exact) < 1e-6, (noise.exact(1), exact)


def check_table():
    with open(TABLE, newline="") as golden: rows = list(csv.reader(golden))
    assert rows[0] == FIELDS and rows[1:] == table(), "crates/pir/tests/failure.csv is not what is derived here"
    for row in rows[1:]:
        scheme, _, records, record_len, per_column, name, hint, query, stated = row
        parts = levels(scheme, name, *map(int, (records, record_len, per_column, hint, query)))
        chernoff = record(parts, Noise.chernoff)
        worst = max(record(parts, lambda noise: noise.exact(digit)) for digit in (-128, 127))
        assert max(worst, chernoff) <= float(stated) <= BOUND, (row, worst, chernoff)
        if os.environ.get("VERBOSE"): print(",".join(row), "chernoff %.2f exact %.2f" % (chernoff, worst))


def limits():
    """For each record length: the largest number of columns with uniform secrets, and the largest square of
    DoublePIR."""
    def most(layout, end):
        low, high = 1, end                                  # holds at low, not at high
        while high - low > 1:
            middle = (low + high) // 2
            found = choose(*layout(middle))
            low, high = (middle, high) if found and SETS[found[0]][1] is None else (low, middle)
        return low
    simple = {d: most(lambda m: ("simple", "classical", m, d, 1), 800) for d in (1, 12, 100, 272, 13000, 65536)}
    double = {d: most(lambda m: ("double", "classical", m * m, d, m), 800) for d in (1, 3, 256)}
    # crates/pir/tests/retrieval/params.rs has the same values.
    assert simple == {1: 733, 12: 691, 100: 647, 272: 628, 13000: 564, 65536: 541}, simple
    assert double == {1: 593, 3: 576, 256: 518}, double


def check():
    check_rounding()
    check_convolution()
    check_hint()
    limits()
    check_table()
    print("pir failure bounds ok")
