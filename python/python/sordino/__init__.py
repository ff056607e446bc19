"""Private vector search, and the primitives that it is built from.

A client finds the nearest neighbours of its query on a server that learns neither the query nor what was
found, nor, in the default mode, any stored vector::

    import numpy as np, sordino

    vectors = np.random.default_rng(1).standard_normal((10_000, 128), dtype=np.float32)
    key = sordino.keygen()
    index = sordino.build("my.index", vectors, key=key)
    with sordino.Client(index, key=key.reader()) as client:
        print(client.search(vectors[:3], k=5).ids)

Every exception that this package raises of its own is a `sordino.Error`.
"""

from . import _errors, blake3, fpe, mldsa, pir
from ._client import Client, Result
from ._errors import *  # noqa: F403  (its `__all__` names the exceptions)
from ._index import Index, build, open
from ._plan import Plan, plan
from ._records import Batch
from ._server import Server, gather, serve
from ._sordino import (
    ClientKey,
    ClientPublicKey,
    OwnerKey,
    PublicKey,
    ReaderKey,
    ReaderPublicKey,
    __version__,
    client_keygen,
    keygen,
    reader_keygen,
)

__all__ = [
    "Batch",
    "Client",
    "ClientKey",
    "ClientPublicKey",
    "Index",
    "OwnerKey",
    "Plan",
    "PublicKey",
    "ReaderKey",
    "ReaderPublicKey",
    "Result",
    "Server",
    "__version__",
    "blake3",
    "build",
    "client_keygen",
    "fpe",
    "gather",
    "keygen",
    "mldsa",
    "open",
    "pir",
    "plan",
    "reader_keygen",
    "serve",
    *_errors.__all__,
]
