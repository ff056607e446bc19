"""Converts documents of the frameworks to payloads of records, and their ids to stored ids."""

from __future__ import annotations

import base64
import json
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from . import _arrays, _payloads
from ._errors import FormatError, InputError
from ._tables import check_column
from .blake3 import hash_each

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np

# Record 0, which is not a document.
NONE = 0
_PLACES = 3


class Found(NamedTuple):
    """A document: its id, its stored form, its score if a search found it, and its vector if vectors are
    stored."""

    id: str
    document: Any
    score: float | None
    vector: np.ndarray | None


def places(id: str) -> list[int]:
    """Return the numbers that a document of this id may have."""
    # An id that is not valid Unicode has no document.
    (digest,) = hash_each([id.encode(errors="replace")], context="sordino 2026 document ids")
    numbers = [int.from_bytes(digest[4 * at : 4 * at + 4], "little") for at in range(_PLACES)]
    return [number if number != NONE else 1 for number in numbers]


def name_of(id: Any, at: int) -> str:
    """Return a document's id as it is stored: UUIDs and whole numbers become text.

    Raises
    ------
    InputError
        If the value has no text, or several.
    """
    if isinstance(id, bool) or not (isinstance(id, (str, UUID)) or hasattr(id, "__index__")):
        raise InputError(f"id {at} is a {type(id).__name__}: expected a str, a whole number or a uuid.UUID")
    return _arrays.text(id) if isinstance(id, (str, UUID)) else str(index(id))


def names(ids: Iterable[Any]) -> list[str]:
    """Return the ids of documents as they are stored."""
    check_column(ids, "ids", InputError)
    if isinstance(ids, (str, bytes)) or not hasattr(ids, "__iter__"):
        raise InputError(f"ids: one {type(ids).__name__}, expected a list of them")
    return [name_of(id, at) for at, id in enumerate(ids)]


def known(kwargs: dict[str, Any], what: str) -> None:
    """Refuse arguments that would be ignored, such as a misspelled filter."""
    if kwargs:
        raise InputError(f"{what}: no argument is named {', '.join(map(repr, kwargs))} here")


def listed(values: Any, what: str) -> list[Any]:
    """Return values whose order matches other values, as a list."""
    check_column(values, what, InputError)
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise InputError(f"{what}: one {type(values).__name__}, expected a list of them")
    _arrays.ordered(values, what, InputError)
    return values.tolist() if hasattr(values, "tolist") else list(values)


def plain(id: str, document: Any, metadata: Mapping[Any, Any]) -> Any:
    """Return a document made of JSON values, as payloads hold it.

    Raises
    ------
    InputError
        If a value has no form in JSON. The message names it.
    """
    try:
        return _payloads.plain(document)
    except (TypeError, ValueError, OverflowError) as error:
        for name, value in metadata.items():
            try:
                _payloads.plain({name: value})
            except (TypeError, ValueError, OverflowError) as inner:
                raise InputError(f"document {id!r} cannot be stored as JSON: its metadata {name!r} {inner}") from None
        raise InputError(f"document {id!r} cannot be stored as JSON: it {error}") from None


def pack(id: str, document: Any, vector: np.ndarray | str | None) -> bytes:
    """Return the payload of a document of JSON values, with its vector if that is kept."""
    if vector is not None and not isinstance(vector, str):
        vector = base64.b64encode(vector.astype("<f4").tobytes()).decode()
    parts = [id, document] if vector is None else [id, document, vector]
    try:
        payload = json.dumps(parts, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise InputError(f"document {id!r} cannot be stored as JSON: a text in it has half of a surrogate pair") from None
    _payloads.fitting(payload, f"document {id!r} as JSON")
    return payload


def parts(payload: bytes) -> tuple[str, Any, str | None]:
    """Return the id, the document and the base64 vector of a payload."""
    try:
        id, document, *rest = json.loads(payload)
        (vector,) = rest or [None]
    except (ValueError, TypeError, RecursionError):
        id = document = vector = None
    if not isinstance(id, str) or not (vector is None or isinstance(vector, str)):
        raise FormatError(f"a payload of {len(payload)} bytes is no document: the index was made by other means")
    return id, document, vector


def unpack(payload: bytes, score: float | None = None) -> Found:
    """Return the document of a payload."""
    import numpy as np

    id, document, vector = parts(payload)
    try:
        row = None if vector is None else np.frombuffer(base64.b64decode(vector, validate=True), "<f4")
    except ValueError:
        raise FormatError(f"document {id!r} has a vector that is none") from None
    return Found(id, document, score, row)
