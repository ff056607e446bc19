"""LangChain's vector store on a private index: the extra `sordino[langchain]`."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from ._documents import Documents
from ._errors import FormatError, InputError
from ._filters import condition, tree
from ._index import whole_number
from ._packing import Found, known, listed, name_of

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
    index: the directory of an index, made by the first `add_texts`; or the address of a server. Without it an index for a trial is
        made, in a folder that goes with the store.
    key: the owner's key to change documents, a reader's to search them: the key, or the path of its file. A store is pickled with the
        path alone, since keys are secret. An index for a trial needs none.
    max_results: the most that a search returns (20), fixed when the index is made. Every search fetches as many
        documents, whatever it asks for, so that the server does not learn `k`. To an index that is there it need not be said,
        and must be what it was made with; so must `mode`.
    mode: the index's mode ("masked"), as for `sordino.build`. Sealed mode's buckets and routed mode's clusters are made of
        the documents of the first `add_texts`, which should be many.
    attributes: names of metadata that are filtered by before documents are ranked: numbers, truth values and texts of up to 4,000 bytes. Clients
        download them sealed. A name that is said later is made an attribute of all documents, at the next `add_texts`.
    keep_vectors: stores each document's vector with it, so that `max_marginal_relevance_search` embeds no text again. Every search then fetches
        `max_results` vectors more.
    client_key, token, roots: for a server's address, as for `sordino.Client`; the key, or the path of its file.

    What privacy changes:

    - A `filter` (a dict of metadata, or a function of a document) runs here. What it says of `attributes` is decided before documents are ranked,
      all else on the `max_results` nearest: a warning says if fewer than `k` are left of these. A value of the dict must be equal;
      `{"year": {"$gte": 2020}}` compares, with `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`, `$in`, `$nin`; `$and`, `$or` and `$not` join. A
      document without the name passes `$ne` and `$nin` alone. `$gt` and its like take a date or a datetime, too.
    - `get_by_ids` is a private fetch: the server sees that documents were fetched and about how many.
    - `max_marginal_relevance_search` embeds the texts of the candidates again, unless vectors are kept.
    - Ids are text of any form. Metadata is kept as JSON: dates and instants come back as texts of ISO 8601, members of an Enum as their
      values, numpy's numbers as Python's, tuples as lists, NaN as None.
    - Async methods run the others in threads; the computing there lets Python's other threads go on.
    - Scores are cosines, and are not to be sent to the server. Relevance is the cosine, as of LangChain's own function for
      cosine distances, and 0 where that is negative: a `score_threshold` is a cosine.
    """

    def __init__(
        self,
        embedding: Embeddings,
        index: Index | str | os.PathLike[str] | None = None,
        *,
        key: OwnerKey | ReaderKey | str | os.PathLike[str] | None = None,
        max_results: int | None = None,
        mode: Mode | None = None,
        attributes: Iterable[str] | None = None,
        keep_vectors: bool = False,
        client_key: ClientKey | str | os.PathLike[str] | None = None,
        token: bytes | str | os.PathLike[str] | None = None,
        roots: bytes | str | os.PathLike[str] | None = None,
    ) -> None:
        self._embedding = embedding
        self._documents = Documents(
            index,
            key,
            metadata=_metadata,
            most=max_results,
            mode=mode,
            attributes=attributes,
            keep_vectors=keep_vectors,
            client_key=client_key,
            token=token,
            roots=roots,
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
        """Deletes documents, without ids all of them; ids that are not there are passed over."""
        known(kwargs, "delete")
        self._documents.delete(ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents with these ids that are there, by a private fetch."""
        return [_document(found) for found in self._documents.get(ids)]

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
        found = self._search(self._embedding.embed_query(query), k, filter)
        return [(_document(one), one.score or 0.0) for one in found]

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """The `k` documents nearest to a vector."""
        known(kwargs, "similarity_search_by_vector")
        k = self._documents.wanted(k, "k")
        return [_document(found) for found in self._search(embedding, k, filter)]

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
        k = self._documents.wanted(k, "k")
        # The caller did not ask for the default number.
        fetched = whole_number(fetch_k, "fetch_k") if fetch_k == 20 else self._documents.wanted(fetch_k, "fetch_k")
        found = self._search(embedding, fetched, filter, k)
        if not found:
            return []
        vectors = [one.vector.tolist() for one in found if one.vector is not None]
        if len(vectors) < len(found):
            vectors = self._embedding.embed_documents([one.document[0] for one in found])
        chosen = maximal_marginal_relevance(np.array(embedding), vectors, lambda_mult=lambda_mult, k=k)
        return [_document(found[at]) for at in chosen]

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        index: Index | str | os.PathLike[str] | None = None,
        key: OwnerKey | str | os.PathLike[str] | None = None,
        **kwargs: Any,
    ) -> SordinoVectorStore:
        """A store with these texts.

        index: its directory; without it, as for the class, an index for a trial.
        key: the owner's key, without which nobody can read the documents again: `sordino.keygen()` makes one, and its `save` keeps it.
        """
        store = cls(embedding, index, key=key, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @property
    def key(self) -> OwnerKey | ReaderKey:
        """The key that the store is used with."""
        return self._documents.key

    def refresh(self) -> bool:
        """Follows the index to its newest version, if others change it. True if there was one."""
        return self._documents.refresh()

    def close(self) -> None:
        """Lets go of the index or the connection."""
        self._documents.close()

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        # The base class's, of the cosine distance, within the bounds that it promises.
        return lambda cosine: min(1.0, max(0.0, self._cosine_relevance_score_fn(1 - cosine)))

    def _search(
        self, vector: list[float], k: int, filter: Filter | None, enough: int | None = None
    ) -> list[Found]:
        """The nearest that pass a filter."""
        if callable(filter):
            function = filter
            return self._documents.search(vector, k, None, lambda found: bool(function(_document(found))), enough)
        given = {} if filter is None else filter
        test = condition(given)
        return self._documents.search(vector, k, tree(given), lambda found: test(_metadata(found.document)), enough)


def _metadata(stored: Any) -> dict[str, Any]:
    """The metadata of what is stored of a document. Stores of before kept None for a document without."""
    if not (isinstance(stored, list) and len(stored) == 2 and isinstance(stored[0], str)):
        raise FormatError("the index holds no documents of LangChain's store: it was made by other means")
    return stored[1] or {}


def _document(found: Found) -> Document:
    metadata = _metadata(found.document)
    return Document(id=found.id, page_content=found.document[0], metadata=metadata)
