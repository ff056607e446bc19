"""Record ids that are texts or UUIDs."""

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
    with pytest.raises(sordino.IdsError, match="1 to 64 bytes"):
        sordino.build(tmp_path / "long", np.eye(1), key=key, ids=["x" * 65], k=1)
