#!/usr/bin/env python3
"""How often an honest reply of routed mode is refused by its clusters' check rows, and which changes are seen: derived from
docs/scoring.md and docs/security/routed.md, without a look at the code. Standard library only.

  python3 clusters_failure.py           prints the bounds, and checks the tables
  python3 clusters_failure.py write     prints crates/index/tests/clusters.csv anew

An honest sum, of a part of r places of a cluster, is ||X + c||^2, X of 63 entries of variance (r / 4 + 1) V and c = e_0 / 2 in every entry, e_0 of
variance V. V is q times the part that the words of a query carry, q = (sum of squares of their m errors) / (its mean), and
what each score has of its own. Of q it is only used that errors are subgaussian with their variance, so that
P(q > t) <= exp(-m (t - 1 - ln t) / 2); the integral over q is a sum over a fine grid, from above.
"""
import csv, math, os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "../crates/index/tests/clusters.csv")
PAGE = os.path.join(HERE, "../docs/security/routed.md")
COUNT, PLACES, LOG2 = 64, 512, math.log(2)
P, Q_WORDS, SIGMA, SECRET = 2**18, 2**40 - 36863, 16, 1536
N, Q = 2048, 2**50 - 16383
# width, t, groups, clusters of a group, places of a cluster
SHAPES = [(128, 128, 12, 8, 1360), (128, 64, 24, 16, 3392), (128, 64, 96, 32, 4256), (128, 16, 48, 32, 8512),
          (128, 32, 32, 24, 16960), (384, 128, 32, 16, 1024), (1536, 128, 64, 5, 1024), (8, 128, 64, 1024, 512),
          (16, 64, 6, 1, 160), (8, 128, 1, 1, 32)]


def variances(width, t, clusters):
    """in squares of a step: what the words carry, what a score has of its own"""
    words = clusters * width * (P * P / 12) * ((SIGMA * 2**32 / Q_WORDS) ** 2 + 1 / 12) / 2**28
    hint = SECRET * (2 / 3) / 12 / 2**16
    query = 10.5 + (4**4 / 12 + 1 / 6) + 1 / 12
    through = query * (N // t) * SECRET * (2**52 / 12) * (2**26 / Q) ** 2
    answer = 16 if t > 32 else 15
    engine = through + (2**26 / 2**answer) ** 2 / 12 + (2**26 / 2**19) ** 2 / 12 * (2 / 3) * N
    return words + hint, engine / 2**16


def log2_above(total, places):
    """of ||X + c||^2 where V is 1, by the best of Chernoff's bounds: eigenvalues (r/4 + 1), and once (r/4 + 1) + 63/4"""
    k, own = COUNT - 1, places / 4 + 1
    common = own + k / 4
    def bound(u):
        return -u * total - (k - 1) / 2 * math.log(1 - 2 * u * own) - math.log(1 - 2 * u * common) / 2
    return min(0.0, min(bound(i / 400 / (2 * common)) for i in range(1, 400))) / LOG2


def log2_refusal(tolerance, width, t, groups, clusters, places):
    parts = groups * -(-places // PLACES)
    return log2_above_any(tolerance / 65536, variances(width, t, clusters), clusters * width, min(places, PLACES)) + math.log2(parts)


def log2_above_any(tolerance, variance, m, places):
    """of a cluster's sum; `variance` is what m common errors carry, and what each score has of its own"""
    carried, own = variance
    above = lambda size: -m / 2 * (size - 1 - math.log(size)) / LOG2
    given = lambda size: 2 ** log2_above(tolerance / (own + carried * size), places)
    # The mean of a function that grows, by parts: each growth times the probability that q is beyond its beginning.
    step, size, tail = 1 + 0.1 / math.sqrt(m), 1.0, 0.0
    total = before = given(step)
    while tail > -100:
        size *= step
        tail, now = above(size), given(size * step)
        total, before = total + 2**tail * (now - before), now
    return math.log2(total + 2**tail)


def least(log2_failure, low, high):
    for _ in range(70):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if log2_failure(middle) < -40 else (middle, high)
    return high


def tolerance(*shape):
    """the least for which honest replies are refused with probability 2^-40"""
    return least(lambda x: log2_refusal(x, *shape), 1.0, 2.0**60)


def log2_accepted(ratio):
    """of a reply with an error E in some score, E^2 = tolerance / ratio: each square is x^2 E^2 or (1 - x)^2 E^2 with
    probability 1/2, for an x that the server chooses; the best Chernoff bound"""
    def one(u):
        return max(math.exp(-u * x * x) + math.exp(-u * (1 - x) ** 2) for x in (i / 100 for i in range(51))) / 2
    us = [i / 20 for i in range(1, 200)]
    return min((COUNT - 1) * math.log2(one(u)) + u * ratio / LOG2 for u in us)


def seen(tolerance):
    """a change of a score, where both rests have length 1, that is refused but with probability 2^-40: half the root"""
    return math.sqrt(tolerance) / 2 / 256 / (2**17 - 2048)


def log2_spread(ratio):
    """of a reply with small errors in many scores whose squares add up to `ratio` tolerances, by the normal approximation:
    the sum is ratio tolerance / 4 times chi-squared of 63"""
    x, k = 4 / ratio, COUNT - 1
    return min(0.0, k / 2 * (1 - x / k + math.log(x / k))) / LOG2 if x < k else 0.0


def sizes():
    """of a million vectors of 128 coordinates: kilobytes of a reply with and without check rows, the growth of a search, megabytes once"""
    width, t, groups, clusters, places = SHAPES[1]
    more = COUNT * -(-places // PLACES)
    up = 4 * groups * clusters * width + -(-SECRET // t) * N * 46 // 8
    before, after = (2 * groups * rows for rows in (places, places + more))
    growth = 100 * (after - before) / (up + before)
    return f"{after / 1000:.0f} KB instead of {before / 1000:.0f} KB, {growth:.1f} % of what a search moves, and {19 * t * groups * more / 8e6:.1f} MB more are downloaded once"


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
    for row, (width, t, groups, clusters, places) in zip(rows, SHAPES):
        refusal = log2_refusal(row["tolerance"], width, t, groups, clusters, places)
        assert -43 < refusal < -40, (row, refusal)
        stored = f"{100 * COUNT * -(-places // PLACES) / places:.1f} %"
        of_lengths = seen(row["tolerance"])
        line = f"| {groups} x {clusters} x {places:,}, {width} | {stored} | {of_lengths:.3f} | {of_lengths / 4:.4f} |"
        print(f"{line} an honest reply is refused with probability 2^{refusal:.1f}")
        assert line in page, f"docs/security/routed.md lacks {line}"


if __name__ == "__main__":
    if sys.argv[1:] == ["write"]:
        print("width,t,groups,clusters,slots,tolerance")
        for shape in SHAPES:
            print(",".join(map(str, shape)) + f",{math.ceil(tolerance(*shape))}")
    else:
        check()
