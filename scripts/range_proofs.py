#!/usr/bin/env python3
"""Proofs by the SMT solver Z3 that no step of the modular arithmetic leaves its range, for all inputs and all moduli at once.

  python3 -m venv DIR && DIR/bin/pip install z3-solver
  DIR/bin/python scripts/range_proofs.py

The solver gets each claim negated, and `unsat` is a proof. Floors are integers with remainders, as defined. If this suffices, the
variables are real numbers, which include the integers. Sums that wrap are proved as bit vectors. A claim names the lines of code that
it is about, and the script fails if the code no longer has them. Not covered: the transform in double precision, and the equality of
vector and portable kernels, which tests compare bit for bit.
"""
import pathlib
import re
import sys

import z3

CRATES = pathlib.Path(__file__).resolve().parent.parent / "crates"
proved, failed = [], []


def code(file, *lines):
    """Checks that the code has these lines, ignoring spaces."""
    text = "".join((CRATES / file).read_text().split())
    for line in lines:
        if "".join(line.split()) not in text:
            failed.append(f"crates/{file} has no `{line}`")


def number(file, pattern):
    return int(re.search(pattern, (CRATES / file).read_text()).group(1).replace("_", ""))


def prove(name, claim, *given):
    solver = z3.Solver()
    solver.set("timeout", 60_000)
    solver.add(*given, z3.Not(claim))
    found = solver.check()
    proved.append(name)
    if found != z3.unsat:
        failed.append(f"{name}: {found}")


def refute(name, claim, *given):
    """Checks that the solver does not prove a false claim. Otherwise its proofs would mean nothing."""
    solver = z3.Solver()
    solver.add(*given, z3.Not(claim))
    if solver.check() != z3.sat:
        failed.append(f"{name}: no counterexample was found")


def within(low, x, high):
    """low <= x < high"""
    return z3.And(low <= x, x < high)


LATTICE = "lattice/src/modulus.rs"
NTT = "lattice/src/ntt/portable.rs"
SMALLEST, LARGEST = 2**20, 2**50


def shoup():
    """mul_lazy: x w - floor(x w' / B) q is in [0, 2q) for w' = floor(w B / q), any x below B"""
    code(LATTICE, "let times = ((x as u128 * quotient as u128) >> 64) as u64;", "x.wrapping_mul(w).wrapping_sub(times.wrapping_mul(q))",
         "(((w as u128) << 64) / q as u128) as u64", "if q <= 1 << 20 || q >= 1 << 50")
    for base, of in ((2**64, "64-bit words"), (2**52, "IFMA's 52 bits")):
        x, w, q, wq, times, r0, r1, y = z3.Reals("x w q wq times r0 r1 y")
        defined = [w * base == wq * q + r0, x * wq == times * base + r1, y == x * w - times * q]
        identity = base * y == x * r0 + q * r1
        prove(f"Shoup's product, {of}: B y = x r0 + q r1", identity, *defined)
        ranges = [within(SMALLEST, q, LARGEST), within(0, w, q), within(0, r0, q), within(0, r1, base), within(0, x, base)]
        prove(f"Shoup's product, {of}: in [0, 2q)", within(0, y, 2 * q), identity, *ranges)
        refute(f"Shoup's product, {of}: in [0, q)", within(0, y, q), identity, *ranges)
        # The true value is in [0, base), so it can be computed mod base.
        prove(f"Shoup's product, {of}: fits", 2 * q <= base, within(SMALLEST, q, LARGEST))


def subtract_once():
    code(LATTICE, "let reduced = x.wrapping_sub(q);", "let below = (reduced.cast_signed() >> 63).cast_unsigned();", "reduced.wrapping_add(q & below)")
    x, q = z3.BitVecs("x q", 64)
    reduced = x - q
    result = reduced + (q & (reduced >> 63))
    for largest, times in ((LARGEST, 1), (2 * LARGEST, 2)):
        given = [z3.ULT(0, q), z3.ULT(q, largest), z3.ULT(x, 2 * q)]
        right = z3.If(z3.ULT(x, q), x, x - q)
        prove(f"subtract_once of {times}q", z3.And(result == right, z3.ULT(result, q)), *given)


def butterflies():
    code(NTT, "let even = subtract_once(*x, 2 * q);", "*x = even + odd;", "*y = even + 2 * q - odd;", "*x = subtract_once(subtract_once(*x, 2 * q), q);",
         "let difference = *x + 2 * q - *y;", "*x = subtract_once(*x + *y, 2 * q);", "let difference = a[2 * i] + 2 * q - a[2 * i + 1];")
    x, y, q, even, odd = z3.Ints("x y q even odd")
    modulus = within(SMALLEST, q, LARGEST)
    once = lambda x, q: z3.If(x >= q, x - q, x)
    forward = [modulus, within(0, x, 4 * q), even == once(x, 2 * q), within(0, odd, 2 * q)]
    prove("forward butterfly: a value of [0, 4q) less 2q is in [0, 2q)", within(0, even, 2 * q), *forward)
    prove("forward butterfly: both in [0, 4q)", z3.And(within(0, even + odd, 4 * q), within(0, even + 2 * q - odd, 4 * q)), *forward)
    refute("forward butterfly: both in [0, 3q)", z3.And(even + odd < 3 * q, even + 2 * q - odd < 3 * q), *forward)
    prove("forward butterfly: 4q fits 52 bits", 4 * q <= 2**52, modulus)
    prove("forward: canonical at the end", within(0, once(once(x, 2 * q), q), q), modulus, within(0, x, 4 * q))
    backward = [modulus, within(0, x, 2 * q), within(0, y, 2 * q)]
    prove("inverse butterfly: sum in [0, 2q)", within(0, once(x + y, 2 * q), 2 * q), *backward)
    prove("inverse butterfly: difference in [0, 4q), below 2^52", z3.And(within(0, x + 2 * q - y, 4 * q), x + 2 * q - y < 2**52), *backward)
    prove("inverse: canonical at the end", within(0, once(x, q), q), modulus, within(0, x, 2 * q))


def barrett():
    """mul: the quotient's estimate is at most two too small, for each number of bits of q"""
    code(LATTICE, "let top = (product >> (bits - 1)) as u64;", "let quotient = ((top as u128 * self.barrett as u128) >> (bits + 1)) as u64;",
         "let rest = (product as u64).wrapping_sub(quotient.wrapping_mul(self.q));", "subtract_once(subtract_once(rest, self.q), self.q)",
         "((1u128 << (2 * bits)) / q as u128) as u64")
    product, top, mu, quotient, q, r1, r2, r3, rest, a, b, c = z3.Reals("product top mu quotient q r1 r2 r3 rest a b c")
    for bits in range(21, 51):
        low, high, all_ = 2 ** (bits - 1), 2 ** (bits + 1), 2 ** (2 * bits)
        # The remainders of the three floors.
        r1_, r2_, r3_ = product - top * low, all_ - mu * q, top * mu - quotient * high
        identity = all_ * (product - quotient * q) == product * r2_ + q * mu * r1_ + q * low * r3_
        prove(f"Barrett, {bits} bits: 2^2b rest = product r2 + q mu r1 + q 2^(b-1) r3", identity)
        # Each part is less than one q.
        modulus = [low < q, q < 2 * low]
        parts = [within(0, product, q * q), within(0, r1, low), within(0, r2, q), within(0, r3, high), mu * q <= all_, mu >= 0]
        bound = all_ * q
        prove(f"Barrett, {bits} bits: product r2 < 2^2b q", product * r2 < bound, *modulus, *parts)
        prove(f"Barrett, {bits} bits: q mu r1 < 2^2b q", q * mu * r1 < bound, *modulus, *parts)
        prove(f"Barrett, {bits} bits: q 2^(b-1) r3 <= 2^2b q", q * low * r3 <= bound, *modulus, *parts)
        bounded = [all_ * rest == a + b + c, within(0, a, bound), within(0, b, bound), within(0, c, bound)]
        prove(f"Barrett, {bits} bits: the rest is in [0, 3q)", within(0, rest, 3 * q), *bounded, *modulus)
        # The words that contain the two products, and three times the modulus.
        assert high * high <= 2**128 and 3 * 2**bits < 2**64


def signed():
    code(LATTICE, "(x + (self.q << (53 - self.bits())).cast_signed()) as u64", "let upper = ((self.q >> 1).wrapping_sub(a)).cast_signed() >> 63;",
         "a.cast_signed() - (upper & self.q.cast_signed())", "(x + ((x >> 63) & self.q.cast_signed())) as u64",
         "subtract_once(subtract_once(high + low, 2 * self.q), self.q)")
    x, q = z3.Ints("x q")
    for bits in range(21, 51):
        raised = x + q * 2 ** (53 - bits)
        given = [within(2 ** (bits - 1), q, 2**bits), z3.And(-(2**52) <= x, x <= 2**52)]
        prove(f"reduce_signed, {bits} bits: raised to [0, 2^54)", within(0, raised, 2**54), *given)
    a, m = z3.BitVecs("a m", 64)
    upper = (z3.LShR(m, 1) - a) >> 63
    centred = a - (upper & m)
    odd = [z3.ULT(SMALLEST, m), z3.ULT(m, LARGEST), z3.Extract(0, 0, m) == 1, z3.ULT(a, m)]
    half = z3.LShR(m, 1)
    prove("centred: in [-q/2, q/2]", z3.And(-half <= centred, centred <= half, z3.Or(centred == a, centred == a - m)), *odd)
    folded = a + ((a >> 63) & m)
    prove("from_signed: in [0, q)", z3.ULT(folded, m), z3.ULT(SMALLEST, m), z3.ULT(m, LARGEST), -m < a, a < m)
    high, low = z3.Ints("high low")
    once = lambda x, q: z3.If(x >= q, x - q, x)
    prove("reduce_wide: canonical", within(0, once(once(high + low, 2 * q), q), q), within(0, high, 2 * q), within(0, low, 2 * q), q > 0)


def switch():
    """Switch: h = floor(c M / 2^52) is below c 2^(b-2) / q by less than 1.25"""
    code("lattice/src/switch.rs", "factor: ((1u128 << (bits + 50)) / modulus.q() as u128) as u64", "let scaled = ((c as u128 * self.factor as u128) >> 52) as u64;")
    c, q, factor, h, r0, r1 = z3.Reals("c q factor h r0 r1")
    for bits in range(21, 51):
        # 2^52 (c 2^(b-2) - h q) = c r0 + q r1
        value = c * 2 ** (bits - 2) - h * q
        given = [2 ** (bits + 50) == factor * q + r0, c * factor == h * 2**52 + r1]
        identity = 2**52 * value == c * r0 + q * r1
        prove(f"switch, {bits} bits: 2^52 (c 2^(b-2) - h q) = c r0 + q r1", identity, *given)
        ranges = [within(0, c, q), within(0, r0, q), within(0, r1, 2**52), within(2 ** (bits - 1), q, 2**bits)]
        d = z3.Real("d")
        prove(f"switch, {bits} bits: within 1.25 below", within(0, d, 1.25 * q), 2**52 * d == c * r0 + q * r1, *ranges)


def montgomery():
    """ML-DSA: Montgomery's reduction, and sums that are not reduced"""
    field, ntt = "mldsa/src/field.rs", "mldsa/src/ntt/portable.rs"
    code(field, "let m = (a as i32).wrapping_mul(Q_INV);", "((a - m as i64 * Q as i64) >> 32) as i32", "a + ((a >> 31) & Q)")
    code(ntt, "let t = montgomery_mul(ZETAS[m], w[j + len]);", "w[j + len] = w[j] - t;", "w[j + len] = montgomery_mul(ZETAS[m], w[j + len] - t);")
    prime, inverse = number(field, r"const Q: i32 = ([\d_]+)"), number(field, r"const Q_INV: i32 = ([\d_]+)")
    low = z3.BitVec("low", 32)
    prove("Montgomery: a - m q ends in 32 zeros", low - (low * inverse) * prime == 0)
    a, m, r = z3.Ints("a m r")
    given = [z3.And(-(2**31) <= m, m < 2**31), r * 2**32 == a - m * prime]
    absolute = lambda x, most: z3.And(-most < x, x < most)
    prove("Montgomery: below q for |a| < 2^31 q", absolute(r, prime), absolute(a, 2**31 * prime), *given)
    prove("Montgomery: a - m q fits 64 bits", absolute(a - m * prime, 2**63), absolute(a, 2**31 * prime), *given)
    x, y, t = z3.Ints("x y t")
    most = 2**23 + 8 * prime
    for layer in range(8):
        bound = 2**23 + layer * prime
        prove(f"NTT, layer {layer + 1}: below 2^23 + {layer + 1} q", z3.And(absolute(x + t, bound + prime), absolute(x - t, bound + prime)), absolute(x, bound), absolute(t, prime))
        assert prime * bound < 2**31 * prime and bound + prime < 2**31
        sums = prime * 2 ** (layer + 1)
        before = prime * 2**layer
        prove(f"inverse NTT, layer {layer + 1}: sums and differences below {2 ** (layer + 1)} q, which fits", z3.And(absolute(x + y, sums), absolute(x - y, sums), sums < 2**31),
              absolute(x, before), absolute(y, before))
    # Seven columns below q and the last below 2^23 + 8q, times a vector below 2^19 + 8q.
    wide = (7 * prime + most) * (2**19 + 8 * prime)
    prove("product: the sum is reduced below q", absolute(r, prime), absolute(a, wide), *given)
    assert wide < 2**31 * prime
    b = z3.BitVec("b", 32)
    prove("canonical", z3.And(0 <= b + ((b >> 31) & prime), b + ((b >> 31) & prime) < prime), -prime < b, b < prime)


def main():
    for claims in (shoup, subtract_once, butterflies, barrett, signed, switch, montgomery):
        claims()
    print(f"{len(proved)} claims, {len(failed)} of them not proved")
    for line in failed:
        print(f"range_proofs.py: {line}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
