"""ML-DSA (FIPS 204): signatures verified many at a time, each as if it were alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from . import _arrays, _sordino
from ._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["verify_batch"]

_LEVELS = {"ML-DSA-44": 44, "ML-DSA-65": 65, "ML-DSA-87": 87}


def verify_batch(
    public_keys: bytes | Sequence[bytes],
    messages: Sequence[bytes],
    signatures: Sequence[bytes],
    *,
    parameter_set: Literal["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"] = "ML-DSA-65",
    context: bytes = b"",
) -> list[bool]:
    """True for each signature that is valid, False for any other, however it is wrong.

    public_keys: one for all, or one for each message; 1312, 1952 or 2592 bytes by parameter set.
    messages, signatures: as many of one as of the other.
    context: up to 255 bytes, the signer's.

    Raises `InputError` for a key or context of another length, and for lists that do not fit.
    """
    if parameter_set not in _LEVELS:
        raise InputError(f"parameter set {parameter_set!r}: expected one of {', '.join(_LEVELS)}")
    keys = [public_keys] if isinstance(public_keys, (bytes, bytearray, memoryview)) else public_keys
    keys = _arrays.octets_each(keys, "public key")
    messages = _arrays.octets_each(messages, "message")
    signatures = _arrays.octets_each(signatures, "signature")
    context = _arrays.octets(context, "context")
    if len(signatures) != len(messages):
        raise InputError(f"{len(signatures)} signatures for {len(messages)} messages")
    if len(keys) != 1 and len(keys) != len(messages):
        raise InputError(f"{len(keys)} public keys for {len(messages)} messages")
    return _sordino.verify_batch(_LEVELS[parameter_set], keys, messages, signatures, context)
