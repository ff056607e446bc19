"""BLAKE3 over many messages at once, one in each lane of the processor's vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _arrays, _sordino
from ._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["hash_each"]


def hash_each(
    messages: Iterable[bytes], *, key: bytes | None = None, context: str | None = None
) -> list[bytes]:
    """Return the BLAKE3 digest of each message.

    Parameters
    ----------
    messages : iterable of bytes
        The messages.
    key : bytes, optional
        32 bytes, for keyed digests.
    context : str, optional
        The context of a key derivation: the digests are keys for this purpose.

    Returns
    -------
    list of bytes
        A digest of 32 bytes for each message.

    Raises
    ------
    InputError
        If the key has a wrong length, or both key and context are given.
    """
    if key is not None and context is not None:
        raise InputError("key and context: expected at most one of them")
    if key is not None and len(key := _arrays.octets(key, "key")) != 32:
        raise InputError(f"a key of {len(key)} bytes: expected 32")
    if not (context is None or isinstance(context, str)):
        raise InputError(f"context is a {type(context).__name__}: expected a str")
    return _sordino.hash_each(_arrays.octets_each(messages, "message"), key, context)
