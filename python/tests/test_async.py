"""Clients of asyncio: many searches at a time, and a loop that goes on."""

import asyncio
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

import sordino


def test_hundreds_of_searches_do_not_block_the_loop(index, key, vectors):
    turns = []

    async def beat(stop):
        while not stop.is_set():
            turns.append(threading.get_ident())
            await asyncio.sleep(0)

    async def main():
        stop = asyncio.Event()
        async with sordino.AsyncClient(index, key=key.reader(), threads=4) as client:
            beating = asyncio.create_task(beat(stop))
            found = await asyncio.gather(*(client.search(vectors[at], k=1) for at in range(300)))
            stop.set()
            await beating
            assert (await client.stats())["searches"] == 300 and len(await client.pin()) == 56
            assert await client.attributes([0]) == [{}] and not await client.refresh()
        return [int(one.ids[0, 0]) for one in found]

    assert asyncio.run(main()) == list(range(300))
    assert len(turns) > 300


def test_a_server_and_its_payloads(tmp_path, key):
    index = sordino.build(tmp_path / "index", np.eye(4), key=key, payloads=["a", "b", "c", "d"], k=1)

    async def main(url):
        client = sordino.AsyncClient(url, key=key.reader(), wait=5)
        try:
            # The first search connects, and the others wait for the connection.
            found = await asyncio.gather(*(client.search(row) for row in np.eye(4)))
            assert [one.payloads[0][0] for one in found] == [b"a", b"b", b"c", b"d"]
            assert await client.payloads([3, 9]) == [b"d", None]
        finally:
            await client.close()
        await client.close()
        for call in (client.open, client.stats, lambda: client.search(np.eye(4))):
            with pytest.raises(sordino.ClosedError):
                await call()
        assert "closed" in repr(client)

    with sordino.serve(index, listen="127.0.0.1:0", public_key=key.public(), plaintext=True, anyone=True) as server:
        asyncio.run(main(server.url))


def test_a_cancelled_call_takes_nothing_from_the_others(index, key, vectors):
    async def main():
        client = sordino.AsyncClient(index, key=key.reader(), threads=2)
        tasks = [asyncio.create_task(client.search(vectors[at], k=1)) for at in range(20)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(found[0], asyncio.CancelledError)
        assert [int(one.ids[0, 0]) for one in found[1:]] == list(range(1, 20))
        # Searches that wait for their turn learn that the client has closed, and none hangs.
        tasks = [asyncio.create_task(client.search(vectors[:50], k=1)) for _ in range(20)]
        await asyncio.sleep(0)
        await client.close()
        late = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)
        assert all(isinstance(one, (sordino.Result, sordino.ClosedError)) for one in late)
        assert any(isinstance(one, sordino.ClosedError) for one in late)

    asyncio.run(main())


LATE = """
import asyncio, socket, sys, threading, sordino

held = socket.create_server(("127.0.0.1", 0))
url = f"http://127.0.0.1:{held.getsockname()[1]}"

async def main():
    client = sordino.AsyncClient(url, key=sordino.keygen().reader(), threads=2, wait=3600)
    calls = [asyncio.create_task(client.search([1.0, 0.0])) for _ in range(4)]
    # The server takes the connection and never answers.
    await asyncio.to_thread(held.accept)
    calls[0].cancel()
    if sys.argv[1] == "close":
        await client.close()
        await client.close()
        print([type(one).__name__ for one in await asyncio.gather(*calls, return_exceptions=True)])
    else:
        for call in calls:
            call.cancel()

asyncio.run(main())
print("ended")
"""


@pytest.mark.parametrize("how, said", [("close", "['CancelledError', 'ClosedError', 'ClosedError', 'ClosedError']\nended\n"), ("exit", "ended\n")])
def test_neither_close_nor_exit_waits_for_a_server_that_does_not_answer(how, said):
    # A client that was waited for would wait for an hour.
    done = subprocess.run([sys.executable, "-c", LATE, how], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, said)


def test_a_client_that_cannot_connect_tries_again_at_the_next_call(tmp_path, key):
    async def main():
        client = sordino.AsyncClient(tmp_path / "index", key=key.reader())
        for _ in range(2):
            with pytest.raises(sordino.NoIndexError):
                await client.open()
        sordino.build(tmp_path / "index", np.eye(2), key=key, k=1)
        async with client:
            assert (await client.search([1, 0])).ids.tolist() == [[0]]

    asyncio.run(main())
    with pytest.raises(sordino.InputError, match="threads"):
        sordino.AsyncClient(tmp_path / "index", key=key, threads=1.5)
    with pytest.raises(TypeError, match="treads"):
        asyncio.run(sordino.AsyncClient(tmp_path / "index", key=key, treads=4).open())


def test_clients_wait_for_a_server_that_is_not_there_yet(index, key, vectors):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    for wait in ({}, {"wait": 0}):
        with pytest.raises(sordino.UnreachableError):
            sordino.Client(url, key=key.reader(), **wait)
    servers = []
    started = threading.Timer(
        0.3,
        lambda: servers.append(
            sordino.serve(index, listen=f"127.0.0.1:{port}", public_key=key.public(), plaintext=True, anyone=True)
        ),
    )
    started.start()
    try:
        with sordino.Client(url, key=key.reader(), wait=60) as client:
            assert client.search(vectors[3], k=1).ids.tolist() == [[3]]
    finally:
        started.join()
        for server in servers:
            server.stop()
