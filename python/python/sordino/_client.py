"""Clients: they search, and the server does not learn for what."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, SupportsIndex

from . import _arrays, _sordino
from ._errors import ClosedError, FilterError, InputError, KError, KeyKindError, NoIndexError, of_file
from ._files import content, pem, place
from ._index import Index, real_number, whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    import numpy as np
    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from ._index import Ids
    from ._sordino import ClientKey, OwnerKey, ReaderKey


class Result:
    """The answers to a call of `Client.search`, and what it moved.

    ids: int64, shape (n, k), best first; -1 where there are fewer than k records. Where ids are str or
        uuid.UUID, an array of these objects, with None where there are fewer. Where an id in it is 2**63 or more, an
        array of Python's int objects, so that no id is rounded: `ids.tolist()` is the same for both.
    scores: float32, shape (n, k), in the index's metric (the Euclidean distance: smaller is better); NaN
        where ids are -1. They must not be sent back to the server: they describe the query.
    payloads: for each query a list of the bytes of what was found; None if the index has none.
    truncated: for each query a list that says of each payload whether it is longer than a search brings, and was cut short:
        `Client.payloads` fetches all of it. None if the index has no payloads.
    bytes_up, bytes_down: bytes of the messages of this call, without what the network adds.
    server_ms: milliseconds that this call waited for answers, summed over its queries: in one process the
        server's work, over a network that and the way.
    """

    __slots__ = ("bytes_down", "bytes_up", "ids", "payloads", "scores", "server_ms", "truncated")

    ids: np.ndarray
    scores: np.ndarray
    payloads: list[list[bytes]] | None
    truncated: list[list[bool]] | None
    bytes_up: int
    bytes_down: int
    server_ms: float

    def __init__(
        self,
        ids: np.ndarray,
        scores: np.ndarray,
        payloads: list[list[bytes]] | None,
        truncated: list[list[bool]] | None,
        bytes_up: int,
        bytes_down: int,
        server_ms: float,
    ) -> None:
        self.ids = ids
        self.scores = scores
        self.payloads = payloads
        self.truncated = truncated
        self.bytes_up = bytes_up
        self.bytes_down = bytes_down
        self.server_ms = server_ms

    def __len__(self) -> int:
        """The number of queries."""
        return len(self.ids)

    def __repr__(self) -> str:
        n, k = self.ids.shape
        return (
            f"<sordino.Result {n} x {k}, {self.bytes_up} bytes up, {self.bytes_down} down, "
            f"{self.server_ms:.1f} ms of the server>"
        )


class Client:
    """A client of one index; a context manager. Several threads may use it at the same time.

    index_or_url: an `Index` or the path of one, which is loaded into this process; or the address of a
        server, "https://host:port" or "http://host:port". Connecting downloads what a client needs once,
        and checks it against the owner's signature.
    key: a reader's key, or the owner's.
    client_key: logs in with it, at servers that list its public key.
    token: shows this token, which was issued to the holder of `client_key`, at servers that do not list that: bytes, or the
        path of the file that `sordino token issue` wrote.
    roots: certificates to trust on "https", in PEM (bytes) or the path of such a file; else the system's.
    pin: what `pin()` of an earlier client gave: then older versions, other indexes and other histories are
        refused.
    over_gap: with a `pin`, connects also where `GapError` is raised without it, since the server does not show that
        its version follows from the pinned one; it is of the same index and not older. A server that hides another
        history shows such a gap: ask the index's owner first, by another way than that server.
    cache: a folder that keeps what was downloaded once (up to 4 GiB, the least recently used goes first), for
        this and later clients of any index: they ask only for what is not there. It holds what the server
        gave, nothing secret from it; a damaged file is downloaded again. The server can tell a client that
        has been there before.
    wait: seconds that a search waits, 60 if nothing is said, while the server says that it has too many requests or that this
        client asks too often. It asks again with fresh secrets; after that it raises `BusyError`. With 0 it does not wait.

    Raises `NoIndexError`, `SignatureError` and other `IntegrityError`s, `UnreachableError`, `RefusedError`,
    `KeyKindError`, `AddressError`, `CertificateError`.
    """

    def __init__(
        self,
        index_or_url: Index | str | os.PathLike[str],
        *,
        key: ReaderKey | OwnerKey,
        client_key: ClientKey | None = None,
        token: bytes | str | os.PathLike[str] | None = None,
        roots: bytes | str | os.PathLike[str] | None = None,
        pin: bytes | None = None,
        over_gap: bool = False,
        cache: str | os.PathLike[str] | None = None,
        wait: float | None = None,
    ) -> None:
        if over_gap and pin is None:
            raise InputError("over_gap without a pin: there is no version to go on from")
        known = None if pin is None else (_parts(pin), bool(over_gap))
        if isinstance(index_or_url, str) and "://" in index_or_url:
            if not (client_key is None or isinstance(client_key, _sordino.ClientKey)):
                raise KeyKindError(f"client_key is a {type(client_key).__name__}: expected a ClientKey")
            if token is not None and client_key is None:
                raise InputError("a token without the client_key that it was issued to")
            trusted, shown = pem(roots, "roots"), content(token, "token")
            folder = None if cache is None else place(cache, "cache", "the path of a folder")
            patience = real_number(60.0 if wait is None else wait, "wait")
            self._native = _sordino.Client.remote(index_or_url, key, client_key, shown, trusted, known, folder, patience)
            return
        if any(given is not None for given in (client_key, token, roots, cache, wait)):
            raise InputError(
                "client_key, token, roots, cache and wait are for a server's address, not for an index in this process"
            )
        given = index_or_url.path if isinstance(index_or_url, Index) else index_or_url
        path = place(given, "index_or_url", "an Index, its path, or a URL")
        try:
            self._native = _sordino.Client.here(path, key, known)
        except NoIndexError as error:
            if ":" in str(given) and not os.path.exists(path):
                hint = f"{error}; the address of a server begins with https:// or http://"
                raise of_file(NoIndexError(hint), path) from None
            raise

    def search(
        self, queries: ArrayLike, k: SupportsIndex | None = None, *, where: str | None = None, threshold: float | None = None
    ) -> Result:
        """Finds the `k` nearest records of each query.

        queries: shape (n, dim), or (dim,) for one, whose result has one row. Any dtype of numbers.
        k: 1 to the index's k; without it 10, or the index's k if that is smaller. Messages have the same
            number and size whatever is asked for, so nothing of it reaches the server.
        where: a condition on the records' attributes, `'year >= 2020 and lang in ("en", "de")'`: with `and`, `or`, `not`, `=`, `!=`,
            `<`, `in (...)`, `is null`. A test of a value that a record lacks is unknown, as in SQL, and `not` of it too: only `is null` finds
            such a record. It is decided here, before anything is ranked; in sealed and routed mode among the records of the
            buckets or clusters that a search reads.
        threshold: the lowest score of a result, or the longest Euclidean distance.

        Several queries use all processors, or up to 8 connections. If the index changes meanwhile on a
        server, this follows it; where the server answers only so many requests a second, it waits (`wait` of the client).

        Values in a condition stand in quotes, and a quote within is doubled: `f"tenant = {sordino.quoted(name)}"` does both.

        Raises before anything is sent: `DimensionError`, `ShapeError`, `DtypeError`, `NotFiniteError`,
        `ZeroVectorError`, `KError`, `FilterError`. Later: `SearchError` if the server's answers are wrong, `NetworkError`, of which
        `BusyError` says that the server had too many requests all the time.
        """
        rows = _arrays.matrix(queries, "queries", single=True)
        number = min(10, self._native.k) if k is None else whole_number(k, "k")
        if number == 0:
            raise KError("k = 0: expected at least 1")
        # Asked before the search: another thread may close this client after it, and answers are not to be lost.
        kind = self._native.id_kind
        least = None if threshold is None else real_number(threshold, "threshold", any_value=True)
        if least is not None and not abs(least) < float("inf"):
            raise InputError(f"threshold = {threshold!r}: expected a finite number")
        ids, scores, payloads, truncated, up, down, server_ms = self._native.search(rows, number, _where(where), least)
        found = _objects(ids, number, kind) if isinstance(ids, list) else ids
        return Result(found, scores, payloads, truncated, up, down, server_ms)

    def payloads(self, ids: Ids) -> list[bytes | None]:
        """The payloads of records by id, without a search; None for one that is not there.

        They are fetched as those of a search are: the server sees that payloads were fetched and about how
        many, not which. Raises `IdsError`, `SearchError`, `NetworkError`.
        """
        return self._native.payloads(_arrays.ids(_arrays.several(ids)))

    def attributes(self, ids: Ids) -> list[dict[str, int | float | bool | str] | None]:
        """The attributes of records by id, those that each has; None for one that is not there. They are here: nothing is asked of the server."""
        return self._native.attributes(_arrays.ids(_arrays.several(ids)))

    def refresh(self) -> bool:
        """Follows the index to its newest version, and downloads what is new. True if there was one."""
        return self._native.refresh()

    def stats(self) -> dict[str, Any]:
        """The index and its version, `bytes_once` (downloaded beside queries), and the sums over all
        searches: `searches`, `bytes_up`, `bytes_down`, `server_ms`; with a server also `wire_up` and
        `wire_down`, all bytes over TCP."""
        return self._native.stats()

    def pin(self) -> bytes:
        """The version that this client has, to be stored and given to the next one as `pin`. No secret."""
        index, version, manifest = self._native.pin()
        return bytes(index) + version.to_bytes(8, "little") + bytes(manifest)

    def close(self) -> None:
        """Lets go of the connection, or of the index in memory."""
        self._native.close()

    def __repr__(self) -> str:
        try:
            facts = self._native.stats()
        except ClosedError:
            return "<sordino.Client, closed>"
        return f"<sordino.Client of index {facts['index']}, version {facts['version']}, {facts['mode']}>"

    def __reduce__(self) -> str:
        raise KeyKindError("a Client holds a key and a connection, and is not copied or pickled: make another of its address and the key's file")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def quoted(value: str | int | float | bool) -> str:
    """A value as a condition has it, `Client.search(where=f"tenant = {sordino.quoted(name)}")`: whatever is in a text, it
    stays one value, and cannot become a condition of its own.

    Raises `FilterError` for what is no value: None, NaN, infinity, and other types than these.
    """
    if isinstance(value, str):
        # Text that cannot be encoded is refused with the condition.
        return "'" + str(value).replace("'", "''") + "'"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float) and abs(value) < float("inf"):
        return repr(float(value))
    raise FilterError(f"a value that is {value!r}: expected a str, an int, a bool or a finite float")


def _where(condition: str | None) -> str | None:
    """A condition as text, which the native half reads."""
    if not (condition is None or isinstance(condition, str)):
        raise FilterError(f"where is a {type(condition).__name__}: expected a condition as a str")
    if condition is not None and not _arrays.is_unicode(condition):
        raise FilterError("where is no Unicode text: it has half of a surrogate pair")
    return condition


def _objects(rows: Sequence[Sequence[str | int]], k: int, kind: str) -> np.ndarray:
    """Ids that are texts, or numbers of which one is too large for int64, as an array of objects."""
    from uuid import UUID

    import numpy as np

    ids = np.full((len(rows), k), -1 if kind == "number" else None, dtype=object)
    for row, found in enumerate(rows):
        for column, one in enumerate(found):
            ids[row, column] = UUID(str(one)) if kind == "uuid" else one
    return ids


def _parts(pin: bytes) -> tuple[bytes, int, bytes]:
    if not isinstance(pin, bytes) or len(pin) != 56:
        raise InputError("pin: expected the 56 bytes that Client.pin() gives")
    return pin[:16], int.from_bytes(pin[16:24], "little"), pin[24:]
