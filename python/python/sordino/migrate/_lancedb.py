"""LanceDB: a folder of tables."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from .. import _payloads
from .._errors import InputError, MissingFileError, of_file
from ._store import PAGE, TEXTS, VECTORS, Row, Store, Wanted, client, one_of, reading, usual

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class LanceDB(Store):
    """A version of a table of LanceDB."""

    no_metric = "its vectors have no index, which would name a metric; LanceDB's searches then use euclidean distances unless they name another"

    def __init__(self, place: str, wanted: Wanted) -> None:
        if not os.path.isdir(place):
            raise of_file(MissingFileError(f"{place}: no such folder, expected that of LanceDB's tables"), place)
        self.name = f"LanceDB in {place}"
        package = client("lancedb", "lancedb>=0.20")
        with reading(self.name):
            opened = package.connect(place)
            names = _names(opened)
        table = one_of(wanted.collection, names, "table", "--table")
        self.name = f"LanceDB's table {table!r}"
        with reading(self.name):
            self._table = opened.open_table(table)
            # Others may write to the table meanwhile; this object keeps its version.
            self._table.checkout(self._table.version)
            self.count = self._table.count_rows()
            schema = self._table.schema
        self._choose(schema, wanted)
        self.metric = self._metric()

    def _choose(self, schema: Any, wanted: Wanted) -> None:
        """Decides what each column means."""
        kinds = {field.name: field.type for field in schema}
        dense = [name for name, kind in kinds.items() if _width(kind)]
        if wanted.vector in kinds and not _is_row(kinds[wanted.vector]):
            raise InputError(f"column {wanted.vector!r} is of type {kinds[wanted.vector]}: expected one vector of numbers a row")
        # A list of variable length may be a vector, or something else.
        named = [name for name in kinds if name in (*VECTORS, wanted.vector) and _is_row(kinds[name])]
        self._vector = one_of(wanted.vector, named if wanted.vector else dense or named, "column of vectors", "--vector")
        self._dim = _width(kinds[self._vector])
        self._id = usual(wanted.id, list(kinds), ("id",), "column")
        texts = [name for name, kind in kinds.items() if str(kind) in ("string", "large_string", "string_view")]
        self._text = usual(wanted.text, texts, TEXTS, "column of texts")
        others = [name for name in kinds if name != self._vector and (name in dense or _is_several(kinds[name]))]
        self.left = [f"the vectors in {name!r}, of type {kinds[name]}" for name in others]
        self._names = [name for name in kinds if name != self._vector and name not in others]

    def _metric(self) -> str | None:
        with reading(self.name):
            words = {
                str(self._table.index_stats(one.name).distance_type) for one in self._table.list_indices() if list(one.columns) == [self._vector]
            }
        if len(words) > 1:
            raise InputError(f"column {self._vector!r} has indexes of several metrics, {', '.join(sorted(words))}: expected --metric")
        return next(iter(words), None)

    def rows(self, vectors: bool) -> Iterator[Row]:
        with reading(self.name):
            for batch in self._batches([*self._names, *([self._vector] if vectors else [])]):
                columns = {name: _values(batch.column(name)) for name in self._names}
                rows = _matrix(batch.column(self._vector)) if vectors else [None] * batch.num_rows
                for at, row in enumerate(rows):
                    metadata = {name: values[at] for name, values in columns.items()}
                    id = None if self._id is None else metadata.pop(self._id)
                    text = None if self._text is None else metadata.pop(self._text)
                    yield Row(id, row, text, metadata)

    def _batches(self, names: list[str]) -> Iterator[Any]:
        # Older clients return ten rows if no number is given.
        yield from self._table.search().select(names or [self._vector]).limit(self.count).to_batches(PAGE)

    def dims(self) -> Mapping[int, int]:
        if self._dim:
            return {self._dim: self.count}
        found: Counter[int] = Counter()
        with reading(self.name):
            for batch in self._batches([self._vector]):
                found.update(len(row) for row in _matrix(batch.column(0)) if row is not None)
        return found


def _names(opened: Any) -> list[str]:
    """The names of all tables."""
    found: list[str] = []
    place = None
    while True:
        page = opened.list_tables(page_token=place, limit=PAGE) if hasattr(opened, "list_tables") else opened.table_names(place, PAGE)
        names = list(getattr(page, "tables", page))
        found += names
        place = getattr(page, "page_token", names[-1] if len(names) == PAGE else None)
        if not names or place is None:
            return found


def _is_row(kind: Any) -> bool:
    """True for a type of lists of numbers."""
    import pyarrow as pa

    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(listed) and bool(pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))


def _is_several(kind: Any) -> bool:
    """True for a type with several vectors in each row."""
    import pyarrow as pa

    return (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and bool(_width(kind.value_type))


def _width(kind: Any) -> int:
    """The dimension of a vector type; 0 for all other types."""
    import pyarrow as pa

    return int(kind.list_size) if pa.types.is_fixed_size_list(kind) and _is_row(kind) else 0


def _matrix(column: Any) -> list[Any]:
    """The vectors of a column, and None for a row without one."""
    import numpy as np
    import pyarrow.compute as pc

    # Arrow leaves out null values.
    numbers = column.flatten().to_numpy(zero_copy_only=False)
    lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    rows = np.split(numbers, np.cumsum(lengths)[:-1]) if len(lengths) else []
    return [row if there else None for row, there in zip(rows, column.is_valid().to_pylist(), strict=True)]


def _values(column: Any) -> list[Any]:
    """The values of a column. Python's instants have no nanoseconds, so instants with nanoseconds become
    texts."""
    import pyarrow as pa

    kind = column.type
    if getattr(kind, "unit", None) != "ns":
        return list(column.to_pylist())
    if pa.types.is_time(kind):
        return list(column.cast(pa.string()).to_pylist())
    texts = [_payloads.plain(value) for value in column.to_numpy(zero_copy_only=False)]
    # Arrow stores instants of any time zone in UTC.
    zone = "Z" if getattr(kind, "tz", None) else ""
    return [None if text is None else text + zone for text in texts]
