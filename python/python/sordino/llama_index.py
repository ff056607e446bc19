"""LlamaIndex's vector store on a private index: the extra `sordino[llama-index]`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from llama_index.core.vector_stores.utils import (
    build_metadata_filter_fn,
    metadata_dict_to_node,
    node_to_metadata_dict,
)

from ._documents import Documents, known
from ._errors import FilterError, InputError, KeyKindError, ModeError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from llama_index.core.schema import BaseNode
    from llama_index.core.vector_stores.types import MetadataFilters, VectorStoreQuery

    from ._client import Client
    from ._index import Index, Mode
    from ._sordino import ClientKey, OwnerKey, ReaderKey

__all__ = ["SordinoVectorStore"]


class SordinoVectorStore(BasePydanticVectorStore):
    """Nodes in an index whose server learns neither the queries nor, in masked mode, the nodes.

    index: the directory of an index, made by the first `add`; or the address of a server.
    key: the owner's key to change nodes; a reader's to search them.
    max_results: the most that a query returns (20), fixed when the index is made. Every query fetches as many
        nodes, whatever it asks for, so that the server does not learn `similarity_top_k`. To an index that is there it need not
        be said, and must be what it was made with; so must `mode`.
    mode: the index's mode ("masked"), as for `sordino.build`. Sealed mode's buckets and routed mode's clusters are made of
        the nodes of the first `add`, which should be many.
    client_key, token, roots: for a server's address, as for `sordino.Client`.

    What privacy changes:

    - Filters, `node_ids` and `doc_ids` of a query run here, on the `max_results` nearest: fewer than
      `similarity_top_k` may be left. An empty list of either allows no node. LlamaIndex's own retrievers, whose queries have a
      text, send `node_ids=[]` where they were given none: with a text it stands for every node, so where a list decides who may
      read what, use `doc_ids` or filters.
    - `get_nodes` by ids is a private fetch: the server sees that nodes were fetched and about how many.
      By filters alone it needs the owner's key, as `delete` does, which reads all nodes.
    - Vectors do not come back: nodes have no embedding, and query modes that need them are refused.

    Async methods run the others in threads; the computing there lets Python's other threads go on.
    """

    stores_text: bool = True
    _documents: Documents = PrivateAttr()

    def __init__(
        self,
        index: Index | str | os.PathLike[str],
        *,
        key: OwnerKey | ReaderKey,
        max_results: int | None = None,
        mode: Mode | None = None,
        client_key: ClientKey | None = None,
        token: bytes | str | os.PathLike[str] | None = None,
        roots: bytes | str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(stores_text=True)
        self._documents = Documents(
            index, key, most=max_results, mode=mode, client_key=client_key, token=token, roots=roots
        )

    @classmethod
    def class_name(cls) -> str:
        """The name by which LlamaIndex knows the class."""
        return "SordinoVectorStore"

    @property
    def client(self) -> Client | None:
        """The `sordino.Client`, or None as long as there is no index."""
        return self._documents.client()

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Adds nodes with embeddings, or replaces those whose ids are there. Returns the ids."""
        known(kwargs, "add")
        nodes = list(nodes)
        ids = [node.node_id for node in nodes]
        if not ids:
            return ids
        self._documents.add(ids, [_embedding(node) for node in nodes], [_stored(node) for node in nodes])
        return ids

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Deletes the nodes of a document."""
        known(delete_kwargs, "delete")
        found = self._documents.matching(lambda stored: stored.get("ref_doc_id") == ref_doc_id)
        self._documents.delete([id for id, _ in found])

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """Deletes nodes by id, by filters, or by both. Without either, and by filters without a condition, it raises `InputError`."""
        known(delete_kwargs, "delete_nodes")
        if filters is None:
            if node_ids is None:
                raise InputError("delete_nodes: expected node_ids or filters; clear() deletes all nodes")
            self._documents.delete(node_ids)
            return
        if not filters.filters and node_ids is None:
            raise InputError("filters: no condition, which all nodes meet; clear() deletes them")
        wanted = None if node_ids is None else set(node_ids)
        found = self._documents.matching(_passing(filters))
        self._documents.delete([id for id, _ in found if wanted is None or id in wanted])

    def clear(self) -> None:
        """Deletes all nodes."""
        self._documents.delete([id for id, _ in self._documents.matching(lambda stored: True)])

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Nodes by ids, by a private fetch, or all that pass the filters, read by the owner."""
        passes = _passing(filters)
        if node_ids is None:
            found = self._documents.matching(passes)
        else:
            found = [pair for pair in self._documents.get(node_ids) if passes(pair[1])]
        return [metadata_dict_to_node(stored) for _, stored in found]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """The nodes nearest to the query's embedding, with cosines."""
        known(kwargs, "query")
        if query.mode != VectorStoreQueryMode.DEFAULT:
            raise ModeError(f"query mode {query.mode.value!r}: expected 'default', since vectors do not come back")
        if query.query_embedding is None:
            raise InputError("a query without an embedding: it is made at the client")
        most = self._documents.wanted(query.similarity_top_k, "similarity_top_k")
        passes, node_ids, doc_ids = _passing(query.filters), query.node_ids, query.doc_ids
        if not node_ids and query.query_str is not None:
            # LlamaIndex's retriever sends an empty list for every store that keeps texts.
            node_ids = None
        found = [
            (id, stored, score)
            for id, stored, score in self._documents.search(query.query_embedding)
            if passes(stored)
            and (node_ids is None or id in node_ids)
            and (doc_ids is None or stored.get("ref_doc_id") in doc_ids)
        ][:most]
        return VectorStoreQueryResult(
            nodes=[metadata_dict_to_node(stored) for _, stored, _ in found],
            similarities=[score for _, _, score in found],
            ids=[id for id, _, _ in found],
        )

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """`add`, in a thread."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """`delete`, in a thread."""
        await asyncio.to_thread(self.delete, ref_doc_id, **delete_kwargs)

    async def adelete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """`delete_nodes`, in a thread."""
        await asyncio.to_thread(self.delete_nodes, node_ids, filters, **delete_kwargs)

    async def aclear(self) -> None:
        """`clear`, in a thread."""
        await asyncio.to_thread(self.clear)

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """`get_nodes`, in a thread."""
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """`query`, in a thread."""
        return await asyncio.to_thread(self.query, query, **kwargs)

    def refresh(self) -> bool:
        """Follows the index to its newest version, if others change it. True if there was one."""
        return self._documents.refresh()

    def close(self) -> None:
        """Lets go of the index or the connection."""
        self._documents.close()

    def __getstate__(self) -> dict[str, Any]:
        # LlamaIndex would leave out what cannot be pickled, and the copy would be no store.
        raise KeyKindError("a store holds a key and an open index, and is not copied or pickled: make another of its settings")


def _embedding(node: BaseNode) -> list[float]:
    if node.embedding is None:
        raise InputError(f"node {node.node_id!r} has no embedding")
    return node.embedding


def _stored(node: BaseNode) -> dict[str, Any]:
    try:
        return node_to_metadata_dict(node, remove_text=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"node {node.node_id!r} cannot be stored as JSON: {error}") from None


def _passing(filters: MetadataFilters | None) -> Callable[[Any], bool]:
    """A function that says of stored metadata if it passes."""
    if filters is None:
        return lambda stored: True
    held: dict[str, Any] = {}
    try:
        passes = build_metadata_filter_fn(lambda id: held[id], filters)
    except (TypeError, ValueError) as error:
        raise FilterError(f"filters: {error}") from None

    def check(stored: Any) -> bool:
        held["it"] = stored
        try:
            return passes("it")
        except (TypeError, ValueError) as error:
            raise FilterError(f"filters: {error}") from None

    return check
