#!/usr/bin/env python3
"""The probability that readers' sums refuse an honest reply of open mode, and the changes that they refuse. The probabilities
are derived from docs/scoring.md and docs/security/open.md, independently of the code. Standard library only.

A reader tests S, the sum of the squares of 64 signed sums of a group's errors. Let W be the sum of squares of the errors.
The signs are independent of the errors. So, given the errors, the tails of S / W are no heavier than the tails of
chi-squared with 64 degrees of freedom.

W has two parts. If all rows are alike, the part that a query's errors carry is the square of one normal variable. The part
that each score has of its own is a sum of squares of normal variables. Rows that recur in each block of 2048 / t rows have
the same stored polynomials and hints, and so the same errors. The number of different errors is the number of rows in a
block, or of all rows if these are fewer.

crates/index/tests/held.csv has tolerances. The script asserts that an honest refusal has a probability below 2^-40. For
groups of at least 1,000 rows it also asserts a probability above 2^-54, because a wider tolerance refuses fewer changes.
"""
import csv, math, os, re

import clusters_failure

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "../crates/index/tests/held.csv")
PAGE = os.path.join(HERE, "../docs/security/open.md")
COUNT, GROUP, BYTES = 64, 12_288, 3
N, Q, SCALE, WINDOW = 2048, 2**40 - 36863, 8000, 2.05
DROPPED, ANSWER, HINT = {4: 7, 8: 7, 16: 8, 32: 8, 64: 8}, 15, [20] * 7 + [19]
STEP = WINDOW / 2**20


def variances(t, width):
    """Two variances of an error, in squares of a step: the variance that comes from the query's errors, and the variance that each score has of
    its own."""
    # The longest stored vector, with a rounding error of half a unit in every coordinate.
    norm = 1.001 * SCALE + math.sqrt(width) / 2
    carried = (10.5 + 4 ** DROPPED[t] / 12 + 1 / 6) * (N // t) * (norm * WINDOW / Q) ** 2
    hint = sum((WINDOW / 2**bits) ** 2 / 12 for bits in HINT) / 8 * (2 / 3) * N
    own = (WINDOW / 2**ANSWER) ** 2 / 12 + hint
    return carried / STEP**2, own / STEP**2


def chi_above(x):
    """P(chi-squared with 64 degrees of freedom > x), which is a finite sum because the number of degrees is even."""
    if x <= 0:
        return 1.0
    terms = (math.exp(-x / 2 + k * math.log(x / 2) - math.lgamma(k + 1)) for k in range(COUNT // 2))
    return min(1.0, sum(terms))


def own_sums(rows):
    """The sum of squares of `rows` independent normal variables, which is chi-squared: upper ends of intervals, with
    their probabilities."""
    deviation = math.sqrt(2 * rows)
    low, high = max(0.0, rows - 12 * deviation), rows + 12 * deviation + 120
    step = (high - low) / 600
    density = lambda c: math.exp((rows / 2 - 1) * math.log(c) - c / 2 - rows / 2 * math.log(2) - math.lgamma(rows / 2))
    for at in range(600):
        middle = low + (at + 0.5) * step
        # With one row, most values are near zero. There the density is unbounded, but such values refuse nothing.
        yield low + (at + 1) * step, min(1.0, density(middle) * step * 1.05)


def log2_refusal(t, width, rows, groups, tolerance):
    """log2 of the probability that some group of an honest reply exceeds the tolerance."""
    carried, own = variances(t, width)
    # The mean over a normal variable z, in steps of 1/4 with the larger end of each, and over the squares of the own
    # part.
    different = min(rows, N // t)
    total, step, squares = 0.0, 1 / 4, [(c * rows / different, likely) for c, likely in own_sums(different)]
    for at in range(12 * 4):
        z = (at + 1) * step
        weight = 2 * math.exp(-(at * step) ** 2 / 2) / math.sqrt(2 * math.pi) * step
        for c, likely in squares:
            if weight * likely > 2**-80:
                total += weight * likely * chi_above(tolerance / (rows * carried * z * z + own * c))
    return math.log2(total + 2**-90) + math.log2(groups)


def log2_accepted(ratio):
    """A bound on log2 of the probability that a reply with an error E in one score passes, where (2 E)^2 = tolerance /
    ratio. Each square is (2 E x)^2 or (2 E (1 - x))^2 with probability 1/2, for an x that the server chooses."""
    return clusters_failure.log2_accepted(ratio, COUNT)


def log2_spread(ratio):
    """log2 of the probability that a reply with small errors in a large number of scores passes. The errors' squares add
    up to `ratio` tolerances. This uses the normal approximation."""
    x = 1 / ratio / COUNT
    return min(0.0, COUNT / 2 * (1 - x + math.log(x))) / math.log(2) if x < 1 else 0.0


def seen(tolerance):
    """The smallest change of a score that passes with probability at most 2^-40."""
    return math.sqrt(tolerance) / 4 * STEP


def honest(t, width):
    """A bound on the scores of an honest reply: a query and a row of length 1, a rounding error of half a unit in every
    coordinate of the row, and twelve standard deviations of an error."""
    carried, own = variances(t, width)
    return 1.001 + math.sqrt(width) / 2 / SCALE + 12 * math.sqrt(carried + own * 11 / 8) * STEP


def check():
    page = open(PAGE).read()
    accepted, many = log2_accepted(4.0), log2_spread(0.085)
    assert -42 < accepted < -40 and many < -40 < log2_spread(0.08), (accepted, many)
    print(f"held: (2 E)^2 = tolerance / 4 is accepted with probability 2^{accepted:.2f}, squares that add up to .085 tolerances with 2^{many:.1f}")
    # The probability that a coordinate of a sum overflows: all rows are alike and have one nonzero coordinate. This is
    # Hoeffding's bound.
    overflow = (math.log(2) - (2**23 / (1.001 * SCALE + 0.5)) ** 2 / (2 * GROUP)) / math.log(2)
    assert -64 < overflow < -60, overflow
    assert COUNT * 128 * BYTES == 2 * GROUP
    # The page has some of the derived rows, and no others.
    shown = set(re.findall(r"^\| \d+ x [\d,]+ x [\d,]+, `t = \d+`.*$", page, re.M))
    assert shown, "docs/security/open.md lacks the table of tolerances"
    with open(TABLE) as table:
        for row in csv.DictReader(table):
            t, width, rows, groups, tolerance = (int(row[name]) for name in ("t", "width", "rows", "groups", "tolerance"))
            refusal = log2_refusal(t, width, rows, groups, tolerance)
            line = f"| {groups} x {rows:,} x {width:,}, `t = {t}` | {COUNT * BYTES * width / rows:.1f} | {seen(tolerance):.4f} |"
            print(f"{line} an honest reply is refused with probability 2^{refusal:.1f}")
            assert refusal < -40 and (rows < 1000 or refusal > -54), (row, refusal)
            shown.discard(line)
            # An error below the mean tolerated error moves no honest score beyond the end of the window.
            end = honest(t, width) + math.sqrt(tolerance / COUNT) * STEP
            assert end < WINDOW / 2, (row, end)
    assert not shown, f"docs/security/open.md has {shown}"


if __name__ == "__main__":
    check()
