"""Documents with text ids over an index, for the frameworks.

A record's number is made of the document's id by a hash, so a reader finds a document by its id without a
table: one of three numbers, whose payload names the id. An index cannot be empty, so record 0 is always
there, with an empty payload, and is left out of results. The first documents are what the index is built of, so
that its mode's buckets, clusters and packing are made for them.
"""

from __future__ import annotations

import json
import os
import threading
import warnings
from typing import TYPE_CHECKING, Any, get_args
from uuid import UUID

from . import _arrays
from ._client import Client
from ._errors import (
    Error,
    FormatError,
    IdsError,
    InputError,
    KeyKindError,
    NoIndexError,
    OtherIndexError,
    ZeroVectorError,
    of_file,
)
from ._files import place as absolute
from ._index import Index, Mode, build, whole_number
from ._index import open as open_index
from ._sordino import OwnerKey, ReaderKey
from .blake3 import hash_each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    from numpy.typing import ArrayLike

    from ._sordino import ClientKey

# Record 0, of no document.
_NONE = 0
_PLACES = 3

# Results of a search, if nothing is said when the index is made.
MOST = 20


class Documents:
    """Documents by id: JSON objects in payloads, found by vectors.

    With an owner's key `place` is a directory, which need not be there yet; with a reader's it may be a
    server's address too, and nothing can be changed.

    It stays with the index that it first meets or makes: if that is removed, or another is put in its place, each call
    is an error, and nothing is written.
    """

    def __init__(
        self,
        place: Index | str | os.PathLike[str],
        key: OwnerKey | ReaderKey,
        *,
        most: int | None,
        mode: Mode | None,
        dim: int | None = None,
        client_key: ClientKey | None,
        token: bytes | str | os.PathLike[str] | None,
        roots: bytes | str | os.PathLike[str] | None,
    ) -> None:
        if not isinstance(key, (OwnerKey, ReaderKey)):
            raise KeyKindError(f"{type(key).__name__}; expected an OwnerKey or a ReaderKey")
        if most is not None and not 1 <= whole_number(most, "max_results") < 1024:
            raise InputError(f"max_results = {most}: expected 1 to 1023")
        if mode is not None and mode not in get_args(Mode):
            raise InputError(f"mode = {mode!r}: expected one of {', '.join(get_args(Mode))}")
        self._key = key
        self._remote = isinstance(place, str) and "://" in place
        given = place.path if isinstance(place, Index) else place
        self._place = str(given) if self._remote else absolute(given, "index", "an index's directory or the address of a server")
        self._how: dict[str, Any] = {"client_key": client_key, "token": token, "roots": roots} if self._remote else {}
        self._most = most
        self._mode = mode
        self._dim = None if dim is None else whole_number(dim, "embedding_dim")
        self._lock = threading.RLock()
        self._client: Client | None = None
        # The id of the index, once it is known.
        self._index: str | None = None
        # The owner's table of documents: ids, and the version of the index that it is of.
        self._numbers: dict[str, int] = {}
        self._version = 0

    def client(self) -> Client | None:
        """A client of the index, or None as long as there is none."""
        with self._lock:
            if not self._there():
                return None
            if self._client is None:
                client = Client(self._place, key=self._key, **self._how)
                try:
                    if client._native.id_kind != "number":
                        raise self._foreign()
                    self._meet(client.stats())
                except Error:
                    client.close()
                    raise
                self._client = client
            return self._client

    def most(self) -> int | None:
        """The most results of a search, or None as long as there is no index."""
        client = self.client()
        return None if client is None else int(client._native.k) - 1

    def dim(self, otherwise: int) -> int:
        """The dimension of the index, or that which a new one is to have."""
        client = self.client()
        if client is not None:
            return int(client.stats()["dim"])
        return otherwise if self._dim is None else self._dim

    def refresh(self) -> bool:
        """Follows the index to its newest version."""
        client = self.client()
        return client is not None and client.refresh()

    def wanted(self, k: Any, what: str) -> int:
        """A number of results, 0 or more. A warning if the index gives fewer to any search."""
        number = whole_number(k, what)
        most = self.most()
        if most is not None and number > most:
            warnings.warn(
                f"{what} = {number}: this index gives at most {most} (max_results, fixed when it is made)", stacklevel=4
            )
        return number

    def add(self, ids: Sequence[str], vectors: ArrayLike, documents: Sequence[Any]) -> None:
        """Adds documents, or replaces those whose ids are there. Of one id given twice the last counts."""
        last = {id: at for at, id in enumerate(ids)}
        if not last:
            return
        rows = _arrays.matrix(vectors, "embeddings")
        if len(rows) != len(ids):
            raise InputError(f"{len(rows)} embeddings for {len(ids)} documents")
        rows = rows[list(last.values())]
        for id, row in zip(last, rows):
            if not row.any():
                raise ZeroVectorError(f"document {id!r} has the zero vector for its embedding, which is near nothing")
        payloads = [_pack(id, documents[at]) for id, at in last.items()]
        with self._lock:
            index = self._opened()
            if index is None:
                self._begin(last, rows, payloads)
                return
            self._look(index)
            numbers = self._numbered(last)
            self._version = index.add(rows, list(numbers.values()), payloads)
            self._numbers.update(numbers)
            self._roomy(index)
            self.refresh()

    def delete(self, ids: Iterable[str]) -> int:
        """Deletes documents; ids that are not there are passed over. The number that were."""
        with self._lock:
            index = self._opened()
            if index is None:
                return 0
            self._look(index)
            known = {id: self._numbers[id] for id in _names(ids) if id in self._numbers}
            if known:
                self._version = index.delete(list(known.values()))
                for id in known:
                    del self._numbers[id]
                self.refresh()
            return len(known)

    def ids(self) -> list[str]:
        """The ids of all documents, read by the owner."""
        with self._lock:
            index = self._opened()
            if index is None:
                return []
            self._look(index)
            return list(self._numbers)

    def matching(self, matches: Callable[[Any], bool]) -> list[tuple[str, Any]]:
        """All documents that match, with their ids, read by the owner."""
        with self._lock:
            index = self._opened()
            payloads = None if index is None else index.payloads()
        found = [_unpack(payload) for payload in (payloads or {}).values() if payload]
        return [(id, document) for id, document in found if matches(document)]

    def get(self, ids: Sequence[str]) -> list[tuple[str, Any]]:
        """The documents with these ids that are there, in the order of ids, by a private fetch."""
        ids = _names(ids)
        client = self.client()
        if client is None or not ids:
            return []
        places = [place for id in ids for place in _places(id)]
        payloads = client.payloads(places)
        found: dict[str, Any] = {}
        for payload in payloads:
            if payload:
                id, document = _unpack(payload)
                found[id] = document
        return [(id, found[id]) for id in ids if id in found]

    def search(self, vector: ArrayLike) -> list[tuple[str, Any, float]]:
        """The nearest documents with their ids and scores, as many as the index gives."""
        client = self.client()
        if client is None:
            return []
        k = client._native.k
        result = client.search(vector, k)
        if result.payloads is None:
            raise self._foreign()
        (scores,), (payloads,) = result.scores, result.payloads
        if client._native.shortens:
            # A document that was cut short is none. All are fetched by id, always as many, so that the server does not see
            # whether one of them was.
            whole = client.payloads([max(int(number), 0) for number in result.ids[0]])
            payloads = [payload or b"" for payload in whole]
        found = [(*_unpack(payload), float(score)) for payload, score in zip(payloads, scores) if payload]
        # Record 0 may have been among them, or not.
        return found[: k - 1]

    def close(self) -> None:
        """Lets go of the index or the connection."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def __reduce__(self) -> str:
        raise KeyKindError("a store holds a key and an open index, and is not copied or pickled: make another of its settings")

    def _opened(self) -> Index | None:
        """The owner's index, or None as long as there is none."""
        key = self._owner()
        if not self._there():
            return None
        index = open_index(self._place, key=key)
        info = index.info()
        if info["id_kind"] != "number" or not info["payloads"]:
            raise self._foreign()
        self._meet(info)
        return index

    def _there(self) -> bool:
        """False as long as there is no index. Raises `NoIndexError` if there was one."""
        if self._remote or os.path.exists(os.path.join(self._place, "CURRENT")):
            return True
        if self._index is None:
            return False
        self.close()
        text = f"no index in {self._place}: the one that this store was used with is gone; a new store begins a new one"
        raise of_file(NoIndexError(text), self._place)

    def _meet(self, facts: dict[str, Any]) -> None:
        """Refuses another index than before, and one that was made with other settings than were asked for."""
        if self._index is not None and facts["index"] != self._index:
            self.close()
            raise OtherIndexError(
                f"{self._place} has another index than this store was used with, {facts['index']} for {self._index}: open a new store"
            )
        for name, asked, found in [
            ("max_results", self._most, facts["k"] - 1),
            ("mode", self._mode, facts["mode"]),
            ("embedding_dim", self._dim, facts["dim"]),
        ]:
            if asked is not None and asked != found:
                raise InputError(
                    f"{name} = {asked!r}: the index at {self._place} was made with {found!r}, which stays; leave {name} out"
                )
        self._index = facts["index"]

    def _owner(self) -> OwnerKey:
        """The owner's key, to an index's directory."""
        if self._remote or not isinstance(self._key, OwnerKey):
            raise KeyKindError("to change documents, or to read all of them, needs the owner's key and the index's directory")
        return self._key

    def _foreign(self) -> FormatError:
        return FormatError(f"the index at {self._place} holds no documents of such a store: it was made by other means")

    def _begin(self, ids: Iterable[str], rows: np.ndarray, payloads: list[bytes]) -> None:
        """Makes the owner's index of its first documents and record 0."""
        import numpy as np

        most = MOST if self._most is None else self._most
        # One more result than is wanted, in case record 0 is among them.
        k = most + 1
        if self._mode == "sealed" and len(rows) < most:
            raise InputError(
                f"{len(rows)} documents: sealed mode, whose buckets are made of the first, begins with at least "
                f"max_results = {most}"
            )
        self._numbers = {}
        numbers = self._numbered(ids)
        none = np.random.default_rng().standard_normal((1, rows.shape[1]), dtype=np.float32)
        index = build(
            self._place,
            np.concatenate([none, rows]),
            key=self._owner(),
            ids=[_NONE, *numbers.values()],
            payloads=[b"", *payloads],
            k=k,
            mode=self._mode or "masked",
        )
        info = index.info()
        self._numbers, self._version, self._index = numbers, info["version"], info["index"]

    def _look(self, index: Index) -> None:
        """Reads the table of documents if the index has another version than it is of."""
        version = index.info()["version"]
        if version != self._version:
            payloads = index.payloads() or {}
            self._numbers = {_unpack(payload)[0]: int(number) for number, payload in payloads.items() if payload}
            self._version = version

    def _numbered(self, ids: Iterable[str]) -> dict[str, int]:
        """A number for each id: that which it has, or a free one of its own."""
        taken = set(self._numbers.values())
        numbers = {}
        for id in ids:
            number = self._numbers.get(id)
            if number is None:
                free = [place for place in _places(id) if place not in taken]
                if not free:
                    raise IdsError(f"no record number is free for document {id!r}: give it another id")
                number = free[0]
            taken.add(number)
            numbers[id] = number
        return numbers

    def _roomy(self, index: Index) -> None:
        """Compacts an index that is about to have as many segments as it may."""
        if index.info()["segments"] >= 48:
            self._version = index.compact()


def _places(id: str) -> list[int]:
    """The numbers that a document of this id may have."""
    # An id that is no Unicode text has no document.
    (digest,) = hash_each([id.encode(errors="replace")], context="sordino 2026 document ids")
    places = [int.from_bytes(digest[4 * at : 4 * at + 4], "little") for at in range(_PLACES)]
    return [place if place != _NONE else 1 for place in places]


def name_of(id: Any, at: int) -> str:
    """A document's id as it is stored: UUIDs and whole numbers as text. Raises `InputError` for what has several texts, or none."""
    if isinstance(id, bool) or not (isinstance(id, (str, UUID)) or hasattr(id, "__index__")):
        raise InputError(f"id {at} is a {type(id).__name__}: expected a str, a whole number or a uuid.UUID")
    return str(id)


def known(kwargs: dict[str, Any], what: str) -> None:
    """Refuses arguments that would be passed over: a filter under another name, for instance."""
    if kwargs:
        raise InputError(f"{what}: no argument is named {', '.join(map(repr, kwargs))} here")


def listed(values: Any, what: str) -> list[Any]:
    """Values that go with others in their order, as a list."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise InputError(f"{what}: one {type(values).__name__}, expected a list of them")
    _arrays.ordered(values, what, InputError)
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _names(ids: Iterable[Any]) -> list[str]:
    """Ids of documents as they are stored."""
    if isinstance(ids, (str, bytes)) or not hasattr(ids, "__iter__"):
        raise InputError(f"ids: one {type(ids).__name__}, expected a list of them")
    return [name_of(id, at) for at, id in enumerate(ids)]


def _pack(id: str, document: Any) -> bytes:
    try:
        # A value that came back as another would be wrong without an error.
        parts = document if isinstance(document, list) else [document]
        wrong = next((wrong for part in parts if (wrong := _no_json(part, "")) is not None), None)
        if wrong is None:
            return json.dumps([id, document], separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        wrong = "a text in it has half of a surrogate pair"
    except RecursionError:
        wrong = "it is nested too deep"
    except (TypeError, ValueError) as error:
        wrong = str(error)
    raise InputError(f"document {id!r} cannot be stored as JSON: {wrong}")


def _no_json(value: Any, where: str) -> str | None:
    """The first part of a document that JSON does not have, in words; None if there is none."""
    if value is None or isinstance(value, (str, int)):
        return None
    if isinstance(value, float):
        return None if abs(value) < float("inf") else f"{where or 'it'} is {value}, and JSON has finite numbers alone"
    if isinstance(value, dict):
        for name, inner in value.items():
            if not isinstance(name, str):
                return f"{where or 'it'} has the name {name!r}, a {type(name).__name__}: expected a str"
            if (wrong := _no_json(inner, f"{where}[{name!r}]")) is not None:
                return wrong
        return None
    if isinstance(value, list):
        wrongs = (_no_json(inner, f"{where}[{at}]") for at, inner in enumerate(value))
        return next((wrong for wrong in wrongs if wrong is not None), None)
    return f"{where or 'it'} is a {type(value).__name__}, expected str, int, float, bool, None, or a list or dict of them"


def _unpack(payload: bytes) -> tuple[str, Any]:
    try:
        id, document = json.loads(payload)
    except (ValueError, TypeError, RecursionError):
        id = document = None
    if not isinstance(id, str):
        raise FormatError(f"a payload of {len(payload)} bytes is no document: the index was made by other means")
    return id, document
