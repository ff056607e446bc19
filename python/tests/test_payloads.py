"""Payloads as people have them: texts, dates, decimals, lists, data frames, and values that are missing."""

import datetime
import decimal
import json
import uuid
import zoneinfo

import numpy as np
import pytest
import sordino

UTC = datetime.timezone.utc


def stored(tmp_path, key, values):
    count = len(values)
    index = sordino.build(tmp_path / "index", np.eye(count), key=key, k=1, payloads=values)
    found = index.payloads()
    return [found[at] for at in range(count)]


def test_values_of_python_and_numpy_are_json(tmp_path, key):
    summer = datetime.datetime(2024, 7, 3, 11, 46, 40, 120_000, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
    expected = {
        "text": "text",
        b"\xff": b"\xff",
        None: "",
        float("nan"): "",
        True: "true",
        7: "7",
        0.5: "0.5",
        decimal.Decimal("12.50"): "12.50",
        decimal.Decimal("1E+3"): "1000",
        decimal.Decimal("NaN"): "",
        datetime.date(2024, 7, 3): "2024-07-03",
        summer: "2024-07-03T09:46:40.120Z",
        datetime.datetime(2024, 7, 3, 9): "2024-07-03T09:00:00",
        datetime.time(0, 1, 1): "00:01:01",
        datetime.timedelta(days=-1): "-PT86400S",
        uuid.UUID(int=1): f"{uuid.UUID(int=1)}",
        (1, "ü", None, b"\xff", float("nan")): '[1,"ü",null,"/w==",null]',
        np.int64(2**62): str(2**62),
        np.float32(0.1): "0.1",
        np.bool_(False): "false",
        np.datetime64("NaT"): "",
        np.datetime64("2024-07-03T09:46:40.120000007"): "2024-07-03T09:46:40.120000007",
        np.datetime64("2024-07"): "2024-07-01",
        np.timedelta64(90_500, "ms"): "PT90.5S",
    }
    values = [*expected, {"a": [np.array([1, 2]), {"b": datetime.date(2024, 7, 3)}]}]
    texts = [*expected.values(), '{"a":[[1,2],{"b":"2024-07-03"}]}']
    assert stored(tmp_path, key, values) == [text if isinstance(text, bytes) else text.encode() for text in texts]


@pytest.mark.parametrize("number", [float("inf"), np.float32("-inf"), decimal.Decimal("Infinity")])
def test_infinite_numbers_are_refused_with_their_place(tmp_path, key, number):
    for value in (number, [1, number], {"x": number}, {"x": np.array([1.0, float(number)])}):
        with pytest.raises(sordino.PayloadError, match=r"payload 1 has the number -?[Ii]nf"):
            sordino.build(tmp_path / "index", np.eye(2), key=key, k=1, payloads=["a", value])
    assert not (tmp_path / "index").exists()


def test_a_payload_that_is_too_long_is_named_with_its_record(tmp_path, key):
    rows, most = np.eye(4), 1_048_572
    payloads, long = ["a"] * 3 + ["x" * most], ["a"] * 3 + ["x" * (most + 1)]
    index = sordino.build(tmp_path / "index", rows, key=key, ids=list("abcd"), payloads=payloads, k=1)
    for call, match in [
        (lambda: sordino.build(tmp_path / "other", rows, key=key, payloads=long), "payload 3 of"),
        (lambda: sordino.build(tmp_path / "other", rows, key=key, ids=list("efgh"), payloads=long), "record 'h': payload 3 of"),
        (lambda: sordino.build(tmp_path / "other", iter([rows, rows]), key=key, ids=range(10, 18), payloads=payloads + long), "record 17: payload 7 of"),
        (lambda: index.add(rows, ids=list("efgh"), payloads=long), "record 'h': payload 3 of"),
        (lambda: index.add(iter([sordino.Batch(rows, ids=list("efgh"), payloads=long)])), "batch 0 of the iterator: record 'h': payload 3 of"),
        (lambda: index.update(list("ab"), long[2:]), "record 'b': payload 1 of"),
    ]:
        with pytest.raises(sordino.PayloadError, match=f"^{match} {most + 1} bytes: expected at most {most}; divide it"):
            call()
    assert index.info()["version"] == 1 and index.payloads()["d"] == payloads[3].encode()


def test_columns_of_data_frames_are_json(tmp_path, key):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "day": pd.to_datetime(["2024-07-03", None]),
            "seen": pd.to_datetime(["2024-07-03T09:46:40.120Z", None]),
            "count": pd.array([1, None], "Int64"),
            "tags": [["a", "b"], None],
        }
    )
    for name, expected in [
        ("day", [b"2024-07-03T00:00:00", b""]),
        ("seen", [b"2024-07-03T09:46:40.120Z", b""]),
        ("count", [b"1", b""]),
        ("tags", [b'["a","b"]', b""]),
    ]:
        assert stored(tmp_path / name, key, frame[name]) == expected, name
    with pytest.raises(sordino.PayloadError, match="to_dict"):
        stored(tmp_path / "frame", key, frame)
    rows = stored(tmp_path / "rows", key, frame.to_dict("records"))
    assert json.loads(rows[1]) == {"day": None, "seen": None, "count": None, "tags": None}


class Column(list):
    """A column of polars, as far as it is one. As an array it has tuples for records, and floats where numbers are missing."""

    dtype = "List"

    def to_list(self):
        return [*self]

    def __array__(self, dtype=None, copy=None):
        return np.array([tuple(one.values()) if isinstance(one, dict) else float("nan") if one is None else float(one) for one in self], object)


def test_lists_in_columns_of_polars_keep_their_values(tmp_path, key):
    values = [Column([{"role": "user", "text": "hi"}]), Column([2**60 + 1, None]), Column([Column([{"a": 1}])])]
    assert stored(tmp_path, key, values) == [b'[{"role":"user","text":"hi"}]', b"[1152921504606846977,null]", b'[[{"a":1}]]']


def test_columns_of_arrow_are_those_of_its_files(tmp_path, key):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    when = datetime.datetime(2024, 7, 3, 1, 2, 3, 500_000)
    for at, column in enumerate([
        pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        pa.array([when, None, when]),
        pa.array([when, None, when], pa.timestamp("ms", "Europe/Berlin")),
        pa.array([when.date(), None, when.date()]),
        pa.array([when - datetime.datetime(2024, 7, 3), None, datetime.timedelta(0)]),
        pa.array([decimal.Decimal("12.50"), None, decimal.Decimal("-1.00")]),
        pa.array([[when.date()], [], None]),
    ]):
        table = pa.table({"vector": np.eye(3).tolist(), "text": column})
        pq.write_table(table, tmp_path / "table.parquet")
        given = {"frame": table, "file": tmp_path / "table.parquet", "batch": iter([sordino.Batch(np.eye(3), payloads=column)])}
        found = [sordino.build(tmp_path / f"{at}-{name}", one, key=key, k=1).payloads() for name, one in given.items()]
        assert found[0] == found[1] == found[2], column.type


def test_columns_of_arrow_are_json(tmp_path, key):
    pa = pytest.importorskip("pyarrow")
    for at, (column, expected) in enumerate([
        (pa.array(["a", None]), [b"a", b""]),
        (pa.array([decimal.Decimal("12.50"), None]), [b"12.50", b""]),
        (pa.array([{"name": "a", "at": datetime.datetime(2024, 7, 3, tzinfo=UTC)}, None]), [b'{"name":"a","at":"2024-07-03T00:00:00Z"}', b""]),
        (pa.chunked_array([[[1]], [[2, None]]]), [b"[1]", b"[2,null]"]),
    ]):
        assert stored(tmp_path / str(at), key, column) == expected, column
