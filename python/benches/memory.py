"""The costs of an agent's memory: memories that are written one at a time, and questions.

  python python/benches/memory.py [--memories N] [--bulk N]
  python python/benches/memory.py --writers N [--bulk N] [--server COMMAND]

Writes N memories one at a time into a new folder, and prints a line for each tenth of them. Then adds --bulk more at once, and times
questions. With --writers, only a writer adds N memories to an owner's folder, each in its own version, which is the worst case. Then
--bulk is the number of earlier memories. With --server, the writer adds over a server on this machine, which the command `sordino` runs.
Texts are drawn from a list of words. Needs the extra [mcp].
"""

import argparse
import contextlib
import os
import random
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import sordino
from sordino import WriterPublicKey
from sordino._contributor import Contributor
from sordino._embedding import Embedding
from sordino._home import Home, Settings
from sordino._memory import Memory
from sordino._record import Record
from sordino._writer import Writer

WORDS = "river boat lamp sugar engine winter letter window garden copper silver doctor market yellow circle basket pepper carpet bottle camera".split()


def text(n):
    return f"note {n}: " + " ".join(random.Random(n).choices(WORDS, k=30))


def folder_bytes(folder):
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def milliseconds(times):
    return f"median {1e3 * statistics.median(times):.1f} ms, mean {1e3 * statistics.mean(times):.1f}, most {1e3 * max(times):.0f}"


def timed(work, clock=time.perf_counter):
    start = clock()
    work()
    return clock() - start


def single(memory, home, number):
    """Writes memories one at a time. Compares the folder's bytes with the bytes of texts and vectors."""
    times, payload = [], 0
    for n in range(number):
        times.append(timed(lambda: memory.remember(text(n), ["bench"])))
        payload += len(text(n)) + 4 * 256
        if (n + 1) % max(number // 10, 1) == 0:
            share = folder_bytes(home.index) / payload
            print(f"{n + 1:7}: last hundred {milliseconds(times[-100:])}; folder {share:.2f} of texts and vectors; load {os.getloadavg()[0]:.1f}", flush=True)
    print(f"last hundred over the first: {statistics.median(times[-100:]) / statistics.median(times[:100]):.2f}")


@contextlib.contextmanager
def served(command, folder):
    """A server of the owner's index, as its operator starts it. Gives its address, and a function that starts it for the owner's folder."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    processes = []

    def start(home):
        shutil.copytree(home.index, folder / "root" / "team")
        shutil.copy(home.folder / "owner.pub", folder / "root" / "team.pub")
        words = [command, "serve", "--root", folder / "root", "--accept-changes", "--listen", f"127.0.0.1:{port}", "--plaintext", "--anyone"]
        processes.append(subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, text=True))
        processes[0].stdout.readline()

    try:
        yield f"http://127.0.0.1:{port}/team", start
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def by_writer(folder, embedding, number, before, url=None, start=None):
    """A writer adds memories, each as a version, to `before` earlier memories. The owner's process takes in every 16 of them, and compacts
    when that is due."""
    home = Home.init(folder / "owner", Settings("owner", server=url), embedding)
    given = {"server": url} if url else {"index": str(home.index)}
    other = Home.join(folder / "writer", Settings("writer", **given), home.folder / "owner.pub", write=True)
    owner, payload = Writer(home), 0
    for first in range(0, before, 1024):
        records = [Record.made(text(n), ["bench"], None, "owner") for n in range(number + first, number + min(first + 1024, before))]
        owner.remember(records, embedding([record.text for record in records]))
        owner.flush()
        payload += sum(len(record.text) + 4 * 256 for record in records)
    if start:
        start(home)
    owner.grant_writer("writer", WriterPublicKey.load(other.folder / "writer.public"), [], 4_102_444_800)
    if start:
        sordino.open(home.index, key=home.owner_key()).push(url)
    writer, times, work, owners = Contributor(other), [], [], []
    index = folder / "root" / "team" if url else home.index
    print("memories  folder/(texts and vectors)  manifests kB  last hundred additions: median ms  processor ms  the owner's share of one, processor ms  load")
    for n in range(number):
        record = Record.made(text(n), ["bench"], None, "writer")
        row = embedding([record.text])

        def add(record=record, row=row):
            writer.remember([record], row)
            writer.flush()

        work.append(timed(lambda: times.append(timed(add)), time.process_time))
        payload += len(record.text) + 4 * 256
        if n % 16 == 15:
            owners.append(timed(lambda: owner.take_in() and owner.due(False) and owner.compact(), time.process_time))
        if (n + 1) % max(number // 10, 100) == 0:
            share, kept = folder_bytes(index) / payload, folder_bytes(index / "manifests") / 1e3
            print(
                f"{n + 1:8}  {share:26.2f}  {kept:12.0f}  {1e3 * statistics.median(times[-100:]):33.1f}  {1e3 * statistics.mean(work[-100:]):12.1f}"
                f"  {1e3 * statistics.mean(owners) / 16:38.1f}  {os.getloadavg()[0]:4.1f}",
                flush=True,
            )
            owners = []
    shares = [sum(some[-100:]) / sum(some[:100]) for some in (times, work)]
    print(f"last hundred over the first: {shares[0]:.2f}; processor time: {shares[1]:.2f}")
    writer.close()
    owner.close()


def across(one, other):
    """The time until another process's memory of the same folder recalls what was remembered."""
    times = []
    for n in range(50):
        start = time.perf_counter()
        change, _ = one.remember(f"crossing {n} of the {random.choice(WORDS)}")
        assert change.ids[0] in [found.id for found in other.recall(f"crossing {n}", 100)]
        times.append(time.perf_counter() - start)
        time.sleep(0.1)
    print(f"remembered by one, recalled by another: {milliseconds(times)}")


def questions(memory, number):
    memory.recall("a first question")
    times = [timed(lambda: memory.recall(text(n)[:60], 10)) for n in range(50)]
    print(f"recall of {number} memories, with the embedding: {milliseconds(times)}")
    print(f"recent: {1e3 * timed(lambda: memory.recent(10)):.0f} ms; stats: {1e3 * timed(memory.stats):.0f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--bulk", type=int)
    parser.add_argument("--writers", type=int, default=0)
    parser.add_argument("--server")
    args = parser.parse_args()
    bulk = 90_000 if args.bulk is None else args.bulk
    embedding = Embedding("wordllama")
    with tempfile.TemporaryDirectory() as folder:
        if args.writers:
            with served(args.server, Path(folder)) if args.server else contextlib.nullcontext(()) as place:
                by_writer(Path(folder), embedding, args.writers, args.bulk or 0, *place)
            return
        home = Home.init(Path(folder) / "home", Settings("bench"), embedding)
        memory, other = Memory(home, embedding), Memory(Home(home.folder), embedding)
        single(memory, home, args.memories)
        across(memory, other)
        questions(memory, args.memories)
        if bulk:
            records = [Record.made(text(n), ["bulk"], None, "bench") for n in range(args.memories, args.memories + bulk)]
            print(f"{bulk} at once: {timed(lambda: list(memory.remember_all(records))):.1f} s")
            memory.wait()
            questions(memory, args.memories + bulk)
        memory.close()
        other.close()


if __name__ == "__main__":
    main()
