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
        "`rlwe-2048-50`, `rlwe-2048-50-fine` | encrypted routing; library | ring, 2048 | 50 bits | binomial, deviation 3.24 | ternary": "rlwe-2048-50",
        "clusters in routed mode; pages that are scanned | module, rank 3 over 512 | 40 bits | Gaussian, deviation 16 | ternary": "lwe-1472-36",
    }
    # Retrieval without a hint has the degree and modulus of `rlwe`.
    assert list(param_check.HINTLESS.values()) == [rlwe[:2]]
    constant("pir/src/hintless/params.rs", r"N2048Q50 => (\([\d.]+, [\d.]+\))", rlwe[5:])
    for row, name in rows.items():
        estimate = param_check.SETS[name]
        states("sheet.md", f"{row} | {estimate[5]:.1f} | {estimate[6]:.1f} |")
    for name, of, log2 in (("one", "1", 0), ("of one client, for example", "2^10", 10), ("of one index, for example", "2^30", 30)):
        left = " | ".join(f"{estimate[model] - log2:.1f}" for model in (5, 6) for estimate in (rlwe, module))
        states("sheet.md", f"| {name} | {of} | {left} |")
    states("masked.md", f"For one query `Adv_RLWE` has {rlwe[5]:.1f} bits under MATZOV and {rlwe[6]:.1f} under core-SVP")
    states("routed.md", f"has {module[5]:.1f} bits under MATZOV and {module[6]:.1f} under core-SVP")
    states("sheet.md", f"plain LWE with {module[0]:,} of its 1,536 entries")
    # Each block of 128 bits makes three samples of the error.
    of_polynomial = -(-2048 // 3)
    states("sheet.md", f"A polynomial takes {of_polynomial} blocks")
    for width, t in ((128, 8), (1536, 4), (8192, 8)):
        log2 = 2 * math.log2(width // t * of_polynomial) - 129
        states("sheet.md", f"| {width:,} dimensions, `t = {t}` | {width // t:,} | {power(log2)} | {power(log2 + 30)} |")
    # A Gaussian error takes one block and one bit. 256 errors are made together.
    of_module = 2 * (256 + 256 // 128)
    states("sheet.md", f"{of_module} blocks for 512 errors")
    log2 = 2 * math.log2(24 * -(-16 * 128 // 512) * of_module) - 129
    states("sheet.md", f"| 24 groups of 16 clusters, 128 dimensions | 96 of 512 errors | {power(log2)} | {power(log2 + 30)} |")
    states("retrieval.md", f"cost at most {power(2 * math.log2(2**22 // 512 * of_module) - 129)} for the most words that a request may have, 2^22")
    for row, estimate in (("more than in the first row; errors of standard deviation 32", wide), ("more than in the second row; errors of standard deviation 16", narrow)):
        states("retrieval.md", f"| {row} | LWE: {estimate[5]:.1f} bits MATZOV, {estimate[6]:.1f} core-SVP |")


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
    states("routed.md", f"Each cluster has {clusters_failure.COUNT} check rows for every {clusters_failure.PLACES} of its `r` places")
    states("routed.md", "Let `E_v^2 >= tau / 4` for a place")
    states("routed.md", "at least one reply with `E_v^2 >= tau / 4` at some place `v` is at most")
    states("routed.md", "errors in a part whose squares sum to `0.35 tau` pass with probability about 2^-40")
    for row in ("masked, open or routed mode refuses an honest reply, per search",
                "a [fetched record](retrieval.md#wrong-records) is wrong, or a request without a hint has no slot for one of its records",
                "a routed answer is off by more than its noise bound"):
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
    states("sealed.md", f"on top, {param_check.SETS['rlwe-2048-50'][5]:.1f} bits")


# --- retrieval ---


def retrieval():
    sets = [(64, 81), (128, 174), (256, 360), (384, 547), (512, 733)]
    for n, most in sets:
        assert param_check.log2_distance(n, most) <= -128 < param_check.log2_distance(n, most + 1)
    n, most = sets[-1]
    # Secrets take words of 32 bits and errors words of 16, from distinct blocks of 128 bits.
    distinct = 2 * math.log2((32 * n + 16 * most) / 128) - 129
    # Gaussian secrets and errors take 129 bits each.
    for set_columns, powers in ((45_000, "2^-97.9"), (190_000, "2^-93.8")):
        assert power(2 * math.log2((1024 + set_columns) * 129 / 128) - 129) == powers
        states("retrieval.md", f"{powers} at {set_columns:,} columns")
    words, columns = (", ".join(map(str, some[:-1])) + f" or {some[-1]}" for some in zip(*sets))
    states("retrieval.md", f"| at most {columns}, for secrets of {words} words | 2^-128 | `Adv_PRF`, `Adv_PRP`, and at most {power(distinct)} for distinct blocks at {most} columns |")
    both = math.log2(2**-128 + 2**distinct)
    states("retrieval.md", f"the bounds 2^-128 and {power(distinct)} of this row, times `Q P`, add up to at most {power(10 + math.log2(31) + both)}")
    states("retrieval.md", f"each session of {REQUESTS} requests adds one `Adv_RLWE` for its keys and queries: {param_check.SETS['rlwe-2048-50'][5]:.1f} bits")
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
