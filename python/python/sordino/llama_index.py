"""LlamaIndex's vector store on a private index: the extra `sordino[llama-index]`."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from llama_index.core.bridge.pydantic import BaseModel, PrivateAttr
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterCondition,
    FilterOperator,
    MetadataFilters,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from llama_index.core.vector_stores.utils import (
    build_metadata_filter_fn,
    metadata_dict_to_node,
    node_to_metadata_dict,
)

from . import _payloads
from ._documents import Documents
from ._errors import FilterError, FormatError, InputError, ModeError
from ._filters import CHECKED, DEPTH, EMPTY, TOO_DEEP, Check, holding
from ._packing import Found, known, names
from ._tables import check_column

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from llama_index.core.schema import BaseNode
    from llama_index.core.vector_stores.types import VectorStoreQuery

    from ._client import Client
    from ._filters import Tree
    from ._index import Index, Mode
    from ._sordino import ClientKey, OwnerKey, ReaderKey

__all__ = ["SordinoVectorStore"]


class SordinoVectorStore(BasePydanticVectorStore):
    """Nodes in an index whose server does not learn the queries nor, in masked mode, the nodes.

    Async methods run the others in threads, and other Python threads run during their computing.

    Parameters
    ----------
    index : Index, path or str
        The directory of an index, which the first `add` makes; or the address of a server.
    key : OwnerKey, ReaderKey or path
        The owner's key to change nodes, or a reader's key to search them; or the path of its file. A store is
        pickled, and written by `to_dict`, only with the path, because keys are secret.
    max_results : int, default 20
        The largest number of results of a query, fixed when the index is made. Every query fetches this number of nodes, so that
        the server does not learn `similarity_top_k`. For an existing index, leave it out or pass the value of the build. The same holds for `mode`.
    mode : str, default "masked"
        The index's mode, as for `sordino.build`. The nodes of the first `add` decide the buckets of sealed mode and
        the clusters of routed mode, so there should be many of them.
    attributes : iterable of str, optional
        Names of metadata that filters use before nodes are ranked: numbers, bools, and texts and lists of up to 4,000 bytes.
        Clients download them sealed. `"ref_doc_id"`, or `"doc_id"`, is for `doc_ids`. The next `add` makes a name that is added
        later an attribute of all nodes.
    keep_vectors : bool, default False
        Store each node's vector with it, for the query mode "mmr" and for `node_ids`. Every query then also fetches
        `max_results` vectors.
    client_key, token, roots : optional
        As for `sordino.Client`, for the address of a server; the key may be the path of its file.
    wait : float, optional
        As for `sordino.Client`, for the address of a server: the seconds to keep trying while it is away or busy.

    Notes
    -----
    Privacy changes the following:

    - Filters, `node_ids` and `doc_ids` of a query run on the client. The part about `attributes` applies before
      nodes are ranked; the rest applies to the `max_results` nearest. A warning tells if fewer than
      `similarity_top_k` are left.
    - A query with `node_ids` fetches these nodes as `get_nodes` does. If vectors are kept, the client ranks them itself,
      and sends no query.
    - An empty list of `node_ids` or `doc_ids` allows no node, with one exception. LlamaIndex's own retrievers,
      whose queries have a text, send `node_ids=[]` if they were given none: with a text, this list stands for every
      node. To decide who may read what, use `doc_ids` or filters.
    - `get_nodes` by ids is a private fetch of the newest version: the server sees that nodes were fetched and about how
      many. `get_nodes` by filters alone, and `delete`, read all nodes and need the owner's key.
    - Nodes have no embedding. Query modes that need vectors are refused, and "mmr" is refused unless vectors are
      kept.
    - Metadata is stored as JSON. Dates and instants come back as texts in ISO 8601, and members of an Enum as their
      values.
    """

    stores_text: bool = True
    _documents: Documents = PrivateAttr()

    def __init__(
        self,
        index: Index | str | os.PathLike[str],
        *,
        key: OwnerKey | ReaderKey | str | os.PathLike[str],
        max_results: int | None = None,
        mode: Mode | None = None,
        attributes: Iterable[str] | None = None,
        keep_vectors: bool = False,
        client_key: ClientKey | str | os.PathLike[str] | None = None,
        token: bytes | str | os.PathLike[str] | None = None,
        roots: bytes | str | os.PathLike[str] | None = None,
        wait: float | None = None,
    ) -> None:
        if index is None:
            raise InputError("index: expected an index's directory or the address of a server")
        super().__init__(stores_text=True)
        self._documents = Documents(
            index,
            key,
            metadata=_metadata,
            most=max_results,
            mode=mode,
            attributes=_attributes(attributes),
            keep_vectors=keep_vectors,
            client_key=client_key,
            token=token,
            roots=roots,
            wait=wait,
        )

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Return the store's settings, with the paths of keys, as `from_dict` takes them.

        Returns
        -------
        dict
            The settings.

        Raises
        ------
        InputError
            If the key was given itself, and not as a path.
        """
        known(kwargs, "to_dict")
        return self._documents.settings(_SETTINGS) | {"class_name": self.class_name()}

    @classmethod
    def class_name(cls) -> str:
        """Return the name by which LlamaIndex knows the class.

        Returns
        -------
        str
            The name.
        """
        return "SordinoVectorStore"

    @property
    def client(self) -> Client | None:
        """The `sordino.Client`, or None while there is no index."""
        return self._documents.client()

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Add nodes with embeddings, or replace the nodes whose ids exist. Return the ids.

        Parameters
        ----------
        nodes : sequence of BaseNode
            The nodes, each with its embedding.

        Returns
        -------
        list of str
            The ids.
        """
        known(kwargs, "add")
        nodes = list(nodes)
        ids = [node.node_id for node in nodes]
        if not ids:
            return ids
        self._documents.add(ids, [_embedding(node) for node in nodes], [_stored(node) for node in nodes])
        return ids

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete the nodes of a document.

        Parameters
        ----------
        ref_doc_id : str
            The id of the document.
        """
        known(delete_kwargs, "delete")
        found = self._documents.matching(lambda stored: stored.get("ref_doc_id") == ref_doc_id)
        self._documents.delete([one.id for one in found])

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """Delete nodes by id, by filters, or by both.

        Parameters
        ----------
        node_ids : list of str, optional
            The ids.
        filters : MetadataFilters, optional
            The condition that nodes meet.

        Raises
        ------
        InputError
            If neither is given, or a part of the filters has no condition and there are no `node_ids`.
        """
        known(delete_kwargs, "delete_nodes")
        if filters is None:
            if node_ids is None:
                raise InputError("delete_nodes: expected node_ids or filters; clear() deletes all nodes")
            self._documents.delete(node_ids)
            return
        passes = _passing(filters)
        if node_ids is None and not _is_complete(filters):
            raise InputError(
                "filters: a part without a condition, so that all nodes may match: expected a filter in each part; clear() deletes all nodes"
            )
        wanted = None if node_ids is None else set(names(node_ids))
        found = self._documents.matching(passes)
        self._documents.delete([one.id for one in found if wanted is None or one.id in wanted])

    def clear(self) -> None:
        """Delete all nodes."""
        self._documents.delete(None)

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Return nodes by ids, in a private fetch; or all nodes that pass the filters, which needs the owner's key.

        Parameters
        ----------
        node_ids : list of str, optional
            The ids.
        filters : MetadataFilters, optional
            The condition that nodes meet.

        Returns
        -------
        list of BaseNode
            The nodes.
        """
        passes = _passing(filters)
        if node_ids is None:
            found = self._documents.matching(passes)
        else:
            found = [one for one in self._documents.get(node_ids) if passes(one.document)]
        return [metadata_dict_to_node(_metadata(one.document)) for one in found]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Return the nodes nearest to the query's embedding, with cosines.

        Parameters
        ----------
        query : VectorStoreQuery
            The query, with its embedding. Its mode is "default" or "mmr".

        Returns
        -------
        VectorStoreQueryResult
            Nodes, cosines and ids, best first.
        """
        known(kwargs, "query")
        mode = _mode(query.mode)
        if mode not in (VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.MMR):
            raise ModeError(f"query mode {mode.value!r}: expected 'default', or 'mmr' of a store with keep_vectors=True")
        if query.query_embedding is None:
            raise InputError("a query without an embedding: expected query_embedding, which the client makes")
        most = self._documents.wanted(query.similarity_top_k, "similarity_top_k")
        node_ids, doc_ids = query.node_ids, query.doc_ids
        if not node_ids and query.query_str is not None:
            # LlamaIndex's retriever sends an empty list for every store that keeps texts.
            node_ids = None
        passing = _passing(query.filters)

        def passes(one: Found) -> bool:
            return (
                passing(one.document)
                and (node_ids is None or one.id in node_ids)
                and (doc_ids is None or _metadata(one.document).get("ref_doc_id") in doc_ids)
            )

        trees = [_tree(query.filters)]
        if node_ids is not None:
            trees.append(None)
        if doc_ids is not None:
            trees.append(("ref_doc_id", "$in", list(doc_ids)))
        diverse = mode == VectorStoreQueryMode.MMR
        first = max(self._documents.most() or most, most) if diverse else most
        found = None if node_ids is None else self._documents.among(node_ids, query.query_embedding, passes)
        if found is None:
            advice = "" if node_ids is None else _KEEP
            found = self._documents.search(query.query_embedding, first, ("and", trees), passes, most, advice, "FilterOperator.CONTAINS")
        found = found[:first]
        if diverse:
            found = _diverse(found, query, most)
        return VectorStoreQueryResult(
            nodes=[metadata_dict_to_node(_metadata(one.document)) for one in found],
            similarities=[one.score or 0.0 for one in found],
            ids=[one.id for one in found],
        )

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Run `add` in a thread."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Run `delete` in a thread."""
        await asyncio.to_thread(self.delete, ref_doc_id, **delete_kwargs)

    async def adelete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """Run `delete_nodes` in a thread."""
        await asyncio.to_thread(self.delete_nodes, node_ids, filters, **delete_kwargs)

    async def aclear(self) -> None:
        """Run `clear` in a thread."""
        await asyncio.to_thread(self.clear)

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Run `get_nodes` in a thread."""
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Run `query` in a thread."""
        return await asyncio.to_thread(self.query, query, **kwargs)

    def refresh(self) -> bool:
        """Follow the index to its newest version, if others change it. Return True if there was one.

        Returns
        -------
        bool
            True if there was a newer version.
        """
        return self._documents.refresh()

    def close(self) -> None:
        """Release the index or the connection."""
        self._documents.close()

    def __getstate__(self) -> dict[Any, Any]:
        # LlamaIndex's own method would leave out what cannot be pickled, and the copy would not work.
        return BaseModel.__getstate__(self)


def _attributes(given: Any) -> Any:
    """Return the names of attributes, with one name for the id of a node's document."""
    check_column(given, "attributes", InputError)
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        return given
    return ["ref_doc_id" if name in _SAME else name for name in given]


def _mode(mode: Any) -> VectorStoreQueryMode:
    """Return the mode of a query, which may be a plain text."""
    try:
        return VectorStoreQueryMode(mode)
    except ValueError:
        raise ModeError(f"query mode {mode!r}: expected 'default', or 'mmr' of a store with keep_vectors=True") from None


def _embedding(node: BaseNode) -> list[float]:
    if node.embedding is None:
        raise InputError(f"node {node.node_id!r} has no embedding: embed it before it is added")
    return node.embedding


def _stored(node: BaseNode) -> dict[str, Any]:
    try:
        plain = node.model_copy(update={"metadata": _payloads.plain(node.metadata)})
        return node_to_metadata_dict(plain, remove_text=False)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"node {node.node_id!r} cannot be stored as JSON: its metadata {error}") from None


def _metadata(stored: Any) -> dict[str, Any]:
    """Return the metadata of a stored node."""
    if not (isinstance(stored, dict) and "_node_content" in stored):
        raise FormatError("the index holds no nodes of LlamaIndex's store: it was made by other means")
    return stored


def _diverse(found: list[Found], query: VectorStoreQuery, most: int) -> list[Found]:
    """Return nodes that are near the query and far from one another."""
    vectors = [one.vector.tolist() for one in found if one.vector is not None]
    if len(vectors) < len(found):
        raise ModeError("query mode 'mmr': some nodes were added without keep_vectors=True, and vectors do not come back; add them once more")
    if not found:
        return []
    threshold = 0.5 if query.mmr_threshold is None else query.mmr_threshold
    _, chosen = get_top_k_mmr_embeddings(
        query.query_embedding or [], vectors, similarity_top_k=most, embedding_ids=list(range(len(found))), mmr_threshold=threshold
    )
    return [found[at] for at in chosen]


def _is_complete(filters: MetadataFilters) -> bool:
    """Return True if each part of the filters has a condition."""
    return bool(filters.filters) and all(not isinstance(one, MetadataFilters) or _is_complete(one) for one in filters.filters)


def _passing(filters: MetadataFilters | None, depth: int = 0) -> Callable[[Any], bool]:
    """Return a function that tests if stored metadata passes. Filters within filters are joined by their own
    condition.
    """
    if filters is None or not filters.filters:
        return lambda stored: True
    condition = filters.condition or FilterCondition.AND
    if condition not in _JOINED:
        raise NotImplementedError(f"filters: the condition {condition!r}, expected one of {', '.join(one.value for one in _JOINED)}")
    if depth > DEPTH:
        raise FilterError(TOO_DEEP)
    parts = [_passing(one, depth + 1) if isinstance(one, MetadataFilters) else _leaf(one) for one in filters.filters]
    joined = _JOINED[condition]
    return lambda stored: joined(part(stored) for part in parts)


def _leaf(one: Any) -> Callable[[Any], bool]:
    """Return a function that tests one filter on stored nodes."""
    test = _test(one)
    return lambda stored: test(_metadata(stored))


def _test(one: Any) -> Callable[[Any], bool]:
    """Return a function that tests one filter on metadata, as LlamaIndex's own store does."""
    held: dict[str, Any] = {}
    if one.operator not in _OPERATORS:
        raise NotImplementedError(f"filters: the operator {one.operator!r} on {one.key!r}, which this store does not have")
    if one.operator in _SEVERAL and not hasattr(one.value, "__iter__"):
        raise FilterError(f"filters: {one.key} {one.operator.value} of a {type(one.value).__name__}, expected a list of values")
    try:
        passes = build_metadata_filter_fn(lambda id: held[id], MetadataFilters(filters=[one]))
    except (TypeError, ValueError) as error:
        raise FilterError(f"filters: {error}") from None

    def check(metadata: Any) -> bool:
        held["it"] = metadata
        try:
            return passes("it")
        except (TypeError, ValueError) as error:
            raise FilterError(f"filters: {one.key} {one.operator.value} {one.value!r}: {error}") from None

    return check


def _tree(filters: MetadataFilters | None) -> Tree:
    """Return the part of filters that attributes may decide."""
    if filters is None or not filters.filters:
        return ("and", [])
    trees = [_tree(one) if isinstance(one, MetadataFilters) else _tree_of(one) for one in filters.filters]
    condition = filters.condition or FilterCondition.AND
    if condition == FilterCondition.NOT:
        return ("not", ("or", trees))
    return ("and" if condition == FilterCondition.AND else "or", trees)


def _tree_of(one: Any) -> Tree:
    name, word = "ref_doc_id" if one.key in _SAME else one.key, _OPERATORS.get(one.operator)
    if word != CHECKED:
        return (name, word, one.value)
    test = _test(one)
    return (name, CHECKED, Check(lambda value: test({one.key: value}), lambda passing: _conditions(name, one, passing)))


def _conditions(name: str, one: Any, passing: Iterable[Any]) -> list[str]:
    """Return conditions on attributes that may be equal to a filter, for the values that pass it."""
    if one.operator in (FilterOperator.ANY, FilterOperator.ALL):
        parts = one.value if hasattr(one.value, "__iter__") else []
        return holding(name, parts, "or" if one.operator == FilterOperator.ANY else "and")
    if one.operator != FilterOperator.TEXT_MATCH_INSENSITIVE:
        return holding(name, [one.value], "or")
    # The condition lists the spellings that occur in the passing texts.
    spelled = {part for text in passing for part in re.findall(re.escape(one.value), text, re.IGNORECASE)}
    return holding(name, sorted(spelled), "or")


# Other names in stored metadata for the id of a node's document.
_SAME = ("doc_id", "document_id")

_KEEP = "nodes that are added with keep_vectors=True are all found by node_ids"

# The settings of `to_dict`, by their names in `Documents`.
_SETTINGS = {
    "index": "place",
    "key": "key",
    "max_results": "most",
    "mode": "mode",
    "attributes": "attributes",
    "keep_vectors": "keep_vectors",
    "client_key": "client_key",
    "token": "token",
    "roots": "roots",
    "wait": "wait",
}

_JOINED: dict[Any, Callable[[Iterable[bool]], bool]] = {
    FilterCondition.AND: all,
    FilterCondition.OR: any,
    FilterCondition.NOT: lambda some: not any(some),
}

# The operators with a list of values.
_SEVERAL = (FilterOperator.IN, FilterOperator.NIN, FilterOperator.ANY, FilterOperator.ALL)

# The operators of this store, with their form in conditions on attributes if attributes may decide them.
_OPERATORS = {
    FilterOperator.EQ: "$eq",
    FilterOperator.NE: "$ne",
    FilterOperator.GT: "$gt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LT: "$lt",
    FilterOperator.LTE: "$lte",
    FilterOperator.IN: "$in",
    FilterOperator.NIN: "$nin",
    FilterOperator.ANY: CHECKED,
    FilterOperator.ALL: CHECKED,
    FilterOperator.CONTAINS: CHECKED,
    FilterOperator.TEXT_MATCH: CHECKED,
    FilterOperator.TEXT_MATCH_INSENSITIVE: CHECKED,
    FilterOperator.IS_EMPTY: EMPTY,
}
