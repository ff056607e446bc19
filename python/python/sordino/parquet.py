"""Records from Parquet files, as `sordino.build` reads them: vectors with ids, payloads and attributes from columns of their own.

    index = sordino.build("my.index", sordino.parquet.batches("lake/", vectors="embedding", ids="id"), key=key)

Files are read by threads, a few row groups ahead, in their order; `build` has several processes read them and make segments. Needs pyarrow. For a file of nothing but vectors its path is enough,
and no package.
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
    """The names of attributes; one alone is no list of its letters."""
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
    """The records of Parquet files, a row group at a time.

    paths: a file, a directory (its files that end in .parquet, by name), or several of these, in their order; paths, or URIs of a
        file system that pyarrow has (`s3://bucket/lake`).
    vectors: the column of lists of numbers, all of one length.
    ids, payloads: the columns of ids (integers or texts) and payloads (bytes or texts).
    attributes: the columns by which clients filter (numbers, truth values or texts, null where a record has none), under their names.
    readers: threads that read; so many row groups and one more are in memory.

    Raises `MissingFileError`, `UnreadableError`, `FormatError`, `ShapeError`, `DtypeError`, `IdsError`, `PayloadError`,
    `AttributesError`.
    """
    columns: Columns = {"vectors": vectors, "ids": ids, "payloads": payloads, "attributes": names(attributes)}
    return stream(groups(paths), columns, readers)


def stream(groups: Iterable[tuple[str, int]], columns: Columns, readers: int = 2) -> Iterator[Batch]:
    """The records of row groups, each named by its file and its number there, in this order; `columns` has the names that `batch` takes."""
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
    """Makes an index of Parquet files by several processes; `sordino.ray.build` spreads the work over machines.

    In masked and open mode they make the index's segments. In routed and sealed mode this process trains clusters on a sample, the others assign the
    records to them, and this one reads all records once more and makes the index, which it holds in memory as `sordino.build` does. The number of
    clusters is the planned one, where `sordino.build` may train another number after a look at what the first finds.

    path: the index's directory, as of `sordino.build`.
    files, vectors, ids, attributes: as of `batches`. Payloads are for `sordino.build`.
    key_file: the owner's key, as `OwnerKey.save` has written it: each process reads it from there.
    mode, metric, recall, k, queries, packing, routing: as of `sordino.build`.
    processes: so many, else as many as processors. Each takes some 28 bytes for every coordinate of its segment. Programs that call this are to guard their start by
        `if __name__ == "__main__":`, as `multiprocessing` asks for.
    segment: records of a task at least, else 131,072, and 16,384 in routed and sealed mode; row groups are not divided.

    A process that is killed stops the build; the next one does all tasks anew.

    Raises what `sordino.build` and `batches` do.
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
                    # Results are not kept here as well.
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
    """Shares the processors among processes, each of which would else take all."""
    os.environ.setdefault("RAYON_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))


def groups(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Iterator[tuple[str, int]]:
    """The row groups of files, each by its file and its number there. Raises `MissingFileError`, `FormatError`."""
    for path, group, _ in sizes(paths):
        yield path, group


def sizes(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Iterator[tuple[str, int, int]]:
    """The same with the number of records of each."""
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
    """The records of a row group; `columns` has the names that `batch` takes. Raises what `batches` does."""
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
    """The records of a table. Raises `FormatError`, `ShapeError`, `DtypeError`, `IdsError`, `AttributesError`."""
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


def _files(paths: Any) -> Iterator[str]:
    import pyarrow as pa
    from pyarrow import fs

    # Records without ids are numbered in the order of their files.
    ordered(paths, "paths", InputError)
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
        inside = (info.base_name for info in system.get_file_info(fs.FileSelector(name)))
        names = sorted(name for name in inside if name.endswith(".parquet"))
        if not names:
            raise MissingFileError(f"there is no file that ends in .parquet in {path}")
        yield from (f"{path.rstrip('/')}/{name}" for name in names)


def _column(table: pa.Table, name: str) -> pa.Array:
    import pyarrow as pa

    if name not in table.column_names:
        raise FormatError(f"no column {name!r}: found {', '.join(table.column_names) or 'none'}")
    column = table.column(name).combine_chunks()
    # For some types that is one array, for others still chunks.
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
