"""Bad input: the right exception, with the numbers in it, and the interpreter lives on."""

import base64
import functools
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import DIM, N

import sordino


def ones(*shape):
    return np.ones(shape, np.float32)


def with_nan(rows, columns, at):
    array = ones(rows, columns)
    array[at] = np.nan
    return array


async def embedded():
    return ones(3, 4)


async def stream():
    yield ones(3, 4)


class Sparse:
    """A matrix of scipy, as far as it is one."""

    shape, toarray, __iter__ = (3, 4), lambda self: ones(3, 4), lambda self: iter([])

    def __len__(self):
        raise TypeError("sparse array length is ambiguous")


class Awaited:
    def __await__(self):
        yield


BAD_VECTORS = {
    "sparse": (Sparse(), sordino.DtypeError, r"vectors: a Sparse, expected an array of numbers: give `\.toarray\(\)` of it"),
    "sparse rows": ([Sparse(), Sparse()], sordino.DtypeError, r"row 0 is a Sparse, expected numbers: give `\.toarray\(\)`"),
    "awaitable": (Awaited(), sordino.DtypeError, "a Awaited, expected an array of numbers: `await` it first"),
    "async generator": (stream(), sordino.DtypeError, "a async_generator, .*async for one in it"),
    "an object": (object(), sordino.DtypeError, "vectors: a object, expected an array of numbers$"),
    "no rows": (ones(0, DIM), sordino.EmptyError, "no vectors"),
    "no columns": (ones(5, 0), sordino.ShapeError, r"\(5, 0\)"),
    "one dimension": (ones(5), sordino.ShapeError, r"shape \(5,\): expected \(n, dim\)"),
    "three": (ones(5, 5, 5), sordino.ShapeError, r"\(5, 5, 5\)"),
    "a number": (3, sordino.ShapeError, r"\(\)"),
    "text": (np.array([["a", "b"]]), sordino.DtypeError, "<U1"),
    "complex": (np.ones((3, 3), complex), sordino.DtypeError, "complex128"),
    "truth": (np.ones((3, 3), bool), sordino.DtypeError, "bool"),
    "objects": (np.array([[None, 1]], dtype=object), sordino.DtypeError, "row 0 has a missing value"),
    "ragged": ([[1.0, 2.0], [1.0]], sordino.InputError, "vectors"),
    "NaN": (with_nan(5, 7, (2, 4)), sordino.NotFiniteError, "row 2, column 4"),
    "NaN far down": (with_nan(70_000, 32, (65_432, 1)), sordino.NotFiniteError, "row 65432, column 1"),
    "infinite": (np.full((2, 3), np.inf), sordino.NotFiniteError, "row 0, column 0"),
    "too large for float32": (np.full((2, 3), 1e300), sordino.NotFiniteError, "row 0, column 0"),
    "zero": (np.vstack([ones(3, 4), np.zeros((1, 4))]), sordino.ZeroVectorError, "row 3"),
    "wide": (ones(2, 8193), sordino.TooLargeError, "8193"),
}


@pytest.mark.parametrize("name", BAD_VECTORS)
def test_vectors_that_are_no_index(tmp_path, key, name):
    vectors, error, match = BAD_VECTORS[name]
    with pytest.raises(error, match=match):
        sordino.build(tmp_path / "index", vectors, key=key, k=1)
    with pytest.raises(sordino.NoIndexError):
        sordino.open(tmp_path / "index", key=key)
    # The folder can be used all the same.
    sordino.build(tmp_path / "index", np.eye(4), key=key, k=1)


def test_a_coroutine_is_no_array(tmp_path, key, client):
    for call in (lambda made: sordino.build(tmp_path / "index", made, key=key), client.search):
        made = embedded()
        with pytest.raises(sordino.DtypeError, match="a coroutine, expected an array of numbers: `await` it first"):
            call(made)
        made.close()


@pytest.mark.parametrize("k", [0, 1025, -1, 1.5, "many", None])
def test_a_number_of_results_that_cannot_be_had(tmp_path, key, client, vectors, k):
    with pytest.raises(sordino.InputError, match=str(k)):
        sordino.build(tmp_path / "index", vectors, key=key, k=k)
    if k is not None:
        with pytest.raises(sordino.InputError, match=str(k)):
            client.search(vectors[0], k=k)


def test_more_results_than_the_index_was_built_for(client, vectors):
    with pytest.raises(sordino.KError, match="k = 11: expected 1 to 10"):
        client.search(vectors[0], k=11)


BAD_QUERIES = {
    "another dimension": (ones(2, DIM + 1), sordino.DimensionError, f"{DIM + 1} dimensions: expected {DIM}"),
    "one of another": (ones(DIM - 1), sordino.DimensionError, f"{DIM - 1} dimensions"),
    "NaN": (with_nan(5, DIM, (3, 2)), sordino.NotFiniteError, "row 3, column 2"),
    "zero": (np.vstack([ones(1, DIM), np.zeros((1, DIM))]), sordino.ZeroVectorError, "row 1"),
    "three": (ones(1, 1, DIM), sordino.ShapeError, rf"\(1, 1, {DIM}\)"),
    "text": (["x"] * DIM, sordino.DtypeError, "<U1"),
    "nothing": ([], sordino.ShapeError, r"\(1, 0\)"),
    "none": (None, sordino.DtypeError, "a NoneType, expected an array"),
}


@pytest.mark.parametrize("name", BAD_QUERIES)
def test_queries_that_cannot_be_searched_for(client, name):
    queries, error, match = BAD_QUERIES[name]
    before = client.stats()
    with pytest.raises(error, match=match):
        client.search(queries)
    assert client.stats() == before, "nothing was sent"


BAD_IDS = {
    "awaitable": (Awaited(), sordino.DtypeError, "ids: a Awaited, expected a list of integers.*`await` it first"),
    "too few": ([1, 2], sordino.IdsError, "2 record ids for 4 vectors"),
    "too many": ([1, 2, 3, 4, 5], sordino.IdsError, "5 record ids for 4 vectors"),
    "twice": ([1, 2, 3, 2], sordino.IdsError, "record 2 is given twice"),
    "negative": ([1, 2, 3, -4], sordino.IdsError, "id -4 at 3"),
    "too large": ([1, 2, 2**64, 4], sordino.IdsError, "id 18446744073709551616 at 2"),
    "truth values": ([True, 2**63, 3, 4], sordino.DtypeError, "expected integers"),
    "fractions": ([1.0, 2.0, 3.0, 4.0], sordino.DtypeError, "float64"),
    "text and numbers": (["a", 1, "c", "d"], sordino.DtypeError, "id 1 is a int"),
    "a matrix": (np.ones((2, 2), int), sordino.ShapeError, r"\(2, 2\)"),
}


@pytest.mark.parametrize("name", BAD_IDS)
def test_ids_that_are_none(tmp_path, key, name):
    ids, error, match = BAD_IDS[name]
    vectors = np.eye(4)
    with pytest.raises(error, match=match):
        sordino.build(tmp_path / "index", vectors, key=key, ids=ids, k=1)
    with pytest.raises(error):
        sordino.build(tmp_path / "index", iter([vectors[:2], vectors[2:]]), key=key, ids=ids, k=1)
    index = sordino.build(tmp_path / "index", vectors, key=key, k=1)
    with pytest.raises(error, match=match):
        index.add(vectors, ids=ids)
    assert len(index) == 4 and index.info()["version"] == 1


def test_payloads_that_cannot_be_stored(tmp_path, key):
    vectors = np.eye(3)
    for payloads, match in [
        (["a", "b"], "2 payloads for 3 vectors"),
        (["a", "b", object()], "payload 2 is or has a object"),
        (["a", "b", {1: 2}], "payload 2 has a dict with the name 1"),
        (["a", "b", ["\ud800"]], "payload 2 has a text that is no Unicode"),
        (iter("abcd"), "more than 3 payloads"),
        ([b"x" * 2_000_000] * 3, "2000000 bytes"),
    ]:
        with pytest.raises(sordino.PayloadError, match=match):
            sordino.build(tmp_path / "index", vectors, key=key, k=1, payloads=payloads)
    index = sordino.build(tmp_path / "index", vectors, key=key, k=1)
    with pytest.raises(sordino.PayloadError, match="1 payloads"):
        index.add(vectors, payloads=["a"])


class Stream:
    """An iterable that is neither an array nor an iterator."""

    def __iter__(self):
        return iter([np.eye(4)])


def test_changes_that_cannot_be_made(tmp_path, key):
    index = sordino.build(tmp_path / "index", np.eye(4), key=key, k=1)
    cases = [
        (lambda: index.add(np.eye(5)), sordino.DimensionError, "5 dimensions: expected 4"),
        (lambda: index.add(np.zeros((1, 4))), sordino.ZeroVectorError, "row 0"),
        (lambda: index.add(np.empty((0, 4))), sordino.EmptyError, "no vectors"),
        (lambda: index.add(iter([])), sordino.InputError, "no vectors"),
        (lambda: index.add(Stream()), sordino.DtypeError, r"a Stream.*`iter\(\)`"),
        (lambda: index.add(functools.partial(np.eye, 4)), sordino.DtypeError, "a function.*call it"),
        (lambda: index.delete([9]), sordino.UnknownIdError, "no record 9"),
        (lambda: index.delete([0, 0]), sordino.IdsError, "record 0 is given twice"),
        (lambda: index.delete([0, 1, 2, 3]), sordino.NothingLeftError, "all 4 records"),
        (lambda: index.delete([0.5]), sordino.DtypeError, "float64"),
    ]
    for change, error, match in cases:
        with pytest.raises(error, match=match):
            change()
    assert index.update([], []) == index.delete([]) == 1
    assert len(index) == 4 and index.info()["version"] == 1
    index.add(np.eye(4)[:1], ids=[2**64 - 1])
    with pytest.raises(sordino.IdsError, match="18446744073709551615"):
        index.add(np.eye(4)[:1])
    far = sordino.build(tmp_path / "far", np.eye(4), key=key, k=1, metric="euclidean")
    far.add(100 * np.eye(4))
    with pytest.raises(sordino.NormError, match="row 0"):
        far.add(np.full((1, 4), 1e30))


def test_settings_that_do_not_exist(tmp_path, key):
    for settings in [
        {"mode": "hidden"},
        {"metric": "manhattan"},
        {"packing": 5},
        {"mode": "sealed", "routing": "guessed"},
        {"mode": "sealed", "recall": 1.5},
        {"queries": -1},
    ]:
        with pytest.raises(sordino.InputError, match=str(list(settings.values())[-1]).split(".")[0]):
            sordino.build(tmp_path / "index", np.eye(8), key=key, k=1, **settings)
    # Settings that the mode or the metric would ignore.
    for settings, match in [
        ({"mode": "sealed", "packing": 4}, "packing = 4"), ({"mode": "local", "packing": 4}, "packing = 4"), ({"routing": "encrypted"}, "routing = 'encrypted'"),
        ({"mode": "routed", "routing": "encrypted"}, "routing"),
    ]:
        with pytest.raises(sordino.InputError, match=match):
            sordino.build(tmp_path / "index", np.eye(8), key=key, k=1, **settings)
    with pytest.raises(sordino.InputError, match="progress"):
        sordino.build(tmp_path / "index", np.eye(8), key=key, k=1, progress=7)
    for wrong in [{"n": 0, "dim": 8}, {"n": 8, "dim": 8, "k": 9}, {"n": 8, "dim": 5000}, {"n": -1, "dim": 1}]:
        with pytest.raises(sordino.InputError):
            sordino.plan(**wrong)


def test_keys_of_another_kind_or_owner(tmp_path, index, key, vectors):
    other = sordino.keygen()
    for wrong in [key.reader(), key.public(), b"key", None]:
        with pytest.raises(sordino.KeyKindError, match="expected an OwnerKey"):
            sordino.build(tmp_path / "index", vectors, key=wrong)
    for wrong in [key.public(), "key", None]:
        with pytest.raises(sordino.KeyKindError, match="expected an OwnerKey, a ReaderKey or a WriterKey"):
            sordino.Client(index, key=wrong)
    for wrong in ["owner.key", tmp_path, b"key"]:
        for use in (sordino.Client, sordino.open):
            with pytest.raises(sordino.KeyKindError, match=r"expected an OwnerKey, .*OwnerKey\.load\(path\)"):
                use(index.path, key=wrong)
    with pytest.raises(sordino.KeyKindError, match="a server needs no secret"):
        sordino.serve(index, listen="127.0.0.1:0", public_key=key, plaintext=True, anyone=True)
    with pytest.raises(sordino.SignatureError):
        sordino.open(index.path, key=other)
    with pytest.raises(sordino.SignatureError):
        sordino.Client(index, key=other.reader())
    with pytest.raises(sordino.SignatureError):
        sordino.serve(index, listen="127.0.0.1:0", public_key=other.public(), plaintext=True, anyone=True)
    reading = sordino.open(index.path, key=key.reader())
    assert len(reading) == N
    with pytest.raises(sordino.KeyKindError, match="a change needs the owner's key"):
        reading.add(vectors[:1])
    with pytest.raises(sordino.KeyKindError):
        len(sordino.open(index.path, key=key.public()))
    with pytest.raises(sordino.KeyKindError, match="no key"):
        sordino.open(index.path).info()


def test_places_that_hold_something_else(tmp_path, index, key, vectors):
    with pytest.raises(sordino.ExistsError, match="holds an index already"):
        sordino.build(index.path, vectors, key=key)
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(sordino.ExistsError, match="thesis.tex"):
        sordino.build(tmp_path, vectors, key=key)
    for call in [
        lambda: sordino.open(tmp_path),
        lambda: sordino.open(tmp_path, key=key),
        lambda: sordino.Client(tmp_path / "nowhere", key=key),
    ]:
        with pytest.raises(sordino.NoIndexError, match="no index in"):
            call()
    with pytest.raises(sordino.FileError, match="No such file"):
        sordino.build(tmp_path / "index", tmp_path / "none.npy", key=key)
    (tmp_path / "text.npy").write_text("no array")
    with pytest.raises(sordino.FormatError):
        sordino.build(tmp_path / "index", tmp_path / "text.npy", key=key)


def test_a_damaged_index_is_not_searched(tmp_path, key, vectors):
    index = sordino.build(tmp_path / "index", vectors, key=key)
    part = max((tmp_path / "index" / "parts").iterdir(), key=lambda path: path.stat().st_size)
    damaged = bytearray(part.read_bytes())
    damaged[1000] ^= 1
    part.write_bytes(damaged)
    for call in [index.verify, lambda: sordino.Client(index, key=key)]:
        with pytest.raises(sordino.DigestError, match="digest"):
            call()


def test_servers_that_are_not_there_or_say_something_else(key):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        gone = f"http://127.0.0.1:{silent.getsockname()[1]}"

        def talk():
            # Each connection gets the same: a client that tries again must not wait for silence.
            while True:
                try:
                    connection, _ = silent.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

        thread = threading.Thread(target=talk)
        thread.start()
        with pytest.raises(sordino.NetworkError):
            sordino.Client(gone, key=key)
        silent.shutdown(socket.SHUT_RDWR)
        thread.join()
    with pytest.raises(sordino.UnreachableError, match="127.0.0.1"):
        sordino.Client(gone, key=key)
    with pytest.raises(sordino.AddressError):
        sordino.Client("ftp://127.0.0.1", key=key)
    with pytest.raises(sordino.CertificateError):
        sordino.Client("https://127.0.0.1:1", key=key, roots=b"no certificate")


def test_an_address_without_its_beginning_is_named(tmp_path, index, key, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for given in [{"wait": 5}, {"client_key": sordino.client_keygen(), "cache": "cache"}, {}]:
        with pytest.raises((sordino.InputError, sordino.NoIndexError), match="begins with https:// or http://") as caught:
            sordino.Client("localhost:7700", key=key, **given)
        assert "localhost:7700" in str(caught.value) and ", ".join(given) in str(caught.value)
    with pytest.raises(sordino.InputError, match="wait: for a server"):
        sordino.Client(index, key=key, wait=5)


def test_paths_of_another_kind_are_named(tmp_path, key):
    (tmp_path / "file").write_text("x")
    with pytest.raises(sordino.InputError, match="expected a folder, and this is a file"):
        sordino.Client("http://127.0.0.1:9", key=key, cache=tmp_path / "file")
    with pytest.raises(sordino.InputError, match="addresses are not read here: download"):
        sordino.build(tmp_path / "index", "s3://bucket/rows.parquet", key=key)


PEM = "# a comment\n-----BEGIN PRIVATE KEY-----\nc2VjcmV0IHNlY3JldA==\n-----END PRIVATE KEY-----\n"
TOKEN = base64.urlsafe_b64encode(b"\xd2\x84secret" * 20).decode()


@pytest.mark.parametrize("text", [PEM, PEM * 40, TOKEN, TOKEN.rstrip("=") + "\n"], ids=["pem", "long pem", "token", "token and its line's end"])
def test_a_text_that_files_hold_is_no_path_and_not_shown(index, key, text):
    listen = {"listen": "127.0.0.1:0", "public_key": key.public()}
    calls = {
        "roots": lambda: sordino.Client("https://127.0.0.1:1", key=key, roots=text),
        "token": lambda: sordino.Client("https://127.0.0.1:1", key=key, client_key=sordino.client_keygen(), token=text),
        "cert": lambda: sordino.serve(index, cert=text, cert_key=b"x", anyone=True, **listen),
        "cert_key": lambda: sordino.serve(index, cert=b"x", cert_key=text, anyone=True, **listen),
        "shard_roots": lambda: sordino.gather(["https://127.0.0.1:1"], shard_roots=text, plaintext=True, anyone=True, **listen),
    }
    for name, call in calls.items():
        with pytest.raises(sordino.InputError, match=f"{name} is a text of {len(text)} characters that a file would hold: expected the file's path, or bytes") as caught:
            call()
        assert len(str(caught.value)) < 200


def test_numbers_as_texts_are_called_texts(client, vectors):
    with pytest.raises(sordino.InputError, match="threshold = '0.5': expected a number, and found a str"):
        client.search(vectors[0], threshold="0.5")
    assert client.search(vectors[0], threshold=-0.5).ids[0, 0] == 0


def test_places_that_cannot_be_listened_on(index, key):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(sordino.ListenError, match=address):
            sordino.serve(index, listen=address, public_key=key.public(), plaintext=True, anyone=True)
    with pytest.raises(sordino.AddressError, match="nowhere"):
        sordino.serve(index, listen="nowhere", public_key=key.public(), plaintext=True, anyone=True)
    with pytest.raises(sordino.CertificateError):
        sordino.serve(index, listen="127.0.0.1:0", public_key=key.public(), cert=b"x", cert_key=b"y", anyone=True)
    with pytest.raises(sordino.InputError, match="both or neither"):
        sordino.serve(index, listen="127.0.0.1:0", public_key=key.public(), cert=b"x", anyone=True)


def test_a_closed_client_says_so(index, key, vectors):
    client = sordino.Client(index, key=key)
    client.close()
    client.close()
    for call in [lambda: client.search(vectors[0]), client.refresh, client.stats, client.pin]:
        with pytest.raises(sordino.ClosedError):
            call()


def test_what_python_raises_stops_a_build(tmp_path, key, vectors):
    def records():
        yield vectors[:10]
        raise LookupError("the disk is gone")

    with pytest.raises(LookupError, match="the disk is gone"):
        sordino.build(tmp_path / "index", records(), key=key)
    steps = []

    def progress(step, read):
        steps.append((step, read))
        if len(steps) == 2:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        sordino.build(tmp_path / "index", vectors, key=key, progress=progress)
    assert steps[0] == ("rotating", N) and len(steps) == 2
    assert sordino.build(tmp_path / "index", vectors, key=key).verify()["records"] == N


@pytest.mark.skipif(os.name != "posix", reason="a signal is sent")
def test_ctrl_c_stops_a_long_build(tmp_path):
    code = """
import sys, numpy as np, sordino
def records():
    print("begun", flush=True)
    while True:
        yield np.ones((1000, 64), np.float32)
try:
    sordino.build(sys.argv[1], records(), key=sordino.keygen())
except KeyboardInterrupt:
    sys.exit(7)
"""
    process = subprocess.Popen([sys.executable, "-c", code, tmp_path / "index"], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"begun\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=120) == 7
    process.stdout.close()
    assert not (tmp_path / "index" / "CURRENT").exists()


def test_other_threads_go_on_while_an_index_is_built(tmp_path, key):
    # The main thread counts while the other builds: it could not if the lock were held.
    vectors = np.random.default_rng(3).standard_normal((60_000, 64), dtype=np.float32)
    done = threading.Event()

    def build():
        sordino.build(tmp_path / "index", vectors, key=key)
        done.set()

    thread = threading.Thread(target=build)
    thread.start()
    counted = 0
    while not done.is_set():
        counted += 1
        time.sleep(0)
    thread.join()
    assert counted > 1000


def test_who_may_ask_and_tls_are_said_or_given_up(index, key):
    public, alice = key.public(), sordino.client_keygen().public()
    for how, match in [
        ({}, "nobody may ask"), ({"anyone": True}, "plaintext=True"), ({"plaintext": True}, "nobody may ask"), ({"plaintext": 1, "anyone": True}, "plaintext = 1"),
        ({"plaintext": True, "anyone": True, "clients": [alice]}, "expected one of them"), ({"plaintext": True, "cert": b"x", "cert_key": b"y", "anyone": True}, "expected one of them"),
        ({"plaintext": True, "anyone": "yes"}, "anyone = 'yes'"),
    ]:
        for call in [lambda how=how: sordino.serve(index, public_key=public, listen="127.0.0.1:0", **how), lambda how=how: sordino.gather(["http://127.0.0.1:9"], public_key=public, **how)]:
            with pytest.raises(sordino.InputError, match=match):
                call()
