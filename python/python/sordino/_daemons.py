"""Threads that the end of the process does not wait for. `ThreadPoolExecutor` would hold it up until all calls end."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")


class Threads(Executor):
    """Runs calls that write nothing, at most some at a time, each in its turn."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._running = 0
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a call as soon as it is its turn."""
        future: Future[T] = Future()
        with self._lock:
            if self._running < self._most:
                # Without a new thread, the call is not in the queue either.
                threading.Thread(target=self._run, name="sordino", daemon=True).start()
                self._running += 1
            self._waiting.append((future, lambda: work(*args, **kwargs)))
        return future

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._running -= 1
                    return
                future, work = self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                try:
                    result = work()
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
                    del result
            # The result of a call is released before the next call runs.
            del future, work
