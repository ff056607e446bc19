"""Indexes in directories: made, opened and changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, Protocol

from . import _arrays, _records, _sordino
from ._errors import InputError, KeyKindError, NoIndexError, of_file
from ._files import place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np
    from uuid import UUID

    from numpy.typing import ArrayLike

    from ._sordino import OwnerKey, PublicKey, ReaderKey, ReaderPublicKey

    Vectors = ArrayLike | str | os.PathLike[str] | Iterator[ArrayLike] | Iterator[_records.Batch]
    Payloads = Iterable[Any]
    Ids = ArrayLike | list[str] | list[UUID] | UUID

    class Attributes(Protocol):
        """A dict or a data frame: columns by name."""

        def items(self) -> Iterable[tuple[Any, Any]]: ...


Mode = Literal["masked", "routed", "open", "sealed", "local"]
Metric = Literal["cosine", "inner-product", "euclidean"]


class Index:
    """An index in a directory, and the key that it is used with.

    Made by `sordino.build` and `sordino.open`. It holds no file open and no lock: each call looks at the
    directory anew. A change is a new version, signed and complete before it takes the place of the old; a
    process that is killed leaves the old or the new. Changes need the owner's key.
    """

    def __init__(self, native: _sordino.Index) -> None:
        self._native = native
        #: Recall on held-out vectors that sealed mode measured, if it was built here.
        self.expected_recall: float | None = None

    @property
    def path(self) -> str:
        """The directory, from the root: it means the same after `os.chdir`."""
        return os.fspath(self._native.path)

    def add(
        self,
        vectors: Vectors,
        ids: Ids | None = None,
        payloads: Payloads | None = None,
        *,
        attributes: Attributes | None = None,
        label: str | None = None,
    ) -> int:
        """Adds records, or replaces those whose ids are there. Returns the new version.

        vectors: shape (n, dim), or a path or iterator as for `build`; all are held in memory.
        ids: n integers from 0 to 2**64 - 1, str or uuid.UUID, of the kind that the index has. Without them records are numbered on from the highest id, so
        the same vectors added twice are there twice.
        payloads: as of `build`, also to an index that had none: then the others' are empty.
        attributes: as of `build`; columns of the same name are of the type that they have.
        label: of all these records, in masked and local mode, of an index that has readers of its own: only those who were
            granted it can read them. A record that is replaced gets the label that it is added with now.

        Each call makes a segment, of which an index may have 1024: add many at a time, or `compact`.

        Raises `DimensionError`, `NotFiniteError`, `ZeroVectorError`, `NormError`, `IdsError`,
        `PayloadError`, `AttributesError`, `SegmentsError`, `LockedError`, `KeyKindError`, `FileError`; `AccessError` and `ModeError` for
        labels. Nothing is changed then.
        """
        rows, own, carried, columns = _records.whole(vectors, ids, payloads, attributes)
        return self._native.add(rows, own, carried, columns, None if label is None else _name(label, "label"))

    def update(
        self, ids: Ids, payloads: Payloads | None = None, *, attributes: Attributes | None = None
    ) -> int:
        """Gives records that are there other payloads or attributes; their vectors stay. Returns the new version.

        ids: of records that are there, each once.
        payloads: one for each id, bytes or str.
        attributes: as of `build`. Attributes of other names stay; None takes a record's value away.

        What was there before stays stored, sealed, until `compact`. Raises `UnknownIdError` for an id that is not there,
        `IdsError`, `PayloadError`, `AttributesError`, `SegmentsError`, `LockedError`, `KeyKindError`, `FileError`.
        Nothing is changed then.
        """
        return self._native.update(*_records.edited(ids, payloads, attributes))

    def grant(
        self,
        reader: str,
        public: ReaderPublicKey | None = None,
        *,
        labels: str | Iterable[str] = (),
        groups: str | Iterable[str] = (),
    ) -> int:
        """Lets a reader of its own read the index, and labels and groups in it. Returns the new version.

        reader: a name of your choosing, which neither the server nor other readers learn.
        public: the reader's public key, `ReaderKey.reader_public()`, if it is new. Check its `digest()` with the reader.
        labels: beside those that it has, made if need be. Records without a label it may read anyway.
        groups: groups that there are.

        The first grant gives the index readers of its own, once and for all: what is there stays under the key that all
        readers shared, which nobody on the list has, until `compact`, and whoever has `OwnerKey.reader()`'s file cannot open the new version.

        Raises `AccessError` with the reason, `ModeError` if scores are checked exactly, `LockedError`,
        `KeyKindError`, `FileError`. Nothing is changed then.
        """
        if public is not None and not isinstance(public, _sordino.ReaderPublicKey):
            raise KeyKindError(f"{type(public).__name__}; expected a ReaderPublicKey: ReaderKey.reader_public()")
        return self._native.grant(_name(reader, "reader"), public, _names(labels, "labels"), _names(groups, "groups"))

    def withdraw(
        self, reader: str, *, labels: str | Iterable[str] = (), groups: str | Iterable[str] = ()
    ) -> int:
        """Takes labels and groups from a reader. Returns the new version.

        What is written from now on it cannot read; what was written before it can, until `compact`. Raises as `grant`.
        """
        return self._native.withdraw(_name(reader, "reader"), _names(labels, "labels"), _names(groups, "groups"))

    def revoke(self, reader: str) -> int:
        """Takes a reader off the list; it can read what was written before until `compact`. Returns the new version. Raises as `grant`."""
        return self._native.revoke(_name(reader, "reader"))

    def group(self, group: str, labels: str | Iterable[str]) -> int:
        """Says which labels a group may read, and no others; makes it if need be. Returns the new version. Raises as `grant`."""
        return self._native.group(_name(group, "group"), _names(labels, "labels"))

    def ungroup(self, group: str) -> int:
        """Takes a group from all readers. Returns the new version. Raises as `grant`."""
        return self._native.ungroup(_name(group, "group"))

    def access(self) -> dict[str, Any] | None:
        """Who can read what, with the owner's key; None where all readers share a key.

        `readers`: each with `name`, `key` (the digest of its public key, None of who was revoked), `labels`, `groups`, `records`
        that it may read, and `until_compacted`, those that it lost and can still read. `groups`, `labels` with
        `records`, and `shared_key`: records that no reader on the list can read until `compact`.
        """
        return self._native.access()

    def delete(self, ids: Ids) -> int:
        """Deletes records by id, all of them or none. Returns the new version.

        What they held stays stored, masked or sealed, until `compact`; no search finds it.

        Raises `UnknownIdError` for an id that is not there, `NothingLeftError` if none would be left,
        `IdsError`, `LockedError`, `KeyKindError`, `FileError`. Nothing is changed then.
        """
        wanted = _arrays.ids(_arrays.several(ids))
        # Nothing to delete is no change.
        return self._native.delete(wanted) if len(wanted) else int(self.info()["version"])

    def compact(self) -> int:
        """Writes the records anew in as few segments as they fit, under new keys. Returns the version.

        What was deleted or replaced is gone then. Raises `LockedError`, `KeyKindError`, `FileError`.
        """
        return self._native.compact()

    def payloads(self) -> dict[int | str, bytes] | None:
        """All payloads by record id (UUIDs as str), read with the owner's key; None where the index has none."""
        return self._native.payloads()

    def verify(self) -> dict[str, Any]:
        """Checks every byte, as far as the key allows; raises what is wrong, an `IntegrityError`.

        With the owner's key: digests, signatures, the chain of versions, all sealed parts, hints. With
        another: what a server can check (`full` is False then). Returns what was found: `version`,
        `bytes`, `full`, and with the owner's key `versions`, `records`, `deleted`.
        """
        return self._native.verify()

    def info(self) -> dict[str, Any]:
        """The signed manifest in words: mode, metric, dim, k, version, segments, bytes, and more.

        `stored` counts records with those that are deleted but not yet compacted; `len(index)` without.
        Raises `SignatureError` if the key is another owner's, `NoIndexError`, `KeyKindError`.
        """
        return self._native.info()

    def __len__(self) -> int:
        """The number of records. Needs the owner's or a reader's key."""
        return self._native.len()

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<sordino.Index {self.path!r}>"

    def __reduce__(self) -> str:
        raise KeyKindError("an Index holds a key, and is not copied or pickled: sordino.open(path, key=OwnerKey.load(file)) opens it once more")


def build(
    path: str | os.PathLike[str],
    vectors: Vectors,
    *,
    key: OwnerKey,
    ids: Ids | None = None,
    payloads: Payloads | None = None,
    attributes: Attributes | None = None,
    mode: Mode = "masked",
    metric: Metric = "cosine",
    recall: float = 0.95,
    k: int = 10,
    progress: Callable[[str, int], object] | None = None,
    queries: int = 100,
    packing: Literal[4, 8, 16, 32, 64] | None = None,
    routing: Literal["downloaded", "encrypted"] | None = None,
    second_look: int | None = None,
    checks: Literal["sums", "exact", "none"] = "sums",
    own_readers: bool = False,
) -> Index:
    """Makes an index in a directory, which is created and must not hold anything else.

    path: the directory.
    vectors: an array of shape (n, dim), dim up to 8192; or the path of a file (.npy, .fvecs, .bvecs, .fbin,
        .u8bin, .i8bin, .parquet, .arrow, .jsonl, .csv), which may be larger than memory; or an iterator of arrays, or of `Batch`es that
        have ids, payloads and attributes of their own, which is read once. Numbers of any dtype are converted to float32, a chunk at a time; float32 in C order
        is not copied as a whole.
    key: the owner's key, of `sordino.keygen()`. Without it the index can be neither changed nor read.
    ids: n integers from 0 to 2**64 - 1, str of 1 to 512 bytes, or uuid.UUID, all different; else the row's
        number. Ids are of one kind for good, and sealed from the server.
    payloads: n values, up to 1,048,572 bytes each, compressed and packed into pages of one length: a search
        returns those of what it found, shortened where one is far longer than the others. bytes and str (as UTF-8) are taken as they are, None and missing values are
        empty, and all else is JSON: dates and instants by ISO 8601 (with a time zone in UTC), durations in seconds (`"PT90.5S"`), a `Decimal` as its digits
        in a text, lists and dicts with such values in them, where bytes are base64 and missing values null. Of a data frame give a column, or `.to_dict("records")`.
    attributes: columns of n values by name, a dict or a data frame: whole numbers of 64 bits, floats, truth values or str of up to 4096 bytes, in
        each column of one type; None, NaN and missing values are none. Clients download them sealed, and filter by them (`Client.search(where=...)`);
        the server learns their bytes together, up to a factor of two.
    mode: "masked" (the server sees neither query nor vectors), "routed" (nor which clusters a search
        scores), "open" (it sees the vectors), "sealed" (a search reads some of the buckets) or "local"
        (clients download everything). `sordino.plan` compares.
    metric: "cosine", "inner-product" or "euclidean".
    recall: the share of true neighbours that sealed and routed mode look for; the others find what their precision
        allows.
    k: results of a search, 1 to 1024. It is part of the index: `Client.search` returns up to so many.
    progress: called as `progress(step, vectors_read)` with the name of each step. What it raises stops the
        build, as Ctrl-C does, within a step.
    queries: the searches that a client makes in one version, which decides what it downloads once.
    packing, routing: forms of masked and open, and of sealed mode, else the cheapest is chosen.
    second_look: candidates that a search ranks by their exact vectors, k to 64: 32 is a good number. They are fetched privately
        and without a hint. In masked, open and routed mode.
    checks: the way clients check the server's scores. "sums" refuses changes of more than some hundredths of a cosine; "exact", in
        masked and open mode, any change, before anything is decrypted, for replies three times as long; "none", in open
        mode, leaves results to the server.
    own_readers: nobody but the owner reads the index until `Index.grant` lets them, from the first version on.

    Raises `ExistsError`, `ShapeError`, `DtypeError`, `EmptyError`, `NotFiniteError`, `ZeroVectorError`,
    `NormError`, `IdsError`, `PayloadError`, `AttributesError`, `KError`, `RecallError`, `FormatError`, `FileError`,
    `KeyKindError`. The directory has no index then.
    """
    if not isinstance(key, _sordino.OwnerKey):
        raise KeyKindError(f"{type(key).__name__}; expected an OwnerKey: sordino.keygen() makes one")
    if progress is not None and not callable(progress):
        raise InputError("progress: expected a function of two arguments")
    path = local(path)
    for name, value in [("mode", mode), ("metric", metric), ("routing", routing), ("checks", checks)]:
        if not (isinstance(value, str) or (value is None and name == "routing")):
            raise InputError(f"{name} = {value!r}: expected a text")
    check_fit(mode, packing=packing, routing=routing)
    records = _records.Records(vectors, ids, payloads, attributes)
    settings = {
        "mode": mode,
        "metric": metric,
        "recall": real_number(recall, "recall", any_value=True),
        "k": whole_number(k, "k"),
        "queries": whole_number(queries, "queries"),
        "packing": None if packing is None else whole_number(packing, "packing", 255),
        "id_kind": records.id_kind,
        "routing": routing,
        "checks": checks,
        "own_readers": bool(own_readers),
        "second_look": None if second_look is None else whole_number(second_look, "second_look", 64),
        "size": records.size,
    }
    measured = _sordino.build(path, key, iter(records), settings, progress)
    return measured_index(Index(_sordino.Index(path, key)), measured, recall, 3)


def open(
    path: str | os.PathLike[str],
    *,
    key: OwnerKey | ReaderKey | PublicKey | None = None,
    restored: bool = False,
) -> Index:
    """Opens an index in a directory.

    key: the owner's key for everything; a reader's for `len`, `info`, `verify`; the public key for `info`
        and `verify`. Without one only a `Client` can use it, which brings its own.

    restored: with the owner's key, and once: the index was restored from a backup, or put here, on purpose. The version that is
        here is remembered as the newest; what was revoked or deleted since is there again.

    With the owner's key, changes, `access` and `payloads` refuse an index that is older than what the key's file of versions
    (`OwnerKey.load`) knows, or of another history: `RollbackError`, `ForkError`, `OtherIndexError`, `GapError`.

    Raises `NoIndexError` if there is none, `SignatureError` if it is another owner's, `KeyKindError`.
    """
    path = place(path)
    if not isinstance(restored, bool):
        raise InputError(f"restored = {restored!r}: expected True or False")
    index = Index(_sordino.Index(path, key, restored))
    if key is not None:
        index.info()
    elif not os.path.exists(os.path.join(path, "CURRENT")):
        raise of_file(NoIndexError(f"no index in {path}"), path)
    return index


def check_fit(mode: str, *, packing: Any, routing: Any) -> None:
    """Refuses settings that an index of this mode would pass over."""
    for name, value, known, own in [
        ("packing", packing, mode in ("masked", "open"), "masked and open mode"),
        ("routing", routing, mode == "sealed", "sealed mode"),
    ]:
        if value is not None and not known:
            raise InputError(f"{name} = {value!r}: it is for {own}, and this index is of mode {mode!r}")


def local(path: str | os.PathLike[str]) -> str:
    """The absolute path of an index's directory on this machine. An address would become a directory of that name."""
    found = place(path, expected="a directory")
    if isinstance(path, (str, os.PathLike)) and "://" in os.fspath(path):
        raise InputError(f"path = {os.fspath(path)!r}: indexes are made in directories of this machine; `sordino index build` makes them in object stores")
    return found


def measured_index(index: Index, measured: tuple[float, bool] | None, recall: float, depth: int) -> Index:
    """An index with the recall that its build measured, if it did. Warns the caller who is `depth` calls above if too little was reached."""
    if measured is not None:
        index.expected_recall, reached = measured
        if not reached:
            import warnings

            warnings.warn(
                f"recall {index.expected_recall:.3f} on held-out vectors, {recall} was looked for: in the modes \"sealed\" and "
                "\"routed\" they have too little structure to be searched in parts, and sordino.plan shows the other modes; in those "
                "neighbours differ by less than scores can tell, and second_look=32 ranks candidates by their exact vectors",
                stacklevel=depth,
            )
    return index


def _name(value: Any, what: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise InputError(f"{what} = {value!r}: expected a text")
    return value


def _names(values: str | Iterable[str], what: str) -> list[str]:
    """A text, or several."""
    if isinstance(values, str):
        return [values]
    try:
        names = list(values)
    except TypeError:
        raise InputError(f"{what} = {values!r}: expected texts") from None
    return [_name(name, what) for name in names]


def whole_number(value: Any, what: str, most: int = 2**63 - 1) -> int:
    """A number from 0 to `most`, of any integer type."""
    from operator import index

    try:
        number = index(value)
    except TypeError:
        raise InputError(f"{what} = {value!r}: expected a whole number") from None
    if not 0 <= number <= most:
        raise InputError(f"{what} = {number}: expected 0 to {most}")
    return number


def real_number(value: Any, what: str, *, any_value: bool = False) -> float:
    """A finite number of at least 0; with `any_value` any at all, whose bounds are checked elsewhere."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} = {value!r}: expected a number") from None
    if isinstance(value, (str, bytes)) or not (any_value or 0 <= number < float("inf")):
        raise InputError(f"{what} = {value!r}: expected a finite number of at least 0")
    return number
