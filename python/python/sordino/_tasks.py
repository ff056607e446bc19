"""A new index whose segments are made in tasks, each from some row groups of Parquet files.

What does the tasks' work, processes of this machine or a cluster, is not decided here. A task reads its row groups, makes a segment of
them with the owner's key, writes it into the index's folder, and returns some 200 bytes that only the owner can have written. It may be
done again, here or elsewhere, whenever it failed or nobody knows whether it did: another attempt makes a segment under keys of its own,
which are bound to fresh randomness and to all of its content. One of each task is named by the manifest, which is signed once, at
the end; others are removed.
"""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _records, _sordino
from ._errors import InputError, MissingFileError
from ._index import Index, real_number, whole_number
from ._sordino import OwnerKey
from .parquet import read, sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# Records of a segment, at least, where there are as many: those of `sordino.build`.
SEGMENT = 1 << 17

# Segments that are made at most. An index may have 1024, and others come with changes.
SEGMENTS = 512


class Task(NamedTuple):
    """A segment to be made."""

    number: int
    #: The number of its first record, in the order of the files.
    first: int
    #: Its row groups, each by its file and its number there.
    groups: tuple[tuple[str, int], ...]


class Job(NamedTuple):
    """All that a task needs beside its row groups. The owner's key is named by its file: it passes no network."""

    index: str
    key_file: str
    blueprint: bytes
    columns: dict[str, str | None]


def make(job: Job, task: Task) -> bytes:
    """Makes a task's segment; what `Assembly.take` takes. Raises what `sordino.build` does."""

    def records() -> Iterator[Any]:
        for path, group in task.groups:
            yield from _records.Records(iter([read(path, group, job.columns)]), None, None)

    first = task.first if job.columns["ids"] is None else None
    key = OwnerKey.load(job.key_file)
    return _sordino.make_segment(job.index, key, job.blueprint, (task.number, first), records())


def build(
    path: str | os.PathLike[str],
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    run: Callable[[Job, Iterator[Task]], Iterator[bytes]],
    *,
    key_file: str | os.PathLike[str],
    vectors: str,
    ids: str | None,
    settings: dict[str, Any],
    segment: int | None,
) -> Index:
    """Makes an index of what `run` returns for all tasks, in any order."""
    columns = {"vectors": vectors, "ids": ids, "payloads": None}
    least = SEGMENT if segment is None else whole_number(segment, "segment")
    groups = [group for group in sizes(files) if group[2] > 0]
    if not groups:
        raise MissingFileError("no row groups: expected at least one record")
    records = sum(rows for _, _, rows in groups)
    tasks = list(_tasks(groups, max(least, 1, -(-records // SEGMENTS))))
    key = OwnerKey.load(key_file)
    index = os.path.abspath(path)
    sample = read(*tasks[0].groups[0], columns)
    stream = _records.Records(iter([sample]), None, None)
    rows = next(iter(stream))[0]
    assembly = _sordino.Assembly(index, key, settings | {"id_kind": stream.id_kind, "size": (records, rows.shape[1])}, rows)
    try:
        job = Job(index, os.path.abspath(key_file), assembly.blueprint(), columns)
        for piece in run(job, iter(tasks)):
            assembly.take(piece)
        assembly.finish(len(tasks))
    finally:
        assembly.close()
    return Index(_sordino.Index(index, key))


def settings_of(
    mode: str, metric: str, k: int, queries: int, norm: float | None, packing: int | None
) -> dict[str, Any]:
    """The choices for an index, as `sordino.build` takes them."""
    if mode not in ("masked", "open"):
        raise InputError(f"mode {mode!r}: segments are made apart in the modes \"masked\" and \"open\"")
    return {
        "mode": mode,
        "metric": metric,
        "recall": 0.95,
        "k": whole_number(k, "k"),
        "queries": whole_number(queries, "queries"),
        "norm": None if norm is None else real_number(norm, "norm"),
        "packing": None if packing is None else whole_number(packing, "packing", 255),
        "routing": None,
        "second_look": None,
        "checks": "sums",
        "own_readers": False,
    }


def _tasks(groups: Iterable[tuple[str, int, int]], least: int) -> Iterator[Task]:
    """Row groups in a row until they have as many records as a segment should."""
    number, first, rows, own = count(), 0, 0, []
    for path, group, size in groups:
        # An empty one makes no segment.
        if size == 0:
            continue
        if own and rows + size > least:
            yield Task(next(number), first, tuple(own))
            first, rows, own = first + rows, 0, []
        own.append((path, group))
        rows += size
    if own:
        yield Task(next(number), first, tuple(own))
