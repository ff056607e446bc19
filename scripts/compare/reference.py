"""The appendix: what the reference documents state, and where each of their tables is answered."""

from __future__ import annotations

from compare import authorization, homomorphic, network, preserving, retrieval, search, signatures
from compare.run import Run
from compare.table import markdown

# table of a reference document, where it is answered
COVERAGE = (
    ("Private search (both documents): core operations, Go and Python, all dimensions", "[Products](#products)"),
    ("Private search: standard and batch search by stage, recall, latency", "[Search](#search)"),
    ("Private search: recall query by query", "absent: the mean over 100 queries is given"),
    ("Private search: parallel execution, two-stage search, end-to-end latency", "[Search](#search), [products](#products)"),
    ("Private search: memory, throughput estimates, summary by tier", "[Search](#search), [network](#network)"),
    ("Private search: accuracy on SIFT10K", "absent: the document gives the set and the method, and no figure"),
    ("Private search: guarantees, privacy overhead", "[Search](#search)"),
    ("SimplePIR and DoublePIR: summary, raw data, answer sizes, trade-offs, attempts", "[Retrieval](#retrieval)"),
    ("FPE: encryption and decryption on four platforms", "[FPE](#fpe)"),
    ("ML-DSA: batches, raw data", "[Signatures](#signatures)"),
    ("BLAKE3: sizes, batches", "[Hashing](#hashing)"),
    ("Authorization: latency, cache, throughput, memory, claims", "[Authorization](#authorization)"),
)


def section(run: Run) -> str:
    parts = [
        "# Reference documents",
        "This project answers public reports. Two are on private search (Apple M4 Pro), one on SimplePIR and DoublePIR (Apple Silicon), one on FPE "
        "(four machines). ML-DSA, BLAKE3 and authorization ran on an Apple M4 Max. Their figures are quoted as they stand. "
        "They come from other machines, so this page has no ratios: the chapters compare peers in one run.",
        markdown(["reference", "section"], COVERAGE, words=True),
    ]
    for title, answer in (
        ("Search", search.reference),
        ("Network", network.reference),
        ("Products", homomorphic.reference),
        ("Retrieval", retrieval.reference),
        ("FPE", preserving.reference),
        ("Signatures", signatures.reference),
        ("Hashing", signatures.hash_reference),
        ("Authorization", authorization.reference),
    ):
        parts += [f"## {title}", answer(run)]
    return "\n\n".join(parts)
