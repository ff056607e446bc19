"""A client for programs of asyncio."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

from ._client import Client
from ._errors import ClosedError
from ._index import whole_number

if TYPE_CHECKING:
    import asyncio
    import os
    from collections.abc import Callable
    from types import TracebackType
    from typing import SupportsIndex

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from ._client import Result
    from ._index import Ids, Index
    from ._sordino import OwnerKey, ReaderKey, WriterKey

T = TypeVar("T")


class AsyncClient:
    """A `Client` whose calls run in threads, so that the event loop goes on. It is an asynchronous context manager.

    ::

        async with sordino.AsyncClient("https://host:7700", key=key, wait=10) as client:
            found = await asyncio.gather(*(client.search(query) for query in queries))

    Many calls may wait at the same time. A cancelled call ends in its thread. Neither `close` nor the process's exit waits for it.

    Parameters
    ----------
    index_or_url : Index, path or str
        As for `Client`.
    key : ReaderKey, WriterKey or OwnerKey
        As for `Client`.
    threads : int, default 8
        The largest number of calls that run at a time. The others wait for their turn.
    **options
        The other parameters of `Client`.
    """

    def __init__(
        self,
        index_or_url: Index | str | os.PathLike[str],
        *,
        key: ReaderKey | WriterKey | OwnerKey,
        threads: int = 8,
        **options: Any,
    ) -> None:
        # Programs without asyncio do not import it.
        from ._daemons import Threads

        self._connect = functools.partial(Client, index_or_url, key=key, **options)
        self._threads = Threads(max(1, whole_number(threads, "threads", 1024)))
        self._connecting: asyncio.Future[Client] | None = None
        self._closed = False

    async def open(self) -> Self:
        """Connect, or load the index. The first call of another method does so too.

        Returns
        -------
        AsyncClient
            This client.

        Raises
        ------
        Error
            As for `Client`. The next call tries again.
        """
        await self._client()
        return self

    async def search(
        self, queries: ArrayLike, k: SupportsIndex | None = None, *, where: str | None = None, threshold: float | None = None
    ) -> Result:
        """Find the `k` nearest records of each query, as `Client.search` does.

        Parameters
        ----------
        queries, k, where, threshold
            As for `Client.search`.

        Returns
        -------
        Result
            Ids, scores and payloads, and what the call moved.
        """
        return await self._run(lambda client: client.search(queries, k, where=where, threshold=threshold))

    async def payloads(self, ids: Ids) -> list[bytes | None]:
        """Fetch the payloads of records by id, as `Client.payloads` does.

        Parameters
        ----------
        ids : int, str, uuid.UUID or a sequence of one kind
            The ids of the records.

        Returns
        -------
        list of bytes or None
            The payload of each record; None if there is no such record.
        """
        return await self._run(lambda client: client.payloads(ids))

    async def attributes(self, ids: Ids) -> list[dict[str, int | float | bool | str] | None]:
        """Return the attributes of records by id, as `Client.attributes` does.

        Parameters
        ----------
        ids : int, str, uuid.UUID or a sequence of one kind
            The ids of the records.

        Returns
        -------
        list of dict or None
            The attributes that each record has; None if there is no such record.
        """
        return await self._run(lambda client: client.attributes(ids))

    async def refresh(self) -> bool:
        """Follow the index to its newest version, as `Client.refresh` does.

        Returns
        -------
        bool
            True if there was a newer version.
        """
        return await self._run(lambda client: client.refresh())

    async def stats(self) -> dict[str, Any]:
        """Return what `Client.stats` does.

        Returns
        -------
        dict
            The index, its version, and the sums over all searches.
        """
        return await self._run(lambda client: client.stats())

    async def pin(self) -> bytes:
        """Return what `Client.pin` does, for the next client.

        Returns
        -------
        bytes
            56 bytes, which are not secret.
        """
        return await self._run(lambda client: client.pin())

    async def close(self) -> None:
        """Close the client. Running calls end normally, and calls that wait for their turn or for the connection raise `ClosedError`."""
        import asyncio

        from ._daemons import Threads

        self._closed = True
        opened, self._connecting = self._connecting, None
        # A connection that is still being made is dropped once it is made.
        if opened is not None and not opened.cancel() and not opened.cancelled() and opened.exception() is None:
            await asyncio.get_running_loop().run_in_executor(Threads(1), opened.result().close)

    async def _client(self) -> Client:
        """Return the client, which the first call makes and the others wait for."""
        import asyncio

        if self._closed:
            raise ClosedError("this client is closed")
        loop, connecting = asyncio.get_running_loop(), self._connecting
        if connecting is None or _is_void(connecting, loop):
            connecting = self._connecting = loop.run_in_executor(self._threads, self._connect)
        if not connecting.done():
            # A call that is cancelled here does not take the connection from the others.
            await asyncio.wait([connecting])
        if connecting.cancelled():
            raise ClosedError("this client is closed")
        return connecting.result()

    async def _run(self, call: Callable[[Client], T]) -> T:
        import asyncio

        client = await self._client()
        if self._closed:
            raise ClosedError("this client is closed")
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, client)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<sordino.AsyncClient{', closed' if self._closed else ''}>"


def _is_void(connecting: asyncio.Future[Client], loop: asyncio.AbstractEventLoop) -> bool:
    """Tell whether a connection failed, or another event loop, which may have ended, still waits for it."""
    if connecting.done():
        return connecting.cancelled() or connecting.exception() is not None
    return connecting.get_loop() is not loop
