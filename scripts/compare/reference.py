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
        "This page quotes the figures of the public reports that this project answers. Two reports are on private search (Apple M4 Pro), one on "
        "SimplePIR and DoublePIR (Apple Silicon), one on FPE (four machines). The reports on ML-DSA, BLAKE3 and authorization used an Apple M4 "
        "Max. Figures of different machines have no ratios here. The chapters compare peers in one run. In each section, *it* and *its* mean the "
        "reference.",
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
