#!/usr/bin/env python3
"""Noise of an answer of sordino-lwe, from the description of the scheme alone (crates/lwe/README.md), not from its code.

  python3 lwe_failure.py      prints the bounds, and checks the tables of crates/lwe/tests/queries/noise.rs and README.md

Everything is measured on the circle of circumference 1 and then divided by 1 / P. A row's noise is

    sum_j D_j (e_j + d_j) / 1  +  sum_i f_i s_i

  e_j   a discrete Gaussian over q                d_j   rounding to a multiple of 2^-32, b being uniform
  f_i   rounding of H to a multiple of 2^-26      s_i   uniform in -1, 0, 1

Bounds are Chernoff's, with moment generating functions summed over the distributions themselves, not over variances.

For bytes P is 2^8. A byte is wrong if its error is above half of 1 / P. The column packing that multiplies H with s adds to it

    sum_i H_i (u_i + c_i) / Q50  +  sum_i h_i s'_i  +  rounding of messages and of the answer

  u_i   a centred binomial over Q50, of 42 coins  c_i   the lower 4 bits of a coefficient, rounded to even
  h_i   rounding of its own hint to 2^-19         s'_i  uniform in -1, 0, 1, of 2048 entries
"""
import math, pathlib, re

ROOT = pathlib.Path(__file__).resolve().parent.parent
Q, SIGMA, N, P = 2**40 - 36863, 16, 1536, 2**18
BYTE = 2**8
Q50, RING, DROPPED = 1125899906826241, 2048, 4
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

def deviation(m, p=P):
    """Standard deviation in steps, D uniform on the integers [-p/2, p/2), rounding errors uniform."""
    entry = sum(x * x for x in range(-p // 2, p // 2)) / p
    secret = 2 / 3
    return p * math.sqrt(m * entry * (variance_e() + WORD**2 / 12) + N * secret * HINT**2 / 12)

def worst_row(t, m, p):
    """log-MGF of the noise of the worst row: |D_j| = p/2, |f_i| = half a unit"""
    return m * (log_mgf_e(t * p / 2) + log_mgf_uniform(t * p / 2, WORD)) + N * log_mgf_ternary(t * HINT / 2)

def parameter(m, p=P):
    """Root of the second derivative at 0 of the worst row's log-MGF, in steps."""
    h = 2.0 ** 8                  # in units of 1/circle, small compared with all widths
    return p * math.sqrt(2 * worst_row(h, m, p)) / h

def average(f, steps=64):
    """of f over entries, as the mean over midpoints of |D| in (0, P/2)"""
    return sum(f((i + 0.5) / steps * P / 2) for i in range(steps)) / steps

def chernoff(m, worst):
    """Steps that no row of ROWS exceeds but with probability 2^LOG2_FAILURE."""
    bounds = []
    for k in range(1, 60):
        t = k / 3 / (parameter(m) / P)
        column = lambda d: log_mgf_e(t * d) + log_mgf_uniform(t * d, WORD)
        row = m * (column(P / 2) if worst else math.log(average(lambda d: math.exp(column(d)))))
        # log of a tail beyond `radius` is at most row + secret - t radius / P: solved for the radius
        secret = N * log_mgf_ternary(t * HINT / 2)
        bounds.append((row + secret + math.log(2 * ROWS) - LOG2_FAILURE * math.log(2)) * P / t)
    return min(bounds)

def packing(t_outer, answer_bits):
    """The worst error of the column packing on the circle: the most that rounding adds, and the log-MGF of the rest; |H_i| is 2^25."""
    cut = [(x, 1 if abs(x) < 8 else 0.5) for x in range(-(2**DROPPED) // 2, 2**DROPPED // 2 + 1)]
    mass = sum(w for _, w in cut)
    terms = N * (RING // t_outer)
    def noise(t):
        x = t * 2**25 / Q50
        coins = 42 * math.log(math.cosh(x / 2))
        return terms * (coins + math.log(sum(w * math.exp(x * c) for c, w in cut) / mass)) + RING * log_mgf_ternary(t * 2.0**-20)
    return N * 2**25 * 0.5 / Q50 + 0.5 * 2.0**-answer_bits, noise

def byte_failure(m, t_outer, answer_bits):
    """log2 of two bounds on the probability that a byte is wrong, for the worst bytes and hint: by parameters, and Chernoff's"""
    rounding, noise = packing(t_outer, answer_bits)
    radius = 0.5 / BYTE - BYTE / 2 * 0.5 / Q - rounding
    h = 2.0 ** 6
    variance = (parameter(m, BYTE) / BYTE) ** 2 + 2 * noise(h) / h**2
    simple = (math.log(2) - radius**2 / (2 * variance)) / math.log(2)
    bounds = (math.log(2) + worst_row(t, m, BYTE) + noise(t) - t * radius for t in (k / 50 * radius / variance for k in range(20, 80)))
    return simple, min(bounds) / math.log(2)

def check_bytes():
    code = (ROOT / "crates/lwe/tests/byte_noise.rs").read_text()
    readme = (ROOT / "crates/lwe/README.md").read_text()
    for m in (1 << 13, 1 << 15, 1 << 17):
        d, p = deviation(m, BYTE), parameter(m, BYTE)
        bounds = [byte_failure(m, *outer) for outer in ((32, 15), (64, 16), (128, 16))]
        # All errors are subgaussian with their variances, or below: the simple bound holds.
        assert all(exact <= simple for simple, exact in bounds), bounds
        simple = [bound for bound, _ in bounds]
        row = f"| {m} | {d:.6f} | {p:.6f} | {' | '.join(f'2^{10 * math.ceil(x / 10)}' for x in simple)} |"
        golden = f"({m}, {d:.5e}, {p:.5e}, [{', '.join(f'{x:.1f}' for x in simple)}])"
        print(f"lwe bytes {row}  {golden}")
        assert golden in code, "crates/lwe/tests/byte_noise.rs"
        assert row in readme, "crates/lwe/README.md"

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
    check_bytes()

if __name__ == "__main__": check()
