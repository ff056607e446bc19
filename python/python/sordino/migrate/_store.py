"""Stores and their rows, and what is known about a store before its rows are read."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from .._errors import Error, InputError, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np

# The rows that are kept in memory at a time.
PAGE = 500

# The usual names of columns with texts and with vectors.
TEXTS = ("text", "content", "document", "page_content")
VECTORS = ("vector", "embedding", "embeddings")


class Row(NamedTuple):
    """A row of a store. Its id and its vector may be None."""

    id: Any
    vector: np.ndarray | None
    text: str | None
    metadata: Mapping[str, Any]


class Wanted(NamedTuple):
    """The parts of a store that its user names; None if the store has only one."""

    collection: str | None = None
    vector: str | None = None
    id: str | None = None
    text: str | None = None


class Store(ABC):
    """A collection or table that is open for reading."""

    #: The store's name in messages.
    name: str
    #: The number of rows that the store counts.
    count: int
    #: The store's name for its metric; None if it has no metric.
    metric: str | None = None
    #: The note about a store without a metric.
    no_metric = "it has no metric"
    #: The parts that are not read, such as other vectors.
    left: Sequence[str] = ()

    @abstractmethod
    def rows(self, vectors: bool) -> Iterator[Row]:
        """All rows, with or without their vectors."""

    @abstractmethod
    def dims(self) -> Mapping[int, int]:
        """The number of rows for each dimension of vectors, counted by the store so that not all vectors are read
        here."""

    def close(self) -> None:
        """Closes the store."""


def client(module: str, package: str) -> Any:
    """Imports a store's own client. Raises `Error`, which says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Error(f"this store is read by its own client, which cannot be imported ({error}): pip install '{package}'") from None


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Converts every exception of a store's client to an error that names the store."""
    try:
        yield
    except (Error, KeyboardInterrupt, GeneratorExit, SystemExit):
        raise
    except BaseException as error:
        # Native clients raise panics, which are not a subclass of `Exception`.
        raise UnreadableError(f"{name} cannot be read: {type(error).__name__}: {error}") from error


def one_of(wanted: str | None, there: Sequence[str], what: str, option: str) -> str:
    """The wanted name, or the only existing one."""
    found = ", ".join(map(repr, there)) or "none"
    if wanted is not None:
        if wanted not in there:
            raise InputError(f"no {what} {wanted!r}: found {found}")
        return wanted
    if len(there) != 1:
        raise InputError(f"no single {what}: found {found}" + (f"; expected {option} NAME" if there else ""))
    return there[0]


def usual(wanted: str | None, there: Sequence[str], names: Sequence[str], what: str) -> str | None:
    """The wanted column, or the only one with a usual name; None if there is none."""
    if wanted is not None:
        return one_of(wanted, there, what, "")
    found = [name for name in names if name in there]
    return found[0] if len(found) == 1 else None
