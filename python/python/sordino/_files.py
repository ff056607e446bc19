"""Files that hold certificates and tokens."""

from __future__ import annotations

import os

from ._errors import FileError, InputError, MissingFileError


def pem(value: bytes | str | os.PathLike[str] | None, what: str) -> bytes | None:
    """PEM as it was given, or of the file at a path. Raises `MissingFileError`, `FileError`, `InputError`."""
    return content(value, what, "PEM (bytes)")


def content(value: bytes | str | os.PathLike[str] | None, what: str, expected: str = "bytes") -> bytes | None:
    """Bytes as they were given, or of the file at a path. Raises `MissingFileError`, `FileError`, `InputError`."""
    if value is None or isinstance(value, bytes):
        return value
    if not isinstance(value, (str, os.PathLike)):
        raise InputError(f"{what} is a {type(value).__name__}: expected {expected} or a path")
    try:
        with open(value, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise MissingFileError(f"{what}: there is no file {os.fspath(value)}") from None
    except (OSError, ValueError) as error:
        raise FileError(f"{what}: {error}") from None
