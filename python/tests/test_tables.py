"""Tables: columns with usual names are taken, and nothing is left out without a word."""

import datetime
import gzip
import json
import logging

import numpy as np
import pytest

import sordino

IDS = ["a", "b", "c", "d"]
TEXTS = ["one", "two", "three", "four"]
ROWS = np.eye(4, dtype=np.float32)


class Frame:
    """A data frame of pandas, as far as it is one: columns by name, and an index."""

    def __init__(self, columns, index=None):
        self.data = columns
        self.index = Column(range(4)) if index is None else index

    @property
    def columns(self):
        return list(self.data)

    def __getitem__(self, names):
        if isinstance(names, list):
            return Frame({name: self.data[name] for name in names})
        return self.data[names]

    def __array__(self, dtype=None, copy=None):
        return np.stack([np.asarray(column) for column in self.data.values()], axis=1)


class Column(list):
    name = None


def coordinates():
    return {f"f{at}": ROWS[:, at] for at in range(4)}


def check(index, key, ids=IDS, payloads=TEXTS):
    with sordino.Client(index, key=key) as client:
        assert client.search(ROWS, k=1).ids[:, 0].tolist() == list(ids)
        if payloads is not None:
            assert client.payloads(list(ids)) == [text.encode() for text in payloads]
        else:
            assert client.search(ROWS, k=1).payloads is None


FRAMES = {
    "a column of vectors": {"id": IDS, "text": TEXTS, "embedding": [*ROWS]},
    "a column of vectors by another name": {"id": IDS, "content": TEXTS, "v": [*ROWS]},
    "columns of coordinates": {"ID": IDS, **coordinates(), "document": TEXTS},
}


@pytest.mark.parametrize("name", FRAMES)
def test_usual_columns_of_a_frame_are_taken_and_told(tmp_path, key, name, caplog):
    caplog.set_level(logging.INFO, "sordino")
    frame = Frame(FRAMES[name])
    index = sordino.build(tmp_path / "index", frame, key=key, k=1)
    check(index, key)
    assert set(index.taken) >= {"ids", "payloads"}
    assert all(f"{argument} from column {column}" in caplog.text for argument, column in index.taken.items())
    index.add(Frame({**FRAMES[name], "id" if "id" in FRAMES[name] else "ID": [*"efgh"]}))
    assert index.ids() == [*"abcdefgh"] and set(index.taken) >= {"ids", "payloads"}


def test_frames_of_arrow_are_taken_too(tmp_path, key):
    pa = pytest.importorskip("pyarrow")
    for at, data in enumerate(FRAMES.values()):
        data = {name: [row.tolist() if isinstance(row, np.ndarray) else row for row in column] for name, column in data.items()}
        index = sordino.build(tmp_path / str(at), pa.table(data), key=key, k=1)
        check(index, key)


def test_the_index_of_a_frame_is_its_ids_if_it_is_called_so(tmp_path, key):
    named = Column(IDS)
    named.name = "id"
    index = sordino.build(tmp_path / "frame", Frame(coordinates(), named), key=key, k=1)
    check(index, key, payloads=None)
    assert index.taken == {"ids": "id (the index)"}
    # The ids are row numbers, as usual.
    check(sordino.build(tmp_path / "rows", Frame(coordinates()), key=key, k=1), key, range(4), None)


def test_columns_can_be_named(tmp_path, key):
    frame = Frame({"doc_id": IDS, "id": [9, 8, 7, 6], "body": TEXTS, "vector": [*ROWS]})
    with pytest.raises(sordino.InputError, match="columns doc_id, body that would be left out"):
        sordino.build(tmp_path / "index", frame, key=key, k=1)
    check(sordino.build(tmp_path / "index", frame, key=key, ids="doc_id", payloads="body", k=1), key)
    with pytest.raises(sordino.InputError, match="ids = 'uid': a Frame has no such column, and has doc_id, id"):
        sordino.build(tmp_path / "other", frame, key=key, ids="uid", payloads="body", k=1)
    # If ids are given, the column of ids is still no part of the vector. Columns to filter by are not left out.
    frame = Frame({"id": IDS, **coordinates()})
    check(sordino.build(tmp_path / "given", frame, key=key, ids=[4, 5, 6, 7], k=1), key, [4, 5, 6, 7], None)
    frame = Frame({"id": IDS, "year": [1, 2, 3, 4], "vector": [*ROWS]})
    index = sordino.build(tmp_path / "filtered", frame, key=key, attributes={"year": frame["year"]}, k=1)
    with sordino.Client(index, key=key) as client:
        assert client.attributes("c") == [{"year": 3}]


@pytest.mark.parametrize("vectors", [{"vector": [*ROWS]}, coordinates()], ids=["a column of vectors", "columns of coordinates"])
def test_columns_to_filter_by_can_be_named(tmp_path, key, vectors):
    frame = Frame({"id": IDS, "year": [1, 2, 3, 4], "tags": [["x"], ["y"], [], None], **vectors})
    index = sordino.build(tmp_path / "index", frame, key=key, attributes=["year", "tags"], k=1)
    other = Frame({"id": ["e", "f", "g", "h"], "year": [5, 6, 7, 8], **vectors})
    index.add(other, attributes="year", leave_empty=True)
    with sordino.Client(index, key=key) as client:
        assert client.stats()["dim"] == 4
        assert client.attributes(["c", "d", "g"]) == [{"year": 3, "tags": "[]"}, {"year": 4}, {"year": 7}]
        assert client.search(ROWS[0], where="tags has 'y'").ids[0, 0] == "b"
    for wrong in (["year", "month"], "month"):
        with pytest.raises(sordino.AttributesError, match="a Frame has no column 'month', and has id, year"):
            index.add(other, attributes=wrong)
    for rows in (ROWS, iter([ROWS])):
        with pytest.raises(sordino.AttributesError, match="columns of a data frame"):
            sordino.build(tmp_path / "rows", rows, key=key, attributes=["year"], k=1)
    if "vector" in vectors:
        with pytest.raises(sordino.InputError, match=r"left out: name those to filter by, attributes=\['year', 'tags'\]"):
            sordino.build(tmp_path / "lost", frame, key=key, attributes=["year"], k=1)


def test_errors_about_a_file_name_it(tmp_path, key):
    latin = tmp_path / "latin.csv"
    latin.write_text('id;vector\n1;"[1, 2]"\n')
    index = sordino.build(tmp_path / "index", ROWS[:, :2] + 1, key=key, k=1)
    for use in (lambda: sordino.build(tmp_path / "other", latin, key=key), lambda: index.add(latin)):
        with pytest.raises(sordino.FormatError, match=r"latin\.csv: line 1: .*pandas\.read_csv\('.*latin\.csv', sep=';', dtype=str, keep_default_na=False\)\.to_csv"):
            use()
    latin.write_text('id\tvector\n1\t"[1, 2]"\n')
    with pytest.raises(sordino.FormatError, match=r"latin\.csv', sep='\\t', dtype=str"):
        index.add(latin)
    latin.write_text('id,vector\n1,"[1, 2]"\n2,"[1]"\n')
    with pytest.raises(sordino.FormatError, match=r"latin\.csv: line 3: a vector of dimension 1"):
        sordino.build(tmp_path / "other", latin, key=key)
    with pytest.raises(sordino.AttributesError, match=r"latin\.csv is a file"):
        sordino.build(tmp_path / "other", latin, key=key, attributes=["year"])


def test_columns_of_a_file_that_have_no_argument_have_a_way(tmp_path, key):
    for at, lines in enumerate([['{"id":1,"a":[1,2],"b":[3,4]}'] * 2, ['{"id":1,"vector":[1,2]}', '{"id":2,"vector":[1,3],"Text":"x"}']]):
        (tmp_path / f"{at}.jsonl").write_text("\n".join(lines))
        with pytest.raises(sordino.FormatError, match="read it into a data frame, give its column of vectors"):
            sordino.build(tmp_path / "index", tmp_path / f"{at}.jsonl", key=key)


def test_what_is_not_clear_is_refused(tmp_path, key):
    frame = Frame({"id": IDS, "text": TEXTS, "content": TEXTS, "vector": [*ROWS]})
    with pytest.raises(sordino.InputError, match="text and content could each be the payloads.*payloads='text'"):
        sordino.build(tmp_path / "index", frame, key=key, k=1)
    check(sordino.build(tmp_path / "index", frame, key=key, payloads="content", k=1), key)
    numbered = Frame({"id": [5, 6, 7, 8], **coordinates()})
    with pytest.raises(sordino.InputError, match="column id, which is no coordinate"):
        sordino.build(tmp_path / "stream", iter([numbered]), key=key, k=1)
    with sordino.Client(tmp_path / "index", key=key) as client, pytest.raises(sordino.InputError, match="no coordinate"):
        client.search(numbered)


def written(folder, ids=IDS):
    """Files with the same records in several forms."""
    records = [{"id": id, "text": text, "embedding": row.tolist()} for id, text, row in zip(ids, TEXTS, ROWS)]
    (folder / "lines.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    table = "id,text,embedding\n" + "".join(f'{one["id"]},{one["text"]},"{one["embedding"]}"\n' for one in records)
    (folder / "table.csv").write_text(table)
    (folder / "table.csv.gz").write_bytes(gzip.compress(table.encode()))
    return ["lines.jsonl", "table.csv", "table.csv.gz"]


@pytest.mark.parametrize("given", [IDS, [5, 2**53 + 1, 7, 8]])
def test_usual_columns_of_a_file_are_taken(tmp_path, key, given):
    for at, name in enumerate(written(tmp_path, given)):
        # CSV has texts alone, as for the command.
        ids = given if "jsonl" in name else [str(id) for id in given]
        index = sordino.build(tmp_path / str(at), tmp_path / name, key=key, k=1)
        check(index, key, ids)
        assert index.taken == {"vectors": "embedding", "ids": "id", "payloads": "text"}
        index.add(tmp_path / name)
        assert index.ids() == sorted(ids)
        # Columns that are given replace the usual ones.
        other = sordino.build(tmp_path / f"other {at}", tmp_path / name, key=key, ids=[1, 2, 3, 4], payloads="id", k=1)
        check(other, key, [1, 2, 3, 4], map(str, ids))
        with pytest.raises(sordino.InputError, match="ids = 'uid': .*and has "):
            index.add(tmp_path / name, ids="uid")


def test_texts_of_a_file_are_ids_of_the_index(tmp_path, key):
    index = sordino.build(tmp_path / "index", ROWS[:1], key=key, ids=[5], payloads=["old"], k=1)
    for name in written(tmp_path, [5, 2**53 + 1, 7, 8]):
        index.add(tmp_path / name)
        assert index.ids() == [5, 7, 8, 2**53 + 1]
    written(tmp_path)
    with pytest.raises(sordino.Error, match="a"):
        index.add(tmp_path / "table.csv")


def test_usual_columns_of_parquet_are_taken(tmp_path, key):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"id": IDS, "text": TEXTS, "embedding": ROWS.tolist()}), tmp_path / "table.parquet")
    check(sordino.build(tmp_path / "index", str(tmp_path / "table.parquet"), key=key, k=1), key)
    # Pandas writes its index in this form.
    schema = pa.schema([("embedding", pa.list_(pa.float32())), ("id", pa.string())], {"pandas": json.dumps({"index_columns": ["id"], "columns": []})})
    pq.write_table(pa.table({"embedding": ROWS.tolist(), "id": IDS}, schema), tmp_path / "pandas.parquet")
    check(sordino.build(tmp_path / "pandas", tmp_path / "pandas.parquet", key=key, k=1), key, payloads=None)


def test_values_of_a_file_are_payloads_as_the_command_makes_them(tmp_path, key):
    lines = [{"id": 1, "text": {"a": [1, None]}, "vector": [1, 0]}, {"id": 2, "text": "plain", "vector": [0, 1]}, {"id": 3, "vector": [1, 1]}]
    (tmp_path / "lines.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    index = sordino.build(tmp_path / "index", tmp_path / "lines.jsonl", key=key, k=1)
    assert index.payloads() == {1: b'{"a":[1,null]}', 2: b"plain", 3: b""} or index.payloads()[1] == b'{"a": [1, null]}'
    # The first record lacks a member that others have: their ids would be lost.
    (tmp_path / "late.jsonl").write_text('{"vector": [1, 0]}\n{"vector": [0, 1], "id": 5}\n')
    with pytest.raises(sordino.Error, match="id"):
        sordino.build(tmp_path / "late", tmp_path / "late.jsonl", key=key, k=1)
    assert not (tmp_path / "late").exists()


def test_files_without_columns_are_what_they_were(tmp_path, key):
    np.save(tmp_path / "rows.npy", ROWS)
    check(sordino.build(tmp_path / "index", tmp_path / "rows.npy", key=key, k=1), key, range(4), None)
    with pytest.raises(sordino.DtypeError, match="ids: one str"):
        sordino.build(tmp_path / "other", tmp_path / "rows.npy", key=key, ids="id", k=1)


def test_additions_do_not_lose_what_records_have(tmp_path, key):
    index = sordino.build(tmp_path / "index", ROWS, key=key, ids=IDS, payloads=TEXTS, attributes={"n": [1, 2, 3, 4]}, k=1)
    for how, error, match in [
        ({"attributes": {"n": [9]}}, sordino.PayloadError, "no payloads, and this index has payloads.*leave_empty=True"),
        ({"payloads": ["new"]}, sordino.AttributesError, "no attributes, and this index has attributes.*leave_empty=True"),
        ({"payloads": ["new"], "attributes": {}}, sordino.AttributesError, "no attributes"),
    ]:
        for rows in (ROWS[:1], iter([ROWS[:1]])):
            with pytest.raises(error, match=match):
                index.add(rows, ids=["a"], **how)
    with pytest.raises(sordino.PayloadError, match="no payloads"):
        index.add(iter([sordino.Batch(ROWS[:1], ids=["a"], attributes={"n": [9]})]))
    with pytest.raises(sordino.InputError, match="leave_empty = 1"):
        index.add(ROWS[:1], ids=["a"], leave_empty=1)
    assert index.info()["version"] == 1
    index.add(ROWS[:1], ids=["a"], leave_empty=True)
    # None means that a record has no value.
    index.add(ROWS[1:2], ids=["b"], payloads=[None], attributes={"n": [None]})
    with sordino.Client(index, key=key) as client:
        assert client.payloads(["a", "b", "c"]) == [b"", b"", b"three"]
        assert client.attributes(["a", "b", "c"]) == [{}, {}, {"n": 3}]


def test_ids_that_no_argument_names_replace_no_rows(tmp_path, key):
    index = sordino.build(tmp_path / "index", ROWS, key=key, payloads=TEXTS, k=1)
    index.delete([3])
    named = Column([0, 1, 2, 3])
    named.name = "id"
    written(tmp_path, [0, 1, 2, 3])
    frames = Frame({"id": [0, 1, 2, 3], **coordinates(), "text": TEXTS}), Frame({**coordinates(), "text": TEXTS}, named)
    for given, column in [(frames[0], "'id'"), (frames[1], r"frame\.index"), (tmp_path / "lines.jsonl", "'id'")]:
        with pytest.raises(sordino.IdsError, match=rf"ids 0 to 2, which may be row numbers\. Give ids={column} if .* or ids=range\(3, 7\)"):
            index.add(given)
    assert index.info()["version"] == 2
    for at, given in enumerate([*frames, tmp_path / "lines.jsonl"]):
        index.add(given, ids=range(3 + 4 * at, 7 + 4 * at))
    assert index.ids() == [*range(15)]
    index.add(frames[0], ids="id")
    # Ids above the number of records are no row numbers.
    other = sordino.build(tmp_path / "other", ROWS, key=key, ids=[7, 5, 9, 50], k=1)
    other.add(Frame({"id": [7, 8, 9, 10], **coordinates()}))
    assert len(index) == 15 and other.ids() == [5, 7, 8, 9, 10, 50]


def test_exported_files_lose_nothing_silently(tmp_path, key):
    index = sordino.build(tmp_path / "index", ROWS, key=key, ids=IDS, k=1)
    lines = [{"id": id, "payload": text, "attributes": {"n": 1}, "vector": row.tolist()} for id, text, row in zip(IDS, TEXTS, ROWS)]
    path = tmp_path / "exported.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for use in (lambda **how: sordino.build(tmp_path / "again", path, key=key, k=1, **how), lambda **how: index.add(path, **how)):
        with pytest.raises(sordino.InputError, match=r"exported\.jsonl: it has id and vector, and payload would be lost.*--exported. takes all of it\. ids='id' takes"):
            use()
        with pytest.raises(sordino.InputError, match="attributes would be lost"):
            use(payloads="payload")
        use(ids="id", payloads="payload")
    check(sordino.open(tmp_path / "again", key=key), key)
    check(index, key)


def test_lines_without_a_text_empty_no_record(tmp_path, key):
    index = sordino.build(tmp_path / "index", ROWS, key=key, ids=IDS, payloads=TEXTS, k=1)
    path = tmp_path / "lines.jsonl"
    lines = [{"id": "a", "text": "new", "vector": [1, 0, 0, 1]}, {"id": "z", "vector": [1, 0, 1, 1]}, {"id": "c", "vector": [1, 1, 1, 1]}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for how in ({}, {"ids": "id"}, {"ids": ["x", "y", "c"], "payloads": "text"}):
        with pytest.raises(sordino.PayloadError, match=r"lines\.jsonl: the record with id c has no text.*leave_empty=True"):
            index.add(path, **how)
    assert index.info()["version"] == 1
    path.write_text("".join(json.dumps(line) + "\n" for line in lines[:2]))
    index.add(path)
    assert index.payloads() == {"a": b"new", "b": b"two", "c": b"three", "d": b"four", "z": b""}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    index.add(path, leave_empty=True)
    assert index.payloads()["c"] == b""


class Typed:
    """A frame of polars, as far as it is one: its array has numbers for values of every type."""

    def __init__(self, columns):
        self.held = [Column(values) for values in columns.values()]
        for column, (name, values) in zip(self.held, columns.items()):
            column.name, column.dtype = name, "Boolean" if values[0] is True else "Date"

    @property
    def columns(self):
        return [column.name for column in self.held]

    def get_columns(self):
        return self.held

    def __getitem__(self, name):
        return next(column for column in self.held if column.name == name)

    def __array__(self, dtype=None, copy=None):
        return np.stack([np.asarray(column).astype(float) for column in self.held], axis=1)


@pytest.mark.parametrize("wrong", [[True, False, True, False], [np.datetime64("2024-01-01")] * 4, [np.timedelta64(1, "s")] * 4], ids=["bool", "date", "duration"])
def test_columns_of_other_types_are_no_coordinates(tmp_path, key, wrong):
    for given in (Typed({**coordinates(), "seen": wrong}), iter([Typed({**coordinates(), "seen": wrong})])):
        with pytest.raises(sordino.DtypeError, match="a Typed whose column seen is (Boolean|Date), which is no coordinate"):
            sordino.build(tmp_path / "index", given, key=key, k=1)
    assert len(sordino.build(tmp_path / "index", Typed(coordinates()), key=key, k=1)) == 4


def test_columns_of_one_name_are_refused(tmp_path, key):
    pa = pytest.importorskip("pyarrow")
    table = pa.table([pa.array(ROWS.tolist()), pa.array(TEXTS), pa.array(TEXTS)], names=["vector", "text", "text"])
    for how in ({}, {"payloads": "text"}, {"attributes": ["text"]}):
        with pytest.raises(sordino.InputError, match="a Table: 2 columns are called text: expected one"):
            sordino.build(tmp_path / "index", table, key=key, k=1, **how)
    with pytest.raises(sordino.AttributesError, match="attribute text: it is given twice"):
        sordino.build(tmp_path / "index", ROWS, key=key, k=1, attributes=table.select([1, 2]))


def test_the_advice_names_all_columns(tmp_path, key):
    frame = Frame({"id": IDS, "vector": [*ROWS], **{name: [1, 2, 3, 4] for name in "abcdef"}})
    for given in (["b"], {"b": frame["b"]}):
        with pytest.raises(sordino.InputError, match=r"attributes=\['a', 'b', 'c', 'd', 'e', 'f'\]"):
            sordino.build(tmp_path / "index", frame, key=key, k=1, attributes=given)


def test_a_frame_without_vectors_says_which_column_to_give(tmp_path, key):
    years = {"year": [1, 2, 3, 4], "stars": [1, 2, 3, 4]}
    for columns in ({"id": IDS, "text": TEXTS}, {"id": IDS, "emb": [*ROWS], "year": [1, 2, 3, 4]}, {"id": IDS, **years}, {"id": IDS, "doc_id": IDS, **coordinates()}):
        with pytest.raises(sordino.InputError, match="no column of vectors that is called vector or embedding or embeddings.*frame\\['NAME'\\]"):
            sordino.build(tmp_path / "index", Frame(columns), key=key, k=1)


def test_a_column_among_coordinates_may_be_none(tmp_path, key):
    with pytest.raises(sordino.InputError, match="columns f0 to f3, and doc_id, which may be no coordinates"):
        sordino.build(tmp_path / "index", Frame({"doc_id": [7, 8, 9, 10], **coordinates()}), key=key, k=1)
    sordino.build(tmp_path / "index", Frame(dict(zip("wxyz", ROWS.T))), key=key, k=1)


def test_ids_that_became_decimals_are_refused(tmp_path, key):
    index = sordino.build(tmp_path / "index", ROWS, ids=["1", "2", "3.0", "x.0"], key=key, k=1)
    with pytest.raises(sordino.IdsError, match="id 2.0: the index has 2; give whole numbers"):
        index.add(ROWS, ids=["9", "x.0", "2.0", "3.0"])
    index.add(ROWS, ids=["9", "x.0", "7.0", "3.0"])


def test_the_same_records_are_added_each_night(tmp_path, key):
    frame = Frame({"id": [500, 501, 502, 503], "embedding": [*ROWS]})
    index = sordino.build(tmp_path / "index", frame, key=key, k=1)
    for _ in range(150):
        index.add(frame)
    assert len(index) == 4 and index.info()["stored"] > 503


def test_frames_without_rows_hold_no_vectors(tmp_path, key):
    index = sordino.build(tmp_path / "index", ROWS, key=key, k=1)
    for given in (np.empty(0, object), np.empty((0, 4), object)):
        with pytest.raises(sordino.EmptyError, match="no vectors"):
            index.add(given)
    index.add(iter([sordino.Batch(np.empty(0, object)), sordino.Batch(ROWS)]))
    assert len(index) == 8
    with pytest.raises(sordino.DtypeError, match=r"ids: a Frame, expected one column of it: update\(frame\['id'\], payloads="):
        index.update(Frame({"id": [1], "text": ["x"]}))


class Answer:
    """What an embedding service gives for a text."""

    def __init__(self, row):
        self.embedding = row.tolist()


class Answers:
    """All that it gives."""

    def __init__(self, rows):
        self.data = [Answer(row) for row in rows]

    def __iter__(self):
        return iter(vars(self).items())


def refused(tmp_path, key, rows):
    with pytest.raises(sordino.InputError) as caught:
        sordino.build(tmp_path / "refused", rows, key=key)
    assert not (tmp_path / "refused").exists() and "inhomogeneous" not in str(caught.value)
    return str(caught.value)


def test_vectors_that_are_texts_are_told_and_how_to_read_them(tmp_path, key):
    texts = [str(row.tolist()) for row in ROWS]
    (tmp_path / "rt.csv").write_text("id,embedding\n" + "".join(f'{id},"{text}"\n' for id, text in zip(IDS, texts)))
    frame = Frame({"id": IDS, "embedding": texts})
    for rows in (frame, texts, np.array(texts), np.array(texts, object)):
        text = refused(tmp_path, key, rows)
        assert "row 0 is a str" in text and "leave rows" not in text
        assert "`[json.loads(row) for row in rows]`" in text and "sordino.build(..., 'FILE.csv')" in text
    # Both ways that the advice names.
    check(sordino.build(tmp_path / "file", tmp_path / "rt.csv", key=key, k=1), key, payloads=None)
    frame.data["embedding"] = [json.loads(row) for row in texts]
    check(sordino.build(tmp_path / "read", frame, key=key, k=1), key, payloads=None)
    assert "numpy printed this text" in refused(tmp_path, key, [str(row) for row in ROWS])
    assert "json" not in refused(tmp_path, key, IDS)
    # Without a vector, a row is left out; that is the advice for such rows alone.
    assert "row 1 is a missing value, expected numbers: leave rows without a vector out" in refused(tmp_path, key, [ROWS[0], None])


def test_a_frame_is_no_list_of_ids(tmp_path, key):
    index = sordino.build(tmp_path / "index", ROWS, key=key, ids=IDS, payloads=TEXTS, k=1)
    frame = Frame({"id": IDS, "text": TEXTS})
    with sordino.Client(index, key=key) as client:
        for call in (index.delete, index.labels, index.__contains__, client.payloads, client.attributes, lambda ids: index.add(ROWS, ids=ids, payloads=TEXTS),
                     lambda ids: sordino.build(tmp_path / "other", ROWS, key=key, ids=ids), lambda ids: sordino.build(tmp_path / "other", iter([sordino.Batch(ROWS, ids=ids)]), key=key)):
            with pytest.raises(sordino.DtypeError, match=r"ids: a Frame of the columns id, text, expected one column of it, as in frame\['id'\]"):
                call(frame)
    assert len(index) == 4


def test_advice_on_columns_can_be_followed(tmp_path, key):
    others = {"lang": TEXTS, "when": [datetime.date(2024, 1, 1)] * 4, "took": [datetime.timedelta(1)] * 4, "inner": [{"a": 1}] * 4, "huge": [2**63] * 4, "raw": [b"x"] * 4}
    frame = Frame({"id": IDS, "vector": [*ROWS], **others})
    text = refused(tmp_path, key, frame)
    assert "attributes=['lang', 'when'], or give a frame without them, or convert took, inner, huge, raw, which attributes do not have" in text
    sordino.build(tmp_path / "index", frame[["id", "vector", "lang", "when"]], key=key, attributes=["lang", "when"], k=1)
    text = refused(tmp_path, key, frame[["id", "vector", "took"]])
    assert "attributes=" not in text and "give a frame without them, or convert took" in text


def test_objects_with_a_vector_are_told_by_their_field(tmp_path, key):
    answers = Answers(ROWS)
    assert "row 0 is a Answer, expected numbers: `[row.embedding for row in rows]`" in refused(tmp_path, key, answers.data)
    assert "`[row.embedding for row in it.data]`" in refused(tmp_path, key, answers)
    assert "its `.embedding` has the numbers; an iterator yields" in refused(tmp_path, key, iter(answers.data))
    index = sordino.build(tmp_path / "index", [row.embedding for row in answers.data], key=key, k=1)
    with sordino.Client(index, key=key) as client, pytest.raises(sordino.DtypeError, match="queries: a Answer.*embedding"):
        client.search(answers.data[0])


def test_items_of_an_iterator_that_are_no_rows_are_told(tmp_path, key):
    yields = "an iterator yields arrays of shape (n, dim), or sordino.Batch(rows, ids=ids)"
    for items, what in [
        ([{"id": id, "embedding": row} for id, row in zip(IDS, ROWS)], "a dict, expected rows of numbers: a data frame of these rows"),
        (zip(IDS, ROWS), "a tuple of a str and a ndarray, expected rows"),
        (enumerate(ROWS.tolist()), "a tuple of a int and a list, expected rows"),
        (ROWS, "of shape (4,): expected (n, dim)"),
        ([[[1.0, 2.0], [3.0]]], "row 1 has 1 numbers, and row 0 has 2"),
    ]:
        text = refused(tmp_path, key, iter(items))
        assert text.startswith("array 0 of the iterator") and what in text and text.endswith(yields)
    assert "row 0 is a tuple of a str and a ndarray, expected numbers: give the vectors alone, and ids apart" in refused(tmp_path, key, [*zip(IDS, ROWS)])
    batches = iter([sordino.Batch(ROWS[:2], ids=IDS[:2]), sordino.Batch(ROWS[2:], ids=IDS[2:])])
    check(sordino.build(tmp_path / "index", batches, key=key, k=1), key, payloads=None)
