#!/usr/bin/env python3
"""Noise of an answer of sordino-lwe, from the description of the scheme alone (crates/lwe/README.md), not from its code.

  python3 lwe_failure.py      prints the bounds, and checks the tables of crates/lwe/tests/queries/noise.rs and README.md

Everything is measured on the circle of circumference 1 and then divided by 1 / P. A row's noise is

    sum_j D_j (e_j + d_j) / 1  +  sum_i f_i s_i

  e_j   a discrete Gaussian over q                d_j   rounding to a multiple of 2^-32, b being uniform
  f_i   rounding of H to a multiple of 2^-26      s_i   uniform in -1, 0, 1

Bounds are Chernoff's, with moment generating functions summed over the distributions themselves, not over variances.
"""
import math, pathlib, re

ROOT = pathlib.Path(__file__).resolve().parent.parent
Q, SIGMA, N, P = 2**40 - 36863, 16, 1536, 2**18
WORD, HINT = 2.0**-32, 2.0**-26
ROWS = 2**18                      # rows of a reply
LOG2_FAILURE = -40

GAUSS = [(x, math.exp(-x * x / (2 * SIGMA**2))) for x in range(-12 * SIGMA, 12 * SIGMA + 1)]
MASS = sum(w for _, w in GAUSS)

def variance_e(): return sum(w * x * x for x, w in GAUSS) / MASS / Q**2
def log_mgf_e(t): return math.log(sum(w * math.exp(t * x / Q) for x, w in GAUSS) / MASS)
def log_mgf_uniform(t, width):
    """of a uniform variable on [-width/2, width/2]"""
    x = t * width / 2
    return x * x / 6 - x**4 / 180 if abs(x) < 1e-2 else math.log(math.sinh(x) / x)
def log_mgf_ternary(t): return math.log((1 + 2 * math.cosh(t)) / 3)

def deviation(m):
    """standard deviation in steps, D uniform on the integers [-P/2, P/2), rounding errors uniform"""
    entry = sum(x * x for x in range(-P // 2, P // 2)) / P
    secret = 2 / 3
    return P * math.sqrt(m * entry * (variance_e() + WORD**2 / 12) + N * secret * HINT**2 / 12)

def parameter(m):
    """root of the second derivative at 0 of the worst row's log-MGF: |D_j| = P/2, |f_i| = half a unit"""
    h = 2.0 ** 8                  # in units of 1/circle, small beside all widths
    f = lambda t: m * (log_mgf_e(t * P / 2) + log_mgf_uniform(t * P / 2, WORD)) + N * log_mgf_ternary(t * HINT / 2)
    return P * math.sqrt(2 * f(h)) / h

def average(f, steps=64):
    """of f over entries, as the mean over midpoints of |D| in (0, P/2)"""
    return sum(f((i + 0.5) / steps * P / 2) for i in range(steps)) / steps

def chernoff(m, worst):
    """steps that no row of ROWS exceeds but with probability 2^LOG2_FAILURE"""
    bounds = []
    for k in range(1, 60):
        t = k / 3 / (parameter(m) / P)
        column = lambda d: log_mgf_e(t * d) + log_mgf_uniform(t * d, WORD)
        row = m * (column(P / 2) if worst else math.log(average(lambda d: math.exp(column(d)))))
        # log of a tail beyond `radius` is at most row + secret - t radius / P: solved for the radius
        secret = N * log_mgf_ternary(t * HINT / 2)
        bounds.append((row + secret + math.log(2 * ROWS) - LOG2_FAILURE * math.log(2)) * P / t)
    return min(bounds)

def check():
    code = (ROOT / "crates/lwe/tests/queries/noise.rs").read_text()
    readme = (ROOT / "crates/lwe/README.md").read_text()
    for m in (1024, 2048, 4096, 8192):
        d, p = deviation(m), parameter(m)
        uniform, worst = chernoff(m, False), chernoff(m, True)
        row = f"| {m} | {d:.2f} | {p:.2f} | {uniform:.0f} | {worst:.0f} |"
        print(f"lwe {row}  ({m}, {d:.4f}, {p:.4f}),")
        assert f"({m}, {d:.4f}, {p:.4f})" in code, "crates/lwe/tests/queries/noise.rs"
        assert row in readme, "crates/lwe/README.md"
    # the message: half a unit of q in each of 128 coordinates, under the largest entries
    print("lwe message of 128 coordinates: at most %.3f steps" % (128 * (P / 2) * 0.5 / Q * P))

if __name__ == "__main__": check()
