#!/usr/bin/env python3
"""The probability that clusters' check rows refuse an honest reply of routed mode, and the changes that they refuse. The
probabilities are derived from docs/scoring.md and docs/security/routed.md, independently of the code. Standard library only.

  python3 clusters_failure.py

The sum of an honest reply, for a part of r rows of a cluster, is ||X + c||^2. Let E_v be the errors of the r rows, and e_0
a check row's error; all have variance V. Given the E_v, the 63 entries of X are independent with variance W + V, where
W = (sum of E_v^2) / 4 is common to all. Each entry of c is e_0 / 2. So W is V / 4 times chi-squared with r degrees of
freedom, and the integral over W becomes a sum over its density. The code bounds this tail in another way, which only needs
subgaussian errors. So its tolerances, which are in crates/vault/tests/clusters.csv, are a little larger than necessary here.

V has two parts: q times the variance that the words of a query carry, and the variance that each score has of its own.
Here q = (sum of squares of the m errors of the words) / (its mean). These errors are subgaussian with their variance, so
P(q > t) <= exp(-m (t - 1 - ln t) / 2). The integral over q becomes a sum over a fine grid, which is an upper bound.
"""
import csv, math, os, re

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "../crates/vault/tests/clusters.csv")
PAGE = os.path.join(HERE, "../docs/security/routed.md")
COUNT, PLACES, LOG2 = 64, 512, math.log(2)
P, Q_WORDS, SIGMA, SECRET = 2**18, 2**40 - 36863, 16, 1536
N, Q = 2048, 2**50 - 16383
# For each shape: width, t, groups, clusters of a group, rows of a cluster.
SHAPES = [(128, 128, 12, 8, 1360), (128, 64, 24, 16, 3392), (128, 64, 96, 32, 4256), (128, 16, 48, 32, 8512),
          (128, 32, 32, 24, 16960), (384, 128, 32, 16, 1024), (1536, 128, 64, 5, 1024), (8, 128, 64, 1024, 512),
          (128, 128, 12, 8, 320), (128, 64, 12, 8, 64), (1536, 64, 6, 4, 64), (32, 64, 1, 64, 64),
          (16, 64, 6, 1, 160), (8, 128, 1, 1, 32)]


def variances(width, t, clusters):
    """Two variances, in squares of a step: the variance that comes from the query's words, and the variance that each score has of its own."""
    words = clusters * width * (P * P / 12) * ((SIGMA * 2**32 / Q_WORDS) ** 2 + 1 / 12) / 2**28
    hint = SECRET * (2 / 3) / 12 / 2**16
    query = 10.5 + (4**4 / 12 + 1 / 6) + 1 / 12
    through = query * (N // t) * SECRET * (2**52 / 12) * (2**26 / Q) ** 2
    answer = 16 if t > 32 else 15
    engine = through + (2**26 / 2**answer) ** 2 / 12 + (2**26 / 2**19) ** 2 / 12 * (2 / 3) * N
    return words + hint, engine / 2**16


def chernoff(total, own):
    """A bound on the probability that ||X + c||^2 exceeds `total`, for V = 1 and a given W. The eigenvalues are own = W
    + 1 and, once, own + 63/4. Bisection finds the smallest Chernoff bound."""
    k, common = COUNT - 1, own + (COUNT - 1) / 4
    slope = lambda u: (k - 1) * own / (1 - 2 * u * own) + common / (1 - 2 * u * common) - total
    low, high = 0.0, 0.5 / common * (1 - 1e-9)
    if slope(low) >= 0:
        return 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return math.exp(-low * total - (k - 1) / 2 * math.log(1 - 2 * low * own) - math.log(1 - 2 * low * common) / 2)


def above(total, places):
    """The same probability averaged over W, which is chi-squared with `places` degrees of freedom. The sum has 300
    points of its density, up to where the tail is 2^-70."""
    width, most = math.sqrt(2 * places), places + 11 * math.sqrt(2 * places) + 100
    least_w = max(1e-3, places - 7 * width)
    step = (most - least_w) / 300
    density = lambda w: math.exp((places / 2 - 1) * math.log(w / 2) - w / 2 - math.lgamma(places / 2)) / 2
    points = (least_w + (i + 0.5) * step for i in range(300))
    # Below the first point W has almost no probability, and smaller W give smaller probabilities.
    return min(1.0, sum(step * density(w) * chernoff(total, w / 4 + 1) for w in points))


def log2_refusal(tolerance, width, t, groups, clusters, places):
    parts = groups * -(-places // PLACES)
    return log2_above_any(tolerance / 65536, variances(width, t, clusters), clusters * width, min(places, PLACES)) + math.log2(parts)


def log2_above_any(tolerance, variance, m, places):
    """log2 of the probability for one cluster's sum. `variance` is the pair of what m common errors carry and what each
    score has of its own."""
    carried, own = variance
    larger = lambda size: -m / 2 * (size - 1 - math.log(size)) / LOG2
    given = lambda size: above(tolerance / (own + carried * size), places)
    # The mean of an increasing function of q, by parts: each increase times the probability that q exceeds its start.
    step, size, tail = 1 + 0.3 / math.sqrt(m), 1.0, 0.0
    total = before = given(step)
    while tail > -70:
        size *= step
        tail, now = larger(size), given(size * step)
        total, before = total + 2**tail * (now - before), now
    return math.log2(total + 2**tail)


def largest_mean(u):
    """A bound on the mean of exp(-u y^2), for the worst x of [0, 1/2], if y is x or 1 - x with probability 1/2 each. The
    mean's slope is at most root(2 u / e). So between two points of a grid, it exceeds the larger by at most that slope
    times half of the grid's step."""
    points = 2**14
    grid = (i / 2 / points for i in range(points + 1))
    return max(math.exp(-u * x * x) + math.exp(-u * (1 - x) ** 2) for x in grid) / 2 + math.sqrt(2 * u / math.e) / 4 / points


def log2_accepted(ratio, count=COUNT - 1):
    """A bound on log2 of the probability that a reply with an error E in one score passes, where E^2 = tolerance / ratio.
    Each square is x^2 E^2 or (1 - x)^2 E^2 with probability 1/2, for an x that the server chooses. This is Chernoff's
    bound. It holds for any u, so a coarse search for a good u suffices."""
    bound = lambda u: count * math.log2(largest_mean(u)) + u * ratio / LOG2
    low, high = 0.05, 10.0
    for _ in range(20):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, second) if bound(first) < bound(second) else (first, high)
    return bound(low)


def seen(tolerance, width):
    """The smallest change of a score that passes with probability at most 2^-40, if both residuals have length 1. It is
    half of the tolerance's root, in units of R^2 steps."""
    return math.sqrt(tolerance) / 2 / 256 / (math.sqrt(2**17 - 2048) - math.sqrt(width) / 2) ** 2


def log2_spread(ratio):
    """log2 of the probability that a reply with small errors in many scores passes. The errors' squares add up to
    `ratio` tolerances. In the normal approximation, the sum is ratio * tolerance / 4 times chi-squared with 63
    degrees of freedom."""
    x, k = 4 / ratio, COUNT - 1
    return min(0.0, k / 2 * (1 - x / k + math.log(x / k))) / LOG2 if x < k else 0.0


def sizes():
    """For a million vectors of 128 coordinates: the kilobytes of a reply with and without check rows, the growth of a
    search, and the megabytes that it adds to a client's download."""
    width, t, groups, clusters, places = SHAPES[1]
    more = COUNT * -(-places // PLACES)
    up = 4 * groups * clusters * width + -(-SECRET // t) * N * 46 // 8
    before, after = (2 * groups * rows for rows in (places, places + more))
    growth = 100 * (after - before) / (up + before)
    return f"{after / 1000:.0f} KB instead of {before / 1000:.0f} KB. The query is larger than the reply, so a search moves only {growth:.1f} % more bytes. The one-time download grows by {19 * t * groups * more / 8e6:.1f} MB"


def check():
    page = open(PAGE).read()
    assert sizes() in page.replace("\n", " "), sizes()
    accepted = log2_accepted(4.0)
    assert -41 < accepted < -40, accepted
    print(f"clusters: E = root of tolerance / 2 is accepted with probability 2^{accepted:.2f}")
    assert log2_spread(0.35) < -40 < log2_spread(0.34)
    with open(TABLE) as table:
        rows = [{k: int(v) for k, v in row.items()} for row in csv.DictReader(table)]
    assert [tuple(row[k] for k in ("width", "t", "groups", "clusters", "slots")) for row in rows] == SHAPES
    # The page has some of the derived rows, and no others.
    shown = set(re.findall(r"^\| \d+ x \d+ x [\d,]+, \d+ \|.*$", page, re.M))
    assert shown, "docs/security/routed.md lacks the table of tolerances"
    for row, (width, t, groups, clusters, places) in zip(rows, SHAPES):
        refusal = log2_refusal(row["tolerance"], width, t, groups, clusters, places)
        assert -47 < refusal < -40, (row, refusal)
        stored = f"{100 * COUNT * -(-places // PLACES) / places:.1f} %"
        of_lengths = seen(row["tolerance"], width)
        line = f"| {groups} x {clusters} x {places:,}, {width} | {stored} | {of_lengths:.3f} | {of_lengths / 4:.4f} |"
        print(f"{line} an honest reply is refused with probability 2^{refusal:.1f}")
        shown.discard(line)
    assert not shown, f"docs/security/routed.md has {shown}"


if __name__ == "__main__":
    check()
