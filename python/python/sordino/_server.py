"""Servers: they hold an index and no secret of its owner."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _sordino
from ._errors import InputError, KeyKindError
from ._files import pem
from ._index import real_number, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from typing_extensions import Self

    from ._index import Index
    from ._sordino import ClientPublicKey, PublicKey


class Server:
    """An index that is served by threads of its own; a context manager that stops it."""

    def __init__(self, native: _sordino.Server) -> None:
        self._native = native

    @property
    def url(self) -> str:
        """The address for `sordino.Client`."""
        return self._native.url

    def metrics(self) -> str:
        """All counts in the OpenMetrics text form; empty once it is stopped."""
        return self._native.metrics()

    def stop(self) -> None:
        """Takes no more requests, answers those under way, closes. Once is enough."""
        self._native.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<sordino.Server {self.url}>"


def serve(
    path: str | os.PathLike[str] | Index,
    *,
    listen: str = "127.0.0.1:7700",
    public_key: PublicKey,
    clients: Iterable[ClientPublicKey] | None = None,
    cert: bytes | str | os.PathLike[str] | None = None,
    cert_key: bytes | str | os.PathLike[str] | None = None,
    metrics: str | None = None,
    batch: int | None = None,
    rate: float | None = None,
    rate_per_key: float | None = None,
    rate_per_address: float | None = None,
    max_connections: int | None = None,
    max_connections_per_address: int | None = None,
) -> Server:
    """Serves an index, and follows it: after a change the new version is served.

    path: the directory, or an `Index`.
    listen: "HOST:PORT"; port 0 for one that is free (`Server.url` says which).
    public_key: the owner's: an index that the owner did not sign is not served.
    clients: the public keys of those who may ask; without it anyone who reaches the port may.
    cert, cert_key: the certificate chain and its private key, in PEM (bytes) or paths of such files, for
        TLS 1.3. Without them queries are encrypted all the same, but the network sees who asks, and can
        change replies.
    metrics: another "HOST:PORT" for metrics.
    batch: queries that one pass over the index answers (16).
    rate, rate_per_key, rate_per_address, max_connections, max_connections_per_address: bounds, for
        requests a second and connections at a time.

    Raises `NoIndexError`, `SignatureError`, `ListenError`, `AddressError`, `CertificateError`.
    """
    if (cert is None) != (cert_key is None):
        raise InputError("cert and cert_key: expected both or neither")
    settings: dict[str, Any] = {
        "listen": listen,
        "cert": pem(cert, "cert"),
        "cert_key": pem(cert_key, "cert_key"),
        "metrics": metrics,
    }
    for name, value in [("listen", listen), ("metrics", metrics)]:
        if not (isinstance(value, str) or (value is None and name == "metrics")):
            raise InputError(f"{name} = {value!r}: expected a text, \"HOST:PORT\"")
    counts = {
        "batch": batch,
        "max_connections": max_connections,
        "max_connections_per_address": max_connections_per_address,
    }
    rates = {"rate": rate, "rate_per_key": rate_per_key, "rate_per_address": rate_per_address}
    settings |= {name: None if value is None else whole_number(value, name) for name, value in counts.items()}
    settings |= {name: None if value is None else real_number(value, name) for name, value in rates.items()}
    directory = path if isinstance(path, (str, os.PathLike)) else getattr(path, "path", None)
    if directory is None:
        raise InputError(f"{type(path).__name__}: expected an Index or its path")
    if not isinstance(public_key, _sordino.PublicKey):
        raise KeyKindError(
            f"{type(public_key).__name__}; expected a PublicKey: a server needs no secret, and "
            "key.public() makes one"
        )
    allowed = None if clients is None else _allowed(clients)
    return Server(_sordino.Server(os.fspath(directory), public_key, allowed, settings))


def _allowed(clients: Iterable[ClientPublicKey]) -> list[ClientPublicKey]:
    if not hasattr(clients, "__iter__"):
        raise KeyKindError(f"clients: one {type(clients).__name__}, expected a list of ClientPublicKeys")
    allowed = list(clients)
    for at, key in enumerate(allowed):
        if not isinstance(key, _sordino.ClientPublicKey):
            raise KeyKindError(f"client {at} is a {type(key).__name__}: expected a ClientPublicKey, as key.public() gives")
    return allowed
