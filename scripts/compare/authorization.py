"""Authorization decisions, cached and not, and policies of similar meaning."""

from __future__ import annotations

from compare.run import Run
from compare.stated import OLDER_CHECKS
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
        "ten most similar of 1,000 policies (reference: small set)",
        192_919,
        key("sordino top10", 1_000, SIMILAR),
    ),
    Row(
        "ten most similar of 100,000 policies (reference: large set)",
        1_002_103,
        key("sordino top10", 100_000, SIMILAR),
    ),
    Row("32 tokens of ML-DSA-65", 1_764_000, key("sordino ML-DSA-65", 32, TOKEN)),
    Row("32 tokens of ML-DSA-44", None, key("sordino ML-DSA-44", 32, TOKEN)),
    Row("authentication tag of a request of 16 KiB, made by the client", None, key("sordino tag", 1 << 14, REQUEST)),
    Row("the same tag, checked by the server", None, key("sordino check", 1 << 14, REQUEST)),
    Row("check while policies change, p50", 3_208, key("p50", 101, CHANGING)),
    Row("check while policies change, p95", 20_583, key("p95", 101, CHANGING)),
    Row("check while policies change, p99", 54_917, key("p99", 101, CHANGING)),
)


def casbin(run: Run) -> list[str]:
    found = any(m.function.startswith("casbin") for m in run.group(CHECK))
    return ["casbin evaluates only the policies that grant folders to teams, without their conditions."] if found else []


def section(run: Run) -> str:
    return "\n\n".join(
        [
            "# Authorization",
            "Each row is the time of one operation, on one thread unless a note says otherwise. A *check* decides whether policies allow one request; `uncached` means that no earlier decision is used.",
            compare(run, ROWS, stated=True),
            notes(
                "cedar-policy evaluates every policy for every request.",
                *casbin(run),
                "In the row `101 policies that no index helps`, policies have only conditions, and no scopes. The column `cedar-policy, conditions only` has cedar-policy's time for these.",
                "The rows `ten most similar` find, among policies with a vector each, the ten whose vectors have the largest cosine with a given one.",
                "If one policy decides a check, Sordino allocates no memory.",
                "In the rows `32 tokens`, Sordino reads each token, checks its time, audience and issuer, and verifies its signature. The tokens have "
                "32 holders and one issuer.",
                "In the rows `check while policies change`, two threads make requests, and 99 of 100 requests repeat earlier requests. A third "
                "thread replaces 101 policies ten times a second. `crates/authz/examples/authz.rs` measures these rows. The times "
                "include reading the clock.",
            ),
            OLDER_CHECKS,
        ]
    )


def reference(_: Run) -> str:
    return "\n\n".join(
        [
            "The [chapter](authorization.md) has the reference's figures next to ours.",
            notes(
                "The reference is a Go engine, with conditions in CEL.",
                "The reference's row of 32 tokens has ML-DSA-87 signatures; our tokens have ML-DSA-65.",
            ),
        ]
    )
