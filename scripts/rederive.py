#!/usr/bin/env python3
"""Derives the bounds of docs/security again, and fails if document, description and code differ.

  scripts/rederive.py

Runs the derivations of parameters and failure bounds (param_check.py and the scripts that it calls, half a minute). Then it computes
the pages' numbers from the schemes' descriptions, compares the constants of the descriptions with the code, and looks for each
result in its page. Prints each result. Exits with 1 if a page lacks one. It does not derive definitions (AES-256), measurements
(times, lies that were told) or estimates of lattice problems. Standard library only.
"""
import math
import re
import sys

import checks_failure
import clusters_failure
import held_failure
import hintless_failure
import lwe_failure
import param_check
import pir_failure
from rust_source import ROOT

if not __debug__:
    sys.exit("rederive.py: assertions are off, and with them most of what it checks (PYTHONOPTIMIZE, -O)")
PAGES = ROOT / "docs/security"
wrong = []


def states(page, text):
    """Checks that a page contains these words, ignoring line breaks. A number may not continue before or after them."""
    words = " ".join(text.split())
    whole = r"(?<![\d.,^])" + re.escape(words) + r"(?!\d|[.,]\d)"
    found = re.search(whole, " ".join((PAGES / page).read_text().split()))
    print(f"{page}: {words}" if found else f"{page} LACKS {words}")
    if not found:
        wrong.append(f"{page}: {words}")


def constant(file, pattern, expected):
    """Checks a constant of the code, in the form of the pages."""
    found = re.search(pattern, (ROOT / "crates" / file).read_text())
    if not found or found.group(1).replace("_", "") != str(expected):
        wrong.append(f"crates/{file}: {found.group(1) if found else 'nothing'} for {pattern}, expected {expected}")


def power(log2):
    """A bound, rounded up."""
    return "1" if log2 >= 0 else f"2^{math.ceil(10 * log2 - 1e-6) / 10:.1f}"


# --- the code's constants ---

LOG_P, CHECKS, SEGMENT, FIRST, NEXT, REQUESTS, EXACT = 26, 40, 17, 16, 8, 64, 96


def constants():
    constant("vault/src/residue.rs", r"LOG_P: u32 = (\d+)", LOG_P)
    constant("vault/src/residue.rs", r"LARGEST: f32 = ([\d.]+)", 1.0175)
    constant("vault/src/residue.rs", r"WINDOW: f64 = ([\d.]+)", 2.05)
    constant("lattice/src/sample/cbd.rs", r"PER_BLOCK: usize = (\d+)", 3)
    constant("index/src/checks.rs", r"COUNT: usize = (\d+)", CHECKS)
    constant("index/src/checks/balance.rs", r"COUNT: usize = (\d+)", clusters_failure.COUNT)
    constant("index/src/checks/balance.rs", r"PLACES: usize = (\d+)", clusters_failure.PLACES)
    constant("index/src/checks/balance.rs", r"SQUARES: f64 = ([\d.]+)", float(clusters_failure.COUNT - 1))
    constant("index/src/checks/held.rs", r"COUNT: usize = (\d+)", held_failure.COUNT)
    constant("index/src/checks/held.rs", r"GROUP: usize = ([\d_]+)", held_failure.GROUP)
    constant("index/src/checks/held.rs", r"COORDINATE_LEN: usize = (\d+)", held_failure.BYTES)
    constant("index/src/checks/exact.rs", r"BITS: usize = (\d+)", EXACT)
    constant("index/src/checks.rs", r"RUN: usize = (\d+)", checks_failure.RUN)
    constant("index/src/checks.rs", r"RUN \* (\(7296 / width\.max\(1\)\)\.clamp\(13, 38\))", "(7296 / width.max(1)).clamp(13, 38)")
    # The probability that an honest reply fails
    constant("index/src/checks.rs", r"statistical_bound\(sigma, rows, -([\d.]+)\)", float(CHECKS))
    constant("index/src/checks/held.rs", r"log2_failure = -([\d.]+) -", float(CHECKS))
    constant("index/src/checks/balance.rs", r"self\.bound\(-([\d.]+) -", float(CHECKS))
    constant("owner/src/plan/record_bytes.rs", r"SEGMENT: usize = 1 << (\d+)", SEGMENT)
    constant("owner/src/plan/segments.rs", r"FIRST: usize = (\d+)", FIRST)
    constant("owner/src/plan/segments.rs", r"NEXT: usize = (\d+)", NEXT)
    constant("reader/src/pir_session.rs", r"REQUESTS: usize = (\d+)", REQUESTS)


# --- estimates, and the bits that hybrids leave ---


def estimates():
    rlwe, module = param_check.SETS["rlwe-2048-50"], param_check.SETS["lwe-1472-36"]
    wide, narrow = param_check.SETS["pir-1024-s32"], param_check.SETS["pir-1024-s16"]
    # The rows of the sheet's table, up to their levels
    rows = {
        "`N1024S32` | retrieval with a hint, more columns | 1024 | 2^32 | Gaussian, deviation 32 | as the error": "pir-1024-s32",
        "`N1024S16` | retrieval with a hint, more columns than `N1024S32` serves | 1024 | 2^32 | Gaussian, deviation 16 | as the error": "pir-1024-s16",
        "`N1280S16` | retrieval with a hint, if the caller asks for 128 bits under core-SVP | 1280 | 2^32 | Gaussian, deviation 16 | as the error": "pir-1280-s16",
        "`Published121` | comparisons with SimplePIR alone | 1024 | 2^32 | Gaussian, deviation 6.4 | as the error": "pir-published121",
        "`hintless-2048-50` | retrieval without a hint | ring, 2048 | 50 bits | binomial, deviation 3.24 | ternary": "rlwe-2048-50",
        "`rlwe-2048-50`, `rlwe-2048-50-fine` | encrypted routing; library only (`-fine`) | ring, 2048 | 50 bits | binomial, deviation 3.24 | ternary": "rlwe-2048-50",
        "clusters in routed mode; pages that are scanned | module, rank 3 over 512 | 40 bits | Gaussian, deviation 16 | ternary": "lwe-1472-36",
    }
    # Retrieval without a hint has the degree and modulus of `rlwe`.
    assert list(param_check.HINTLESS.values()) == [rlwe[:2]]
    constant("pir/src/hintless/params.rs", r"N2048Q50 => (\([\d.]+, [\d.]+\))", rlwe[5:])
    for row, name in rows.items():
        estimate = param_check.SETS[name]
        states("sheet.md", f"{row} | {estimate[5]:.1f} | {estimate[6]:.1f} |")
    for file, pattern, q in (("ckks/src/dot/params.rs", r"Q: u64 = ([\d_]+)", param_check.Q50), ("ckks/src/column/params.rs", r"Q40: u64 = ([\d_]+)", param_check.Q40),
                             ("lwe/src/params.rs", r"Q: u64 = ([\d_]+)", param_check.Q40), ("pir/src/hintless/ring.rs", r"Q: u64 = ([\d_]+)", param_check.Q50)):
        constant(file, pattern, q)
    states("sheet.md", f"50 bits means the prime 2^50 - {2**50 - param_check.Q50}, and 40 bits the prime 2^40 - {2**40 - param_check.Q40}")
    stand_in, same, exact_module, _, exact_ring, exact_narrow = param_check.exact()
    assert stand_in == same
    states("sheet.md", f"The module has {exact_module} bits, and LWE with {module[0]:,} entries {stand_in} (`q` = 2^40 or 2^{module[1]}). The ring has {exact_ring} with the modulus of 50 bits, and {exact_narrow} with 40")
    states("sheet.md", f"plain LWE with {module[0]:,} entries, `q` = 2^{module[1]} and deviation 2^{round(math.log2(module[2]))}")
    aes_terms(rlwe, module, wide, narrow)


def most_columns(name, length):
    """The largest number of columns that a set with Gaussian secrets serves, for records of this length."""
    keeps = lambda columns: pir_failure.record(pir_failure.levels("simple", name, columns, length, 1, 32, 32), pir_failure.Noise.stated) <= pir_failure.BOUND
    low, high = 1, 2**20
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low


def aes_terms(rlwe, module, wide, narrow):
    """The terms for distinct blocks of AES, and the rows of modes and fetches: each level and term for one and 2^30 queries."""
    both = lambda bits: f"{bits:.1f}, {bits - 30:.1f}"
    levels = lambda estimate: f"{both(estimate[5])} | {both(estimate[6])}"
    term = lambda *keys: math.log2(sum(blocks**2 for blocks in keys)) - 129
    loss = lambda row, polynomials, log2: states("sheet.md", f"| {row} | {polynomials} | {power(log2)} | {power(log2 + 30)} |")
    # Each block of 128 bits makes three samples of the error. Five ternary digits take a byte, with an eighth and 16 bytes more.
    of_polynomial = -(-2048 // 3)
    of_secret = lambda entries: -(-(-(-entries // 5) * 9 // 8 + 16) // 16)
    ring = lambda polynomials: polynomials * of_polynomial + of_secret(2048)
    # A Gaussian error takes one block and one bit. 256 errors are made together.
    of_module = 2 * (256 + 256 // 128)
    modular = lambda polynomials: polynomials * of_module + of_secret(1536)
    states("sheet.md", f"The errors of a polynomial take {of_polynomial} blocks in ring-LWE, and {of_module} in module-LWE (512 errors). A ternary secret takes {of_secret(2048)} blocks in a ring and {of_secret(1536)} in a module")
    loss("masked and open, 128 dimensions, `t = 8`", 128 // 8, term(ring(128 // 8)))
    scores = term(ring(-(-8194 // 4)))
    loss("masked and open, at most: 8,194 coordinates, `t = 4`", f"{-(-8194 // 4):,}", scores)
    # The secret of the words is encrypted under a second one. Its seed is another.
    hidden = -(-1536 // 16)
    groups = 24 * -(-16 * 128 // 512)
    loss("routed, 24 groups of 16 clusters, 128 dimensions, secret at `t = 16`", f"{groups} of 512 errors, and {hidden}", term(modular(groups), ring(hidden)))
    constant("lwe/src/shape.rs", r"MAX_WORDS: usize = 1 << (\d+)", 22)
    constant("lwe/src/params.rs", r"MAX_GROUPS: usize = 1 << (\d+)", 10)
    constant("lwe/src/params.rs", r"MAX_COLUMNS: usize = 1 << (\d+)", 13)
    constant("lwe/src/params.rs", r"MAX_BYTE_GROUPS: usize = 1 << (\d+)", 6)
    constant("lwe/src/params.rs", r"MAX_BYTE_COLUMNS: usize = 1 << (\d+)", 17)
    most = lambda groups, columns: max(g * -(-min(columns, 2**22 // g) // 512) for g in range(1, groups + 1))
    routed, scan = (term(modular(polynomials), ring(hidden)) for polynomials in (most(2**10, 2**13), most(2**6, 2**17)))
    loss("routed, the most words (2^22)", f"{most(2**10, 2**13):,} of 512 errors, and {hidden}", routed)
    loss("a scan, the most words (2^22)", f"{most(2**6, 2**17):,} of 512 errors, and {hidden}", scan)
    routing = term(ring(-(-8194 // 2048)))
    loss("encrypted routing, at most", -(-8194 // 2048), routing)
    # A request has at most 2^14 selectors and 2^14 encrypted bits, at least 2^9 in a ciphertext.
    constant("pir/src/hintless/params/choice.rs", r"MOST_SELECTORS: usize = 1 << (\d+)", 14)
    keys, request = sum(digits for digits, _, _ in hintless_failure.GADGETS) + hintless_failure.SQUARE[0], 2 * 2**14 // 2**9
    session = term(of_polynomial * keys, *[of_polynomial * request] * REQUESTS)
    loss("retrieval without a hint: keys and 64 requests, at most", f"{keys}, and {REQUESTS} times {request}", session)
    # With a hint, Gaussian secrets and errors take 129 bits each; the uniform sets take words of 32 and 16 bits. The shortest page
    # has 32 bytes with its seal. The shortest bucket has one vector of one coordinate, in 30 bytes, and so the same rounded term.
    gaussian = lambda columns: term((1024 + columns) * 129 / 128)
    wider, widest = ({length: most_columns(name, length) for length in (30, 32, 10_000)} for name in ("N1024S32", "N1024S16"))
    uniform, deviating, least = term((32 * 512 + 16 * 733) / 128), gaussian(wider[32]), gaussian(widest[32])
    assert power(gaussian(widest[30])) == power(least)
    states("sheet.md", f"by PIR, more columns, up to {wider[32]:,} for records of 32 bytes and {wider[10_000]:,} for 10,000 bytes: error of deviation 32 |")
    states("sheet.md", f"by PIR, up to {widest[32]:,} for 32 bytes and {widest[10_000]:,} for 10,000 bytes: deviation 16 |")
    for row, estimate, log2 in (("ring-LWE", rlwe, scores), ("the same at a modulus of 40 bits", rlwe, scores), ("module-LWE of rank 3, and ring-LWE", module, routed),
                                ("LWE with the most buckets. For fewer buckets, see the rows by PIR below", narrow, least), ("ring-LWE", rlwe, routing), ("LWE", wide, deviating),
                                ("LWE", narrow, least), ("ring-LWE with circular security", rlwe, session), ("module-LWE of rank 3, and ring-LWE", module, scan)):
        states("sheet.md", f"| {row} | {levels(estimate)} | {power(log2)}, {power(log2 + 30)} |")
    states("sheet.md", f"| none on lattices | 2^-128, 2^-98, an advantage | the same | {power(uniform)}, {power(uniform + 30)} |")
    # AES-256-GCM makes a block for 16 bytes, one for each tag and one for the key of the tags. Pages have 1 KiB or more.
    states("sheet.md", f"part of AES-256-GCM's advantage: {power(term(2**26 + 2**20 + 1))} for 1 GiB under one key")
    # A routed search also sends a query of packing 64 for added records, and one for its pages.
    added = term(ring(-(-8194 // 64)))
    most_of_search = math.log2(sum(2**log2 for log2 in (routed, added, scan)))
    readme = " ".join((ROOT / "README.md").read_text().split())
    for row in (f"| MATZOV | {module[5]:.1f} bits | {module[5] - 30:.1f} bits |", f"| core-SVP | {module[6]:.1f} bits | {module[6] - 30:.1f} bits |",
                f"| AES term of a routed search that scans pages, at most | {power(most_of_search)} | {power(most_of_search + 30)} |"):
        if row not in readme:
            wrong.append(f"README.md: {row}")
    assert max(scores, scan, session, routing, uniform, deviating, least) <= routed


# --- pads ---


def segments(n):
    """The numbers of records of the segments of a stream of n records."""
    at, sizes = 0, []
    while n > 0:
        doublings = 0 if at < FIRST else 1 + (at - FIRST) // NEXT
        sizes.append(min(n, 2 ** (SEGMENT + doublings)))
        n, at = n - sizes[-1], at + 1
    return sizes


def blocks(rows, width):
    return rows * -(-width // 4)


def pads():
    for n, width in ((131_072, 128), (1_000_000, 128), (10_000_000, 128), (10_000_000, 1536)):
        sizes = segments(n)
        group = checks_failure.group(width)
        stored = [size + CHECKS * -(-size // group) for size in sizes]
        log2 = math.log2(sum(blocks(rows, width) ** 2 for rows in stored)) - 129
        states("masked.md", f"| {n:,} x {width} | {len(sizes)} | {power(log2)} |")
    for n, width in ((1_000_000, 128), (10_000_000, 128), (10_000_000, 1536)):
        # Copies add half to the records. Check rows come on top.
        places = n * 3 // 2
        stored = places + clusters_failure.COUNT * -(-places // clusters_failure.PLACES)
        log2 = 2 * math.log2(blocks(stored, width)) - 129
        states("routed.md", f"| {n:,} x {width} | {power(log2)} |")


# --- check rows ---


def check_rows():
    for tries in (1, 100, 1000, 1_000_000):
        cells = []
        for refusals in range(4):
            nodes = sum(math.comb(tries, i + 1) for i in range(refusals + 1))
            # Counts the tree itself, level by level.
            if tries <= 1000:
                assert nodes == sum(math.comb(j, i) for j in range(tries) for i in range(refusals + 1))
            cells.append(power(math.log2(nodes) - CHECKS) if refusals < tries else "")
        states("masked.md", f"| {tries:,} | " + " | ".join(cells).replace("|  |", "| |").strip() + " |")
    states("README.md", f"| one score changed by more than `2T`, or by an error whose square exceeds `tau / 4` (open mode: `tau / 16`) | yes, 2^-{CHECKS} |")
    # A guess of each of a row's 40 bits is right with probability 1/2.
    states("masked.md", f"a reply with such a row is accepted with probability `2^-{CHECKS}` at most")
    states("masked.md", f"2^-{CHECKS} sum_(i = 0 .. r) C(Q, i + 1)")
    states("masked.md", f"So each node's reply passes with probability `2^-{CHECKS}` at most")
    states("masked.md", f"the bits of a row in about {CHECKS + 1} searches, of which {CHECKS // 2} are refused")
    states("masked.md", f"exceeds it with probability below `2^-{CHECKS}` a search")
    states("routed.md", f"a run of up to {clusters_failure.PLACES} places, and has {clusters_failure.COUNT} check rows")
    states("routed.md", "Let `E_v^2 >= tau / 4` for a place")
    states("routed.md", "at least one reply with `E_v^2 >= tau / 4` at some place `v` is at most")
    states("routed.md", "errors in a part whose squares sum to `0.35 tau` pass with probability about 2^-40")
    for row in ("masked, open or routed mode refuses an honest reply, per search",
                "a [fetched record](retrieval.md#wrong-records) is wrong", "a request without a hint, or a scan of [dealt pages](retrieval.md#a-scan), has no [slot](../../crates/pir/docs/hintless.md#several-records-at-once) for one of its records",
                "a routed answer is off by more than its [noise bound](../../crates/lwe/README.md#noise)"):
        states("README.md", f"| {row} | 2^-{CHECKS} |")
    accepted = clusters_failure.log2_accepted(4.0)
    states("routed.md", f"e^(4 u) (max over x of (e^(-u x^2) + e^(-u (1 - x)^2)) / 2)^63 = {power(accepted)}")
    assert clusters_failure.log2_spread(0.35) < -CHECKS
    accepted = held_failure.log2_accepted(4.0)
    states("open.md", f"e^(4 u) (max over x of (e^(-u x^2) + e^(-u (1 - x)^2)) / 2)^64 = {power(accepted)}")
    states("open.md", "errors in a group whose squares sum to `0.085 tau` pass with probability about 2^-40")
    states("open.md", f"into groups of {held_failure.GROUP:,} rows")
    # A group's changes are less than half of the range of steps, so different sums stay different.
    assert 2 * 2**20 < 2**31
    # A uniform score of open mode would lie in the band with at least this probability.
    states("open.md", "`1 - (1.0175 / 1.025)^n`")
    states("open.md", "about 1 of 100 random changes")
    assert 0.005 < 1 - 1.0175 / 1.025 < 0.015


# --- exact checks ---


def exact():
    rows, width, tag, head, state = 100_000, 128, 16, 16, 16
    for page, q, copies, weights in (("masked.md", 50, 2, 48), ("open.md", 40, 3, 32)):
        assert copies * weights == EXACT and 2**weights < 2**q - 2**16 and (copies - 1) * (q - 1) < EXACT
        reply = head + state + rows * q // 8
        once = [copies * (head + width // t * 2048 * q // 8) + tag for t in (4, 8)]
        if page == "masked.md":
            group = checks_failure.group(width)
            rounded = head + state + -(-(rows + CHECKS * -(-rows // group)) * 15 // 8)
            states(page, f"| a reply | {rounded:,} | {reply:,} | {reply:,} |")
            more = f"{100 * CHECKS / group:.1f} %"
            states(page, f"| once, in addition to the hint | none, but the hint is {more} larger | {once[0]:,} | {once[1]:,} |")
        else:
            rounded = head + state + rows * 15 // 8
            states(page, f"| {once[0]:,} | {once[1]:,} | {reply:,} | {rounded:,} |")
    states("masked.md", f"at most `Q 2^-{EXACT}`")
    states("README.md", f"| one score changed by less than in the row above | no | yes, 2^-{EXACT} |")


# --- sealed data ---


def seals():
    # GHASH takes the content, its place and shape (8 blocks at most), and the lengths.
    tried = lambda size: power(math.log2(-(-size // 16) + 8 + 1) - 128)
    for row, size in (("a bucket of 13,000 bytes", 13_000), ("a chunk of 1,024 vectors of 128 bytes", 1024 * 128), ("a page of payloads of 1 MiB", 1 << 20)):
        states("sealed.md", f"| {row} | {tried(size)} |")
    states("README.md", f"| a bucket, chunk or page of payloads changed | yes, {tried(1 << 20)} |")


# --- retrieval ---


def retrieval():
    sets = [(64, 81), (128, 174), (256, 360), (384, 547), (512, 733)]
    for n, most in sets:
        assert param_check.log2_distance(n, most) <= -128 < param_check.log2_distance(n, most + 1)
    n, most = sets[-1]
    # Secrets take words of 32 bits and errors words of 16, from distinct blocks of 128 bits.
    distinct = 2 * math.log2((32 * n + 16 * most) / 128) - 129
    words, columns = (", ".join(map(str, some[:-1])) + f" or {some[-1]}" for some in zip(*sets))
    states("retrieval.md", f"| at most {columns}, for secrets of {words} words | 2^-128 | `Adv_PRF`, `Adv_PRP`, and at most {power(distinct)} for distinct blocks at {most} columns |")
    states("retrieval.md", f"each session of {REQUESTS} requests adds one `Adv_RLWE` for its keys and queries")
    table = (ROOT / "crates/pir/tests/retrieval/params.rs").read_text()
    for length, most, unit in ((1, 733, "byte"), (13_000, 564, "bytes"), (65_536, 541, "bytes")):
        assert f"({length:_}, {most})" in table or f"({length}, {most})" in table, (length, most)
        states("retrieval.md", f"{most} for {length:,} {unit}")


def main():
    param_check.correctness()
    pir_failure.check()
    below, drawn, worst, twice = hintless_failure.check()
    lwe_failure.check()
    checks_failure.check()
    clusters_failure.check()
    held_failure.check()
    for derive in (constants, estimates, pads, check_rows, exact, seals, retrieval):
        derive()
    states("retrieval.md", f"| 23 named | at least {math.floor(10 * below) / 10} bits below the stated one")
    states("retrieval.md", f"| 500 drawn, each with the most columns that its stated bound allows | {power(drawn)} at most")
    states("retrieval.md", f"| the worst seen: 7,800 records of 6,912 bytes, 60 at once | {power(worst)}")
    if f"`{power(twice)}`" not in (ROOT / "crates/pir/docs/hintless.md").read_text():
        wrong.append(f"crates/pir/docs/hintless.md does not say: {power(twice)}, with peaks twice as large")
    for line in wrong:
        print(f"rederive.py: {line}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
