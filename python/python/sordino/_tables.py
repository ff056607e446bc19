"""Tables: columns that are ids, vectors and payloads. Columns with the usual names are taken without an argument, as the command does."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._errors import AttributesError, DtypeError, FormatError, InputError
from ._sordino import Reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_IDS = ("id",)
_VECTORS = ("vector", "embedding", "embeddings")
_TEXTS = ("text", "content", "document")

# The columns of a file that `sordino index export` wrote, in addition to ids and vectors.
_EXPORTED = ("payload", "payload_form", "attributes", "label")

# The signs between fields, by their names in errors.
_SIGNS = {"tab": "\t", "pipe": "|", "comma": ","}

# The name of the index of a pandas frame, if the index is taken.
_INDEX = " (the index)"


@dataclass
class Source:
    """The sources of records: the given values, or columns of a table.

    `file` has the columns of a file for `Reader`. `taken` has the columns that were taken, by argument.
    """

    vectors: Any
    ids: Any
    payloads: Any
    attributes: Any = None
    file: dict[str, Any] = field(default_factory=dict)
    taken: dict[str, str] = field(default_factory=dict)


def source(vectors: Any, ids: Any, payloads: Any, attributes: Any) -> Source:
    """Return the sources of records.

    Raises
    ------
    InputError
        If a column of a data frame would be left out, or it is not clear which one is meant.
    """
    named = _column_names(attributes)
    if isinstance(vectors, (str, os.PathLike)):
        if named is not None:
            raise AttributesError(
                f"attributes = {attributes!r}: {os.fspath(vectors)} is a file, whose columns are not taken by name: give a dict of columns, or read the file "
                "into a data frame"
            )
        return _of_file(os.fspath(vectors), ids, payloads, attributes)
    names = columns(vectors)
    if named is not None:
        attributes = _named_columns(vectors, names, named)
    found = Source(vectors, ids, payloads, attributes)
    if names is None:
        _take_index(found, vectors)
    else:
        _take_columns(found, vectors, names, attributes, named or [])
    _tell(found, f"a {type(vectors).__name__}")
    return found


@contextmanager
def of_input(path: str) -> Iterator[None]:
    """Name the file in errors about its content, and say how Python reads another delimiter or other columns."""
    try:
        yield
    except FormatError as error:
        text = str(error)
        sign = re.search(r"--delimiter (\w+)", text)
        text = text.replace("; build with --ids ids.npy", ", and give ids=numpy.load('ids.npy')")
        if sign is not None:
            text += (
                f"; or write it with commas: pandas.read_csv({path!r}, sep={_SIGNS.get(sign[1], ';')!r}, dtype=str, keep_default_na=False)"
                ".to_csv('FILE.csv', index=False)"
            )
        elif any(part in text for part in ("could be the vectors", "--vector-column", "--payload-column")):
            text += "; or read it into a data frame, give its column of vectors, and name its other columns"
        error.args = (text if path in str(error) else f"{path}: {text}", *error.args[1:])
        raise


def columns(given: Any) -> list[Any] | None:
    """Return the names of a data frame's columns, of pandas, polars or Arrow; None for other values."""
    kind = type(given)
    if not hasattr(kind, "__getitem__") or hasattr(kind, "collect"):
        return None
    # Arrow's `columns` are the columns themselves.
    names = given.column_names if hasattr(kind, "column_names") else getattr(given, "columns", None) if hasattr(kind, "columns") else None
    if names is None or callable(names):
        return None
    return list(names)


def check_column(given: Any, what: str, error: type[InputError], *, secret: bool = False) -> None:
    """Refuse a data frame where one column is expected: its iterator gives the names of columns, and no values.

    The message has no names if values are `secret`: a file without a header has its first record as names.
    """
    kind = type(given)
    if hasattr(kind, "collect") and hasattr(kind, "collect_schema"):
        raise error(f"{what}: a {kind.__name__}, which is not read yet: give one column of what `.collect()` gives")
    names = columns(given)
    if names is None:
        return
    found = f"of the columns {', '.join(map(str, names))[:200]}" if names else "without columns"
    name = repr(names[0])[:60] if names else "'NAME'"
    if secret:
        found, name = f"of {len(names)} columns", "'NAME'"
    raise error(f"{what}: a {kind.__name__} {found}, expected one column or a list: give one column, such as frame[{name}]")


def check_coordinates(given: Any, what: str) -> None:
    """Refuse a data frame whose ids or texts would be taken for coordinates, or be left out."""
    names = columns(given) or []
    wrong = _named(names, _IDS) + _named(names, _TEXTS)
    if not wrong:
        _check_numeric(given, what)
    else:
        raise InputError(
            f"{what}: a {type(given).__name__} with the column {wrong[0]}, which is no coordinate: give the columns of coordinates alone, or the one "
            "of vectors; a Batch takes ids and payloads, and sordino.parquet.batch(table, vectors=..., ids=..., payloads=...) makes one of an Arrow table"
        )


def _check_numeric(given: Any, what: str) -> None:
    """Refuse a frame of polars or Arrow with columns that are no numbers. As an array, it has days for dates, and 0 and 1 for truth values."""
    import numpy as np

    if hasattr(type(given), "get_columns"):
        held = [(column.name, getattr(column, "dtype", ""), column) for column in given.get_columns()]
    elif hasattr(type(given), "column_names"):
        held = [(name, column.type, column) for name, column in zip(given.column_names, given.columns)]
    else:
        return
    for name, kind, column in held:
        if np.asarray(column[:1]).dtype.kind in "bmM" or str(kind).lower().startswith(("decimal", "time")):
            raise DtypeError(f"{what}: a {type(given).__name__} whose column {name} is {kind}, which is no coordinate: give the columns of coordinates alone")


def _column_names(attributes: Any) -> list[str] | None:
    """Return the names of columns, if attributes are given by names alone."""
    if isinstance(attributes, str):
        return [attributes]
    if isinstance(attributes, (list, tuple)) and attributes and all(isinstance(name, str) for name in attributes):
        return list(attributes)
    return None


def _named_columns(frame: Any, names: list[Any] | None, named: list[str]) -> dict[str, Any]:
    """Return columns of a data frame by name."""
    what = f"a {type(frame).__name__}"
    if names is None:
        raise AttributesError(f"attributes = {named!r}: names are of columns of a data frame, and the vectors are {what}: give a dict of columns by name")
    for name in named:
        if name not in names:
            raise AttributesError(f"attributes: {what} has no column {name!r}, and has {', '.join(map(str, names))[:200]}")
        _once(names, name, what)
    return {name: frame[name] for name in named}


def _of_file(path: str, ids: Any, payloads: Any, attributes: Any) -> Source:
    if re.match(r"[a-z0-9]+://", path, re.IGNORECASE):
        raise InputError(f"{path}: addresses are not read here: download the file; `sordino.parquet.batches` reads Parquet from s3:// and the like")
    found = Source(path, ids, payloads, attributes)
    if ids is not None and payloads is not None and not isinstance(ids, str) and not isinstance(payloads, str):
        return found
    with of_input(path):
        names = Reader.columns(path)
    if not names:
        return found
    absent: list[str] = []
    vectors = _named(names, _VECTORS)
    # If there are several, the reader's error names all of them.
    if len(vectors) == 1:
        found.file["vectors"] = found.taken["vectors"] = vectors[0]
    for argument, given, usual in [("ids", ids, _IDS), ("payloads", payloads, _TEXTS)]:
        name = _wanted(names, given, argument, usual, path)
        if name is not None:
            found.file[argument] = found.taken[argument] = name
            setattr(found, argument, None)
        elif given is None:
            absent += usual
    found.file["absent"] = absent
    if ids is None and {"id", "vector"} <= set(names):
        _check_exported(path, [name for name in _EXPORTED if name in names and name not in found.taken.values()])
    _tell(found, path)
    return found


def _check_exported(path: str, lost: list[str]) -> None:
    """Refuse to leave out a part of an exported file, as the command does."""
    if lost:
        raise InputError(
            f"{path}: it has id and vector, and {lost[0]} would be lost. If `sordino index export` wrote it, `sordino index build --exported` takes all of "
            "it. ids='id' takes the ids and what you name"
        )


def may_lack_members(vectors: Any) -> bool:
    """Return True for a file of JSON, in which a record may lack a member that others have."""
    return isinstance(vectors, (str, os.PathLike)) and re.search(r"\.(jsonl|ndjson|json)(\.\w+)?$", os.fspath(vectors).lower()) is not None


def guessed_ids(taken: dict[str, str], next_number: int, count: int) -> str:
    """Return advice on what to give as ids, instead of a table's ids that no argument named."""
    name = taken["ids"]
    same = "frame.index" if name.endswith(_INDEX) else repr(name)
    return f"ids={same} if the ids of column {name} mean the same records, or ids=range({next_number}, {next_number + count}) to give the new ones the next numbers"


def _take_columns(found: Source, frame: Any, names: list[Any], attributes: Any, named: list[str]) -> None:
    """Take the columns of a data frame, and leave none out."""
    what = f"a {type(frame).__name__}"
    vectors = _only(names, _VECTORS, what)
    for argument, given, usual in [("ids", found.ids, _IDS), ("payloads", found.payloads, _TEXTS)]:
        name = _wanted(names, given, argument, usual, what)
        if name is not None:
            found.taken[argument] = name
            setattr(found, argument, frame[name])
    _take_index(found, frame)
    others = [name for name in names if name not in {*found.taken.values(), vectors, *_named(names, _IDS), *_named(names, _TEXTS), *named}]
    if vectors is not None:
        known = _names_of(attributes)
        lost = [name for name in others if name not in known]
        if lost:
            unfit = [name for name in lost if not _fits_attributes(name, frame[name])]
            named = [str(name) for name in names if name in known or (name in lost and name not in unfit)]
            ways = [f"name those to filter by, attributes={named!r}"] if len(unfit) < len(lost) else []
            if "payload" in lost and "payloads" not in found.taken:
                ways.append("name the column of payloads, payloads='payload'")
            ways.append("give a frame without them")
            if unfit:
                ways.append(f"convert {', '.join(map(str, unfit))[:200]}, which attributes do not have as they are")
            raise InputError(
                f"vectors: {what} with the vectors in column {vectors}, and columns {', '.join(map(str, lost))[:200]} that would be left out: {', or '.join(ways)}"
            )
        found.taken["vectors"], found.vectors = vectors, frame[vectors]
    elif len(others) < len(names):
        _check_some(frame, others, what)
        if len(others) == 1:
            found.taken["vectors"], found.vectors = others[0], frame[others[0]]
        else:
            found.vectors = _selected(frame, others)
    else:
        _check_numeric(frame, "vectors")
        _check_series(names, what)


def _fits_attributes(name: Any, values: Any) -> bool:
    """Return True if a column's values are of a type that attributes have."""
    from ._attributes import columns as typed

    try:
        typed({name: values})
    except InputError:
        return False
    return True


def _check_some(frame: Any, others: list[Any], what: str) -> None:
    """Refuse a frame without a column of vectors, and without columns of coordinates."""
    import numpy as np

    odd = [name for name in others if np.asarray(frame[name][:1]).dtype.kind not in "iuf"]
    if not others or (len(others) > 1 and (odd or not _is_series(others))):
        found = f", and has {', '.join(map(str, others))[:200]}" if others else ""
        raise InputError(
            f"vectors: {what} has no column of vectors that is called {' or '.join(_VECTORS)}{found}: rename its column of vectors to vector, or give it, "
            "frame['NAME'], with ids= and payloads=. Columns with a coordinate each have numbered names, such as f0 to f9; give others as attributes="
        )


def _is_series(names: list[Any]) -> bool:
    """Return True for numbered names: whole numbers, or one name with a number behind it."""
    parts = [re.fullmatch(r"(.*?)[0-9]+", str(name), re.DOTALL) for name in names]
    return len({part[1] if part else None for part in parts}) == 1 and parts[0] is not None


def _check_series(names: list[Any], what: str) -> None:
    """Refuse a frame in which most columns have numbered names, and some do not: those may be ids or attributes."""
    others = [name for name in names if not _is_series([name])]
    rest = [name for name in names if name not in others]
    if others and len(rest) > len(others) and _is_series(rest):
        raise InputError(
            f"vectors: {what} with the columns {rest[0]} to {rest[-1]}, and {', '.join(map(str, others))[:200]}, which may be no coordinates: give "
            f"frame[[...]] of the columns of coordinates, with ids= and attributes= of others"
        )


def _selected(frame: Any, names: list[Any]) -> Any:
    """Return the frame with these columns alone."""
    for method in ("select_columns", "select"):
        # A frame of pandas has none of these, but may have a column of that name.
        if hasattr(type(frame), method):
            return getattr(frame, method)(names)
    return frame[names]


def _take_index(found: Source, frame: Any) -> None:
    """Take the ids from the index of a pandas frame or column, if that index has a usual name for ids."""
    name = getattr(getattr(frame, "index", None), "name", None)
    if found.ids is None and isinstance(name, str) and _named([name], _IDS):
        found.taken["ids"], found.ids = f"{name}{_INDEX}", frame.index


def _wanted(names: Sequence[Any], given: Any, argument: str, usual: tuple[str, ...], what: str) -> str | None:
    """Return the column that is given by its name, or else the one that has a usual name."""
    if given is None:
        return _only(names, usual, what, argument)
    if not isinstance(given, str):
        return None
    if given not in names:
        raise InputError(f"{argument} = {given!r}: {what} has no such column, and has {', '.join(map(str, names))[:200]}")
    return str(_once(names, given, what))


def _only(names: Sequence[Any], usual: tuple[str, ...], what: str, argument: str = "vectors") -> str | None:
    """Return the only column that has a usual name."""
    found = _named(names, usual)
    if len(set(found)) > 1:
        how = "give the one that is meant" if argument == "vectors" else f"name the one that is meant, {argument}={found[0]!r}"
        raise InputError(f"{what}: the columns {' and '.join(found)} could each be the {argument}: {how}")
    return _once(names, found[0], what) if found else None


def _once(names: Iterable[Any], name: Any, what: str) -> Any:
    """Return a name of one column, and refuse one of several."""
    several = [one for one in names if one == name]
    if len(several) > 1:
        raise InputError(f"{what}: {len(several)} columns are called {name}: expected one; rename the others")
    return name


def _named(names: Iterable[Any], usual: tuple[str, ...]) -> list[str]:
    """Return the columns that have a usual name or, if there is none, the columns that have it in other capitals."""
    # Frames of pandas may have other names than texts.
    texts = [name for name in names if isinstance(name, str)]
    return [name for name in texts if name in usual] or [name for name in texts if name.lower() in usual]


def _names_of(attributes: Any) -> set[Any]:
    names = columns(attributes)
    return set(attributes if names is None and isinstance(attributes, dict) else names or ())


def _tell(found: Source, what: str) -> None:
    if found.taken:
        import logging

        logging.getLogger("sordino").info("%s: took %s", what, ", ".join(f"{argument} from column {name}" for argument, name in found.taken.items()))
