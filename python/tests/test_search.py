"""From arrays to answers, in one process and over a network."""

import json
import threading
import uuid

import numpy as np
import pytest
from conftest import DIM, N, nearest

import sordino


def test_every_query_finds_what_exact_search_finds(client, vectors):
    queries = np.random.default_rng(2).standard_normal((20, DIM), dtype=np.float32)
    result = client.search(queries, k=10)
    assert result.ids.shape == result.scores.shape == (20, 10)
    assert result.ids.dtype == np.int64 and result.scores.dtype == np.float32
    assert result.payloads is None and len(result) == 20
    assert result.bytes_up > 0 and result.bytes_down > 0 and result.server_ms > 0
    found = [len(set(ids) & set(nearest(vectors, query, 10))) for ids, query in zip(result.ids, queries)]
    assert sum(found) / 200 > 0.97
    assert (np.diff(result.scores, axis=1) <= 0).all()


def test_one_vector_gives_one_row_and_k_takes_the_first(client, vectors):
    whole = client.search(vectors[7])
    assert whole.ids.shape == (1, 10)
    first = client.search(vectors[7].tolist(), k=3)
    assert first.ids.shape == (1, 3)
    assert first.ids[0, 0] == whole.ids[0, 0] == 7
    # The server sees the same whatever k is.
    assert (first.bytes_up, first.bytes_down) == (whole.bytes_up, whole.bytes_down)


def test_no_queries_give_no_rows(client):
    result = client.search(np.empty((0, DIM), np.float32), k=4)
    assert result.ids.shape == (0, 4) and result.bytes_up == 0


@pytest.mark.parametrize("mode", ["masked", "routed", "open", "local", "sealed"])
@pytest.mark.parametrize("metric", ["cosine", "inner-product", "euclidean"])
def test_every_mode_and_metric(tmp_path, key, vectors, mode, metric):
    index = sordino.build(
        tmp_path / "index", vectors, key=key, mode=mode, metric=metric, k=5, recall=0.5, queries=10
    )
    assert index.info()["mode"] == mode and index.info()["metric"] == metric
    if mode in ("sealed", "routed"):
        assert 0 < index.expected_recall <= 1
    with sordino.Client(index, key=key) as client:
        ids = client.search(vectors[:50], k=1).ids[:, 0]
    # By the inner product a longer vector may be nearer than the query itself; a search in parts misses some.
    least = 0.5 if metric == "inner-product" else 0.75 if mode in ("sealed", "routed") else 0.9
    assert (ids == np.arange(50)).mean() >= least


@pytest.mark.parametrize("mode", ["routed", "sealed"])
def test_a_build_reads_enough_for_questions(tmp_path, key, mode):
    rng = np.random.default_rng(5)
    centres = rng.standard_normal((150, DIM), dtype=np.float32)
    vectors = centres[rng.integers(150, size=4000)] + 0.4 * rng.standard_normal((4000, DIM), dtype=np.float32)
    pairs = vectors[rng.integers(4000, size=(500, 2))]
    given, asked = np.split(pairs.sum(axis=1), [200])

    def built(name, **questions):
        index = sordino.build(tmp_path / name, vectors, key=key, mode=mode, recall=0.9, **questions)
        with sordino.Client(index, key=key) as client:
            ids = client.search(asked, k=10).ids
        found = [len(set(own) & set(nearest(vectors, one, 10))) for own, one in zip(ids.tolist(), asked)]
        return index.expected_recall, sum(found) / (10 * len(asked))

    (_, plain), (expected, recall) = built("plain"), built("asked", questions=given.astype(np.float64))
    assert recall > plain and abs(recall - expected) < 0.1 and recall > 0.83
    for questions, mode, error, why in [
        (given[:49], mode, sordino.RecallError, "49 different questions: expected at least 50"),
        (given[:, 1:], mode, sordino.DimensionError, "questions of"),
        (given[0], mode, sordino.ShapeError, "questions of shape"),
        (np.where(np.arange(200)[:, None] == 7, np.nan, given), mode, sordino.NotFiniteError, "questions"),
        (["text"] * 60, mode, sordino.InputError, "questions"),
        (given, "masked", sordino.ModeError, "for questions"),
    ]:
        with pytest.raises(error, match=why):
            sordino.build(tmp_path / "other", vectors, key=key, mode=mode, questions=questions)
    with pytest.raises(sordino.ZeroVectorError, match="questions: "):
        sordino.build(tmp_path / "other", vectors, key=key, mode=mode, questions=np.zeros((60, DIM)))
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("mode", ["masked", "open"])
def test_exact_checks_find_the_same(tmp_path, key, vectors, mode):
    for checks in ("sums", "exact"):
        index = sordino.build(tmp_path / checks, vectors, key=key, mode=mode, checks=checks)
        with sordino.Client(index, key=key) as client:
            assert client.search(vectors[:20], k=1).ids[:, 0].tolist() == list(range(20))
    with pytest.raises(sordino.InputError, match="expected sums, exact or none"):
        sordino.build(tmp_path / "other", vectors, key=key, checks="some")


def test_a_second_look_ranks_exactly(tmp_path, key, vectors):
    index = sordino.build(tmp_path / "index", vectors, key=key, second_look=32)
    assert index.info()["second_look"] == 32 and not index.info()["payloads"]
    query = np.random.default_rng(2).standard_normal((1, DIM), dtype=np.float32)
    with sordino.Client(index, key=key) as client:
        found = client.search(query, k=10)
    assert found.payloads is None
    assert found.ids[0].tolist() == list(nearest(vectors, query[0], 10))
    with pytest.raises(sordino.KError):
        sordino.build(tmp_path / "other", vectors, key=key, second_look=9)


def test_records_come_in_any_form(tmp_path, key, vectors):
    np.save(tmp_path / "base.npy", vectors)
    (tmp_path / "base.jsonl").write_text("".join(json.dumps({"vector": row}) + "\n" for row in vectors.tolist()))
    (tmp_path / "base.csv").write_text("vector\n" + "".join(f'"{row}"\n' for row in vectors.tolist()))
    forms = {
        "float64": vectors.astype(np.float64),
        "columns": np.asfortranarray(vectors),
        "strided": np.repeat(vectors, 2, axis=0)[::2],
        "file": tmp_path / "base.npy",
        "lines of JSON": tmp_path / "base.jsonl",
        "CSV": tmp_path / "base.csv",
        "iterator": iter(np.array_split(vectors, 7)),
        "generator": (rows.tolist() for rows in np.array_split(vectors, 3)),
        "float16": vectors.astype(np.float16),
    }
    for name, form in forms.items():
        index = sordino.build(tmp_path / name, form, key=key, k=1)
        with sordino.Client(index, key=key) as client:
            result = client.search(vectors[::100])
            assert result.ids.tolist() == [[row] for row in range(0, N, 100)], name


def test_updates_leave_vectors_and_what_they_do_not_name(tmp_path, key, vectors):
    years = {"year": list(range(50)), "tag": ["a"] * 50}
    texts = [f"text {at}" for at in range(50)]
    index = sordino.build(tmp_path / "i", vectors[:50], key=key, mode="local", k=3, payloads=texts, attributes=years)
    client = sordino.Client(index.path, key=key.reader())
    assert index.update([7, 9], ["seven", b"nine"]) == 2
    assert index.update(7, attributes={"year": [2024]}) == 3
    assert index.update([9], attributes={"tag": [None], "other": [None]}) == 4
    assert index.payloads()[7] == b"seven" and index.payloads()[8] == b"text 8"
    client.refresh()
    found = client.search(vectors[7], where="year = 2024 and tag = 'a'", k=1)
    assert found.ids[0].tolist() == [7] and found.payloads[0] == [b"seven"]
    assert 9 not in client.search(vectors[9], where="tag = 'a'").ids[0]
    assert client.search(vectors[9], where="year = 9", k=1).payloads[0] == [b"nine"]
    for wrong, error in [(([99], ["x"]), sordino.UnknownIdError), (([1, 1], ["x", "y"]), sordino.IdsError), (([1], ["x", "y"]), sordino.PayloadError)]:
        with pytest.raises(error):
            index.update(*wrong)
    with pytest.raises(sordino.AttributesError):
        index.update([1], attributes={"year": ["text"]})
    assert index.info()["version"] == 4


def test_payloads_and_ids_come_back(tmp_path, key, vectors):
    ids = np.arange(N) * 3 + 1
    texts = [f"record {id}" for id in ids]
    index = sordino.build(tmp_path / "index", vectors, key=key, ids=ids, payloads=texts, k=2)
    with sordino.Client(index, key=key) as client:
        result = client.search(vectors[:5], k=1)
        assert client.payloads([ids[7], 2, ids[0]]) == [texts[7].encode(), None, texts[0].encode()]
        assert client.payloads(ids[9])[0] == texts[9].encode() and client.payloads([]) == []
    assert result.ids[:, 0].tolist() == ids[:5].tolist()
    assert result.payloads == [[text.encode()] for text in texts[:5]]
    assert index.payloads() == {id: text.encode() for id, text in zip(ids, texts)}


def test_fewer_records_than_results(tmp_path, key, vectors):
    index = sordino.build(tmp_path / "index", vectors[:3], key=key, payloads=["a", "b", "c"])
    with sordino.Client(index, key=key) as client:
        result = client.search(vectors[0], k=5)
        assert result.ids[0, 0] == 0 and (result.ids[0, 3:] == -1).all()
        assert np.isnan(result.scores[0, 3:]).all() and not np.isnan(result.scores[0, :3]).any()
        assert result.payloads[0][0] == b"a" and len(result.payloads[0]) == 3


@pytest.mark.parametrize("kind", ["int64", "above int64", "str", "uuid"])
def test_places_without_a_record_have_no_payload_and_no_attributes(tmp_path, key, vectors, kind):
    ids = {"int64": [5, 17, 0], "above int64": [2**63 + 5, 17, 0], "str": ["five", "17", "-1"], "uuid": [uuid.UUID(int=n) for n in (5, 17, 0)]}[kind]
    index = sordino.build(tmp_path / "index", vectors[:3], key=key, ids=ids, payloads=["a", "b", "c"], attributes={"n": [0, 1, 2]})
    with sordino.Client(index, key=key) as client:
        for where, rows in [("n < 2", [0, 1]), ("n > 2", []), ("n = 2", [2])]:
            found = client.search(vectors[0], k=5, where=where).ids[0]
            assert sorted(ids.index(id) for id in found.tolist()[: len(rows)]) == rows and len(found) == 5
            for given in (found, found.tolist(), tuple(found)):
                order = [ids.index(id) for id in found.tolist()[: len(rows)]]
                assert client.attributes(given) == [*({"n": row} for row in order), *[None] * (5 - len(rows))]
                assert client.payloads(given) == [*("abc"[row].encode() for row in order), *[None] * (5 - len(rows))]
        before = client.stats()["bytes_down"]
        client.payloads(ids[:2] * 2)
        four = client.stats()["bytes_down"] - before
        client.payloads([*ids[:2], *[-1 if isinstance(ids[0], int) else None] * 2])
        assert client.stats()["bytes_down"] - before == 2 * four
        wrong = [5, -2] if isinstance(ids[0], int) else [ids[0], -1]
        for call in (client.payloads, client.attributes):
            with pytest.raises(sordino.InputError, match="id 1|id -2 at 1"):
                call(wrong)
    if isinstance(ids[0], int):
        for call in (index.delete, index.labels, lambda ids: index.update(ids, ["x", "y"])):
            with pytest.raises(sordino.IdsError, match=r"id -1 at 1: .*ids\[ids >= 0\]"):
                call([ids[0], -1])
    assert len(index) == 3


def test_an_index_changes(tmp_path, key, vectors):
    index = sordino.build(tmp_path / "index", vectors[:100], key=key)
    with sordino.Client(index, key=key.reader()) as client:
        assert len(index) == 100
        assert index.add(vectors[100:110]) == 2
        assert index.add(vectors[:1], ids=[500], payloads=["again"]) == 3
        assert index.delete([0, 1]) == 4
        assert index.delete(2) == 5
        assert client.stats()["version"] == 1 and client.payloads([500, 0]) == [b"again", None]
        assert client.stats()["version"] == 5 and not client.refresh()
        result = client.search(vectors[[0, 105]], k=1)
        assert result.ids[:, 0].tolist() == [500, 105]
        assert result.payloads == [[b"again"], [b""]]
        assert len(index) == 108 and index.info()["stored"] == 111
        version = index.compact()
        assert index.info()["stored"] == 108 and index.info()["segments"] == 1
        assert client.refresh() and client.stats()["version"] == version
        assert client.search(vectors[0], k=1).ids[0, 0] == 500
    assert index.verify()["records"] == 108
    assert sordino.open(index.path, key=key.public()).verify()["full"] is False


def test_a_search_follows_what_others_change(tmp_path, key, vectors):
    index = sordino.build(tmp_path / "index", vectors[:100], key=key, payloads=[f"text {at}" for at in range(100)], attributes={"year": range(100)})
    with sordino.Client(index.path, key=key.reader()) as client:
        assert client.search(vectors[3], k=1).payloads == [[b"text 3"]]
        other = sordino.open(index.path, key=key)
        other.delete([3])
        other.update([4], payloads=["new"])
        assert client.search(vectors[3], k=1).ids[0, 0] != 3 and client.search(vectors[4], k=1).payloads == [[b"new"]]
        other.add(-vectors[:1], ids=[200], payloads=["added"], attributes={"year": [2000]})
        assert client.attributes([200]) == [{"year": 2000}] and client.column("year", where="year = 2000") == {200: 2000}
        # With the folder gone, a client goes on with what it has loaded.
        (tmp_path / "index").rename(tmp_path / "elsewhere")
        assert client.search(-vectors[0], k=1).payloads == [[b"added"]]


def test_over_a_network(tmp_path, key, vectors):
    index = sordino.build(tmp_path / "index", vectors, key=key)
    alice, mallory = sordino.client_keygen(), sordino.client_keygen()
    with sordino.serve(
        index.path, listen="127.0.0.1:0", public_key=key.public(), clients=[alice.public()], plaintext=True
    ) as server:
        with sordino.Client(server.url, key=key.reader(), client_key=alice) as client:
            result = client.search(vectors[:30], k=1)
            assert result.ids[:, 0].tolist() == list(range(30))
            # The server follows the index, and the client follows the server.
            index.delete(3)
            for _ in range(50):
                if client.refresh():
                    break
                threading.Event().wait(0.1)
            assert client.search(vectors[3]).ids[0, 0] != 3
            stats = client.stats()
            assert stats["version"] == 2 and stats["searches"] == 31
            assert stats["wire_up"] > stats["bytes_up"]
            with pytest.raises(sordino.RefusedError, match="key"):
                sordino.Client(server.url, key=key.reader(), client_key=mallory)
            with pytest.raises(sordino.RefusedError, match="token"):
                sordino.Client(server.url, key=key.reader(), client_key=mallory, token=b"\xd2\x84none")
            with pytest.raises(sordino.SignatureError):
                sordino.Client(server.url, key=sordino.keygen(), client_key=alice)
            server.stop()
            with pytest.raises(sordino.NetworkError):
                client.search(vectors[0])
        assert server.metrics() == ""
    with pytest.raises(sordino.UnreachableError):
        sordino.Client(server.url, key=key.reader())


def test_threads_share_a_client(client, vectors):
    found = {}

    def search(at):
        found[at] = client.search(vectors[at], k=1).ids[0, 0]

    threads = [threading.Thread(target=search, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {at: at for at in range(8)}


def test_a_pin_keeps_a_server_from_going_back(tmp_path, key, vectors):
    import shutil

    index = sordino.build(tmp_path / "index", vectors[:50], key=key)
    shutil.copytree(index.path, tmp_path / "old")
    index.delete(0)
    with sordino.Client(index, key=key) as client:
        pin = client.pin()
    with sordino.Client(index, key=key, pin=pin) as client:
        assert client.pin() == pin
    with pytest.raises(sordino.RollbackError, match="version 1 .* version 2"):
        sordino.Client(tmp_path / "old", key=key, pin=pin)
    with pytest.raises(sordino.InputError):
        sordino.Client(index, key=key, pin=b"short")


def test_a_gap_is_gone_over_only_by_who_says_so(tmp_path, key, vectors):
    import shutil

    index = sordino.build(tmp_path / "index", vectors[:50], key=key)
    with sordino.Client(index, key=key) as client:
        pin = client.pin()
    index.delete(0)
    shutil.copytree(index.path, tmp_path / "old")
    index.delete(1)
    (tmp_path / "index" / "manifests" / f"{2:020}").unlink()
    with pytest.raises(sordino.GapError, match="withholds"):
        sordino.Client(index.path, key=key, pin=pin)
    with sordino.Client(index.path, key=key, pin=pin, over_gap=True) as client:
        assert client.stats()["version"] == 3
        pin = client.pin()
    with pytest.raises(sordino.RollbackError):
        sordino.Client(tmp_path / "old", key=key, pin=pin, over_gap=True)
    with pytest.raises(sordino.InputError, match="without a pin"):
        sordino.Client(index.path, key=key, over_gap=True)


def test_a_plan_is_a_dict_and_a_table():
    plan = sordino.plan(100_000, 128, queries=20, payload_bytes=100)
    assert plan["n"] == 100_000 and plan["recommended"] in {mode["mode"] for mode in plan["modes"]}
    assert {mode["mode"] for mode in plan["modes"]} == {"masked", "routed", "open", "sealed", "local"}
    assert plan["payloads"]["fetched"] == 10
    assert "100000 x 128" in str(plan) and "masked" in str(plan)


class Exchanged:
    """An array that is given by DLPack alone, as the arrays of some libraries are."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Distant(Exchanged):
    def __dlpack__(self, **how):
        raise BufferError("it is elsewhere")


def test_arrays_of_dlpack_are_taken(tmp_path, key):
    rows = np.eye(4, dtype=np.float16)
    index = sordino.build(tmp_path / "index", Exchanged(rows), key=key, k=1)
    index.add(Exchanged(np.asfortranarray(-rows)))
    with sordino.Client(index, key=key) as client:
        assert client.search(Exchanged(rows)).ids[:, 0].tolist() == [0, 1, 2, 3]
        with pytest.raises(sordino.DtypeError, match="expected floating-point"):
            client.search(Exchanged(rows.astype(bool)))
        with pytest.raises(sordino.DtypeError, match="a Distant gives no array.*main memory"):
            client.search(Distant(rows))


def test_what_is_stopped_says_so(index, key):
    with sordino.serve(index, listen="127.0.0.1:0", public_key=key.public(), plaintext=True, anyone=True) as server:
        pass
    with pytest.raises(sordino.ClosedError, match="this server is stopped"):
        server.reach(1, "http://127.0.0.1:1")
    # It has no counts, and `wait` returns at once.
    assert (server.version, server.metrics()) == (0, "")
    server.wait()
