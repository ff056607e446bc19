"""Authorization decisions, cached and not, and policies of similar meaning."""

from __future__ import annotations

from compare.run import Run
from compare.table import Key, Row, compare, notes

CHECK, SIMILAR, CHANGING, TOKEN, REQUEST = ("authz/" + group for group in ("check", "similar", "changing", "token", "request"))


def key(function: str, policies: int, group: str = CHECK) -> Key:
    return Key(group, function, str(policies))


def peers(policies: int, suffix: str = "") -> list[Key]:
    return [key(f"cedar-policy{suffix}", policies), key(f"casbin{suffix}", policies)]


ROWS = (
    Row("check, uncached, 3 policies", 1_448, key("sordino", 3), peers(3)),
    Row("check, uncached, 101 policies", None, key("sordino", 101), peers(101)),
    Row("check, uncached, 10,000 policies", None, key("sordino", 10_000), peers(10_000)),
    Row(
        "check, uncached, 101 policies that no index helps",
        None,
        key("sordino, conditions only", 101),
        peers(101, ", conditions only"),
    ),
    Row("check, cached", 407.5, key("sordino cached", 101)),
    Row("cache lookup alone", 147.7, key("sordino lookup", 101)),
    Row(
        "similar policies, small set; ours: 1,000",
        192_919,
        key("sordino top10", 1_000, SIMILAR),
    ),
    Row(
        "similar policies, large set; ours: 100,000",
        1_002_103,
        key("sordino top10", 100_000, SIMILAR),
    ),
    Row("32 signatures of one key; ours: 32 tokens of ML-DSA-65", 1_764_000, key("sordino ML-DSA-65", 32, TOKEN)),
    Row("32 tokens of ML-DSA-44", None, key("sordino ML-DSA-44", 32, TOKEN)),
    Row("tag of a request of 16 KiB, made by the client", None, key("sordino tag", 1 << 14, REQUEST)),
    Row("the same, checked by the server", None, key("sordino check", 1 << 14, REQUEST)),
    Row("while policies change, p50", 3_208, key("p50", 101, CHANGING)),
    Row("while policies change, p95", 20_583, key("p95", 101, CHANGING)),
    Row("while policies change, p99", 54_917, key("p99", 101, CHANGING)),
)


def section(run: Run) -> str:
    return "\n\n".join(
        [
            "## Authorization",
            compare(run, ROWS),
            notes(
                "Another machine, and another language: the reference is a Go engine on an Apple M4 Max, with conditions in CEL. It allocates 22 times for "
                "an uncached check and 8 times for a cached one; ours not at all for either where one policy decides (`crates/authz/tests/allocations.rs`). "
                "The reference's figures for a Rust engine are projections.",
                "Checks of the reference with and without vector similarity (1,353 and 1,423 ns) differ by noise: its check does not use the vectors. Neither does ours.",
                "cedar-policy evaluates every policy for every request. Its verdicts, deciding policies and failures are those of Sordino: tests compare them.",
                "casbin has the grants of teams on folders, and neither the conditions nor the policies that forbid.",
                "Tokens: read, compared with the time, the audience and the issuers, and verified, 32 holders of one issuer's at a time; the reference's figure is for "
                "signatures of ML-DSA-87 alone.",
                "Tags: 54 bytes a request after a login; the check looks up the login, its numbers and its rate too, and nothing of the network.",
                "While policies change: two threads, 99 in 100 requests asked before, 101 policies replaced ten times a second by a third thread, as `crates/authz/examples/authz.rs` "
                "measures it, with the clock's own time in it; the reference's change is a migration, of which it does not say more.",
                "Requests are built before the clock starts, contexts and their canonical bytes too.",
            ),
        ]
    )
