"""LangChain's own tests of vector stores, and tests of what only this store has."""

import asyncio
import copy
import gc
import multiprocessing
import os
import pickle
import shutil
import socket
import threading
import uuid
import warnings
from datetime import date, datetime, timezone
from enum import Enum

import numpy as np
import pytest
from conftest import until

pytest.importorskip("langchain_tests")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager
from langchain_core.indexing import index as reindex
from langchain_tests.integration_tests.vectorstores import VectorStoreIntegrationTests

import sordino
from sordino.langchain import SordinoVectorStore

EMBEDDING = DeterministicFakeEmbedding(size=16)


class TestStandard(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path, key):
        store = SordinoVectorStore(self.get_embeddings(), tmp_path / "index", key=key)
        yield store
        store.close()


def test_a_reader_searches_over_a_network_and_changes_nothing(tmp_path, key):
    texts = [f"text {n}" for n in range(30)]
    metadatas = [{"n": n, "even": n % 2 == 0} for n in range(30)]
    owner = SordinoVectorStore.from_texts(
        texts, EMBEDDING, metadatas, ids=texts, index=tmp_path / "index", key=key, attributes=["even"]
    )
    with sordino.serve(tmp_path / "index", listen="127.0.0.1:0", public_key=key.public(), plaintext=True, anyone=True) as server:
        reader = SordinoVectorStore(EMBEDDING, server.url, key=key.reader())
        (best, score), *_ = reader.similarity_search_with_score("text 7", k=3)
        assert best == Document(id="text 7", page_content="text 7", metadata=metadatas[7])
        assert score == pytest.approx(1, abs=2e-3)
        assert [found.id for found in reader.get_by_ids(["text 3", "none", "text 1"])] == ["text 3", "text 1"]
        even = reader.similarity_search("text 7", k=20, filter={"even": True})
        assert len(even) == 15 and all(found.metadata["even"] for found in even)
        with pytest.warns(UserWarning, match="1 documents instead of 4.*`attributes`"):
            assert reader.similarity_search("text 7", filter=lambda found: found.metadata["n"] == 7) == [best]
        diverse = reader.max_marginal_relevance_search("text 7", k=5)
        assert len({found.id for found in diverse}) == 5
        assert reader.similarity_search_by_vector(EMBEDDING.embed_query("text 9"), k=1)[0].id == "text 9"
        (_, relevance), *_ = reader.similarity_search_with_relevance_scores("text 7", k=1)
        assert 0.99 < relevance <= 1
        assert reader.as_retriever(search_kwargs={"k": 2}).invoke("text 4")[0].id == "text 4"
        for change in [lambda: reader.add_texts(["new"]), lambda: reader.delete(["text 1"])]:
            with pytest.raises(sordino.KeyKindError):
                change()
        reader.close()
    owner.close()


def version(server, key):
    with sordino.Client(server.url, key=key.reader()) as client:
        return client.stats()["version"]


def test_a_fetch_by_ids_takes_the_newest_version(tmp_path, key):
    owner = SordinoVectorStore.from_texts(["one", "two"], EMBEDDING, ids=["a", "b"], index=tmp_path / "index", key=key)
    with sordino.serve(tmp_path / "index", listen="127.0.0.1:0", public_key=key.public(), plaintext=True, anyone=True) as server:
        reader = SordinoVectorStore(EMBEDDING, server.url, key=key.reader())

        def held():
            return [(found.id, found.page_content) for found in reader.get_by_ids(["a", "b", "c"])]

        assert held() == [("a", "one"), ("b", "two")]
        owner.add_texts(["two, corrected", "three"], ids=["b", "c"])
        owner.delete(["a"])
        newest = sordino.open(tmp_path / "index", key=key).info()["version"]
        until(lambda: version(server, key) == newest)
        assert held() == [("b", "two, corrected"), ("c", "three")]
        # What the server gets is the same for ids that exist and for others.
        sent = []
        for id in ("b", "a", "no such id", "c"):
            before = reader._documents.client().stats()["wire_up"]
            reader.get_by_ids([id])
            sent.append(reader._documents.client().stats()["wire_up"] - before)
        assert sent[0] > 0 and set(sent) == {sent[0]}
        reader.close()
    owner.close()


def test_a_store_waits_for_a_server_that_is_not_there_yet(tmp_path, key):
    SordinoVectorStore.from_texts(["one"], EMBEDDING, ids=["a"], index=tmp_path / "index", key=key).close()
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        listen = f"127.0.0.1:{held.getsockname()[1]}"
    with pytest.raises(sordino.UnreachableError):
        SordinoVectorStore(EMBEDDING, f"http://{listen}", key=key.reader(), wait=0).get_by_ids(["a"])
    servers = []
    how = {"listen": listen, "public_key": key.public(), "plaintext": True, "anyone": True}
    started = threading.Timer(0.3, lambda: servers.append(sordino.serve(tmp_path / "index", **how)))
    started.start()
    try:
        reader = SordinoVectorStore(EMBEDDING, f"http://{listen}", key=key.reader(), wait=60)
        assert [found.id for found in reader.get_by_ids(["a"])] == ["a"]
        reader.close()
    finally:
        started.join()
        for server in servers:
            server.stop()
    with pytest.raises(sordino.InputError, match="wait = 'soon': expected a number"):
        SordinoVectorStore(EMBEDDING, f"http://{listen}", key=key.reader(), wait="soon")
    with pytest.raises(sordino.InputError, match="wait: for a server"):
        SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key, wait=3)


def test_a_readers_store_is_of_an_index_that_is_there(tmp_path, key):
    key.reader().save(tmp_path / "reader.key")
    store = SordinoVectorStore(EMBEDDING, tmp_path / "mistyped", key=tmp_path / "reader.key")
    for work in (lambda: store.similarity_search("one"), lambda: store.get_by_ids(["a"])):
        with pytest.raises(sordino.NoIndexError, match="only reads"):
            work()


def test_a_copy_of_a_store_finds_its_files_from_another_folder(tmp_path, key, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    key.save("owner.key")
    store = SordinoVectorStore.from_texts(["one"], EMBEDDING, ids=["a"], index="index", key="owner.key")
    packed = pickle.dumps(store)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert [found.id for found in pickle.loads(packed).similarity_search("one", k=1)] == ["a"]


FRAME_ARGUMENTS = {
    "add_texts": lambda store, frame: store.add_texts(frame),
    "metadatas": lambda store, frame: store.add_texts(["a", "b"], frame),
    "ids": lambda store, frame: store.add_texts(["a", "b"], ids=frame),
    "delete": lambda store, frame: store.delete(frame),
    "get_by_ids": lambda store, frame: store.get_by_ids(frame),
    "attributes": lambda store, frame: SordinoVectorStore(EMBEDDING, attributes=frame),
}


@pytest.mark.parametrize("name", FRAME_ARGUMENTS)
def test_a_frame_is_no_list_of_the_names_of_its_columns(tmp_path, key, name):
    class Frame(dict):
        columns = property(list)
        items = None

    # The names of columns are ids of documents here, which a frame would delete.
    store = SordinoVectorStore.from_texts(["one", "two"], EMBEDDING, ids=["a", "b"], index=tmp_path / "index", key=key)
    with pytest.raises(sordino.InputError, match="a Frame of the columns a, b.*frame\\['a'\\]"):
        FRAME_ARGUMENTS[name](store, Frame(a=["x"], b=["y"]))
    assert [found.id for found in store.get_by_ids(["a", "b"])] == ["a", "b"]


def test_documents_outlive_the_store_and_many_changes(tmp_path, key):
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key, max_results=5)
    for n in range(60):
        store.add_texts([f"text {n}"], ids=[str(n % 40)])
    store.close()
    again = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key)
    again.delete([str(n) for n in range(10)])
    assert again.get_by_ids(["9", "10", "25"]) == [
        Document(id="10", page_content="text 50"),
        Document(id="25", page_content="text 25"),
    ]
    with pytest.warns(UserWarning, match="k = 20: this index gives at most 5"):
        assert len(again.similarity_search("text 25", k=20)) == 5
    again.delete([str(n) for n in range(40)])
    assert again.similarity_search("text 25") == [] and again.get_by_ids(["25"]) == []
    again.close()


@pytest.mark.filterwarnings("ignore:recall")  # vectors of no structure
@pytest.mark.parametrize("mode", ["sealed", "routed", "open", "local"])
def test_the_first_documents_are_what_an_index_is_built_of(tmp_path, key, mode):
    texts = [f"text {n}" for n in range(300)]
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key, mode=mode)
    store.add_texts(texts, ids=texts)
    assert sordino.open(tmp_path / "index", key=key).info()["segments"] == 1
    found = [store.similarity_search(text, k=1)[0].id for text in texts[:20]]
    assert sum(map(str.__eq__, found, texts)) >= 15
    store.close()


def test_what_was_made_by_other_means_is_said_so(tmp_path, key):
    rows = np.random.default_rng(1).standard_normal((30, 16))
    others = {
        "payloads": sordino.build(tmp_path / "payloads", rows, key=key, payloads=["text"] * 30),
        "json": sordino.build(tmp_path / "json", rows, key=key, payloads=["[1, 2]"] * 30),
        "none": sordino.build(tmp_path / "none", rows, key=key),
        "texts": sordino.build(tmp_path / "texts", rows, key=key, ids=[f"a{n}" for n in range(30)], payloads=["x"] * 30),
    }
    for index in others.values():
        store = SordinoVectorStore(EMBEDDING, index, key=key)
        for call in [lambda: store.similarity_search("x"), lambda: store.add_texts(["x"])]:
            with pytest.raises(sordino.FormatError, match="other means"):
                call()
        assert index.info()["version"] == 1
        store.close()


def test_ids_of_several_kinds_are_texts(tmp_path, key):
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key)
    ids = [1, uuid.UUID(int=5), "ж", ""]
    assert store.add_texts(["a", "b", "c", "d"], ids=ids) == [str(id) for id in ids]
    assert [found.page_content for found in store.get_by_ids([uuid.UUID(int=5), 1, "\ud800"])] == ["b", "a"]
    store.delete([1, ""])
    assert store.get_by_ids(ids) == store.get_by_ids([str(uuid.UUID(int=5)), "ж"])
    for wrong in [lambda: store.get_by_ids("ab"), lambda: store.delete("ab"), lambda: store.similarity_search("a", k=-1),
                  lambda: store.similarity_search("a", filter=["x"]), lambda: store.add_texts([5]), lambda: store.add_texts("ab"),
                  lambda: store.add_texts(["a"], ids=[1.0]), lambda: store.add_texts(["a"], ids=[True]), lambda: store.delete([2.0]),
                  lambda: store.add_texts({"a", "b"}), lambda: store.add_texts(["a", "b"], ids={"x", "y"}), lambda: store.add_texts(["a"], ids=[])]:
        with pytest.raises(sordino.InputError):
            wrong()
    assert store.similarity_search("a", k=0) == [] and len(store.similarity_search("a", filter={})) == 2
    store.close()
    with pytest.raises(sordino.MissingFileError):
        SordinoVectorStore(EMBEDDING, tmp_path / "index", key="owner.key")
    with pytest.raises(sordino.KeyKindError, match="key is a int"):
        SordinoVectorStore(EMBEDDING, tmp_path / "index", key=5)
    with pytest.raises(sordino.InputError, match="max_results = 1024"):
        SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key, max_results=1024)


def test_what_comes_first_and_cannot_be_stored_leaves_no_index(tmp_path, key):
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key, mode="sealed")
    for texts in [["x" * 2_000_000] * 20, ["x"] * 3]:
        with pytest.raises(sordino.InputError):
            store.add_texts(texts)
        assert not (tmp_path / "index" / "CURRENT").exists()


def test_documents_that_cannot_be_stored(tmp_path, key):
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key)
    with pytest.raises(sordino.Error, match="'odd'.*object"):
        store.add_texts(["text"], [{"odd": object()}])
    with pytest.raises(sordino.InputError, match="2 texts, 1 metadatas"):
        store.add_texts(["text", "text"], [{}])
    for make in [lambda: SordinoVectorStore.from_texts(["text"], EMBEDDING, index=tmp_path / "index"),
                 lambda: SordinoVectorStore(EMBEDDING, tmp_path / "index")]:
        with pytest.raises(sordino.KeyKindError, match="keygen.*save"):
            make()
    assert not (tmp_path / "index").exists()
    assert store.similarity_search("text") == []


class Color(Enum):
    RED = "red"


VALUES = [
    (datetime(2024, 5, 6, 7, 8, 9, 500_000), "2024-05-06T07:08:09.500"), (datetime(2024, 5, 6, tzinfo=timezone.utc), "2024-05-06T00:00:00Z"),
    (date(2024, 5, 6), "2024-05-06"), (np.int64(3), 3), (np.float32(0.1), 0.1), (np.bool_(True), True), (np.array([1, 2]), [1, 2]),
    (np.str_("x"), "x"), (Color.RED, "red"), ((1, 2), [1, 2]), (float("nan"), None), (uuid.UUID(int=1), str(uuid.UUID(int=1))),
    (np.datetime64("2024-05-06"), "2024-05-06"), ({"a": {"b": [datetime(2024, 1, 1)]}}, {"a": {"b": ["2024-01-01T00:00:00"]}}),
]


def test_metadata_of_other_kinds_is_kept_as_json(tmp_path, key):
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key)
    store.add_texts(["text"] * len(VALUES), [{"it": value} for value, _ in VALUES], ids=list(range(len(VALUES))))
    assert [found.metadata["it"] for found in store.get_by_ids(range(len(VALUES)))] == [stored for _, stored in VALUES]


def test_metadata_that_is_no_json_is_refused_by_its_name(tmp_path, key):
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for value, match in [
        ({"a": [0, {1, 2}]}, "'when'.*a set"), ({1: "x"}, "'when'.*name 1"), ("\ud800", "surrogate"), (deep, "'when'.*deeper than 100"), (object(), "'when'.*object"),
    ]:
        with pytest.raises(sordino.InputError, match=f"'d'.*JSON: .*{match}"):
            store.add_texts(["text"], [{"when": value}], ids=["d"])
    assert not (tmp_path / "index").exists()


def test_a_payload_that_is_nested_too_deep_is_no_document(tmp_path, key):
    rows = np.random.default_rng(1).standard_normal((30, 16))
    index = sordino.build(tmp_path / "deep", rows, key=key, payloads=["[" * 100_000] * 30)
    store = SordinoVectorStore(EMBEDDING, index, key=key)
    for call in [lambda: store.similarity_search("x"), lambda: store.add_texts(["x"])]:
        with pytest.raises(sordino.FormatError, match="other means"):
            call()
    other = sordino.build(tmp_path / "other", rows, key=key, payloads=['["id", {"of": "another framework"}]'] * 30)
    with pytest.raises(sordino.FormatError, match="LangChain"):
        SordinoVectorStore(EMBEDDING, other, key=key).similarity_search("x")


def test_documents_without_metadata_are_found(tmp_path, key):
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key)
    store.add_texts(["a", "b"], [{"x": 1}, None], ids=np.array(["m1", "m2"]))
    store.add_texts(["c"], ({"x": n} for n in [3]), ids=iter(["m3"]))
    assert [found.metadata for found in store.get_by_ids(["m1", "m2", "m3"])] == [{"x": 1}, {}, {"x": 3}]
    assert {found.id for found in store.similarity_search("a", k=3)} == {"m1", "m2", "m3"}
    with pytest.raises(sordino.InputError, match="metadata 0 is a str"):
        store.add_texts(["a"], ["x"])
    with pytest.raises(sordino.InputError, match="one str"):
        store.add_texts(["a"], "x")


def test_a_search_gives_no_more_than_the_index_is_for(tmp_path, key):
    texts = [f"text {n}" for n in range(50)]
    store = SordinoVectorStore.from_texts(texts, EMBEDDING, index=tmp_path / "index", key=key)
    for text in texts[:5]:
        with pytest.warns(UserWarning, match="at most 20"):
            assert len(store.similarity_search(text, k=50)) == 20
    assert len(store.similarity_search("text 1", k=20, filter=lambda found: True)) == 20
    with pytest.warns(UserWarning, match="fetch_k = 100"):
        assert len(store.max_marginal_relevance_search("text 1", fetch_k=100)) == 4


def test_a_store_stays_with_its_index(tmp_path, key, monkeypatch):
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    store = SordinoVectorStore(EMBEDDING, "index", key=key)
    store.add_texts(["one", "two"], ids=["1", "2"])
    assert len(store.similarity_search("one")) == 2
    monkeypatch.chdir(tmp_path / "sub")
    store.add_texts(["three"], ids=["3"])
    assert {found.id for found in store.similarity_search("three")} == {"1", "2", "3"}
    assert os.listdir(tmp_path / "sub") == []

    shutil.rmtree(tmp_path / "index")
    calls = [lambda: store.add_texts(["four"]), lambda: store.similarity_search("one"), lambda: store.delete(["1"]),
             lambda: store.get_by_ids(["1"]), store.refresh]
    for call in calls:
        with pytest.raises(sordino.NoIndexError, match="is gone"):
            call()
    assert not (tmp_path / "index").exists()

    again = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key)
    again.add_texts(["five"], ids=["5"])
    for call in calls:
        with pytest.raises(sordino.OtherIndexError, match="another index"):
            call()
    assert [found.id for found in again.similarity_search("five")] == ["5"]


def test_settings_that_an_index_was_not_made_with_are_refused(tmp_path, key):
    SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key, max_results=5, mode="open").add_texts(["a"], ids=["a"])
    for settings, match in [({"max_results": 7}, "max_results = 7.*made with 5"), ({"mode": "masked"}, "mode = 'masked'.*made with 'open'")]:
        store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key, **settings)
        for call in [lambda: store.similarity_search("a"), lambda: store.add_texts(["b"])]:
            with pytest.raises(sordino.InputError, match=match):
                call()
    for settings in [{}, {"max_results": 5, "mode": "open"}]:
        assert SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key, **settings).similarity_search("a")[0].id == "a"
    with pytest.raises(sordino.InputError, match="mode = 'hidden'"):
        SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key, mode="hidden")


def test_arguments_that_nobody_reads_are_refused(tmp_path, key):
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key)
    store.add_texts(["a"], ids=["a"])
    for name in ["filters", "where", "score_threshold"]:
        wrong = {name: {"x": 1}}
        for call in [
            lambda: store.similarity_search("a", **wrong),
            lambda: store.similarity_search_with_score("a", **wrong),
            lambda: store.similarity_search_by_vector([1.0] * 16, **wrong),
            lambda: store.max_marginal_relevance_search("a", **wrong),
            lambda: store.max_marginal_relevance_search_by_vector([1.0] * 16, **wrong),
            lambda: store.add_texts(["b"], **wrong),
            lambda: store.delete(["a"], **wrong),
        ]:
            with pytest.raises(sordino.InputError, match=name):
                call()
    assert [found.id for found in store.similarity_search("a")] == ["a"]


def test_a_store_in_this_process_refuses_what_is_for_servers(tmp_path, key, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for place, match in [("localhost:7700", "without https:// or http://"), ("localhost:7700/shelf", "without https:// or http://"), ("shelf", "token: for a server.*'shelf' is the path")]:
        with pytest.raises(sordino.InputError, match=match):
            SordinoVectorStore(EMBEDDING, place, key=key.reader(), token=b"x")
    with pytest.raises(sordino.InputError, match="roots: for a server, whose address begins with https:// or http://, and this is an index in this process"):
        SordinoVectorStore(EMBEDDING, roots=b"x")
    SordinoVectorStore(EMBEDDING, "./localhost:7700", key=key).add_texts(["a"])
    # A directory that exists is one.
    assert len(SordinoVectorStore(EMBEDDING, "localhost:7700", key=key.reader()).similarity_search("a")) == 1


FILTERS = {
    "$gte": ({"n": {"$gte": 3}}, [3, 4, 5]),
    "two": ({"n": {"$gt": 1, "$lt": 4}}, [2, 3]),
    "$lte": ({"n": {"$lte": 0.5}}, [0]),
    "$eq": ({"n": {"$eq": 2}}, [2]),
    "$ne": ({"n": {"$ne": 2}}, [0, 1, 3, 4, 5, 6]),
    "$in": ({"lang": {"$in": ["en"]}}, [0, 2, 4]),
    "$nin": ({"lang": {"$nin": ["en", "de"]}}, [6]),
    "$and": ({"$and": [{"n": {"$gt": 1}}, {"lang": "de"}]}, [3, 5]),
    "$or": ({"$or": [{"n": 0}, {"n": {"$gte": 5}}]}, [0, 5]),
    "$not": ({"$not": {"lang": "en"}}, [1, 3, 5, 6]),
    "a list": ({"tags": {"$eq": ["x", "y"]}}, [6]),
    "a dict": ({"inner": {"a": 1}}, [6]),
}

NO_FILTERS = [
    {"n": [1, 2]}, {"n": {"$exists": True}}, {"n": {"$gt": 1, "lt": 2}}, {"$nor": [{"n": 1}]}, {"$and": []}, {"$or": {"n": 1}},
    {"n": {"$in": 3}}, {"n": {"$gt": None}}, {"n": {"$gt": "1"}}, {1: 2}, "n = 3",
    {"n": {"gte": 2}}, {"n": {">": 1, "<": 3}}, {"lang": {"in": ["en"]}},
]


DATES = {
    "a date": ({"when": {"$gte": date(2024, 1, 4)}}, [3, 4, 5]),
    "an instant": ({"when": {"$lt": datetime(2024, 1, 2, 0, 0, 1)}}, [0, 1]),
    "$eq of a date": ({"when": datetime(2024, 1, 3)}, [2]),
}


@pytest.fixture(scope="module", params=[None, ["n", "lang", "when", "nowhere"], ["lang"]], ids=["metadata", "attributes", "one attribute"])
def filtered(request, tmp_path_factory, key):
    store = SordinoVectorStore(EMBEDDING, tmp_path_factory.mktemp("filters") / "index", key=key, attributes=request.param)
    metadatas = [{"n": n, "lang": "de" if n % 2 else "en", "when": datetime(2024, 1, n + 1)} for n in range(6)]
    metadatas += [{"tags": ["x", "y"], "inner": {"a": 1}, "n": None}]
    store.add_texts([f"text {n}" for n in range(7)], metadatas, ids=[str(n) for n in range(7)])
    yield store
    store.close()


@pytest.mark.parametrize("name", FILTERS | DATES)
def test_filters_compare(filtered, name):
    filter, expected = (FILTERS | DATES)[name]
    assert sorted(int(found.id) for found in filtered.similarity_search("text 1", k=7, filter=filter)) == expected


@pytest.mark.parametrize("filter", NO_FILTERS, ids=str)
def test_filters_that_say_nothing_are_refused(filtered, filter):
    with pytest.raises(sordino.FilterError, match="filter"):
        filtered.similarity_search("text 1", filter=filter)


def random_filter(choose, depth=0):
    """A filter in LangChain's form, of names that documents have or lack."""
    if depth < 3 and choose.random() < 0.5:
        word = choose.choice(["$and", "$or", "$not"])
        parts = [random_filter(choose, depth + 1) for _ in range(choose.integers(1, 4))]
        return {word: parts[0] if word == "$not" else parts}
    name = choose.choice(["number", "text", "flag", "absent"])
    values = {"number": [0, 1, 2.5, 2**60, True], "text": ["", "a", "b", "o'hara", "x" * 5000], "flag": [True, False, 1], "absent": [1, "a"]}[name]
    value = values[choose.integers(len(values))]
    word = choose.choice(["$eq", "$ne", "$in", "$nin", *([] if isinstance(value, bool) or name == "flag" else ["$gt", "$gte", "$lt", "$lte"])])
    return {name: {word: [value, values[0]] if word in ("$in", "$nin") else value}}


def test_attributes_decide_as_metadata_does(tmp_path, key):
    choose = np.random.default_rng(7)
    metadatas = []
    for _ in range(40):
        row = {"number": choose.choice([0, 1, 2, 2.5, 2**60, 2**60 + 1]), "text": str(choose.choice(["", "a", "b", "o'hara", "x" * 5000])), "flag": bool(choose.integers(2))}
        metadatas.append({name: value for name, value in row.items() if choose.random() < 0.8})
    texts = [f"text {n}" for n in range(40)]
    stores = [
        SordinoVectorStore.from_texts(texts, EMBEDDING, metadatas, ids=texts, index=tmp_path / str(names), key=key, max_results=50, attributes=names)
        for names in [None, ["number", "text", "flag", "absent"]]
    ]
    for _ in range(60):
        filter = random_filter(choose)
        plain, typed = ({found.id for found in store.similarity_search("text", k=50, filter=filter)} for store in stores)
        assert plain == typed, filter


def test_attributes_are_decided_before_documents_are_ranked(tmp_path, key):
    texts = [f"text {n}" for n in range(200)]
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key)
    store.add_texts(texts, [{"rare": n % 100 == 7, "source": f"s{n}"} for n in range(200)], ids=texts)
    with pytest.warns(UserWarning, match=r"instead of 2: the filter ran on the 20 nearest alone; once a store with attributes=\['source'\] adds a document"):
        store.similarity_search("text 1", k=2, filter={"source": {"$in": ["s150", "s151"]}})
    # Such a store says the same until it has added a document.
    with pytest.warns(UserWarning, match=r"once a store with attributes=\['source'\] adds a document, filters by them apply before"):
        reopened = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key, attributes=["source"])
        reopened.similarity_search("text 1", k=2, filter={"source": {"$in": ["s150", "s151"]}})
    # A name that is given later becomes an attribute of all documents.
    later = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key, attributes=["rare", "source", "new"])
    later.add_texts(["more"], [{"new": "x", "rare": False}], ids=["more"])
    for other in [later, SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key.reader())]:
        assert {found.id for found in other.similarity_search("text 1", k=2, filter={"rare": True})} == {"text 7", "text 107"}
        found = other.similarity_search("text 1", k=2, filter={"$or": [{"source": "s150"}, {"new": "x"}]})
        assert {one.id for one in found} == {"text 150", "more"}
    # The first store writes these attributes too, though it was not given their names.
    store.add_texts(["text 7"], [{"rare": False, "source": "other"}], ids=["text 7"])
    assert {found.id for found in later.similarity_search("text 1", k=1, filter={"rare": True})} == {"text 107"}
    for wrong in ["rare", ["a`b"], [""], [1]]:
        with pytest.raises(sordino.InputError, match="attributes"):
            SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key, attributes=wrong)


def test_an_addition_warns_of_values_of_another_type(tmp_path, key):
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key, attributes=["page"])
    store.add_texts([f"text {n}" for n in range(5)], [{"page": n} for n in range(5)])
    warned = r"attribute page: 1 of 2 documents have values of another type there, such as 'iv'\. The attribute holds numbers"
    with pytest.warns(UserWarning, match=warned):
        store.add_texts(["preface", "none"], [{"page": "iv"}, {}])
    with pytest.raises(sordino.FilterError, match="the attribute page holds numbers"):
        store.similarity_search("preface", filter={"page": "iv"})
    # A name that becomes an attribute later takes the type of its first value.
    store.add_texts(["a", "b", "c"], [{"lang": "de"}, {"lang": 7}, {"lang": ["en"]}])
    later = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key, attributes=["lang"])
    with pytest.warns(UserWarning, match="attribute lang: [12] of 10 documents have values of another type there"):
        later.add_texts(["d"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.add_texts(["e", "f"], [{"page": True}, {"page": None}])


@pytest.fixture(scope="module")
def typed(tmp_path_factory, key):
    """Two hundred documents, of which a search finds five, with an attribute."""
    texts = [f"text {n}" for n in range(200)]
    metadatas = [{"source": f"s{n}", "n": n, "plain": n} for n in range(200)]
    return SordinoVectorStore.from_texts(texts, EMBEDDING, metadatas, ids=texts, index=tmp_path_factory.mktemp("long") / "index", key=key, max_results=5, attributes=["source", "n"])


MANY = [f"{'é' * 20} {n}" for n in range(20_000)]
LONG = {
    "$in": ({"source": {"$in": [*MANY, "s7", "s107"]}}, [7, 107]),
    "$in of numbers": ({"n": {"$in": [7, True, *range(300, 30_000)]}}, [1, 7]),
    "$in of none": ({"source": {"$in": MANY}}, []),
    "$in and None": ({"source": {"$in": [*MANY, None, "s7"]}}, [7]),
    "$nin": ({"source": {"$nin": [*MANY, *(f"s{n}" for n in range(198))]}}, [198, 199]),
    "two lists": ({"source": {"$in": [*MANY, "s7", "s8"]}, "n": {"$in": [8, *range(300, 30_000)]}}, [8]),
    "a list that is not": ({"$and": [{"n": {"$gte": 198}}, {"$not": {"source": {"$in": [*MANY, "s198"]}}}]}, [199]),
    "many tests": ({"$and": [*({"source": {"$ne": "s1" + "x" * 2000 + str(n)}} for n in range(100)), {"n": 150}]}, [150]),
    "lists beyond what a condition holds": ({"n": {"$gte": 198}, "source": {"$nin": ["x" * 5000 + str(n) for n in range(100)]}}, [198, 199]),
}


@pytest.mark.parametrize("name", LONG)
def test_long_filters_apply_before_documents_are_ranked(typed, name):
    filter, expected = LONG[name]
    assert {found.id for found in typed.similarity_search("text 1", k=max(len(expected), 1), filter=filter)} == {f"text {n}" for n in expected}


def test_a_part_without_room_applies_to_the_nearest(typed):
    ones = [{"source": f"s{n}" + "x" * 2000} for n in range(40)]
    assert typed.similarity_search("text 1", k=1, filter={"n": 150, "$not": {"$or": ones}})[0].id == "text 150"
    with pytest.warns(UserWarning, match="0 documents instead of 1: the filter ran on the 5 nearest alone"):
        assert typed.similarity_search("text 1", k=1, filter={"$or": ones}) == []


NESTED = {
    "$and": lambda filter: {"$and": [{"$and": [filter, {"n": 150}]}, {"n": {"$lt": 180}}]},
    "$or": lambda filter: {"$or": [{"$or": [filter, {"n": 150}]}]},
    "$not": lambda filter: {"$not": {"$not": filter}},
    "all": lambda filter: {"$not": {"$or": [{"$not": {"$and": [filter, {"n": 150}]}}, {"n": 7}]}},
}


@pytest.mark.parametrize("name", NESTED)
def test_filters_are_nested_to_a_bound(typed, name):
    def nested(levels):
        filter = {"source": "s150"}
        for _ in range(levels // (4 if name == "all" else 2)):
            filter = NESTED[name](filter)
        return filter

    # The nearest documents are others, so that attributes decide these levels. They may not decide all of 64.
    for levels, query in [(40, "text 1"), (64, "text 150")]:
        assert [found.id for found in typed.similarity_search(query, k=1, filter=nested(levels))] == ["text 150"]
    for levels in (68, 4000):
        with pytest.raises(sordino.FilterError, match="more than 64 filters within one another"):
            typed.similarity_search("text 1", filter=nested(levels))


def test_missing_values_are_found_before_documents_are_ranked(tmp_path, key):
    texts = [f"text {n}" for n in range(100)]
    metadatas = [{"lang": None if n % 50 == 7 else "de" if n % 2 else "en", "year": None if n == 9 else n} for n in range(100)]
    store = SordinoVectorStore.from_texts(texts, EMBEDDING, metadatas, ids=texts, index=tmp_path / "index", key=key, max_results=5, attributes=["lang", "year"])
    for query in ("text 1", "text 40"):
        for filter, expected in [
            ({"lang": None}, [7, 57]),
            ({"lang": {"$eq": None}}, [7, 57]),
            ({"lang": {"$in": [None]}}, [7, 57]),
            ({"year": {"$in": [None, 30]}}, [9, 30]),
            ({"$or": [{"lang": None}, {"year": 3}]}, [3, 7, 57]),
            ({"lang": None, "year": {"$gt": 20}}, [57]),
        ]:
            assert {found.id for found in store.similarity_search(query, k=len(expected), filter=filter)} == {f"text {n}" for n in expected}, filter
    # Values of another type are not the attribute's, and pass no test of None.
    with pytest.warns(UserWarning, match="attribute lang: 10 of 10 documents"):
        store.add_texts([f"odd {n}" for n in range(10)], [{"lang": n, "year": 1000} for n in range(10)])
    with pytest.warns(UserWarning, match="the 5 nearest alone; an index with a larger"):
        assert all(found.metadata["lang"] is None for found in store.similarity_search("odd 1", k=5, filter={"lang": None}))


@pytest.mark.filterwarnings("ignore:found . documents instead")
def test_dates_and_lists_are_decided_before_documents_are_ranked(tmp_path, key):
    instants = [datetime(2024, 1, n % 28 + 1, n % 24, tzinfo=timezone.utc) if n % 13 else None for n in range(60)]
    texts = [f"text {n}" for n in range(60)]
    # Spellings of one time that are different texts.
    metadatas = [{"when": instant, "spelled": f"2024-01-0{n % 2 + 1}{['', 'T00:00:00', 'T02:00:00+02:00'][n % 3]}", "tags": [n % 20, "x"]} for n, instant in enumerate(instants)]
    store = SordinoVectorStore.from_texts(texts, EMBEDDING, metadatas, ids=texts, index=tmp_path / "index", key=key, max_results=3, attributes=["when", "spelled", "tags"])
    every = SordinoVectorStore.from_texts(texts, EMBEDDING, metadatas, ids=texts, index=tmp_path / "every", key=key, max_results=60)
    for filter in [
        {"when": {"$gte": datetime(2024, 1, 20, tzinfo=timezone.utc)}}, {"$not": {"when": {"$lt": datetime(2024, 1, 20, 5, tzinfo=timezone.utc)}}},
        {"when": instants[30]}, {"when": {"$ne": instants[30]}}, {"spelled": "2024-01-02"}, {"spelled": {"$ne": "2024-01-02"}}, {"spelled": {"$gt": "2024-01-01"}},
        {"spelled": {"$nin": ["2024-01-01", "2024-01-02"]}}, {"$not": {"spelled": {"$lte": "2024-01-01T00:00:00"}}}, {"tags": {"$eq": [7, "x"]}}, {"tags": {"$ne": [7, "x"]}},
        {"tags": {"$in": [[3, "x"], "x"]}}, {"tags": {"$nin": [[3, "x"]]}},
    ]:
        expected = [found.id for found in every.similarity_search("a query", k=3, filter=filter)]
        assert expected and [found.id for found in store.similarity_search("a query", k=3, filter=filter)] == expected, filter
    for one in (store, every):
        one.close()


def test_values_of_another_type_than_the_attribute_are_refused(tmp_path, key):
    texts = [f"text {n}" for n in range(8)]
    metadatas = [{"year": 285 + n, "lang": "en"} for n in range(8)]
    store = SordinoVectorStore.from_texts(texts, EMBEDDING, metadatas, ids=texts, index=tmp_path / "index", key=key, attributes=["year", "lang"])
    for filter, match in [
        ({"year": "290"}, "filter year: '290' is a str, and the attribute year holds numbers: give a number"),
        ({"year": {"$in": ["290", "291"]}}, "'290' is a str"),
        ({"$not": {"year": {"$ne": "290"}}}, "'290' is a str"),
        ({"$or": [{"lang": 7}, {"year": 290}]}, "filter lang: 7 is a int, and the attribute lang holds texts: give a str"),
        ({"year": {"$gt": date(2020, 1, 1)}}, "is a str, and the attribute year holds numbers"),
        ({"year": {}}, 'filter year: an empty dict, expected an operator'), ({"plain": {}}, "filter plain: an empty dict"),
        ({"year": {"gte": 290}}, 'filter year: a dict with \'gte\', expected {"\\$gte": ...}'),
    ]:
        with pytest.raises(sordino.FilterError, match=match):
            store.similarity_search("text 1", k=1, filter=filter)
    assert [found.id for found in store.similarity_search("text 1", k=2, filter={"year": {"$in": [290, "291"]}})] == ["text 5"]
    assert store.similarity_search("text 1", filter={"year": {"$eq": {"gte": 290}}}) == store.similarity_search("text 1", filter={"year": {"$eq": {}}}) == []


# Texts that begin as lists do, and lists and texts of one name.
MIXED = [{"tags": '["draft"]', "day": "2024-01-01T00:00:00", "ok": True}, {"tags": "final", "day": ["2024-05-01"], "ok": False}, {"tags": "draft", "day": "2024-02-01", "ok": True}, {}]


@pytest.mark.parametrize("attributes", [None, ["tags", "day"]], ids=["metadata", "attributes"])
def test_texts_that_look_like_lists_are_texts(tmp_path, key, attributes):
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key, attributes=attributes)
    store.add_texts([f"text {n}" for n in range(4)], MIXED, ids=[*"0123"])
    for filter, expected in [
        ({"tags": {"$ne": "draft"}}, "013"),
        ({"tags": {"$nin": ["draft", "final"]}}, "03"),
        ({"$not": {"tags": "draft"}}, "013"),
        ({"tags": "draft"}, "2"),
        ({"tags": '["draft"]'}, "0"),
        # A date in a list is no date, but this document fails before it.
        ({"ok": True, "day": {"$gt": "2024-01-01"}}, "02"),
    ]:
        assert {found.id for found in store.similarity_search("text 1", filter=filter)} == {*expected}, filter


@pytest.mark.parametrize("attributes", [None, ["tags"]], ids=["metadata", "attributes"])
def test_lists_are_found_by_a_member(tmp_path, key, attributes):
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key, max_results=20, attributes=attributes)
    store.add_texts([f"text {n}" for n in range(8)], [{"tags": ["a", "b", n]} if n % 2 else {} for n in range(8)], ids=[*"01234567"])
    for filter, expected in [
        ({"tags": {"$contains": "a"}}, "1357"),
        ({"tags": {"$contains": 3}}, "3"),
        ({"tags": {"$contains": "c"}}, ""),
        ({"$not": {"tags": {"$contains": 5}}}, "0123467"),
        ({"tags": {"$eq": ["a", "b", 7]}}, "7"),
        ({"tags": {"$ne": "a"}}, "01234567"),
    ]:
        assert {found.id for found in store.similarity_search("text 1", k=8, filter=filter)} == {*expected}, filter
    for filter in [{"tags": "a"}, {"tags": {"$in": ["a", "c"]}}, {"$not": {"tags": "a"}}]:
        with pytest.raises(sordino.FilterError, match=r'filter tags: \'a\' is a str, and documents have lists there.*\{"\$contains": \.\.\.\} is for a member'):
            store.similarity_search("text 1", filter=filter)
    with pytest.raises(sordino.FilterError, match=r'expected \{"\$contains": \.\.\.\}'):
        store.similarity_search("text 1", filter={"tags": {"contains": "a"}})
    store.add_texts(["more"], [{"tags": "a"}], ids=["8"])
    # A list and a text are different values, now that documents have both.
    assert [found.id for found in store.similarity_search("text 1", filter={"tags": "a"})] == ["8"]
    with pytest.raises(sordino.FilterError, match=r"\$contains is for lists, and a document has a str there"):
        store.similarity_search("text 1", k=9, filter={"tags": {"$contains": "a"}})


def test_names_may_be_words_of_conditions(tmp_path, key):
    metadatas = [{"not": n, "or": "x" if n else "y"} for n in range(3)]
    store = SordinoVectorStore.from_texts(["a", "b", "c"], EMBEDDING, metadatas, ids=["a", "b", "c"], index=tmp_path / "index", key=key, attributes=["or"])
    for filter, expected in [({"not": 2}, {"c"}), ({"or": "y"}, {"a"}), ({"$not": {"or": "y"}}, {"b", "c"}), ({"and": 1}, set())]:
        assert {found.id for found in store.similarity_search("a", filter=filter)} == expected


def test_without_ids_all_documents_are_deleted(filtered, tmp_path, key):
    store = SordinoVectorStore.from_texts(["a", "b"], EMBEDDING, index=tmp_path / "index", key=key)
    assert store.delete([]) and len(store.similarity_search("a")) == 2
    assert store.delete() and store.similarity_search("a") == []
    assert asyncio.run(store.adelete()) and store.add_texts(["c"]) and len(store.similarity_search("a")) == 1


def test_relevance_is_the_cosine_from_0_to_1(tmp_path, key):
    texts = [f"text {n}" for n in range(20)]
    store = SordinoVectorStore.from_texts(texts, EMBEDDING, index=tmp_path / "index", key=key)
    scores = dict((found.page_content, score) for found, score in store.similarity_search_with_score("text 3", k=20))
    relevances = dict((found.page_content, score) for found, score in store.similarity_search_with_relevance_scores("text 3", k=20))
    assert min(scores.values()) < 0 and relevances == pytest.approx({text: max(0, min(1, score)) for text, score in scores.items()}, abs=1e-2)
    retriever = store.as_retriever(search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.9, "k": 20})
    assert [found.page_content for found in retriever.invoke("text 3")] == ["text 3"]


def test_an_index_for_a_trial_goes_with_its_store():
    store = SordinoVectorStore.from_texts(["a", "b"], EMBEDDING, ids=["a", "b"])
    assert store.similarity_search("a", k=1)[0].id == "a"
    place = store._documents._place
    assert os.path.exists(place)
    del store
    gc.collect()
    assert not os.path.exists(place)
    again = SordinoVectorStore(EMBEDDING)
    assert again.similarity_search("a") == []
    again.add_texts(["c"], ids=["c"])
    assert again.as_retriever().invoke("c")[0].id == "c"


def test_kept_vectors_are_not_made_again(tmp_path, key):
    class Counted(DeterministicFakeEmbedding):
        calls: list = []

        def embed_documents(self, texts):
            self.calls.append(len(texts))
            return super().embed_documents(texts)

    texts = [f"text {n}" for n in range(30)]
    for keep, calls in [(True, [30]), (False, [30, 20])]:
        embedding = Counted(size=16, calls=[])
        store = SordinoVectorStore.from_texts(texts, embedding, ids=texts, index=tmp_path / str(keep), key=key, keep_vectors=keep)
        assert len(store.max_marginal_relevance_search("text 3", k=5)) == 5
        assert embedding.calls == calls
    plain, kept = (SordinoVectorStore(EMBEDDING, tmp_path / name, key=key) for name in ["False", "True"])
    assert plain.get_by_ids(["text 3"]) == kept.get_by_ids(["text 3"])


def test_stores_are_copied_without_secrets(tmp_path, key):
    key.save(tmp_path / "owner.key")
    store = SordinoVectorStore.from_texts(["a", "b"], EMBEDDING, ids=["a", "b"], index=tmp_path / "index", key=key)
    with pytest.raises(sordino.KeyKindError, match="path of the key's file"):
        pickle.dumps(store)
    for again in [copy.copy(store), copy.deepcopy(store)]:
        assert again.similarity_search("a", k=1)[0].id == "a"
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=tmp_path / "owner.key")
    carried = pickle.loads(pickle.dumps(store))
    assert carried.similarity_search("b", k=1)[0].id == "b" and carried.add_texts(["c"], ids=["c"]) == ["c"]


def test_single_additions_stay_in_few_segments(tmp_path, key):
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key)
    store.add_texts(["first"])
    for n in range(70):
        store.add_texts([f"text {n}"], ids=[str(n)])
        assert sordino.open(tmp_path / "index", key=key).info()["segments"] <= 64
    assert {found.id for found in store.get_by_ids(["0", "63", "69"])} == {"0", "63", "69"}


def test_what_another_process_wrote_is_known_to_the_next_change(tmp_path, key):
    one, other = (SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key) for _ in range(2))
    one.add_texts(["a"], ids=["a"])
    other.add_texts(["b"], ids=["b"])
    one.add_texts(["c"], ids=["c"])
    one.delete(["b"])
    assert {found.id for found in other.similarity_search("a")} == {"a", "c"}


def test_a_document_of_a_zero_vector_is_named(tmp_path, key):
    class Zeros(DeterministicFakeEmbedding):
        def embed_documents(self, texts):
            return [[0.0] * 16 if not text else vector for text, vector in zip(texts, super().embed_documents(texts))]

    store = SordinoVectorStore(Zeros(size=16), tmp_path / "index", key=key)
    with pytest.raises(sordino.ZeroVectorError, match="document 'empty'"):
        store.add_texts(["a", ""], ids=["a", "empty"])
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("first", [True, False])
def test_an_embedding_that_is_not_finite_is_named_by_its_document(tmp_path, key, first):
    class Broken(DeterministicFakeEmbedding):
        def embed_documents(self, texts):
            return [[0.5] * 15 + [float("nan")] if text == "bad" else vector for text, vector in zip(texts, super().embed_documents(texts))]

    store = SordinoVectorStore(Broken(size=16), tmp_path / "index", key=key)
    if not first:
        store.add_texts(["a"])
    with pytest.raises(sordino.NotFiniteError, match="document 'c', row 2 of the embeddings, has nan in column 15"):
        store.add_texts(["a", "b", "bad"], ids=["a", "b", "c"])
    assert (tmp_path / "index").exists() is not first


class Word(str, Enum):
    A = "a"


def test_an_id_that_is_a_member_of_an_enum_is_its_value(tmp_path, key):
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key)
    assert store.add_texts(["one", "two"], ids=[Word.A, Enum("Number", {"A": 5}, type=int).A]) == ["a", "5"]
    assert [found.id for found in store.get_by_ids(["a", "5"])] == ["a", "5"]


@pytest.mark.parametrize("cleanup", ["full", "incremental"])
def test_langchains_indexing_keeps_it_up_to_date(tmp_path, key, cleanup):
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key)
    records = InMemoryRecordManager("documents")
    records.create_schema()
    documents = [Document(page_content=f"text {n}", metadata={"source": str(n)}) for n in range(5)]
    how = {"cleanup": cleanup, "source_id_key": "source", "key_encoder": "sha256"}
    assert reindex(documents, records, store, **how)["num_added"] == 5
    for _ in range(2):
        again = reindex(documents, records, store, **how)
        assert (again["num_added"], again["num_skipped"], again["num_deleted"]) == (0, 5, 0)
    assert len(store.similarity_search("text", k=20)) == 5
    changed = [Document(page_content="other", metadata=documents[0].metadata), *documents[1:3]]
    left = 3 if cleanup == "full" else 5
    assert reindex(changed, records, store, **how)["num_deleted"] == (3 if cleanup == "full" else 1)
    assert len(store.similarity_search("text", k=20)) == left


def add_some(place, key_file, name):
    store = SordinoVectorStore(EMBEDDING, place, key=key_file)
    for n in range(3):
        store.add_texts([f"text {name} {n}"], ids=[f"{name} {n}"])


def test_processes_and_threads_that_add_at_once_wait_for_one_another(tmp_path, key):
    key.save(tmp_path / "owner.key")
    place = (str(tmp_path / "index"), str(tmp_path / "owner.key"))
    processes = [multiprocessing.get_context("spawn").Process(target=add_some, args=(*place, name)) for name in "a"]
    workers = [*processes, threading.Thread(target=add_some, args=(*place, "b"))]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert [one.exitcode for one in processes] == [0]
    store = SordinoVectorStore(EMBEDDING, place[0], key=key)
    assert len(store.get_by_ids([f"{name} {n}" for name in "ab" for n in range(3)])) == 6


def test_an_id_that_is_given_twice_in_one_call_is_named(tmp_path, key):
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key)
    with pytest.raises(sordino.IdsError, match="given twice in one call: 'a', 'b': expected each once"):
        store.add_texts(["one", "two", "three", "four"], ids=["a", "b", "b", "a"])
    assert store.get_by_ids(["a", "b"]) == []
    store.add_texts(["one"], ids=["a"])
    store.add_texts(["two"], ids=["a"])
    assert [one.page_content for one in store.get_by_ids(["a"])] == ["two"]
    store.close()
    for call in (lambda: store.similarity_search("one"), lambda: store.add_texts(["x"]), lambda: store.delete(["a"]), store.refresh):
        with pytest.raises(sordino.ClosedError, match="make a new one"):
            call()
