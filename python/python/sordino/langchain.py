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
    """Documents in an index whose server does not learn the queries nor, in masked mode, the documents.

    Async methods run the others in threads, and other Python threads run during their computing.

    Parameters
    ----------
    embedding : Embeddings
        Makes vectors from texts, on the client: no query is sent in the clear.
    index : Index, path or str, optional
        The directory of an index, which the first `add_texts` makes; or the address of a server. Without it, the
        store makes a temporary index in a folder that is removed with the store.
    key : OwnerKey, ReaderKey or path, optional
        The owner's key to change documents, or a reader's key to search them; or the path of its file. A store is
        pickled only with the path, because keys are secret. A temporary index needs no key.
    max_results : int, default 20
        The largest number of results of a search, fixed when the index is made. Every search fetches this number of documents,
        so that the server does not learn `k`. For an existing index it may be left out, and otherwise must be what
        it was made with; so must `mode`.
    mode : str, default "masked"
        The index's mode, as for `sordino.build`. The documents of the first `add_texts` decide the buckets of
        sealed mode and the clusters of routed mode, so there should be many of them.
    attributes : iterable of str, optional
        Names of metadata that filters use before documents are ranked: numbers, bools, and texts and lists of up to
        4,000 bytes. Clients download them sealed. The next `add_texts` makes a name that is added later an attribute of
        all documents.
    keep_vectors : bool, default False
        Store each document's vector with it, so that `max_marginal_relevance_search` embeds no text again. Every
        search then also fetches `max_results` vectors.
    client_key, token, roots : optional
        As for `sordino.Client`, for the address of a server; the key may be the path of its file.
    wait : float, optional
        As for `sordino.Client`, for the address of a server: the seconds to keep trying while it is away or busy.

    Notes
    -----
    Privacy changes the following:

    - A `filter`, which is a dict of metadata or a function of a document, runs on the client. The part about
      `attributes` applies before documents are ranked; the rest applies to the `max_results` nearest. A warning
      tells if fewer than `k` are left.
    - A plain value in a filter dict tests for equality. `{"year": {"$gte": 2020}}` compares, with `$eq`, `$ne`, `$gt`, `$gte`, `$lt`,
      `$lte`, `$in` and `$nin`; `$and`, `$or` and `$not` join. `{"tags": {"$contains": "x"}}` tests for a member of a list. A document
      without the name passes only `$ne` and `$nin`. `$gt`, `$gte`, `$lt` and `$lte` also take a date or a datetime.
    - `get_by_ids` is a private fetch of the newest version: the server sees that documents were fetched and about how many.
    - `max_marginal_relevance_search` embeds the texts of the candidates again, unless vectors are kept.
    - Ids are texts of any form.
    - Metadata is stored as JSON. Dates and instants come back as texts in ISO 8601, members of an Enum as their
      values, numpy numbers as Python numbers, tuples as lists, and NaN as None.
    - Scores are cosines; never send them to the server. Relevance is the cosine, and 0 if that is negative, as in
      LangChain's own function for cosine distances: a `score_threshold` is a cosine.
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
        wait: float | None = None,
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
            wait=wait,
        )

    @property
    def embeddings(self) -> Embeddings:
        """The embedding of this store."""
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
        """Embed texts and add them, or replace the documents whose ids exist.

        Parameters
        ----------
        texts : iterable of str
            The texts.
        metadatas : list of dict, optional
            A dict for each text; None for a text without metadata.
        ids : list of str, optional
            The ids.
        batch_size : int, optional
            Ignored: LangChain's indexing passes it, and all texts are added in one change.

        Returns
        -------
        list of str
            The ids.
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
        """Delete documents by id, or all of them without ids. Unknown ids are ignored.

        Parameters
        ----------
        ids : list of str, optional
            The ids; None for all documents.

        Returns
        -------
        bool
            True.
        """
        known(kwargs, "delete")
        self._documents.delete(ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the existing documents with these ids, by a private fetch.

        Parameters
        ----------
        ids : sequence of str
            The ids.

        Returns
        -------
        list of Document
            The documents, in the order of the ids.
        """
        return [_document(found) for found in self._documents.get(ids)]

    def similarity_search(
        self, query: str, k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """Return the `k` documents nearest to a text.

        Parameters
        ----------
        query : str
            The text, which is embedded on the client.
        k : int, default 4
            The number of documents.
        filter : dict or callable, optional
            The condition that documents meet: see the class.

        Returns
        -------
        list of Document
            The documents, best first.
        """
        known(kwargs, "similarity_search")
        return [document for document, _ in self.similarity_search_with_score(query, k, filter)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the `k` documents nearest to a text, with cosines.

        Parameters
        ----------
        query : str
            The text, which is embedded on the client.
        k : int, default 4
            The number of documents.
        filter : dict or callable, optional
            The condition that documents meet: see the class.

        Returns
        -------
        list of (Document, float)
            The documents, best first, with cosines.
        """
        known(kwargs, "similarity_search_with_score")
        k = self._documents.wanted(k, "k")
        found = self._search(self._embedding.embed_query(query), k, filter)
        return [(_document(one), one.score or 0.0) for one in found]

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """Return the `k` documents nearest to a vector.

        Parameters
        ----------
        embedding : list of float
            The vector.
        k : int, default 4
            The number of documents.
        filter : dict or callable, optional
            The condition that documents meet: see the class.

        Returns
        -------
        list of Document
            The documents, best first.
        """
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
        """Return `k` of the `fetch_k` nearest documents: near the text, and far from one another.

        Parameters
        ----------
        query : str
            The text, which is embedded on the client.
        k : int, default 4
            The number of documents.
        fetch_k : int, default 20
            The number of nearest documents among which the `k` are chosen.
        lambda_mult : float, default 0.5
            1 for documents that are near, 0 for documents that differ from one another.
        filter : dict or callable, optional
            The condition that documents meet: see the class.

        Returns
        -------
        list of Document
            The documents, best first.
        """
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
        """Return `k` of the `fetch_k` nearest documents: near the vector, and far from one another.

        Parameters
        ----------
        embedding : list of float
            The vector.
        k : int, default 4
            The number of documents.
        fetch_k : int, default 20
            The number of nearest documents among which the `k` are chosen.
        lambda_mult : float, default 0.5
            1 for documents that are near, 0 for documents that differ from one another.
        filter : dict or callable, optional
            The condition that documents meet: see the class.

        Returns
        -------
        list of Document
            The documents, best first.
        """
        known(kwargs, "max_marginal_relevance_search_by_vector")
        k = self._documents.wanted(k, "k")
        # The caller chose this number itself.
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
        """Return a store with these texts.

        Parameters
        ----------
        index : path, optional
            The index's directory. Without it, the store makes a temporary index.
        key : OwnerKey or path, optional
            The owner's key. Without it nobody can read the documents again: `sordino.keygen()` makes a key, and its
            `save` stores it.

        Returns
        -------
        SordinoVectorStore
            The store.
        """
        store = cls(embedding, index, key=key, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @property
    def key(self) -> OwnerKey | ReaderKey:
        """The key of this store."""
        return self._documents.key

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

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        # The base class's function of the cosine distance, within the bounds that the class promises.
        return lambda cosine: min(1.0, max(0.0, self._cosine_relevance_score_fn(1 - cosine)))

    def _search(
        self, vector: list[float], k: int, filter: Filter | None, enough: int | None = None
    ) -> list[Found]:
        """Return the nearest documents that pass a filter."""
        if callable(filter):
            function = filter
            return self._documents.search(vector, k, None, lambda found: bool(function(_document(found))), enough)
        given = {} if filter is None else filter
        test = condition(given)
        return self._documents.search(vector, k, tree(given), lambda found: test(_metadata(found.document)), enough, contains='{"$contains": ...}')


def _metadata(stored: Any) -> dict[str, Any]:
    """Return the metadata of a stored document. Early versions stored None for a document without metadata."""
    if not (isinstance(stored, list) and len(stored) == 2 and isinstance(stored[0], str)):
        raise FormatError("the index holds no documents of LangChain's store: it was made by other means")
    return stored[1] or {}


def _document(found: Found) -> Document:
    metadata = _metadata(found.document)
    return Document(id=found.id, page_content=found.document[0], metadata=metadata)
