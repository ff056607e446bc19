"""The costs of each mode, before anything is built."""

from __future__ import annotations

from typing import Any

from . import _sordino
from ._index import real_number, whole_number


class Plan(dict[str, Any]):
    """Costs of every mode, as a dict; printed, it is a table.

    `modes` is a list of dicts: bytes once, up and down of a search, in all; milliseconds of server and
    client on one thread; the queries after which downloading everything has cost less; what the server
    does not see; why it is ruled out, if it is. `recommended` names one of them, or is None.
    """

    def __init__(self, values: dict[str, Any], text: str) -> None:
        super().__init__(values)
        self._text = text

    def __str__(self) -> str:
        return self._text


def plan(
    n: int,
    dim: int,
    *,
    k: int = 10,
    recall: float = 0.95,
    queries: int = 100,
    payload_bytes: int | None = None,
    client_ms: float | None = None,
    server_sees_vectors: bool = False,
    measure: bool = False,
) -> Plan:
    """The costs of each mode for `n` vectors of `dim` dimensions.

    queries: the searches that a client makes in one version of the index.
    payload_bytes: the longest payload, if records carry any.
    client_ms: the longest that a client may compute for a search.
    server_sees_vectors: the server may hold the vectors in the clear.
    measure: times of this machine, measured in about a second, in place of a Zen 5's.

    Raises `KError`, `RecallError`, `EmptyError`, `TooLargeError`, `PayloadError`.
    """
    settings = {
        "k": whole_number(k, "k"),
        "recall": real_number(recall, "recall", any_value=True),
        "queries": whole_number(queries, "queries"),
        "payload_bytes": None if payload_bytes is None else whole_number(payload_bytes, "payload_bytes"),
        "client_ms": None if client_ms is None else real_number(client_ms, "client_ms"),
        "server_sees_vectors": bool(server_sees_vectors),
        "measure": bool(measure),
    }
    values, text = _sordino.plan(whole_number(n, "n"), whole_number(dim, "dim"), settings)
    return Plan(values, text)
