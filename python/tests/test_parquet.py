"""Streams of batches, and those that come from Parquet files."""

import uuid

import numpy as np
import pytest

import sordino

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

import sordino.parquet  # noqa: E402
from sordino.parquet import batches  # noqa: E402

N, DIM = 1200, 16


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Four files with several row groups each, ids that are not the rows' numbers, and payloads."""
    folder = tmp_path_factory.mktemp("lake")
    vectors = np.random.default_rng(5).standard_normal((N, DIM), dtype=np.float32)
    ids = np.random.default_rng(6).permutation(N) + 5000
    for part in range(4):
        rows = slice(part * N // 4, (part + 1) * N // 4)
        kind = [pa.list_(pa.float32()), pa.list_(pa.float64()), pa.list_(pa.float32(), DIM), pa.large_list(pa.float32())][part]
        table = pa.table(
            {
                "other": pa.nulls(N // 4),
                "embedding": pa.array(list(vectors[rows]), kind),
                "id": ids[rows],
                "text": [f"record {number}" for number in ids[rows]],
            }
        )
        pq.write_table(table, folder / f"part-{part}.parquet", row_group_size=110)
    return folder, vectors, ids


def test_an_index_of_parquet_files(lake, tmp_path, key):
    folder, vectors, ids = lake
    columns = {"vectors": "embedding", "ids": "id", "payloads": "text"}
    index = sordino.build(tmp_path / "index", batches(folder, **columns), key=key, k=2)
    assert len(index) == N
    with sordino.Client(index, key=key.reader()) as client:
        found = client.search(vectors[::100])
    assert (found.ids[:, 0] == ids[::100]).all()
    assert [some[0] for some in found.payloads] == [f"record {number}".encode() for number in ids[::100]]
    # More of them, from a list of files.
    more = tmp_path / "more.parquet"
    pq.write_table(pa.table({"embedding": list(vectors[:10] + 9), "id": np.arange(10), "text": ["new"] * 10}), more)
    index.add(batches([more], **columns))
    assert len(index) == N + 10


def test_files_without_ids_are_numbered_in_their_order(lake, tmp_path, key):
    folder, vectors, _ = lake
    for readers in (1, 5):
        stream = batches(folder, vectors="embedding", readers=readers)
        read = np.concatenate([batch.vectors for batch in stream])
        assert read.dtype == np.float32 and (read == vectors).all()
    index = sordino.build(tmp_path / "index", batches(folder, vectors="embedding"), key=key)
    with sordino.Client(index, key=key.reader()) as client:
        assert client.search(vectors[[3, 700]]).ids[:, 0].tolist() == [3, 700]


def test_wrong_files_are_named(lake, tmp_path):
    folder, vectors, _ = lake

    def refused(error, text, table=None, path=None, **columns):
        path = path or tmp_path / "wrong.parquet"
        if table is not None:
            pq.write_table(pa.table(table), path)
        with pytest.raises(error, match=text):
            list(batches(path, **({"vectors": "v"} | columns)))

    rows = [[1.0, 2.0], [3.0, 4.0]]
    refused(sordino.ShapeError, "1 to 2 numbers", {"v": [[1.0], [2.0, 3.0]]})
    refused(sordino.ShapeError, "1 vectors are null", {"v": [[1.0], None]})
    refused(sordino.DtypeError, "lists of numbers", {"v": [1.0, 2.0]})
    refused(sordino.DtypeError, "lists of numbers", {"v": [["a"], ["b"]]})
    refused(sordino.FormatError, "no column 'v'", {"w": rows})
    refused(sordino.IdsError, "1 ids are null", {"v": rows, "id": [1, None]}, ids="id")
    refused(sordino.MissingFileError, "no file", path=tmp_path / "none.parquet")
    (tmp_path / "empty").mkdir()
    refused(sordino.MissingFileError, r"\.parquet", path=tmp_path / "empty")
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes((folder / "part-0.parquet").read_bytes()[:-9])
    refused(sordino.FormatError, "damaged", path=damaged)
    # A hole is not a number.
    pq.write_table(pa.table({"v": pa.array([[1.0, None], [3.0, 4.0]])}), tmp_path / "hole.parquet")
    with pytest.raises(sordino.NotFiniteError):
        sordino.build(tmp_path / "index", batches(tmp_path / "hole.parquet", vectors="v"), key=sordino.keygen())


def test_batches_agree_with_each_other(tmp_path, key):
    rows = np.eye(4, dtype=np.float32)
    one, other = uuid.uuid4(), uuid.uuid4()

    def built(*batches, **more):
        return sordino.build(tmp_path / uuid.uuid4().hex, iter(batches), key=key, k=1, **more)

    index = built(sordino.Batch(rows[:1], [one]), sordino.Batch(rows[:0], []), sordino.Batch(rows[1:2], [other]))
    with sordino.Client(index, key=key) as client:
        assert client.search(rows[1]).ids[0, 0] == other
    for wrong in [
        lambda: built(sordino.Batch(rows, [1, 2, 3, 4]), sordino.Batch(rows)),
        lambda: built(sordino.Batch(rows), sordino.Batch(rows, payloads=[b""] * 4)),
        lambda: built(sordino.Batch(rows), rows),
        lambda: built(rows, sordino.Batch(rows)),
        lambda: built(sordino.Batch(rows, [1, 2, 3])),
        lambda: built(sordino.Batch(rows, payloads=["a"])),
        lambda: built(sordino.Batch(rows, [1, 2, 3, 4]), sordino.Batch(rows, [4, 5, 6, 7])),
        lambda: built(sordino.Batch(rows, [1, 2, 3, 4]), sordino.Batch(rows, list("abcd"))),
        lambda: built(sordino.Batch(rows), ids=[1, 2, 3, 4]),
        lambda: built(sordino.Batch(rows), payloads=["a"] * 4),
    ]:
        with pytest.raises(sordino.InputError):
            wrong()


def test_segments_are_made_by_processes(lake, tmp_path, key):
    folder, vectors, ids = lake
    key.save(tmp_path / "owner.key")
    choices = {"vectors": "embedding", "key_file": tmp_path / "owner.key", "processes": 2, "segment": 300, "k": 2}
    index = sordino.parquet.build(tmp_path / "index", folder, ids="id", **choices)
    info = index.info()
    # Row groups of 110, 110 and 80 records: two or three are a segment.
    assert (len(index), info["segments"], info["version"]) == (N, 4, 1)
    assert index.verify()["full"]
    with sordino.Client(index, key=key.reader()) as client:
        found = client.search(vectors[::100])
    assert (found.ids[:, 0] == ids[::100]).all()
    # Records without ids are numbered in the order of the files, whichever process reads them.
    numbered = sordino.parquet.build(tmp_path / "numbered", folder, mode="open", **choices)
    with sordino.Client(numbered, key=key.reader()) as client:
        assert client.search(vectors[[3, 700, 1199]]).ids[:, 0].tolist() == [3, 700, 1199]
    # It is changed like any other.
    numbered.delete([3])
    assert len(numbered) == N - 1
    with pytest.raises(sordino.ExistsError):
        sordino.parquet.build(tmp_path / "index", folder, ids="id", **choices)


def test_what_tasks_cannot_make_leaves_no_index(lake, tmp_path, key):
    folder, vectors, ids = lake
    key.save(tmp_path / "owner.key")
    choices = {"vectors": "embedding", "ids": "id", "key_file": tmp_path / "owner.key", "processes": 2, "segment": 300}
    with pytest.raises(sordino.InputError, match="masked"):
        sordino.parquet.build(tmp_path / "index", folder, mode="sealed", **choices)
    with pytest.raises(sordino.MissingFileError):
        sordino.parquet.build(tmp_path / "index", tmp_path / "nothing", **choices)
    # An id in two files, and a vector that is zero, which a process finds.
    pq.write_table(pa.table({"embedding": list(vectors[:1]), "id": ids[-1:]}), tmp_path / "again.parquet")
    files = [*sorted(folder.iterdir()), tmp_path / "again.parquet"]
    with pytest.raises(sordino.IdsError, match=str(ids[-1])):
        sordino.parquet.build(tmp_path / "index", files, **choices)
    pq.write_table(pa.table({"embedding": [np.zeros(DIM, np.float32)], "id": [1]}), tmp_path / "again.parquet")
    with pytest.raises(sordino.ZeroVectorError):
        sordino.parquet.build(tmp_path / "index", files, **choices)
    with pytest.raises(sordino.NoIndexError):
        sordino.open(tmp_path / "index")
    # Files that are left over are no hindrance.
    assert len(sordino.parquet.build(tmp_path / "index", folder, **choices)) == N


def test_a_task_that_is_done_twice_or_killed_is_taken_once(lake, tmp_path, key):
    """As a cluster does it: attempts fail after they have written, others run twice, and results come in any order."""
    from sordino import _tasks

    folder, vectors, ids = lake
    key.save(tmp_path / "owner.key")

    def run(job, tasks):
        tasks = list(tasks)
        for task in reversed(tasks):
            lost, first, second = (_tasks.make(job, task) for _ in range(3))
            assert len({lost, first, second}) == 3
            yield first
            yield second

    settings = _tasks.settings_of("masked", "cosine", 2, 100, None, None)
    columns = {"vectors": "embedding", "ids": "id"}
    index = _tasks.build(tmp_path / "index", folder, run, key_file=tmp_path / "owner.key", settings=settings, segment=300, **columns)
    assert len(index) == N and index.verify()["full"]
    # Four segments of two parts, and the list of deletions: nothing of the other attempts is left.
    assert len(list((tmp_path / "index" / "parts").iterdir())) == 9
    with sordino.Client(index, key=key.reader()) as client:
        assert (client.search(vectors[::100]).ids[:, 0] == ids[::100]).all()
