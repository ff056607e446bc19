"""The first pass over a store: it finds what each name holds and what it becomes."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from math import isfinite, isinf
from typing import TYPE_CHECKING, Any
from uuid import UUID

from .. import _arrays, _filters, _payloads
from .._attributes import INT, WORDS
from .._errors import AttributesError, IdsError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ._store import Row, Store

    Path = tuple[str, ...]

# The name under which a numbered or hashed record keeps the store's own id.
SOURCE_ID = "source_id"

# The largest number of attributes of an index, and the most bytes of their names.
_ATTRIBUTES, _NAME = 64, 64

# The bytes of the longest text that becomes an attribute without a request, since every client downloads
# all of them.
_SHORT = 256

# The largest number of names that are counted, since the metadata of every row may have other names.
_MOST_NAMES = 4096

# Whole numbers up to this bound are exact as floats.
_EXACT = 2**53


@dataclass
class Column:
    """The values under one name, or one path of names."""

    rows: int = 0
    words: set[str] = field(default_factory=set)
    longest: int = 0
    size: int = 0
    wide: bool = False
    huge: bool = False

    def see(self, value: Any) -> None:
        """Counts an existing value."""
        word = kind(value)
        self.rows += 1
        self.words.add(word)
        if word == "text":
            length = len(text(value).encode(errors="replace"))
            self.longest, self.size = max(self.longest, length), self.size + length
        elif word == "int":
            self.wide, self.huge = self.wide or abs(value) > _EXACT, self.huge or value not in INT

    def attribute(self, most: int) -> tuple[str | None, str]:
        """The type of the attribute that holds all these values; otherwise None and the reason."""
        words = self.words
        if words == {"int", "float"} and not self.wide:
            return "float", ""
        if len(words) != 1:
            return None, f"values of several types: {', '.join(sorted(words))}"
        (word,) = words
        if word not in WORDS.values():
            return None, word
        if self.huge:
            return None, "whole numbers below -2^63 or above 2^63 - 1"
        if self.longest > most:
            return None, f"texts of up to {self.longest} bytes"
        return word, ""


@dataclass
class Survey:
    """The content of a store's rows."""

    rows: int = 0
    texts: int = 0
    empty: int = 0
    ids: Counter[str] = field(default_factory=Counter)
    columns: dict[Path, Column] = field(default_factory=dict)
    crowded: bool = False
    #: The number of NaN or infinite values, by name.
    holes: Counter[str] = field(default_factory=Counter)
    #: Hashes of the ids, of 8 bytes each.
    hashes: array[int] = field(default_factory=lambda: array("q"))

    def see(self, row: Row) -> None:
        """Counts a row."""
        self.rows += 1
        self.texts += row.text is not None
        self.empty += row.text == ""
        self.ids[id_kind(row.id)] += 1
        if row.id is not None:
            self.hashes.append(hash(row.id))
        for path, value in leaves(row.metadata):
            if path not in self.columns and len(self.columns) == _MOST_NAMES:
                self.crowded = True
                continue
            self.columns.setdefault(path, Column()).see(value)
            holes = _holes(value)
            if holes:
                self.holes[".".join(path)] += holes

    def twice(self) -> set[int]:
        """The hashes that several ids share."""
        import numpy as np

        hashes = np.sort(np.frombuffer(self.hashes, np.int64)) if self.hashes else np.empty(0, np.int64)
        return set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())


@dataclass(frozen=True)
class Plan:
    """What the parts of a row become."""

    #: Types of attributes, by the path of names in the metadata.
    attributes: Mapping[Path, str]
    #: Names of metadata that payloads hold as JSON, each with the reason.
    kept: Mapping[str, str]
    #: True if payloads are JSON objects with the text and metadata, and not texts alone.
    objects: bool
    #: True if records have payloads.
    payloads: bool
    #: The kind of the index's ids, and the way they are made: keep, hash or number.
    id_kind: str
    ids: str

    @property
    def names(self) -> list[str]:
        """The names of attributes, each with its type."""
        return [f"{'.'.join(path)} ({word})" for path, word in self.attributes.items()]


def survey(store: Store, ids: str) -> Survey:
    """Reads all rows without their vectors. Raises `IdsError` if an id occurs twice."""
    found = Survey()
    for row in store.rows(vectors=False):
        found.see(numbered(row, ids))
    if found.rows != store.count:
        raise InputError(f"{store.name}: {found.rows} rows read, and it counts {store.count}: expected that nobody writes to it meanwhile")
    suspects = found.twice() if ids != "number" else set()
    if suspects:
        seen = set()
        for row in store.rows(vectors=False):
            if row.id is not None and hash(row.id) in suspects:
                if row.id in seen:
                    raise IdsError(f"{store.name}: id {row.id!r} is there twice: expected each once, or --ids number")
                seen.add(row.id)
    return found


def planned(found: Survey, ids: str, attributes: str, there: str | None) -> Plan:
    """Decides what the parts of the surveyed rows become. `there` is the kind of ids of an existing index."""
    chosen, kept = _chosen(found, attributes)
    objects = bool(kept) or found.crowded
    kind = _id_kind(found, ids, there)
    return Plan(chosen, kept, objects, objects or found.texts > 0, kind, ids)


def numbered(row: Row, ids: str) -> Row:
    """The row with the store's id in its metadata, if the index's ids are made here."""
    if ids == "keep" or row.id is None:
        return row
    if SOURCE_ID in row.metadata:
        raise InputError(f"--ids {ids} keeps ids as {SOURCE_ID!r}, which row {row.id!r} has in its metadata: rename it in the store")
    return row._replace(metadata={SOURCE_ID: row.id, **row.metadata})


def leaves(metadata: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The values by the paths of names that lead to them. An object is replaced by its own values."""
    for name, value in metadata.items():
        if isinstance(value, dict) and value and len(path) < 8 and all(isinstance(one, str) for one in value):
            yield from leaves(value, (*path, name))
        elif value is not None:
            yield (*path, name), value


def kind(value: Any) -> str:
    """The name of a value's type: an attribute's type, or another."""
    word = WORDS.get(type(value))
    if word is not None:
        return word
    if isinstance(value, (date, time, UUID)):
        return "text"
    if isinstance(value, Decimal):
        return "decimal numbers"
    words: dict[type[Any], str] = {list: "lists", tuple: "lists", dict: "objects", bytes: "bytes"}
    return words.get(type(value)) or f"values of type {type(value).__name__}"


def text(value: Any) -> str:
    """Converts a text to a value of the type with this name."""
    return value if isinstance(value, str) else str(_payloads.plain(without_infinite(value)))


def _holes(value: Any) -> int:
    """The NaN and infinite numbers in a value, which JSON cannot represent."""
    if isinstance(value, float):
        return not isfinite(value)
    if isinstance(value, Decimal):
        return not value.is_finite()
    inner: Iterable[Any] = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return sum(map(_holes, inner))


def without_infinite(value: Any) -> Any:
    """A value with None for each infinite number, which a payload cannot have; the survey counts these."""
    if isinstance(value, float):
        return None if isinf(value) else value
    if isinstance(value, Decimal):
        return None if value.is_infinite() else value
    if isinstance(value, dict):
        return {name: without_infinite(inner) for name, inner in value.items()}
    return [without_infinite(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def id_kind(id: Any) -> str:
    """The kind of a store's id."""
    if id is None:
        return "none"
    if isinstance(id, int) and not isinstance(id, bool):
        return "number" if 0 <= id < 2**64 else "other number"
    return "uuid" if isinstance(id, UUID) else "text" if isinstance(id, str) else type(id).__name__


def _id_kind(found: Survey, ids: str, there: str | None) -> str:
    """The kind of an index's ids. Raises `IdsError`."""
    # Rows without an id are left out one by one, unless all rows are without one.
    kinds = {kind for kind in found.ids if kind != "none"}
    if ids == "number":
        made = "number"
    elif not kinds:
        raise IdsError("its rows have no ids: expected --id NAME, the column that has them, or --ids number")
    elif ids == "hash":
        made = "text"
    elif kinds <= {"number", "other number", "uuid", "text"}:
        # Negative numbers, and ids of several kinds, become texts.
        made = next(iter(kinds)) if len(kinds) == 1 and kinds != {"other number"} else "text"
    else:
        raise IdsError(f"its ids are of type {', '.join(sorted(kinds))}: expected whole numbers, texts or UUIDs, or --ids hash")
    if there is None or made == there:
        return made
    if there == "text" and ids == "keep":
        return "text"
    raise IdsError(f"its ids are of kind {made}, and the index has ids of kind {there}: expected one kind; a new index takes them as they are")


def _chosen(found: Survey, wanted: str) -> tuple[dict[Path, str], dict[str, str]]:
    """The attributes, and the names that payloads hold, each with the reason."""
    asked = None if wanted == "auto" else [] if wanted == "none" else [name.strip() for name in wanted.split(",")]
    places = Counter(".".join(path) for path in found.columns)
    chosen: dict[Path, str] = {}
    why: dict[Path, str] = {}
    # The names that most rows have come first, since there may be too many.
    for path, column in sorted(found.columns.items(), key=lambda item: -item[1].rows):
        name = ".".join(path)
        word, reason = column.attribute(_filters.TEXT if asked or path == (SOURCE_ID,) else _SHORT)
        if places[name] > 1:
            word, reason = None, "two places have this name"
        elif "`" in name or not 1 <= len(name.encode(errors="replace")) <= _NAME or not _arrays.is_unicode(name):
            word, reason = None, f"its name is none of an attribute, which is of 1 to {_NAME} bytes without a backquote"
        elif asked is not None and name not in asked:
            word, reason = None, "not among --attributes"
        elif len(chosen) == _ATTRIBUTES and word is not None:
            word, reason = None, f"an index has {_ATTRIBUTES} attributes"
        if word is None:
            why[path] = reason
        else:
            chosen[path] = word
    _check(asked, chosen, why)
    kept: dict[str, str] = {}
    for path, reason in why.items():
        told = reason if len(path) == 1 else f"{'.'.join(path[1:])}: {reason}"
        kept.setdefault(path[0], told)
    return chosen, kept


def _check(asked: Sequence[str] | None, chosen: Mapping[Path, str], why: Mapping[Path, str]) -> None:
    """Refuses requested names that cannot be attributes."""
    reasons = {".".join(path): reason for path, reason in why.items()}
    there = {".".join(path) for path in chosen}
    for name in asked or ():
        if name not in there:
            raise AttributesError(f"--attributes: {name!r} cannot be one: {reasons.get(name, 'no row has a value of this name')}")
