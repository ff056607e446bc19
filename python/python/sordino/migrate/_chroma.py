"""Chroma's local store, the folder of a `PersistentClient`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .._errors import InputError, MissingFileError, of_file
from ._store import PAGE, Row, Store, Wanted, client, one_of, reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Chroma(Store):
    """A collection of Chroma. When Chroma's client opens the folder of an older version, it upgrades the folder."""

    def __init__(self, place: str, wanted: Wanted, *, tenant: str, database: str) -> None:
        if wanted.vector is not None or wanted.id is not None or wanted.text is not None:
            raise InputError("Chroma's records have one vector, one id and one document: expected no --vector, --id and --text")
        if not os.path.exists(os.path.join(place, "chroma.sqlite3")):
            raise of_file(MissingFileError(f"{place}: no chroma.sqlite3 in it, expected the folder of Chroma's PersistentClient"), place)
        self.name = f"Chroma in {place}"
        chromadb = client("chromadb", "chromadb>=1")
        with reading(self.name):
            # Chroma's client would otherwise report its use over the network.
            settings = chromadb.config.Settings(anonymized_telemetry=False)
            # Chroma caches stores by the names of their folders, and `os.chdir` changes the meaning
            # of a relative name.
            opened = chromadb.PersistentClient(os.path.abspath(place), settings=settings, tenant=tenant, database=database)
            names = [one.name for page in range(0, opened.count_collections(), PAGE) for one in opened.list_collections(PAGE, page)]
        collection = one_of(wanted.collection, names, "collection", "--collection")
        self.name = f"Chroma's collection {collection!r}"
        with reading(self.name):
            # Stored vectors are read, so the model that made them is not needed.
            self._collection = opened.get_collection(collection, embedding_function=None)
            self.count = self._collection.count()
            told = self._collection.configuration_json
            self.metric = (told.get("hnsw") or told.get("spann") or {}).get("space")

    def rows(self, vectors: bool) -> Iterator[Row]:
        include = ["documents", "metadatas", "uris", *(["embeddings"] if vectors else [])]
        read = 0
        with reading(self.name):
            while (page := self._collection.get(limit=PAGE, offset=read, include=include))["ids"]:
                read += len(page["ids"])
                rows = page["embeddings"] if vectors else [None] * len(page["ids"])
                for id, row, text, metadata, uri in zip(page["ids"], rows, page["documents"], page["metadatas"], page["uris"], strict=True):
                    own = {name: _plain(value) for name, value in (metadata or {}).items()}
                    yield Row(id, row, text, own if uri is None else {**own, "chroma:uri": uri})

    def dims(self) -> Mapping[int, int]:
        with reading(self.name):
            first = self._collection.get(limit=1, include=["embeddings"])["embeddings"]
        # Chroma refuses vectors whose dimension differs from the first.
        return {len(row): self.count for row in first}


def _plain(value: Any) -> Any:
    """Converts a value of metadata; sparse vectors become objects."""
    return vars(value) if hasattr(value, "indices") and hasattr(value, "values") else value
