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
from typing import TYPE_CHECKING, Any

from . import _arrays
from ._client import Client
from ._errors import Error, FormatError, IdsError, InputError, KeyKindError
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


class Documents:
    """Documents by id: JSON objects in payloads, found by vectors.

    With an owner's key `place` is a directory, which need not be there yet; with a reader's it may be a
    server's address too, and nothing can be changed.
    """

    def __init__(
        self,
        place: Index | str | os.PathLike[str],
        key: OwnerKey | ReaderKey,
        *,
        most: int,
        mode: Mode,
        client_key: ClientKey | None,
        token: bytes | str | os.PathLike[str] | None,
        roots: bytes | str | os.PathLike[str] | None,
    ) -> None:
        if not isinstance(key, (OwnerKey, ReaderKey)):
            raise KeyKindError(f"{type(key).__name__}; expected an OwnerKey or a ReaderKey")
        if not 1 <= whole_number(most, "max_results") < 1024:
            raise InputError(f"max_results = {most}: expected 1 to 1023")
        self._key = key
        self._place = place.path if isinstance(place, Index) else place
        self._remote = isinstance(place, str) and "://" in place
        self._how: dict[str, Any] = {"client_key": client_key, "token": token, "roots": roots} if self._remote else {}
        self._most = most
        self._mode = mode
        self._lock = threading.RLock()
        self._client: Client | None = None
        # The owner's table of documents: ids, and the version of the index that it is of.
        self._numbers: dict[str, int] = {}
        self._version = 0

    def client(self) -> Client | None:
        """A client of the index, or None as long as there is none."""
        with self._lock:
            if self._client is None:
                if not self._remote and not os.path.exists(os.path.join(self._place, "CURRENT")):
                    return None
                client = Client(self._place, key=self._key, **self._how)
                if client._native.id_kind != "number":
                    client.close()
                    raise self._foreign()
                self._client = client
            return self._client

    def refresh(self) -> bool:
        """Follows the index to its newest version."""
        client = self.client()
        return client is not None and client.refresh()

    def wanted(self, k: Any, what: str) -> int:
        """A number of results, 0 or more. A warning if the index gives fewer to any search."""
        number = whole_number(k, what)
        client = self.client()
        if client is not None and number > (most := client._native.k - 1):
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

    def search(self, vector: ArrayLike, k: int) -> list[tuple[str, Any, float]]:
        """The nearest documents with their ids and scores, at most `k` and at most `most`."""
        client = self.client()
        if client is None:
            return []
        result = client.search(vector, client.stats()["k"])
        if result.payloads is None:
            raise self._foreign()
        (scores,), (payloads,) = result.scores, result.payloads
        found = [(*_unpack(payload), float(score)) for payload, score in zip(payloads, scores) if payload]
        return found[:k]

    def close(self) -> None:
        """Lets go of the index or the connection."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _opened(self) -> Index | None:
        """The owner's index, or None as long as there is none."""
        key = self._owner()
        if not os.path.exists(os.path.join(self._place, "CURRENT")):
            return None
        index = open_index(self._place, key=key)
        info = index.info()
        if info["id_kind"] != "number" or not info["payloads"]:
            raise self._foreign()
        return index

    def _owner(self) -> OwnerKey:
        """The owner's key, to an index's directory."""
        if self._remote or not isinstance(self._key, OwnerKey):
            raise KeyKindError("a change needs the owner's key and the index's directory")
        return self._key

    def _foreign(self) -> FormatError:
        return FormatError(f"the index at {self._place} holds no documents of such a store: it was made by other means")

    def _begin(self, ids: Iterable[str], rows: np.ndarray, payloads: list[bytes]) -> None:
        """Makes the owner's index of its first documents and record 0."""
        import numpy as np

        # One more result than is wanted, in case record 0 is among them.
        k = self._most + 1
        if self._mode == "sealed" and len(rows) < self._most:
            raise InputError(
                f"{len(rows)} documents: sealed mode, whose buckets are made of the first, begins with at least "
                f"max_results = {self._most}"
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
            mode=self._mode,
        )
        self._numbers, self._version = numbers, index.info()["version"]

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


def _names(ids: Iterable[Any]) -> list[str]:
    """Ids of documents as they are stored: UUIDs and numbers as text."""
    if isinstance(ids, (str, bytes)) or not hasattr(ids, "__iter__"):
        raise InputError(f"ids: one {type(ids).__name__}, expected a list of them")
    return [str(id) for id in ids]


def _pack(id: str, document: Any) -> bytes:
    try:
        return json.dumps([id, document], separators=(",", ":"), ensure_ascii=False).encode()
    except (TypeError, ValueError) as error:
        raise Error(f"document {id!r} cannot be stored as JSON: {error}") from None


def _unpack(payload: bytes) -> tuple[str, Any]:
    try:
        id, document = json.loads(payload)
    except (ValueError, TypeError):
        id = document = None
    if not isinstance(id, str):
        raise FormatError(f"a payload of {len(payload)} bytes is no document: the index was made by other means")
    return id, document
