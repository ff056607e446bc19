"""Streams of batches, and those that come from Parquet files."""

import os
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
                "year": pa.array([int(number) % 50 + 1970 if number % 3 else None for number in ids[rows]], pa.int32()),
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
    # More records, from a list of files.
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


def test_folders_in_a_folder_are_named_and_tables_refused(tmp_path):
    for year in (2023, 2024):
        folder = tmp_path / "lake" / f"year={year}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"v": [[float(year), 1.0]]}), folder / "part-0.parquet")
    with pytest.raises(sordino.MissingFileError, match=r"in .*lake, and its folders, such as year=2023, are not read: give a list of files, as sorted\("):
        list(batches(tmp_path / "lake", vectors="v"))
    read = list(batches(sorted((tmp_path / "lake").rglob("*.parquet")), vectors="v"))
    assert [batch.vectors[0, 0] for batch in read] == [2023, 2024]
    # A folder whose name ends like a file's name is not read as a file, and files next to folders are read.
    (tmp_path / "lake" / "old.parquet").mkdir()
    pq.write_table(pa.table({"v": [[1.0, 1.0]]}), tmp_path / "lake" / "x.parquet")
    assert len(list(batches(tmp_path / "lake", vectors="v"))) == 1
    for names in (["_delta_log"], ["metadata", "data"], ["_versions"]):
        for name in names:
            (tmp_path / names[0] / name).mkdir(parents=True)
        pq.write_table(pa.table({"v": [[1.0, 1.0]]}), tmp_path / names[0] / "x.parquet")
        with pytest.raises(sordino.FormatError, match="removed rows: expected the list of files"):
            list(batches(tmp_path / names[0], vectors="v"))


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
    # Records without ids are numbered in the order of files, which a set lacks.
    refused(sordino.InputError, "a set", path={str(folder / "part-0.parquet"), str(folder / "part-1.parquet")})
    refused(sordino.MissingFileError, "no file", path=tmp_path / "none.parquet")
    (tmp_path / "empty").mkdir()
    refused(sordino.MissingFileError, r"\.parquet", path=tmp_path / "empty")
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes((folder / "part-0.parquet").read_bytes()[:-9])
    refused(sordino.FormatError, "damaged", path=damaged)
    # A temporary failure of the file system differs from other damage: code that repeats tasks looks for an OSError.
    missing = str(folder / "part-0.parquet")
    group, *_ = sordino.parquet.groups(missing)
    os.rename(missing, tmp_path / "away.parquet")
    with pytest.raises(OSError) as failed:
        sordino.parquet.read(*group, {"vectors": "embedding"})
    assert isinstance(failed.value, sordino.UnreadableError) and isinstance(failed.value, sordino.FormatError)
    os.rename(tmp_path / "away.parquet", missing)
    # A null coordinate is not a number.
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
    # Row groups of 110, 110 and 80 records: two or three make a segment.
    assert (len(index), info["segments"], info["version"]) == (N, 4, 1)
    assert index.verify()["full"]
    with sordino.Client(index, key=key.reader()) as client:
        found = client.search(vectors[::100])
    assert (found.ids[:, 0] == ids[::100]).all()
    # Attributes are stored too, as null if there are none.
    filtered = sordino.parquet.build(tmp_path / "filtered", folder, ids="id", attributes=["year"], **choices)
    streamed = sordino.build(tmp_path / "streamed", batches(folder, vectors="embedding", ids="id", attributes=["year"]), key=key)
    for one in (filtered, streamed):
        with sordino.Client(one, key=key.reader()) as client:
            found = client.search(vectors[:3], where="year = 1977").ids
            assert (found % 50 == 7).all() and (found % 3 != 0).all()
            assert client.attributes([5057, 5007]) == [{"year": 1977}, {}]
    # Records without ids are numbered in the order of the files, whichever process reads them.
    numbered = sordino.parquet.build(tmp_path / "numbered", folder, mode="open", **choices)
    with sordino.Client(numbered, key=key.reader()) as client:
        assert client.search(vectors[[3, 700, 1199]]).ids[:, 0].tolist() == [3, 700, 1199]
    # The index can be changed like any other.
    numbered.delete([3])
    assert len(numbered) == N - 1
    with pytest.raises(sordino.ExistsError):
        sordino.parquet.build(tmp_path / "index", folder, ids="id", **choices)


def test_what_tasks_cannot_make_leaves_no_index(lake, tmp_path, key):
    folder, vectors, ids = lake
    key.save(tmp_path / "owner.key")
    choices = {"vectors": "embedding", "ids": "id", "key_file": tmp_path / "owner.key", "processes": 2, "segment": 300}
    with pytest.raises(sordino.InputError, match="masked"):
        sordino.parquet.build(tmp_path / "index", folder, mode="local", **choices)
    for attributes, match in ("year", "one str"), (["years"], "no column 'years'"), (["embedding"], "is a list"):
        with pytest.raises((sordino.AttributesError, sordino.FormatError, sordino.DtypeError), match=match):
            sordino.parquet.build(tmp_path / "index", folder, attributes=attributes, **choices)
    with pytest.raises(sordino.MissingFileError):
        sordino.parquet.build(tmp_path / "index", tmp_path / "nothing", **choices)
    # An id in two files; and a zero vector, which a process finds.
    pq.write_table(pa.table({"embedding": list(vectors[:1]), "id": ids[-1:]}), tmp_path / "again.parquet")
    files = [*sorted(folder.iterdir()), tmp_path / "again.parquet"]
    with pytest.raises(sordino.IdsError, match=str(ids[-1])):
        sordino.parquet.build(tmp_path / "index", files, **choices)
    pq.write_table(pa.table({"embedding": [np.zeros(DIM, np.float32)], "id": [1]}), tmp_path / "again.parquet")
    for mode in ("masked", "sealed"):
        # The error names the record by its number among all records.
        with pytest.raises(sordino.ZeroVectorError, match=f"row {N} "):
            sordino.parquet.build(tmp_path / "index", files, mode=mode, **choices)
    with pytest.raises(sordino.InputError, match="object stores"):
        sordino.parquet.build("s3://bucket/index", folder, **choices)
    with pytest.raises(sordino.InputError, match="object stores"):
        sordino.build("s3://bucket/index", vectors, key=key)
    with pytest.raises(sordino.NoIndexError):
        sordino.open(tmp_path / "index")
    # Files that failed builds left do not hinder the next.
    assert len(sordino.parquet.build(tmp_path / "index", folder, **choices)) == N


def test_a_task_that_is_done_twice_or_killed_is_taken_once(lake, tmp_path, key):
    """As on a cluster: attempts fail after they have written, others run twice, and results come in any order."""
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

    settings = _tasks.settings_of("masked", "cosine", 2, 100, None)
    columns = {"vectors": "embedding", "ids": "id"}
    index = _tasks.build(tmp_path / "index", folder, run, key_file=tmp_path / "owner.key", settings=settings, segment=300, **columns)
    assert len(index) == N and index.verify()["full"]
    # Four segments of three parts, the list of deletions and the frame: nothing of the other attempts is left.
    assert len(list((tmp_path / "index" / "parts").iterdir())) == 4 * 3 + 2
    with sordino.Client(index, key=key.reader()) as client:
        assert (client.search(vectors[::100]).ids[:, 0] == ids[::100]).all()


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    """Vectors around 40 centres, cluster after cluster, so that no file has a sample of all; and others to ask for."""
    folder = tmp_path_factory.mktemp("clusters")
    random = np.random.default_rng(7)
    centres = random.standard_normal((40, DIM), dtype=np.float32)
    around = np.repeat(centres, 100, axis=0)
    vectors = around + 0.6 * random.standard_normal(around.shape, dtype=np.float32)
    queries = centres + 0.6 * random.standard_normal(centres.shape, dtype=np.float32)
    ids = random.permutation(len(vectors)) + 5000
    for part in range(4):
        rows = slice(part * 1000, (part + 1) * 1000)
        table = pa.table({"embedding": list(vectors[rows]), "id": ids[rows]})
        pq.write_table(table, folder / f"part-{part}.parquet", row_group_size=300)
    return folder, vectors, ids, queries


def recall(index, key, vectors, ids, queries):
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    with sordino.Client(index, key=key.reader()) as client:
        found = client.search(queries).ids
    true = [set(ids[np.argsort(-(units @ query))[:10]]) for query in queries]
    return np.mean([len(best & set(some)) / 10 for best, some in zip(true, found)])


@pytest.mark.parametrize("mode", ["routed", "sealed"])
def test_records_are_assigned_to_clusters_by_processes(mode, clusters, tmp_path, key):
    folder, vectors, ids, queries = clusters
    key.save(tmp_path / "owner.key")
    # Builds stop at the first number of probes with this recall, so both have at least this recall.
    choices = {"mode": mode, "recall": 0.975, "queries": 10, "k": 10}
    apart = sordino.parquet.build(
        tmp_path / "apart", folder, vectors="embedding", ids="id", key_file=tmp_path / "owner.key", processes=2, segment=900, **choices
    )
    whole = sordino.build(tmp_path / "whole", batches(folder, vectors="embedding", ids="id"), key=key, **choices)
    assert (len(apart), apart.info()["mode"], apart.info()["segments"]) == (len(vectors), mode, 1)
    assert apart.verify()["full"]
    assert abs(apart.expected_recall - whole.expected_recall) < 0.02
    found = [recall(index, key, vectors, ids, queries) for index in (apart, whole)]
    assert min(found) > 0.93 and abs(found[0] - found[1]) < 0.05
    # The index can be changed like any other.
    apart.delete(ids[:5])
    apart.compact()
    assert len(apart) == len(vectors) - 5


def test_lists_of_a_task_that_is_done_twice_or_killed_are_taken_once(clusters, tmp_path, key):
    from sordino import _tasks

    folder, vectors, ids, queries = clusters
    key.save(tmp_path / "owner.key")
    settings = _tasks.settings_of("routed", "euclidean", 10, 10, None, 0.9)
    choices = {"key_file": tmp_path / "owner.key", "vectors": "embedding", "ids": None, "settings": settings, "segment": 900}

    def run(job, tasks):
        for task in reversed(list(tasks)):
            lost, first, second = (_tasks.make(job, task) for _ in range(3))
            # Lists are the same at each attempt.
            assert lost == first == second
            yield first
            yield second

    index = _tasks.build(tmp_path / "index", folder, run, **choices)
    assert len(index) == len(vectors) and index.verify()["full"]
    # A full cluster's records are in the next one, so queries do not find a few of them: 3 of 80 at this recall, at most 7 so far.
    rows = np.arange(3, len(vectors), 50)
    with sordino.Client(index, key=key.reader()) as client:
        assert (client.search(vectors[rows]).ids[:, 0] == rows).mean() > 0.8

    def refused(run, error, text=""):
        with pytest.raises(error, match=text):
            _tasks.build(tmp_path / "other", folder, run, **choices)
        assert not (tmp_path / "other").exists()

    foreign = []

    def kept(job, tasks):
        foreign.extend(_tasks.make(job, task) for task in tasks)
        yield from foreign[1:]

    def wrong(job, tasks):
        yield foreign[0]

    def damaged(job, tasks):
        yield _tasks.make(job, next(tasks))[:-1]

    def failing(job, tasks):
        yield _tasks.make(job, next(tasks))
        raise OSError("a machine is gone")

    def shifted(job, tasks):
        for task in tasks:
            yield _tasks.make(job, task._replace(first=task.first + 1))

    refused(kept, sordino.MalformedError, "no lists of task 0")
    refused(wrong, sordino.MalformedError, "another build")
    refused(damaged, sordino.MalformedError, "this owner's key")
    refused(failing, OSError, "gone")
    refused(shifted, sordino.MalformedError, "more records than there are")
    with pytest.raises(sordino.ExistsError):
        _tasks.build(tmp_path / "index", folder, run, **choices)


def test_records_that_change_between_task_and_end_leave_no_index(clusters, tmp_path, key):
    from sordino import _tasks

    _, vectors, ids, _ = clusters
    key.save(tmp_path / "owner.key")
    path = tmp_path / "lake.parquet"

    def write(vectors):
        pq.write_table(pa.table({"embedding": list(vectors)}), path, row_group_size=500)

    settings = _tasks.settings_of("sealed", "cosine", 10, 10, None, 0.9, "downloaded")
    choices = {"key_file": tmp_path / "owner.key", "vectors": "embedding", "ids": None, "settings": settings, "segment": 500}
    for changed, text in [(vectors[::-1], "others than task 0"), (vectors[:3990], "fewer records")]:
        write(vectors)

        def run(job, tasks):
            yield from [_tasks.make(job, task) for task in tasks]
            write(changed)  # noqa: B023  (called within this turn)

        with pytest.raises(sordino.MalformedError, match=text):
            _tasks.build(tmp_path / "index", path, run, **choices)
        assert not (tmp_path / "index").exists()
    write(vectors)
    with pytest.raises(sordino.InputError):
        _tasks.build(tmp_path / "index", path, run, **choices | {"settings": settings | {"routing": "unknown"}})
