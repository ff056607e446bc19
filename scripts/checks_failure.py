"""The probability that check rows refuse an honest reply of masked mode, and the changes that they refuse. The probabilities
are derived from docs/scoring.md and docs/security/masked.md, independently of the code. Standard library only.

crates/index/tests/checks.csv has tolerances. A check row's sum contains the errors of K + 1 rows, where K has a binomial
distribution over its group. An error has the variance of docs/scoring.md, and an eighth more, because an index's own rows
and polynomials may exceed the mean. The script asserts that an honest refusal has a probability below 2^-40. It also
asserts a probability above 2^-56, because a wider tolerance refuses fewer changes.
"""
import csv, math, os, re

TABLE = os.path.join(os.path.dirname(__file__), "../crates/index/tests/checks.csv")
N, Q, P = 2048, 2**50 - 16383, 2**26
COUNT, RUN = 40, 32
# For each t: the bits that a query leaves out, the bits of an answer, and the bits of eight numbers of a hint.
WIDTHS = {4: (2, 15, [20] * 7 + [19]), 8: (2, 15, [20] * 7 + [19]), 16: (4, 15, [19] * 8), 32: (4, 15, [19] * 8),
          64: (4, 16, [19] * 8)}
WINDOW = 2.05


def group(width):
    """The number of rows of a group."""
    return RUN * min(38, max(13, 7296 // width))


def variance(t, width):
    """The variance of a row's error, in units of 1 mod P."""
    left, kept, hint_bits = WIDTHS[t]
    query = 10.5 + (4**left / 12 + 1 / 6) + 1 / 12
    through = query * (N // t) * width * (P**2 / 12) * (P / Q)**2
    answer = (P / 2**kept)**2 / 12
    hint = sum((P / 2**bits)**2 / 12 for bits in hint_bits) / 8 * (2 / 3) * N
    return through + answer + hint


def log2_refusal(t, width, n, tolerance):
    """log2 of the probability that the error of some check row of an honest reply exceeds the tolerance."""
    rows = group(width)
    checks = COUNT * -(-n // rows)
    one = variance(t, width) * 9 / 8
    log = lambda k: math.lgamma(rows + 1) - math.lgamma(k + 1) - math.lgamma(rows - k + 1) - rows * math.log(2)
    tail = sum(math.exp(log(k)) * math.erfc(tolerance / math.sqrt(2 * one * (k + 1))) for k in range(rows + 1))
    return math.log2(tail) + math.log2(checks)


def seen(tolerance):
    """The smallest change of a score that passes with probability at most 2^-40."""
    return 2 * tolerance * WINDOW / P


def log2_few(total, rows, noise):
    """log2 of the largest probability that a reply with errors of one size in `rows` rows passes. `total` is the root of
    the sum of the errors' squares, in tolerances. The server also moves all check rows of the group by the constant
    that helps it most. A check row's sum has a binomial number of the errors, each with its sign, and an honest reply's
    noise, also in tolerances."""
    error = total / math.sqrt(rows)
    below = lambda x: math.erfc(-x / noise / math.sqrt(2)) / 2
    share = [math.comb(rows, k) / 2**rows for k in range(rows + 1)]
    # A negative sign lowers the sum by one error. The number of negative signs shifts all sums of the group together.
    passes = lambda moved: sum(p * (below(1 - k * error + moved) - below(-1 - k * error + moved)) for k, p in enumerate(share))
    steps = [i * error / 8 for i in range(-8 * rows, 16 * rows + 1)]
    by = {step: passes(step) ** COUNT for step in steps}
    return max(math.log2(sum(p * by.get(step + minus * error, 0.0) for minus, p in enumerate(share)) + 1e-300) for step in steps)


def check_few():
    page = " ".join(open(os.path.join(os.path.dirname(__file__), "../docs/security/masked.md")).read().split())
    # Errors below the smallest one that is always refused alone.
    possible = lambda total: [rows for rows in range(2, 31) if total / math.sqrt(rows) <= 2]
    # In full groups, noise is a ninth to a tenth of the tolerance. In a group of a few rows it is negligible.
    noises = [1 / 8, 1 / 9, 1 / 10, 1 / 12, 1 / 20, 1 / 100]
    worst = max(log2_few(5.3, rows, noise) for rows in possible(5.3) for noise in noises)
    two = max(log2_few(2.0, rows, 1 / 8) for rows in possible(2.0))
    # The sum of errors in a large number of rows is normal. Apart from its mean, its variance is half of the sum of all
    # squares.
    many = COUNT * math.log2(math.erf(1 / (3 / 2) / math.sqrt(2)))
    print(f"masked: errors of 5.3 T in all pass with 2^{worst:.1f} at most; 2 T in two rows or more with 2^{two:.1f} at most; 3 T in many with 2^{many:.1f}")
    if not (worst < -COUNT and -18 < two < -17 and -41 < many < -39.5):
        raise SystemExit("checks_failure.py: few errors pass otherwise than docs/security/masked.md says")
    said = (
        "a reply with two errors, each of `1.41 T`, passes with probability about 2^-17.",
        "If the errors are equal and the total error is `5.3 T`, the reply passes with probability at most 2^-40.",
    )
    if not all(sentence in page for sentence in said):
        raise SystemExit("checks_failure.py: docs/security/masked.md lacks what few errors pass with")


def check():
    check_few()
    page = open(os.path.join(os.path.dirname(__file__), "../docs/security/masked.md")).read()
    # The page has some of the derived rows, and no others.
    shown = set(re.findall(r"^\| [\d,]+ x \d.*`t = \d+`.*$", page, re.M))
    assert shown, "docs/security/masked.md lacks the table of tolerances"
    with open(TABLE) as table:
        for row in csv.DictReader(table):
            t, width, n, tolerance = (int(row[name]) for name in ("t", "width", "n", "tolerance"))
            refusal = log2_refusal(t, width, n, tolerance)
            assert -56 < refusal < -40, (row, refusal)
            stored = f"{100 * COUNT / group(width):.1f} %"
            line = f"| {n:,} x {width}, `t = {t}` | {group(width):,} | {stored} | {seen(tolerance):.4f} |"
            shown.discard(line)
            print(f"{line} an honest reply is refused with probability 2^{refusal:.1f}")
    assert not shown, f"docs/security/masked.md has {shown}"


if __name__ == "__main__":
    check()
