"""Stores that are read: their rows, and what is said of them before any is read."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from .._errors import Error, InputError, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np

# Rows that are in memory at a time.
PAGE = 500

# Names that columns of texts and of vectors usually have.
TEXTS = ("text", "content", "document", "page_content")
VECTORS = ("vector", "embedding", "embeddings")


class Row(NamedTuple):
    """A row of a store. Without an id or a vector the row has none of its own."""

    id: Any
    vector: np.ndarray | None
    text: str | None
    metadata: Mapping[str, Any]


class Wanted(NamedTuple):
    """The parts of a store that its user names; None where it has one alone."""

    collection: str | None = None
    vector: str | None = None
    id: str | None = None
    text: str | None = None


class Store(ABC):
    """A collection or table that is open for reading."""

    #: What messages call it.
    name: str
    #: The number of rows by the store's own count.
    count: int
    #: The store's word for its metric; None where it has none.
    metric: str | None = None
    #: What is said of a store without a metric.
    no_metric = "it has no metric"
    #: Parts that are not read, such as other vectors.
    left: Sequence[str] = ()

    @abstractmethod
    def rows(self, vectors: bool) -> Iterator[Row]:
        """All rows; without their vectors if these are not asked for."""

    @abstractmethod
    def dims(self) -> Mapping[int, int]:
        """The number of rows by the dimension of their vectors, as the store knows it without reading them all here."""

    def close(self) -> None:
        """Lets go of the store."""


def client(module: str, package: str) -> Any:
    """A store's own client. Raises `Error` with what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Error(f"this store is read by its own client, which cannot be imported ({error}): pip install '{package}'") from None


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Whatever a store's client raises becomes an error that names the store."""
    try:
        yield
    except (Error, KeyboardInterrupt, GeneratorExit, SystemExit):
        raise
    except BaseException as error:
        # Native clients raise panics, which are no `Exception`.
        raise UnreadableError(f"{name} cannot be read: {type(error).__name__}: {error}") from error


def one_of(wanted: str | None, there: Sequence[str], what: str, option: str) -> str:
    """The name that is wanted, or the only one that is there."""
    found = ", ".join(map(repr, there)) or "none"
    if wanted is not None:
        if wanted not in there:
            raise InputError(f"no {what} {wanted!r}: found {found}")
        return wanted
    if len(there) != 1:
        raise InputError(f"no single {what}: found {found}" + (f"; expected {option} NAME" if there else ""))
    return there[0]


def usual(wanted: str | None, there: Sequence[str], names: Sequence[str], what: str) -> str | None:
    """The column that is wanted, or the only one with a usual name; None if there is none."""
    if wanted is not None:
        return one_of(wanted, there, what, "")
    found = [name for name in names if name in there]
    return found[0] if len(found) == 1 else None
