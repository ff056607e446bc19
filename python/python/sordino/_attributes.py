"""Attributes of records: typed columns, in the form that the native module takes."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

from . import _payloads
from ._arrays import is_unicode, ordered
from ._errors import AttributesError, DtypeError
from ._tables import check_column

if TYPE_CHECKING:
    from collections.abc import Iterable

    # Each column has a name, the name of its type, and a value or None for each record.
    Columns = list[tuple[str, str, list[Any]]]

# The names of the value types, and the range of whole numbers.
WORDS = {bool: "bool", int: "int", float: "float", str: "text"}
INT = range(-(2**63), 2**63)

# Advice for values with this method or field: durations, times of day, decimal numbers, UUIDs, members of an Enum, lists.
_HINTS = {
    "total_seconds": "`.total_seconds()` makes a number of it, and `.dt.total_seconds()` numbers of a column",
    "isoformat": "`.isoformat()` makes a text of it",
    "as_integer_ratio": "`float()` makes a number of it",
    "urn": "`str()` makes a text of it",
    "_value_": "`.value` is what it stands for",
    "append": "a list may hold str, int, bool and None, for filters such as `tags has 'x'`, and no float, as vectors do",
}


def columns(given: Any, count: int | None = None) -> Columns:
    """Return the columns of a mapping or a data frame, with a value for each of `count` records.

    A column without any value has no type, and is left out.
    """
    found = []
    for name, values in table(given).items():
        if not isinstance(name, str):
            raise AttributesError(f"attribute {name!r} is named by a {type(name).__name__}: expected a str")
        if not is_unicode(name):
            raise AttributesError(f"attribute {name!r}: its name is no Unicode text")
        listed = _values(name, values)
        if count is not None and len(listed) != count:
            raise AttributesError(f"attribute {name}: {len(listed)} values for {count} vectors")
        kind, typed = _typed(name, listed)
        if kind is not None:
            found.append((name, kind, typed))
    return found


def table(given: Any) -> Any:
    """Return the columns by name of a mapping, or of a data frame of pandas, polars or Arrow."""
    if hasattr(given, "get_columns"):
        return {column.name: column for column in given.get_columns()}
    if hasattr(given, "to_pydict"):
        names = list(getattr(given, "column_names", ()))
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise AttributesError(f"attribute {twice}: it is given twice")
        # The columns themselves have types, and lists do not.
        return dict(zip(names, given.columns)) if names else given.to_pydict()
    if hasattr(given, "collect") and not hasattr(given, "items"):
        raise AttributesError(f"attributes: a {type(given).__name__}, which is not read yet: give `.collect()` of it")
    if not hasattr(given, "items"):
        raise AttributesError(
            f"attributes: one {type(given).__name__}, expected a dict of columns by name, or a data frame of pandas, polars or Arrow"
        )
    return given


def part(given: Columns, start: int, stop: int) -> Columns:
    """Return the columns of some records."""
    return [(name, kind, values[start:stop]) for name, kind, values in given]


def joined(parts: Iterable[tuple[int, Columns | None]]) -> Columns | None:
    """Return the columns of several parts, each with its number of records. A column that a part lacks has no values
    there.
    """
    whole: dict[str, tuple[str, list[Any]]] = {}
    rows = 0
    for count, given in parts:
        for name, kind, values in given or ():
            known, own = whole.setdefault(name, (kind, [None] * rows))
            if known != kind:
                if {known, kind} != {"int", "float"}:
                    raise AttributesError(f"attribute {name}: {kind}, and {known} in vectors before")
                whole[name] = ("float", own)
            own.extend(values)
        rows += count
        for _, own in whole.values():
            own.extend([None] * (rows - len(own)))
    return [(name, kind, _as(kind, values)) for name, (kind, values) in whole.items()] or None


def _values(name: str, values: Any) -> list[Any]:
    """Return a column as a list of Python values, with None for missing ones."""
    import numpy as np

    check_column(values, f"attribute {name}", AttributesError)
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise AttributesError(f"attribute {name}: one {type(values).__name__}, expected a value for each vector")
    ordered(values, f"attribute {name}", AttributesError)
    if hasattr(values, "to_pylist"):
        listed = values.to_pylist()
    elif hasattr(values, "isna"):
        listed = [None if missing else value for value, missing in zip(values.tolist(), values.isna().tolist())]
    elif hasattr(values, "tolist") and getattr(getattr(values, "dtype", None), "kind", "") not in ("m", "M"):
        listed = values.tolist()
    elif getattr(getattr(values, "dtype", None), "time_unit", None) == "ns" and hasattr(values, "__array__"):
        # An instant of Python has no nanoseconds, and numpy's is in UTC if there is a zone.
        zone = "" if getattr(values.dtype, "time_zone", None) is None else "Z"
        listed = [f"{one}{zone}" if isinstance(one, str) else one for one in map(value_of, np.asarray(values))]
    else:
        listed = list(values)
    # NaN counts as no value: it has no order, and data frames use it for missing values.
    listed = _payloads.shortest(values, [value_of(one) for one in listed])
    return [None if isinstance(value, float) and value != value else value for value in listed]


def value_of(value: Any) -> Any:
    """Return a value of Python, for one of numpy or a data frame. Dates and instants become texts, as the command makes them."""
    import numpy as np

    if isinstance(value, (np.datetime64, date)):
        try:
            return _payloads.plain(value)
        except OverflowError:
            raise AttributesError(f"attributes: {value!r} is an instant that UTC does not have") from None
    if isinstance(value, np.timedelta64):
        # As an int it would have no unit.
        return None if np.isnat(value) else value
    if isinstance(value, np.generic):
        return float(str(value)) if isinstance(value, (np.float32, np.float16)) else value.item()
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = list(value)
    # A `to_list` that is no method is a column of a frame, or a field.
    method = next((name for name in ("tolist", "to_list") if callable(getattr(type(value), name, None))), None)
    value = getattr(value, method)() if method else value
    return [value_of(one) for one in value] if isinstance(value, (list, tuple)) else value


def _typed(name: str, values: list[Any]) -> tuple[str | None, list[Any]]:
    """Return the type of a column and its values in that type; None for a column without a value."""
    kind: str | None = None
    for at, value in enumerate(values):
        if value is None:
            continue
        if isinstance(value, (list, tuple)) and all(one is None or type(one) in (str, int, bool) for one in value):
            # The text that `has` reads.
            value = values[at] = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        word = WORDS.get(type(value))
        if word is None:
            raise DtypeError(f"attribute {name}: value {at} is a {type(value).__name__}, expected int, float, bool, str or a date{_hint(value)}")
        if word == "int" and value not in INT:
            raise AttributesError(f"attribute {name}: value {at} is {value}, expected -2**63 to 2**63 - 1")
        if word == "text" and not is_unicode(value):
            raise AttributesError(f"attribute {name}: value {at} is no Unicode text: it has half of a surrogate pair")
        if word == "float" and abs(value) == float("inf"):
            raise AttributesError(f"attribute {name}: value {at} is {value}, expected a finite number: give None for no value, or the largest number that occurs")
        if kind is None or {kind, word} == {"int", "float"}:
            kind = word if kind is None else "float"
        elif kind != word:
            raise DtypeError(f"attribute {name}: value {at} is {word}, and {kind} before it")
    return kind, values if kind is None else _as(kind, values)


def _hint(value: Any) -> str:
    import numpy as np

    if isinstance(value, np.timedelta64):
        return ": `column / numpy.timedelta64(1, 's')` makes numbers of seconds"
    return next((f": {text}" for name, text in _HINTS.items() if hasattr(value, name)), "")


def _as(kind: str, values: list[Any]) -> list[Any]:
    """Convert whole numbers to floats in a column that has both."""
    if kind != "float":
        return values
    return [None if value is None else float(value) for value in values]
