#!/usr/bin/env python3
"""Kills replicas of shards under Ray Serve, and checks the answers that clients get.

  scripts/ray_test.py [--searches N] [--kills N] [--records N] [--seed N]

Needs the package with its extra `ray`. With two replicas a shard, a replica of a random shard is killed (SIGKILL) at random times,
whenever all are running. No search may fail or be wrong. With one replica a search may be refused, but its answer must be neither
wrong nor partial. Searches are answered again once Ray has restarted the replica. Then the index changes under load. At last an index
is built by tasks while one of its files cannot be read for a while. Prints a line for each test. Ends with 1 at the first fault.
"""
import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import ray
from ray import serve

import sordino
import sordino.parquet
import sordino.ray

DIM, K, SHARDS = 64, 5, 2
# The bound of a score's error.
NOISE = 0.02


class Bed:
    """An index in a folder, and its true neighbours."""

    def __init__(self, folder, records, seed):
        self.vectors = np.random.default_rng(seed).standard_normal((records, DIM), dtype=np.float32)
        self.units = self.vectors / np.linalg.norm(self.vectors, axis=1, keepdims=True)
        self.key = sordino.keygen()
        self.path = folder / "index"
        self.public = folder / "owner.pub"
        self.key.public().save(self.public)
        self.index = sordino.build(self.path, self.vectors, key=self.key, k=K)
        self.added = {}

    def unit(self, number):
        return self.units[number] if number < len(self.units) else self.added[number]

    def check(self, row, found):
        """Raises an error if the answer to the query `vectors[row]` is wrong or incomplete."""
        ids, scores = found.ids[0], found.scores[0]
        best = np.sort(self.units @ self.units[row])[-K]
        true = np.array([self.unit(number) @ self.units[row] for number in ids])
        if ids[0] != row or len(set(ids)) != K or np.abs(true - scores).max() > NOISE or true.min() < best - 2 * NOISE:
            raise SystemExit(f"a wrong answer about record {row}: {ids} {scores}")


def start(bed, replicas):
    """Starts the application. Returns the URL for clients and the handles of shards."""
    options = sordino.ray.Options(
        index=str(bed.path), public_key=str(bed.public), shards=SHARDS, replicas=replicas, listen="127.0.0.1:0", cpus=0.1
    )
    handle = serve.run(sordino.ray.app(options), name="sordino", route_prefix=None)
    shards = [serve.get_deployment_handle(f"shard-{number}", "sordino") for number in range(1, SHARDS + 1)]
    return handle.url.remote().result(), shards


def pids(shard):
    found = shard.broadcast("pid").results(timeout_s=10, return_exceptions=True)
    return [pid for pid in found if isinstance(pid, int)]


class Killer(threading.Thread):
    """Kills replicas of random shards, each time after all replicas have run for a moment."""

    def __init__(self, shards, replicas, seed):
        super().__init__(daemon=True)
        self.shards, self.replicas = shards, replicas
        self.random = random.Random(seed)
        self.kills = 0
        self.done = threading.Event()

    def run(self):
        while not self.done.wait(0.2):
            there = [pids(shard) for shard in self.shards]
            if any(len(some) < self.replicas for some in there):
                continue
            # Gatherers look for new replicas once a second.
            if self.done.wait(2 * sordino.ray.LOOK + self.random.random()):
                return
            os.kill(self.random.choice(self.random.choice(there)), signal.SIGKILL)
            self.kills += 1


def two_replicas(bed, options):
    url, shards = start(bed, 2)
    killer = Killer(shards, 2, options.seed)
    searches, slowest, times = 0, 0.0, []
    with sordino.Client(url, key=bed.key.reader()) as client:
        killer.start()
        while searches < options.searches or killer.kills < options.kills:
            row = searches % len(bed.vectors)
            begin = time.perf_counter()
            bed.check(row, client.search(bed.vectors[row]))
            times.append(1000 * (time.perf_counter() - begin))
            searches += 1
    killer.done.set()
    killer.join()
    times.sort()
    again = sum(counts(shards_metrics(), "sordino_shard_again_total"))
    print(
        f"two replicas: {searches} searches, {killer.kills} killed, asked again {again:.0f} times, none failed or wrong; "
        f"p50 {times[len(times) // 2]:.1f} ms, p99 {times[len(times) * 99 // 100]:.1f} ms, most {times[-1]:.0f} ms"
    )
    serve.delete("sordino")


def shards_metrics():
    return serve.get_app_handle("sordino").metrics.remote().result()


def counts(metrics, name):
    return [float(line.split()[-1]) for line in metrics.splitlines() if line.startswith(name)]


def one_replica(bed):
    url, shards = start(bed, 1)
    with sordino.Client(url, key=bed.key.reader()) as client:
        bed.check(0, client.search(bed.vectors[0]))
        for shard in shards:
            os.kill(pids(shard)[0], signal.SIGKILL)
            begin, refused = time.monotonic(), 0
            while True:
                try:
                    bed.check(refused, client.search(bed.vectors[refused]))
                    break
                except sordino.NetworkError:
                    refused += 1
                    time.sleep(0.05)
                if time.monotonic() - begin > 120:
                    raise SystemExit("not answered again within 120 s")
            if refused == 0:
                raise SystemExit("answered without a shard")
            print(f"one replica: killed, {refused} searches refused, whole answers again after {time.monotonic() - begin:.1f} s")
    serve.delete("sordino")


def another_version(bed):
    url, _ = start(bed, 2)
    stop, failed, versions = threading.Event(), [], set()

    def search(first):
        with sordino.Client(url, key=bed.key.reader()) as client:
            row = first
            while not stop.is_set():
                try:
                    bed.check(row % 1000, client.search(bed.vectors[row % 1000]))
                    versions.add(client.stats()["version"])
                except (sordino.Error, SystemExit) as error:
                    failed.append(error)
                    return
                row += 3

    threads = [threading.Thread(target=search, args=(first,)) for first in range(3)]
    for thread in threads:
        thread.start()
    version = 0
    for change in range(3):
        numbers = 10**6 + 10 * change + np.arange(10)
        bed.added |= dict(zip(numbers, -bed.units[:10]))
        version = bed.index.add(-bed.vectors[:10], ids=numbers)
        while serve.get_app_handle("sordino").version.remote().result() < version and not failed:
            time.sleep(0.1)
        time.sleep(1)
    stop.set()
    for thread in threads:
        thread.join()
    if failed:
        raise SystemExit(f"under a change of versions: {failed[0]!r}")
    if version not in versions:
        raise SystemExit(f"no search of version {version}: {versions}")
    print(f"versions {sorted(versions)} one after the other under load: no search failed, none was wrong")
    serve.delete("sordino")


def building(bed, folder):
    """Tests a build by tasks. It reads an unreadable file again. A record that no index can have ends the build and all its tasks."""
    lake = folder / "lake"
    lake.mkdir()
    bed.key.save(folder / "owner.key")
    parts = np.array_split(bed.vectors, 8)

    def write(part, rows):
        values = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), DIM)
        pq.write_table(pa.table({"v": values}), lake / f"{part}.parquet")

    def build(name, mode):
        choices = {"key_file": folder / "owner.key", "vectors": "v", "mode": mode, "segment": 1000, "k": K}
        return sordino.ray.build(folder / name, lake, **choices)

    for part, rows in enumerate(parts):
        write(part, rows)
    # The driver reads the metadata and the first file; tasks read all files.
    hidden, away = lake / "5.parquet", folder / "away"
    plain = sordino.parquet.sizes

    def then_hidden(files):
        sizes = list(plain(files))
        os.rename(hidden, away)
        threading.Timer(5, os.rename, (away, hidden)).start()
        return sizes

    with mock.patch("sordino._tasks.sizes", then_hidden):
        index = build("built", "masked")
    if len(index) != len(bed.vectors):
        raise SystemExit(f"{len(index)} records of {len(bed.vectors)}")
    with sordino.Client(index, key=bed.key.reader()) as client:
        bed.check(17, client.search(bed.vectors[17]))
    write(6, np.zeros_like(parts[6]))
    first = sum(len(rows) for rows in parts[:6])
    try:
        build("refused", "masked")
    except sordino.ZeroVectorError as error:
        if f"row {first} " not in str(error):
            raise SystemExit(f"{error}: expected row {first}") from None
    else:
        raise SystemExit("an index of zero vectors")
    left = sorted((folder / "refused").rglob("*")) if (folder / "refused").exists() else []
    time.sleep(3)
    later = sorted((folder / "refused").rglob("*")) if (folder / "refused").exists() else []
    if left != later:
        raise SystemExit(f"tasks went on after their build: {len(left)} files, and then {len(later)}")
    print("a build by tasks went through a file that could not be read for 5 s, and one with a zero vector ended with all its tasks")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--searches", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=5, help="the least number of kills")
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bed = Bed(Path(folder), options.records, options.seed)
        ray.init(num_cpus=8, include_dashboard=False, logging_level="error", log_to_driver=False)
        try:
            two_replicas(bed, options)
            one_replica(bed)
            another_version(bed)
            building(bed, Path(folder))
        finally:
            serve.shutdown()
            ray.shutdown()


if __name__ == "__main__":
    sys.exit(main())
