"""How often an honest reply of masked mode is refused, and which changes are seen: derived from docs/scoring.md and
docs/security/masked.md, without a look at the code. Standard library only.

crates/index/tests/checks.csv has tolerances. A check row's sum has the errors of K + 1 rows, K of its group binomial;
an error has the variance of docs/scoring.md, with an eighth more for what one index's rows and polynomials draw. Asked is
that the probability of an honest refusal is below 2^-40, and above 2^-56: a tolerance that is too wide sees less.
"""
import csv, math, os

TABLE = os.path.join(os.path.dirname(__file__), "../crates/index/tests/checks.csv")
N, Q, P = 2048, 2**50 - 16383, 2**26
COUNT, RUN = 40, 32
# bits that a query leaves out, bits of an answer, bits of eight numbers of a hint
WIDTHS = {4: (2, 15, [20] * 7 + [19]), 8: (2, 15, [20] * 7 + [19]), 16: (4, 15, [19] * 8), 32: (4, 15, [19] * 8),
          64: (4, 16, [19] * 8)}
WINDOW = 2.05


def group(width):
    """rows of a group"""
    return RUN * min(38, max(13, 7296 // width))


def variance(t, width):
    """of a row's error, in units of 1 mod P"""
    left, kept, hint_bits = WIDTHS[t]
    query = 10.5 + (4**left / 12 + 1 / 6) + 1 / 12
    through = query * (N // t) * width * (P**2 / 12) * (P / Q)**2
    answer = (P / 2**kept)**2 / 12
    hint = sum((P / 2**bits)**2 / 12 for bits in hint_bits) / 8 * (2 / 3) * N
    return through + answer + hint


def log2_refusal(t, width, n, tolerance):
    """log2 of the probability that some check row of an honest reply is off by more"""
    rows = group(width)
    checks = COUNT * -(-n // rows)
    one = variance(t, width) * 9 / 8
    log = lambda k: math.lgamma(rows + 1) - math.lgamma(k + 1) - math.lgamma(rows - k + 1) - rows * math.log(2)
    tail = sum(math.exp(log(k)) * math.erfc(tolerance / math.sqrt(2 * one * (k + 1))) for k in range(rows + 1))
    return math.log2(tail) + math.log2(checks)


def seen(tolerance):
    """a change of a score that is refused but with probability 2^-40"""
    return 2 * tolerance * WINDOW / P


def check():
    page = open(os.path.join(os.path.dirname(__file__), "../docs/security/masked.md")).read()
    with open(TABLE) as table:
        for row in csv.DictReader(table):
            t, width, n, tolerance = (int(row[name]) for name in ("t", "width", "n", "tolerance"))
            refusal = log2_refusal(t, width, n, tolerance)
            assert -56 < refusal < -40, (row, refusal)
            stored = f"{100 * COUNT / group(width):.1f} %"
            line = f"| {n:,} x {width}, `t = {t}` | {group(width):,} | {stored} | {seen(tolerance):.4f} |"
            assert line in page, f"docs/security/masked.md lacks {line}"
            print(f"{line} an honest reply is refused with probability 2^{refusal:.1f}")


if __name__ == "__main__":
    check()
