"""Haystack's document store and retriever on a private index: the extra `sordino[haystack]`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy, FilterPolicy, apply_filter_policy
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter

from ._documents import Documents
from ._errors import DimensionError, InputError, KeyKindError
from ._sordino import ClientKey, OwnerKey, ReaderKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._index import Index, Mode

__all__ = ["SordinoDocumentStore", "SordinoEmbeddingRetriever"]

# Numbers of an embedding, if nothing is said when the index is made.
_DIM = 768


class SordinoDocumentStore:
    """Documents in an index whose server learns neither the queries nor, in masked mode, the documents.

    index: the directory of an index, made by the first `write_documents`; or the address of a server.
    key: the owner's key to change documents, a reader's to search them: the key, or the path of its file. A
        store is written into a pipeline's file (`to_dict`) only with paths, since keys are secret.
    embedding_dim: the dimension of embeddings (768), fixed when the index is made.
    max_results: the most that a search returns (20), fixed when the index is made. Every search fetches as many
        documents, whatever it asks for, so that the server does not learn `top_k`. To an index that is there it need not be
        said, and must be what it was made with; so must `mode` and `embedding_dim`.
    mode: the index's mode ("masked"), as for `sordino.build`. Sealed mode's buckets and routed mode's clusters are made of
        the documents of the first `write_documents`, which should be many.
    client_key, token, roots: for a server's address, as for `sordino.Client`; the key or the path of its file, and the paths
        of the others.

    What privacy changes:

    - `filter_documents` and `count_documents` read everything with the owner's key; over a network there is
      no such call. A retriever's filters run here, on the `max_results` nearest.
    - Embeddings do not come back. Documents without one, or with zeros, are kept and no search finds them.
    - The default policy for ids that are there is to fail.
    """

    def __init__(
        self,
        index: Index | str | os.PathLike[str],
        *,
        key: OwnerKey | ReaderKey | str | os.PathLike[str],
        embedding_dim: int | None = None,
        max_results: int | None = None,
        mode: Mode | None = None,
        client_key: ClientKey | str | os.PathLike[str] | None = None,
        token: str | os.PathLike[str] | None = None,
        roots: str | os.PathLike[str] | None = None,
    ) -> None:
        self._settings = {
            "index": index,
            "key": key,
            "embedding_dim": embedding_dim,
            "max_results": max_results,
            "mode": mode,
            "client_key": client_key,
            "token": token,
            "roots": roots,
        }
        self._documents = Documents(
            index,
            _loaded(key),
            most=max_results,
            mode=mode,
            dim=embedding_dim,
            client_key=ClientKey.load(client_key) if isinstance(client_key, (str, os.PathLike)) else client_key,
            token=token,
            roots=roots,
        )

    def to_dict(self) -> dict[str, Any]:
        """The store's settings, with the paths of keys. Raises `InputError` if a key was given itself."""
        settings = {}
        for name, value in self._settings.items():
            if isinstance(value, os.PathLike):
                value = os.fspath(value)
            if value is not None and not isinstance(value, (str, int)):
                raise InputError(
                    f"{name} is a {type(value).__name__}, which is not written into a pipeline's file: give its path"
                )
            settings[name] = value
        return default_to_dict(self, **settings)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SordinoDocumentStore:
        """The store of these settings."""
        return default_from_dict(cls, data)

    def count_documents(self) -> int:
        """The number of documents. Needs the owner's key."""
        return len(self._documents.ids())

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """The documents that match, without embeddings, in no particular order. Needs the owner's key."""
        passes = _passing(filters)
        found = (_document(stored) for _, stored in self._documents.matching(lambda stored: True))
        return [document for document in found if passes(document)]

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Writes documents; the number of them.

        policy: for ids that are there: `SKIP`, `OVERWRITE`, or `FAIL`, which is also the default.

        Raises `ValueError`, `DimensionError`, `DuplicateDocumentError`; nothing is written then.
        """
        if not isinstance(documents, list) or not all(isinstance(one, Document) for one in documents):
            raise ValueError("documents: expected a list of haystack.Document")
        held = set(self._documents.ids())
        chosen: dict[str, Document] = {}
        for document in documents:
            if policy != DuplicatePolicy.OVERWRITE and (document.id in held or document.id in chosen):
                if policy == DuplicatePolicy.SKIP:
                    continue
                raise DuplicateDocumentError(f"document {document.id!r} is there already")
            chosen[document.id] = document
        if chosen:
            dim = self._documents.dim(_DIM)
            vectors, stored = zip(*(self._record(document, dim) for document in chosen.values()))
            self._documents.add(list(chosen), np.stack(vectors), stored)
        return len(documents) if policy == DuplicatePolicy.OVERWRITE else len(chosen)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Deletes documents; ids that are not there are passed over."""
        self._documents.delete(document_ids)

    def refresh(self) -> bool:
        """Follows the index to its newest version, if others change it. True if there was one."""
        return self._documents.refresh()

    def close(self) -> None:
        """Lets go of the index or the connection."""
        self._documents.close()

    def _record(self, document: Document, dim: int) -> tuple[np.ndarray, Any]:
        """A document's vector and what is stored of it."""
        stored = document.to_dict(flatten=False)
        stored.pop("embedding", None)
        stored.pop("score", None)
        # Zeros, and none, stand for no meaning.
        vector = np.zeros(dim, np.float32)
        if document.embedding is not None:
            vector = np.asarray(document.embedding, dtype=np.float32)
            if vector.shape != (dim,):
                raise DimensionError(
                    f"document {document.id!r} has an embedding of {vector.size} numbers: expected {dim}"
                )
        found = bool(vector.any())
        if not found:
            # A record needs a vector: one of no meaning, and a note to leave it out of results.
            vector = np.random.default_rng().standard_normal(dim, dtype=np.float32)
        return vector, [stored, found]

    def _search(
        self, embedding: list[float], filters: dict[str, Any] | None, top_k: int
    ) -> list[Document]:
        passes = _passing(filters)
        found = self._documents.search(embedding)
        documents = [_document(stored, score) for _, stored, score in found if stored[1]]
        return [document for document in documents if passes(document)][:top_k]


@component
class SordinoEmbeddingRetriever:
    """Finds the documents of a `SordinoDocumentStore` that are nearest to an embedding.

    The embedding is encrypted here, and the server learns nothing of it; scores are cosines, and are not to
    be sent to the server. Filters run here, on the store's `max_results` nearest: fewer than `top_k` may be
    left.
    """

    def __init__(
        self,
        document_store: SordinoDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
    ) -> None:
        if not isinstance(document_store, SordinoDocumentStore):
            raise InputError(f"document_store is a {type(document_store).__name__}: expected a SordinoDocumentStore")
        self.document_store = document_store
        self.filters = filters
        self.top_k = _number(top_k)
        self.filter_policy = filter_policy

    def to_dict(self) -> dict[str, Any]:
        """The component's settings and its store's."""
        return default_to_dict(
            self,
            document_store=self.document_store,
            filters=self.filters,
            top_k=self.top_k,
            filter_policy=self.filter_policy.value,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SordinoEmbeddingRetriever:
        """The component of these settings."""
        # The caller may use its dict once more.
        settings = dict(data.get("init_parameters", {}))
        if isinstance(settings.get("document_store"), dict):
            settings["document_store"] = SordinoDocumentStore.from_dict(settings["document_store"])
        if isinstance(settings.get("filter_policy"), str):
            settings["filter_policy"] = FilterPolicy.from_str(settings["filter_policy"])
        return default_from_dict(cls, {**data, "init_parameters": settings})

    @component.output_types(documents=list[Document])
    def run(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[Document]]:
        """The nearest documents, best first, each with its score and without its embedding."""
        # The policy takes what is empty for none.
        _passing(filters)
        chosen = apply_filter_policy(self.filter_policy, self.filters, filters)
        most = self.document_store._documents.wanted(self.top_k if top_k is None else _number(top_k), "top_k")
        return {"documents": self.document_store._search(query_embedding, chosen, most)}


def _loaded(key: OwnerKey | ReaderKey | str | os.PathLike[str]) -> OwnerKey | ReaderKey:
    if not isinstance(key, (str, os.PathLike)):
        return key
    try:
        return OwnerKey.load(key)
    except KeyKindError:
        return ReaderKey.load(key)


def _number(top_k: int) -> int:
    if not isinstance(top_k, int) or top_k < 1:
        raise InputError(f"top_k = {top_k!r}: expected at least 1")
    return top_k


def _document(stored: list[Any], score: float | None = None) -> Document:
    return Document.from_dict({**stored[0], "score": score})


def _passing(filters: dict[str, Any] | None) -> Callable[[Document], bool]:
    """A function that says of a document if it passes. Filters that are none are a `FilterError`."""
    if filters is None or filters == {}:
        return lambda document: True
    if not isinstance(filters, dict):
        raise FilterError(f"filters: a {type(filters).__name__}, expected a dict")
    if "operator" not in filters and "conditions" not in filters:
        raise FilterError("a filter without an operator: expected Haystack's comparison or logic form")
    return lambda document: document_matches_filter(filters=filters, document=document)
