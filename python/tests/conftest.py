import signal
import time

import numpy as np
import pytest

import sordino

# If a shell starts the tests in the background, the tests and the programs that they start would ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

N, DIM = 2000, 24


@pytest.fixture(scope="session")
def vectors():
    return np.random.default_rng(1).standard_normal((N, DIM), dtype=np.float32)


@pytest.fixture(scope="session")
def key():
    return sordino.keygen()


@pytest.fixture(scope="session")
def index(tmp_path_factory, vectors, key):
    """A masked index that no test changes."""
    return sordino.build(tmp_path_factory.mktemp("shared") / "index", vectors, key=key)


@pytest.fixture
def client(index, key):
    with sordino.Client(index, key=key.reader()) as client:
        yield client


def nearest(vectors, query, k):
    """Row numbers of the exact nearest by the cosine."""
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.argsort(-(units @ query), kind="stable")[:k]


def until(done, seconds=60):
    """Asks until a condition holds. Each question waits for a server, a process or a folder, so the loop does not pause."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"not true after {seconds} s"
