"""Migrations from the stores themselves, each written by its own client: what is in the index is what was in the store, and searches find the same."""

import json
import os
import shlex
import tempfile
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path

import numpy as np
import postgres
import pytest

import sordino
from sordino.migrate import main

N, DIM, QUERIES, K = 10_000, 32, 20, 10


@pytest.fixture(scope="module")
def many():
    """Vectors in clusters, and queries near some of them."""
    rng = np.random.default_rng(3)
    centres = rng.standard_normal((50, DIM))
    vectors = (centres[rng.integers(50, size=N)] + 0.7 * rng.standard_normal((N, DIM))).astype(np.float32)
    return vectors, (vectors[rng.integers(N, size=QUERIES)] + 0.3 * rng.standard_normal((QUERIES, DIM))).astype(np.float32)


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Migrates; returns what was told, or the error as a text."""
    monkeypatch.chdir(tmp_path)
    sordino.keygen().save("owner.key")

    def run(*line, index="my.index"):
        store, *rest = map(str, line)
        capsys.readouterr()
        code = main([store, rest[0], index, "--key", "owner.key", "--json", *rest[1:]])
        out, err = capsys.readouterr()
        return json.loads(out) if code == 0 else json.loads(err)["error"]

    return run


def held(ids, index="my.index"):
    """Payloads and attributes of these records, of an index that has been checked."""
    key = sordino.OwnerKey.load("owner.key")
    opened = sordino.open(index, key=key)
    opened.verify()
    assert len(opened) == len(ids)
    with sordino.Client(opened, key=key.reader()) as client:
        return client.payloads(ids), client.attributes(ids)


def same_answers(queries, theirs, index="my.index"):
    """Compares the first ten of both for each query. Noise of hidden scores may exchange records that are almost equally near."""
    key = sordino.OwnerKey.load("owner.key")
    with sordino.Client(sordino.open(index, key=key), key=key.reader()) as client:
        ours = client.search(queries, K).ids.tolist()
    assert all(len(one) == K for one in theirs)
    shared = [len({str(id) for id in own} & {str(id) for id in other}) / K for own, other in zip(ours, theirs, strict=True)]
    assert np.mean(shared) >= 0.98, shared
    firsts = [str(own[0]) == str(other[0]) for own, other in zip(ours, theirs, strict=True)]
    assert np.mean(firsts) >= 0.9, firsts


# Chroma


@pytest.fixture
def chroma(tmp_path):
    chromadb = pytest.importorskip("chromadb")
    opened = chromadb.PersistentClient(str(tmp_path / "chroma"), settings=chromadb.config.Settings(anonymized_telemetry=False))

    def make(name, space=None, **more):
        configuration = {"hnsw": {"space": space, "ef_search": 500}} if space else None
        return opened.create_collection(name, configuration=configuration, embedding_function=None, **more)

    return make


def test_chroma_with_what_its_users_have(chroma, run, many):
    vectors, queries = many
    notes = chroma("notes", "cosine")
    ids = [f"nöte/{at}" for at in range(N)]
    texts = [None if at % 3 == 0 else f"tëxt {at}" for at in range(N)]
    metadata = [None if at % 5 == 0 else {"n": at, "share": at / 2, "even": at % 2 == 0, "lang": ["en", "日本"][at % 2]} for at in range(N)]
    for at in range(1, N, 7):
        if metadata[at] is not None:
            metadata[at]["tags"] = ["a", "b"]
    for first in range(0, N, 2500):
        part = slice(first, first + 2500)
        notes.add(ids=ids[part], embeddings=vectors[part], documents=texts[part], metadatas=metadata[part])
    notes.delete(ids=ids[100:110])
    notes.update(ids=[ids[1]], embeddings=vectors[1:2], documents=["other"])
    texts[1] = "other"
    left = [at for at in range(N) if not 100 <= at < 110]

    told = run("chroma", "chroma")
    assert (told["rows"], told["records"], told["left_out"]) == (N - 10, N - 10, 0)
    assert (told["metric"], told["ids"], told["dim"]) == ("cosine", "text", DIM)
    assert told["attributes"] == {"n": "int", "share": "float", "even": "bool", "lang": "text"} and told["kept"] == {"tags": "lists"}
    payloads, attributes = held([ids[at] for at in left])
    for at, payload, found in zip(left, payloads, attributes, strict=True):
        expected = dict(metadata[at] or {})
        tags = expected.pop("tags", None)
        assert json.loads(payload) == {"text": texts[at], "metadata": {} if tags is None else {"tags": tags}}
        assert found == expected
    theirs = notes.query(query_embeddings=queries, n_results=K)["ids"]
    same_answers(queries, theirs)


@pytest.mark.parametrize(("space", "metric"), [(None, "euclidean"), ("l2", "euclidean"), ("ip", "inner-product")])
def test_chromas_metrics(chroma, run, many, space, metric):
    vectors, queries = many
    vectors = vectors[:500]
    notes = chroma("notes", space)
    notes.add(ids=[str(at) for at in range(500)], embeddings=vectors, uris=["file:///x"] * 500)
    told = run("chroma", "chroma")
    assert told["metric"] == metric and told["attributes"] == {"chroma:uri": "text"}
    assert held(["7"] + [str(at) for at in range(499) if at != 7] + ["499"])[1][0] == {"chroma:uri": "file:///x"}
    same_answers(queries, notes.query(query_embeddings=queries, n_results=K)["ids"])


def test_chroma_with_nothing_or_several_collections(chroma, run, tmp_path):
    chroma("empty")
    assert run("chroma", "chroma") == "Chroma's collection 'empty' is empty: an index has one record or more, so none is made"
    chroma("more")
    error = run("chroma", "chroma")
    assert "no single collection: found '" in error and "'empty'" in error and "'more'" in error and error.endswith("; expected --collection NAME")
    assert "no collection 'other'" in run("chroma", "chroma", "--collection", "other")
    assert not (tmp_path / "my.index").exists()
    long = chroma("long", "cosine")
    long.add(ids=["x" * 600, "y"], embeddings=[[1.0, 0.0], [0.0, 0.0]])
    assert "an id of 600 bytes" in run("chroma", "chroma", "--collection", "long")
    told = run("chroma", "chroma", "--collection", "long", "--ids", "hash", "--on-error", "skip")
    assert told["records"] == 1 and told["first_left_out"] == ["row 1, id 'y': a vector of zeros, which has no cosine"]


# Qdrant


def qdrant_package():
    return pytest.importorskip("qdrant_client")


@pytest.fixture
def qdrant():
    """A folder of Qdrant's local mode, in memory where there is some: the client waits for the disk at each point."""
    models = qdrant_package().models
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        yield folder, models


def written(folder, *collections):
    """Makes collections, each of a name, its settings and its points. Returns the open client."""
    opened = qdrant_package().QdrantClient(path=folder)
    for name, settings, points in collections:
        opened.create_collection(name, **settings)
        if points:
            opened.upsert(name, points)
    return opened


def test_qdrant_with_what_its_users_have(qdrant, run, many):
    folder, models = qdrant
    vectors, queries = many
    cosine = models.VectorParams(size=DIM, distance=models.Distance.COSINE)
    ids = [str(uuid.UUID(int=at * 2**64)) for at in range(N)]

    def payload(at):
        if at % 11 == 0:
            return None
        return {"page_content": f"tëxt {at}", "metadata": {"page": at, "author": {"name": f"ü{at % 9}"}, "tags": ["a", at]}, "none": None}

    points = [models.PointStruct(id=ids[at], vector=vectors[at].tolist(), payload=payload(at)) for at in range(N)]
    opened = written(folder, ("notes", {"vectors_config": cosine}, points))
    opened.delete("notes", ids[50:60])
    theirs = [[point.id for point in opened.query_points("notes", query=query.tolist(), limit=K).points] for query in queries]
    # Only one program at a time can use the folder.
    assert "Qdrant in" in run("qdrant", folder) and "already accessed" in run("qdrant", folder)
    opened.close()
    left = [at for at in range(N) if not 50 <= at < 60]

    told = run("qdrant", folder)
    assert (told["rows"], told["records"], told["ids"], told["metric"]) == (N - 10, N - 10, "uuid", "cosine")
    assert told["attributes"] == {"metadata.page": "int", "metadata.author.name": "text"} and told["kept"] == {"metadata": "tags: lists"}
    payloads, attributes = held([ids[at] for at in left])
    for at, stored, found in zip(left, payloads, attributes, strict=True):
        own = payload(at)
        if own is None:
            assert json.loads(stored) == {"text": None, "metadata": {}} and found == {}
        else:
            assert json.loads(stored) == {"text": f"tëxt {at}", "metadata": {"metadata": own["metadata"]}}
            assert found == {"metadata.page": at, "metadata.author.name": f"ü{at % 9}"}
    same_answers(queries, theirs)


def named(models):
    size = 4
    several = {
        "text": models.VectorParams(size=size, distance=models.Distance.DOT),
        "image": models.VectorParams(size=8, distance=models.Distance.MANHATTAN),
        "late": models.VectorParams(
            size=2,
            distance=models.Distance.COSINE,
            multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
        ),
    }
    words = models.SparseVector(indices=[1], values=[2.0])
    points = [
        models.PointStruct(id=1, vector={"text": [1.0, 2.0, 3.0, 4.0], "late": [[1.0, 2.0]]}, payload={"text": 7, "n": 1}),
        models.PointStruct(id=str(uuid.UUID(int=2)), vector={"image": [1.0] * 8, "words": words}, payload={"text": "b", "n": "x"}),
        models.PointStruct(id=3, vector={"text": [0.0, 0.0, 0.0, 0.0]}, payload={"content": "c"}),
    ]
    return {"vectors_config": several, "sparse_vectors_config": {"words": models.SparseVectorParams()}}, points


def test_qdrants_named_vectors(qdrant, run, tmp_path):
    folder, models = qdrant
    euclid = models.VectorParams(size=4, distance=models.Distance.EUCLID)
    written(folder, ("named", *named(models)), ("empty", {"vectors_config": euclid}, [])).close()
    assert "is empty" in run("qdrant", folder, "--collection", "empty")
    one = ("qdrant", folder, "--collection", "named")
    assert run(*one) == "no single vector: found 'text', 'image', 'late'; expected --vector NAME"
    assert "'words' is sparse" in run(*one, "--vector", "words")
    assert "several rows for each point" in run(*one, "--vector", "late")
    assert "compares by Manhattan, which Sordino lacks" in run(*one, "--vector", "image")
    assert f"id {uuid.UUID(int=2)!r}: no vector" in run(*one, "--vector", "text")
    assert not (tmp_path / "my.index").exists()
    told = run(*one, "--vector", "text", "--on-error", "report=out")
    assert (told["rows"], told["records"], told["left_out"], told["metric"], told["ids"]) == (3, 2, 1, "inner-product", "text")
    assert told["not_read"] == ["the vector 'image' of 8 dimensions", "the vector 'late' of 2 dimensions", "the sparse vector 'words'"]
    (left_out,) = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert (left_out["id"], left_out["why"]) == (str(uuid.UUID(int=2)), "no vector")
    # A value that is no text stays among the metadata.
    payloads, attributes = held(["1", "3"])
    assert [json.loads(payload) for payload in payloads] == [{"text": None, "metadata": {"n": 1}}, {"text": "c", "metadata": {}}]
    assert attributes == [{"text": 7}, {}]


class Server(BaseHTTPRequestHandler):
    """The REST calls of Qdrant's server that its client makes to read, answered from the client's local mode."""

    def do_GET(self):
        parts = self.path.strip("/").split("/")
        if parts == ["collections"]:
            self.answer({"collections": [{"name": "notes"}]})
        elif parts == ["collections", "notes"]:
            self.answer(self.server.local.get_collection("notes").model_dump(mode="json"))
        else:
            self.answer(whole={"title": "qdrant", "version": "1.20.0"})

    def do_POST(self):
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.keys.add(self.headers.get("api-key"))
        if self.path.partition("?")[0].endswith("/count"):
            # Without this option the server would estimate.
            self.answer({"count": self.server.local.count("notes").count if given["exact"] else 0})
            return
        points, place = self.server.local.scroll(
            "notes", limit=given["limit"], offset=given.get("offset"), with_vectors=given["with_vector"], with_payload=given["with_payload"]
        )
        self.server.pages += 1
        self.answer({"points": [point.model_dump(mode="json") for point in points], "next_page_offset": place})

    def answer(self, result=None, whole=None):
        body = json.dumps(whole or {"result": result, "status": "ok", "time": 0.0}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_qdrant_by_the_address_of_a_server(run, monkeypatch):
    models = qdrant_package().models
    local = qdrant_package().QdrantClient(":memory:")
    local.create_collection("notes", vectors_config=models.VectorParams(size=4, distance=models.Distance.EUCLID))
    local.upsert("notes", [models.PointStruct(id=at, vector=[at, 1, 2, 3], payload={"text": f"t{at}"}) for at in range(1234)])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.local, server.keys, server.pages = local, set(), 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("QDRANT_API_KEY", "secret")
    address = f"http://127.0.0.1:{server.server_port}"
    try:
        told = run("qdrant", address)
    finally:
        server.shutdown()
        server.server_close()
    assert (told["rows"], told["records"], told["metric"], told["payloads"]) == (1234, 1234, "euclidean", "text")
    assert server.keys == {"secret"} and server.pages == 6
    assert held(list(range(1234)))[0] == [f"t{at}".encode() for at in range(1234)]
    assert "Qdrant at 127.0.0.1 cannot be read" in run("qdrant", address, index="other")


# LanceDB


@pytest.fixture
def lance(tmp_path, monkeypatch):
    lancedb, pa = pytest.importorskip("lancedb"), pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    return lancedb.connect("lance"), lancedb, pa


def test_lancedb_with_what_its_users_have(lance, run, many):
    opened, lancedb, pa = lance
    vectors, queries = many
    columns = {
        "id": [f"ïd-{at}" for at in range(N)],
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIM),
        "text": [None if at % 3 == 0 else f"tëxt {at}" for at in range(N)],
        "year": pa.array([None if at % 5 == 0 else at % 40 for at in range(N)], pa.int32()),
        "tags": [["a", str(at)] for at in range(N)],
        "author": [{"name": f"ü{at % 9}", "age": at % 90} for at in range(N)],
        "at": pa.array([1_700_000_000_000_000_000 + at for at in range(N)], pa.timestamp("ns", "UTC")),
        "lang": pa.array(["en", "de"] * (N // 2)).dictionary_encode(),
        "price": pa.array([None] * N, pa.decimal128(10, 2)),
        "image": pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(2 * N, np.float32)), 2),
    }
    notes = opened.create_table("notes", pa.table(columns))
    notes.delete("year = 7")
    assert "found 'vector', 'image'; expected --vector NAME" in run("lancedb", "lance")
    assert "its vectors have no index" in run("lancedb", "lance", "--vector", "vector")
    notes.create_index("vector", config=lancedb.index.IvfFlat(distance_type="cosine", num_partitions=4))
    version = notes.version

    told = run("lancedb", "lance", "--vector", "vector")
    left = [at for at in range(N) if at % 5 == 0 or at % 40 != 7]
    assert (told["rows"], told["records"], told["ids"], told["metric"]) == (len(left), len(left), "text", "cosine")
    assert told["attributes"] == {"year": "int", "author.name": "text", "author.age": "int", "at": "text", "lang": "text"}
    assert told["kept"] == {"tags": "lists"} and told["not_read"] == [f"the vectors in 'image', of type {notes.schema.field('image').type}"]
    payloads, attributes = held([f"ïd-{at}" for at in left])
    for at, payload, found in zip(left, payloads, attributes, strict=True):
        assert json.loads(payload) == {"text": columns["text"][at], "metadata": {"tags": ["a", str(at)]}}
        instant = f"2023-11-14T22:13:20.{at:09}"
        while "." in instant and instant.endswith("000"):
            instant = instant[:-3].removesuffix(".")
        expected = {"author.name": f"ü{at % 9}", "author.age": at % 90, "at": instant + "Z", "lang": ["en", "de"][at % 2]}
        assert found == expected | ({} if at % 5 == 0 else {"year": at % 40})
    found = [notes.search(query).distance_type("cosine").bypass_vector_index().limit(K).select(["id"]).to_list() for query in queries]
    same_answers(queries, [[one["id"] for one in some] for some in found])
    assert opened.open_table("notes").version == version


def test_lancedb_with_vectors_of_any_length_and_without(lance, run, tmp_path):
    opened, _, pa = lance
    rows = [[1.0, 2.0], None, [1.0], [0.5, 0.0], []]
    table = pa.table({"key": [1, 2, 3, 4, 5], "scores": [[1.0]] * 5, "emb": pa.array(rows, pa.list_(pa.float64()))})
    opened.create_table("any", table)
    one = ("lancedb", "lance", "--table", "any", "--metric", "euclidean")
    assert "no single column of vectors" in run(*one)
    one = (*one, "--vector", "emb")
    assert "vectors of several dimensions, 0 in 1 rows, 1 in 1 rows, 2 in 2 rows: --on-error skip" in run(*one)
    assert "expected --id NAME" in run(*one, "--on-error", "skip")
    told = run(*one, "--on-error", "report=out", "--id", "key")
    assert (told["records"], told["left_out"], told["kept"]) == (2, 3, {"scores": "lists"})
    assert [json.loads(line)["id"] for line in (tmp_path / "out").read_text().splitlines()] == [2, 3, 5]
    assert [json.loads(payload) for payload in held([1, 4])[0]] == [{"text": None, "metadata": {"scores": [1.0]}}] * 2
    told = run(*one, "--on-error", "skip", "--ids", "number", index="numbered")
    assert told["attributes"] == {"key": "int"} and told["records"] == 2


def test_lancedbs_other_tables(lance, run, monkeypatch):
    from sordino.migrate import _lancedb

    opened, _, pa = lance
    kinds = {
        "half": pa.array([[1.0, 2.0]], pa.list_(pa.float16(), 2)),
        "late": pa.array([[[1.0, 2.0], [3.0, 4.0]]], pa.list_(pa.list_(pa.float32(), 2))),
    }
    for name, column in kinds.items():
        opened.create_table(name, pa.table({"id": [1], name: column}))
    opened.create_table("bare", pa.table({"vector": kinds["half"]}))
    opened.create_table("empty", schema=pa.schema([("id", pa.int64()), ("vector", pa.list_(pa.float32(), 2))]))
    opened.create_table("twice", pa.table({"id": [1, 1], "vector": pa.array([[1.0, 2.0], [1.0, 3.0]], pa.list_(pa.float32(), 2))}))
    monkeypatch.setattr(_lancedb, "PAGE", 2)
    error = run("lancedb", "lance")
    assert all(repr(name) in error for name in (*kinds, "bare", "empty", "twice"))
    metric = ("--metric", "euclidean")
    assert run("lancedb", "lance", "--table", "half", *metric)["records"] == 1
    assert "found none" in run("lancedb", "lance", "--table", "late", *metric, index="other")
    assert "expected one vector of numbers a row" in run("lancedb", "lance", "--table", "late", "--vector", "late", index="other")
    assert "is empty" in run("lancedb", "lance", "--table", "empty", index="other")
    assert "id 1 is there twice" in run("lancedb", "lance", "--table", "twice", *metric, index="other")
    assert run("lancedb", "lance", "--table", "bare", *metric, "--ids", "number", index="other")["payloads"] == "none"


def test_what_is_written_to_lancedb_meanwhile_is_not_in_the_version_that_is_read(lance):
    from sordino.migrate._lancedb import LanceDB
    from sordino.migrate._store import Wanted

    opened, _, pa = lance
    rows = pa.table({"id": [1, 2], "vector": pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2))})
    notes = opened.create_table("notes", rows)
    store = LanceDB("lance", Wanted())
    notes.add(rows)
    notes.delete("id = 1")
    assert store.count == 2 and [row.id for row in store.rows(vectors=True)] == [1, 2]


# pgvector


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("psycopg")
    place, why = postgres.programs()
    if place is None:
        pytest.skip(why)
    with postgres.running(place) as address:
        import psycopg

        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("create extension vector")
            yield address, connection


def test_pgvector_with_what_its_users_have(server, run, many):
    address, connection = server
    vectors, queries = many
    connection.execute("""create table "Nötes" (id bigint primary key, content text, embedding vector(32), year int, lang varchar, tags text[], meta jsonb,
        at timestamptz, day date, price numeric(10, 2), ok bool, small real, span interval, own uuid, place inet, raw bytea, image vector(2))""")
    with connection.cursor() as cursor, cursor.copy('copy "Nötes" (id, content, embedding, year, lang, tags, meta, at, small) from stdin') as copy:
        for at in range(N):
            meta = json.dumps({"a": {"b": at}, "c": f"ü{at % 9}"}) if at % 4 else None
            row = (at - 5, None if at % 3 == 0 else f"tëxt {at}", str(vectors[at].tolist()), None if at % 5 == 0 else at % 40)
            copy.write_row((*row, ["en", "日本"][at % 2], "{a,NULL}", meta, "2024-01-01 01:00:00.5+01", "0.1"))
    connection.execute('delete from "Nötes" where id >= 100 and id < 110')
    connection.execute("""update "Nötes" set price = 1.50, ok = true, span = '1 month', place = '10.0.0.1/8', raw = '\\x00ff', day = 'infinity',
        own = '00000000-0000-0000-0000-000000000007' where id = 1""")
    one = ("pgvector", address, "--table", '"Nötes"', "--vector", "embedding")
    assert "'embedding', 'image'; expected --vector NAME" in run(*one[:4])
    assert "whose operator class would name a metric: expected --metric" in run(*one)
    connection.execute('create index on "Nötes" using hnsw (embedding vector_l2_ops)')

    told = run(*one)
    left = [at for at in range(N) if not 105 <= at < 115]
    assert (told["rows"], told["records"], told["ids"], told["metric"]) == (N - 10, N - 10, "text", "euclidean")
    assert told["source_ids"] == {"other number": 5, "number": N - 15} and told["not_read"] == ["the vector 'image'"]
    assert told["attributes"] == {
        "year": "int", "lang": "text", "meta.a.b": "int", "meta.c": "text", "at": "text", "day": "text", "ok": "bool", "small": "float",
        "span": "text", "own": "text", "place": "text",
    }  # fmt: skip
    assert told["kept"] == {"tags": "lists", "price": "decimal numbers", "raw": "bytes"}
    payloads, attributes = held([str(at - 5) for at in left])
    for at, payload, found in zip(left, payloads, attributes, strict=True):
        more = {"price": "1.50", "raw": "AP8="} if at == 6 else {"price": None, "raw": None}
        stored = json.loads(payload)
        assert stored["text"] == (None if at % 3 == 0 else f"tëxt {at}") and stored["metadata"]["tags"] == ["a", None]
        assert {name: stored["metadata"].get(name) for name in more} == more
        expected = {"lang": ["en", "日本"][at % 2], "at": "2024-01-01T00:00:00.5Z", "small": 0.1}
        expected |= {} if at % 5 == 0 else {"year": at % 40}
        expected |= {"meta.a.b": at, "meta.c": f"ü{at % 9}"} if at % 4 else {}
        if at == 6:
            expected |= {"day": "infinity", "ok": True, "span": "P1M", "own": str(uuid.UUID(int=7)), "place": "10.0.0.1/8"}
        assert found == expected
    # Without its index, which is approximate.
    connection.execute("set enable_indexscan = off")
    find = 'select id from "Nötes" order by embedding <-> %s::vector limit 10'
    same_answers(queries, [[id for (id,) in connection.execute(find, (str(query.tolist()),))] for query in queries])


def test_pgvectors_other_columns(server, run, tmp_path):
    address, connection = server
    connection.execute("create schema odd")
    connection.execute("create table odd.short (id int primary key, half halfvec(2), sparse sparsevec(3))")
    connection.execute("insert into odd.short values (1, '[1,2]', '{1:1}/3')")
    one = ("pgvector", address, "--table", "odd.short")
    assert "column 'half' is a halfvec: expected a vector; of a view it is one" in run(*one)
    assert "column 'sparse' is a sparsevec" in run(*one, "--vector", "sparse")
    connection.execute("create view with_vectors as select *, half::vector as whole from odd.short")
    told = run("pgvector", address, "--table", "with_vectors", "--vector", "whole", "--metric", "cosine")
    assert (told["records"], told["ids"]) == (1, "number") and told["not_read"] == ["the halfvec 'half'", "the sparsevec 'sparse'"]

    connection.execute("create table mixed (a int, b int, v vector, primary key (a, b))")
    connection.execute("insert into mixed values (1, 1, '[1,2,3]'), (1, 2, '[1,2]'), (1, 3, null), (2, 1, '[4,5,6]')")
    one = ("pgvector", address, "--table", "mixed", "--metric", "inner-product")
    assert "2 in 1 rows, 3 in 2 rows: --on-error skip" in run(*one, index="other")
    assert "expected --id NAME" in run(*one, "--on-error", "skip", index="other")
    assert "id 1 is there twice" in run(*one, "--on-error", "skip", "--id", "a", index="other")
    told = run(*one, "--on-error", "report=out", "--ids", "number", index="other")
    assert (told["records"], told["left_out"]) == (2, 2) and len((tmp_path / "out").read_text().splitlines()) == 2
    assert held([0, 1], "other")[1] == [{"a": 1, "b": 1}, {"a": 2, "b": 1}]

    connection.execute("create table bare (id uuid primary key, v vector(3))")
    assert "is empty" in run("pgvector", address, "--table", "bare", index="bare")
    connection.execute("create index on bare using hnsw (v vector_l1_ops)")
    connection.execute("insert into bare values ('00000000-0000-0000-0000-000000000001', '[1,2,3]')")
    assert "compares by l1, which Sordino lacks" in run("pgvector", address, "--table", "bare", index="bare")
    assert run("pgvector", address, "--table", "bare", "--metric", "cosine", index="bare")["ids"] == "uuid"
    assert "no table none_such: found" in run("pgvector", address, "--table", "none_such", index="none")
    assert "PostgreSQL cannot be read: OperationalError" in run("pgvector", "postgresql:///x?host=/none", index="none")


def test_what_is_written_to_postgres_meanwhile_is_not_in_the_transaction(server):
    from sordino.migrate._pgvector import PgVector
    from sordino.migrate._store import Wanted

    address, connection = server
    connection.execute("create table growing (id int primary key, v vector(2))")
    connection.execute("insert into growing values (1, '[1,2]'), (2, '[3,4]')")
    store = PgVector(address, Wanted("growing"))
    try:
        connection.execute("delete from growing where id = 1")
        connection.execute("insert into growing values (3, '[5,6]')")
        assert store.count == 2 and sorted(row.id for row in store.rows(vectors=True)) == [1, 2]
        assert [row.vector.tolist() for row in store.rows(vectors=True) if row.id == 2] == [[3.0, 4.0]]
    finally:
        store.close()


def test_rows_that_a_policy_hides_are_not_lost_in_silence(server, run):
    address, connection = server
    connection.execute("create table owned (id int primary key, owner text, v vector(2))")
    connection.execute("insert into owned values (1, 'reader', '[1,2]'), (2, 'other', '[1,2]')")
    connection.execute("create role reader login")
    connection.execute("grant select on owned to reader")
    connection.execute("alter table owned enable row level security")
    connection.execute("create policy own on owned using (owner = current_user)")
    other = address.replace("tests@", "reader@")
    error = run("pgvector", other, "--table", "owned", "--metric", "cosine")
    assert "would be affected by row-level security policy" in error


# The commands of docs/guide/coming-from.md


def documented(store):
    """The command of a store, as the guide has it."""
    page = Path(__file__).parents[2] / "docs" / "guide" / "coming-from.md"
    if not page.exists():
        pytest.skip(f"{page} is not there")
    (line,) = [line for line in page.read_text().splitlines() if line.startswith(f"sordino-migrate {store} ")]
    return shlex.split(line)[1:]


@pytest.mark.parametrize("store", ["chroma", "qdrant", "lancedb", "pgvector"])
def test_the_guides_commands_run(store, request, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    sordino.keygen().save("owner.key")
    line = documented(store)
    if store == "chroma":
        request.getfixturevalue("chroma")("notes", "cosine").add(ids=["a"], embeddings=[[1.0, 2.0]], documents=["x"])
    elif store == "qdrant":
        models = qdrant_package().models
        cosine = models.VectorParams(size=2, distance=models.Distance.COSINE)
        written("qdrant", ("notes", {"vectors_config": cosine}, [models.PointStruct(id=1, vector=[1.0, 2.0])])).close()
    elif store == "lancedb":
        opened, _, pa = request.getfixturevalue("lance")
        opened.create_table("notes", pa.table({"id": [1], "vector": pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2))}))
    else:
        address, connection = request.getfixturevalue("server")
        connection.execute("create table notes (id int primary key, embedding vector(2))")
        connection.execute("insert into notes values (1, '[1,2]')")
        connection.execute("create index on notes using hnsw (embedding vector_cosine_ops)")
        line = [address if part.startswith("postgresql:") else part for part in line]
    assert main(line) == 0
    assert f"{line[2]}: version 1, 1 of 1 rows are records" in capsys.readouterr().out
    assert len(sordino.open(line[2], key=sordino.OwnerKey.load("owner.key"))) == 1


def test_the_command_is_installed():
    try:
        installed = metadata.distribution("sordino")
    except metadata.PackageNotFoundError:
        pytest.skip("the package is not installed here")
    (command,) = [one for one in installed.entry_points if one.name == "sordino-migrate"]
    assert command.load() is main
