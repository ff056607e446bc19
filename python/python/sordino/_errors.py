"""Exceptions: one class for each kind of error, all of them `Error`.

Messages have the numbers in them, and never a secret, a query or a score.
"""

from __future__ import annotations

import errno
import functools
import os
import typing

_OfFile = typing.TypeVar("_OfFile", bound=OSError)


class Error(Exception):
    """Anything that this package refuses, or that went wrong in it."""

    def __str__(self) -> str:
        # An `OSError` that names its file would have words of its own.
        return str(self.args[0]) if self.args else ""


def of_file(error: _OfFile, path: str | os.PathLike[str], code: int = errno.ENOENT) -> _OfFile:
    """The same error with the system's number and the path that it is about, as an `OSError` has them."""
    error.errno, error.filename = code, os.fspath(path)
    return error


# Arguments


class InputError(Error, ValueError):
    """An argument cannot be used."""


class ShapeError(InputError):
    """An array has another shape than is needed."""


class DtypeError(InputError, TypeError):
    """An array has elements that are no numbers of the kind needed."""


class EmptyError(InputError):
    """There are no vectors."""


class NotFiniteError(InputError):
    """A coordinate is NaN or infinite."""


class ZeroVectorError(InputError):
    """A vector is zero, where only its direction counts."""


class NormError(InputError):
    """A vector is longer than the index allows for."""


class DimensionError(InputError):
    """A vector has another dimension than the index."""


class KError(InputError):
    """A number of results that cannot be had."""


class RecallError(InputError):
    """A recall that is no share between 0 and 1."""


class TooLargeError(InputError):
    """More vectors, or longer ones, than an index can hold."""


class IdsError(InputError):
    """Record ids out of range, given twice, or not as many as vectors."""


class UnknownIdError(InputError, LookupError):
    """A record that is not there."""


class PayloadError(InputError):
    """A payload is too long, or there are not as many as vectors."""


class AttributesError(InputError):
    """Attributes of another type than before, too long, or not as many as vectors."""


class FilterError(InputError):
    """A filter that cannot be read, or does not fit the attributes that there are."""


class StaleHintError(InputError):
    """A `pir.Client` has the hint of other records than the server has: download `params`, `seed` and `hint` again."""


class FormatError(InputError):
    """A file of vectors, or a document, is damaged or of a format that is not read."""


class AddressError(InputError):
    """An address that is none."""


class CertificateError(InputError):
    """A certificate or its key cannot be used."""


# Keys


class KeyFileError(Error, ValueError):
    """A file is no key file, is damaged, or is there already."""


class KeyKindError(Error, TypeError):
    """Another kind of key is needed."""


# Indexes


class FileError(Error, OSError):
    """A file cannot be read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """A file is not there."""


class UnreadableError(FormatError, FileError):
    """A file of vectors cannot be read: its system fails, for the moment or not, or it is damaged, which is told the same way."""


class NoIndexError(Error, FileNotFoundError):
    """There is no index in the directory."""


class ExistsError(Error, FileExistsError):
    """The directory has an index, or other files, where a new one was to be made."""


class LockedError(Error, BlockingIOError):
    """Another process is changing the index."""


class SegmentsError(Error):
    """The index has as many segments as it may: `Index.compact` it."""


class NothingLeftError(Error):
    """All records were to be deleted, and an index keeps at least one."""


class UnsureError(Error):
    """The last change may or may not have been made: open the index anew."""


class OvertakenError(Error):
    """Another owner has changed the index meanwhile, and nothing was changed: open it anew."""


class ModeError(Error):
    """The index is of another mode than the call."""


class AccessError(Error):
    """Readers, groups or labels of an index do not allow this: a name that is not there, or a key that opens nothing."""


# Trust


class IntegrityError(Error):
    """A signature, a digest or a version is wrong: what was read is not to be trusted."""


class SignatureError(IntegrityError):
    """The manifest is not signed by the owner's key: another owner's index, or a changed one."""


class DigestError(IntegrityError):
    """A part of the index is not the one that the signed manifest names."""


class MalformedError(IntegrityError):
    """A message, manifest or index has not the form that it should have."""


class FormatVersionError(IntegrityError):
    """A message, manifest or index is of a version that this program does not read."""


class RollbackError(IntegrityError):
    """The server offers an older version than the client has seen, or an index's folder has an older one than its owner knows."""


class ForkError(IntegrityError):
    """The version offered does not follow from the one that the client, or the index's owner, knows."""


class OtherIndexError(IntegrityError):
    """The server offers another index than the one that the client knows, or there is one in its place."""


class GapError(IntegrityError):
    """Nothing shows that the version offered follows from the one that the client knows: the server keeps no
    manifests that far back, or hides another history. `Client(over_gap=True)` goes on, once the owner was asked.
    """


class SearchError(IntegrityError):
    """The server's answers do not belong to the index. It does not say how, on purpose."""


@functools.cache
def _after_wrong(then: type[Error]) -> type[Error]:
    """The class for an answer that was wrong before the server failed in another way: it is a `SearchError`, and of the
    class that it has without the wrong answer, so that a program which tries again after some errors does so after both
    or neither. Otherwise the server would see in what it does whether the answer mattered.
    """
    if issubclass(then, SearchError):
        return then
    made = {"__module__": __name__, "__doc__": _after_wrong.__doc__, "__reduce__": lambda self: (_wrong, (then, self.args))}
    return type(f"Wrong{then.__name__}", (SearchError, then), made)


def _wrong(then: type[Error], args: tuple[object, ...]) -> Error:
    """Such an error, taken to another process."""
    # Classes can be hashed, which mypy does not see in `type[Error]`.
    return _after_wrong(then)(*args)  # type: ignore[arg-type]


# The network


class NetworkError(Error, ConnectionError):
    """Something between client and server."""


class UnreachableError(NetworkError):
    """Nobody listens at the address, or no connection can be made."""


class BrokenError(NetworkError):
    """The connection ended before the reply was whole."""


class RefusedError(NetworkError):
    """The server refused, and said why."""


class BusyError(RefusedError):
    """The server has too many requests, and still had after `Client(wait=...)` seconds. Try again later."""


class StatusError(NetworkError):
    """The server, or something between, ended the call with an error."""


class ReplyError(NetworkError):
    """The reply is not one that an honest server sends."""


class DeadlineError(NetworkError, TimeoutError):
    """No complete reply came in time."""


class StaleError(NetworkError):
    """The index changed again and again while it was being searched."""


class ListenError(NetworkError):
    """An address cannot be listened on."""


# The rest


class ClosedError(Error, ValueError):
    """The client is closed."""


class ProcessError(Error, RuntimeError):
    """The process was forked after threads were started for computing, and lacks them."""


class InternalError(Error, RuntimeError):
    """A bug in this package: please report it."""
