"""A server that answers a limited number of requests a second: calls wait for it, and say so in the end."""

import os
import signal
import threading

import numpy as np
import pytest

import sordino


@pytest.fixture(scope="module")
def small(tmp_path_factory, key):
    """A small index, whose server has the bounds that a test names."""
    return sordino.build(tmp_path_factory.mktemp("busy") / "index", np.eye(24), key=key, k=1, mode="open", payloads=["x"] * 24)


def served(small, key, **limits):
    return sordino.serve(small, listen="127.0.0.1:0", public_key=key.public(), plaintext=True, anyone="clients" not in limits, **limits)


def test_a_batch_goes_on_past_the_rate(small, key):
    # A rest of a second saves up eight requests: the batch needs forty or more.
    with served(small, key, rate_per_address=8) as server, sordino.Client(server.url, key=key.reader()) as client:
        queries = np.eye(24)[:20]
        assert client.search(queries).ids[:, 0].tolist() == list(range(20))
        assert client.payloads([3]) == [b"x"] and client.refresh() is False


def test_a_client_of_a_list_waits_too(small, key):
    alice = sordino.client_keygen()
    with served(small, key, clients=[alice.public()], rate_per_key=8) as server:
        with sordino.Client(server.url, key=key.reader(), client_key=alice) as client:
            assert client.search(np.eye(24)[:20]).ids[:, 0].tolist() == list(range(20))


def test_a_server_that_stays_busy_is_told_by_an_error_of_its_own(small, key):
    # After one request the client must wait a hundred seconds.
    with served(small, key, rate_per_address=0.01) as server:
        with pytest.raises(sordino.BusyError, match="too many requests") as busy:
            sordino.Client(server.url, key=key.reader(), wait=0)
        assert isinstance(busy.value, sordino.RefusedError)
        with pytest.raises(sordino.BusyError):
            sordino.Client(server.url, key=key.reader(), wait=0.3)
    for wrong in ["long", -1, float("nan")]:
        with pytest.raises(sordino.InputError, match="wait"):
            sordino.Client("http://127.0.0.1:1", key=key, wait=wrong)
    with pytest.raises(sordino.InputError, match="wait"):
        sordino.Client(small, key=key, wait=3)


@pytest.mark.skipif(os.name != "posix", reason="a signal is sent")
def test_ctrl_c_ends_the_waiting(small, key):
    with served(small, key, rate_per_address=0.01) as server:
        with pytest.raises(KeyboardInterrupt):
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            sordino.Client(server.url, key=key.reader(), wait=3600)
