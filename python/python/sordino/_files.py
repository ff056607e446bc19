"""Paths, and files that hold certificates and tokens."""

from __future__ import annotations

import base64
import os
import re

from ._errors import FileError, FormatError, InputError, MissingFileError, of_file


def place(path: object, what: str = "path", expected: str = "a str or a path") -> str:
    """Return the absolute path, which stays the same after `os.chdir`.

    Raises
    ------
    InputError
        If the value is not a path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"{what} is a {type(path).__name__}: expected {expected}")
    found = os.fspath(path)
    if not isinstance(found, str):
        raise InputError(f"{what} is a path of {type(found).__name__}: expected {expected}; os.fsdecode makes text of it")
    if not found:
        raise InputError(f"{what}: an empty text, expected {expected}")
    if "\0" in found:
        raise InputError(f"{what} = {found!r}: no path has a zero byte")
    return os.path.abspath(found)


# A token is a COSE_Sign1: a tag, and an array of four.
_COSE_SIGN1 = b"\xd2\x84"


def pem(value: bytes | str | os.PathLike[str] | None, what: str) -> bytes | None:
    """Return PEM as given, or read from the file at a path.

    Raises
    ------
    MissingFileError, FileError, InputError
        If the file cannot be read, or the value is neither bytes nor a path.
    """
    return content(value, what, "PEM (bytes)")


def token(value: bytes | str | os.PathLike[str] | None) -> bytes | None:
    """Return a token as given or read from the file at a path, of its bytes or of its text (base64url).

    Raises
    ------
    MissingFileError, FileError, InputError
        If the file cannot be read, or the value is neither bytes nor a path.
    FormatError
        If it is no token. Other bytes, which may be a key, would go to the server.
    """
    found = content(value, "token")
    if found is None:
        return None
    found = _decoded(found)
    if not found.startswith(_COSE_SIGN1):
        where = f" {os.fspath(value)!r}" if isinstance(value, (str, os.PathLike)) else ""
        raise FormatError(f"token{where}: not a token, so it is not sent; expected what `sordino token issue` wrote")
    return found


def _decoded(found: bytes) -> bytes:
    """Return the bytes of a token's text, and other bytes as they are."""
    # No token begins with a letter.
    text = found.strip().rstrip(b"=")
    if len(text) % 4 != 1 and re.fullmatch(rb"[A-Za-z0-9_-]+", text):
        return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
    return found


def content(value: bytes | str | os.PathLike[str] | None, what: str, expected: str = "bytes") -> bytes | None:
    """Return bytes as given, or read from the file at a path.

    Raises
    ------
    MissingFileError, FileError, InputError
        If the file cannot be read, or the value is neither bytes nor a path.
    """
    if value is None or isinstance(value, bytes):
        return value
    if not isinstance(value, (str, os.PathLike)):
        raise InputError(f"{what} is a {type(value).__name__}: expected {expected} or a path")
    # The text may be secret, so no message shows it.
    if isinstance(value, str) and ("-----BEGIN " in value or _decoded(value.encode(errors="replace")).startswith(_COSE_SIGN1)):
        raise InputError(f"{what} is a text of {len(value)} characters that a file would hold: expected the file's path, or bytes, as text.encode() gives them")
    try:
        with open(value, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise of_file(MissingFileError(f"{what}: there is no file {os.fspath(value)}"), value) from None
    except (OSError, ValueError) as error:
        raise FileError(f"{what}: {error}") from None
