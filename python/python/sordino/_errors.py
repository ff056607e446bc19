"""Exceptions: one class for each kind of error. All are subclasses of `Error`.

Messages contain the numbers involved, and never a secret, a query or a score.
"""

from __future__ import annotations

import errno
import functools
import os
import typing

_OfFile = typing.TypeVar("_OfFile", bound=OSError)


class Error(Exception):
    """The base class of all errors of this package."""

    def __str__(self) -> str:
        # An `OSError` that names its file would print its own text.
        return str(self.args[0]) if self.args else ""


def of_file(error: _OfFile, path: str | os.PathLike[str], code: int = errno.ENOENT) -> _OfFile:
    """Return the same error with the system's number and the path, as `OSError` has them."""
    error.errno, error.filename = code, os.fspath(path)
    return error


# Arguments


class InputError(Error, ValueError):
    """An argument cannot be used."""


class ShapeError(InputError):
    """An array does not have the expected shape."""


class DtypeError(InputError, TypeError):
    """An array does not hold numbers of the expected kind."""


class EmptyError(InputError):
    """There are no vectors."""


class NotFiniteError(InputError):
    """A coordinate is NaN or infinite."""


class ZeroVectorError(InputError):
    """A vector is zero, and only its direction counts."""


class NormError(InputError):
    """A vector is longer than the index allows."""


class DimensionError(InputError):
    """A vector does not have the dimension of the index."""


class KError(InputError):
    """The number of results is out of range."""


class RecallError(InputError):
    """A recall is not between 0 and 1, or there are too few questions to measure it."""


class TooLargeError(InputError):
    """There are more vectors, or longer ones, than an index can hold."""


class IdsError(InputError):
    """Record ids are out of range, repeated, or do not match the number of vectors."""


class UnknownIdError(InputError, LookupError):
    """The record does not exist."""


class PayloadError(InputError):
    """A payload is too long, or payloads do not match the number of vectors."""


class AttributesError(InputError):
    """Attributes have the wrong type, are too long, or do not match the number of vectors."""


class FilterError(InputError):
    """A filter cannot be read, or does not fit the attributes."""


class StaleHintError(InputError):
    """A `pir.Client` has the hint of other records: download `params`, `seed` and `hint` again."""


class FormatError(InputError):
    """A file of vectors or a document is damaged, or has an unknown format."""


class AddressError(InputError):
    """An address is not valid."""


class CertificateError(InputError):
    """A certificate or its key cannot be used."""


# Keys


class KeyFileError(Error, ValueError):
    """A file is not a key file, is damaged, or exists already."""


class KeyKindError(Error, TypeError):
    """A key of a different kind is needed."""


# Indexes


class FileError(Error, OSError):
    """A file cannot be read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """A file does not exist."""


class UnreadableError(FormatError, FileError):
    """A file of vectors cannot be read: it is damaged, or its file system fails, perhaps only for the moment."""


class NoIndexError(Error, FileNotFoundError):
    """There is no index in the directory."""


class ExistsError(Error, FileExistsError):
    """The directory of a new index has an index or other files."""


class LockedError(Error, BlockingIOError):
    """Another process is changing the index: try again when it has ended."""


class SegmentsError(Error):
    """The index has the largest allowed number of segments: call `Index.compact`."""


class NothingLeftError(Error):
    """All records were to be deleted; an index keeps at least one."""


class UnsureError(Error):
    """The last change may or may not be stored: open the index again, and compare its version."""


class OvertakenError(Error):
    """Another owner has changed the index meanwhile, and this change was not stored: open the index again, and repeat
    it.
    """


class ModeError(Error):
    """The index does not have the mode that the call needs."""


class AccessError(Error):
    """Readers, groups or labels do not allow this: a name does not exist, or a key opens nothing."""


# Trust


class IntegrityError(Error):
    """A signature, a digest or a version is wrong. Stop using the file or server that gave it."""


class SignatureError(IntegrityError):
    """The manifest is not signed by the owner's key: it was changed, or belongs to another owner. Stop using it."""


class DigestError(IntegrityError):
    """A part of the index does not match its digest in the signed manifest. Stop using this copy."""


class MalformedError(IntegrityError):
    """A message, manifest or index has a wrong format."""


class FormatVersionError(IntegrityError):
    """A message, manifest or index has a format version that this program does not read."""


class RollbackError(IntegrityError):
    """A server offers an older version than the client has seen, or a folder has an older one than its owner knows.

    Stop using this server or folder, unless you restored a backup on purpose.
    """


class ForkError(IntegrityError):
    """The version does not follow from the one that the client or the owner knows. Stop using this server or folder."""


class OtherIndexError(IntegrityError):
    """The server or the folder does not have the index that the client or the owner knows. Stop using it."""


class GapError(IntegrityError):
    """Nothing shows that the offered version follows from the one that the client knows.

    The server keeps no manifests that far back, or hides another history. Stop, and ask the index's owner through
    another channel. `Client(over_gap=True)` continues.
    """


class SearchError(IntegrityError):
    """The server's answers do not belong to the index. Stop using this server, and tell the index's owner.

    The message does not say what was wrong: the reason could tell the server about the query.
    """


@functools.cache
def _after_wrong(then: type[Error]) -> type[Error]:
    """A wrong answer, followed by another failure of the server.

    The class is a subclass of `SearchError` and of that failure's class. A program that tries again after some errors thus does the same
    after both. Otherwise the server could see from the program's behaviour whether the answer mattered.
    """
    if issubclass(then, SearchError):
        return then
    made = {"__module__": __name__, "__doc__": _after_wrong.__doc__, "__reduce__": lambda self: (_wrong, (then, self.args))}
    return type(f"Wrong{then.__name__}", (SearchError, then), made)


def _wrong(then: type[Error], args: tuple[object, ...]) -> Error:
    """Restore such an error in another process."""
    # Classes can be hashed, which mypy does not see in `type[Error]`.
    return _after_wrong(then)(*args)  # type: ignore[arg-type]


# The network


class NetworkError(Error, ConnectionError):
    """A failure between client and server."""


class UnreachableError(NetworkError):
    """No server listens at the address, or no connection can be made."""


class BrokenError(NetworkError):
    """The connection ended before the reply was complete."""


class RefusedError(NetworkError):
    """The server refused the request; the message has its reason."""


class BusyError(RefusedError):
    """The server was still busy after `Client(wait=...)` seconds. Try again later."""


class StatusError(NetworkError):
    """The server, or a machine on the way, ended the call with an error."""


class ReplyError(NetworkError):
    """No honest server sends this reply. Stop using this server."""


class DeadlineError(NetworkError, TimeoutError):
    """No complete reply arrived in time."""


class StaleError(NetworkError):
    """The index changed again and again during the search. Try again later."""


class ListenError(NetworkError):
    """The server cannot listen on the address."""


# The rest


class ClosedError(Error, ValueError):
    """The client, server or store is closed."""


class ProcessError(Error, RuntimeError):
    """The process was forked after the computing threads had started, and does not have these threads."""


class InternalError(Error, RuntimeError):
    """A bug in this package: please report it."""
