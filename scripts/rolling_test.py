#!/usr/bin/env python3
"""A masked index of two shards changes its version under load. Every answer comes from one version, and no search is refused.

  scripts/rolling_test.py [--records N] [--dim D] [--clients N] [--versions N] [--sordino PATH] [--index FOLDER --key FILE]

Processes of the command serve the shards and join them. Each new version adds 4,000 pairs of records, and both records of a pair lie
at one place. An answer with only one of them, or with a later pair but without an earlier version's pairs, would mix two versions.
Clients search these places all the time. Needs the Python package. --index takes a folder that python/benches/parquet.py has kept, and
changes it.
"""
import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import sordino

PAIRS, FIRST = 4000, 10**9


class Process:
    """A process of the command, which reports when it listens."""

    def __init__(self, *words):
        self.process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.url = "http://" + re.search(r"127\.0\.0\.1:\d+", line).group()
        self.log = threading.Thread(target=self.process.stdout.read, daemon=True)
        self.log.start()

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Watch(threading.Thread):
    """Searches for the vectors that the versions add, until it is told to stop."""

    def __init__(self, url, key, places, stop):
        super().__init__()
        self.url, self.key, self.places, self.stop = url, key, places, stop
        self.wrong, self.seen, self.times = [], [], []

    def run(self):
        generator = np.random.default_rng(threading.get_ident() % 2**32)
        with sordino.Client(self.url, key=self.key) as client:
            newest = 0
            while not self.stop.is_set():
                number = int(generator.integers(len(self.places)))
                place = int(generator.integers(PAIRS))
                begin = time.perf_counter()
                try:
                    found = client.search(self.places[number][place], k=2)
                except sordino.Error as error:
                    self.wrong.append(f"refused: {error!r}")
                    return
                self.times.append(time.perf_counter() - begin)
                version = client.stats()["version"]
                pair = {FIRST + 2 * (number * PAIRS + place) + one for one in (0, 1)}
                there = len(pair & set(found.ids[0].tolist()))
                # The first version, `base`, has no pairs. Each later version adds one set of `PAIRS` pairs.
                expected = 2 if number < version - self.base else 0
                if there != expected or version < newest:
                    self.wrong.append(f"{there} of a pair of {number} in version {version} after {newest}")
                newest = version
                self.seen.append((time.monotonic(), version))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--versions", type=int, default=2)
    parser.add_argument("--sordino", default="target/debug/sordino")
    parser.add_argument("--index", type=Path)
    parser.add_argument("--key", type=Path)
    args = parser.parse_args()
    generator = np.random.default_rng(2)
    places = [generator.standard_normal((PAIRS, args.dim), dtype=np.float32) for _ in range(args.versions)]
    folder = Path(tempfile.mkdtemp())
    if args.index:
        key = sordino.OwnerKey.load(args.key)
        index = sordino.open(args.index, key=key)
    else:
        key = sordino.keygen()
        index = sordino.build(folder / "index", generator.standard_normal((args.records, args.dim), dtype=np.float32), key=key)
    public = folder / "owner.pub"
    key.public().save(public)
    common = ["--key", public, "--listen", "127.0.0.1:0", "--plaintext", "--anyone"]
    processes = [Process(args.sordino, "serve", index.path, "--shard", f"{shard}/2", *common) for shard in (1, 2)]
    urls = [process.url for process in processes]
    front = Process(args.sordino, "gather", "--shards", ",".join(urls), *common)
    stop = threading.Event()
    watches = [Watch(front.url, key.reader(), places, stop) for _ in range(args.clients)]
    base = index.info()["version"]
    try:
        for watch in watches:
            watch.base = base
            watch.start()
        time.sleep(5)
        for number, vectors in enumerate(places):
            ids = FIRST + 2 * PAIRS * number + np.arange(2 * PAIRS)
            version = index.add(np.repeat(vectors, 2, axis=0), ids=ids)
            written = time.monotonic()
            while not any(watch.wrong for watch in watches) and not all(w.seen and w.seen[-1][1] >= version for w in watches):
                time.sleep(0.05)
            print(f"version {version}: at all clients {time.monotonic() - written:.1f} s after it was written", flush=True)
            time.sleep(4)
    finally:
        stop.set()
        for watch in watches:
            watch.join()
        for process in [front, *processes]:
            process.stop()
    wrong = [what for watch in watches for what in watch.wrong]
    if wrong:
        sys.exit(f"{len(wrong)} wrong: {wrong[0]}")
    times = sorted(1000 * one for watch in watches for one in watch.times)
    gaps = [b[0] - a[0] for watch in watches for a, b in zip(watch.seen, watch.seen[1:])]
    print(
        f"{len(times)} searches of {args.clients} clients over {args.versions + 1} versions: none refused, none of two versions; "
        f"p50 {statistics.median(times):.0f} ms, most {times[-1]:.0f} ms, longest pause between two answers {max(gaps):.2f} s"
    )


if __name__ == "__main__":
    main()
