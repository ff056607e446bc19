"""LangChain's vector store on a private index: the extra `sordino[langchain]`."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from ._documents import Documents, known, listed, name_of
from ._errors import InputError
from ._filters import condition
from ._index import whole_number

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
    max_results: the most that a search returns (20), fixed when the index is made. Every search fetches as many
        documents, whatever it asks for, so that the server does not learn `k`. To an index that is there it need not be said,
        and must be what it was made with; so must `mode`.
    mode: the index's mode ("masked"), as for `sordino.build`. Sealed mode's buckets and routed mode's clusters are made of
        the documents of the first `add_texts`, which should be many.
    client_key, token, roots: for a server's address, as for `sordino.Client`.

    What privacy changes:

    - A `filter` (a dict of metadata, or a function of a document) runs here, on the `max_results` nearest: fewer than `k` may
      be left. A value of the dict must be equal; `{"year": {"$gte": 2020}}` compares, with `$eq`, `$ne`, `$gt`, `$gte`, `$lt`,
      `$lte`, `$in`, `$nin`; `$and`, `$or` and `$not` join. A document without the name passes `$ne` and `$nin` alone.
    - `get_by_ids` is a private fetch: the server sees that documents were fetched and about how many.
    - `max_marginal_relevance_search` embeds the texts of the candidates again, since vectors do not come
      back.
    - Ids are text of any form; metadata must be JSON: what would come back as something else is refused.
    - Async methods run the others in threads; the computing there lets Python's other threads go on.
    - Scores are cosines, and are not to be sent to the server. Relevance is (1 + cosine) / 2: texts that have nothing to do
      with one another have about .5, and a `score_threshold` of .9 is a cosine of .8.
    """

    def __init__(
        self,
        embedding: Embeddings,
        index: Index | str | os.PathLike[str],
        *,
        key: OwnerKey | ReaderKey,
        max_results: int | None = None,
        mode: Mode | None = None,
        client_key: ClientKey | None = None,
        token: bytes | str | os.PathLike[str] | None = None,
        roots: bytes | str | os.PathLike[str] | None = None,
    ) -> None:
        self._embedding = embedding
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
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Embeds texts and adds them, or replaces those whose ids are there. Returns the ids.

        metadatas: a dict for each, or None for one without.
        batch_size: for LangChain's indexing, which says it; all are added in one change.
        """
        known(kwargs, "add_texts")
        texts = listed(texts, "texts")
        for at, text in enumerate(texts):
            if not isinstance(text, str):
                raise InputError(f"text {at} is a {type(text).__name__}: expected a str")
        own = [None] * len(texts) if metadatas is None else listed(metadatas, "metadatas")
        given = [None] * len(texts) if ids is None else listed(ids, "ids")
        if len(own) != len(texts) or len(given) != len(texts):
            raise InputError(f"{len(texts)} texts, {len(own)} metadatas, {len(given)} ids: expected one for each")
        for at, data in enumerate(own):
            if not (data is None or isinstance(data, dict)):
                raise InputError(f"metadata {at} is a {type(data).__name__}: expected a dict or None")
        names = [str(uuid.uuid4()) if id is None else name_of(id, at) for at, id in enumerate(given)]
        if texts:
            vectors = self._embedding.embed_documents(texts)
            self._documents.add(names, vectors, [[text, data or {}] for text, data in zip(texts, own)])
        return names

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        """Deletes documents; ids that are not there are passed over. Without ids, where some stores delete everything, it raises `InputError`."""
        known(kwargs, "delete")
        if ids is None:
            raise InputError("ids: expected the documents to delete; all of them go with their index's directory")
        self._documents.delete(ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents with these ids that are there, by a private fetch."""
        return [_document(id, stored) for id, stored in self._documents.get(ids)]

    def similarity_search(
        self, query: str, k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """The `k` documents nearest to a text."""
        known(kwargs, "similarity_search")
        return [document for document, _ in self.similarity_search_with_score(query, k, filter)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The `k` documents nearest to a text, with cosines."""
        known(kwargs, "similarity_search_with_score")
        k = self._documents.wanted(k, "k")
        return self._search(self._embedding.embed_query(query), k, filter)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """The `k` documents nearest to a vector."""
        known(kwargs, "similarity_search_by_vector")
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
        known(kwargs, "max_marginal_relevance_search")
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
        known(kwargs, "max_marginal_relevance_search_by_vector")
        k, fetched = self._documents.wanted(k, "k"), whole_number(fetch_k, "fetch_k")
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
        """A store with these texts.

        index: its directory.
        key: the owner's key, without which nobody can read the documents again: `sordino.keygen()` makes one, and its `save` keeps it.
        """
        if index is None:
            raise InputError('index: expected the directory of the new index, for instance from_texts(texts, embedding, index="my.index", key=key)')
        if key is None:
            raise InputError(
                'key: expected the owner\'s key, without which nobody can read these documents again: key = sordino.keygen(); '
                'key.save("owner.key"), and the next time sordino.OwnerKey.load("owner.key")'
            )
        store = cls(embedding, index, key=key, **kwargs)
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
        passes = _passing(filter)
        documents = [(_document(id, stored), score) for id, stored, score in self._documents.search(vector)]
        return [pair for pair in documents if passes(pair[0])][:k]


def _document(id: str, stored: list[Any]) -> Document:
    text, metadata = stored
    # Stores of before kept None for a document without.
    metadata = {} if metadata is None else metadata
    return Document(id=id, page_content=text, metadata=metadata)


def _passing(filter: Filter | None) -> Callable[[Document], bool]:
    """A function that says of a document if it passes."""
    if filter is None:
        return lambda document: True
    if callable(filter):
        return filter
    test = condition(filter)
    return lambda document: test(document.metadata)
