"""LangChain's own tests of vector stores, and what is particular to this one."""

import uuid

import numpy as np
import pytest

pytest.importorskip("langchain_tests")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
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
        assert len(again.similarity_search("text 25", k=20)) in (5, 6)
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
                  lambda: store.similarity_search("a", filter=["x"]), lambda: store.add_texts([5])]:
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
    assert store.similarity_search("text") == []
