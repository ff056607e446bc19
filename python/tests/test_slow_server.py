"""A server that takes its time: Ctrl-C ends the call, and other threads go on."""

import os
import signal
import threading

import pytest
from proxy import Proxy

import sordino


@pytest.fixture(scope="module")
def served(tmp_path_factory, key, vectors):
    index = sordino.build(tmp_path_factory.mktemp("slow") / "index", vectors, key=key)
    with sordino.serve(index, listen="127.0.0.1:0", public_key=key.public(), plaintext=True, anyone=True) as server:
        yield Proxy(server.url)


CALLS = {
    "search": lambda client, vectors: client.search(vectors[0]),
    "batch": lambda client, vectors: client.search(vectors[:20]),
    "refresh": lambda client, vectors: client.refresh(),
}


def interrupt_when_waiting(proxy):
    def interrupt():
        proxy.waiting.wait()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()


@pytest.mark.skipif(os.name != "posix", reason="a signal is sent")
@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_ends_a_call_that_is_not_answered(served, key, vectors, call):
    with sordino.Client(served.url, key=key.reader()) as client:
        served.hold()
        interrupt_when_waiting(served)
        # Without the interrupt, the call would end by its deadline, with another exception.
        with pytest.raises(KeyboardInterrupt):
            CALLS[call](client, vectors)
        served.go()
        assert client.search(vectors[7], k=1).ids[0, 0] == 7


@pytest.mark.skipif(os.name != "posix", reason="a signal is sent")
def test_ctrl_c_ends_a_connection_that_is_not_answered(served, key):
    served.hold()
    interrupt_when_waiting(served)
    with pytest.raises(KeyboardInterrupt):
        sordino.Client(served.url, key=key)
    served.go()


def test_a_thread_that_waits_for_a_refresh_holds_up_no_other(served, key, vectors):
    with sordino.Client(served.url, key=key.reader()) as client:
        served.hold()
        ended = []
        refreshing = threading.Thread(target=lambda: ended.append(client.refresh()))
        refreshing.start()
        served.waiting.wait()
        # These threads wait for the one that refreshes, and must not keep Python's lock meanwhile. Otherwise this thread could not let the
        # reply through.
        others = [threading.Thread(target=call) for call in (client.stats, client.pin, lambda: client.search(vectors[0]))]
        for thread in others:
            thread.start()
        others[0].join(0.2)
        served.go()
        for thread in [refreshing, *others]:
            thread.join()
        assert ended == [False]
