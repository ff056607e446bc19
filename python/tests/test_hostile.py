"""Wrong arguments of every kind: an exception with the numbers in it, and never a panic or an abort."""

import asyncio
import copy
import datetime
import enum
import gc
import os
import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from conftest import DIM, N

import sordino


def no_bug(call, *classes):
    """Calls what must be refused with one of these classes."""
    with pytest.raises(classes) as raised:
        call()
    assert not isinstance(raised.value, sordino.InternalError), raised.value
    return str(raised.value)


DTYPES = ["bool", "object", "complex64", "U3", "S3", "datetime64[s]", "V4"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_no_number_is_refused(tmp_path, client, key, dtype):
    rows = np.full((3, DIM), "x", dtype) if dtype == "object" else np.zeros((3, DIM), dtype)
    for call in [
        lambda: client.search(rows),
        lambda: sordino.build(tmp_path / "index", rows, key=key),
        lambda: sordino.build(tmp_path / "index", iter([rows]), key=key),
        # Objects that are integers are ids.
        lambda: client.payloads(np.full(3, 0.5, dtype) if dtype == "object" else np.zeros(3, dtype)),
    ]:
        # Texts are ids, though of another kind than this index has.
        no_bug(call, sordino.DtypeError, sordino.IdsError)
    assert not (tmp_path / "index" / "CURRENT").exists()


@pytest.mark.parametrize("dtype", ["f2", ">f4", ">f8", "i1", ">i2", "longdouble"])
def test_any_number_is_searched_for(client, vectors, dtype):
    rows = (vectors[:3] * 20).astype(dtype)
    assert client.search(rows, k=1).ids[:, 0].tolist() == [0, 1, 2]


def test_any_memory_order_is_searched_for(client, vectors):
    wide = np.zeros((6, DIM * 2), np.float32)
    wide[::2, ::2] = vectors[:3]
    backwards = np.ascontiguousarray(vectors[:3, ::-1])[:, ::-1]
    read_only = vectors[:3].copy()
    read_only.flags.writeable = False
    unaligned = np.frombuffer(b"x" + vectors[:3].tobytes(), np.float32, offset=1).reshape(3, DIM)
    for rows in [wide[::2, ::2], backwards, read_only, unaligned, np.asfortranarray(vectors[:3]), vectors[:3].tolist()]:
        assert client.search(rows, k=1).ids[:, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "shape", [(), (0,), (DIM + 1,), (2, DIM - 1), (1, 2, DIM), (2, 0), (0, 0), (0, DIM + 1)]
)
def test_shapes_that_no_search_has(client, shape):
    text = no_bug(lambda: client.search(np.ones(shape)), sordino.ShapeError, sordino.DimensionError)
    assert any(str(number) in text for number in shape) or "()" in text


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39])
def test_numbers_that_are_not_finite(tmp_path, client, key, vectors, bad):
    rows = vectors[:4].astype(np.float64)
    rows[2, 5] = bad
    assert "row 2" in no_bug(lambda: client.search(rows), sordino.NotFiniteError)
    text = no_bug(lambda: sordino.build(tmp_path / "i", iter([rows[:1], rows]), key=key), sordino.NotFiniteError)
    assert "row 3" in text


@pytest.mark.parametrize("k", [0, -1, 11, 2**31, 2**32 + 1, 2**63, 2**64, -(2**70), 1.0, "3", None.__class__, [1]])
def test_k_that_no_search_has(client, vectors, k):
    no_bug(lambda: client.search(vectors[0], k=k), sordino.KError, sordino.InputError)


@pytest.mark.parametrize("k", [0, -1, 1025, 2**32, 2**64, 1.5, "3", None])
def test_k_that_no_index_has(tmp_path, key, vectors, k):
    no_bug(lambda: sordino.build(tmp_path / "i", vectors, key=key, k=k), sordino.KError, sordino.InputError)


@pytest.mark.parametrize(
    "settings",
    [
        {"recall": float("nan"), "mode": "sealed"},
        {"recall": 2.0, "mode": "sealed"},
        {"recall": -1, "mode": "sealed"},
        {"recall": "high", "mode": "sealed"},
        {"queries": -1},
        {"queries": 2**64},
        {"packing": 5},
        {"packing": 300},
        {"packing": "4"},
        {"mode": None},
        {"mode": 3},
        {"metric": None},
        {"metric": "\x00"},
        {"routing": "secret", "mode": "sealed"},
        {"progress": 3},
    ],
)
def test_settings_that_no_index_has(tmp_path, key, vectors, settings):
    no_bug(lambda: sordino.build(tmp_path / "i", vectors, key=key, **settings), sordino.Error, TypeError, ValueError)
    assert not (tmp_path / "i" / "CURRENT").exists()


@pytest.mark.parametrize(
    "ids", [[-1, 0], [0, 0], [0, 2**64], [0.5, 1.0], [[0, 1]], [None, 1], [0], [0, 1, 2], [True, False], b"ab"]
)
def test_ids_that_no_record_has(tmp_path, key, vectors, ids):
    no_bug(lambda: sordino.build(tmp_path / "i", vectors[:2], key=key, ids=ids), sordino.Error)
    index = sordino.build(tmp_path / "there", vectors[:2], key=key)
    no_bug(lambda: index.add(vectors[:2], ids=ids), sordino.Error)
    if ids not in ([0], [0, 0]):
        no_bug(lambda: index.delete(ids), sordino.Error)
    assert index.info()["version"] == 1


def test_iterators_of_anything(tmp_path, key, vectors):
    def of(*items):
        return lambda: sordino.build(tmp_path / "i", iter(items), key=key)

    assert "25" in no_bug(of(vectors[:5], np.ones((2, 25))), sordino.ShapeError, sordino.DimensionError)
    no_bug(of(vectors[0]), sordino.ShapeError)
    no_bug(of("text"), sordino.DtypeError)
    no_bug(of(None), sordino.DtypeError)
    no_bug(of(), sordino.Error)
    no_bug(of(vectors[:0], vectors[:0]), sordino.Error)

    def stops():
        yield vectors[:5]
        raise StopIteration

    no_bug(lambda: sordino.build(tmp_path / "i", stops(), key=key), RuntimeError)

    def exits():
        yield vectors[:5]
        sys.exit(3)

    no_bug(lambda: sordino.build(tmp_path / "i", exits(), key=key), SystemExit)

    def again():
        # A build within a build.
        sordino.build(tmp_path / "inner", vectors[:5], key=key)
        yield vectors[:5]

    assert len(sordino.build(tmp_path / "outer", again(), key=key)) == 5
    no_bug(lambda: sordino.build(tmp_path / "i", vectors, key=key, payloads=[object()] * N), sordino.PayloadError)
    no_bug(lambda: sordino.build(tmp_path / "i", vectors, key=key, payloads=3), sordino.Error, TypeError)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    no_bug(lambda: sordino.build(tmp_path / "i", vectors, key=key, payloads=[deep] * N), sordino.PayloadError)
    no_bug(lambda: sordino.build(tmp_path / "i", vectors, key=key, payloads=[b"x" * 2**21] + [b""] * (N - 1)), sordino.PayloadError)


def test_columns_of_data_frames_are_taken(tmp_path, key, vectors):
    class Column:
        """What pandas and its like have in common."""

        def __init__(self, values):
            self.values = values

        def __len__(self):
            return len(self.values)

        def __iter__(self):
            return iter(self.values)

        def __array__(self, dtype=None, copy=None):
            return np.array(self.values, dtype)

    texts = Column(np.array([f"row {n}" for n in range(20)], object))
    index = sordino.build(tmp_path / "index", vectors[:20], key=key, ids=texts, payloads=texts)
    with sordino.Client(index, key=key) as client:
        result = client.search(vectors[3], k=1)
    assert result.ids[0, 0] == "row 3" and result.payloads == [[b"row 3"]]
    index.delete(Column(texts.values[:5]))
    assert len(index) == 15


def test_what_looks_like_numbers_texts_or_payloads_and_is_not(tmp_path, client, key, vectors):
    masked = np.ma.masked_array(vectors[:4], mask=False)
    assert client.search(masked, k=1).ids[:, 0].tolist() == [0, 1, 2, 3]
    masked[2, 5] = np.ma.masked
    assert "1 numbers are masked" in no_bug(lambda: client.search(masked), sordino.InputError)

    def of(**how):
        return lambda: sordino.build(tmp_path / "i", vectors[:3], key=key, **how)

    for payloads in ["abc", b"abc", 3, ["a", "b", "\ud800"], {0: "a", 1: "b", 2: "c"}]:
        no_bug(of(payloads=payloads), sordino.PayloadError)
    assert "id 1" in no_bug(of(ids=["a", "\udfff", "c"]), sordino.IdsError)
    no_bug(of(ids="abc"), sordino.DtypeError)
    for settings in [{"packing": -1}, {"packing": "4"}, {"mode": 3}, {"metric": None}, {"recall": "high"}]:
        (name, value) = next(iter(settings.items()))
        assert repr(value) in no_bug(of(metric="euclidean", **settings) if name != "metric" else of(**settings), sordino.InputError)
    no_bug(lambda: sordino.Client("localhost:7700", key=key), sordino.NoIndexError)
    no_bug(lambda: sordino.Client("http://127.0.0.1:1", key=key, client_key=key), sordino.KeyKindError)
    alice = sordino.client_keygen()
    no_bug(lambda: sordino.Client("http://127.0.0.1:1", key=key, token=b"t"), sordino.InputError)
    no_bug(lambda: sordino.Client("http://127.0.0.1:1", key=key, client_key=alice, token=3), sordino.InputError)
    no_bug(lambda: sordino.Client("http://127.0.0.1:1", key=key, client_key=alice, token="none"), sordino.MissingFileError)
    no_bug(lambda: sordino.Client("http://127.0.0.1:1", key=key, client_key=alice, token=b"\xd2\x84"), sordino.UnreachableError)
    no_bug(lambda: sordino.Client("http://127.0.0.1:1", key=key, client_key=alice, token=b"t"), sordino.FormatError)
    no_bug(lambda: sordino.Client("https://127.0.0.1:1", key=key, roots="/none.pem"), sordino.MissingFileError)


@pytest.mark.parametrize(
    "settings",
    [
        {"batch": -1}, {"batch": 2**64}, {"batch": "many"}, {"rate": "fast"}, {"rate": -1.0}, {"rate": float("nan")},
        {"max_connections": 1.5}, {"listen": 7700}, {"metrics": 9}, {"clients": 3}, {"clients": [3]},
        {"clients": [sordino.client_keygen()]}, {"clients": sordino.client_keygen().public()},
        {"issuers": []}, {"audience": "a"}, {"issuers": [], "audience": ""}, {"issuers": [], "audience": "a" * 256},
        {"issuers": 3, "audience": "a"}, {"issuers": [sordino.client_keygen().public()], "audience": "a"}, {"issuers": [], "audience": 3}, {"issuers": [], "audience": "\ud800"},
        {"cert": "/none.pem", "cert_key": "/none.pem"}, {"cert": 3, "cert_key": 4},
    ],
)
def test_settings_that_no_server_has(index, key, settings):
    how = {"listen": "127.0.0.1:0", "public_key": key.public(), **settings}
    no_bug(lambda: sordino.serve(index, **how), sordino.Error)


def test_keys_and_places_that_are_something_else(tmp_path, index, key, vectors):
    for wrong in [None, 3, "key", b"x" * 32, key.public(), sordino.client_keygen()]:
        no_bug(lambda wrong=wrong: sordino.Client(index, key=wrong), sordino.KeyKindError)
        no_bug(lambda wrong=wrong: sordino.build(tmp_path / "i", vectors, key=wrong), sordino.KeyKindError)
    for place in [None, 3, b"bytes", [], "", "http://", "http://\x00", "https://[::1", "a\x00b", tmp_path / ("x" * 300)]:
        no_bug(lambda place=place: sordino.Client(place, key=key), sordino.Error, TypeError, ValueError)
    no_bug(lambda: sordino.build("", vectors, key=key), sordino.InputError)
    for path in [3, None, "a\x00b", "/proc/self/nowhere", tmp_path / ("x" * 300)]:
        no_bug(lambda path=path: sordino.build(path, vectors, key=key), sordino.Error, TypeError, ValueError)
        no_bug(lambda path=path: key.save(path), sordino.Error, TypeError, ValueError)
    no_bug(lambda: key.save(""), sordino.Error)
    for pin in [b"", b"x" * 55, "x" * 56, 5]:
        no_bug(lambda pin=pin: sordino.Client(index, key=key, pin=pin), sordino.InputError)
    no_bug(lambda: sordino.Client(index, key=key, pin=b"x" * 56), sordino.IntegrityError)
    no_bug(lambda: sordino.Client(index, key=key, cache=tmp_path), sordino.InputError)
    no_bug(lambda: sordino.Client("http://127.0.0.1:1", key=key, cache=3), sordino.Error, TypeError)


def test_collections_without_an_order_go_with_no_vectors(tmp_path, key, vectors):
    index = sordino.build(tmp_path / "index", vectors[:3], key=key, attributes={"a": [1, 2, 3]})

    def calls(**how):
        yield lambda: sordino.build(tmp_path / "i", vectors[:3], key=key, **how)
        yield lambda: index.add(vectors[:3], **how)
        yield lambda: sordino.build(tmp_path / "i", iter([sordino.Batch(vectors[:3], **how)]), key=key)

    for how, error in [
        ({"payloads": {"a", "b", "c"}}, sordino.PayloadError), ({"payloads": {"a": 1, "b": 2, "c": 3}}, sordino.PayloadError),
        ({"payloads": {"a": 1, "b": 2, "c": 3}.keys()}, sordino.PayloadError), ({"attributes": {"a": {1, 2, 3}}}, sordino.AttributesError),
    ]:
        for call in calls(**how):
            assert "expected a list" in no_bug(call, error)
    assert len(index) == 3
    # A dictionary's values have a fixed order.
    assert len(sordino.build(tmp_path / "i", vectors[:3], key=key, payloads={1: "a", 2: "b", 3: "c"}.values())) == 3


def test_vectors_that_are_nearly_some_say_how(tmp_path, key, vectors):
    class Tensor:
        def __init__(self, error):
            self.error = error

        def __array__(self, dtype=None, copy=None):
            raise self.error

    def column(rows):
        made = np.empty(len(rows), object)
        made[:] = list(rows)
        return made

    batch = sordino.Batch(vectors[:3])
    index = sordino.build(tmp_path / "index", vectors[:3], key=key)
    for rows, match in [
        (Tensor(TypeError("no such kind")), "Tensor gives no array"), (column([[1.0, 2.0], None]), "row 1 is a missing value.*ids and payloads"), (lambda: iter([vectors]), "call it"),
        ([batch], "iter"), (batch, "iter"), ({0: [1.0]}, "dict"), (np.array([[1.0, None]], object), "a missing value"), (column(["[1.0, 2.0]"] * 3), "row 0 is a str"),
    ]:
        for call in [lambda rows=rows: sordino.build(tmp_path / "i", rows, key=key), lambda rows=rows: index.add(rows)]:
            assert re.search(match, no_bug(call, sordino.DtypeError))


class FakeTensor:
    """What torch's tensors have that matters here: a device, gradients, and kinds that numpy lacks."""

    def __init__(self, array, device="cpu", grad=False, bfloat=False):
        self.array, self.device, self.grad, self.bfloat = array, device, grad, bfloat

    def detach(self):
        return FakeTensor(self.array, self.device, False, self.bfloat)

    def float(self):
        return FakeTensor(self.array, self.device, self.grad)

    def numpy(self):
        if self.device != "cpu" or self.bfloat:
            raise TypeError("Got unsupported ScalarType BFloat16")
        if self.grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        return self.array

    def __array__(self, dtype=None, copy=None):
        return self.numpy()

    def __len__(self):
        return len(self.array)


def test_tensors_and_columns_of_arrays_are_vectors(tmp_path, key, vectors):
    some = vectors[:3]
    column = np.empty(3, object)
    column[:] = list(some)
    forms = [FakeTensor(some, grad=True), FakeTensor(some, bfloat=True), [FakeTensor(row, grad=True) for row in some], column, column.tolist(), some.astype(object)]
    pa = pytest.importorskip("pyarrow")
    forms += [pa.array(some.tolist()), pa.array(some.tolist(), pa.list_(pa.float32(), some.shape[1])), pa.chunked_array([pa.array(some.tolist())])]
    for at, rows in enumerate(forms):
        index = sordino.build(tmp_path / str(at), rows, key=key)
        with sordino.Client(index, key=key) as client:
            assert client.search(rows, k=1).ids[:, 0].tolist() == [0, 1, 2]
        assert index.add(rows) == 2
    with pytest.raises(sordino.DtypeError, match=r"cuda:0.*\.cpu\(\)"):
        sordino.build(tmp_path / "cuda", FakeTensor(some, "cuda:0"), key=key)
    with pytest.raises(sordino.ShapeError, match="row 1 has 2 numbers, and row 0 has 1"):
        ragged = np.empty(2, object)
        ragged[:] = [[1.0], [1.0, 2.0]]
        sordino.build(tmp_path / "ragged", ragged, key=key)


def test_values_in_a_filter_stay_values(tmp_path, key, vectors):
    tenants = ["a", "o'hara", "a' or tenant != 'a", 'say "x"', "\\", ""]
    index = sordino.build(tmp_path / "index", vectors[:6], key=key, attributes={"tenant": tenants, "n": [1, 2, 3, 4, 5, 6], "f": [0.5, -1e300, 2, 3, 4, 5], "b": [True, False] * 3})
    with sordino.Client(index, key=key) as client:
        for at, tenant in enumerate(tenants):
            assert client.search(vectors[0], where=f"tenant = {sordino.quoted(tenant)}").ids[0, :2].tolist() == [at, -1]
        for name, value, at in [("n", 4, 3), ("f", -1e300, 1), ("f", 0.5, 0)]:
            assert client.search(vectors[0], where=f"{name} = {sordino.quoted(value)}").ids[0, :2].tolist() == [at, -1]
        assert set(client.search(vectors[0], where=f"b = {sordino.quoted(True)}").ids[0, :4].tolist()) == {0, 2, 4, -1}
    for wrong in [None, float("nan"), [1], b"x", np.float32("inf"), np.datetime64("NaT"), np.timedelta64(1, "s"), np.complex64(1), np.array([1]), enum.Enum("Plain", {"A": "a"}).A]:
        with pytest.raises(sordino.FilterError, match=f"a {type(wrong).__name__}: expected"):
            sordino.quoted(wrong)


class Word(str, enum.Enum):
    A = "o'hara"


class Number(int, enum.Enum):
    A = 5


@pytest.mark.parametrize("value, literal", [
    (Word.A, "'o''hara'"), (Number.A, "5"), (np.str_("a"), "'a'"), (np.int64(-3), "-3"), (np.uint64(2**63), str(2**63)), (np.bool_(True), "true"),
    (np.float32(0.1), "0.1"), (np.float16(0.1), "0.1"), (np.float64(0.1), "0.1"), (np.datetime64("2024-01-02"), "'2024-01-02'"),
    (np.datetime64("2024-01-02T03:04:05.500"), "'2024-01-02T03:04:05.500'"), (datetime.date(2024, 1, 2), "'2024-01-02'"),
    (datetime.datetime(2024, 1, 2, 3, tzinfo=datetime.timezone.utc), "'2024-01-02T03:00:00Z'"),
])
def test_literals_are_of_values_and_not_of_their_names(value, literal):
    assert sordino.quoted(value) == literal


def test_names_of_any_script(tmp_path, key, vectors):
    path = tmp_path / "Ключ 鍵 \N{KEY}" / "индекс"
    index = sordino.build(path, vectors[:20], key=key)
    assert index.path == str(path) and len(sordino.open(str(path), key=key)) == 20
    key.save(path.parent / "ключ")
    with sordino.Client(os.fspath(path), key=sordino.OwnerKey.load(path.parent / "ключ")) as client:
        assert client.search(vectors[3], k=1).ids[0, 0] == 3
    surrogate = tmp_path / "\udcff"
    with sordino.Client(sordino.build(surrogate, vectors[:20], key=key), key=key) as client:
        assert client.search(vectors[3], k=1).ids[0, 0] == 3


@pytest.mark.parametrize("kind", ["OwnerKey", "ReaderKey", "PublicKey", "ClientKey", "ClientPublicKey"])
def test_damaged_key_files(tmp_path, key, kind):
    client = sordino.client_keygen()
    whole = {
        "OwnerKey": key, "ReaderKey": key.reader(), "PublicKey": key.public(),
        "ClientKey": client, "ClientPublicKey": client.public(),
    }[kind]
    path = tmp_path / "key"
    whole.save(path)
    data = path.read_bytes()
    damages = [b"", data[:-9], data[:10], b"\xff" * 100, data + data, b"\x00" * 10_000, data.replace(b"\n", b"")[:50]]
    for damage in damages:
        path.write_bytes(damage)
        no_bug(lambda: getattr(sordino, kind).load(path), sordino.KeyFileError, sordino.KeyKindError)
    no_bug(lambda: getattr(sordino, kind).load(tmp_path), sordino.FileError, sordino.KeyFileError)
    no_bug(lambda: getattr(sordino, kind).load(tmp_path / "none"), FileNotFoundError)


def test_nothing_secret_or_live_is_pickled(index, key, client):
    with sordino.serve(index, listen="127.0.0.1:0", public_key=key.public(), plaintext=True, anyone=True) as server:
        for thing in [key, key.reader(), sordino.client_keygen(), client, index, server]:
            no_bug(lambda thing=thing: pickle.dumps(thing), TypeError)


def test_clients_outlive_what_they_were_made_of(tmp_path, vectors):
    key = sordino.keygen()
    index = sordino.build(tmp_path / "index", vectors[:50], key=key, payloads=["x"] * 50)
    server = sordino.serve(index, listen="127.0.0.1:0", public_key=key.public(), plaintext=True, anyone=True)
    clients = [sordino.Client(index, key=key), sordino.Client(server.url, key=key.reader())]
    del index, key
    gc.collect()
    results = [client.search(vectors[4], k=1) for client in clients]
    del clients
    gc.collect()
    assert all(result.ids[0, 0] == 4 and result.payloads == [[b"x"]] for result in results)
    # Dropped without being stopped.
    with pytest.warns(RuntimeWarning, match="stops"):
        del server
        gc.collect()


def test_threads_search_refresh_and_close_at_once(tmp_path, key, vectors):
    index = sordino.build(tmp_path / "index", vectors[:300], key=key)
    client = sordino.Client(index, key=key)
    strange = []

    def work(at):
        try:
            for turn in range(6):
                assert client.search(vectors[at : at + 1 + at % 3], k=1).ids[0, 0] == at
                if at == 0:
                    index.add(vectors[400 + turn : 401 + turn])
                client.refresh()
        except sordino.ClosedError:
            pass
        except BaseException as error:
            strange.append(error)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    threading.Event().wait(0.3)
    client.close()
    for thread in threads:
        thread.join()
    assert not strange


def run(code, *arguments, **how):
    command = [sys.executable, "-c", code, *map(os.fspath, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **how)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_after_a_fork_a_search_says_what_to_do(tmp_path, key, vectors):
    index = sordino.build(tmp_path / "index", vectors[:300], key=key)
    key.save(tmp_path / "key")
    code = """
import os, sys, numpy as np, sordino
key = sordino.OwnerKey.load(sys.argv[2])
server = sordino.serve(sys.argv[1], listen="127.0.0.1:0", public_key=key.public(), plaintext=True, anyone=True)
clients = [sordino.Client(sys.argv[1], key=key), sordino.Client(server.url, key=key)]
query = np.ones(24)
for client in clients:
    client.search(query)
child = os.fork()
if child == 0:
    told = 0
    for client in clients:
        for queries in [query, [query] * 3]:
            try:
                client.search(queries)
            except sordino.ProcessError as error:
                told += "spawn" in str(error)
        client.close()
    server.stop()
    sys.exit(told)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print([client.search(query).ids.shape for client in clients])
"""
    done = run(code, index.path, tmp_path / "key")
    assert done.stdout == "4\n[(1, 10), (1, 10)]\n", done.stdout + done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_before_anything_was_computed_a_fork_does_no_harm(index, tmp_path, key):
    key.save(tmp_path / "key")
    code = """
import os, sys, numpy as np, sordino
key = sordino.OwnerKey.load(sys.argv[2])
child = os.fork()
with sordino.Client(sys.argv[1], key=key) as client:
    assert client.search(np.ones(24)).ids.shape == (1, 10)
if child:
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run(code, index.path, tmp_path / "key").stdout == "0\n"


@pytest.mark.skipif(os.name != "posix", reason="a signal is sent")
@pytest.mark.parametrize("what", ["search", "build"])
def test_ctrl_c_acts_within_seconds(tmp_path, key, vectors, what):
    # Without the interrupt, each call would take far longer than the allowed wait.
    code = """
import os, signal, sys, threading, time, numpy as np, sordino
key = sordino.keygen()
rng = np.random.default_rng(1)
rows = rng.standard_normal((40_000, 64), dtype=np.float32)
def interrupt():
    global sent
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
def later(*_):
    threading.Timer(0.5, interrupt).start()
try:
    if sys.argv[2] == "search":
        with sordino.Client(sordino.build(sys.argv[1], rows, key=key), key=key) as client:
            later()
            client.search(rows[:20_000])
    else:
        # The interrupt comes in the slowest step of this mode.
        told = lambda step, read: later() if step == "clustering" else None
        rows = rng.standard_normal((400_000, 64), dtype=np.float32)
        sordino.build(sys.argv[1], rows, key=key, mode="sealed", progress=told)
    print("was not stopped")
except KeyboardInterrupt:
    print("stopped", time.monotonic() - sent)
"""
    done = run(code, tmp_path / "index", what)
    word, _, seconds = done.stdout.partition(" ")
    assert word == "stopped", done.stdout + done.stderr
    assert float(seconds) < 20
    assert what == "search" or not (tmp_path / "index" / "CURRENT").exists()


def test_a_cache_serves_the_second_client(tmp_path, key, vectors):
    index = sordino.build(tmp_path / "index", vectors, key=key, payloads=["x"] * N)
    cache = tmp_path / "new" / "cache"
    with sordino.serve(index, listen="127.0.0.1:0", public_key=key.public(), plaintext=True, anyone=True) as server:
        once, wire = [], []
        for _ in range(2):
            with sordino.Client(server.url, key=key.reader(), cache=cache) as client:
                once.append(client.stats()["bytes_once"])
                wire.append(client.stats()["wire_down"])
                assert client.search(vectors[9], k=1).ids[0, 0] == 9
        # The second asks for the manifest alone.
        assert once[1] < 20_000 < once[0] / 2 and wire[1] < 20_000
        # Damaged parts are downloaded again.
        for part in Path(cache).iterdir():
            part.write_bytes(b"damaged")
        with sordino.Client(server.url, key=key.reader(), cache=str(cache)) as client:
            assert client.stats()["bytes_once"] == once[0]
        # A cache that cannot be written keeps nothing, and searches succeed. A file is no cache.
        (tmp_path / "file").write_text("mine")
        with sordino.Client(server.url, key=key.reader(), cache=tmp_path / "file" / "cache") as client:
            assert client.stats()["bytes_once"] == once[0]
        with pytest.raises(sordino.InputError, match="expected a folder"):
            sordino.Client(server.url, key=key.reader(), cache=tmp_path / "file")
        assert (tmp_path / "file").read_text() == "mine"
        # After a change only new parts are downloaded.
        index.add(vectors[:1], ids=[N], leave_empty=True)
        with sordino.Client(server.url, key=key.reader(), cache=cache) as client:
            for _ in range(100):
                if client.stats()["version"] == 2 or client.refresh():
                    break
                threading.Event().wait(0.1)
        with sordino.Client(server.url, key=key.reader(), cache=cache) as client:
            assert client.stats()["version"] == 2 and client.stats()["bytes_once"] < 2 * once[1]


def test_handles_say_what_they_are_and_are_not_pickled(index, key):
    client = sordino.Client(index, key=key)
    assert re.fullmatch(r"<sordino.Client of index [0-9a-f]{32}, version 1, masked>", repr(client))
    for handle, match in [(index, "sordino.open"), (client, "key's file")]:
        for copying in [pickle.dumps, copy.deepcopy]:
            with pytest.raises(sordino.KeyKindError, match=match):
                copying(handle)
    client.close()
    assert repr(client) == "<sordino.Client, closed>"
    for call in [lambda: client.search(np.ones(DIM)), lambda: client.payloads([1]), client.refresh, client.stats, client.pin]:
        no_bug(call, sordino.ClosedError)


def test_nothing_to_delete_is_no_change(tmp_path, key, vectors):
    index = sordino.build(tmp_path / "index", vectors[:3], key=key)
    assert index.delete([]) == index.info()["version"] == 1


def test_hundreds_of_searches_of_one_loop(client, vectors):
    async def search(n):
        found = await asyncio.to_thread(client.search, vectors[n], 1)
        return found.ids[0, 0]

    async def all_of_them():
        return await asyncio.gather(*(search(n) for n in range(300)))

    assert asyncio.run(all_of_them()) == list(range(300))


def test_a_table_is_told_which_columns_it_has(tmp_path, key):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"name": ["a"], "numbers": [[1.0, 2.0]]})
    with pytest.raises(sordino.DtypeError, match="Table of the columns name, numbers; give the one"):
        sordino.build(tmp_path / "index", table, key=key)
