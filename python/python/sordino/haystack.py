"""Haystack's document store and retriever on a private index: the extra `sordino[haystack]`."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import fields
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy, FilterPolicy, apply_filter_policy
from haystack.errors import FilterError
from haystack.utils import Secret
from haystack.utils.filters import document_matches_filter

from . import _payloads
from ._documents import Documents
from ._errors import DimensionError, FormatError, InputError
from ._errors import FilterError as WrongFilter
from ._filters import CHECKED, DEPTH, TOO_DEEP, Check, compared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ._filters import Tree
    from ._index import Index, Mode
    from ._packing import Found
    from ._sordino import ClientKey, OwnerKey, ReaderKey

__all__ = ["SordinoDocumentStore", "SordinoEmbeddingRetriever"]

# The dimension of embeddings, unless the settings say otherwise.
_DIM = 768


class SordinoDocumentStore:
    """Documents in an index whose server does not learn the queries nor, in masked mode, the documents.

    Methods that end in `_async` run the others in threads, and other Python threads run during their computing.

    Parameters
    ----------
    index : path or str
        The directory of an index, which the first `write_documents` makes; or the address of a server.
    key : OwnerKey, ReaderKey, path or Secret
        The owner's key to change documents, or a reader's key to search them; or the path of its file, or a Secret
        with the text of `to_text()`. `to_dict` writes paths and the names of environment variables, and no key.
    embedding_dim : int, default 768
        The dimension of embeddings, fixed when the index is made.
    max_results : int, default 20
        The largest number of results of a search, fixed when the index is made. Every search fetches this number of documents,
        so that the server does not learn `top_k`. For an existing index it may be left out, and otherwise must be
        what it was made with; so must `mode` and `embedding_dim`.
    mode : str, default "masked"
        The index's mode, as for `sordino.build`. The documents of the first `write_documents` decide the buckets of
        sealed mode and the clusters of routed mode, so there should be many of them.
    attributes : iterable of str, optional
        Names of `meta` that filters use before documents are ranked: numbers, bools, and texts and lists of up to 4,000 bytes.
        Clients download them sealed. The next `write_documents` makes a name that is added later an attribute of
        all documents.
    client_key, token, roots : optional
        As for `sordino.Client`, for the address of a server: the key or the path of its file, and the paths of `token`
        and `roots`. `client_key` and `token` may be a Secret with a text of `to_text()` or `sordino token issue --text`.
    wait : float, optional
        As for `sordino.Client`, for the address of a server: the seconds to keep trying while it is away or busy.

    Notes
    -----
    Privacy changes the following:

    - `filter_documents`, and methods that count, update or delete by filters, read everything with the owner's key.
      They do not work over a network.
    - A retriever's filters run on the client. The part about `attributes` applies before documents are ranked; the
      rest applies to the `max_results` nearest. A warning tells if fewer than `top_k` are left.
    - Embeddings do not come back. Documents without an embedding, or with zeros, are stored, and no search finds
      them. A sealed attribute, which clients download, leaves them out before documents are ranked.
    - By default, ids that exist are an error.
    - Filters by `embedding` and `score` are refused, because the store does not keep these fields.
    - `meta` is stored as JSON. Dates and instants come back as texts in ISO 8601, which Haystack's filters compare
      as dates.
    """

    def __init__(
        self,
        index: Index | str | os.PathLike[str],
        *,
        key: OwnerKey | ReaderKey | str | os.PathLike[str] | Secret,
        embedding_dim: int | None = None,
        max_results: int | None = None,
        mode: Mode | None = None,
        attributes: Iterable[str] | None = None,
        client_key: ClientKey | str | os.PathLike[str] | Secret | None = None,
        token: str | os.PathLike[str] | Secret | None = None,
        roots: str | os.PathLike[str] | None = None,
        wait: float | None = None,
    ) -> None:
        if index is None:
            raise InputError("index: expected an index's directory or the address of a server")
        self._documents = Documents(
            index,
            key,
            metadata=_attributes,
            most=max_results,
            mode=mode,
            dim=embedding_dim,
            attributes=attributes,
            unfound=_MISSING,
            client_key=client_key,
            token=token,
            roots=roots,
            wait=wait,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the store's settings, with the paths of keys.

        Returns
        -------
        dict
            The settings, as `from_dict` takes them.

        Raises
        ------
        ValueError
            If a key was given itself, or as a Secret that is no environment variable.
        """
        return default_to_dict(self, **self._documents.settings(_SETTINGS))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SordinoDocumentStore:
        """Return the store with these settings.

        Parameters
        ----------
        data : dict
            What `to_dict` returned.

        Returns
        -------
        SordinoDocumentStore
            The store.
        """
        # The caller may use its dict once more.
        settings = dict(data.get("init_parameters", {}))
        for name in ("key", "client_key", "token"):
            if isinstance(settings.get(name), dict):
                settings[name] = Secret.from_dict(settings[name])
        return default_from_dict(cls, {**data, "init_parameters": settings})

    def count_documents(self) -> int:
        """Return the number of documents. Needs the owner's key.

        Returns
        -------
        int
            The number.
        """
        return len(self._documents.ids())

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that match, without embeddings and in no particular order. Needs the owner's key.

        Parameters
        ----------
        filters : dict, optional
            The condition, in Haystack's form.

        Returns
        -------
        list of Document
            The documents.
        """
        return [_document(one) for one in self._matching(filters)]

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """Return the number of documents that match. Needs the owner's key.

        Parameters
        ----------
        filters : dict
            The condition, in Haystack's form.

        Returns
        -------
        int
            The number.
        """
        return len(self._matching(filters))

    def count_unique_metadata_by_filter(self, filters: dict[str, Any], metadata_fields: list[str]) -> dict[str, int]:
        """Count the different values of some names of `meta` in the documents that match. Needs the owner's key.

        Parameters
        ----------
        filters : dict
            The condition, in Haystack's form.
        metadata_fields : list of str
            The names.

        Returns
        -------
        dict
            The number of values, by name.
        """
        metas = [_meta(one.document) for one in self._matching(filters)]
        counts = {}
        for field in metadata_fields:
            name = field.removeprefix("meta.")
            counts[name] = len({json.dumps(meta[name], sort_keys=True) for meta in metas if meta.get(name) is not None})
        return counts

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Write documents, and return their number.

        Parameters
        ----------
        documents : list of Document
            The documents.
        policy : DuplicatePolicy
            What to do with ids that exist: `SKIP`, `OVERWRITE`, or `FAIL`, which is also the default.

        Returns
        -------
        int
            The number of documents that were written.

        Raises
        ------
        ValueError, DimensionError, DuplicateDocumentError
            If a document cannot be stored. Nothing is written.
        """
        if not isinstance(documents, list) or not all(isinstance(one, Document) for one in documents):
            raise ValueError("documents: expected a list of haystack.Document")
        held = set(self._documents.ids())
        chosen: dict[str, Document] = {}
        for document in documents:
            if policy != DuplicatePolicy.OVERWRITE and (document.id in held or document.id in chosen):
                if policy == DuplicatePolicy.SKIP:
                    continue
                raise DuplicateDocumentError(f"document {document.id!r} exists already: DuplicatePolicy.OVERWRITE replaces it")
            chosen[document.id] = document
        if chosen:
            dim = self._documents.dim(_DIM)
            vectors, stored = zip(*(self._record(document, dim) for document in chosen.values()))
            self._documents.add(list(chosen), np.stack(vectors), stored)
        return len(documents) if policy == DuplicatePolicy.OVERWRITE else len(chosen)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents, and ignore unknown ids.

        Parameters
        ----------
        document_ids : list of str
            The ids.
        """
        self._documents.delete(document_ids)

    def delete_all_documents(self) -> None:
        """Delete all documents. The index stays."""
        self._documents.delete(None)

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Delete the documents that match, and return their number.

        Parameters
        ----------
        filters : dict
            The condition, in Haystack's form.

        Returns
        -------
        int
            The number of documents that were deleted.

        Raises
        ------
        InputError
            If a part of the filter has no condition, so that all documents may match.
        """
        _check_conditions(filters)
        return self._documents.delete([one.id for one in self._matching(filters)])

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Set these values in the `meta` of documents that match, keep the others, and return the number of documents.

        Parameters
        ----------
        filters : dict
            The condition, in Haystack's form.
        meta : dict
            The values.

        Returns
        -------
        int
            The number of documents that were changed.

        Raises
        ------
        InputError
            If a part of the filter has no condition, so that all documents may match.
        """
        if not isinstance(meta, dict):
            raise InputError(f"meta: a {type(meta).__name__}, expected a dict")
        _check_conditions(filters)
        passes = _passing(filters)

        def changed(id: str, stored: Any) -> Any:
            if not passes(_document_of(stored)):
                return None
            return [{**stored[0], "meta": {**_meta(stored), **meta}}, stored[1]]

        return self._documents.change(changed)

    async def count_documents_async(self) -> int:
        """Run `count_documents` in a thread."""
        return await asyncio.to_thread(self.count_documents)

    async def filter_documents_async(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Run `filter_documents` in a thread."""
        return await asyncio.to_thread(self.filter_documents, filters)

    async def count_documents_by_filter_async(self, filters: dict[str, Any]) -> int:
        """Run `count_documents_by_filter` in a thread."""
        return await asyncio.to_thread(self.count_documents_by_filter, filters)

    async def count_unique_metadata_by_filter_async(self, filters: dict[str, Any], metadata_fields: list[str]) -> dict[str, int]:
        """Run `count_unique_metadata_by_filter` in a thread."""
        return await asyncio.to_thread(self.count_unique_metadata_by_filter, filters, metadata_fields)

    async def write_documents_async(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Run `write_documents` in a thread."""
        return await asyncio.to_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """Run `delete_documents` in a thread."""
        await asyncio.to_thread(self.delete_documents, document_ids)

    async def delete_all_documents_async(self) -> None:
        """Run `delete_all_documents` in a thread."""
        await asyncio.to_thread(self.delete_all_documents)

    async def delete_by_filter_async(self, filters: dict[str, Any]) -> int:
        """Run `delete_by_filter` in a thread."""
        return await asyncio.to_thread(self.delete_by_filter, filters)

    async def update_by_filter_async(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Run `update_by_filter` in a thread."""
        return await asyncio.to_thread(self.update_by_filter, filters, meta)

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

    def _record(self, document: Document, dim: int) -> tuple[np.ndarray, Any]:
        """Return a document's vector and its stored form."""
        stored = document.to_dict(flatten=False)
        for name in _NOT_KEPT:
            stored.pop(name, None)
        # A missing embedding, or one of zeros, has no meaning to compare.
        vector = np.zeros(dim, np.float32)
        if document.embedding is not None:
            vector = np.asarray(document.embedding, dtype=np.float32)
            if vector.shape != (dim,):
                advice = f"; a store with embedding_dim={vector.size} takes it" if self._documents.client() is None else ""
                raise DimensionError(f"document {document.id!r} has an embedding of {vector.size} numbers: expected {dim}{advice}")
        found = bool(vector.any())
        if not found:
            # A record needs a vector. This one has no meaning, and an attribute leaves it out of results.
            vector = np.random.default_rng().standard_normal(dim, dtype=np.float32)
        return vector, [stored, found]

    def _matching(self, filters: dict[str, Any] | None) -> list[Found]:
        """Return the documents that match. Needs the owner's key."""
        passes = _passing(filters)
        return self._documents.matching(lambda stored: passes(_document_of(stored)))

    def _search(
        self, embedding: list[float], filters: dict[str, Any] | None, top_k: int
    ) -> list[Document]:
        passes = _passing(filters)
        try:
            found = self._documents.search(embedding, top_k, _tree(filters), lambda one: passes(_document_of(one.document)))
        except WrongFilter as error:
            raise FilterError(str(error)) from None
        return [_document(one) for one in found]


@component
class SordinoEmbeddingRetriever:
    """Finds the documents of a `SordinoDocumentStore` that are nearest to an embedding.

    The client encrypts the embedding, and the server learns nothing about it. Scores are cosines; never send them
    to the server. Filters run on the client. The part about the store's `attributes` applies before documents are
    ranked. The rest applies to the `max_results` nearest, and may leave fewer than `top_k`.

    The component's filters do not keep tenants apart, because filters of `run` may replace them, even with
    `FilterPolicy.MERGE`. Give each tenant an index.
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
        """Return the component's settings and its store's.

        Returns
        -------
        dict
            The settings, as `from_dict` takes them.
        """
        return default_to_dict(
            self,
            document_store=self.document_store,
            filters=self.filters,
            top_k=self.top_k,
            filter_policy=self.filter_policy.value,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SordinoEmbeddingRetriever:
        """Return the component with these settings.

        Parameters
        ----------
        data : dict
            What `to_dict` returned.

        Returns
        -------
        SordinoEmbeddingRetriever
            The component.
        """
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
        """Return the nearest documents, best first, each with its score and without its embedding.

        Parameters
        ----------
        query_embedding : list of float
            The vector.
        filters : dict, optional
            The condition, in Haystack's form. With `FilterPolicy.REPLACE` it replaces the component's own. With
            `MERGE`, a condition on a field replaces the component's conditions on that field. A filter that Haystack
            cannot merge, such as `OR` with `AND`, replaces all of them.
        top_k : int, optional
            The number of documents. The default is the component's.

        Returns
        -------
        dict
            `documents`: list of Document.
        """
        # The policy treats an empty filter as none.
        _passing(filters)
        chosen = apply_filter_policy(self.filter_policy, self.filters, filters)
        most = self.document_store._documents.wanted(self.top_k if top_k is None else _number(top_k), "top_k")
        return {"documents": self.document_store._search(query_embedding, chosen, most)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[Document]]:
        """Run `run` in a thread."""
        found: dict[str, list[Document]] = await asyncio.to_thread(self.run, query_embedding, filters, top_k)
        return found


def _number(top_k: int) -> int:
    if not isinstance(top_k, int) or top_k < 1:
        raise InputError(f"top_k = {top_k!r}: expected at least 1")
    return top_k


# The settings of `to_dict`, by their names in `Documents`.
_SETTINGS = {
    "index": "place",
    "key": "key",
    "embedding_dim": "dim",
    "max_results": "most",
    "mode": "mode",
    "attributes": "attributes",
    "client_key": "client_key",
    "token": "token",
    "roots": "roots",
    "wait": "wait",
}

# The fields of documents themselves.
_FIELDS = {field.name for field in fields(Document)}

# The fields that stored documents do not have.
_NOT_KEPT = ("embedding", "score")

# The attribute of documents without an embedding. No filter tests it: in filters, a point begins a name inside a value.
_MISSING = "embedding.missing"

# The comparisons that attributes may decide.
_WORDS = {"==": "$eq", "!=": "$ne", ">": "$gt", ">=": "$gte", "<": "$lt", "<=": "$lte", "in": "$in", "not in": "$nin"}


def _checked(stored: Any) -> tuple[dict[str, Any], bool]:
    """Return the stored form of a document, and whether a search finds it."""
    if not (isinstance(stored, list) and len(stored) == 2 and isinstance(stored[0], dict)):
        raise FormatError("the index holds no documents of Haystack's store: it was made by other means")
    return stored[0], bool(stored[1])


def _meta(stored: Any) -> dict[str, Any]:
    return _checked(stored)[0].get("meta") or {}


def _attributes(stored: Any) -> dict[str, Any]:
    """Return what attributes are made from: a document's `meta`, and whether it lacks an embedding."""
    document, embedded = _checked(stored)
    return {**(document.get("meta") or {}), _MISSING: None if embedded else True}


def _document(found: Found) -> Document:
    return _document_of(found.document, found.score)


def _document_of(stored: Any, score: float | None = None) -> Document:
    return Document.from_dict({**_checked(stored)[0], "score": score})


def _tree(filters: dict[str, Any] | None) -> Tree:
    """Return the part of filters that attributes may decide, once `_passing` has accepted them."""
    if not filters:
        return ("and", [])
    if "field" not in filters:
        conditions, operator = filters.get("conditions"), filters.get("operator")
        if not isinstance(conditions, list) or not all(isinstance(one, dict) for one in conditions):
            return None
        trees = [_tree(one) for one in conditions]
        # `NOT` is true unless all its conditions are true.
        return {"AND": ("and", trees), "OR": ("or", trees), "NOT": ("not", ("and", trees))}.get(str(operator))
    name, word, value = str(filters["field"]), _WORDS.get(str(filters.get("operator"))), _stored(filters.get("value"))
    values = value if isinstance(value, list) else [value]
    if "." not in name and name not in _FIELDS:
        # Haystack takes it for a name of `meta`.
        name = f"meta.{name}"
    root, _, inner = name.partition(".")
    if word is None or root != "meta" or "." in inner:
        return (name, None, value)
    if not any(isinstance(one, str) and _dated(word, one) for one in values):
        return (inner, word, value)
    return (inner, CHECKED, Check(_test(filters, inner), lambda _: _conditions(inner, word, value), value))


def _test(filters: dict[str, Any], name: str) -> Callable[[Any], bool]:
    """Return a function that tests a value of `meta` by one comparison."""
    passes = _passing(filters)

    def check(value: Any) -> bool:
        try:
            return passes(Document(id="it", meta={} if value is None else {name: value}))
        except (FilterError, TypeError, ValueError, OverflowError) as error:
            raise WrongFilter(str(error)) from None

    return check


def _conditions(name: str, word: str, value: Any) -> list[str]:
    """Return the condition on attributes that may be equal to a comparison with dates."""
    values = value if word in ("$in", "$nin") else [value]
    plain = isinstance(values, list) and values and all(isinstance(one, str) for one in values)
    return [compared(name, word, value)] if plain else []


def _dated(word: str, text: str) -> bool:
    """Return True for a text that Haystack compares as a date, and not letter by letter."""
    return word not in ("$eq", "$ne", "$in", "$nin") or text[:4].isdigit() and text[4:5] == "-"


def _passing(filters: dict[str, Any] | None) -> Callable[[Document], bool]:
    """Return a function that tests if a document passes.

    Raises
    ------
    FilterError
        If the filters have no valid form.
    """
    if filters is None or filters == {}:
        return lambda document: True
    if not isinstance(filters, dict):
        raise FilterError(f"filters: a {type(filters).__name__}, expected a dict")
    if "operator" not in filters and "conditions" not in filters:
        raise FilterError("a filter without an operator: expected Haystack's comparison or logic form")
    _check_depth(filters, 0)
    _check_fields(filters)
    plain = _plain(filters)
    return lambda document: document_matches_filter(filters=plain, document=document)


def _plain(filters: Any) -> Any:
    """Return filters with dates and instants as `meta` has them."""
    if not isinstance(filters, dict):
        return filters
    if "field" in filters:
        return {**filters, "value": _stored(filters["value"])} if "value" in filters else filters
    inner = _inside(filters)
    return {**filters, "conditions": [_plain(one) for one in inner]} if inner else filters


def _stored(value: Any) -> Any:
    """Return a value of a filter, with the texts for dates and instants.

    Raises
    ------
    FilterError
        If UTC does not have the instant.
    """
    if isinstance(value, list):
        return [_stored(one) for one in value]
    if not isinstance(value, (date, np.datetime64)):
        return value
    try:
        return _payloads.plain(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise FilterError(f"filters: a value {error}") from None


def _check_depth(filters: Any, depth: int) -> None:
    """Refuse filters that are nested too deep."""
    if depth > DEPTH:
        raise FilterError(TOO_DEEP)
    for one in _inside(filters):
        _check_depth(one, depth + 1)


def _check_fields(filters: Any) -> None:
    """Refuse filters by a field that the store does not keep: all documents would have None there.

    Raises
    ------
    FilterError
        The message has the field.
    """
    for one in _inside(filters):
        _check_fields(one)
    field = str(filters.get("field", "")).partition(".")[0] if isinstance(filters, dict) else ""
    if field in _NOT_KEPT:
        kept = ", ".join(sorted(_FIELDS - set(_NOT_KEPT)))
        raise FilterError(f"filters: the field {field}, which this store does not give back to compare: expected one of {kept}; write what to filter by into meta")


def _check_conditions(filters: Any) -> None:
    """Refuse filters for a change if a part has no condition. All documents pass an empty `AND`.

    Raises
    ------
    FilterError
        If the filters have no valid form.
    InputError
        If a part has no condition.
    """
    _passing(filters)
    parts = [filters]
    while parts:
        part = parts.pop()
        inner = _inside(part)
        if not part or (isinstance(part, dict) and "field" not in part and not inner):
            raise InputError(
                "filters: a part without a condition, so that all documents may match: expected a comparison in each part. "
                "delete_all_documents() deletes all, and {'field': 'id', 'operator': '!=', 'value': ''} matches all"
            )
        parts.extend(inner)


def _inside(filters: Any) -> list[Any] | tuple[Any, ...]:
    """Return the filters that a filter joins; none for a comparison."""
    found = filters.get("conditions") if isinstance(filters, dict) and "field" not in filters else None
    return found if isinstance(found, (list, tuple)) else ()
