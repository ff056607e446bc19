"""LangChain's own tests of vector stores, and what is particular to this one."""

import copy
import os
import pickle
import shutil
import uuid
from datetime import datetime

import numpy as np
import pytest

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
        texts, EMBEDDING, metadatas, ids=texts, index=tmp_path / "index", key=key
    )
    with sordino.serve(tmp_path / "index", listen="127.0.0.1:0", public_key=key.public()) as server:
        reader = SordinoVectorStore(EMBEDDING, server.url, key=key.reader())
        (best, score), *_ = reader.similarity_search_with_score("text 7", k=3)
        assert best == Document(id="text 7", page_content="text 7", metadata=metadatas[7])
        assert score == pytest.approx(1, abs=2e-3)
        assert [found.id for found in reader.get_by_ids(["text 3", "none", "text 1"])] == ["text 3", "text 1"]
        even = reader.similarity_search("text 7", k=20, filter={"even": True})
        assert 0 < len(even) <= 20 and all(found.metadata["even"] for found in even)
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
    with pytest.raises(sordino.KeyKindError):
        SordinoVectorStore(EMBEDDING, tmp_path / "index", key="owner.key")
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
    with pytest.raises(sordino.Error, match="JSON"):
        store.add_texts(["text"], [{"array": np.ones(3)}])
    with pytest.raises(sordino.InputError, match="2 texts, 1 metadatas"):
        store.add_texts(["text", "text"], [{}])
    with pytest.raises(sordino.InputError, match="directory"):
        SordinoVectorStore.from_texts(["text"], EMBEDDING)
    with pytest.raises(sordino.InputError, match="keygen.*save"):
        SordinoVectorStore.from_texts(["text"], EMBEDDING, index=tmp_path / "index")
    assert not (tmp_path / "index").exists()
    assert store.similarity_search("text") == []


def test_what_would_come_back_as_something_else_is_refused_by_its_name(tmp_path, key):
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for value, match in [
        (datetime.now(), "'when'.*datetime"), (np.int64(3), "'when'.*int64"), (float("nan"), "'when'.*nan"), ((1, 2), "'when'.*tuple"),
        ({"a": [0, {1, 2}]}, r"'when'\]\['a'\]\[1\] is a set"), ({1: "x"}, "'when'.*name 1"), ("\ud800", "surrogate"), (deep, "too deep"),
    ]:
        with pytest.raises(sordino.InputError, match=f"'d'.*JSON: .*{match}"):
            store.add_texts(["text"], [{"when": value}], ids=["d"])
    assert not (tmp_path / "index").exists()
    store.add_texts(["text"], [{"n": np.float64(0.5), "s": np.str_("x")}], ids=["d"])
    assert store.get_by_ids(["d"])[0].metadata == {"n": 0.5, "s": "x"}


def test_a_payload_that_is_nested_too_deep_is_no_document(tmp_path, key):
    rows = np.random.default_rng(1).standard_normal((30, 16))
    index = sordino.build(tmp_path / "deep", rows, key=key, payloads=["[" * 100_000] * 30)
    store = SordinoVectorStore(EMBEDDING, index, key=key)
    for call in [lambda: store.similarity_search("x"), lambda: store.add_texts(["x"])]:
        with pytest.raises(sordino.FormatError, match="other means"):
            call()


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
]


@pytest.fixture(scope="module")
def filtered(tmp_path_factory, key):
    store = SordinoVectorStore(EMBEDDING, tmp_path_factory.mktemp("filters") / "index", key=key)
    metadatas = [{"n": n, "lang": "de" if n % 2 else "en"} for n in range(6)] + [{"tags": ["x", "y"], "inner": {"a": 1}, "n": None}]
    store.add_texts([f"text {n}" for n in range(7)], metadatas, ids=[str(n) for n in range(7)])
    yield store
    store.close()


@pytest.mark.parametrize("name", FILTERS)
def test_filters_compare(filtered, name):
    filter, expected = FILTERS[name]
    assert sorted(int(found.id) for found in filtered.similarity_search("text 1", k=7, filter=filter)) == expected


@pytest.mark.parametrize("filter", NO_FILTERS, ids=str)
def test_filters_that_say_nothing_are_refused(filtered, filter):
    with pytest.raises(sordino.FilterError, match="filter"):
        filtered.similarity_search("text 1", filter=filter)


def test_stores_are_not_copied(filtered):
    for copying in [pickle.dumps, copy.deepcopy]:
        with pytest.raises(sordino.KeyKindError, match="not copied"):
            copying(filtered)


def test_a_document_of_a_zero_vector_is_named(tmp_path, key):
    class Zeros(DeterministicFakeEmbedding):
        def embed_documents(self, texts):
            return [[0.0] * 16 if not text else vector for text, vector in zip(texts, super().embed_documents(texts))]

    store = SordinoVectorStore(Zeros(size=16), tmp_path / "index", key=key)
    with pytest.raises(sordino.ZeroVectorError, match="document 'empty'"):
        store.add_texts(["a", ""], ids=["a", "empty"])
    assert not (tmp_path / "index").exists()


def test_langchains_indexing_keeps_it_up_to_date(tmp_path, key):
    store = SordinoVectorStore(EMBEDDING, tmp_path / "index", key=key)
    records = InMemoryRecordManager("documents")
    records.create_schema()
    documents = [Document(page_content=f"text {n}", metadata={"source": str(n)}) for n in range(5)]
    how = {"cleanup": "full", "source_id_key": "source", "key_encoder": "sha256"}
    assert reindex(documents, records, store, **how)["num_added"] == 5
    assert reindex(documents[:3], records, store, **how)["num_deleted"] == 2
    assert len(store.similarity_search("text", k=5)) == 3
