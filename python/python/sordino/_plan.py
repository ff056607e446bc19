"""The costs of each mode, before an index is built."""

from __future__ import annotations

from typing import Any

from . import _sordino
from ._index import real_number, whole_number


class Plan(dict[str, Any]):
    """The costs of every mode, as a dict that prints as a table.

    `recommended` names a mode, or is None. `modes` is a list of dicts, one for each mode. A dict has the bytes of the
    one-time download, of each direction of a search, and of all searches. It has the milliseconds of server
    and client on one thread, and the number of searches after which downloading everything is cheaper. It also says
    what the server does not see, and why the mode is excluded, if it is.
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
    """Predict the costs of each mode.

    Parameters
    ----------
    n : int
        The number of vectors.
    dim : int
        The dimension of the vectors.
    k : int, default 10
        The results of a search.
    recall : float, default 0.95
        The share of true neighbours that a search should find.
    queries : int, default 100
        The searches that a client makes in one version of the index.
    payload_bytes : int, optional
        The bytes of the longest payload, if records have payloads.
    client_ms : float, optional
        The longest that a client may compute for one search.
    server_sees_vectors : bool, default False
        Allow modes in which the server holds the vectors in the clear.
    measure : bool, default False
        Measure the speed of this machine, in about a second. The default is the speed of a Zen 5.

    Returns
    -------
    Plan
        The costs, and the recommended mode.

    Raises
    ------
    KError, RecallError, EmptyError, TooLargeError, PayloadError
        If no index can have these numbers.
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
