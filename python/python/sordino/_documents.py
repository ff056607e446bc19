"""Documents with text ids over an index, for the frameworks.

A hash of the document's id gives three numbers, one of which is the record's; the payload names the id. So a
reader finds a document by its id without a table. An index cannot be empty, so it always has record 0, with an
empty payload, which results leave out. The attributes of record 0 name the attributes that documents have. The
index is built from the first documents, which decide its buckets, clusters and packing.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import sys
import tempfile
import threading
import time
import warnings
import weakref
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from . import _arrays, _filters
from ._client import Client, check_no_server
from ._errors import (
    ClosedError,
    DimensionError,
    Error,
    ExistsError,
    FormatError,
    IdsError,
    InputError,
    KeyKindError,
    LockedError,
    MalformedError,
    NoIndexError,
    NotFiniteError,
    OtherIndexError,
    ZeroVectorError,
    of_file,
)
from ._files import place as absolute
from ._index import Index, Mode, build, real_number, whole_number
from ._index import open as open_index
from ._packing import NONE, Found, names, pack, parts, places, plain, unpack
from ._sordino import ClientKey, OwnerKey, ReaderKey, keygen
from ._tables import check_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import ArrayLike

    from ._filters import Tree

T = TypeVar("T")

# The number of results of a search, unless the settings say otherwise.
MOST = 20

# Each change makes a segment. A store compacts its index at this number: an index may have 1,024, and a search reads all of them.
_SEGMENTS = 64

# The seconds that a change waits for other changes.
_PATIENCE = 30.0

# The seconds that a change waits for an index that another store has begun.
_MOMENT = 2.0


class Documents:
    """Documents by id: JSON objects in payloads, which vectors find.

    With an owner's key, `place` is a directory, which may not exist yet. With a reader's key it may also be the
    address of a server, and nothing can be changed. Without a place, a temporary folder lasts as long as this
    object.

    The object stays with the index that it first meets or makes. If that index is removed or replaced, each call raises
    an error, and nothing is written.

    Parameters
    ----------
    metadata : callable
        Returns the names and values of a document, from which `attributes` are made and by which filters decide.
    unfound : str, optional
        The name that `metadata` gives a value to if no search may find the document. It becomes an attribute with the
        first such document, so that these documents take no place among a search's results.
    """

    def __init__(
        self,
        place: Index | str | os.PathLike[str] | None,
        key: Any,
        *,
        metadata: Callable[[Any], Mapping[str, Any]],
        most: int | None = None,
        mode: Mode | None = None,
        dim: int | None = None,
        attributes: Iterable[str] | None = None,
        keep_vectors: bool = False,
        unfound: str | None = None,
        client_key: Any = None,
        token: Any = None,
        roots: bytes | str | os.PathLike[str] | None = None,
        wait: float | None = None,
    ) -> None:
        if most is not None and not 1 <= whole_number(most, "max_results") < 1024:
            raise InputError(f"max_results = {most}: expected 1 to 1023")
        if mode is not None and mode not in get_args(Mode):
            raise InputError(f"mode = {mode!r}: expected one of {', '.join(get_args(Mode))}")
        if not isinstance(keep_vectors, bool):
            raise InputError(f"keep_vectors = {keep_vectors!r}: expected True or False")
        wait = None if wait is None else real_number(wait, "wait")
        self._metadata = metadata
        self._declared = _declared(attributes)
        self._unfound = unfound
        # The names of metadata that become attributes.
        self._names = {*self._declared, *([] if unfound is None else [unfound])}
        self._key = _loaded(key, place)
        self._place, self._remote = _placed(place)
        if place is None:
            weakref.finalize(self, shutil.rmtree, self._place, ignore_errors=True)
        if not self._remote:
            check_no_server(place, client_key=client_key, token=token, roots=roots, wait=wait)
        self._how: dict[str, Any] = {}
        if self._remote:
            shown = token.resolve_value() if _is_secret(token) else token
            self._how = {
                "client_key": _client_key(client_key),
                "token": shown.encode() if _is_secret(token) and isinstance(shown, str) else shown,
                "roots": roots,
                "wait": wait,
            }
        self._most = most
        self._mode = mode
        self._dim = None if dim is None else whole_number(dim, "embedding_dim")
        self._keep = keep_vectors
        self._shown = place.path if isinstance(place, Index) else place
        # Copies of this object, in this process or another, are made from these settings.
        self._given: dict[str, Any] = {
            "place": self._place,
            "key": self._key if place is None else key,
            "metadata": metadata,
            "most": most,
            "mode": mode,
            "dim": dim,
            "attributes": self._declared or None,
            "keep_vectors": keep_vectors,
            "unfound": unfound,
            "client_key": client_key,
            "token": token,
            "roots": roots,
            "wait": wait,
        }
        self._lock = threading.RLock()
        self._client: Client | None = None
        self._closed = False
        # True if this object has changed the index since the last refresh of its client. Many changes in a row need no client.
        self._behind = False
        # The id of the index, once it is known.
        self._index: str | None = None
        # The owner's table of documents: their ids, the types of attributes, and the version of the index that has both.
        self._numbers: dict[str, int] = {}
        self._kinds: dict[str, type] = {}
        self._version = 0
        # The names for which no document has had a value.
        self._absent: set[str] = set()

    @property
    def key(self) -> OwnerKey | ReaderKey:
        """The key in use."""
        return self._key

    def settings(self, named: Mapping[str, str]) -> dict[str, Any]:
        """Return the settings, with a framework's own names for some, and with the paths of keys.

        Raises
        ------
        InputError
            If the key was given itself, and not as a path.
        """
        settings = {}
        for name, own in named.items():
            value: Any = self._shown if own == "place" else self._given[own]
            if isinstance(value, os.PathLike):
                value = os.fspath(value)
            if _is_secret(value):
                # `to_dict` raises an error for a secret that is not an environment variable.
                value = value.to_dict()
            if not (value is None or isinstance(value, (str, int, float, list, dict))):
                raise InputError(f"{name} is a {type(value).__name__}, which is not written into a file: give its path")
            settings[name] = value
        return settings

    def client(self) -> Client | None:
        """A client of the index, or None while there is no index."""
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
            elif self._behind:
                self._client.refresh()
            self._behind = False
            return self._client

    def most(self) -> int | None:
        """The largest number of results of a search, or None while there is no index."""
        client = self.client()
        return None if client is None else int(client._native.k) - 1

    def dim(self, otherwise: int) -> int:
        """Return the dimension of the index, or the one that a new index will have."""
        client = self.client()
        if client is not None:
            return int(client.stats()["dim"])
        return otherwise if self._dim is None else self._dim

    def refresh(self) -> bool:
        """Follow the index to its newest version."""
        with self._lock:
            client = self.client()
            return client is not None and client.refresh()

    def wanted(self, k: Any, what: str) -> int:
        """Return a number of results of 0 or more, and warn if no search gives so large a number."""
        number = whole_number(k, what)
        most = self.most()
        if most is not None and number > most:
            _warn(f"{what} = {number}: this index gives at most {most} (max_results, fixed when it is made)")
        return number

    def add(self, ids: Sequence[str], vectors: ArrayLike, documents: Sequence[Any]) -> None:
        """Add documents, or replace the documents whose ids exist."""
        import numpy as np

        last = {id: at for at, id in enumerate(ids)}
        if not last:
            return
        if len(last) < len(ids):
            twice = dict.fromkeys(id for at, id in enumerate(ids) if last[id] != at)
            raise IdsError(f"ids that are given twice in one call: {', '.join(map(repr, twice))[:200]}: expected each once, for one of two documents would be lost")
        rows = _arrays.matrix(vectors, "embeddings")
        if len(rows) != len(ids):
            raise InputError(f"{len(rows)} embeddings for {len(ids)} documents")
        rows = rows[list(last.values())]
        for at, (id, row) in enumerate(zip(last, rows)):
            if not row.any():
                raise ZeroVectorError(f"document {id!r} has a zero vector as its embedding, which no search can find")
            if not np.isfinite(row).all():
                column = int(np.isfinite(row).argmin())
                raise NotFiniteError(
                    f"document {id!r}, row {at} of the embeddings, has {row[column]} in column {column}: expected finite numbers of 32 bits; embed its text again"
                )
        stored = [plain(id, documents[at], self._metadata(documents[at])) for id, at in last.items()]
        payloads = [pack(id, one, row if self._keep else None) for id, one, row in zip(last, stored, rows)]

        def work() -> None:
            index = self._opened()
            if index is None:
                self._begin(last, rows, payloads, stored)
                return
            self._look(index)
            numbers = self._numbered(last)
            self._declare(index, stored)
            # A document that is replaced may lose metadata.
            self._now(index.add(rows, list(numbers.values()), payloads, attributes=self._columns(stored), leave_empty=True))
            self._numbers.update(numbers)
            self._roomy(index)

        self._changing(work)

    def change(self, made: Callable[[str, Any], Any]) -> int:
        """Replace each document for which `made` returns a new one, and keep its vector. Return the number of them."""

        def work() -> int:
            index = self._opened()
            if index is None:
                return 0
            self._look(index)
            numbers, payloads, stored = [], [], []
            for number, payload in (index.payloads() or {}).items():
                id, document, vector = parts(payload) if payload else ("", None, None)
                other = made(id, document) if payload else None
                if other is not None:
                    numbers.append(int(number))
                    stored.append(plain(id, other, self._metadata(other)))
                    payloads.append(pack(id, stored[-1], vector))
            if numbers:
                self._declare(index, stored)
                self._now(index.update(numbers, payloads, attributes=self._columns(stored)))
                self._roomy(index)
            return len(numbers)

        return self._changing(work)

    def delete(self, ids: Iterable[str] | None) -> int:
        """Delete documents by id, or all of them, and ignore unknown ids. Return the number of deleted documents."""
        listed = None if ids is None else names(ids)

        def work() -> int:
            index = self._opened()
            if index is None:
                return 0
            self._look(index)
            wanted = list(self._numbers) if listed is None else listed
            known = {id: self._numbers[id] for id in wanted if id in self._numbers}
            if known:
                self._now(index.delete(list(known.values())))
                for id in known:
                    del self._numbers[id]
            return len(known)

        return self._changing(work)

    def ids(self) -> list[str]:
        """Return the ids of all documents. Needs the owner's key."""
        with self._lock:
            index = self._opened()
            if index is None:
                return []
            self._look(index)
            return list(self._numbers)

    def matching(self, matches: Callable[[Any], bool]) -> list[Found]:
        """Return all documents that match. Needs the owner's key."""
        with self._lock:
            index = self._opened()
            payloads = None if index is None else index.payloads()
        found = (unpack(payload) for payload in (payloads or {}).values() if payload)
        return [one for one in found if matches(one.document)]

    def get(self, ids: Sequence[str]) -> list[Found]:
        """Return the existing documents with these ids, in the order of the ids, by a private fetch.

        A fetch is of the newest version, as a search is. Before each fetch the client asks the server for its version,
        whatever the ids are. So this request tells nothing about them.
        """
        ids = names(ids)
        client = self.client()
        if client is None or not ids:
            return []
        if self._remote:
            # A client of an index in this process follows it by itself. With a server, a fetch of payloads that the client holds
            # sends nothing, and would never tell that there is a newer version.
            client.refresh()
        payloads = client.payloads([place for id in ids for place in places(id)])
        found = {one.id: one for one in (unpack(payload) for payload in payloads if payload)}
        return [found[id] for id in ids if id in found]

    def search(
        self, vector: ArrayLike, k: int, tree: Tree, passes: Callable[[Found], bool], enough: int | None = None, advice: str = "", contains: str = ""
    ) -> list[Found]:
        """Return the `k` nearest documents that pass, best first.

        The part of the filter's tree that attributes decide applies before documents are ranked. `passes` then tests
        each document that was found. A warning, with the `advice` if there is any, tells if fewer than `k` or `enough`
        were found and others might pass. `contains` is how the framework asks for a member of a list, if it can.

        Raises
        ------
        FilterError
            If a value in the tree is not of the attribute's type, or a text is compared with lists.
        """
        client = self.client()
        if client is None:
            return []
        kinds = _kinds(client)
        _filters.check_kinds(tree, kinds)

        def column(name: str, some: str | None) -> Mapping[int, Any]:
            return client.column(name, where=some)

        if contains:
            _filters.check_members(tree, lambda name: kinds.get(name) is str and _filters.only_lists(name, column), contains)
        where, whole = self._condition(tree, kinds, column)
        most = int(client._native.k) - 1
        nearest, lost = self._nearest(client, vector, where)
        if contains:
            rows = [self._metadata(one.document) for one in nearest]

            def lists(name: str) -> bool:
                held = [row[name] for row in rows if row.get(name) is not None]
                return name not in kinds and bool(held) and all(isinstance(value, list) for value in held)

            _filters.check_members(tree, lists, contains)
        found = [one for one in nearest if passes(one)][:k]
        least = k if enough is None else enough
        if len(found) < min(least, most) and len(nearest) + lost == most:
            reasons, ways = [], [advice] if advice else []
            if lost:
                reasons.append(f"{lost} of the {most} nearest have no embedding")
                ways.append("once the owner adds a document, documents without an embedding take no places")
            if not whole:
                reasons.append(f"the filter ran on the {most} nearest alone")
                names = [name for name in _filters.undeclared(tree, kinds) if name not in self._absent]
                if names:
                    ways.append(f"once a store with attributes={names!r} adds a document, filters by them apply before documents are ranked")
                elif tree is None:
                    ways.append("conditions on names in the store's `attributes`, instead of a function, apply before documents are ranked")
            if reasons:
                ways.append("an index with a larger `max_results` finds more")
                _warn(f"found {len(found)} documents instead of {least}: {' and '.join(reasons)}; {', and '.join(ways)}")
        return found

    def _condition(self, tree: Tree, kinds: Mapping[str, type], column: _filters.Column) -> tuple[str | None, bool]:
        """Return the condition on attributes for a filter's tree, and True if it is the whole filter."""
        if self._unfound is not None and self._unfound in kinds:
            tree = ("and", [_filters.missing(self._unfound), tree])
        plain = _filters.decided(tree, kinds, column)
        where, whole = _filters.where(plain, kinds)
        return (where, whole) if whole else _filters.where(_filters.narrowed(plain, kinds, lambda name: column(name, None)), kinds)

    def among(self, ids: Sequence[str], vector: ArrayLike, passes: Callable[[Found], bool]) -> list[Found] | None:
        """Return the documents with these ids that pass, with exact cosines, best first; None if vectors were not kept.

        The documents come by a private fetch.
        """
        import numpy as np

        fetched = self.get(ids)
        if any(one.vector is None for one in fetched):
            return None
        query = np.asarray(_arrays.matrix([vector], "query")[0], np.float64)
        if not np.isfinite(query).all():
            raise NotFiniteError("the query has a number that is infinite or NaN: expected finite numbers")
        if not query.any():
            raise ZeroVectorError("the query is a zero vector, which is near nothing: expected the embedding of a text")
        found = []
        for one in filter(passes, {one.id: one for one in fetched}.values()):
            row = np.asarray(one.vector, np.float64)
            if row.shape != query.shape:
                raise DimensionError(f"a query of dimension {len(query)}: the index has {len(row)}")
            found.append(one._replace(score=float(row @ query / (np.linalg.norm(row) * np.linalg.norm(query)))))
        return sorted(found, key=lambda one: -(one.score or 0.0))

    def _nearest(self, client: Client, vector: ArrayLike, where: str | None) -> tuple[list[Found], int]:
        """Return the nearest documents, in the number that the index gives, and how many of them no search may find."""
        k = client._native.k
        result = client.search(vector, k, where=where)
        if result.payloads is None:
            raise self._foreign()
        (scores,), (payloads,) = result.scores, result.payloads
        if client._native.shortens:
            # A document that was cut short cannot be read. Always the same number of documents is fetched by id, so that the
            # server does not see whether one was cut short.
            whole = client.payloads([max(int(number), 0) for number in result.ids[0]])
            payloads = [payload or b"" for payload in whole]
        # Record 0 may have been among the results.
        found = [unpack(payload, float(score)) for payload, score in zip(payloads, scores) if payload][: k - 1]
        kept = [one for one in found if self._unfound is None or self._metadata(one.document).get(self._unfound) is None]
        return kept, len(found) - len(kept)

    def close(self) -> None:
        """Release the index or the connection, for good."""
        self._closed = True
        self._release()

    def _release(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Documents:
        return Documents(**self._given)

    def __copy__(self) -> Documents:
        return Documents(**self._given)

    def __reduce__(self) -> tuple[Any, ...]:
        for name in ("key", "client_key"):
            if not (self._given[name] is None or isinstance(self._given[name], (str, os.PathLike)) or _is_secret(self._given[name])):
                raise KeyKindError(
                    f"a store with a {type(self._given[name]).__name__} cannot be pickled, because keys are secret: "
                    f"make it with {name}=, the path of the key's file"
                )
        # The copy may be made in a different folder.
        paths = ("key", "client_key", "token", "roots")
        given = {name: absolute(value) if name in paths and isinstance(value, (str, os.PathLike)) else value for name, value in self._given.items()}
        return _again, (given,)

    def _opened(self) -> Index | None:
        """Return the owner's index, or None while there is none."""
        key = self._owner()
        if not self._there():
            return None
        index = open_index(self._place, key=key)
        info = index.info()
        if info["id_kind"] != "number" or not info["payloads"]:
            raise self._foreign()
        self._meet(info)
        return index

    def _changing(self, work: Callable[[], T]) -> T:
        """Run a change of the index, and try again while others change it."""
        start = time.monotonic()
        while True:
            try:
                with self._lock:
                    return work()
            except (LockedError, ExistsError, MalformedError) as error:
                # Another store may have begun the index, or may be about to; the folder looks damaged until it has finished.
                patience = _MOMENT if isinstance(error, MalformedError) else _PATIENCE
                if time.monotonic() - start > patience or (isinstance(error, ExistsError) and not self._there()):
                    raise
            time.sleep(random.uniform(0.01, 0.1))

    def _there(self) -> bool:
        """Return False while there is no index.

        Raises
        ------
        NoIndexError, ClosedError
            If there was an index before or the key is a reader's, or the store was closed.
        """
        if self._closed:
            raise ClosedError("this store is closed: make a new one")
        if self._remote or os.path.exists(os.path.join(self._place, "CURRENT")):
            return True
        if self._index is None and isinstance(self._key, OwnerKey):
            return False
        if self._index is None:
            text = f"no index in {self._place}: a store with a {type(self._key).__name__} only reads; look whether the path is right and its disk is mounted"
            raise of_file(NoIndexError(text), self._place)
        self._release()
        text = f"no index in {self._place}: the index of this store is gone; make a new store to begin a new index"
        raise of_file(NoIndexError(text), self._place)

    def _meet(self, facts: dict[str, Any]) -> None:
        """Refuse a different index than before, and one that was made with other settings."""
        if self._index is not None and facts["index"] != self._index:
            self._release()
            raise OtherIndexError(
                f"{self._place} has index {facts['index']}, and this store was used with another index, {self._index}: open a new store"
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
        """Return the owner's key, if the place is a directory."""
        if self._remote or not isinstance(self._key, OwnerKey):
            raise KeyKindError("changing documents, or reading all of them, needs the owner's key and the index's directory")
        return self._key

    def _foreign(self) -> FormatError:
        return FormatError(f"the index at {self._place} holds no documents of such a store: it was made by other means")

    def _begin(self, ids: Iterable[str], rows: np.ndarray, payloads: list[bytes], stored: list[Any]) -> None:
        """Make the owner's index from its first documents and record 0."""
        import numpy as np

        most = MOST if self._most is None else self._most
        # The index gives one more result than is wanted, in case record 0 is among them.
        k = most + 1
        if self._mode == "sealed" and len(rows) < most:
            raise InputError(
                f"{len(rows)} documents: a new index in sealed mode needs at least "
                f"max_results = {most}, from which its buckets are made"
            )
        self._numbers = {}
        numbers = self._numbered(ids)
        self._kinds = {}
        self._kinds = self._new_kinds(stored)
        columns = self._columns(stored) or {}
        none = np.random.default_rng().standard_normal((1, rows.shape[1]), dtype=np.float32)
        index = build(
            self._place,
            np.concatenate([none, rows]),
            key=self._owner(),
            ids=[NONE, *numbers.values()],
            payloads=[b"", *payloads],
            attributes={name: [self._kinds[name](), *values] for name, values in columns.items()} or None,
            k=k,
            mode=self._mode or "masked",
        )
        info = index.info()
        self._numbers, self._version, self._index = numbers, info["version"], info["index"]
        self._absent = self._names - set(self._kinds)

    def _look(self, index: Index) -> None:
        """Read the table of documents if the index has a new version."""
        version = index.info()["version"]
        if version != self._version:
            payloads = index.payloads() or {}
            self._numbers = {parts(payload)[0]: int(number) for number, payload in payloads.items() if payload}
            self._behind = True
            client = self.client()
            self._kinds = {} if client is None else _kinds(client)
            self._absent = set()
            self._version = version

    def _new_kinds(self, stored: Iterable[Any]) -> dict[str, type]:
        """Return the types of attributes that are new, by the first values in these documents."""
        kinds: dict[str, type] = {}
        missing = self._names - set(self._kinds)
        for document in stored if missing else ():
            row = self._metadata(document)
            for name in missing - set(kinds):
                kind = _filters.kind(row.get(name))
                if kind is not None:
                    kinds[name] = kind
        return kinds

    def _columns(self, stored: list[Any]) -> dict[str, list[Any]] | None:
        """Return the attributes of documents."""
        rows = [self._metadata(document) for document in stored]
        return {name: _column(name, kind, rows) for name, kind in self._kinds.items()} or None

    def _declare(self, index: Index, stored: list[Any]) -> None:
        """Make new attributes, for record 0, which lists them, and for all documents."""
        kinds = self._new_kinds(stored)
        if not kinds and self._names <= set(self._kinds) | self._absent:
            return
        payloads = {int(number): payload for number, payload in (index.payloads() or {}).items() if payload}
        documents = {number: parts(payload)[1] for number, payload in payloads.items()}
        kinds = self._new_kinds(documents.values()) | kinds
        self._absent = self._names - set(self._kinds) - set(kinds)
        if not kinds:
            return
        rows = [self._metadata(document) for document in documents.values()]
        columns = {name: [kind(), *_column(name, kind, rows)] for name, kind in kinds.items()}
        numbers = [NONE, *documents]
        # Record 0 always has values.
        some = [at for at in range(len(numbers)) if any(column[at] is not None for column in columns.values())]
        self._now(index.update([numbers[at] for at in some], attributes={name: [column[at] for at in some] for name, column in columns.items()}))
        self._kinds |= kinds

    def _numbered(self, ids: Iterable[str]) -> dict[str, int]:
        """Return a number for each id: the one that it has, or a free one."""
        taken = set(self._numbers.values())
        numbers = {}
        for id in ids:
            number = self._numbers.get(id)
            if number is None:
                free = [place for place in places(id) if place not in taken]
                if not free:
                    raise IdsError(f"no record number is free for document {id!r}: give it another id")
                number = free[0]
            taken.add(number)
            numbers[id] = number
        return numbers

    def _roomy(self, index: Index) -> None:
        """Compact an index with many segments."""
        if index.info()["segments"] >= _SEGMENTS:
            self._now(index.compact())

    def _now(self, version: int) -> None:
        """Note the version that a change made. If others changed the index meanwhile, the table is read before the next
        change.
        """
        self._version = version if version == self._version + 1 else 0
        self._behind = True


def _warn(text: str) -> None:
    """Warn the first caller outside this package."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("sordino."):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, stacklevel=depth)


def _again(given: dict[str, Any]) -> Documents:
    return Documents(**given)


def _kinds(client: Client) -> dict[str, type]:
    """Return the types of attributes, all of which record 0 has."""
    (row,) = client.attributes([NONE])
    return {name: type(value) for name, value in (row or {}).items()}


def _column(name: str, kind: type, rows: list[Mapping[str, Any]]) -> list[Any]:
    """Return an attribute of documents, and warn if values have another type."""
    others = [row[name] for row in rows if _filters.kind(row.get(name)) not in (None, kind)]
    if others:
        _warn(
            f"attribute {name}: {len(others)} of {len(rows)} documents have values of another type there, such as {repr(others[0])[:60]}. The "
            f"attribute holds {'texts' if kind is str else 'numbers'}, and a filter by such a value is refused: store values of another type under another name"
        )
    return [_filters.attribute(row.get(name), kind) for row in rows]


def _declared(attributes: Iterable[str] | None) -> list[str]:
    """Return the names of attributes, each once."""
    check_column(attributes, "attributes", InputError)
    if isinstance(attributes, str) or not (attributes is None or hasattr(attributes, "__iter__")):
        raise InputError(f"attributes = {attributes!r}: expected a list of names of metadata")
    found = list(dict.fromkeys(attributes or ()))
    for name in found:
        if not isinstance(name, str) or not name or "`" in name or not _arrays.is_unicode(name):
            raise InputError(f"attributes: {name!r}, expected the name of metadata, without a backquote")
    return found


def _placed(place: Index | str | os.PathLike[str] | None) -> tuple[str, bool]:
    """Return the absolute path of the index and False, or a server's address and True."""
    if place is None:
        return tempfile.mkdtemp(prefix="sordino-"), False
    if isinstance(place, str) and "://" in place:
        return place, True
    if isinstance(place, str) and re.fullmatch(r"[\w.-]+:\d+(/.*)?", place) and not os.path.exists(place):
        raise InputError(f"{place!r} looks like a server's address without https:// or http:// at its beginning: add it, or give './{place}' for a directory")
    given = place.path if isinstance(place, Index) else place
    return absolute(given, "index", "an index's directory or the address of a server"), False


def _is_secret(value: Any) -> bool:
    """Return True for Haystack's `Secret`, whose text is known once it is resolved."""
    return hasattr(value, "resolve_value")


def _client_key(key: Any) -> ClientKey | None:
    if _is_secret(key):
        return ClientKey.from_text(key.resolve_value())
    return ClientKey.load(key) if isinstance(key, (str, os.PathLike)) else key


def _loaded(key: Any, place: Any) -> OwnerKey | ReaderKey:
    """Return the key, the key of a file, or a new key for a temporary index."""
    if key is None and place is None:
        return keygen()
    if isinstance(key, (str, os.PathLike)):
        try:
            return OwnerKey.load(key)
        except KeyKindError:
            return ReaderKey.load(key)
    if _is_secret(key):
        text = key.resolve_value()
        try:
            return OwnerKey.from_text(text)
        except KeyKindError:
            return ReaderKey.from_text(text)
    if not isinstance(key, (OwnerKey, ReaderKey)):
        raise KeyKindError(
            f"key is a {type(key).__name__}; expected an OwnerKey or a ReaderKey, or the path of its file: key = sordino.keygen(); "
            'key.save("owner.key") makes one'
        )
    return key
