"""Readers with their own keys: pairs of keys, grants, labels."""

import numpy as np
import pytest

import sordino


@pytest.fixture
def pairs(key):
    return [sordino.reader_keygen(key.public()) for _ in range(2)]


@pytest.fixture(params=["masked", "local"])
def shared(request, tmp_path, vectors, key, pairs):
    """An index whose records 1000 to 1009 alice, who is in a group, may read, and bob may not."""
    index = sordino.build(tmp_path / "shared", vectors[:1000], key=key, mode=request.param, own_readers=True)
    index.group("board", labels=["finance"])
    index.grant("alice", pairs[0].reader_public(), groups=["board"])
    index.grant("bob", pairs[1].reader_public())
    index.add(vectors[1000:1010], ids=np.arange(1000, 1010), payloads=["secret"] * 10, label="finance")
    return index


def found(index, key, query):
    with sordino.Client(index, key=key) as client:
        return client.search(query, k=10).ids[0]


def names(index):
    return [reader["name"] for reader in index.access()["readers"]]


def test_a_reader_finds_what_it_was_granted_and_nothing_else(shared, pairs, vectors, key):
    alice, bob = pairs
    for reader, reads in [(alice, True), (bob, False), (key, True)]:
        ids = found(shared, reader, vectors[1003])
        assert (ids[0] == 1003) == reads
        assert reads or not any(id >= 1000 for id in ids)
        # All readers may read records without a label.
        assert found(shared, reader, vectors[7])[0] == 7
    with sordino.Client(shared, key=alice) as client:
        assert client.payloads([1003]) == [b"secret"]
    report = shared.access()
    assert [reader["records"] for reader in report["readers"]] == [1010, 1000]
    assert report["groups"] == [{"group": "board", "labels": ["finance"], "readers": ["alice"]}]
    assert {label["label"]: label["records"] for label in report["labels"]} == {"": 1000, "finance": 10}
    assert report["shared_key"] == 0
    digest = alice.reader_public().digest()
    assert digest.startswith(report["readers"][0]["key"].replace("-", ""))


def test_who_loses_something_reads_it_until_the_index_is_compacted(shared, pairs, vectors):
    alice, bob = pairs
    shared.grant("bob", labels="finance")
    assert found(shared, bob, vectors[1003])[0] == 1003
    shared.withdraw("bob", labels="finance")
    shared.ungroup("board")
    lost = [reader["until_compacted"] for reader in shared.access()["readers"]]
    assert lost == [10, 10]
    for reader in pairs:
        assert 1003 not in found(shared, reader, vectors[1003])
    shared.revoke("alice")
    with pytest.raises(sordino.AccessError, match="no longer|opens nothing"):
        found(shared, alice, vectors[7])
    assert names(shared) == ["bob", "alice"]
    shared.compact()
    assert names(shared) == ["bob"]
    assert shared.access()["readers"][0]["until_compacted"] == 0
    assert found(shared, bob, vectors[7])[0] == 7


def test_a_first_grant_gives_an_index_readers_of_its_own(tmp_path, vectors, key, pairs):
    index = sordino.build(tmp_path / "index", vectors[:500], key=key)
    assert index.access() is None
    with pytest.raises(sordino.AccessError, match="no readers of its own"):
        index.add(vectors[:1], label="finance")
    index.grant("alice", pairs[0].reader_public())
    assert index.access()["shared_key"] == 500
    index.compact()
    assert index.access()["shared_key"] == 0
    assert found(index, pairs[0], vectors[7])[0] == 7


def test_pairs_are_what_they_were_when_read_back(tmp_path, key, pairs, shared, vectors):
    alice = pairs[0]
    alice.save(tmp_path / "alice.pair")
    alice.reader_public().save(tmp_path / "alice.pub")
    loaded = sordino.ReaderKey.load(tmp_path / "alice.pair")
    assert loaded.public() == key.public()
    assert found(shared, loaded, vectors[1003])[0] == 1003
    for file in ["alice.pair", "alice.pub"]:
        public = sordino.ReaderPublicKey.load(tmp_path / file)
        assert public == loaded.reader_public() == alice.reader_public() != pairs[1].reader_public()
        assert len({public, alice.reader_public()}) == 1
    with pytest.raises(sordino.KeyKindError, match="reader_keygen"):
        key.reader().reader_public()
    key.public().save(tmp_path / "owner.pub")
    with pytest.raises(sordino.KeyKindError):
        sordino.ReaderPublicKey.load(tmp_path / "owner.pub")
    secret = (tmp_path / "alice.pair").read_text().split(":")[1][:16]
    assert secret not in repr(alice) + repr(alice.reader_public())


def test_what_is_refused(tmp_path, key, shared, pairs, vectors):
    alice, bob = pairs
    version = shared.info()["version"]
    new = sordino.reader_keygen(key.public())
    for change, error, match in [
        (lambda: shared.grant("carol"), sordino.AccessError, "reader carol"),
        (lambda: shared.grant("carol", bob.reader_public()), sordino.AccessError, "reader bob"),
        (lambda: shared.grant("alice", new.reader_public()), sordino.AccessError, "revoke it first"),
        (lambda: shared.grant("carol", new.reader_public(), groups="none"), sordino.AccessError, "group none"),
        (lambda: shared.grant("carol", new), sordino.KeyKindError, "ReaderPublicKey"),
        (lambda: shared.grant(7, new.reader_public()), sordino.InputError, "reader = 7"),
        (lambda: shared.grant("alice", labels=[None]), sordino.InputError, "labels = None"),
        (lambda: shared.grant("alice", labels=7), sordino.InputError, "labels = 7"),
        (lambda: shared.grant("alice", labels=["a\nb"]), sordino.AccessError, "label"),
        (lambda: shared.withdraw("alice", labels="finance"), sordino.AccessError, "label finance"),
        (lambda: shared.revoke("carol"), sordino.AccessError, "reader carol"),
        (lambda: shared.ungroup("none"), sordino.AccessError, "group none"),
        (lambda: shared.add(vectors[1003:1004], ids=[1003], leave_empty=True), sordino.AccessError, "record 1003"),
        (lambda: shared.add(vectors[:1], label="", leave_empty=True), sordino.AccessError, "label"),
        (lambda: shared.add(vectors[:1], label=b"finance", leave_empty=True), sordino.InputError, "label"),
    ]:
        with pytest.raises(error, match=match):
            change()
    assert shared.info()["version"] == version
    with pytest.raises(sordino.AccessError):
        found(shared, new, vectors[7])
    with pytest.raises(sordino.KeyKindError, match="owner's key"):
        sordino.open(shared.path, key=alice).grant("carol", new.reader_public())
    with pytest.raises(sordino.KeyKindError, match="owner's key"):
        sordino.open(shared.path, key=alice).access()
    sealed = sordino.build(tmp_path / "sealed", vectors, key=key, mode="sealed", own_readers=True)
    with pytest.raises(sordino.ModeError, match="masked or local"):
        sealed.add(vectors[:1], label="finance")
