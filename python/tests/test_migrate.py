"""What a migration makes of rows, and the command around it. The stores themselves are in test_migrate_stores.py."""

import json
import math
import sys
from datetime import date, datetime, timezone
from decimal import Decimal
from uuid import UUID

import numpy as np
import pytest

import sordino
from sordino.migrate import _command, _store, main

DIM = 8


class Rows(_store.Store):
    """A store in memory."""

    name = "the store"
    metric = "cosine"
    left = ()

    def __init__(self, rows, *, later=None):
        self.count = len(rows)
        self._rows, self._later = rows, later

    def rows(self, vectors):
        yield from self._later if vectors and self._later is not None else self._rows

    def dims(self):
        return {DIM: self.count}


def rows(n, metadata=lambda at: {}, text=lambda at: f"text {at}", id=lambda at: f"id-{at}", seed=1):
    vectors = np.random.default_rng(seed).standard_normal((n, DIM), dtype=np.float32)
    return [_store.Row(id(at), vectors[at], text(at), metadata(at)) for at in range(n)]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Migrates a store in memory; returns the exit code and the printed report, or the error."""
    sordino.keygen().save(tmp_path / "owner.key")
    monkeypatch.chdir(tmp_path)

    def run(store, *line, index="my.index"):
        store = Rows(store) if isinstance(store, list) else store
        monkeypatch.setattr(_command, "_opened", lambda options: store)
        capsys.readouterr()
        code = main(["qdrant", "somewhere", index, "--key", "owner.key", "--json", *line])
        out, err = capsys.readouterr()
        return code, json.loads(out) if code == 0 else json.loads(err)["error"]

    return run


@pytest.fixture
def held(tmp_path):
    """All that an index holds: payloads and attributes by id."""

    def held(ids, index="my.index"):
        key = sordino.OwnerKey.load(tmp_path / "owner.key")
        opened = sordino.open(tmp_path / index, key=key)
        opened.verify()
        with sordino.Client(opened, key=key.reader()) as client:
            return client.payloads(ids), client.attributes(ids)

    return held


def test_names_of_one_type_are_attributes_and_others_are_kept_as_json(run, held):
    values = {
        "whole": lambda at: at - 2,
        "mixed": lambda at: at if at % 2 else at + 0.5,
        "flag": lambda at: at > 2,
        "lang": lambda at: [None, "é", "ü"][at % 3],
        "day": lambda at: date(2026, 1, at + 1),
        "at": lambda at: datetime(2026, 1, 1, 12, at, tzinfo=timezone.utc),
        "uuid": lambda at: UUID(int=at),
        "tags": lambda at: ["a", at],
        "price": lambda at: Decimal("1.50"),
        "either": lambda at: at if at % 2 else str(at),
        "huge": lambda at: 2**63 + at,
        "rounded": lambda at: 2**53 + 1 if at == 1 else 0.5,
        "long": lambda at: "x" * 257,
        "raw": lambda at: b"\x00\xff",
        "tick`": lambda at: 1,
        "": lambda at: 1,
        "n" * 65: lambda at: 1,
    }
    store = rows(6, lambda at: {name: value(at) for name, value in values.items()})
    code, told = run(store)
    assert code == 0, told
    assert told["attributes"] == {
        "whole": "int", "mixed": "float", "flag": "bool", "day": "text", "at": "text", "uuid": "text", "lang": "text",
    }  # fmt: skip
    kept = {"tags", "price", "either", "huge", "rounded", "long", "raw", "tick`", "", "n" * 65}
    assert set(told["kept"]) == kept
    # A column without signs may have numbers of 64 bits that attributes, which have a sign, do not hold.
    assert told["kept"]["huge"] == "whole numbers below -2^63 or above 2^63 - 1"
    payloads, attributes = held([f"id-{at}" for at in range(6)])
    assert attributes[1] == {
        "whole": -1, "mixed": 1.0, "flag": False, "lang": "é", "day": "2026-01-02", "at": "2026-01-01T12:01:00Z", "uuid": str(UUID(int=1)),
    }  # fmt: skip
    assert "lang" not in attributes[0] and attributes[0]["mixed"] == 0.5
    for at, payload in enumerate(payloads):
        stored = json.loads(payload)
        assert stored["text"] == f"text {at}" and set(stored["metadata"]) == kept
        assert stored["metadata"]["tags"] == ["a", at] and stored["metadata"]["price"] == "1.50"
        assert stored["metadata"]["huge"] == 2**63 + at and stored["metadata"]["raw"] == "AP8="
    assert json.loads(payloads[1])["metadata"]["rounded"] == 2**53 + 1


def test_texts_alone_are_payloads_as_they_are(run, held):
    code, told = run(rows(3, lambda at: {"n": at}, lambda at: [None, "", "tëxt"][at]))
    assert code == 0 and told["payloads"] == "text"
    assert (told["texts"], told["empty_texts"], told["rows"]) == (2, 1, 3)
    payloads, _ = held([f"id-{at}" for at in range(3)])
    assert payloads == [b"", b"", "tëxt".encode()]


def test_without_texts_and_metadata_there_are_no_payloads(run, tmp_path):
    code, told = run(rows(3, text=lambda at: None))
    assert code == 0 and told["payloads"] == "none"
    index = sordino.open(tmp_path / "my.index", key=sordino.OwnerKey.load(tmp_path / "owner.key"))
    assert not index.info()["payloads"] and len(index) == 3


def test_values_within_objects_are_attributes_by_their_paths(run, held):
    def metadata(at):
        return {
            "flat": {"a": at, "b": {"c": f"c{at}"}},
            "part": {"a": at, "list": [at]},
            "x.y": at,
            "x": {"y": -at},
            "empty": {},
            "null": {"a": None},
        }

    code, told = run(rows(4, metadata))
    assert code == 0, told
    assert told["attributes"] == {"flat.a": "int", "flat.b.c": "text", "part.a": "int"}
    assert told["kept"] == {
        "part": "list: lists", "x.y": "two places have this name", "x": "y: two places have this name", "empty": "objects",
    }  # fmt: skip
    payloads, attributes = held(["id-3"])
    assert attributes == [{"flat.a": 3, "flat.b.c": "c3", "part.a": 3}]
    assert json.loads(payloads[0])["metadata"] == {"part": {"a": 3, "list": [3]}, "x.y": 3, "x": {"y": -3}, "empty": {}}


def test_names_beyond_64_and_beyond_those_that_are_looked_at_are_kept(run, held):
    code, told = run(rows(3, lambda at: {f"n{n}": n for n in range(70 - at)}))
    assert code == 0 and len(told["attributes"]) == 64
    assert set(told["kept"]) == {f"n{n}" for n in range(64, 70)}
    payloads, _ = held(["id-0"])
    assert json.loads(payloads[0])["metadata"] == {f"n{n}": n for n in range(64, 70)}

    # Another name in every row.
    code, told = run(rows(5000, lambda at: {f"n{at}": at}), index="crowded")
    assert code == 0 and told["crowded"] and len(told["attributes"]) == 64
    payloads, attributes = held(["id-4999", "id-4000", "id-3"], "crowded")
    assert [json.loads(payload)["metadata"] for payload in payloads] == [{"n4999": 4999}, {"n4000": 4000}, {}]
    assert attributes[2] == {"n3": 3}


def test_attributes_that_are_asked_for_are_those_and_no_others(run, held):
    store = rows(3, lambda at: {"n": at, "lang": "en", "long": "x" * 300, "tags": []})
    code, told = run(store, "--attributes", "n,long")
    assert code == 0 and told["attributes"] == {"n": "int", "long": "text"} and set(told["kept"]) == {"lang", "tags"}
    code, told = run(store, "--attributes", "none", index="none")
    assert code == 0 and told["attributes"] == {} and set(told["kept"]) == {"n", "lang", "long", "tags"}
    payloads, _ = held(["id-1"], "none")
    assert json.loads(payloads[0])["metadata"] == {"n": 1, "lang": "en", "long": "x" * 300, "tags": []}
    assert run(store, "--attributes", "tags", index="i")[1] == "--attributes: 'tags' cannot be one: lists"
    assert "no row has a value" in run(store, "--attributes", "other", index="i")[1]


def test_numbers_that_are_none_are_counted(run, held):
    code, told = run(rows(3, lambda at: {"f": [math.nan, math.inf, 0.5][at], "l": [math.nan, {"a": -math.inf}], "d": Decimal("NaN")}))
    assert code == 0 and told["not_finite"] == {"f": 2, "l": 6, "d": 3}
    payloads, attributes = held(["id-0", "id-1", "id-2"])
    assert attributes == [{}, {}, {"f": 0.5}]
    assert json.loads(payloads[0])["metadata"] == {"l": [None, {"a": None}], "d": None}


@pytest.mark.parametrize(
    ("given", "kind", "expected"),
    [
        ([0, 7, 2**64 - 1], "number", [0, 7, 2**64 - 1]),
        ([-1, -2, -3], "text", ["-1", "-2", "-3"]),
        ([-1, 0, 1], "text", ["-1", "0", "1"]),
        ([UUID(int=1), UUID(int=2), UUID(int=3)], "uuid", [str(UUID(int=n)) for n in (1, 2, 3)]),
        ([1, UUID(int=2), 3], "text", ["1", str(UUID(int=2)), "3"]),
        (["ä", "日本", "a,\tb"], "text", ["ä", "日本", "a,\tb"]),
    ],
)
def test_ids_are_kept(run, held, given, kind, expected):
    code, told = run(rows(3, id=lambda at: given[at]))
    assert code == 0 and told["ids"] == kind
    assert held(expected)[0] == [b"text 0", b"text 1", b"text 2"]


def test_ids_that_an_index_has_not_are_refused_or_made(run, held):
    long = rows(3, id=lambda at: "é" * 300 if at == 1 else f"id-{at}")
    code, error = run(long)
    assert code == 1 and "row 1" in error and "an id of 600 bytes: expected 1 to 512; --ids hash" in error
    code, told = run(long, "--ids", "hash")
    assert code == 0 and told["attributes"] == {"source_id": "text"}
    from hashlib import sha256

    assert held([sha256(("é" * 300).encode()).hexdigest()])[1] == [{"source_id": "é" * 300}]
    code, told = run(long, "--ids", "number", index="numbered")
    assert code == 0 and told["ids"] == "number"
    assert held([0, 1, 2], "numbered")[1] == [{"source_id": "id-0"}, {"source_id": "é" * 300}, {"source_id": "id-2"}]
    # If there are no ids, records are numbered, or the user must name a column.
    bare = rows(3, id=lambda at: None)
    assert "--id NAME" in run(bare, index="bare")[1]
    assert run(bare, "--ids", "number", index="bare")[0] == 0
    assert "type bytes" in run(rows(2, id=lambda at: bytes([at])), index="other")[1]
    assert "'source_id', which row 'id-0' has" in run(rows(2, lambda at: {"source_id": 1}), "--ids", "hash", index="other")[1]


def test_an_id_that_comes_twice_stops(run, tmp_path):
    code, error = run(rows(3, id=lambda at: ["a", "b", "a"][at]), "--on-error", "skip")
    assert code == 1 and "id 'a' is there twice" in error and not (tmp_path / "my.index").exists()


def broken():
    """Rows that cannot be records, between others."""
    zero, nan = np.zeros(DIM, np.float32), np.full(DIM, np.nan, np.float32)
    good = rows(8)
    return [
        good[0],
        good[1]._replace(vector=None),
        good[2]._replace(vector=zero),
        good[3]._replace(vector=nan),
        good[4]._replace(vector=np.ones(3, np.float32)),
        good[5]._replace(text="x" * (1 << 20)),
        good[6]._replace(text="half of a pair: \ud800"),
        good[7]._replace(vector=np.full(DIM, 1e300)),
        rows(1, id=lambda at: None)[0],
        rows(1, id=lambda at: "tiny")[0]._replace(vector=np.full(DIM, 1e-60)),
        rows(1, id=lambda at: "last")[0],
    ]


def test_rows_that_cannot_be_records_stop_or_are_listed(run, held, tmp_path):
    code, error = run(broken())
    assert code == 1 and error.startswith("row 1, id 'id-1': no vector; --on-error skip") and not (tmp_path / "my.index").exists()
    code, told = run(broken(), "--on-error", "skip")
    assert (code, told["rows"], told["records"], told["left_out"]) == (0, 11, 2, 9)
    assert held(["id-0", "last", "id-2"])[0] == [b"text 0", b"text 0", None]
    code, told = run(broken(), "--on-error", "report=out.jsonl", index="other")
    assert code == 0 and told["report"] == "out.jsonl"
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(line["row"], line["id"]) for line in lines] == [*((at, f"id-{at}") for at in range(1, 8)), (8, None), (9, "tiny")]
    for line, why in zip(lines, ["no vector", "zeros", "finite", "of 3 dim", "payload of", "Unicode", "finite", "no id", "close to 0"], strict=True):
        assert why in line["why"]
    # The report is not overwritten, and there is no index if no row can be a record.
    assert "expected the name of a new file" in run(broken(), "--on-error", "report=out.jsonl", index="third")[1]
    assert "none of its 2 rows" in run(broken()[1:3], "--on-error", "skip", index="third")[1]
    assert not (tmp_path / "third").exists()


def test_zeros_have_other_metrics(run):
    store = Rows(rows(3)[:2] + [rows(3)[2]._replace(vector=np.zeros(DIM, np.float32))])
    assert run(store)[0] == 1
    assert run(store, "--metric", "euclidean")[0] == 0


def test_a_store_that_changes_meanwhile_is_no_index(run, tmp_path):
    for later in (rows(3), rows(5)):
        code, error = run(Rows(rows(4), later=later))
        assert code == 1 and f"4 rows when it was read first, and {len(later)} now" in error
        assert not (tmp_path / "my.index" / "CURRENT").exists()
    store = Rows(rows(4))
    store.count = 5
    assert "4 rows read, and it counts 5" in run(store)[1]


@pytest.mark.parametrize(
    ("word", "metric"),
    [("cosine", "cosine"), ("Cosine", "cosine"), ("l2", "euclidean"), ("Euclid", "euclidean"), ("ip", "inner-product"), ("Dot", "inner-product")],
)
def test_metrics_are_the_stores(run, word, metric):
    store = Rows(rows(3))
    store.metric = word
    code, told = run(store)
    assert code == 0 and told["metric"] == metric and "source_metric" not in told


@pytest.mark.parametrize("word", ["Manhattan", "l1", "hamming", "jaccard", None])
def test_a_metric_without_a_counterpart_is_asked_for(run, word):
    store = Rows(rows(3))
    store.metric = word
    code, error = run(store)
    assert code == 1 and "expected --metric, one of cosine, inner-product, euclidean" in error and (word is None or word in error)
    code, told = run(store, "--metric", "cosine")
    assert code == 0 and told.get("source_metric") == word


def test_a_folder_that_is_there_is_refused_before_anything_is_read(run, tmp_path):
    assert run(rows(3))[0] == 0
    before = sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "my.index").rglob("*"))
    code, error = run(Rows(rows(3), later=[]))
    assert code == 1 and "my.index is there already" in error
    assert sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "my.index").rglob("*")) == before
    assert "--replace needs --add" in run(rows(3), "--replace", index="new")[1]
    assert run(rows(3), "--add", index="new")[0] == 1 and not (tmp_path / "new").exists()


def test_adding_refuses_what_does_not_fit_and_replaces_when_it_is_told(run, held, tmp_path):
    assert run(rows(4, lambda at: {"n": at}))[0] == 0
    for store, line, why in [
        (rows(4, seed=2), [], "4 ids are in the index already, among them id-0, id-1, id-2, id-3: --replace"),
        (rows(2), ["--ids", "number"], "--ids number is for a new index"),
        (rows(2), ["--metric", "euclidean"], "compares by euclidean, and the index by cosine"),
        (rows(2), ["--k", "3"], "--k is of a new index"),
        (broken(), ["--replace"], "row 1, id 'id-1': no vector"),
        (rows(2, lambda at: {"n": "text"}, id=lambda at: f"new-{at}"), [], "attribute n"),
    ]:
        code, error = run(store, "--add", *line)
        assert code == 1 and why in error
    key = sordino.OwnerKey.load(tmp_path / "owner.key")
    assert sordino.open(tmp_path / "my.index", key=key).info()["version"] == 1
    # Two of these ids exist already.
    store = rows(5, lambda at: {"n": -at}, lambda at: f"other {at}", lambda at: f"id-{at + 2}")
    code, told = run(store, "--add", "--replace")
    assert code == 0 and (told["records"], told["replaced"]) == (5, 2)
    payloads, attributes = held(["id-1", "id-2", "id-6"])
    assert payloads == [b"text 1", b"other 0", b"other 4"] and attributes == [{"n": 1}, {"n": 0}, {"n": -4}]
    assert run(rows(2, id=lambda at: at), index="numbers")[0] == 0
    assert "of kind text, and the index has ids of kind number" in run(rows(2), "--add", index="numbers")[1]
    # Numbers are added to an index of texts as texts. A different dimension is refused.
    assert run(rows(2, id=lambda at: at), "--add")[0] == 0
    assert held(["0", "1"])[0] == [b"text 0", b"text 1"]
    store = Rows(rows(2, id=lambda at: f"b{at}"))
    store.dims = lambda: {3: 2}
    assert "vectors of 3 dimensions, and the index of 8" in run(store, "--add")[1]


def test_what_was_added_in_part_goes_on_with_replace(run, held, monkeypatch):
    from sordino.migrate import _transfer

    assert run(rows(1, id=lambda at: "first"))[0] == 0
    monkeypatch.setattr(_transfer, "_ADDED", 500)

    class Failing(Rows):
        calls = 0

        def rows(self, vectors):
            self.calls += vectors
            for at, row in enumerate(self._rows):
                if at == 1100 and vectors and self.calls == 2:
                    raise sordino.UnreadableError("gone")
                yield row

    code, error = run(Failing(rows(1200)), "--add")
    assert code == 1 and error == "gone; some records are in the index already: the same command with --replace goes on"
    code, told = run(rows(1200), "--add", "--replace")
    assert code == 0 and (told["records"], told["replaced"]) == (1200, 1000)
    assert held(["first", "id-0", "id-1199"])[0] == [b"text 0", b"text 0", b"text 1199"]


def test_a_dry_run_writes_nothing(run, tmp_path):
    code, told = run(rows(3, lambda at: {"n": at}), "--dry-run", "--on-error", "report=out.jsonl")
    assert code == 0 and told["attributes"] == {"n": "int"} and "index" not in told
    assert sorted(path.name for path in tmp_path.iterdir() if "owner.key" not in path.name) == []


def test_an_empty_store_makes_nothing(run, tmp_path):
    code, error = run([])
    assert code == 1 and "the store is empty" in error and not (tmp_path / "my.index").exists()


def test_what_is_told_to_people(run, capsys, monkeypatch, tmp_path):
    store = Rows(broken()[:2] + [rows(1, lambda at: {"n": 1, "l": [math.nan]}, id=lambda at: 7)[0]])
    store.metric, store.left = "Manhattan", ["the sparse vector 's'"]
    monkeypatch.setattr(_command, "_opened", lambda options: store)
    assert main(["qdrant", "x", "my.index", "--key", "owner.key", "--metric", "cosine", "--on-error", "report=o"]) == 0
    told = capsys.readouterr().out
    assert told == (
        "the store: 3 rows of 8 dimensions, cosine, instead of Manhattan\n"
        "ids         text, of 2 text, 1 number\n"
        'payloads    JSON objects, {"text": ..., "metadata": {...}}; 0 rows have no text, 0 an empty one\n'
        "attributes  n (int); 8 bytes, which each client downloads once\n"
        "in payloads l (lists)\n"
        "null        numbers that are NaN or infinite: 1 of l\n"
        "not read    the sparse vector 's'\n"
        "my.index: version 1, 2 of 3 rows are records; recall 1.000 on held-out rows\n"
        "warning: left out: 1 of 3 rows, all in o:\n"
        "  row 1, id 'id-1': no vector\n"
    )


def test_keys_and_usage(run, tmp_path, capsys):
    (tmp_path / "owner.key").unlink()
    code, error = run(rows(3))
    assert code == 1 and "owner.key" in error
    for line in (["qdrant"], ["other", "x", "y", "--key", "z"], ["qdrant", "x", "y", "--key", "z", "--on-error", "report="]):
        with pytest.raises(SystemExit) as left:
            main(line)
        assert left.value.code == 2
    capsys.readouterr()


@pytest.mark.parametrize(
    ("line", "module", "package", "mark"),
    [
        (["chroma", "store"], "chromadb", "chromadb>=1", "chroma.sqlite3"),
        (["qdrant", "store"], "qdrant_client", "qdrant-client>=1.12", "meta.json"),
        (["lancedb", "store"], "lancedb", "lancedb>=0.20", "any"),
        (["pgvector", "postgresql:///none"], "psycopg", "psycopg[binary]>=3.1", "any"),
    ],
)
def test_a_client_that_is_not_there_is_named(tmp_path, monkeypatch, capsys, line, module, package, mark):
    monkeypatch.chdir(tmp_path)
    sordino.keygen().save("owner.key")
    if "://" not in line[1]:
        # A folder that is not the store's is refused, and stays as it is.
        assert main([*line, "i", "--key", "owner.key"]) == 1
        assert "store: no " in capsys.readouterr().err and not (tmp_path / "store").exists()
        (tmp_path / "store").mkdir()
        (tmp_path / "store" / mark).touch()
    monkeypatch.setitem(sys.modules, module, None)
    assert main([*line, "i", "--key", "owner.key"]) == 1
    assert f"pip install '{package}'" in capsys.readouterr().err


def test_what_a_client_raises_is_an_error_of_its_store():
    class Panic(BaseException):
        pass

    for error in (ValueError("x"), Panic("x")):
        with pytest.raises(sordino.UnreadableError, match=f"the store cannot be read: {type(error).__name__}: x"):
            with _store.reading("the store"):
                raise error
    with pytest.raises(KeyboardInterrupt), _store.reading("the store"):
        raise KeyboardInterrupt



def test_what_a_terminal_would_obey_is_escaped(run, monkeypatch, capsys):
    evil = "\x1b]0;title\x07\x1b[2J\nall rows are records\x9b\u202e"
    # The first output is a report. The second is an error about an id that comes twice.
    for number, name in enumerate([lambda at: f"{evil}{at}", lambda at: evil]):
        store = Rows(rows(3, metadata=lambda at: {evil: "x"}, id=name))
        monkeypatch.setattr(_command, "_opened", lambda options, store=store: store)
        assert main(["qdrant", "somewhere", f"{number}.index", "--key", "owner.key"]) == number
        said = "".join(capsys.readouterr())
        assert "\\x1b]0;title\\x07" in said and "\nall rows" not in said
        assert all(one.isprintable() for one in said.replace("\n", ""))
