"""Record ids that are texts or UUIDs."""

import enum
import uuid

import numpy as np
import pytest

import sordino

TEXTS = ["a", "b/é", "c" * 64, "d"]
UUIDS = [uuid.uuid5(uuid.NAMESPACE_URL, text) for text in TEXTS]


@pytest.mark.parametrize("ids", [TEXTS, UUIDS, np.array(TEXTS), [2**63 - 1, 0, 7, 5]])
def test_ids_come_back_as_they_went_in(tmp_path, key, ids):
    index = sordino.build(tmp_path / "index", np.eye(4), key=key, ids=ids, payloads=["w", "x", "y", "z"], k=2)
    kind = {str: "text", np.str_: "text", uuid.UUID: "uuid", int: "number"}[type(ids[0])]
    assert index.info()["id_kind"] == kind
    with sordino.Client(index, key=key.reader()) as client:
        found = client.search(np.eye(4))
        assert found.ids[:, 0].tolist() == list(ids)
        assert client.payloads([ids[2], ids[0]]) == [b"y", b"w"]
        assert client.payloads(ids[3]) == [b"z"]
    index.add(np.eye(4)[:1], ids=[ids[1]], payloads=["new"])
    index.delete(ids[0])
    assert len(index) == 3
    with sordino.Client(index, key=key.reader()) as client:
        assert client.search(np.eye(4)[0]).ids[0, 0] == ids[1]
        found = client.search(np.eye(4)[1], k=2)
        assert found.ids.shape == (1, 2)


def test_fewer_records_than_results_leave_places_empty(tmp_path, key):
    index = sordino.build(tmp_path / "index", np.eye(2), key=key, ids=["a", "b"], k=3)
    with sordino.Client(index, key=key.reader()) as client:
        assert client.search([1, 0]).ids.tolist() == [["a", "b", None]]


def test_ids_of_another_kind_are_refused(tmp_path, key):
    index = sordino.build(tmp_path / "index", np.eye(4), key=key, ids=UUIDS)
    for ids, match in [(["x"], "expected a UUID"), ([1], "named by a number")]:
        with pytest.raises(sordino.IdsError, match=match):
            index.add(np.eye(4)[:1], ids=ids)
    with pytest.raises(sordino.IdsError, match="each needs one"):
        index.add(np.eye(4)[:1])
    with pytest.raises(sordino.DtypeError, match="id 1 is a int"):
        index.add(np.eye(4)[:2], ids=["x", 1])
    with pytest.raises(sordino.IdsError, match="1 to 512 bytes"):
        sordino.build(tmp_path / "long", np.eye(1), key=key, ids=["x" * 513], k=1)


@pytest.mark.parametrize("ids, others, expected", [
    (TEXTS, [1, np.int64(3)], "a text; give ids of that kind, such as str"),
    (UUIDS, [1], "a UUID; give ids of that kind, such as uuid.UUID"),
    ([1, 2, 3, 4], ["1", "03", np.str_("4")], "a number; give ids of that kind, such as int"),
])
def test_ids_of_another_kind_name_no_record(tmp_path, key, ids, others, expected):
    index = sordino.build(tmp_path / "index", np.eye(4), key=key, ids=ids, payloads=["w", "x", "y", "z"], k=1)
    with sordino.Client(index, key=key) as client:
        calls = [index.delete, index.labels, index.__contains__, lambda id: index.update(id, ["new"]), client.payloads, client.attributes]
        for other in others:
            for call in calls:
                with pytest.raises(sordino.IdsError, match=f"^record '?{other}'? is named by .* {expected}"):
                    call([other])
            with pytest.raises(sordino.IdsError, match="is named by"):
                index.add(np.eye(4)[:1], ids=[other], payloads=["new"])
    assert index.ids() == sorted(ids) and index.info()["version"] == 1


class Word(str, enum.Enum):
    A, B = "a", "b/é"


class Text(np.str_):
    pass


class Number(int, enum.Enum):
    A, B = 5, 2**64 - 1


class Level(enum.IntEnum):
    A, B = 5, 7


@pytest.mark.parametrize("ids, stored", [
    (list(Word), ["a", "b/é"]), ([Word.A, "c"], ["a", "c"]), (["c", Word.A, np.str_("b")], ["a", "b", "c"]), ([Text("a"), Text("b")], ["a", "b"]),
    (np.array(list(Word), object), ["a", "b/é"]), (list(Number), [5, 2**64 - 1]), (list(Level), [5, 7]), ([Level.B, 3], [3, 7]),
])
def test_members_of_an_enum_are_their_values(tmp_path, key, ids, stored):
    index = sordino.build(tmp_path / "index", np.eye(len(ids)), key=key, ids=ids, payloads=["x"] * len(ids), k=1)
    assert index.ids() == stored and all(id in index for id in ids) and set(index.payloads()) == set(stored)
    assert {type(id) for id in index.ids()} <= {str, int}


def test_a_member_of_an_enum_without_a_kind_of_its_own_is_refused(tmp_path, key):
    plain = enum.Enum("Plain", {"A": "a"})
    with pytest.raises(sordino.DtypeError, match=r"id 0 is a Plain, whose `\.value` may be an id"):
        sordino.build(tmp_path / "index", np.eye(1), key=key, ids=[plain.A], k=1)


class Wide:
    """A polars column of 128-bit integers, as far as ids need one."""

    def __init__(self, values, dtype):
        self.values, self.dtype = values, dtype

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values)

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("numpy has no 128-bit integer types")


@pytest.mark.parametrize("dtype", ["Int128", "UInt128"])
def test_integers_of_128_bits_are_ids_as_far_as_they_fit(tmp_path, key, dtype):
    ids = [7, 2**64 - 1, 2**63]
    index = sordino.build(tmp_path / "index", np.eye(3), key=key, ids=Wide(ids, dtype), payloads=["a", "b", "c"])
    with sordino.Client(index, key=key) as client:
        assert client.payloads(Wide(ids[1:], dtype)) == [b"b", b"c"]
    index.delete(Wide(ids[:1], dtype))
    assert set(index.ids()) == set(ids[1:])
    for wrong, error, match in [(2**64, sordino.IdsError, "id 18446744073709551616 at 1.*as texts"), (None, sordino.DtypeError, "id 1 is missing")]:
        with pytest.raises(error, match=match):
            index.add(np.eye(3)[:2], ids=Wide([1, wrong], dtype))


def test_numbers_beyond_int64_are_found_and_lose_nothing(tmp_path, key):
    most = 2**64 - 1
    rows = np.eye(5, 24, dtype=np.float32)
    ids = np.array([most, 3, 2**63, 5, 2**53 + 1], np.uint64)
    index = sordino.build(tmp_path / "index", rows, key=key, ids=ids, payloads=["a", "b", "c", "d", "e"], k=6)
    assert set(index.payloads()) == set(ids.tolist())
    with sordino.Client(index, key=key.reader()) as client:
        # Smaller ids are int64, as in any index.
        assert client.search(rows[1], k=1).ids.dtype == np.int64
        found = client.search(rows)
        assert found.ids.dtype == object and {type(id) for id in found.ids.flat} == {int}
        assert found.ids[:, 0].tolist() == ids.tolist() and (found.ids[:, 5] == -1).all()
        assert np.isnan(found.scores[:, 5]).all() and [row[0] for row in found.payloads] == [b"a", b"b", b"c", b"d", b"e"]
        # Ids from a result can be passed back unchanged.
        for given in (found.ids[0, :2], found.ids[0, :2].tolist(), found.ids[0, :2].astype(np.uint64)):
            assert client.payloads(given)[0] == b"a"
        assert client.payloads([np.uint64(most), 3]) == [b"a", b"b"]
        # The place without a record included.
        assert client.payloads(found.ids[0])[0] == b"a" and client.payloads(found.ids[0])[5] is None
    index.delete([most, 2**63])
    assert set(index.payloads()) == {3, 5, 2**53 + 1}


def test_numbers_go_on_past_int64(tmp_path, key):
    index = sordino.build(tmp_path / "index", np.eye(2, 24), key=key, ids=[2**63 - 2, 2**63 - 1], k=1)
    index.add(np.eye(3, 24)[2:])
    with sordino.Client(index, key=key) as client:
        assert client.search(np.eye(3, 24)[2]).ids.tolist() == [[2**63]]


def test_a_client_that_another_thread_closes_still_gives_what_was_found(tmp_path, key):
    index = sordino.build(tmp_path / "index", np.eye(4), key=key, ids=UUIDS, k=1)
    client = sordino.Client(index, key=key.reader())
    native = client._native

    class Closing:
        k, id_kind = native.k, property(lambda self: native.id_kind)

        def search(self, *given):
            found = native.search(*given)
            native.close()
            return found

    client._native = Closing()
    assert client.search(np.eye(4)[0]).ids[0, 0] == UUIDS[0]


def test_ids_of_arrow_and_streams_of_them_are_what_they_say(tmp_path, key):
    pa = pytest.importorskip("pyarrow")
    for at, ids in enumerate([pa.array(TEXTS), pa.chunked_array([TEXTS[:2], TEXTS[2:]]), iter(TEXTS), (text for text in TEXTS)]):
        index = sordino.build(tmp_path / str(at), np.eye(4), key=key, ids=ids, payloads=pa.array(["w", "x", "y", "z"]), k=1)
        assert index.info()["id_kind"] == "text"
        assert index.payloads() == dict(zip(TEXTS, [b"w", b"x", b"y", b"z"]))
        index.add(np.eye(4)[:1], ids=pa.array(["new"]), payloads=pa.array([b"v"]))
        index.delete(pa.array(["new"]))
    numbers = sordino.build(tmp_path / "n", np.eye(4), key=key, ids=pa.array([7, 5, 3, 1], pa.uint64()), k=1)
    assert numbers.info()["id_kind"] == "number" and len(numbers) == 4
    batches = iter([sordino.Batch(np.eye(4), ids=iter(UUIDS), payloads=pa.array(["w", "x", "y", "z"]))])
    assert sordino.build(tmp_path / "b", batches, key=key, k=1).info()["id_kind"] == "uuid"


def test_the_id_that_is_none_is_named(tmp_path, key):
    pa = pytest.importorskip("pyarrow")
    for ids, match in [
        ([1, 2, None, 4], "id 2 is missing"), ([1, 2.5, 3, 4], "float64"), (np.array([1, 2, 1.5, 4], object), "id 2 is a float"),
        (pa.array([1, None, 3, 4]), "id 1 is missing"), (np.array([1, np.nan, 3, 4]), "id 1 is missing"), (["a", None, "c", "d"], "id 1 is a missing value"), (["a", float("nan"), "c", "d"], "id 1 is a missing value"),
        (np.array([1, float("nan"), 3, 4], object), "id 1 is missing"),
        ([1, 2, "x", 4], "id 2 is a str: expected an int like the first"), (["x", 2, "y", "z"], "id 1 is a int: expected a str like the first"),
        ({1, 2, 3, 4}, "a set.*expected a list"), ({1: 0, 2: 0, 3: 0, 4: 0}, "a dict.*expected a list"), ({1: 0, 2: 0, 3: 0, 4: 0}.keys(), "dict_keys"),
    ]:
        with pytest.raises(sordino.DtypeError, match=match):
            sordino.build(tmp_path / "index", np.eye(4), key=key, ids=ids)


@pytest.mark.parametrize("ids", [TEXTS, UUIDS, [2**64 - 1, 0, 2**53 + 1, 5]])
def test_ids_are_listed_and_looked_for(tmp_path, key, ids):
    index = sordino.build(tmp_path / "index", np.eye(4), key=key, ids=ids, k=1)
    assert index.ids() == sorted(ids) and [type(id) for id in index.ids()] == [type(ids[0])] * 4
    index.delete(ids[1])
    assert index.ids() == sorted(ids[:1] + ids[2:]) and len(index) == 3
    assert ids[0] in index and ids[1] not in index
    with pytest.raises(sordino.Error):
        assert 1.5 in index
    with pytest.raises(sordino.KeyKindError, match="owner's key"):
        sordino.open(tmp_path / "index", key=key.reader()).ids()
    with pytest.raises(sordino.KeyKindError, match="owner's key"):
        assert ids[0] in sordino.open(tmp_path / "index", key=key.reader())


def test_ids_that_are_rounded_or_truth_values_are_refused(tmp_path, key):
    for ids, match in [
        (np.arange(4, dtype=np.float32), "float32, which holds whole numbers exactly to 16,777,216 alone"),
        (np.arange(4, dtype=np.float64), "float64, which holds whole numbers exactly to 9,007,199,254,740,992 alone"),
        ([1, 2, True, 4], "id 2 is a bool"),
        ([1, 2, np.True_, 4], "id 2 is a bool"),
        (np.array([True, False, True, False]), "dtype bool"),
        ([1, 2, 3.0, 2**60], "float64"),
    ]:
        with pytest.raises(sordino.DtypeError, match=match):
            sordino.build(tmp_path / "index", np.eye(4), key=key, ids=ids, k=1)


def test_ids_that_are_given_twice_are_named(tmp_path, key):
    index = sordino.build(tmp_path / "index", np.eye(4), key=key, ids=TEXTS, k=1)
    with pytest.raises(sordino.IdsError, match="record d is given twice"):
        index.add(np.eye(4), ids=["x", "d", "y", "d"])
    assert index.info()["version"] == 1
