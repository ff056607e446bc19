"""The appendix: what the reference documents state."""

from __future__ import annotations

from compare import authorization, homomorphic, preserving, retrieval, search, signatures
from compare.run import Run


def section(run: Run) -> str:
    parts = [
        "# Reference documents",
        "This page quotes figures of public reports on similar software, next to Sordino's. In each section, *the reference* is the report on the "
        "section's subject. The machines differ, so this page gives no ratios; the other pages compare peers in one run.",
        "The two reports on private search used an Apple M4 Pro, and the report on SimplePIR and DoublePIR used Apple Silicon. The report on FPE used "
        "four machines. The reports on ML-DSA, BLAKE3 and authorization used an Apple M4 Max.",
    ]
    for title, answer in (
        ("Search", search.reference),
        ("Products", homomorphic.reference),
        ("Retrieval", retrieval.reference),
        ("FPE", preserving.reference),
        ("Signatures", signatures.reference),
        ("Hashing", signatures.hash_reference),
        ("Authorization", authorization.reference),
    ):
        parts += [f"## {title}", answer(run)]
    return "\n\n".join(parts)
