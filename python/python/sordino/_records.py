"""Streams of records, from an array, a file, or an iterator of arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _arrays, _attributes, _payloads, _tables
from ._errors import AttributesError, DtypeError, IdsError, InputError, PayloadError, ShapeError
from ._sordino import Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

    Chunk = tuple[np.ndarray, np.ndarray | list[str] | None, list[bytes] | None, _attributes.Columns | None]

# The bytes of a chunk, so that a conversion copies no more at a time.
_CHUNK = 4 << 20


@dataclass(frozen=True)
class Batch:
    """Some records of a stream for `sordino.build` or `Index.add`.

    Parameters
    ----------
    vectors : array_like of shape (n, dim)
        The vectors.
    ids : sequence of int, str or uuid.UUID, optional
        n ids of one kind, in all batches or in none.
    payloads : sequence, optional
        n payloads, as for `sordino.build`, in all batches or in none.
    attributes : mapping or data frame, optional
        Columns of n values, as for `sordino.build`. Batches may have different columns.
    """

    vectors: Any
    ids: Any = None
    payloads: Any = None
    attributes: Any = None


class Records:
    """Vectors, with their ids, payloads and attributes."""

    def __init__(
        self, vectors: Any, ids: Any = None, payloads: Any = None, attributes: Any = None, id_kind: str | None = None
    ) -> None:
        _check_stream(vectors)
        table = _tables.source(vectors, ids, payloads, attributes)
        vectors, ids, payloads, attributes = table.vectors, table.ids, table.payloads, table.attributes
        #: The columns of a table that are taken, by argument.
        self.taken = table.taken
        #: The rows of a file in which the column of payloads has no value, as far as the file was read.
        self.without: list[int] = []
        #: The names of attributes, also of those without any value, as far as the records were read.
        self.named = dict.fromkeys([] if attributes is None else _attributes.table(attributes))
        self._file = table.file | {"id_kind": id_kind}
        self._vectors = vectors
        ids, payloads = _arrays.held(ids) if ids is not None else None, _payloads.column(payloads)
        self._ids = None if ids is None else _arrays.ids(ids)
        self._payloads = None if payloads is None else iter(payloads)
        self._attributes = None if attributes is None else _attributes.columns(attributes)
        self.id_kind = "number" if ids is None else _arrays.id_kind(ids)
        self._first: Batch | None = None
        self.size: tuple[int, int] | None = None
        self._array = None
        if _is_path(vectors):
            with _tables.of_input(os.fspath(vectors)):
                reader = Reader(os.fspath(vectors), **self._file)
            if reader.id_kind is not None:
                self.id_kind = reader.id_kind
            if reader.len is not None:
                self.size = (reader.len, reader.dim)
        elif hasattr(vectors, "__next__"):
            some = list(islice(vectors, 1))
            if some and isinstance(some[0], Batch):
                # The ids are read twice.
                some[0] = replace(some[0], ids=None if some[0].ids is None else _arrays.held(some[0].ids))
            self._vectors = chain(some, vectors)
            if some and isinstance(some[0], Batch):
                if ids is not None or payloads is not None or attributes is not None:
                    raise InputError("ids, payloads and attributes are in the batches: leave out the arguments")
                self._first = some[0]
                if self._first.ids is not None:
                    self.id_kind = _arrays.id_kind(self._first.ids)
        else:
            array = _arrays.numbers(vectors, "vectors")
            if array.ndim != 2 or array.shape[1] == 0:
                raise ShapeError(f"vectors of shape {array.shape}: expected (n, dim)")
            self._array = array
            self.size = array.shape
        if self.size is not None:
            n = self.size[0]
            if self._ids is not None and len(self._ids) != n:
                raise IdsError(f"{len(self._ids)} record ids for {n} vectors")
            if hasattr(payloads, "__len__") and len(payloads) != n:
                raise PayloadError(f"{len(payloads)} payloads for {n} vectors")
            self._count(n)

    def _count(self, n: int) -> None:
        """Refuse attributes of a wrong number of records."""
        for name, _, values in self._attributes or ():
            if len(values) != n:
                raise AttributesError(f"attribute {name}: {len(values)} values for {n} vectors")

    def __iter__(self) -> Iterator[Chunk]:
        if self._first is not None:
            yield from self._batches(self._first)
            return
        read = 0
        for rows, ids, values in self._chunks():
            n = len(rows)
            if self._ids is not None:
                ids = self._ids[read : read + n]
                if len(ids) != n:
                    raise IdsError(f"{len(self._ids)} record ids for at least {read + n} vectors")
            payloads = None if values is None else _payloads.encoded(values, ids, read)
            self.without += [read + at for at, value in enumerate(values or ()) if value is None]
            if self._payloads is not None:
                payloads = _payloads.encoded(islice(self._payloads, n), ids, read)
                if len(payloads) != n:
                    raise PayloadError(f"{read + len(payloads)} payloads for at least {read + n} vectors")
            attributes = None
            if self._attributes is not None:
                attributes = _attributes.part(self._attributes, read, read + n)
                for name, _, values in attributes:
                    if len(values) != n:
                        raise AttributesError(f"attribute {name}: {read + len(values)} values for at least {read + n} vectors")
            read += n
            yield rows, ids, payloads, attributes
        if self._ids is not None and len(self._ids) != read:
            raise IdsError(f"{len(self._ids)} record ids for {read} vectors")
        if self._payloads is not None and next(self._payloads, None) is not None:
            raise PayloadError(f"more than {read} payloads for {read} vectors")
        self._count(read)

    def _batches(self, first: Batch) -> Iterator[Chunk]:
        for at, item in enumerate(self._vectors):
            what = f"batch {at} of the iterator"
            if not isinstance(item, Batch):
                raise InputError(f"{what} is a {type(item).__name__}: expected a Batch like the first")
            for name in ("ids", "payloads"):
                if (getattr(item, name) is None) != (getattr(first, name) is None):
                    raise InputError(f"{what}: {name} are in some batches, expected in all or none")
            rows = _arrays.matrix(item.vectors, what)
            if not len(rows):
                continue
            ids = None if item.ids is None else _arrays.ids(item.ids, len(rows))
            payloads = None if item.payloads is None else _payloads.encoded(item.payloads, ids, where=f"{what}: ")
            if payloads is not None and len(payloads) != len(rows):
                raise PayloadError(f"{what}: {len(payloads)} payloads for {len(rows)} vectors")
            attributes = None
            if item.attributes is not None:
                self.named |= dict.fromkeys(_attributes.table(item.attributes))
                attributes = _attributes.columns(item.attributes, len(rows))
            yield rows, ids, payloads, attributes

    def _chunks(self) -> Iterator[tuple[np.ndarray, Any, list[Any] | None]]:
        """Return vectors and, for a file, ids and payloads."""
        if self._array is not None:
            rows = max(1, _CHUNK // (4 * self._array.shape[1]))
            for first in range(0, len(self._array), rows):
                yield _arrays.float32(self._array[first : first + rows]), None, None
        elif _is_path(self._vectors):
            with _tables.of_input(os.fspath(self._vectors)):
                yield from Reader(os.fspath(self._vectors), **self._file)
        else:
            for at, item in enumerate(self._vectors):
                array = _yielded(item, f"array {at} of the iterator")
                if len(array):
                    yield array, None, None


class Whole(NamedTuple):
    """All records at once, as the native module takes them.

    `taken` has the columns of a table that were taken, by argument. `without` has the rows of a file without a payload. `named` has the
    names of all attributes, even if no record has a value.
    """

    vectors: np.ndarray
    ids: np.ndarray | list[str] | None
    payloads: list[bytes] | None
    attributes: _attributes.Columns | None
    taken: dict[str, str]
    without: list[int]
    named: list[str]


def whole(vectors: Any, ids: Any, payloads: Any, attributes: Any, id_kind: Callable[[], str]) -> Whole:
    """Return all records at once. Texts of a file are read as ids of the index's kind."""
    import numpy as np

    _check_stream(vectors)
    if not _is_path(vectors):
        table = _tables.source(vectors, ids, payloads, attributes)
        vectors, ids, payloads, attributes = table.vectors, table.ids, table.payloads, table.attributes
        payloads = _payloads.column(payloads)
        if payloads is not None and not hasattr(payloads, "__len__"):
            payloads = list(payloads)
    if not _is_path(vectors) and not hasattr(vectors, "__next__"):
        # A single array is converted at once, or not at all.
        rows = _arrays.matrix(vectors)
        chunk_ids = None if ids is None else _arrays.ids(ids, len(rows))
        carried = None if payloads is None else _payloads.encoded(payloads, chunk_ids)
        columns = None if attributes is None else _attributes.columns(attributes, len(rows))
        return Whole(rows, chunk_ids, carried, columns, table.taken, [], [] if attributes is None else list(_attributes.table(attributes)))
    records = Records(vectors, ids, payloads, attributes, id_kind() if _is_path(vectors) else None)
    chunks = list(records)
    if not chunks:
        raise InputError("no vectors: expected at least one")
    dims = {chunk[0].shape[1] for chunk in chunks}
    if len(dims) > 1:
        raise ShapeError(f"vectors of dimensions {sorted(dims)}: expected one")
    rows = np.concatenate([chunk[0] for chunk in chunks])
    own = [chunk[1] for chunk in chunks]
    chunk_ids = None if own[0] is None else _joined(own)
    carried = None if chunks[0][2] is None else [one for chunk in chunks for one in chunk[2] or ()]
    columns = _attributes.joined((len(chunk[0]), chunk[3]) for chunk in chunks)
    return Whole(rows, chunk_ids, carried, columns, records.taken, records.without, list(records.named))


def edited(
    ids: Any, payloads: Any, attributes: Any
) -> tuple[Any, list[bytes] | None, _attributes.Columns | None, list[str]]:
    """Return new payloads and attributes of existing records, and the attributes that only lose values."""
    if _tables.columns(ids) is not None:
        raise DtypeError(f"ids: a {type(ids).__name__}, expected one column of it: update(frame['id'], payloads=frame['text'], attributes=frame[['year']])")
    own = _arrays.ids(_arrays.several(ids))
    payloads = _payloads.column(payloads)
    carried = None if payloads is None else _payloads.encoded(payloads, own)
    if carried is not None and len(carried) != len(own):
        raise PayloadError(f"{len(carried)} payloads for {len(own)} ids")
    columns = None if attributes is None else _attributes.columns(attributes, len(own))
    # A column without any value has no type of its own; the index may know its type.
    known = {name for name, _, _ in columns or ()}
    given = [] if attributes is None else list(_attributes.table(attributes))
    return own, carried, columns, [name for name in given if name not in known]


def _check_stream(vectors: Any) -> None:
    """Refuse values that look like a stream of batches but are not."""
    if isinstance(vectors, (FunctionType, MethodType, partial)):
        raise DtypeError("vectors: a function, expected what it gives: call it")
    if isinstance(vectors, Batch):
        raise DtypeError("vectors: one Batch, expected an iterator of them: iter([batch])")
    if isinstance(vectors, (list, tuple)) and vectors and isinstance(vectors[0], Batch):
        raise DtypeError(f"vectors: a {type(vectors).__name__} of Batches, expected an iterator of them: iter(batches)")


def _yielded(item: Any, what: str) -> np.ndarray:
    """Return an item of an iterator as rows. An error says what an iterator yields."""
    try:
        if isinstance(item, Mapping):
            raise DtypeError(f"{what}: a {type(item).__name__}, expected rows of numbers: a data frame of these rows has columns, which are taken by name")
        return _arrays.matrix(item, what)
    except (DtypeError, ShapeError) as error:
        error.args = (f"{error}; an iterator yields arrays of shape (n, dim), or sordino.Batch(rows, ids=ids)", *error.args[1:])
        raise


def _joined(chunks: list[Any]) -> Any:
    import numpy as np

    if isinstance(chunks[0], list):
        return [one for chunk in chunks for one in chunk]
    return np.concatenate(chunks)


def _is_path(vectors: Any) -> bool:
    return isinstance(vectors, (str, os.PathLike))
