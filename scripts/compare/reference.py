"""The appendix: what the reference documents state."""

from __future__ import annotations

from compare import authorization, homomorphic, preserving, retrieval, search, signatures
from compare.run import Run


def section(run: Run) -> str:
    parts = [
        "# Reference documents",
        "This page quotes the figures of the public reports that this project answers. Two reports are on private search (Apple M4 Pro), one on "
        "SimplePIR and DoublePIR (Apple Silicon), one on FPE (four machines). The reports on ML-DSA, BLAKE3 and authorization used an Apple M4 "
        "Max. In each section, *it* and *its* mean the reference.",
        "Some of their tables have no answer here. Of the recall query by query we give the mean of 100 queries. For SIFT10K the report has no "
        "figure. Its figures for a network are estimates.",
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
