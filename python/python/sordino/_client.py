"""Clients, which search without telling the server what they search for."""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING, Any, SupportsIndex

from . import _arrays, _attributes, _sordino
from ._errors import AttributesError, ClosedError, FilterError, InputError, KError, KeyKindError, NoIndexError, of_file
from ._files import pem, place
from ._files import token as shown_token
from ._index import Index, no_text, pin_parts, real_number, whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from types import TracebackType

    import numpy as np
    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from ._index import Ids
    from ._sordino import ClientKey, OwnerKey, ReaderKey, WriterKey


class Result:
    """The results of one call of `Client.search`, and what the call moved.

    Attributes
    ----------
    ids : numpy.ndarray of shape (n, k)
        The ids of each query's results, best first. The dtype is int64, and -1 stands where there are fewer than k
        records. If ids are str or uuid.UUID, the array holds these objects, and None where there are fewer. If one
        of the ids is 2**63 or more, the array holds Python's int objects, so that no id is rounded. `ids.tolist()`
        is the same for both.
    scores : numpy.ndarray of shape (n, k)
        The float32 scores in the index's metric. For the Euclidean distance, smaller is better. NaN stands where
        there is no id. Never send scores back to the server: they describe the query.
    payloads : list of list of bytes, or None
        The payloads of each query's results. None if the index has no payloads.
    truncated : list of list of bool, or None
        True for each payload that is longer than a search fetches and was cut short. `Client.payloads` fetches all
        of it. None if the index has no payloads.
    bytes_up, bytes_down : int
        Bytes of the messages of this call, without the overhead of the network.
    server_ms : float
        Milliseconds that this call waited for replies, summed over its queries. In one process this is the server's
        work; over a network it includes the transfer.
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
        """Return the number of queries."""
        return len(self.ids)

    def __repr__(self) -> str:
        n, k = self.ids.shape
        return (
            f"<sordino.Result {n} x {k}, {self.bytes_up} bytes up, {self.bytes_down} down, "
            f"{self.server_ms:.1f} ms of the server>"
        )


class Client:
    """A client of one index, and a context manager.

    Several threads may use one client at the same time.

    Parameters
    ----------
    index_or_url : Index, path or str
        An `Index` or the path of one, which is loaded into this process; or the address of a server,
        "https://host:port" or "http://host:port". Connecting downloads what a client needs once, and checks it
        against the owner's signature.
    key : ReaderKey, WriterKey or OwnerKey
        The key that opens the index.
    client_key : ClientKey, optional
        The key to log in with, for servers that answer known clients only.
    token : bytes or path, optional
        The token that was issued to the holder of `client_key`, as bytes or their text, or the path of the file that
        `sordino token issue` wrote. For servers that accept tokens.
    roots : bytes or path, optional
        The root certificates to trust, in PEM, or the path of such a file. The default is to trust what the system
        trusts.
    pin : bytes, optional
        The result of `pin()` of an earlier client. The client then refuses older versions, other indexes and other
        histories.
    over_gap : bool, default False
        With a `pin`, connect although the server does not show that its version follows from the pinned one, which
        raises `GapError` otherwise. The version must be of the same index and not older. A server that hides
        another history shows such a gap: ask the index's owner first, through another channel.
    cache : path, optional
        A folder that keeps one-time downloads for this client and later ones of any index. It holds up to 4 GiB;
        the least recently used files are removed first. It holds only what the server gave, and nothing secret. A
        damaged file is downloaded again. The server can tell that a client was there before.
    wait : float, optional
        The seconds to keep trying while the server cannot be reached or is busy, for connecting and for each call. Each
        attempt uses fresh secrets. 0 means one attempt. The default is 60 for a busy server and 0 for one that cannot
        be reached.

    Raises
    ------
    NoIndexError, KeyKindError
        If the path has no index, or the key is of another kind.
    IntegrityError
        If a signature, a digest or a version is wrong. Stop using the index and its server.
    UnreachableError, RefusedError, AddressError, CertificateError
        If the client cannot connect.
    """

    def __init__(
        self,
        index_or_url: Index | str | os.PathLike[str],
        *,
        key: ReaderKey | WriterKey | OwnerKey,
        client_key: ClientKey | None = None,
        token: bytes | str | os.PathLike[str] | None = None,
        roots: bytes | str | os.PathLike[str] | None = None,
        pin: bytes | None = None,
        over_gap: bool = False,
        cache: str | os.PathLike[str] | None = None,
        wait: float | None = None,
    ) -> None:
        if over_gap and pin is None:
            raise InputError("over_gap without a pin: pass the pin from whose version the client continues")
        known = None if pin is None else (pin_parts(pin), bool(over_gap))
        no_text(key, "an OwnerKey, a ReaderKey or a WriterKey")
        if isinstance(index_or_url, str) and "://" in index_or_url:
            if not (client_key is None or isinstance(client_key, _sordino.ClientKey)):
                raise KeyKindError(f"client_key is a {type(client_key).__name__}: expected a ClientKey")
            if token is not None and client_key is None:
                raise InputError("a token without client_key: pass the key that it was issued to")
            trusted, shown = pem(roots, "roots"), shown_token(token)
            folder = None if cache is None else place(cache, "cache", "the path of a folder")
            if folder is not None and os.path.exists(folder) and not os.path.isdir(folder):
                raise InputError(f"cache = {folder!r}: expected a folder, and this is a file")
            patience = (60.0, 0.0) if wait is None else (real_number(wait, "wait"),) * 2
            self._native = _sordino.Client.remote(index_or_url, key, client_key, shown, trusted, known, folder, patience)
            return
        check_no_server(index_or_url, client_key=client_key, token=token, roots=roots, cache=cache, wait=wait)
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
        """Find the `k` nearest records of each query.

        Several queries use all processors, or up to 8 connections. If the index changes during the call, the client
        follows it. If the server limits requests per second, the client waits (`wait` of the class).

        Parameters
        ----------
        queries : array_like of shape (n, dim) or (dim,)
            The queries, of any numeric dtype. A single vector gives a result with one row.
        k : int, optional
            The number of results, 1 to the index's k. The default is 10, or the index's k if that is smaller. The
            number and size of messages do not depend on it.
        where : str, optional
            A condition on the records' attributes, such as `'year >= 2020 and lang in ("en", "de")'`. It takes `and`,
            `or`, `not`, `=`, `!=`, `<`, `in (...)` and `is null`. As in SQL, a test of a missing value is unknown, and
            so is its `not`: only `is null` finds such a record. The client applies the condition itself before it ranks
            records. In sealed and routed mode it applies to the buckets or clusters that a search reads. `quoted` turns
            a value into a literal: `f"tenant = {sordino.quoted(name)}"`.
        threshold : float, optional
            The lowest score of a result, or the longest Euclidean distance.

        Returns
        -------
        Result
            Ids, scores and payloads, and what the call moved.

        Raises
        ------
        DimensionError, ShapeError, DtypeError, NotFiniteError, ZeroVectorError, KError, FilterError
            If an argument cannot be used. Nothing is sent.
        SearchError
            If the server's answers are wrong. Stop using this server, and tell the index's owner.
        NetworkError
            If the server does not answer. `BusyError` says that it was busy all the time.
        """
        rows = _arrays.matrix(queries, "queries", single=True)
        if isinstance(k, int) and k < 1:
            raise KError(f"k = {k}: expected at least 1")
        number = min(10, self._native.k) if k is None else whole_number(k, "k")
        if number == 0:
            raise KError("k = 0: expected at least 1")
        # The id kind is read before the search. Another thread may close this client after it, and the answers must not
        # be lost.
        kind = self._native.id_kind
        least = None if threshold is None else real_number(threshold, "threshold", any_value=True)
        if least is not None and not abs(least) < float("inf"):
            raise InputError(f"threshold = {threshold!r}: expected a finite number")
        ids, scores, payloads, truncated, up, down, server_ms = self._native.search(rows, number, _where(where), least)
        found = _objects(ids, number, kind) if isinstance(ids, list) else ids
        return Result(found, scores, payloads, truncated, up, down, server_ms)

    def payloads(self, ids: Ids) -> list[bytes | None]:
        """Fetch the payloads of records by id, without a search.

        The server sees that payloads were fetched and about how many, and not which.

        Over a network, the payloads are of the version that this client has: a search or `refresh` takes the newest.

        Parameters
        ----------
        ids : int, str, uuid.UUID or a sequence of one kind
            The ids of the records. A row of `Result.ids` may have -1 or None in its last places.

        Returns
        -------
        list of bytes or None
            The payload of each record; None if there is no such record. The server does not see how many there are.

        Raises
        ------
        IdsError, SearchError, NetworkError
            If an id cannot be used, or the payloads cannot be fetched.
        """
        wanted, absent = _filled(ids, self._native.id_kind)
        return [None if at in absent else payload for at, payload in enumerate(self._native.payloads(wanted))]

    def attributes(self, ids: Ids) -> list[dict[str, int | float | bool | str] | None]:
        """Return the attributes of records by id. The client has them, so nothing is sent.

        Over a network, they are of the version that this client has: a search or `refresh` takes the newest.

        Parameters
        ----------
        ids : int, str, uuid.UUID or a sequence of one kind
            The ids of the records. A row of `Result.ids` may have -1 or None in its last places.

        Returns
        -------
        list of dict or None
            The attributes that each record has; None if there is no such record.
        """
        wanted, absent = _filled(ids, self._native.id_kind)
        return [None if at in absent else row for at, row in enumerate(self._native.attributes(wanted))]

    def column(self, name: str, *, where: str | None = None) -> dict[Any, int | float | bool | str]:
        """Return one attribute of all records that have it. The client has it, so nothing is sent.

        Over a network, it is of the version that this client has: a search or `refresh` takes the newest.

        Parameters
        ----------
        name : str
            The attribute.
        where : str, optional
            A condition that the records meet, as for `search`.

        Returns
        -------
        dict
            The values by id: int, str or uuid.UUID.

        Raises
        ------
        FilterError
            If the condition cannot be used, or there is no such attribute.
        """
        if not (isinstance(name, str) and _arrays.is_unicode(name)):
            raise InputError(f"name = {name!r}: expected the name of an attribute")
        values = self._native.column(name, _where(where))
        if not values and "`" not in name:
            # A condition on an attribute that does not exist is refused.
            self._native.column(name, f"`{name}` is null")
        if self._native.id_kind != "uuid":
            return dict(values)
        from uuid import UUID

        return {UUID(str(id)): value for id, value in values.items()}

    def refresh(self) -> bool:
        """Follow the index to its newest version, and download what is new.

        Returns
        -------
        bool
            True if there was a newer version.
        """
        return self._native.refresh()

    def stats(self) -> dict[str, Any]:
        """Return the index, its version, and the sums over all searches.

        Returns
        -------
        dict
            `bytes_once` has the bytes downloaded apart from queries. `searches`, `bytes_up`, `bytes_down` and
            `server_ms` are sums. With a server, `wire_up` and `wire_down` have all bytes over TCP.
        """
        return self._native.stats()

    def pin(self) -> bytes:
        """Return the version that this client has, to store and to give to the next client as `pin`.

        Returns
        -------
        bytes
            56 bytes, which are not secret.
        """
        index, version, manifest = self._native.pin()
        return bytes(index) + version.to_bytes(8, "little") + bytes(manifest)

    def close(self) -> None:
        """Close the connection, or release the index in memory."""
        self._native.close()

    def __repr__(self) -> str:
        try:
            facts = self._native.stats()
        except ClosedError:
            return "<sordino.Client, closed>"
        return f"<sordino.Client of index {facts['index']}, version {facts['version']}, {facts['mode']}>"

    def __reduce__(self) -> str:
        raise KeyKindError("a Client holds a key and a connection, and cannot be copied or pickled: make a new one from its address and the key's file")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _filled(ids: Ids, kind: str) -> tuple[np.ndarray | list[str], set[int]]:
    """Return ids as the native module takes them, with any id in the places in which `Result.ids` has none, and these places.

    The number of ids stays, because the server sees about how many payloads are fetched.
    """
    import numpy as np
    from uuid import UUID

    given = _arrays.several(ids)
    if not isinstance(given, (list, tuple)) and not (isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype.kind in "iO"):
        return _of_kind(given, kind), set()
    if kind == "number":
        absent = {at for at, one in enumerate(given) if isinstance(one, (int, np.integer)) and one == -1}
    else:
        absent = {at for at, one in enumerate(given) if one is None}
    if not absent:
        return _of_kind(given, kind), absent
    others = (one for one in given if one is not None)
    some = 0 if kind == "number" else next(others, UUID(int=0))
    return _of_kind([some if at in absent else one for at, one in enumerate(given)], kind), absent


def _of_kind(ids: Any, kind: str) -> np.ndarray | list[str]:
    own = _arrays.ids(ids)
    _arrays.check_kind(own, kind)
    return own


def check_no_server(place: Any, **given: Any) -> None:
    """Refuse arguments for connections with an index in this process."""
    names = [name for name, value in given.items() if value is not None]
    if names:
        shown = f"{os.fspath(place)!r} is the path of an index" if isinstance(place, (str, os.PathLike)) else "this is an index"
        raise InputError(f"{', '.join(names)}: for a server, whose address begins with https:// or http://, and {shown} in this process")


def quoted(value: str | int | float | bool | date | np.generic) -> str:
    """Return a value as a literal for a condition, as in `Client.search(where=f"tenant = {sordino.quoted(name)}")`.

    A text stays one value whatever it contains, and cannot become a condition.

    Parameters
    ----------
    value : str, int, float, bool, date or a scalar of numpy
        The value. A date or an instant becomes its text, as attributes have it.

    Returns
    -------
    str
        The literal, in quotes if the value is a text.

    Raises
    ------
    FilterError
        If the value is None, NaN, infinite or of another type.
    """
    try:
        plain: Any = _attributes.value_of(value)
    except AttributesError:
        # UTC does not have the instant.
        plain = None
    if isinstance(plain, str):
        # If the text cannot be encoded, the condition is refused later.
        return "'" + _arrays.text(plain).replace("'", "''") + "'"
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if isinstance(plain, int):
        return str(int(plain))
    if isinstance(plain, float) and abs(plain) < float("inf"):
        return repr(float(plain))
    hint = ": give its `.value`" if isinstance(value, Enum) else ""
    raise FilterError(f"a value that is {value!r}, a {type(value).__name__}: expected a str, an int, a bool, a finite float or a date{hint}")


def _where(condition: str | None) -> str | None:
    """Return a condition as text, which the native module reads."""
    if not (condition is None or isinstance(condition, str)):
        raise FilterError(f"where is a {type(condition).__name__}: expected a condition as a str")
    if condition is not None and not _arrays.is_unicode(condition):
        raise FilterError("where is no Unicode text: it has half of a surrogate pair")
    return condition


def _objects(rows: Sequence[Sequence[str | int]], k: int, kind: str) -> np.ndarray:
    """Return ids as an array of objects: texts, UUIDs, or numbers too large for int64."""
    from uuid import UUID

    import numpy as np

    ids = np.full((len(rows), k), -1 if kind == "number" else None, dtype=object)
    for row, found in enumerate(rows):
        for column, one in enumerate(found):
            ids[row, column] = UUID(str(one)) if kind == "uuid" else one
    return ids
