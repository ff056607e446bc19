"""A new index that tasks make, each from some row groups of Parquet files.

The caller decides who runs the tasks: processes on this machine, or a cluster.

In masked and open mode a task reads its row groups, makes a segment with the owner's key and writes it into the
index's folder. It returns about 200 bytes that only the owner can have written. In routed and sealed mode a
task returns the trained centroids nearest to its records, and the calling process makes the index at the end.

A failed task may run again, here or elsewhere. A second run makes a segment under fresh keys, which are bound
to all of its content, or the same lists as the first. One result of each task is used. The manifest is signed
once, at the end. Segments that it does not name are removed.
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

# The smallest number of records of a segment, unless there are fewer in all: the number of `sordino.build`.
SEGMENT = 1 << 17

# The smallest number of records of a task that assigns them to clusters: its answer has about 3 MB.
LISTS = 1 << 14

# The largest number of segments of a build. An index may have 1024, and changes add some.
SEGMENTS = 512

# Columns that only the build itself reads.
VECTORS: Any = {"ids": None, "attributes": ()}

# Modes in which records are assigned to clusters.
CLUSTERED = ("routed", "sealed")


class Task(NamedTuple):
    """The records of one segment, or of some lists."""

    number: int
    #: The number of its first record, in the order of the files.
    first: int
    #: Its row groups, each by its file and its number there.
    groups: tuple[tuple[str, int], ...]


class Job(NamedTuple):
    """Everything that a task needs except its row groups. It names the file of the owner's key, so no key crosses a
    network.
    """

    folder: str
    key_file: str
    #: The blueprint of segments, or centroids.
    facts: bytes
    columns: Columns
    #: True if tasks assign records to these centroids.
    clustered: bool


def make(job: Job, task: Task) -> bytes:
    """Run a task, and return what `Assembly.take` or `Clustering.take` takes. Raise the errors of `sordino.build`."""

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
    """Make an index from the results that `run` returns for all tasks, in any order."""
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
        # The results are taken again in the order of the tasks.
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
    """Return the settings of an index, as `sordino.build` takes them."""
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
    """Train centroids on a uniform sample of the vectors."""
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
        # Checked here, since a position in the sample would not help a user to find the vector.
        whole.check(rows, int(first))
        numbers = own[at] - first
        # If there are fewer rows than before, an error is raised when all rows are read again.
        sample.append(rows[numbers[numbers < len(rows)]])
    return whole.train(np.concatenate(sample))


def _tasks(groups: Iterable[tuple[str, int, int]], least: int) -> Iterator[Task]:
    """Join consecutive row groups until they have the records of one task."""
    number, first, rows = count(), 0, 0
    own: list[tuple[str, int]] = []
    for path, group, size in groups:
        # An empty row group needs no segment.
        if size == 0:
            continue
        if own and rows + size > least:
            yield Task(next(number), first, tuple(own))
            first, rows, own = first + rows, 0, []
        own.append((path, group))
        rows += size
    if own:
        yield Task(next(number), first, tuple(own))
