"""The costs of an agent's memory: memories that are written one at a time, and questions.

  python python/benches/memory.py [--memories N] [--bulk N]

Writes N memories singly into a new folder and prints a line for each tenth of them; then puts --bulk memories more there at once, and times questions.
Texts are drawn from a list of words. Needs the extra [mcp].
"""

import argparse
import os
import random
import statistics
import tempfile
import time
from pathlib import Path

from sordino._embedding import Embedding
from sordino._home import Home, Settings
from sordino._memory import Memory
from sordino._record import Record

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
    args = parser.parse_args()
    embedding = Embedding("wordllama")
    with tempfile.TemporaryDirectory() as folder:
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
