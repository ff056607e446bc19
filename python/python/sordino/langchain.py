"""LangChain's vector store on a private index: the extra `sordino[langchain]`."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from ._documents import Documents
from ._errors import InputError
from ._index import whole_number
from ._sordino import keygen

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from langchain_core.embeddings import Embeddings

    from ._index import Index, Mode
    from ._sordino import ClientKey, OwnerKey, ReaderKey

    Filter = dict[str, Any] | Callable[[Document], bool]

__all__ = ["SordinoVectorStore"]


class SordinoVectorStore(VectorStore):
    """Documents in an index whose server learns neither the queries nor, in masked mode, the documents.

    embedding: makes vectors of texts, here: a query is never sent in the clear.
    index: the directory of an index, made by the first `add_texts`; or the address of a server.
    key: the owner's key to change documents; a reader's to search them.
    max_results: the most that a search returns, fixed when the index is made. Every search fetches as many
        documents, whatever it asks for, so that the server does not learn `k`.
    mode: the index's mode, as for `sordino.build`. Sealed mode's buckets and routed mode's clusters are made of
        the documents of the first `add_texts`, which should be many.
    client_key, token, roots: for a server's address, as for `sordino.Client`.

    What privacy changes:

    - A `filter` (a dict of metadata that must be equal, or a function of a document) runs here, on the
      `max_results` nearest: fewer than `k` may be left.
    - `get_by_ids` is a private fetch: the server sees that documents were fetched and about how many.
    - `max_marginal_relevance_search` embeds the texts of the candidates again, since vectors do not come
      back.
    - Ids are text of any form; metadata must be JSON.
    - Async methods run the others in threads; the computing there lets Python's other threads go on.
    - Scores are cosines, and are not to be sent to the server.
    """

    def __init__(
        self,
        embedding: Embeddings,
        index: Index | str | os.PathLike[str],
        *,
        key: OwnerKey | ReaderKey,
        max_results: int = 20,
        mode: Mode = "masked",
        client_key: ClientKey | None = None,
        token: bytes | str | os.PathLike[str] | None = None,
        roots: bytes | str | os.PathLike[str] | None = None,
    ) -> None:
        self._embedding = embedding
        self._most = max_results
        self._documents = Documents(
            index, key, most=max_results, mode=mode, client_key=client_key, token=token, roots=roots
        )

    @property
    def embeddings(self) -> Embeddings:
        """The embedding that was given."""
        return self._embedding

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Embeds texts and adds them, or replaces those whose ids are there. Returns the ids."""
        texts = list(texts)
        for at, text in enumerate(texts):
            if not isinstance(text, str):
                raise InputError(f"text {at} is a {type(text).__name__}: expected a str")
        metadatas = metadatas or [{}] * len(texts)
        given: Sequence[str | None] = ids or [None] * len(texts)
        if len(metadatas) != len(texts) or len(given) != len(texts):
            raise InputError(
                f"{len(texts)} texts, {len(metadatas)} metadatas, {len(given)} ids: expected one for each"
            )
        names = [str(uuid.uuid4()) if id is None else str(id) for id in given]
        if texts:
            vectors = self._embedding.embed_documents(texts)
            self._documents.add(names, vectors, [[text, data] for text, data in zip(texts, metadatas)])
        return names

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        """Deletes documents; ids that are not there are passed over."""
        if ids is None:
            raise InputError("ids: expected the documents to delete")
        self._documents.delete(ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents with these ids that are there, by a private fetch."""
        return [_document(id, stored) for id, stored in self._documents.get(ids)]

    def similarity_search(
        self, query: str, k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """The `k` documents nearest to a text."""
        return [document for document, _ in self.similarity_search_with_score(query, k, filter)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The `k` documents nearest to a text, with cosines."""
        k = self._documents.wanted(k, "k")
        return self._search(self._embedding.embed_query(query), k, filter)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """The `k` documents nearest to a vector."""
        k = self._documents.wanted(k, "k")
        return [document for document, _ in self._search(embedding, k, filter)]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Filter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """The `k` of the `fetch_k` nearest documents that are near the text and far from one another."""
        vector = self._embedding.embed_query(query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, filter)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Filter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """The same for a vector."""
        k, fetched = whole_number(k, "k"), min(whole_number(fetch_k, "fetch_k"), self._most)
        found = [document for document, _ in self._search(embedding, fetched, filter)]
        if not found:
            return []
        vectors = self._embedding.embed_documents([document.page_content for document in found])
        chosen = maximal_marginal_relevance(np.array(embedding), vectors, lambda_mult=lambda_mult, k=k)
        return [found[at] for at in chosen]

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        index: Index | str | os.PathLike[str] | None = None,
        key: OwnerKey | None = None,
        **kwargs: Any,
    ) -> SordinoVectorStore:
        """A new store with these texts. `index` is its directory; without a `key` a new one is made, which
        `store.key` gives."""
        if index is None:
            raise InputError("index: expected the directory of the new index")
        store = cls(embedding, index, key=key or keygen(), **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @property
    def key(self) -> OwnerKey | ReaderKey:
        """The key that the store is used with."""
        return self._documents._key

    def refresh(self) -> bool:
        """Follows the index to its newest version, if others change it. True if there was one."""
        return self._documents.refresh()

    def close(self) -> None:
        """Lets go of the index or the connection."""
        self._documents.close()

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        # The noise of scores may take a cosine past 1.
        return lambda cosine: min(1.0, max(0.0, (1 + cosine) / 2))

    def _search(
        self, vector: list[float], k: int, filter: Filter | None
    ) -> list[tuple[Document, float]]:
        if not (filter is None or isinstance(filter, dict) or callable(filter)):
            raise InputError(f"filter is a {type(filter).__name__}: expected a dict or a function of a document")
        wanted = k if filter is None else self._most
        found = self._documents.search(vector, wanted)
        documents = [(_document(id, stored), score) for id, stored, score in found]
        return [pair for pair in documents if _passes(pair[0], filter)][:k]


def _document(id: str, stored: list[Any]) -> Document:
    text, metadata = stored
    return Document(id=id, page_content=text, metadata=metadata)


def _passes(document: Document, filter: Filter | None) -> bool:
    if filter is None:
        return True
    if callable(filter):
        return filter(document)
    return all(name in document.metadata and document.metadata[name] == value for name, value in filter.items())
