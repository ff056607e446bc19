"""Records from Parquet files for `sordino.build`, with vectors, ids, payloads and attributes from columns::

    index = sordino.build("my.index", sordino.parquet.batches("lake/", vectors="embedding", ids="id"), key=key)

`batches` reads files with threads, in order and a few row groups ahead. `build` uses several processes, which
read files and make segments. Both need pyarrow. A file with nothing but vectors can be given to `sordino.build`
by its path, without pyarrow.
"""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from ._arrays import ordered
from ._errors import (
    AttributesError,
    DtypeError,
    FormatError,
    IdsError,
    InputError,
    MissingFileError,
    PayloadError,
    ShapeError,
    UnreadableError,
)
from ._records import Batch
from ._tables import check_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future

    import pyarrow as pa

    from ._index import Index, Metric

__all__ = ["batch", "batches", "build", "groups", "read", "sizes", "stream"]


class Columns(TypedDict):
    """The names of columns, as `batch` takes them."""

    vectors: str
    ids: str | None
    payloads: str | None
    attributes: tuple[str, ...]


def names(attributes: Iterable[str]) -> tuple[str, ...]:
    """Return the names of attributes, and refuse a single text."""
    if isinstance(attributes, (str, bytes)):
        raise AttributesError(f"attributes: one {type(attributes).__name__}, expected the names of columns")
    return tuple(attributes)


def batches(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    vectors: str,
    ids: str | None = None,
    payloads: str | None = None,
    attributes: Iterable[str] = (),
    readers: int = 2,
) -> Iterator[Batch]:
    """Read the records of Parquet files, one row group at a time. Columns that are not named are left out.

    Parameters
    ----------
    paths : path or iterable of path
        A file, a directory (its files that end in .parquet, by name, and no folders), or several of these, in their
        order. URIs of a file system that pyarrow knows work too (`s3://bucket/lake`).
    vectors : str
        The column of vectors: lists of numbers of one length.
    ids : str, optional
        The column of ids: integers or texts.
    payloads : str, optional
        The column of payloads: bytes or texts.
    attributes : iterable of str, optional
        The columns by which clients filter: numbers, bools or texts, null where a record has no value.
    readers : int, default 2
        Threads that read. Memory holds one row group more than this number.

    Yields
    ------
    Batch
        The records of a row group.

    Raises
    ------
    MissingFileError, UnreadableError, FormatError
        If a file cannot be read.
    ShapeError, DtypeError, IdsError, PayloadError, AttributesError
        If a column cannot be used.
    """
    columns: Columns = {"vectors": vectors, "ids": ids, "payloads": payloads, "attributes": names(attributes)}
    return stream(groups(paths), columns, readers)


def stream(groups: Iterable[tuple[str, int]], columns: Columns, readers: int = 2) -> Iterator[Batch]:
    """Read the records of row groups in the order of `groups`. A file and a number in this file name a row group."""
    from concurrent.futures import ThreadPoolExecutor

    waiting: deque[Future[Batch]] = deque()
    with ThreadPoolExecutor(max(1, readers)) as pool:
        try:
            for path, group in groups:
                waiting.append(pool.submit(read, path, group, columns))
                if len(waiting) > readers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for task in waiting:
                task.cancel()


def build(
    path: str | os.PathLike[str],
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    key_file: str | os.PathLike[str],
    vectors: str,
    ids: str | None = None,
    attributes: Iterable[str] = (),
    mode: Literal["masked", "open", "routed", "sealed"] = "masked",
    metric: Metric = "cosine",
    recall: float = 0.95,
    k: int = 10,
    queries: int = 100,
    packing: Literal[4, 8, 16, 32, 64] | None = None,
    routing: Literal["downloaded", "encrypted"] | None = None,
    processes: int | None = None,
    segment: int | None = None,
) -> Index:
    """Build an index from Parquet files with several processes.

    `sordino.ray.build` spreads the work over machines. In masked and open mode the processes make the index's
    segments. In routed and sealed mode this process trains clusters on a sample, and the others assign the records
    to clusters. This process then reads all records once more and makes the index, which it holds in memory as
    `sordino.build` does. The number of clusters is the planned one; `sordino.build` may train a different number
    after a look at the first.

    A process that is killed stops the build, and the next build starts from the beginning. Programs that call this
    must guard their start with `if __name__ == "__main__":`, as `multiprocessing` requires.

    Parameters
    ----------
    path : path
        The index's directory, as for `sordino.build`.
    files : path or iterable of path
        The files, as for `batches`.
    key_file : path
        The file of the owner's key, which `OwnerKey.save` wrote. Each process reads it.
    vectors, ids, attributes : str, str, iterable of str
        The columns, as for `batches`. Payloads need `sordino.build`.
    mode, metric, recall, k, queries, packing, routing : optional
        As for `sordino.build`.
    processes : int, optional
        The number of processes. The default is the number of processors. Each process needs about 28 bytes of memory
        for every coordinate of its segment.
    segment : int, optional
        The smallest number of records of a task: by default 131,072, and 16,384 in routed and sealed mode. Row groups are not
        divided.

    Returns
    -------
    Index
        The new index.

    Raises
    ------
    Error
        As for `sordino.build` and `batches`.
    """
    import multiprocessing
    from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait

    from ._tasks import Job, Task, make, settings_of
    from ._tasks import build as assembled

    count = max(1, processes or os.cpu_count() or 1)

    def run(job: Job, tasks: Iterator[Task]) -> Iterator[bytes]:
        # Forking would copy threads that hold locks.
        with ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _threads, (count,)) as pool:
            waiting = set()
            try:
                for task in tasks:
                    waiting.add(pool.submit(make, job, task))
                    # Limits the results that are held here.
                    while len(waiting) > count + 1:
                        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                        yield from (done.pop().result() for _ in range(len(done)))
                while waiting:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from (done.pop().result() for _ in range(len(done)))
            finally:
                for one in waiting:
                    one.cancel()

    settings = settings_of(mode, metric, k, queries, packing, recall, routing)
    return assembled(
        path, files, run, key_file=key_file, vectors=vectors, ids=ids, attributes=attributes, settings=settings, segment=segment
    )


def _threads(processes: int) -> None:
    """Divide the processors among processes; otherwise each would use all of them."""
    os.environ.setdefault("RAYON_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))


def groups(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Iterator[tuple[str, int]]:
    """Return the row groups of files, each by its file and its number in the file.

    Raises
    ------
    MissingFileError, FormatError
        If a file cannot be read.
    """
    for path, group, _ in sizes(paths):
        yield path, group


def sizes(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Iterator[tuple[str, int, int]]:
    """Return what `groups` returns, with the number of records of each row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in _files(paths):
        try:
            with _open(path) as file:
                known = pq.read_metadata(file)
                rows = [known.row_group(group).num_rows for group in range(known.num_row_groups)]
        except OSError as error:
            raise UnreadableError(f"{path}: {error}") from None
        except pa.ArrowException as error:
            raise FormatError(f"{path}: {error}") from None
        yield from ((path, group, count) for group, count in enumerate(rows))


def read(path: str, group: int, columns: Columns) -> Batch:
    """Return the records of a row group. Raise the errors of `batches`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    wanted = [columns["vectors"], columns.get("ids"), columns.get("payloads"), *columns.get("attributes", ())]
    own = list(dict.fromkeys(name for name in wanted if name is not None))
    try:
        with _open(path) as opened, pq.ParquetFile(opened) as file:
            table = file.read_row_group(group, columns=own, use_threads=False)
        return batch(table, **columns)
    except OSError as error:
        raise UnreadableError(f"{path}: {error}") from None
    except pa.ArrowException as error:
        raise FormatError(f"{path}: {error}") from None
    except (AttributesError, DtypeError, FormatError, IdsError, PayloadError, ShapeError) as error:
        raise type(error)(f"{path}: row group {group}: {error}") from None


def batch(
    table: pa.Table,
    *,
    vectors: str,
    ids: str | None = None,
    payloads: str | None = None,
    attributes: Iterable[str] = (),
) -> Batch:
    """Return the records of a table.

    Raises
    ------
    FormatError, ShapeError, DtypeError, IdsError, AttributesError
        If a column cannot be used.
    """
    columns = {name: _column(table, name) for name in names(attributes)}
    return Batch(
        _matrix(_column(table, vectors), vectors),
        None if ids is None else _ids(_column(table, ids), ids),
        None if payloads is None else _column(table, payloads).to_pylist(),
        columns or None,
    )


def _place(path: str) -> tuple[Any, str]:
    from pyarrow import fs

    place: tuple[Any, str] = fs.FileSystem.from_uri(path if "://" in path else os.path.abspath(path))
    return place


def _open(path: str) -> Any:
    system, name = _place(path)
    return system.open_input_file(name)


# The folders inside a table of Delta Lake, of Iceberg and of Lance.
_TABLES = ({"_delta_log"}, {"metadata", "data"}, {"_versions"})


def _files(paths: Any) -> Iterator[str]:
    import pyarrow as pa
    from pyarrow import fs

    # Records without ids are numbered in the order of their files.
    ordered(paths, "paths", InputError)
    check_column(paths, "paths", InputError)
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        path = os.fspath(path)
        try:
            system, name = _place(path)
            kind = system.get_file_info(name).type
        except OSError as error:
            raise UnreadableError(f"{path}: {error}") from None
        except pa.ArrowException as error:
            raise FormatError(f"{path}: {error}") from None
        if kind == fs.FileType.NotFound:
            raise MissingFileError(f"there is no file {path}")
        if kind != fs.FileType.Directory:
            yield path
            continue
        inside = system.get_file_info(fs.FileSelector(name))
        folders = sorted(info.base_name for info in inside if info.type == fs.FileType.Directory)
        if any(table <= set(folders) for table in _TABLES):
            raise FormatError(f"{path}: a table whose folder keeps the files of removed rows: expected the list of files that its own reader gives for a version")
        names = sorted(info.base_name for info in inside if info.type != fs.FileType.Directory and info.base_name.endswith(".parquet"))
        if not names:
            hint = f", and its folders, such as {folders[0]}, are not read: give a list of files, as sorted(pathlib.Path(...).rglob('*.parquet'))" if folders else ""
            raise MissingFileError(f"there is no file that ends in .parquet in {path}{hint}")
        yield from (f"{path.rstrip('/')}/{name}" for name in names)


def _column(table: pa.Table, name: str) -> pa.Array:
    import pyarrow as pa

    if name not in table.column_names:
        raise FormatError(f"no column {name!r}: found {', '.join(table.column_names) or 'none'}")
    column = table.column(name).combine_chunks()
    # For some types the result is one array, for others still chunks.
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column


def _matrix(column: pa.Array, name: str) -> Any:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    # Ray and others have a type of their own for arrays, which is stored as lists.
    column = getattr(column, "storage", column)
    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        raise DtypeError(f"column {name!r} of type {kind}: expected lists of numbers")
    if not (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)):
        raise DtypeError(f"column {name!r} of type {kind}: expected lists of numbers")
    if column.null_count:
        raise ShapeError(f"column {name!r}: {column.null_count} vectors are null")
    if len(column) == 0:
        return np.empty((0, 1), np.float32)
    shortest, longest = pc.min_max(pc.list_value_length(column)).as_py().values()
    if shortest != longest or longest == 0:
        raise ShapeError(f"column {name!r}: vectors of {shortest} to {longest} numbers, expected one length")
    values = column.flatten().to_numpy(zero_copy_only=False)
    return values.astype(np.float32, copy=False).reshape(len(column), longest)


def _ids(column: pa.Array, name: str) -> Any:
    import pyarrow as pa

    if column.null_count:
        raise IdsError(f"column {name!r}: {column.null_count} ids are null")
    return column.to_numpy(zero_copy_only=False) if pa.types.is_integer(column.type) else column.to_pylist()
