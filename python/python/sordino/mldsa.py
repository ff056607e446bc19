"""ML-DSA (FIPS 204): many signatures verified in one call, each with the result that it has alone."""

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
    """Verify signatures.

    Parameters
    ----------
    public_keys : bytes or sequence of bytes
        One key for all messages, or one for each: 1312, 1952 or 2592 bytes, by parameter set.
    messages : sequence of bytes
        The messages.
    signatures : sequence of bytes
        A signature for each message.
    parameter_set : str, default "ML-DSA-65"
        "ML-DSA-44", "ML-DSA-65" or "ML-DSA-87".
    context : bytes, optional
        The signer's context, up to 255 bytes.

    Returns
    -------
    list of bool
        True for each valid signature, and False for any other.

    Raises
    ------
    InputError
        If a key or the context has a wrong length, or the lists do not match.
    """
    if parameter_set not in _LEVELS:
        raise InputError(f"parameter set {parameter_set!r}: expected one of {', '.join(_LEVELS)}")
    single = isinstance(public_keys, (bytes, bytearray, memoryview))
    keys = _arrays.octets_each([public_keys] if single else public_keys, "public key")
    messages = _arrays.octets_each(messages, "message")
    signatures = _arrays.octets_each(signatures, "signature")
    context = _arrays.octets(context, "context")
    if len(signatures) != len(messages):
        raise InputError(f"{len(signatures)} signatures for {len(messages)} messages")
    if not single and len(keys) != len(messages):
        raise InputError(
            f"{len(keys)} public keys for {len(messages)} messages: expected a key for each message; for one key, give its bytes without a list"
        )
    return _sordino.verify_batch(_LEVELS[parameter_set], keys, messages, signatures, context)
