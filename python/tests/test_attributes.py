"""Attributes of records, and filters by them."""

import collections
import datetime
import decimal
import enum
import os
import subprocess
import types
import uuid

import numpy as np
import pytest

import sordino

N = 60
YEARS = np.arange(N) + 1960
LANGS = ["en", "de", None] * (N // 3)
ATTRIBUTES = {"year": YEARS, "lang": LANGS, "score": np.linspace(0, 1, N), "free": YEARS % 2 == 0}


@pytest.fixture(scope="module")
def vectors():
    return np.random.default_rng(5).standard_normal((N, 16), dtype=np.float32)


@pytest.fixture(scope="module")
def index(tmp_path_factory, key, vectors):
    return sordino.build(tmp_path_factory.mktemp("attributes") / "index", vectors, key=key, attributes=ATTRIBUTES, k=N)


@pytest.fixture
def client(index, key):
    with sordino.Client(index, key=key.reader()) as client:
        yield client


PASS = {
    "year >= 2000": YEARS >= 2000,
    'lang = "de"': np.array([lang == "de" for lang in LANGS]),
    "lang is null and free = true": np.array([lang is None for lang in LANGS]) & (YEARS % 2 == 0),
    "not (score < 0.5 or year in (2010, 2011))": (np.linspace(0, 1, N) >= 0.5) & ~np.isin(YEARS, [2010, 2011]),
    "not lang = 'de'": np.array([lang not in ("de", None) for lang in LANGS]),
    "not lang = 'de' or lang is null": np.array([lang != "de" for lang in LANGS]),
    "year < 0": np.zeros(N, bool),
}


@pytest.mark.parametrize("where", PASS)
def test_what_passes_is_found_and_nothing_else(client, vectors, where):
    found = client.search(vectors[:2], k=N, where=where)
    for row in found.ids.tolist():
        assert {one for one in row if one != -1} == set(np.flatnonzero(PASS[where]).tolist())


@pytest.mark.parametrize("mode", ["masked", "open", "routed", "sealed", "local"])
def test_filters_and_thresholds_in_all_modes(tmp_path, key, mode):
    rng = np.random.default_rng(6)
    vectors = rng.standard_normal((400, 16), dtype=np.float32)
    choices = {"mode": mode, "recall": 0.3, "k": 5}
    index = sordino.build(tmp_path / mode, vectors, key=key, attributes={"n": np.arange(400)}, **choices)
    # These two modes score only some of the records, among which fewer may pass.
    enough = mode not in ("routed", "sealed")
    with sordino.serve(index, listen="127.0.0.1:0", public_key=key.public(), plaintext=True, anyone=True) as server:
        for place in (index, server.url):
            with sordino.Client(place, key=key.reader()) as client:
                found = client.search(vectors[:9], k=5, where="n >= 100 and n < 200")
                one = client.search(vectors[7], k=5, where="n = 7", threshold=-1.0)
                none = client.search(vectors[7], k=5, where="n = 7", threshold=1.5)
                assert (found.ids != -1).all() if enough else (found.ids != -1).any()
                assert (((found.ids >= 100) & (found.ids < 200)) | (found.ids == -1)).all()
                assert one.ids[0].tolist() == [7, -1, -1, -1, -1] and (none.ids == -1).all()
                assert np.isfinite(one.scores[0, 0]) and np.isnan(one.scores[0, 1:]).all()


def test_messages_do_not_show_what_is_asked_for(client, vectors):
    moved = {
        (result.bytes_up, result.bytes_down)
        for result in (
            client.search(vectors[0]),
            client.search(vectors[0], where="year < 0"),
            client.search(vectors[0], k=1, where="year > 0", threshold=0.9),
        )
    }
    assert len(moved) == 1


def test_thresholds_are_in_the_metric_of_the_index(tmp_path, key):
    points = np.array([[0.0, 0], [1, 0], [5, 0]], np.float32)
    index = sordino.build(tmp_path / "index", points, key=key, metric="euclidean", k=3)
    with sordino.Client(index, key=key.reader()) as client:
        assert client.search([0, 0], threshold=2).ids.tolist() == [[0, 1, -1]]


def test_attributes_come_back_as_they_went_in(client):
    first, second, third, missing = client.attributes([0, 1, 2, 1000])
    assert first == {"year": 1960, "lang": "en", "score": 0.0, "free": True}
    assert [type(value) for value in first.values()] == [bool, str, float, int]
    assert second["lang"] == "de" and "lang" not in third and missing is None


def test_a_column_that_does_not_exist_is_refused(client):
    assert client.column("lang", where="year < 0") == {}
    for name, where in [("yeer", None), ("yeer", "year > 0"), ("", None)]:
        with pytest.raises(sordino.FilterError):
            client.column(name, where=where)


def test_changes_carry_attributes(tmp_path, key, vectors):
    ids = [uuid.uuid5(uuid.NAMESPACE_URL, str(n)) for n in range(N)]
    index = sordino.build(tmp_path / "index", vectors, key=key, ids=ids, attributes={"year": YEARS.tolist()})
    # A new column, a column without values, and new values of existing columns.
    index.add(vectors[:2], ids=ids[:2], attributes={"year": np.array([1, 2], np.int16), "text": ["x", None], "none": [None, None]})
    index.add(vectors[2:3], ids=ids[2:3], leave_empty=True)
    for _ in range(2):
        with sordino.Client(index, key=key.reader()) as client:
            assert client.attributes(ids[:3]) == [{"year": 1, "text": "x"}, {"year": 2}, {}]
            assert client.search(vectors[0], where='text = "x" and year = 1').ids[0].tolist() == [ids[0], *[None] * 9]
            assert len({*client.search(vectors[0], where="year is null").ids[0]} - {None}) == 1
        index.compact()
    with pytest.raises(sordino.AttributesError, match="year: text, and int in records that are there"):
        index.add(vectors[:1], ids=ids[:1], attributes={"year": ["later"], "text": ["x"]})
    # Two additions and a compaction, after which there was nothing to compact.
    assert index.info()["version"] == 4


def test_streams_have_attributes_of_their_own(tmp_path, key, vectors):
    def batches():
        yield sordino.Batch(vectors[:20], attributes={"year": YEARS[:20]})
        yield sordino.Batch(vectors[20:40])
        yield sordino.Batch(vectors[40:], attributes={"lang": LANGS[40:], "year": YEARS[40:]})

    whole = sordino.build(tmp_path / "whole", batches(), key=key, k=N)
    added = sordino.build(tmp_path / "added", vectors[:1], key=key, ids=[99], k=N)
    added.add(batches())
    arrays = sordino.build(tmp_path / "arrays", (vectors[at : at + 25] for at in range(0, N, 25)), key=key, attributes=ATTRIBUTES, k=N)
    for index, shift in ((whole, 0), (added, 100)):
        with sordino.Client(index, key=key.reader()) as client:
            found = client.search(vectors[0], k=N, where="year >= 1970 and (lang = 'en' or lang is null)").ids[0]
            expected = {*range(10, 20), *(n for n in range(40, N) if LANGS[n] != "de")}
            assert {one - shift for one in found.tolist() if one != -1} == expected
    with sordino.Client(arrays, key=key.reader()) as client:
        assert client.attributes(N - 1)[0]["year"] == YEARS[-1]


def test_numbers_become_those_of_the_index(tmp_path, key):
    index = sordino.build(tmp_path / "index", np.eye(3), key=key, attributes={"year": [1, 2, 3], "price": [0.5, 1, 2]}, k=1)
    # A data frame makes floats of whole numbers where some are missing.
    index.add(np.eye(3)[:2], ids=[0, 1], attributes={"year": np.array([7.0, np.nan]), "price": [3, 2**53]})
    index.update([2], attributes={"year": [2.0**53]})
    with sordino.Client(index, key=key) as client:
        assert client.attributes([0, 1, 2]) == [{"year": 7, "price": 3.0}, {"price": 2.0**53}, {"year": 2**53, "price": 2.0}]
    for attributes, match in [({"year": [7.5]}, "year: float, and int"), ({"year": [2.0**63]}, "year: float, and int"), ({"price": [2**53 + 1]}, "price: int, and float")]:
        for change in (lambda: index.update([0], attributes=attributes), lambda: index.add([[1, 1, 1]], attributes=attributes)):
            with pytest.raises(sordino.AttributesError, match=match):
                change()
    assert index.info()["version"] == 3


class Column(list):
    """A data frame's column, as far as it is one."""

    def isna(self):
        return np.array([value == "missing" for value in self])

    def tolist(self):
        return list(self)


def _narrow_columns():
    """Columns of floats of 32 and 16 bits, each with what makes it."""
    texts = [0.5, 0.1, 0.7, None]
    yield "numpy", lambda: np.array([0.5, 0.1, 0.7, np.nan], np.float32)
    yield "half", lambda: np.array([0.5, 0.1, 0.7, np.nan], np.float16)
    yield "scalars", lambda: [np.float32(0.5), np.float16(0.1), np.float32(0.7), None]
    for kind in ("float32", "Float32", "float[pyarrow]"):
        yield kind, lambda kind=kind: pytest.importorskip("pandas").Series(np.array([0.5, 0.1, 0.7, np.nan], np.float32)).astype(kind)
    yield "polars", lambda: pytest.importorskip("polars").Series(texts, dtype=pytest.importorskip("polars").Float32)
    for kind in ("float32", "float16"):
        yield f"arrow {kind}", lambda kind=kind: pytest.importorskip("pyarrow").array([None if x is None else np.dtype(kind).type(x) for x in texts], kind)
    yield "table", lambda: pytest.importorskip("pyarrow").table({"price": np.array([0.5, 0.1, 0.7, np.nan], np.float32)})
    yield "torch", lambda: pytest.importorskip("torch").tensor([0.5, 0.1, 0.7, np.nan])


@pytest.mark.parametrize("made", [pytest.param(make, id=name) for name, make in _narrow_columns()])
def test_narrow_floats_are_the_numbers_that_people_write(tmp_path, key, made):
    column = made()
    table = hasattr(column, "column_names")
    attributes = column if table else {"price": column}
    payloads = column.column("price") if table else column
    index = sordino.build(tmp_path / "index", np.eye(4, dtype=np.float32), key=key, attributes=attributes, payloads=payloads)
    with sordino.Client(index, key=key.reader()) as client:
        held = [one.get("price") for one in client.attributes([0, 1, 2, 3])]
        texts = client.payloads([0, 1, 2, 3])
        for where, ids in [("price = 0.1", {1}), ("price >= 0.7", {2}), ("price in (0.1, 0.7)", {1, 2}), ("price is null", {3})]:
            assert {one for one in client.search(np.ones((1, 4), np.float32), where=where).ids[0].tolist() if one != -1} == ids, where
    assert held == [0.5, 0.1, 0.7, None]
    assert texts == [b"0.5", b"0.1", b"0.7", b""]


def test_missing_values_are_none(tmp_path, key):
    columns = {
        "float": np.array([1.5, np.nan, 2]),
        "mixed": [1, 2.5, None],
        "masked": np.ma.masked_array([1, 2, 3], mask=[0, 1, 0]),
        "frame": Column(["a", "missing", "b"]),
        "numpy": [np.int8(1), np.float32(0.5), None],
    }
    index = sordino.build(tmp_path / "index", np.eye(3), key=key, attributes=columns, k=3)
    with sordino.Client(index, key=key.reader()) as client:
        assert client.attributes([0, 1, 2]) == [
            {"float": 1.5, "mixed": 1.0, "masked": 1, "frame": "a", "numpy": 1.0},
            {"mixed": 2.5, "numpy": 0.5},
            {"float": 2.0, "masked": 3, "frame": "b"},
        ]


@pytest.mark.parametrize(
    ("attributes", "error", "match"),
    [
        ({"year": [1, 2]}, sordino.AttributesError, "2 values for (at least )?3 vectors"),
        ({"year": [1, 2, 3, 4]}, sordino.AttributesError, "4 values for 3 vectors"),
        ({"year": 2020}, sordino.AttributesError, "one int"),
        ({"year": "abc"}, sordino.AttributesError, "one str"),
        ({7: [1, 2, 3]}, sordino.AttributesError, "expected a str"),
        ([1, 2, 3], sordino.AttributesError, "a dict"),
        ({"year": [1, "x", 3]}, sordino.DtypeError, "value 1 is text, and int before it"),
        ({"year": [True, 1, 2]}, sordino.DtypeError, "value 1 is int, and bool"),
        ({"year": [1, b"x", 3]}, sordino.DtypeError, "value 1 is a bytes"),
        ({"year": np.eye(3)}, sordino.DtypeError, "value 0 is a list"),
        ({"year": [np.eye(2)] * 3}, sordino.DtypeError, "value 0 is a list"),
        ({"hour": [datetime.time(1)] * 3}, sordino.DtypeError, r"is a time, .*isoformat\(\)"),
        ({"took": [datetime.timedelta(1)] * 3}, sordino.DtypeError, r"is a timedelta.*`\.total_seconds\(\)` makes"),
        ({"took": np.array([1, 2, 3], "timedelta64[ns]")}, sordino.DtypeError, r"is a timedelta64.*/ numpy\.timedelta64\(1, 's'\)"),
        ({"year": [datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=9)))] * 3}, sordino.AttributesError, "UTC does not have"),
        ({"price": [decimal.Decimal("1.5")] * 3}, sordino.DtypeError, r"value 0 is a Decimal.*float\(\)"),
        ({"owner": [uuid.UUID(int=1)] * 3}, sordino.DtypeError, r"value 0 is a UUID.*str\(\)"),
        ({"level": [enum.Enum("Level", "low").low] * 3}, sordino.DtypeError, r"value 0 is a Level.*\.value"),
        ({"tags": [["x"], [["y"]], ["z"]]}, sordino.DtypeError, "value 1 is a list.*tags has 'x'"),
        ({"tags": [["x"], 2, ["z"]]}, sordino.DtypeError, "value 1 is int, and text"),
        ({"tags": [["x", 1.5]] * 3}, sordino.DtypeError, "value 0 is a list.*no float"),
        ({"year": [1, 2**63, 3]}, sordino.AttributesError, "value 1 is 9223372036854775808"),
        ({"score": [1.0, 2, float("-inf")]}, sordino.AttributesError, "attribute score: value 2 is -inf, expected a finite number: give None"),
        ({"score": np.array([1, np.inf, 2], np.float32)}, sordino.AttributesError, "value 1 is inf"),
        ({"text": ["x", "\ud800", "y"]}, sordino.AttributesError, "surrogate"),
        ({"text": ["x", "y" * 4097, "z"]}, sordino.AttributesError, "4097 bytes"),
        ({"": [1, 2, 3]}, sordino.AttributesError, "1 to 64 bytes"),
        ({f"column{n}": [1, 2, 3] for n in range(65)}, sordino.AttributesError, "64 columns"),
    ],
)
def test_wrong_attributes_are_refused(tmp_path, key, attributes, error, match):
    for given in (np.eye(3), iter([np.eye(3)])):
        with pytest.raises(error, match=match):
            sordino.build(tmp_path / "index", given, key=key, attributes=attributes, k=1)
    with pytest.raises(error, match=match):
        sordino.build(tmp_path / "index", iter([sordino.Batch(np.eye(3), attributes=attributes)]), key=key, k=1)
    with pytest.raises(sordino.InputError, match="in the batches"):
        sordino.build(tmp_path / "index", iter([sordino.Batch(np.eye(3))]), key=key, attributes={"a": [1, 2, 3]}, k=1)
    assert not (tmp_path / "index").exists()
    index = sordino.build(tmp_path / "there", np.eye(3), key=key, k=1)
    with pytest.raises(error, match=match):
        index.add(np.eye(3), attributes=attributes)
    assert index.info()["version"] == 1


@pytest.mark.parametrize(
    ("where", "match"),
    [
        ("year >=", "filter, character 8"),
        ("height > 1", "no attribute height"),
        ("lang > 3", "lang is text"),
        (b"year > 1", "where is a bytes"),
        ("lang = '\ud800'", "surrogate"),
        ("", "filter, character 1"),
    ],
)
def test_wrong_filters_are_refused_before_anything_is_sent(client, vectors, where, match):
    before = client.stats()["bytes_up"]
    for queries in (vectors[0], vectors[:20]):
        with pytest.raises(sordino.FilterError, match=match):
            client.search(queries, where=where)
    assert client.stats()["bytes_up"] == before
    for threshold in (float("nan"), float("inf"), "much"):
        with pytest.raises(sordino.InputError, match="threshold"):
            client.search(vectors[0], threshold=threshold)


def test_a_collection_without_attributes_has_none(tmp_path, key):
    index = sordino.build(tmp_path / "index", np.eye(3), key=key, k=1)
    with sordino.Client(index, key=key.reader()) as client:
        assert client.attributes([0, 7]) == [{}, None]
        with pytest.raises(sordino.FilterError):
            client.search([1, 0, 0], where="year > 1")
        assert client.search([1, 0, 0], where=None).ids[0, 0] == 0


def test_lists_are_found_by_their_members(tmp_path, key):
    tags = [["x", "o'hara"], ("z", 7), None, [], np.array(["x"])]
    index = sordino.build(tmp_path / "index", np.eye(5), key=key, attributes={"tags": tags})
    index.update([3], attributes={"tags": [["é", None]]})
    with sordino.Client(index, key=key) as client:
        assert client.attributes([0, 1, 2, 3]) == [{"tags": '["x","o\'hara"]'}, {"tags": '["z",7]'}, {}, {"tags": '["é",null]'}]
        for where, expected in [("tags has 'x'", {0, 4}), ("tags has 7", {1}), ("tags has 'é'", {3}), ("tags is null", {2})]:
            assert set(client.search(np.ones(5), where=where).ids[0]) - {-1} == expected
    assert tags[0] == ["x", "o'hara"]


class Series:
    """A column of polars, as far as it is one: the lists in it are columns too."""

    def __init__(self, values):
        self.values = values

    def __iter__(self):
        return (Series(value) if isinstance(value, list) else value for value in self.values)

    def __len__(self):
        return len(self.values)

    def to_list(self):
        return self.values

    def __array__(self, dtype=None, copy=None):
        made = np.empty(len(self.values), object)
        made[:] = self.values
        return made


class PolarsFrame:
    """A frame of such columns, each with its name."""

    def __init__(self, columns):
        self.held = {name: Series(values) for name, values in columns.items()}
        for name, column in self.held.items():
            column.name = name

    @property
    def columns(self):
        return list(self.held)

    def get_columns(self):
        return list(self.held.values())

    def __getitem__(self, name):
        return self.held[name]


@pytest.fixture(params=["polars", "a frame like it"])
def make(request):
    return pytest.importorskip("polars").DataFrame if request.param == "polars" else PolarsFrame


def test_lists_in_columns_of_polars_are_attributes(tmp_path, key, make):
    lists = {"tags": [["x"], ["x", "y"], [], None], "n": [[1], [2, None], None, [3]]}
    frame = make(lists)
    for at, given in enumerate([{name: frame[name] for name in lists}, frame, {name: [*frame[name]] for name in lists}]):
        index = sordino.build(tmp_path / str(at), np.eye(4), key=key, attributes=given)
        check_lists(index, key, [0, 1, 2, 3])
    named = sordino.build(tmp_path / "named", make({"id": [*"abcd"], "vector": np.eye(4).tolist(), **lists}), key=key, attributes=[*lists])
    check_lists(named, key, [*"abcd"])


def check_lists(index, key, ids):
    with sordino.Client(index, key=key) as client:
        assert client.column("tags") == dict(zip(ids, ['["x"]', '["x","y"]', "[]"]))
        assert client.column("n") == {ids[0]: "[1]", ids[1]: "[2,null]", ids[3]: "[3]"}
        assert set(client.column("tags", where="tags has 'x' and n has 2")) == {ids[1]}


class Nanoseconds(list):
    """A column of polars with instants: those of its iterator have no nanoseconds."""

    dtype = types.SimpleNamespace(time_unit="ns", time_zone="Europe/Berlin")

    def __array__(self, dtype=None, copy=None):
        return np.array([*self], "datetime64[ns]")


def test_dates_and_instants_are_texts_as_the_command_makes_them(tmp_path, key):
    day, instant = datetime.date(2024, 5, 6), datetime.datetime(2024, 5, 6, 7, 8, 9, 500_000)
    texts = ["2024-05-06", None, "2024-05-06T07:08:09.500"]
    columns = {
        "objects": [day, None, instant],
        "days": np.array(["2024-05-06", "NaT", "2024-05-07"], "datetime64[D]"),
        "exact": np.array(["2024-05-06T07:08:09.000000001", "NaT", "2024-05-06"], "datetime64[ns]"),
        "scalars": [np.datetime64("2024-05-06", "ns"), np.datetime64("NaT"), np.datetime64("2024-05")],
        "listed": [[day, "x"], None, np.array(["2024-05-06"], "datetime64[ns]")],
        "zoned": Nanoseconds(["2024-05-06T07:08:09.000000001", "NaT", "2024-05-06"]),
    }
    index = sordino.build(tmp_path / "index", np.eye(3), key=key, attributes=columns, k=3)
    with sordino.Client(index, key=key) as client:
        assert [client.column("objects").get(at) for at in range(3)] == texts
        assert client.column("days") == {0: "2024-05-06", 2: "2024-05-07"}
        assert client.column("exact") == {0: "2024-05-06T07:08:09.000000001", 2: "2024-05-06T00:00:00"}
        assert client.column("scalars") == {0: "2024-05-06T00:00:00", 2: "2024-05-01"}
        assert client.column("listed") == {0: '["2024-05-06","x"]', 2: '["2024-05-06T00:00:00"]'}
        assert client.column("zoned") == {0: "2024-05-06T07:08:09.000000001Z", 2: "2024-05-06T00:00:00Z"}
        assert {*client.search(np.ones(3), where="exact > '2024-05-06' and listed has 'x'").ids[0]} == {0, -1}


def test_dates_of_arrow_are_as_the_command_makes_them(tmp_path, key):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    command = os.environ.get("SORDINO_CLI")
    if not command:
        pytest.skip("SORDINO_CLI names no command")
    instants = [datetime.datetime(2024, 5, 6, 7, 8, 9, 120_000), datetime.datetime(1, 2, 3), None]
    table = pa.table({
        "vector": pa.array(np.eye(3).tolist()), "id": [1, 2, 3], "day": pa.array(instants, pa.date32()), "at": instants,
        "zoned": pa.array(instants, pa.timestamp("us", "Europe/Berlin")),
    })
    pq.write_table(table, tmp_path / "table.parquet")
    names = ["day", "at", "zoned"]
    sordino.build(tmp_path / "python", table, key=key, attributes=names, k=1)
    key.save(tmp_path / "owner.key")
    call = [command, "index", "build", "table.parquet", "command", "--key", "owner.key", "--k", "1", "--attribute", ",".join(names)]
    subprocess.run(call, cwd=tmp_path, check=True, capture_output=True)
    read = [sordino.Client(tmp_path / name, key=key) for name in ("python", "command")]
    one, other = (client.attributes([1, 2, 3]) for client in read)
    assert one == other and one[0]["at"] == "2024-05-06T07:08:09.120" and one[2] == {}


def test_instants_with_a_zone_are_texts_in_utc(tmp_path, key):
    # The clocks of Berlin went back at 3:00.
    zones = [datetime.timezone(datetime.timedelta(hours=hours)) for hours in (2, 1)]
    instants = [datetime.datetime(2025, 10, 26, 2, 45, tzinfo=zones[0]), datetime.datetime(2025, 10, 26, 2, 15, tzinfo=zones[1])]
    assert instants[0] < instants[1] and instants[0].isoformat() > instants[1].isoformat()
    index = sordino.build(tmp_path / "index", np.eye(2), key=key, attributes={"t": instants})
    with sordino.Client(index, key=key) as client:
        assert client.column("t") == {0: "2025-10-26T00:45:00Z", 1: "2025-10-26T01:15:00Z"}


def test_columns_may_be_any_mapping(tmp_path, key):
    index = sordino.build(tmp_path / "index", np.eye(2), key=key, attributes=collections.OrderedDict(a=(1, 2)), k=1)
    with sordino.Client(index, key=key.reader()) as client:
        assert client.attributes([1]) == [{"a": 2}]


def test_tables_are_columns_by_name(tmp_path, key, vectors):
    pa = pytest.importorskip("pyarrow")
    index = sordino.build(tmp_path / "index", vectors[:3], key=key, attributes=pa.table({"year": [1, 2, None]}))
    index.update([0], attributes=pa.table({"year": [3]}))
    with sordino.Client(index, key=key) as client:
        assert client.attributes([0, 1, 2]) == [{"year": 3}, {"year": 2}, {}]
    with pytest.raises(sordino.AttributesError, match="year: text, and int"):
        index.update([0], attributes={"year": [datetime.date(2024, 1, 1)]})


def test_a_replaced_record_loses_no_attribute_that_was_not_named(tmp_path, vectors, key):
    ids = [f"d{n}" for n in range(4)]
    index = sordino.build(tmp_path / "index", vectors[:4], key=key, ids=ids, attributes={"year": [1, 2, 3, 4], "lang": ["en", "de", "en", "de"]})
    for given in ({"year": [7]}, {"yaer": [7]}, {"yaer": [7], "year": [7]}):
        with pytest.raises(sordino.AttributesError, match=f"attribute (lang|lang, year|year, lang): the index has it, .* named were {', '.join(given)}[.]"):
            index.add(vectors[:1], ids=ids[:1], attributes=given)
        # A misspelt name would be a column of its own.
        with pytest.raises(sordino.AttributesError, match="the index has it"):
            index.add(vectors[4:5], ids=["new"], attributes=given)
    # None says that there is no value.
    index.add(vectors[4:5], ids=["new"], attributes={"year": [5], "lang": [None]})
    index.add(vectors[:1], ids=ids[:1], attributes={"year": [7], "lang": [None]})
    index.add(vectors[1:2], ids=ids[1:2], attributes={"year": [8]}, leave_empty=True)
    one = [sordino.Batch(vectors[:1], ids=ids[:1], attributes={"lang": [None]}), sordino.Batch(vectors[2:3], ids=ids[2:3])]
    for batches in (one[1:], [sordino.Batch(vectors[2:3], ids=ids[2:3], attributes={"year": [7]})]):
        with pytest.raises(sordino.AttributesError):
            index.add(iter(batches))
    with sordino.Client(tmp_path / "index", key=key.reader()) as client:
        assert client.attributes(["d0", "d1", "d2", "new"]) == [{"year": 7}, {"year": 8}, {"year": 3, "lang": "en"}, {"year": 5}]
