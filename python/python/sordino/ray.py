"""An index on Ray Serve, and records that Ray reads.

`app` has a deployment for each shard, with replicas, and one that joins their answers::

    serve run sordino.ray:app index=my.index public_key=owner.pub shards=2 replicas=2 listen=127.0.0.1:7700

Ray places, watches and restarts the processes. Each replica of a shard runs the Rust server of `sordino.serve`
on a free port of its node. Each gatherer runs the server of `sordino.gather` on the port for clients, and Ray
tells it where the replicas are.

No query and no reply passes through Python or Ray. Clients speak the gRPC of `sordino serve`, with its TLS and
its keys, and a search takes the time of `sordino gather`. Needs `pip install sordino[ray]`.
"""

# No `from __future__ import annotations`: Ray reads the annotation of `app`, which must be a type.

import asyncio
import contextlib
import os
import socket
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Literal
from urllib.parse import urlsplit

import ray
from pydantic import BaseModel, ConfigDict, Field
from ray import serve
from ray.serve.handle import DeploymentHandle
from ray.serve.schema import LoggingConfig

import sordino
from sordino._tasks import Job, Task, make, settings_of
from sordino._tasks import build as assembled
from sordino.parquet import groups, names, read

__all__ = ["Options", "app", "batches", "build"]

# The seconds between two checks for replicas that came or went.
LOOK = 1.0

# Seconds that a stopping replica still answers, until no gatherer asks it.
DRAIN = 3 * LOOK

# Seconds that a failed build waits for its tasks to end.
CANCELLED = 60.0

# Seconds before a task whose files could not be read is tried again.
PAUSE = 2.0

# Seconds for which a replica may fail to serve a newer version before it is restarted.
BEHIND = 60.0

# Ray looks at each process this often; it need not log each time that a gatherer asks for addresses.
_WATCHED = {
    "health_check_period_s": 2,
    "health_check_timeout_s": 10,
    "graceful_shutdown_timeout_s": 40,
    "logging_config": LoggingConfig(enable_access_log=False),
}


class Options(BaseModel):
    """The index to serve, and the options of its servers."""

    model_config = ConfigDict(extra="forbid")

    #: The folder, which each node has at this path: copies, or a disk that all mount.
    index: str
    #: The owner's public key: the path of its file.
    public_key: str
    shards: int = Field(1, ge=1, le=1024)
    #: Servers of each shard.
    replicas: int = Field(1, ge=1)
    #: Servers that clients connect to, each on a node of its own.
    gatherers: int = Field(1, ge=1)
    #: The gatherers' "HOST:PORT"; a host of 0.0.0.0 is reached from other machines.
    listen: str = "127.0.0.1:7700"
    #: Paths of the public keys of clients that may ask, or one text with commas between the paths; without keys anyone may ask.
    clients: list[str] | str | None = None
    #: Paths of a certificate chain and its key, for TLS.
    cert: str | None = None
    cert_key: str | None = None
    #: The gatherers' "HOST:PORT" for metrics.
    metrics: str | None = None
    #: Processors of a replica. Ray places replicas by them, and a scan uses the same number of threads.
    cpus: float = Field(1, gt=0)
    #: Memory of a replica in bytes. Ray places replicas by it.
    memory: int | None = None
    #: A Ray resource of which a gatherer takes one, so that Ray places it on a node with this resource.
    gatherer_resource: str | None = None
    #: Requests a second that a gatherer answers, of all clients and of one address.
    rate: float | None = None
    rate_per_address: float | None = None
    #: If a shard has replicas, also ask a second replica when the first takes longer than 95 of 100 answers took.
    hedge: bool = False


def app(options: Options) -> serve.Application:
    """Return the application that `serve run sordino.ray:app` runs, with the fields of `Options` as arguments."""
    actor: dict[str, Any] = {"num_cpus": options.cpus, "runtime_env": {"env_vars": {"RAYON_NUM_THREADS": str(max(1, round(options.cpus)))}}}
    if options.memory is not None:
        actor["memory"] = options.memory
    # The decorators have made deployments of these classes.
    shard: Any = Shard
    gatherer: Any = Gatherer
    shards = [
        shard.options(name=f"shard-{number}", num_replicas=options.replicas, ray_actor_options=actor).bind(options, number)
        for number in range(1, options.shards + 1)
    ]
    place: dict[str, Any] = {"num_cpus": 0.1}
    if options.gatherer_resource is not None:
        place["resources"] = {options.gatherer_resource: 1}
    gatherer = gatherer.options(
        num_replicas=options.gatherers,
        ray_actor_options=place,
        max_replicas_per_node=1 if options.gatherers > 1 else None,
    )
    return gatherer.bind(options, *shards)


@serve.deployment(**_WATCHED)
class Shard:
    """A replica of a shard. Its server listens on the node's address; let only gatherers reach it."""

    def __init__(self, options: Options, number: int) -> None:
        host = ray.util.get_node_ip_address()
        self._server = sordino.serve(
            options.index,
            public_key=sordino.PublicKey.load(options.public_key),
            shard=(number, options.shards),
            listen=f"[{host}]:0" if ":" in host else f"{host}:0",
            anyone=True,
            plaintext=True,
        )

    def url(self) -> str:
        """Return the address of its server."""
        return self._server.url

    def version(self) -> int:
        """Return the version that it serves."""
        return self._server.version

    def pid(self) -> int:
        """Return its process id."""
        return os.getpid()

    def check_health(self) -> None:
        """Fail if Ray must restart the replica."""
        _check(self._server)

    def __del__(self) -> None:
        if hasattr(self, "_server"):
            # Ray has removed this replica from its list, but gatherers read the list only now and then.
            time.sleep(DRAIN)
            self._server.stop()


@serve.deployment(**_WATCHED)
class Gatherer:
    """A server for clients, over the replicas of all shards."""

    async def __init__(self, options: Options, *shards: DeploymentHandle) -> None:  # type: ignore[misc]  # Ray awaits it
        self._shards = shards
        self._urls: list[list[str]] = []
        while True:
            self._urls = await self._look()
            with contextlib.suppress(sordino.NetworkError, sordino.StaleError):
                if all(self._urls):
                    self._server = await asyncio.to_thread(_gather, options, self._urls)
                    break
            await asyncio.sleep(LOOK)
        self._watching = asyncio.create_task(self._watch())

    def url(self) -> str:
        """Return the address for clients, as its node sees it."""
        return self._server.url

    def version(self) -> int:
        """Return the version that it serves."""
        return self._server.version

    def metrics(self) -> str:
        """Return the gatherer's counts, in the OpenMetrics text format."""
        return self._server.metrics()

    def check_health(self) -> None:
        """Fail if Ray must restart the gatherer. A missing shard is not a reason."""
        _accepts(self._server.url)
        if self._watching.done():
            raise RuntimeError("it no longer looks for replicas")

    def __del__(self) -> None:
        if hasattr(self, "_server"):
            self._server.stop()

    async def _look(self) -> list[list[str]]:
        """Return the addresses of the running replicas of each shard."""

        async def one(shard: DeploymentHandle) -> list[str]:
            try:
                found = await shard.broadcast("url").results_async(timeout_s=5, return_exceptions=True)
            except Exception:  # noqa: BLE001  (of Ray's own kinds; the replicas that were known are asked on)
                return []
            return sorted(url for url in found if isinstance(url, str))

        return list(await asyncio.gather(*map(one, self._shards)))

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK)
            for number, urls in enumerate(await self._look(), 1):
                # If none is found, the earlier replicas may still answer.
                if urls and urls != self._urls[number - 1]:
                    self._server.reach(number, urls)
                    self._urls[number - 1] = urls


def batches(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    vectors: str,
    ids: str | None = None,
    payloads: str | None = None,
    attributes: Iterable[str] = (),
    ahead: int = 8,
) -> Iterator[sordino.Batch]:
    """Read the records of Parquet files with Ray's tasks, in their order, as `sordino.parquet.batches` does with
    threads.

    A task reads a row group and makes arrays of it. Ray runs a failed task again. Only the process that calls this
    has the owner's key and makes segments: no task encrypts, so no task can use a pad for two contents.

    Parameters
    ----------
    ahead : int, default 8
        The largest number of tasks that have started and whose records are not yet taken. It bounds the memory.

    Yields
    ------
    Batch
        The records of a row group.
    """
    columns = {"vectors": vectors, "ids": ids, "payloads": payloads, "attributes": names(attributes)}
    task = ray.remote(read)
    waiting: deque[Any] = deque()
    for path, group in groups(paths):
        waiting.append(task.remote(path, group, columns))
        if len(waiting) >= max(1, ahead):
            yield ray.get(waiting.popleft())
    while waiting:
        yield ray.get(waiting.popleft())


def build(
    path: str | os.PathLike[str],
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    key_file: str | os.PathLike[str],
    vectors: str,
    ids: str | None = None,
    attributes: Iterable[str] = (),
    mode: Literal["masked", "open", "routed", "sealed"] = "masked",
    metric: Literal["cosine", "inner-product", "euclidean"] = "cosine",
    recall: float = 0.95,
    k: int = 10,
    queries: int = 100,
    packing: Literal[4, 8, 16, 32, 64] | None = None,
    routing: Literal["downloaded", "encrypted"] | None = None,
    segment: int | None = None,
    cpus: float = 1,
    attempts: int = 5,
    ahead: int = 64,
) -> sordino.Index:
    """Build an index with Ray's tasks, on all machines of the owner's cluster.

    Parameters that are not listed here are the same as for `sordino.parquet.build`. A task reads its row groups,
    makes a segment and writes it into the index's folder. Every node must reach `path`, `files` and `key_file`
    under these names. In routed and sealed mode a task assigns its records to clusters and writes nothing. The
    lists of assigned records cross the cluster's network, as records do in `batches`.

    Ray repeats a task that fails or whose machine fails. Use only the owner's cluster, because each node reads the
    owner's key.

    Parameters
    ----------
    cpus : float, default 1
        Processors of a task, by which Ray places it. The task uses this number of threads.
    attempts : int, default 5
        The largest number of times that a task starts. If a file could not be read, two seconds pass before the next attempt.
    ahead : int, default 64
        Tasks that Ray has at a time.

    Returns
    -------
    Index
        The new index.
    """
    environment = {"env_vars": {"RAYON_NUM_THREADS": str(max(1, round(cpus)))}}
    retries = max(0, attempts - 1)
    # Only these failures are worth another attempt: an error of the records would come back each time.
    failures = [OSError, ConnectionError]
    task = ray.remote(num_cpus=cpus, max_retries=retries, retry_exceptions=failures, runtime_env=environment)(_patient)

    def run(job: Job, tasks: Iterator[Task]) -> Iterator[bytes]:
        waiting: list[Any] = []
        # Centroids may be some megabytes, so they are stored once for all tasks.
        facts = ray.put(job)
        try:
            for one in tasks:
                waiting.append(task.remote(facts, one))
                if len(waiting) >= max(1, ahead):
                    done, waiting = ray.wait(waiting)
                    yield from ray.get(done)
            while waiting:
                done, waiting = ray.wait(waiting)
                yield from ray.get(done)
        finally:
            # No task may write into the folder after this build has ended.
            for one in waiting:
                ray.cancel(one)
            if waiting:
                ray.wait(waiting, num_returns=len(waiting), timeout=CANCELLED)

    settings = settings_of(mode, metric, k, queries, packing, recall, routing)
    return assembled(path, files, run, key_file=key_file, vectors=vectors, ids=ids, attributes=attributes, settings=settings, segment=segment)


def _patient(job: Job, task: Task) -> bytes:
    try:
        return make(job, task)
    except OSError:
        # Ray repeats a task at once, and a file system may take a moment to recover.
        time.sleep(PAUSE)
        raise


def _gather(options: Options, urls: list[list[str]]) -> sordino.Server:
    paths = options.clients.split(",") if isinstance(options.clients, str) else options.clients
    clients = None if paths is None else [sordino.ClientPublicKey.load(path) for path in paths]
    end = time.monotonic() + DRAIN + 5
    while True:
        try:
            return sordino.gather(
                urls,
                listen=options.listen,
                public_key=sordino.PublicKey.load(options.public_key),
                clients=clients,
                anyone=clients is None,
                cert=options.cert,
                cert_key=options.cert_key,
                plaintext=options.cert is None,
                metrics=options.metrics,
                rate=options.rate,
                rate_per_address=options.rate_per_address,
                hedge=options.hedge,
            )
        except sordino.ListenError:
            # The gatherer that this one replaces may still have the port.
            if time.monotonic() > end:
                raise
            time.sleep(LOOK)


def _check(server: sordino.Server) -> None:
    _accepts(server.url)
    if server.behind > BEHIND:
        raise RuntimeError(f"a version could not be put in place for {server.behind:.0f} s")


def _accepts(url: str) -> None:
    parts = urlsplit(url)
    name = parts.hostname or ""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)
    socket.create_connection((host, parts.port), timeout=5).close()
