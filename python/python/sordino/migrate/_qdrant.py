"""Qdrant: the folder of its local mode, or a server."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import UUID

from .._errors import InputError, MissingFileError, of_file
from ._store import PAGE, TEXTS, Row, Store, Wanted, client, one_of, reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# The seconds to wait for a server's answer.
_PATIENCE = 60


class Qdrant(Store):
    """A collection of Qdrant. In local mode Qdrant's client unpickles the folder, which can run any code in it."""

    def __init__(self, place: str, wanted: Wanted) -> None:
        if wanted.id is not None:
            raise InputError("Qdrant's points have one id: expected no --id")
        remote = "://" in place
        # An address may contain a password.
        self.name = f"Qdrant at {urlsplit(place).hostname}" if remote else f"Qdrant in {place}"
        if not remote and not os.path.exists(os.path.join(place, "meta.json")):
            raise of_file(MissingFileError(f"{place}: no meta.json in it, expected the folder of Qdrant's local mode or the URL of a server"), place)
        package = client("qdrant_client", "qdrant-client>=1.12")
        with reading(self.name):
            if remote:
                self._client = package.QdrantClient(url=place, api_key=os.environ.get("QDRANT_API_KEY"), timeout=_PATIENCE)
            else:
                self._client = package.QdrantClient(path=place)
        try:
            self._open(wanted)
        except BaseException:
            self.close()
            raise

    def _open(self, wanted: Wanted) -> None:
        with reading(self.name):
            names = [one.name for one in self._client.get_collections().collections]
        self._collection = one_of(wanted.collection, names, "collection", "--collection")
        self.name = f"Qdrant's collection {self._collection!r}"
        with reading(self.name):
            params = self._client.get_collection(self._collection).config.params
            self.count = self._client.count(self._collection, exact=True).count
        self._text = wanted.text
        sparse = params.sparse_vectors or {}
        several = params.vectors if isinstance(params.vectors, dict) else {"": params.vectors} if params.vectors else {}
        if wanted.vector in sparse:
            raise InputError(f"vector {wanted.vector!r} is sparse: expected a dense one, of {', '.join(map(repr, several)) or 'which there is none'}")
        self._vector = "" if wanted.vector is None and list(several) == [""] else one_of(wanted.vector, list(several), "vector", "--vector")
        taken = several[self._vector]
        if taken.multivector_config is not None:
            raise InputError(f"vector {self._vector!r} has several rows for each point (multivector): expected one")
        self.metric, self._dim = taken.distance.value, taken.size
        self.left = [
            *(f"the vector {name!r} of {other.size} dimensions" for name, other in several.items() if name != self._vector),
            *(f"the sparse vector {name!r}" for name in sparse),
        ]

    def rows(self, vectors: bool) -> Iterator[Row]:
        wanted: Any = ([self._vector] if self._vector else True) if vectors else False
        place = None
        with reading(self.name):
            while True:
                page, place = self._client.scroll(self._collection, limit=PAGE, offset=place, with_vectors=wanted, with_payload=True)
                for point in page:
                    metadata = dict(point.payload or {})
                    name = self._text or next((name for name in TEXTS if isinstance(metadata.get(name), str)), None)
                    text = metadata.pop(name) if name is not None and isinstance(metadata.get(name), str) else None
                    yield Row(_id(point.id), self._row(point.vector) if vectors else None, text, metadata)
                if place is None:
                    return

    def _row(self, found: Any) -> Any:
        """The vector of a point; None if it has none."""
        if isinstance(found, dict):
            found = found.get(self._vector)
        return found or None

    def dims(self) -> Mapping[int, int]:
        return {self._dim: self.count}

    def close(self) -> None:
        self._client.close()


def _id(id: Any) -> Any:
    """A point's id: a number or a UUID."""
    return id if isinstance(id, int) else UUID(id)
