"""LlamaIndex on a private index, by its own index class and query types."""

import asyncio
import copy
import pickle
import threading

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

import sordino
from sordino.llama_index import SordinoVectorStore


def node(n, document):
    vector = [0.0] * 8
    vector[n % 8] = 1.0
    vector[(n + 1) % 8] = 0.1 * (n // 8)
    return TextNode(
        id_=f"node {n}",
        text=f"text {n}",
        metadata={"n": n},
        embedding=vector,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)},
    )


@pytest.fixture
def store(tmp_path, key):
    store = SordinoVectorStore(tmp_path / "index", key=key)
    store.add([node(n, f"document {n % 3}") for n in range(16)])
    yield store
    store.close()


def ask(store, n, **how):
    return store.query(VectorStoreQuery(query_embedding=node(n, "").embedding, **how))


def test_a_query_finds_nodes_with_their_text(store):
    result = ask(store, 5, similarity_top_k=2)
    assert result.ids == ["node 5", "node 13"]
    assert result.nodes[0].text == "text 5" and result.nodes[0].metadata == {"n": 5}
    assert result.nodes[0].ref_doc_id == "document 2"
    assert result.similarities == pytest.approx([1, (1 + 0.1**2) ** -0.5], abs=2e-3)


def test_filters_run_at_the_client(store):
    even = MetadataFilters(filters=[MetadataFilter(key="n", value=10, operator=FilterOperator.GT)])
    assert ask(store, 5, similarity_top_k=1, filters=even).ids == ["node 13"]
    assert ask(store, 5, similarity_top_k=9, node_ids=["node 1", "node 5"]).ids[0] == "node 5"
    assert set(ask(store, 5, similarity_top_k=20, doc_ids=["document 0"]).ids) == {
        f"node {n}" for n in range(0, 16, 3)
    }


def test_an_empty_list_allows_no_node(store):
    assert ask(store, 5, node_ids=[]).ids == [] and ask(store, 5, doc_ids=[]).ids == []
    assert ask(store, 5, node_ids=[], query_str="of a retriever, which was given none").ids == ["node 5"]
    assert ask(store, 5, doc_ids=[], query_str="text").ids == []
    assert store.get_nodes([]) == []
    store.delete_nodes([])
    everything = MetadataFilters(filters=[])
    for call in [store.delete_nodes, lambda: store.delete_nodes(filters=everything)]:
        with pytest.raises(sordino.InputError, match="clear"):
            call()
    store.delete_nodes([], everything)
    assert len(store.get_nodes()) == 16


def test_arguments_that_nobody_reads_are_refused(store):
    query = VectorStoreQuery(query_embedding=node(5, "").embedding)
    for call in [
        lambda: store.query(query, where={"n": 1}),
        lambda: store.add([node(1, "d")], where=1),
        lambda: store.delete("document 1", where=1),
        lambda: store.delete_nodes(["node 1"], where=1),
        lambda: asyncio.run(store.aquery(query, where=1)),
        lambda: asyncio.run(store.adelete_nodes(["node 1"], where=1)),
    ]:
        with pytest.raises(sordino.InputError, match="where"):
            call()
    assert len(store.get_nodes()) == 16


def test_filters_that_cannot_be_decided_are_errors_of_this_package(store):
    text = MetadataFilters(filters=[MetadataFilter(key="n", value="1", operator=FilterOperator.GT)])
    nested = MetadataFilters(filters=[MetadataFilters(filters=[MetadataFilter(key="n", value=1)])])
    for filters in [text, nested]:
        with pytest.raises(sordino.FilterError):
            ask(store, 5, filters=filters)


def test_stores_are_not_copied_and_streams_of_nodes_are_taken(store):
    for copying in [pickle.dumps, copy.deepcopy]:
        with pytest.raises(sordino.KeyKindError, match="not copied"):
            copying(store)
    assert store.add(node(n, "more") for n in (20, 21)) == ["node 20", "node 21"]
    with pytest.raises(sordino.InputError, match="'bare' has no embedding"):
        store.add([TextNode(id_="bare", text="x")])
    with pytest.raises(sordino.InputError, match="'odd'.*JSON"):
        store.add([TextNode(id_="odd", text="x", metadata={"n": object()}, embedding=[1.0] * 8)])


def test_settings_that_an_index_was_not_made_with_are_refused(store, tmp_path, key):
    other = SordinoVectorStore(tmp_path / "index", key=key, max_results=5)
    with pytest.raises(sordino.InputError, match="made with 20"):
        ask(other, 5)


def test_nodes_are_replaced_read_and_deleted(store):
    changed = node(5, "document 2")
    changed.text = "another text"
    assert store.add([changed]) == ["node 5"]
    assert [found.text for found in store.get_nodes(["node 5", "none"])] == ["another text"]
    high = MetadataFilters(filters=[MetadataFilter(key="n", value=13, operator=FilterOperator.GTE)])
    assert {found.node_id for found in store.get_nodes(filters=high)} == {"node 13", "node 14", "node 15"}
    store.delete("document 0")
    assert store.get_nodes(["node 0", "node 3"]) == []
    store.delete_nodes(["node 1"])
    store.delete_nodes(filters=high)
    assert len(store.get_nodes()) == 16 - 6 - 1 - 2
    store.clear()
    assert ask(store, 5).ids == [] and store.get_nodes() == []
    store.add([])


def test_a_reader_queries_over_a_network(store, tmp_path, key):
    with sordino.serve(tmp_path / "index", listen="127.0.0.1:0", public_key=key.public()) as server:
        reader = SordinoVectorStore(server.url, key=key.reader())
        assert ask(reader, 3).ids == ["node 3"]
        assert reader.get_nodes(["node 4"])[0].text == "text 4"
        with pytest.raises(sordino.KeyKindError):
            reader.delete("document 1")
        reader.close()


def test_async_calls_do_not_hold_up_the_loop(store, monkeypatch):
    threads = []
    whole = store._documents.search

    def search(*arguments):
        threads.append(threading.current_thread())
        return whole(*arguments)

    monkeypatch.setattr(store._documents, "search", search)

    async def use():
        result = await store.aquery(VectorStoreQuery(query_embedding=node(5, "").embedding, similarity_top_k=1))
        assert result.ids == ["node 5"] and threads != [threading.main_thread()]
        await store.async_add([node(20, "document 9")])
        assert len(await store.aget_nodes(["node 20"])) == 1
        await store.adelete("document 9")
        await store.adelete_nodes(["node 1"])
        assert await store.aget_nodes(["node 20", "node 1"]) == []
        await store.aclear()
        assert await store.aget_nodes() == []

    asyncio.run(use())


def test_modes_that_need_vectors_are_refused(store):
    with pytest.raises(sordino.ModeError, match="mmr"):
        ask(store, 1, mode=VectorStoreQueryMode.MMR)
    with pytest.raises(sordino.InputError, match="embedding"):
        store.query(VectorStoreQuery(query_str="text"))


def test_it_serves_as_the_store_of_an_index(tmp_path, key):
    store = SordinoVectorStore(tmp_path / "other", key=key)
    context = StorageContext.from_defaults(vector_store=store)
    nodes = [TextNode(text=f"text {n}") for n in range(3)]
    index = VectorStoreIndex(nodes, storage_context=context, embed_model=MockEmbedding(8))
    found = index.as_retriever(similarity_top_k=2).retrieve("text 1")
    assert len(found) == 2 and found[0].node.text.startswith("text")
    store.close()
