"""Converts payloads to bytes: texts to UTF-8, other values to JSON; bytes stay unchanged."""

from __future__ import annotations

import base64
import json
import math
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ._arrays import is_unicode, ordered, shown
from ._errors import PayloadError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np

# The largest number of bytes of a payload.
MOST = 1_048_572

# The largest number of lists and dicts within one another.
_MOST_DEPTH = 100

# The nanoseconds of each unit of numpy's durations.
_NANOSECONDS = {
    "W": 604_800 * 10**9,
    "D": 86_400 * 10**9,
    "h": 3600 * 10**9,
    "m": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 1000,
    "ns": 1,
}

# The largest number of digits of a decimal number that is written without an exponent.
_MOST_DIGITS = 100


def column(values: Any) -> Any:
    """Return payloads as an iterable; columns of Arrow become lists."""
    if hasattr(type(values), "columns"):
        how = next((f"{name}()" for name in ("to_dicts", "to_pylist") if hasattr(values, name)), 'to_dict("records")')
        raise PayloadError(f"payloads: one {type(values).__name__}, expected one for each vector: give a column, or `.{how}` for JSON of all")
    if isinstance(values, (str, bytes, bytearray, memoryview)) or not (values is None or hasattr(values, "__iter__")):
        raise PayloadError(f"payloads: one {type(values).__name__}, expected one for each vector")
    ordered(values, "payloads", PayloadError)
    if narrow(values) is not None:
        return shortest(values, list(values.to_pylist() if hasattr(values, "to_pylist") else values))
    if hasattr(values, "to_pylist"):
        # Without this, Arrow gives the pairs of a map.
        return values.to_pylist(maps_as_pydicts="lossy") if "map<" in str(getattr(values, "type", "")) else values.to_pylist()
    return values


def narrow(values: Any) -> Any:
    """Return numpy's type of a column's floats if they have 16 or 32 bits, else None. The column may be of numpy, torch, pandas, polars or
    Arrow."""
    import numpy as np

    kind = getattr(values, "dtype", None)
    name = str(getattr(values, "type", "") if kind is None else kind).lower().removeprefix("torch.").removesuffix("[pyarrow]")
    return {"float32": np.float32, "float": np.float32, "float16": np.float16, "halffloat": np.float16}.get(name)


def shortest(values: Any, listed: list[Any]) -> list[Any]:
    """Return the values of a column, with floats of 16 or 32 bits as the numbers that people write: 0.1 and not 0.10000000149011612."""
    kind = narrow(values)
    return listed if kind is None else [float(str(kind(one))) if isinstance(one, float) else one for one in listed]


def encoded(values: Iterable[Any], ids: list[str] | np.ndarray | None = None, first: int = 0, where: str = "") -> list[bytes]:
    """Return payloads as bytes; missing values, such as NaN, become empty ones. Infinite numbers are refused.

    An error names the payload's place, and the record's id if there are `ids`. Places are counted from `first`. The words `where`
    come before both.
    """
    made = []
    for at, value in enumerate(column(values)):
        try:
            made.append(one(value, f"payload {first + at}"))
        except PayloadError as error:
            named = "" if ids is None or at >= len(ids) else f"record {shown(ids, at)}: "
            raise PayloadError(f"{where}{named}{error}") from None
    return made


def fitting(payload: bytes, what: str) -> None:
    """Refuse a payload that is longer than an index stores."""
    if len(payload) > MOST:
        raise PayloadError(f"{what} of {len(payload)} bytes: expected at most {MOST}; divide it among several records, or store its address")


def one(value: Any, what: str) -> bytes:
    """Return a payload as bytes. An error begins with the words `what`."""
    payload = _bytes(value, what)
    fitting(payload, what)
    return payload


def _bytes(value: Any, what: str) -> bytes:
    if isinstance(value, str):
        if not is_unicode(value):
            raise PayloadError(f"{what} is no Unicode text: it has half of a surrogate pair")
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    try:
        plain_value = plain(value)
        if plain_value is None:
            return b""
        if isinstance(plain_value, str):
            # A text, as the command stores it.
            return plain_value.encode()
        return json.dumps(plain_value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise PayloadError(f"{what} has a text that is no Unicode: it has half of a surrogate pair") from None
    except OverflowError:
        raise PayloadError(f"{what} has an instant that UTC does not have") from None
    except (TypeError, ValueError) as error:
        raise PayloadError(f"{what} {error}") from None


def plain(value: Any) -> Any:
    """Return a value with types of JSON only; None for a missing value, such as NaN.

    Raises
    ------
    TypeError, ValueError, OverflowError
        If the value has no form in JSON.
    """
    return _plain(value, 0)


def _plain(value: Any, depth: int) -> Any:
    """Like `plain`, for a value inside `depth` lists and dicts."""
    if isinstance(value, Enum):
        return _plain(value.value, depth)
    if value is None or isinstance(value, (str, bool)):
        return value
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (float, Decimal)) and _is_infinite(value):
        raise ValueError(f"has the number {value}, which JSON does not have: give None for no value, or a text")
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return _digits(value) if value.is_finite() else None
    if isinstance(value, (date, time)):
        return _instant(value)
    if isinstance(value, timedelta):
        return _seconds((value.days * 86_400 + value.seconds) * 10**9 + value.microseconds * 1000 + getattr(value, "nanoseconds", 0))
    if isinstance(value, UUID):
        return str(value)
    if depth == _MOST_DEPTH:
        raise ValueError(f"is nested deeper than {_MOST_DEPTH} lists and dicts")
    if isinstance(value, dict):
        return {_name(name): _plain(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner, depth + 1) for inner in value]
    if hasattr(value, "as_py"):
        return _plain(value.as_py(), depth + 1)
    if hasattr(value, "dtype"):
        return _of_array(value, depth)
    raise TypeError(f"is or has a {type(value).__name__}: expected str, bytes, None, or a value that JSON can hold, such as a number, date, list or dict")


def _is_infinite(value: float | Decimal) -> bool:
    return value.is_infinite() if isinstance(value, Decimal) else math.isinf(value)


def _of_array(value: Any, depth: int) -> Any:
    """Like `_plain`, for a numpy array, a column of a data frame or one of its values."""
    import numpy as np

    array = np.asarray(value)
    if array.ndim:
        # As an array, a column of polars has tuples for records, no time zones, and floats for whole numbers where some are missing. Only
        # numbers with a fraction are better there.
        own = hasattr(value, "to_list") and not str(value.dtype).lower().startswith("float")
        return [_plain(inner, depth + 1) for inner in (value if own else array)]
    if array.dtype.kind in "mM":
        return _of_time(array)
    # The shortest digits that identify a number in its own precision, not in double precision.
    inner = float(str(array[()])) if array.dtype.kind == "f" else array.item()
    return _plain(inner, depth + 1)


def _of_time(array: Any) -> str | None:
    """Return a numpy date, instant or duration as text."""
    import numpy as np

    if np.isnat(array):
        return None
    unit, count = np.datetime_data(array.dtype)
    if array.dtype.kind == "m":
        if unit not in _NANOSECONDS:
            raise TypeError(f"is or has a {array.dtype}: expected a duration in weeks to nanoseconds")
        # Whole numbers in Python may have any number of digits.
        return _seconds(int(array.astype(np.int64)) * count * _NANOSECONDS[unit])
    if unit in ("Y", "M", "W"):
        array = array.astype("datetime64[D]")
    elif unit in ("h", "m"):
        array = array.astype("datetime64[s]")
    return _short(str(array))


def _instant(value: date | time) -> str:
    """Return a date, a time or an instant in ISO 8601; in UTC if the time zone is known."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return _short(value.astimezone(timezone.utc).replace(tzinfo=None).isoformat()) + "Z"
    return _short(value.isoformat())


def _short(text: str) -> str:
    """Remove fractions of a second that are zero."""
    while "." in text and text.endswith("000"):
        text = text[:-3].removesuffix(".")
    return text


def _seconds(nanoseconds: int) -> str:
    """Return a duration in ISO 8601."""
    whole, part = divmod(abs(nanoseconds), 10**9)
    digits = f"{whole}.{part:09}".rstrip("0").rstrip(".")
    return f"{'-' if nanoseconds < 0 else ''}PT{digits}S"


def _digits(value: Decimal) -> str:
    """Return the digits of a decimal number, because many readers round JSON numbers."""
    return format(value, "f") if abs(value.adjusted()) < _MOST_DIGITS else str(value)


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"has a dict with the name {name!r}, a {type(name).__name__}: expected a str")
    return name
