#!/usr/bin/env python3
"""Searches with texts between two processes, over lines of several rates: a line of JSON for each, for scripts/compare.

  scripts/lines.py SORDINO [--sizes 100000,1000000] [--rates 10,100,1000] [--delay MS] [--modes masked,routed,local] [--bench FOLDER] [--pin COMMAND]

Needs numpy and pyarrow, and Linux for the memory. Generates clustered vectors of 128 dimensions with a text of about 300 bytes each.
Builds an index of each mode with all processors, and serves it on one core. A client then searches through a relay. The relay passes
on no more bytes a second than the rate, and delays each byte by half of the round trip. Rate 0 means that there is no relay.
"""
import argparse
import asyncio
import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

sys.path[:0] = [str(Path(__file__).parent / folder) for folder in ("peers/python", ".")]
from sets import DIM, clustered_parts  # noqa: E402
from texts import free_port, memory, wait_for  # noqa: E402

# The searches of a client, by the line's rate in Mbit/s: slow lines have few, since each takes seconds.
SEARCHES = {0: 50, 10: 3, 100: 10, 1000: 30}
K = 10  # results of a search
# The letters of made-up words, and their shares in English in per mille.
LETTERS = dict(zip("etaoinshrdlcumwfgypbvkjxqz", (127, 91, 82, 75, 70, 67, 63, 61, 60, 43, 40, 28, 28, 24, 24, 22, 20, 20, 19, 15, 10, 8, 2, 2, 1, 1)))
WORDS, LENGTH = 1_600, 58  # in the vocabulary, and in a text


def vocabulary():
    """Made-up words, the most frequent first. Frequent words are short."""
    rng = np.random.default_rng(1)
    lengths = rng.normal(1.5 + 0.45 * np.log2(np.arange(WORDS) + 2), 1.2).round().clip(1, 14).astype(int)
    shares = np.array(list(LETTERS.values()), float)
    drawn = rng.choice(list(LETTERS), (WORDS, 14), p=shares / shares.sum())
    return pa.array(["".join(letters[:length]) for letters, length in zip(drawn, lengths)])


def ranks():
    """Ranks of words, each as often as its share of a text: by Zipf's law, inverse to the rank."""
    shares = (1 / (np.arange(WORDS) + 2.7)).cumsum()
    return np.searchsorted(shares / shares[-1], (np.arange(65_536) + 0.5) / 65_536).astype(np.int32)


def texts(n, seed, words, drawn):
    """Texts of about 300 bytes. With a dictionary of other texts, zlib compresses one to about half, as it does English (alone: to 0.63)."""
    rng = np.random.default_rng(seed)
    chosen = words.take(pa.array(drawn[rng.integers(0, len(drawn), n * LENGTH, dtype=np.uint16)]))
    starts = np.arange(n + 1, dtype=np.int32) * LENGTH
    return pc.binary_join(pa.ListArray.from_arrays(starts, chosen), " ")


def write(folder, n):
    """Writes the table of vectors and texts, and the file of queries. Returns the true neighbours of each query."""
    schema = pa.schema({"id": pa.int64(), "vector": pa.list_(pa.float32(), DIM), "text": pa.string()})
    parts = clustered_parts(n)
    queries = next(parts)
    np.save(folder / "queries.npy", queries)
    scores, ids = np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
    first, words, drawn = 0, vocabulary(), ranks()
    with pq.ParquetWriter(folder / f"{n}.parquet", schema) as table:
        for part in parts:
            numbers = np.arange(first, first + len(part))
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(part.ravel()), DIM)
            table.write_table(pa.table([pa.array(numbers), vectors, texts(len(part), first, words, drawn)], schema=schema))
            scores = np.hstack([scores, queries @ part.T])
            ids = np.hstack([ids, np.broadcast_to(numbers, (len(queries), len(part)))])
            best = np.argpartition(-scores, K - 1, axis=1)[:, :K]
            scores, ids = np.take_along_axis(scores, best, 1), np.take_along_axis(ids, best, 1)
            first += len(part)
    np.save(folder / "truth.npy", np.take_along_axis(ids, np.argsort(-scores, 1), 1))
    return [set(row) for row in ids.tolist()]


class Line:
    """One direction of a relay: bytes leave at `rate` bytes a second, `delay` seconds after they entered."""

    def __init__(self, rate, delay):
        self.rate, self.delay = rate, delay
        self.free, self.bytes = 0.0, 0

    async def copy(self, reader, writer):
        loop = asyncio.get_running_loop()
        waiting = asyncio.Queue(256)

        async def send():
            while (item := await waiting.get()) is not None:
                due, data = item
                await asyncio.sleep(max(0.0, due - loop.time()))
                writer.write(data)
                await writer.drain()
            writer.close()

        sender = asyncio.create_task(send())
        try:
            while data := await reader.read(max(1500, min(65536, int(self.rate / 200)))):
                self.bytes += len(data)
                self.free = max(self.free, loop.time()) + len(data) / self.rate
                await waiting.put((self.free + self.delay, data))
        finally:
            await waiting.put(None)
            await sender


class Relay:
    """A server on a free port that passes connections on to `port`, in a thread of its own."""

    def __init__(self, port, rate, delay):
        self.up, self.down = Line(rate, delay), Line(rate, delay)
        self.target, self.connections = port, set()
        self.loop, started = asyncio.new_event_loop(), threading.Event()

        async def start():
            server = await asyncio.start_server(self.connection, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            started.set()

        def run():
            self.loop.create_task(start())
            self.loop.run_forever()

        threading.Thread(target=run, daemon=True).start()
        started.wait()

    async def connection(self, reader, writer):
        self.connections.add(asyncio.current_task())
        there, back = await asyncio.open_connection("127.0.0.1", self.target)
        copies = (self.up.copy(reader, back), self.down.copy(there, writer))
        await asyncio.gather(*copies, return_exceptions=True)

    def stop(self):
        """Waits for the connections, which end when the client does."""

        async def end():
            await asyncio.wait(self.connections | {asyncio.create_task(asyncio.sleep(0))}, timeout=10)

        asyncio.run_coroutine_threadsafe(end(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)


class Bed:
    def __init__(self, args, folder):
        self.args, self.folder, self.sordino = args, folder, str(args.sordino.resolve())
        self.call("keys", "new", "owner", "owner.key")
        self.call("keys", "new", "reader", "reader.key", "--from", "owner.key")
        self.call("keys", "new", "public", "owner.pub", "--from", "owner.key")

    def call(self, *words):
        done = subprocess.run([self.sordino, *words], cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"sordino {' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def build(self, n, mode):
        """Builds an index with texts. The figures: seconds, the peak of memory, bytes on disk, the way to texts."""
        words = ["index", "build", f"{n}.parquet", f"{n}.{mode}", "--key", "owner.key", "--mode", mode]
        words += ["--id-column", "id", "--vector-column", "vector", "--payload-column", "text", "--json"]
        peak = 0
        with (self.folder / "report").open("w") as out:
            process = subprocess.Popen([self.sordino, *words], cwd=self.folder, stdout=out)
            # The kernel's figure for an ended child would also count this process, from which the child was forked.
            while process.poll() is None:
                peak = max(peak, memory(process, "VmHWM"))
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.05)
        if process.returncode:
            raise SystemExit(f"sordino {' '.join(words)} failed")
        report = json.loads((self.folder / "report").read_text())
        return {"build_s": report["seconds"], "build_bytes": peak, "disk_bytes": report["bytes"], "fetch": (report["fetched"] or {}).get("way")}

    def bench(self, n, mode, built):
        """The searches of `sordino bench` of this index, on one thread of one process."""
        words = ("bench", "--index", f"{n}.{mode}", "--key", "reader.key", "--queries", "queries.npy", "--truth", "truth.npy")
        report = json.loads(self.call(*words, "--searches", "20", "--json"))
        for row in report["measured"]:
            row["build_s"] = built["build_s"]
        self.args.bench.mkdir(parents=True, exist_ok=True)
        (self.args.bench / f"clustered-{n}.{mode}.json").write_text(json.dumps(report | {"set": "clustered"}))

    def searches(self, n, mode, truth):
        """Serves an index, and searches it over each line."""
        port = free_port()
        words = [*shlex.split(self.args.pin), self.sordino, "serve", f"{n}.{mode}", "--key", "owner.pub", "--plaintext", "--anyone"]
        start = time.monotonic()
        server = subprocess.Popen([*words, "--listen", f"127.0.0.1:{port}"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(port, server)
            start_s = time.monotonic() - start
            for rate in (0, *self.args.rates):
                yield {"start_s": start_s, **self.session(port, rate, truth), "server_bytes": memory(server, "RssAnon")}
        finally:
            server.terminate()
            server.wait()

    def session(self, port, rate, truth):
        """One client on one line: the first search from the start of the process, the median of the others, and the recall."""
        relay = Relay(port, rate * 1e6 / 8, self.args.delay / 2e3) if rate else None
        queries = np.load(self.folder / "queries.npy")

        def ask(count):
            np.save(self.folder / "some.npy", queries[:count])
            start = time.monotonic()
            words = ("query", "--connect", f"http://127.0.0.1:{relay.port if relay else port}", "--key", "reader.key", "--file", "some.npy")
            report = json.loads(self.call(*words, "--json", "--no-cache"))
            return report, time.monotonic() - start, (relay.up.bytes, relay.down.bytes) if relay else (0, 0)

        count = SEARCHES.get(rate, 10)
        _, first_s, one = ask(1)
        report, _, both = ask(1 + count)
        if relay:
            relay.stop()
        # The second session has `count` searches more than the first.
        each = [(total - 2 * alone) / count for total, alone in zip(both, one)]
        found = [{hit["id"] for hit in query["hits"]} for query in report["queries"]]
        return {
            "rate": rate,
            "first_ms": first_s * 1e3,
            "search_ms": report["search_ms_median"],
            "bytes_once": report["bytes_once"],
            "line_bytes_up": each[0],
            "line_bytes_down": each[1],
            "searches": count,
            "recall": sum(len(hits & near) for hits, near in zip(found, truth)) / (K * len(found)),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sordino", type=Path)
    numbers = lambda text: [int(part) for part in text.split(",")]  # noqa: E731
    parser.add_argument("--sizes", type=numbers, default=[100_000, 1_000_000])
    parser.add_argument("--rates", type=numbers, default=[10, 100, 1000], help="in Mbit/s")
    parser.add_argument("--delay", type=float, default=20.0, help="the round trip, in milliseconds")
    parser.add_argument("--modes", type=lambda text: text.split(","), default=["masked", "routed", "local"])
    parser.add_argument("--bench", type=Path, help="a folder for the report of `sordino bench` of each index")
    parser.add_argument("--pin", default="", help="a command in front of the server: taskset -c 1")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder = Path(name)
        bed = Bed(args, folder)
        for n in args.sizes:
            truth = write(folder, n)
            for mode in args.modes:
                built = bed.build(n, mode)
                if args.bench:
                    bed.bench(n, mode, built)
                for line in bed.searches(n, mode, truth):
                    date = datetime.now(timezone.utc).strftime("%d %B %Y")
                    print(json.dumps({"n": n, "dim": DIM, "mode": mode, "date": date, "delay_ms": args.delay, **built, **line}), flush=True)
                shutil.rmtree(folder / f"{n}.{mode}")
            (folder / f"{n}.parquet").unlink()


if __name__ == "__main__":
    main()
