"""The costs of an agent's memory: memories that are written one at a time, and questions.

  python python/benches/memory.py [--memories N] [--bulk N] [--writers N]

Writes N memories singly into a new folder and prints a line for each tenth of them; then puts --bulk memories more there at once, and times questions.
With --writers a writer adds N memories to an owner's folder, each in a version of its own, which is the worst case; nothing else is done then.
Texts are drawn from a list of words. Needs the extra [mcp].
"""

import argparse
import os
import random
import statistics
import tempfile
import time
from pathlib import Path

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


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def single(memory, home, number):
    """Writes memories one at a time. The folder's bytes are compared with those of texts and vectors."""
    times, payload = [], 0
    for n in range(number):
        times.append(timed(lambda: memory.remember(text(n), ["bench"])))
        payload += len(text(n)) + 4 * 256
        if (n + 1) % max(number // 10, 1) == 0:
            share = folder_bytes(home.index) / payload
            print(f"{n + 1:7}: last hundred {milliseconds(times[-100:])}; folder {share:.2f} of texts and vectors; load {os.getloadavg()[0]:.1f}", flush=True)
    print(f"last hundred over the first: {statistics.median(times[-100:]) / statistics.median(times[:100]):.2f}")


def by_writer(folder, embedding, number):
    """A writer adds memories, each as a version, and the owner's process takes them in and compacts when that is due."""
    home = Home.init(folder / "owner", Settings("owner"), embedding)
    other = Home.join(folder / "writer", Settings("writer", index=str(home.index)), home.folder / "owner.pub", write=True)
    owner = Writer(home)
    owner.grant_writer("writer", WriterPublicKey.load(other.folder / "writer.public"), [], 4_102_444_800)
    writer, payload, times, owners = Contributor(other), 0, [], 0.0
    print("memories  folder/(texts and vectors)  manifests kB  an addition, ms  the owner's share, ms  load")
    for n in range(number):
        record = Record.made(text(n), ["bench"], None, "writer")
        row = embedding([record.text])

        def add(record=record, row=row):
            writer.remember([record], row)
            writer.flush()

        times.append(timed(add))
        payload += len(record.text) + 4 * 256
        owners += timed(lambda: owner.take_in() and owner.due(False) and owner.compact())
        if (n + 1) % max(number // 10, 1) == 0:
            share, kept = folder_bytes(home.index) / payload, folder_bytes(home.index / "manifests") / 1e3
            last = times[-(number // 10) :]
            print(f"{n + 1:8}  {share:26.2f}  {kept:12.0f}  {1e3 * statistics.median(last):15.1f}  {1e3 * owners / len(last):21.1f}  {os.getloadavg()[0]:.1f}", flush=True)
            owners = 0.0
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
    parser.add_argument("--bulk", type=int, default=90_000)
    parser.add_argument("--writers", type=int, default=0)
    args = parser.parse_args()
    embedding = Embedding("wordllama")
    with tempfile.TemporaryDirectory() as folder:
        if args.writers:
            by_writer(Path(folder), embedding, args.writers)
            return
        home = Home.init(Path(folder) / "home", Settings("bench"), embedding)
        memory, other = Memory(home, embedding), Memory(Home(home.folder), embedding)
        single(memory, home, args.memories)
        across(memory, other)
        questions(memory, args.memories)
        if args.bulk:
            records = [Record.made(text(n), ["bulk"], None, "bench") for n in range(args.memories, args.memories + args.bulk)]
            print(f"{args.bulk} at once: {timed(lambda: list(memory.remember_all(records))):.1f} s")
            memory.wait()
            questions(memory, args.memories + args.bulk)
        memory.close()
        other.close()


if __name__ == "__main__":
    main()
