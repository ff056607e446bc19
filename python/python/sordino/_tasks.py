"""A new index that is made in tasks, each of some row groups of Parquet files.

What does the tasks' work, processes of this machine or a cluster, is not decided here. In masked and open mode a task reads its row groups, makes a
segment of them with the owner's key, writes it into the index's folder, and returns some 200 bytes that only the owner can have written. In routed
and sealed mode it returns which trained centroids are nearest to its records, and the index is made at the end by the process that called. A task may be
done again, here or elsewhere, whenever it failed or nobody knows whether it did: another attempt makes a segment under keys of its own, which are
bound to fresh randomness and to all of its content, or lists like the first's. One of each task is taken; the manifest is signed once, at
the end; segments that it does not name are removed.
"""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _arrays, _records, _sordino
from ._errors import InputError, MissingFileError, ShapeError
from ._index import Index, check_fit, local, measured_index, real_number, whole_number
from ._sordino import OwnerKey
from .parquet import Columns, names, read, sizes, stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Run = Callable[["Job", Iterator["Task"]], Iterator[bytes]]
    Groups = list[tuple[str, int, int]]

# Records of a segment, at least, where there are as many: those of `sordino.build`.
SEGMENT = 1 << 17

# Records of a task that assigns them to clusters, at least: its answer has some 3 MB.
LISTS = 1 << 14

# Segments that are made at most. An index may have 1024, and others come with changes.
SEGMENTS = 512

# Columns that only the build itself reads.
VECTORS: Any = {"ids": None, "attributes": ()}

# Modes in which records are assigned to clusters.
CLUSTERED = ("routed", "sealed")


class Task(NamedTuple):
    """The records of a segment, or of some lists, to be made."""

    number: int
    #: The number of its first record, in the order of the files.
    first: int
    #: Its row groups, each by its file and its number there.
    groups: tuple[tuple[str, int], ...]


class Job(NamedTuple):
    """All that a task needs beside its row groups. The owner's key is named by its file: it passes no network."""

    folder: str
    key_file: str
    #: The blueprint of segments, or centroids.
    facts: bytes
    columns: Columns
    #: True if tasks assign records to these centroids.
    clustered: bool


def make(job: Job, task: Task) -> bytes:
    """Does a task; what `Assembly.take` or `Clustering.take` takes. Raises what `sordino.build` does."""

    def records() -> Iterator[Any]:
        for path, group in task.groups:
            yield from _records.Records(iter([read(path, group, job.columns)]))

    key = OwnerKey.load(job.key_file)
    if job.clustered:
        return _sordino.nearest(key, job.facts, (task.number, task.first), records())
    numbered = job.columns["ids"] is None
    return _sordino.make_segment(job.folder, key, job.facts, (task.number, task.first), numbered, records())


def build(
    path: str | os.PathLike[str],
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    run: Run,
    *,
    key_file: str | os.PathLike[str],
    vectors: str,
    ids: str | None,
    attributes: Iterable[str] = (),
    settings: dict[str, Any],
    segment: int | None,
) -> Index:
    """Makes an index of what `run` returns for all tasks, in any order."""
    columns: Columns = {"vectors": vectors, "ids": ids, "payloads": None, "attributes": names(attributes)}
    clustered = settings["mode"] in CLUSTERED
    least = LISTS if clustered else SEGMENT
    least = least if segment is None else whole_number(segment, "segment")
    groups = [group for group in sizes(files) if group[2] > 0]
    if not groups:
        raise MissingFileError("no row groups: expected at least one record")
    records = sum(rows for _, _, rows in groups)
    tasks = list(_tasks(groups, max(least, 1, -(-records // SEGMENTS))))
    key = OwnerKey.load(key_file)
    index = local(path)
    sample = _records.Records(iter([read(*groups[0][:2], columns)]))
    rows = next(iter(sample))[0]
    settings = settings | {"id_kind": sample.id_kind, "size": (records, rows.shape[1])}
    if clustered:
        whole = _sordino.Clustering(index, key, settings, records, rows.shape[1])
        job = Job(index, os.path.abspath(key_file), _train(whole, groups, columns, settings), columns | VECTORS, True)
        for lists in run(job, iter(tasks)):
            whole.take(lists)
        # Once more, in the order of the tasks.
        again = _records.Records(stream((group[:2] for group in groups), columns))
        measured = whole.finish(len(tasks), iter(again))
        return measured_index(Index(_sordino.Index(index, key)), measured, settings["recall"], 4)
    assembly = _sordino.Assembly(index, key, settings, rows)
    try:
        job = Job(index, os.path.abspath(key_file), assembly.blueprint(), columns, False)
        for piece in run(job, iter(tasks)):
            assembly.take(piece)
        assembly.finish(len(tasks))
    finally:
        assembly.close()
    return Index(_sordino.Index(index, key))


def settings_of(
    mode: str,
    metric: str,
    k: int,
    queries: int,
    packing: int | None,
    recall: float = 0.95,
    routing: str | None = None,
) -> dict[str, Any]:
    """The choices for an index, as `sordino.build` takes them."""
    if mode not in ("masked", "open", *CLUSTERED):
        raise InputError(f'mode {mode!r}: tasks make indexes in the modes "masked", "open", "routed" and "sealed"')
    if not (routing is None or isinstance(routing, str)):
        raise InputError(f"routing = {routing!r}: expected a text")
    check_fit(mode, packing=packing, routing=routing)
    return {
        "mode": mode,
        "metric": metric,
        "recall": real_number(recall, "recall", any_value=True),
        "k": whole_number(k, "k"),
        "queries": whole_number(queries, "queries"),
        "packing": None if packing is None else whole_number(packing, "packing", 255),
        "routing": routing,
        "second_look": None,
        "checks": "sums",
        "own_readers": False,
    }


def _train(whole: _sordino.Clustering, groups: Groups, columns: Columns, settings: dict[str, Any]) -> bytes:
    """Trains centroids on some vectors, each as likely to be among them as any other."""
    import numpy as np

    ends = np.cumsum([rows for _, _, rows in groups])
    chosen = np.sort(np.random.default_rng().choice(ends[-1], whole.sample(), replace=False))
    own = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    wanted = [at for at, some in enumerate(own) if len(some)]
    vectors = columns | VECTORS
    sample = []
    for at, batch in zip(wanted, stream((groups[at][:2] for at in wanted), vectors)):
        rows = _arrays.matrix(batch.vectors)
        if rows.shape[1] != settings["size"][1]:
            raise ShapeError(f"vectors of dimensions {settings['size'][1]} and {rows.shape[1]}: expected one")
        first = ends[at] - groups[at][2]
        # Here, for a place in the sample says nothing to whoever looks for a vector.
        whole.check(rows, int(first))
        numbers = own[at] - first
        # Fewer rows than before are told of when all are read again.
        sample.append(rows[numbers[numbers < len(rows)]])
    return whole.train(np.concatenate(sample))


def _tasks(groups: Iterable[tuple[str, int, int]], least: int) -> Iterator[Task]:
    """Row groups in a row until they have as many records as a task should."""
    number, first, rows = count(), 0, 0
    own: list[tuple[str, int]] = []
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
