"""Arrays of any kind, in the form that the native module takes.

Numbers of any dtype and memory order are converted to C-contiguous `float32`. An array that already has this
form is not copied. Integers and `float64` lose what `float32` cannot hold. Complex numbers, strings, objects
and booleans are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from enum import Enum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ._errors import DtypeError, IdsError, InputError, ShapeError
from ._tables import check_column, check_coordinates, columns

if TYPE_CHECKING:
    import numpy as np

_MAX_ID = 2**64 - 1

# The fields that have the vector of an object, and the types that they have, in addition to arrays.
_FIELDS = ("embedding", "vector", "values")
_ROWS = (list, tuple)


def matrix(rows: Any, what: str = "vectors", *, single: bool = False) -> np.ndarray:
    """Return rows as a C-contiguous float32 array of shape (n, dim); with `single`, one vector is one row."""
    array = numbers(rows, what)
    if single and array.ndim == 1:
        array = array.reshape(1, -1)
    if array.ndim != 2:
        expected = "(n, dim) or (dim,)" if single else "(n, dim)"
        raise ShapeError(f"{what} of shape {array.shape}: expected {expected}")
    if array.shape[1] == 0:
        raise ShapeError(f"{what} of shape {array.shape}: expected at least one dimension")
    return float32(array)


def numbers(rows: Any, what: str) -> np.ndarray:
    """Return an array of numbers of any dtype, without converting it."""
    import numpy as np

    ordered(rows, what, DtypeError)
    check_coordinates(rows, what)
    if _field(rows):
        raise DtypeError(f"{what}: a {type(rows).__name__}, expected an array: its `.{_field(rows)}` has the numbers")
    if not hasattr(rows, "__array__") and hasattr(rows, "__dlpack__") and not hasattr(rows, "detach"):
        return _from_dlpack(rows, what)
    if hasattr(rows, "__iter__") and not any(hasattr(rows, name) for name in ("__len__", "__array__", "__array_interface__")):
        inner = getattr(rows, "data", None)
        if isinstance(inner, list) and inner and _field(inner[0]):
            raise DtypeError(f"{what}: a {type(rows).__name__}, expected an array: `[row.{_field(inner[0])} for row in it.data]` has the rows")
        stream = "`iter()` of it gives a stream of arrays, and " if what == "vectors" else ""
        raise DtypeError(f"{what}: a {type(rows).__name__}, which is no array: {stream}`numpy.stack(list(rows))` makes one of its rows")
    if isinstance(rows, (list, tuple)) and rows and hasattr(rows[0], "detach"):
        rows = [_tensor(row, what) for row in rows]
    rows = _tensor(rows, what)
    if hasattr(rows, "collect_schema") and hasattr(rows, "collect") and not hasattr(rows, "__array__"):
        raise DtypeError(f"{what}: a {type(rows).__name__}, which is not read yet: give `.collect()` of it")
    try:
        array = np.asarray(rows)
    except ValueError as error:
        if not isinstance(rows, (list, tuple)):
            raise ShapeError(f"{what}: {error}") from None
        if _is_mixed(rows):
            raise DtypeError(f"{what}: {_found(rows)}, expected rows of numbers") from None
        # The rows show which of them is wrong.
        array = np.empty(len(rows), object)
        for at, row in enumerate(rows):
            array[at] = row
    except (TypeError, RuntimeError) as error:
        raise DtypeError(f"{what}: a {type(rows).__name__} gives no array ({error})") from None
    if isinstance(rows, np.ma.MaskedArray) and np.ma.is_masked(rows):
        raise InputError(f"{what}: {int(np.ma.getmaskarray(rows).sum())} numbers are masked: fill them in, or leave the rows out")
    if array.dtype.kind in "UT" and array.ndim == 1 and len(array) and _of_text(str(array[0]), what):
        array = array.astype(object)
    if array.dtype.kind == "O" and array.ndim == 0:
        raise DtypeError(f"{what}: a {type(rows).__name__}, expected an array of numbers{_way(rows)}")
    if array.dtype.kind == "O" and array.ndim in (1, 2) and not len(array):
        # A column of vectors, or a frame, without any row.
        array = np.zeros((0, array.shape[-1] or 1), np.float32)
    if array.dtype.kind == "O":
        names = getattr(rows, "column_names", getattr(rows, "columns", None))
        try:
            array = _stacked(array, what)
        except DtypeError as error:
            if names is None:
                raise
            raise DtypeError(
                f"{error}: it is a {type(rows).__name__} of the columns {', '.join(map(str, names))[:200]}; give the one that has the vectors, "
                "or those that are numbers"
            ) from None
    elif array.dtype.kind == "V" and array.dtype.names is None and array.dtype.name.startswith(("bfloat", "float", "int", "uint")):
        # ml_dtypes has number types that numpy does not know.
        array = array.astype(np.float32)
    if array.dtype.kind not in "fiu":
        raise DtypeError(f"{what} of dtype {array.dtype}: expected floating-point numbers or integers")
    return array


def _way(value: Any) -> str:
    """Return advice on how a program gets the vectors that a value stands for; an empty text if there is no advice."""
    ways = {"toarray": "give `.toarray()` of it", "__await__": "`await` it first", "__aiter__": "`[one async for one in it]` collects what it gives", "collect": "give `.collect()` of it"}
    return next((f": {way}" for name, way in ways.items() if hasattr(value, name)), "")


def _from_dlpack(rows: Any, what: str) -> np.ndarray:
    """Return the array of an object that gives one only by DLPack."""
    import numpy as np

    try:
        array = np.from_dlpack(rows)
    except (TypeError, ValueError, RuntimeError, BufferError, AttributeError) as error:
        raise DtypeError(f"{what}: a {type(rows).__name__} gives no array ({error}): expected numbers of numpy's kinds in main memory") from None
    if array.dtype.kind not in "fiu":
        raise DtypeError(f"{what} of dtype {array.dtype}: expected floating-point numbers or integers")
    return array


def _tensor(rows: Any, what: str) -> Any:
    """Return a torch tensor as numpy takes it, and other values unchanged."""
    if not (hasattr(rows, "detach") and hasattr(rows, "device")):
        return rows
    if str(rows.device).partition(":")[0] != "cpu":
        raise DtypeError(f"{what}: a tensor on {rows.device}, expected one in main memory: give `.cpu()` of it")
    rows = rows.detach()
    try:
        return rows.numpy()
    except TypeError:
        # numpy has no bfloat16; float32 represents all its values.
        return rows.float().numpy()


def _stacked(array: np.ndarray, what: str) -> np.ndarray:
    """Return the rows of a column of arrays, and the numbers of an array of objects."""
    import numpy as np

    if array.ndim not in (1, 2):
        raise DtypeError(f"{what} of dtype object and shape {array.shape}: expected floating-point numbers or integers")
    if array.ndim == 1 and len(array) and all(map(_is_number, array)):
        return array.astype(np.float64)
    made: list[np.ndarray] = []
    for at, row in enumerate(array):
        try:
            given = np.asarray(row)
        except ValueError:
            raise DtypeError(f"{what}: row {at} is {_found(row)}, expected numbers{_advice(row, what)}") from None
        if given.dtype.kind == "O" and given.ndim == 1:
            wrong = [one for one in given if not _is_number(one)]
            if wrong:
                raise DtypeError(f"{what}: row {at} has {_found(wrong[0])} instead of a number")
            given = given.astype(np.float64)
        if given.ndim != 1 or given.dtype.kind not in "fiu":
            raise DtypeError(f"{what}: row {at} is {_found(row)}, expected numbers{_advice(row, what)}")
        if made and len(given) != len(made[0]):
            raise ShapeError(f"{what}: row {at} has {len(given)} numbers, and row 0 has {len(made[0])}: expected rows of one length")
        made.append(given)
    return np.stack(made) if made else array


def _is_number(value: Any) -> bool:
    """Return True for a real number of Python or numpy, and False for a bool."""
    import numpy as np

    return isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.complexfloating))


def _found(value: Any) -> str:
    """Return words for a value that is not a number or a row of numbers."""
    if is_missing(value):
        return "a missing value"
    inner = f" of {_found(value[0])} and {_found(value[1])}" if _is_mixed(value) and len(value) == 2 else ""
    return f"a {type(value).__name__}{inner}"


def is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)


def _is_mixed(values: Any) -> bool:
    """Return True for a list or tuple of single values and sequences, such as an id and its vector."""
    if not isinstance(values, (list, tuple)):
        return False
    return len({hasattr(one, "__len__") and not isinstance(one, (str, bytes)) for one in values if not is_missing(one)}) > 1


def _field(row: Any) -> str | None:
    """Return the field that has the vector of an object, such as an answer of an embedding service; None if there is none."""
    if hasattr(type(row), "__getitem__") or hasattr(row, "__array__"):
        # Data frames and other collections.
        return None
    return next((name for name in _FIELDS if isinstance(getattr(row, name, None), _ROWS) or hasattr(getattr(row, name, None), "__array__")), None)


def _advice(row: Any, what: str) -> str:
    """Return what to do about rows that are not numbers; an empty text if there is no advice."""
    if is_missing(row):
        return ": leave rows without a vector out, with their ids and payloads"
    if isinstance(row, Mapping):
        return ": a data frame of these rows has columns, which are taken by name"
    if isinstance(row, str):
        return _of_text(row, what)
    if _is_mixed(row):
        return ": give the vectors alone, and ids apart, as ids=" if what == "vectors" else ": give the vectors alone"
    return f": `[row.{_field(row)} for row in rows]` has them" if _field(row) else _way(row)


def _of_text(row: str, what: str) -> str:
    """Return what to do about a text instead of a vector."""
    try:
        read = json.loads(row)
    except ValueError:
        printed = row.lstrip().startswith("[")
        return ": numpy printed this text, perhaps without all numbers: write `.tolist()` of each vector into the file" if printed else ""
    file = ", and a file of such texts is read by its path, as in sordino.build(..., 'FILE.csv')" if what == "vectors" else ""
    return f": `[json.loads(row) for row in rows]` makes numbers of such texts{file}" if isinstance(read, list) else ""


def ordered(values: Any, what: str, error: type[InputError]) -> None:
    """Refuse collections without an order that matches the vectors."""
    if isinstance(values, Mapping) and what == "vectors":
        raise error(f"vectors: a {type(values).__name__}, expected an array: give the one with the vectors, or a data frame of all columns")
    if isinstance(values, (Set, Mapping)):
        raise error(f"{what}: a {type(values).__name__}, which has no order that goes with the others: expected a list")


def held(values: Any) -> Any:
    """Return ids that can be read twice: columns of Arrow, of polars' 128-bit integers, and iterators become lists. A data frame is refused."""
    names = columns(values)
    if names is not None:
        raise DtypeError(f"ids: a {type(values).__name__} of the columns {', '.join(map(str, names))[:200]}, expected one column of it, as in frame['id']")
    if hasattr(values, "to_pylist"):
        return values.to_pylist()
    if str(getattr(values, "dtype", "")) in ("Int128", "UInt128"):
        # numpy has no integers of 128 bits.
        return list(values)
    return list(values) if hasattr(values, "__next__") else values


def float32(array: np.ndarray) -> np.ndarray:
    """Return an array of numbers as float32, and copy it only if needed."""
    import numpy as np

    with np.errstate(over="ignore"):
        # A number that overflows becomes infinite, and is refused later.
        return np.require(array, np.float32, ["C_CONTIGUOUS", "ALIGNED"])


def ids(values: Any, count: int | None = None) -> np.ndarray | list[str]:
    """Return record ids as uint64, or texts and UUIDs as a list of str, for `count` vectors."""
    import numpy as np

    ordered(values, "ids", DtypeError)
    values = held(values)
    texts = _texts(values)
    if texts is not None:
        if count is not None and len(texts) != count:
            raise IdsError(f"{len(texts)} record ids for {count} vectors")
        return texts
    array = np.asarray(values)
    if array.dtype.kind == "O" and array.ndim == 0:
        raise DtypeError(f"ids: a {type(values).__name__}, expected a list of integers, str or uuid.UUID{_way(values)}")
    if isinstance(values, (list, tuple)) and array.dtype.kind == "U" and _is_whole(values[0]):
        # numpy would convert all ids to texts.
        at = next(at for at, value in enumerate(values) if not _is_whole(value))
        raise DtypeError(f"id {at} is {_found(values[at])}: expected an int like the first")
    if array.size == 0 and array.ndim == 1:
        array = array.astype(np.uint64)
    whole = array.dtype.kind in "iu"
    listed = isinstance(values, (list, tuple))
    if array.dtype.kind == "O" or (listed and (array.dtype.kind == "f" or any(isinstance(value, (bool, np.bool_)) for value in values))):
        # numpy makes floating-point numbers of some integers that need 64 bits, and searches give objects for them.
        exact = np.array(values, object)
        whole = all(_is_whole(value) for value in exact.flat)
        array = exact if whole or array.dtype.kind != "f" else array
    if not whole:
        raise DtypeError(f"ids of dtype {array.dtype}{_wrong_id(array)}: expected integers, or a list of str or uuid.UUID")
    if array.ndim != 1:
        raise ShapeError(f"ids of shape {array.shape}: expected (n,)")
    if count is not None and len(array) != count:
        raise IdsError(f"{len(array)} record ids for {count} vectors")
    outside = np.asarray((array < 0) | (array > _MAX_ID), bool)
    if outside.any():
        at = int(outside.argmax())
        if array[at] == -1:
            raise IdsError(f"id -1 at {at}: a search gives -1 where it found no record. Leave it out, as in ids[ids >= 0]; give other negative ids as texts")
        raise IdsError(f"id {array[at]} at {at}: expected 0 to {_MAX_ID}; give other ids, such as negative numbers, as texts")
    return np.ascontiguousarray(array, dtype=np.uint64)


def _wrong_id(array: np.ndarray) -> str:
    """Return words for the first wrong id, and its row."""
    import numpy as np

    if array.dtype.kind == "O" and array.ndim == 1:
        at = next((at for at, value in enumerate(array.tolist()) if not _is_whole(value)), None)
        return "" if at is None else f", of which id {at} is {_short(array[at])}"
    if array.dtype.kind == "f" and array.ndim == 1 and len(array):
        missing = np.asarray(array != array)
        if missing.any():
            return f", of which id {int(missing.argmax())} is missing"
        return f", which holds whole numbers exactly to {2 ** np.finfo(array.dtype).nmant * 2:,} alone"
    return ""


def _short(value: Any) -> str:
    if is_missing(value):
        return "missing"
    return f"a {type(value).__name__}{', whose `.value` may be an id' if isinstance(value, Enum) else ''}"


def _is_whole(value: Any) -> bool:
    """Return True for an integer of Python or numpy, and False for a bool."""
    import numpy as np

    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def several(values: Any) -> Any:
    """Return one id as a list of one, and several unchanged."""
    import numpy as np

    values = held(values)
    return [values] if isinstance(values, (str, UUID)) or (np.ndim(values) == 0 and not _way(values)) else values


def shown(own: np.ndarray | list[str], at: int) -> str:
    """Return one of the ids that `ids` returned, with quotes around a text."""
    return repr(own[at]) if isinstance(own, list) else str(own[at])


def check_kind(own: np.ndarray | list[str], kind: str) -> None:
    """Refuse ids that `ids` returned if an index has another kind of ids. Texts of numbers are no numbers: `03` and `3` are two texts."""
    texts = isinstance(own, list)
    if len(own) and texts == (kind == "number"):
        found, expected = ("a text", "a number") if texts else ("a number", "a UUID" if kind == "uuid" else "a text")
        how = {"number": ", such as int(id)", "text": ", such as str(id)", "uuid": ", such as uuid.UUID(id)"}[kind]
        if texts and not own[0].isdecimal():
            how = ""
        raise IdsError(f"record {shown(own, 0)} is named by {found}: this index names records by {expected}; give ids of that kind{how}")


def _texts(values: Any) -> list[str] | None:
    """Return ids that are texts or UUIDs as texts; None for other ids."""
    import numpy as np

    if isinstance(values, str):
        raise DtypeError("ids: one str, expected a list of them")
    if not isinstance(values, (list, tuple)) and hasattr(values, "__array__"):
        # This also works for columns of data frames.
        values = np.asarray(values)
        if values.dtype.kind not in "UTO" or values.ndim != 1:
            return None
        values = values.tolist()
    if not isinstance(values, (list, tuple)) or not values:
        return None
    kind: type = UUID if isinstance(values[0], UUID) else str
    if not isinstance(values[0], kind):
        return None
    for at, value in enumerate(values):
        if not isinstance(value, kind):
            raise DtypeError(f"id {at} is {_found(value)}: expected a {kind.__name__} like the first")
    texts = [text(value) for value in values]
    if not is_unicode("".join(texts)):
        at = next(at for at, text in enumerate(texts) if not is_unicode(text))
        raise IdsError(f"id {at} is no Unicode text: it has half of a surrogate pair")
    return texts


def text(value: str | UUID) -> str:
    """Return a text itself, and a UUID's digits. `str()` of a member of an Enum of texts gives its name."""
    return str.__str__(value) if isinstance(value, str) else str(value)


def id_kind(values: Any) -> str:
    """Return the kind of these ids: number, text or uuid."""
    first: Any = next(iter(values), None) if hasattr(values, "__iter__") else None
    if hasattr(first, "as_py"):
        # Arrow's values are its own objects.
        first = first.as_py()
    if isinstance(first, UUID):
        return "uuid"
    return "text" if isinstance(first, str) else "number"


def octets(value: Any, what: str) -> bytes:
    """Check that a value is bytes. `bytes(3)` would turn the number 3 into three zeros."""
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise InputError(f"{what} is a {type(value).__name__}: expected bytes")
    return bytes(value)


def octets_each(values: Any, what: str) -> list[bytes]:
    """Return a list of bytes, and refuse a single bytes object."""
    check_column(values, f"{what}s", InputError)
    values = held(values)
    if isinstance(values, (str, bytes, bytearray, memoryview)) or not hasattr(values, "__iter__"):
        raise InputError(f"{what}s: one {type(values).__name__}, expected a list of bytes")
    ordered(values, f"{what}s", InputError)
    return [octets(value, f"{what} {at}") for at, value in enumerate(values)]


def is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
