"""The second pass over a store: rows become records of an index."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from .. import _arrays, _payloads
from .._client import Client
from .._errors import Error, IdsError, InputError, PayloadError
from .._records import Batch
from ._store import PAGE
from ._survey import leaves, numbered, text, without_infinite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    import numpy as np

    from .._index import Index
    from .._sordino import OwnerKey
    from ._store import Row, Store
    from ._survey import Plan

# The bytes of the longest text id.
_ID = 512

# The largest number of rows that the terminal shows.
_SHOWN = 10

# The records, and the bytes of vectors, that are added to an index at a time.
_ADDED, _ADDED_BYTES = 1 << 16, 1 << 28


class Fault(Exception):
    """What is wrong with a row."""


class LeftOut:
    """The rows that cannot become records, and what is done with them: stop, skip or report=FILE."""

    def __init__(self, on_error: str) -> None:
        self.stops = on_error == "stop"
        self.path = on_error.partition("=")[2] or None
        self._report: TextIO | None = None
        self.count = 0
        self.first: list[str] = []

    def begin(self) -> None:
        """Opens the report, in a file that must not exist."""
        if self.path is not None:
            try:
                self._report = open(self.path, "x", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
            except OSError as error:
                raise InputError(f"--on-error report={self.path}: {error.strerror}: expected the name of a new file") from None

    def add(self, at: int, id: Any, why: str) -> None:
        """Notes a faulty row. Raises `InputError` if such a row stops the migration."""
        told = f"row {at}, id {id!r}: {why}"
        if self.stops:
            raise InputError(f"{told}; --on-error skip leaves such rows out, and --on-error report=FILE lists all of them")
        self.count += 1
        if len(self.first) < _SHOWN:
            self.first.append(told)
        if self._report is not None:
            self._report.write(json.dumps({"row": at, "id": _payloads.plain(id), "why": why}, ensure_ascii=False) + "\n")

    def close(self) -> None:
        """Closes the report."""
        if self._report is not None:
            self._report.close()


class Transfer:
    """The rows of a store as batches of records."""

    def __init__(self, store: Store, plan: Plan, rows: int, dim: int, metric: str, left_out: LeftOut) -> None:
        self._store = store
        self._plan = plan
        self._rows = rows
        self.dim = dim
        self._metric = metric
        self._left_out = left_out
        self.read = 0
        self.written = 0

    def batches(self) -> Iterator[Batch]:
        """All records. Raises `InputError` if the rows differ from the first pass, so that no index is made of them."""
        records: list[tuple[Any, np.ndarray, bytes, dict[str, Any]]] = []
        for row in self._store.rows(vectors=True):
            self.read += 1
            try:
                records.append(self._record(numbered(row, self._plan.ids)))
            except Fault as fault:
                self._left_out.add(self.read - 1, row.id, str(fault))
            if len(records) == PAGE:
                yield self._batch(records)
                records = []
        if records:
            yield self._batch(records)
        if self.read != self._rows:
            raise InputError(
                f"{self._store.name}: {self._rows} rows when it was read first, and {self.read} now: expected that nobody writes to it meanwhile"
            )
        if self.written == 0:
            raise InputError(f"{self._store.name}: none of its {self.read} rows can be a record; the first: {self._left_out.first[0]}")

    def ids(self) -> Iterator[list[Any]]:
        """The ids of all records, without storing the records. Raises `InputError` at a row that stops the migration."""
        ids: list[Any] = []
        for at, row in enumerate(self._store.rows(vectors=True)):
            try:
                ids.append(self._record(numbered(row, self._plan.ids))[0])
            except Fault as fault:
                if self._left_out.stops:
                    self._left_out.add(at, row.id, str(fault))
            if len(ids) == PAGE:
                yield ids
                ids = []
        yield ids

    def _batch(self, records: list[tuple[Any, np.ndarray, bytes, dict[str, Any]]]) -> Batch:
        import numpy as np

        self.written += len(records)
        ids, vectors, payloads, attributes = zip(*records)
        names = [".".join(path) for path in self._plan.attributes]
        return Batch(
            np.stack(vectors),
            None if self._plan.ids == "number" else list(ids),
            list(payloads) if self._plan.payloads else None,
            {name: [row.get(name) for row in attributes] for name in names} or None,
        )

    def _record(self, row: Row) -> tuple[Any, np.ndarray, bytes, dict[str, Any]]:
        """Converts a row to a record. Raises `Fault`."""
        return self._id(row.id), self._vector(row.vector), self._payload(row), self._attributes(row)

    def _id(self, id: Any) -> Any:
        if self._plan.ids == "number":
            return None
        if id is None:
            raise Fault("no id: expected one in each row")
        if self._plan.ids == "hash":
            return hashlib.sha256(id if isinstance(id, bytes) else str(id).encode(errors="replace")).hexdigest()
        if self._plan.id_kind != "text":
            return id
        name = str(id)
        if not _arrays.is_unicode(name):
            raise Fault("its id is no Unicode text")
        if not 1 <= len(name.encode()) <= _ID:
            raise Fault(f"an id of {len(name.encode())} bytes: expected 1 to {_ID}; --ids hash makes ids of any, and keeps these as an attribute")
        return name

    def _vector(self, given: Any) -> np.ndarray:
        import numpy as np

        if given is None:
            raise Fault("no vector")
        whole = np.asarray(given)
        row = _arrays.float32(whole)
        if row.shape != (self.dim,):
            raise Fault(f"a vector of {'x'.join(map(str, row.shape))} dimensions: expected {self.dim}")
        if not np.isfinite(row).all():
            raise Fault("a vector with a coordinate that is no finite number of 32 bits")
        if (whole[row == 0] != 0).any():
            raise Fault("a vector with a coordinate too close to 0 for a number of 32 bits")
        if self._metric == "cosine" and not row.any():
            raise Fault("a vector of zeros, which has no cosine")
        return row

    def _payload(self, row: Row) -> bytes:
        value: Any = row.text
        if self._plan.objects:
            # An object is stored whole if one of its values is not an attribute.
            inner = {path[0] for path, _ in leaves(row.metadata) if path not in self._plan.attributes}
            value = {"text": row.text, "metadata": {name: row.metadata[name] for name in row.metadata if name in inner}}
        try:
            return _payloads.one(without_infinite(value), "a payload")
        except PayloadError as error:
            raise Fault(str(error)) from None

    def _attributes(self, row: Row) -> dict[str, Any]:
        found = {}
        for path, value in leaves(row.metadata):
            word = self._plan.attributes.get(path)
            if word == "float":
                # JSON has no NaN or infinite numbers, so such values are left out.
                found[".".join(path)] = _payloads.plain(without_infinite(float(value)))
            elif word is not None:
                found[".".join(path)] = text(value) if word == "text" else value
        for name, value in found.items():
            if isinstance(value, str) and not _arrays.is_unicode(value):
                raise Fault(f"its {name!r} is no Unicode text")
        return found


class Known:
    """The ids of a source that an index had before anything was added."""

    def __init__(self, index: Index, key: OwnerKey) -> None:
        self._client = Client(index, key=key)
        self._there: set[Any] = set()
        self.first: list[Any] = []
        self.count = 0

    def __len__(self) -> int:
        return len(self._there)

    def see(self, ids: list[Any]) -> None:
        """Notes the ids that exist."""
        if ids:
            self._there.update(id for id, found in zip(ids, self._client.attributes(ids)) if found is not None)
            self.first = (self.first + [id for id in ids if id in self._there])[:_SHOWN]

    def replace(self, ids: list[Any]) -> None:
        """Counts the ids whose records were replaced."""
        self.count += sum(id in self._there for id in ids)

    def close(self) -> None:
        """Releases the index."""
        self._client.close()


def extended(index: Index, key: OwnerKey, transfer: Transfer, *, replace: bool) -> int:
    """Adds all records in batches after all were checked. Returns how many were replaced.

    Raises `IdsError` if some exist and must not be replaced. Then, and if a row stops the migration, nothing is changed.
    """
    known = Known(index, key)
    try:
        for ids in transfer.ids():
            known.see(ids)
        if known.first and not replace:
            told = ", ".join(map(str, known.first))
            raise IdsError(f"{len(known)} ids are in the index already, among them {told}: --replace replaces their records, and nothing was changed")
        before = len(index)
        try:
            _add(index, transfer, known)
        except Error as error:
            if len(index) == before and known.count == 0:
                raise
            error.args = (f"{error}; some records are in the index already: the same command with --replace goes on",)
            raise
        expected = before + transfer.written - known.count
        if len(index) != expected:
            raise IdsError(f"the index has {len(index)} records, and {expected} are expected: others changed it meanwhile")
        return known.count
    finally:
        known.close()


def _add(index: Index, transfer: Transfer, known: Known) -> None:
    """Adds all records, and counts those that are replaced."""
    most = max(PAGE, min(_ADDED, _ADDED_BYTES // (4 * transfer.dim)))
    waiting: list[Batch] = []
    rows = 0
    for batch in transfer.batches():
        waiting.append(batch)
        rows += len(batch.vectors)
        if rows + PAGE > most:
            _flush(index, waiting, known)
            waiting, rows = [], 0
    if waiting:
        _flush(index, waiting, known)


def _flush(index: Index, waiting: list[Batch], known: Known) -> None:
    # A record of the source may have no attributes.
    index.add(iter(waiting), leave_empty=True)
    for batch in waiting:
        known.replace(batch.ids)
