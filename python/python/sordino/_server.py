"""Servers, which hold an index and no secret of its owner."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any

from . import _arrays, _sordino
from ._errors import ClosedError, InputError, KeyKindError
from ._files import pem, place
from ._index import Index, real_number, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from typing_extensions import Self

    from ._sordino import ClientPublicKey, IssuerPublicKey, PublicKey


class Server:
    """A running server, and a context manager that stops it. Its own threads serve the index."""

    def __init__(self, native: _sordino.Server) -> None:
        self._native = native
        self._stopped = threading.Event()

    @property
    def url(self) -> str:
        """The address for `sordino.Client`."""
        return self._native.url

    @property
    def version(self) -> int:
        """The version of the index that is served; 0 after `stop`."""
        return self._native.version

    @property
    def behind(self) -> float:
        """Seconds for which a newer version could not be served; 0 if there is none."""
        return self._native.behind

    def reach(self, shard: int, urls: str | Iterable[str]) -> None:
        """Name the servers of a shard again, for a server that `gather` returned.

        Requests from now on go to these servers, and connections to servers that stay are kept. While a shard has no
        server, requests are refused.

        Parameters
        ----------
        shard : int
            The number of the shard; the first is 1.
        urls : str or iterable of str
            The addresses of its servers.

        Raises
        ------
        InputError, AddressError
            If there is no such shard, or an address is wrong.
        ClosedError
            If the server is stopped.
        """
        if self._stopped.is_set():
            raise ClosedError("this server is stopped: sordino.gather makes a new one")
        self._native.reach(whole_number(shard, "shard", 65535), _urls(urls, "urls"))

    def metrics(self) -> str:
        """Return all counts in the OpenMetrics text format; empty after `stop`.

        Returns
        -------
        str
            The text.
        """
        return self._native.metrics()

    def stop(self) -> None:
        """Refuse new requests, answer those in progress, and close. A second call does nothing."""
        self._stopped.set()
        self._native.stop()

    def wait(self) -> None:
        """Serve until another thread calls `stop`, or until Ctrl-C, which stops the server. Then this method returns.

        `signal.signal(signal.SIGTERM, lambda *_: server.stop())` does the same for SIGTERM.
        """
        try:
            # On some systems Python handles signals only between short waits.
            while not self._stopped.wait(1):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()

    def __del__(self) -> None:
        # When the program ends, its servers stop.
        if hasattr(self, "_stopped") and not self._stopped.is_set() and not sys.is_finalizing():
            warnings.warn(
                f"{self!r} stops, since nothing refers to it any more: bind it to a name, call its wait(), or stop() it",
                RuntimeWarning,
                stacklevel=2,
            )

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
    shard: tuple[int, int] | None = None,
    clients: Iterable[ClientPublicKey] | None = None,
    issuers: Iterable[IssuerPublicKey] | None = None,
    audience: str | None = None,
    anyone: bool = False,
    cert: bytes | str | os.PathLike[str] | None = None,
    cert_key: bytes | str | os.PathLike[str] | None = None,
    plaintext: bool = False,
    allow_origins: Iterable[str] = (),
    metrics: str | None = None,
    batch: int | None = None,
    rate: float | None = None,
    rate_per_key: float | None = None,
    rate_per_address: float | None = None,
    max_connections: int | None = None,
    max_connections_per_address: int | None = None,
) -> Server:
    """Serve an index, and each new version of it after a change.

    The server runs as long as the result exists: bind it to a name, or call `sordino.serve(...).wait()`. A client
    that asks too often waits (`Client(wait=...)`), and then raises `BusyError`.

    Parameters
    ----------
    path : path or Index
        The directory of the index.
    listen : str, default "127.0.0.1:7700"
        "HOST:PORT". Port 0 takes a free port, which `Server.url` names.
    public_key : PublicKey
        The owner's public key. An index that this owner did not sign is not served.
    shard : tuple of (int, int), optional
        Hold only this share of the index: (2, 8) is the second of eight. The directory is the same for all shards.
        `gather` joins their replies.
    clients : iterable of ClientPublicKey, optional
        The public keys of clients that may ask.
    issuers : iterable of IssuerPublicKey, optional
        Issuers whose tokens are accepted, within what each token allows. `sordino token issue` makes tokens.
    audience : str, optional
        This server's name in tokens: their audience.
    anyone : bool, default False
        Instead of `clients` and `issuers`, answer everyone who reaches the port. Without a reader's key the answers
        are of no use, but each costs the server work.
    cert, cert_key : bytes or path, optional
        The certificate chain and its private key for TLS 1.3, in PEM, or the paths of such files.
    plaintext : bool, default False
        Instead of `cert`, listen without TLS: on this machine, or behind a proxy that has TLS. Queries stay
        encrypted, but the network sees who asks, and can change replies.
    allow_origins : iterable of str, optional
        The origins whose pages may ask from a browser, such as "https://app.example". Other pages are refused.
    metrics : str, optional
        A second "HOST:PORT", for metrics.
    batch : int, default 16
        The largest number of queries that one pass over the index answers.
    rate : float, default 1000
        Requests per second in all. A search has one request or several.
    rate_per_key : float, default 100
        Requests per second of one client key.
    rate_per_address : float, default 500
        Requests per second of one address, if anyone may ask. For a shard the default is 1000.
    max_connections : int, default 512
        Connections at a time.
    max_connections_per_address : int, default 256
        Connections at a time of one address.

    Returns
    -------
    Server
        The running server.

    Raises
    ------
    NoIndexError, SignatureError
        If there is no index, or it is not this owner's.
    ListenError, AddressError, CertificateError
        If the server cannot listen.
    """
    settings = _settings(
        listen,
        _askers(clients, issuers, audience, anyone),
        (cert, cert_key, plaintext),
        allow_origins,
        metrics,
        {
            "batch": batch,
            "max_connections": max_connections,
            "max_connections_per_address": max_connections_per_address,
        },
        {"rate": rate, "rate_per_key": rate_per_key, "rate_per_address": rate_per_address},
    )
    if shard is not None:
        settings["shard"] = _shard(shard)
    directory = place(path.path if isinstance(path, Index) else path, expected="an Index or its path")
    _check_public(public_key)
    return Server(_sordino.Server(directory, public_key, settings))


def gather(
    shards: Iterable[str | Iterable[str]],
    *,
    listen: str = "127.0.0.1:7700",
    public_key: PublicKey,
    clients: Iterable[ClientPublicKey] | None = None,
    issuers: Iterable[IssuerPublicKey] | None = None,
    audience: str | None = None,
    anyone: bool = False,
    cert: bytes | str | os.PathLike[str] | None = None,
    cert_key: bytes | str | os.PathLike[str] | None = None,
    plaintext: bool = False,
    shard_roots: bytes | str | os.PathLike[str] | None = None,
    allow_origins: Iterable[str] = (),
    metrics: str | None = None,
    rate: float | None = None,
    rate_per_key: float | None = None,
    rate_per_address: float | None = None,
    max_connections: int | None = None,
    max_connections_per_address: int | None = None,
    wait: float = 0,
    hedge: bool = False,
) -> Server:
    """Serve an index whose shards other servers hold, as one server would.

    The server has no key and no data. It serves the next version when all shards have it. Parameters that are not
    listed here are the same as for `serve`.

    Parameters
    ----------
    shards : iterable of str or of iterable of str
        The URLs of the servers, in the order of the shards. A list of URLs names several servers of one shard: they
        take turns, and after a failure the next one is asked, once.
    shard_roots : bytes or path, optional
        The root certificates to trust for the shards' servers, in PEM, or the path of such a file.
    wait : float, default 0
        The seconds to wait for shards that have not started.
    hedge : bool, default False
        Ask a second server of a shard when the first is later than 95 of 100 answers were, and take the first whole
        answer. At most one request in ten is asked twice.

    Returns
    -------
    Server
        The running server.

    Raises
    ------
    InputError, AddressError, SignatureError, NetworkError
        If the shards cannot be used.
    StaleError
        If the shards have different versions.
    ListenError, CertificateError
        If the server cannot listen.
    """
    settings = _settings(
        listen,
        _askers(clients, issuers, audience, anyone),
        (cert, cert_key, plaintext),
        allow_origins,
        metrics,
        {"max_connections": max_connections, "max_connections_per_address": max_connections_per_address},
        {"rate": rate, "rate_per_key": rate_per_key, "rate_per_address": rate_per_address},
    )
    if isinstance(shards, str) or not hasattr(shards, "__iter__"):
        raise InputError(f"shards = {shards!r}: expected a list of URLs, the first shard's first")
    urls = [_urls(shard, f"shard {at}") for at, shard in enumerate(shards, 1)]
    _check_public(public_key)
    roots = pem(shard_roots, "shard_roots")
    wait = real_number(wait, "wait")
    return Server(_sordino.Server.gather(urls, public_key, settings, roots, (wait, bool(hedge))))


def _settings(
    listen: str,
    askers: dict[str, Any],
    protection: tuple[Any, Any, bool],
    allow_origins: Iterable[str],
    metrics: str | None,
    counts: dict[str, int | None],
    rates: dict[str, float | None],
) -> dict[str, Any]:
    cert, cert_key, plaintext = protection
    if (cert is None) != (cert_key is None):
        raise InputError("cert and cert_key: expected both or neither")
    if (cert is None) is not _flag(plaintext, "plaintext"):
        raise InputError(
            "no cert, and no plaintext=True: expected cert and cert_key for TLS, or plaintext=True to listen without it, on this machine or behind a proxy"
            if cert is None
            else "plaintext=True, and a cert: expected one of them"
        )
    for name, value in [("listen", listen), ("metrics", metrics)]:
        if not (isinstance(value, str) or (value is None and name == "metrics")):
            raise InputError(f"{name} = {value!r}: expected a text, \"HOST:PORT\"")
    settings: dict[str, Any] = askers | {
        "listen": listen,
        "cert": pem(cert, "cert"),
        "cert_key": pem(cert_key, "cert_key"),
        "origins": _origins(allow_origins),
        "metrics": metrics,
        "batch": None,
        "shard": None,
    }
    settings |= {name: None if value is None else whole_number(value, name) for name, value in counts.items()}
    settings |= {name: None if value is None else real_number(value, name) for name, value in rates.items()}
    return settings


def _origins(origins: Iterable[str]) -> list[str]:
    if isinstance(origins, str) or not hasattr(origins, "__iter__"):
        raise InputError(f"allow_origins = {origins!r}: expected a list of origins, such as [\"https://app.example\"]")
    several = list(origins)
    for origin in several:
        if not (isinstance(origin, str) and _arrays.is_unicode(origin)):
            raise InputError(f"allow_origins: {origin!r}, expected the origin of a page, such as \"https://app.example\"")
    return several


def _shard(shard: tuple[int, int]) -> tuple[int, int]:
    try:
        number, of = shard
    except (TypeError, ValueError):
        raise InputError(f"shard = {shard!r}: expected two numbers, (2, 8) for the second of eight") from None
    return whole_number(number, "shard", 65535), whole_number(of, "shard", 65535)


def _urls(urls: str | Iterable[str], what: str) -> list[str]:
    urls = [urls] if isinstance(urls, str) else urls
    if not hasattr(urls, "__iter__"):
        raise InputError(f"{what} = {urls!r}: expected a URL or a list of them")
    urls = list(urls)
    for url in urls:
        if not isinstance(url, str):
            raise InputError(f"{what}: {url!r}: expected a URL")
    return urls


def _check_public(public_key: PublicKey) -> None:
    if not isinstance(public_key, _sordino.PublicKey):
        raise KeyKindError(
            f"{type(public_key).__name__}; expected a PublicKey: a server needs no secret, and "
            "key.public() makes one"
        )


def _askers(
    clients: Iterable[ClientPublicKey] | None,
    issuers: Iterable[IssuerPublicKey] | None,
    audience: str | None,
    anyone: bool,
) -> dict[str, Any]:
    """Return the clients that may ask, in the native module's form."""
    if (issuers is None) != (audience is None):
        raise InputError("issuers and audience: expected both or neither")
    text = isinstance(audience, str) and _arrays.is_unicode(audience)
    if audience is not None and not (text and 1 <= len(audience.encode()) <= 255):
        raise InputError(f"audience = {audience!r}: expected a text of 1 to 255 bytes")
    listed = not (clients is None and issuers is None)
    if listed is _flag(anyone, "anyone"):
        raise InputError(
            "anyone=True, and clients or issuers: expected one of them"
            if listed
            else "nobody may ask: expected clients=[...], issuers=[...], or anyone=True for all who reach the port"
        )
    return {
        "clients": _keys(clients, "client", _sordino.ClientPublicKey),
        "issuers": _keys(issuers, "issuer", _sordino.IssuerPublicKey),
        "audience": audience,
    }


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{name} = {value!r}: expected True or False")
    return value


def _keys(keys: Iterable[Any] | None, what: str, kind: type) -> list[Any] | None:
    """Check that values are public keys of one kind."""
    if keys is None:
        return None
    if not hasattr(keys, "__iter__"):
        raise KeyKindError(f"{what}s: one {type(keys).__name__}, expected a list of {kind.__name__}s")
    several = list(keys)
    for at, key in enumerate(several):
        if not isinstance(key, kind):
            hint = ", as key.public() gives" if what == "client" else ""
            raise KeyKindError(f"{what} {at} is a {type(key).__name__}: expected a {kind.__name__}{hint}")
    return several
