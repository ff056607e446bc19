"""What an owner remembers of its indexes' versions: an older version that is put back is not changed."""

import shutil

import numpy as np
import pytest

import sordino


@pytest.fixture
def owner(tmp_path):
    key = sordino.keygen()
    key.save(tmp_path / "owner.key")
    return sordino.OwnerKey.load(tmp_path / "owner.key")


def build(path, vectors, key):
    return sordino.build(path, vectors[:100], key=key, mode="local", own_readers=True)


def show(path, version):
    shutil.rmtree(path)
    shutil.copytree(version, path)


def changes(index, vectors, key):
    other = sordino.reader_keygen(key.public()).reader_public()
    return [
        lambda: index.add(vectors[100:110]),
        lambda: index.delete([3]),
        lambda: index.compact(),
        lambda: index.grant("eve", other),
        lambda: index.revoke("bob"),
        lambda: index.access(),
        lambda: index.payloads(),
    ]


def revoked(tmp_path, vectors, key):
    """An index at version 3, in which bob was revoked, and the version before that beside it."""
    path, before = tmp_path / "index", tmp_path / "before"
    index = build(path, vectors, key)
    index.grant("bob", sordino.reader_keygen(key.public()).reader_public())
    shutil.copytree(path, before)
    assert index.revoke("bob") == 3
    return index, path, before


@pytest.mark.parametrize("saved", [True, False])
def test_a_folder_that_takes_a_revocation_back_is_changed_no_more(tmp_path, vectors, owner, saved):
    key = owner if saved else sordino.keygen()
    index, path, before = revoked(tmp_path, vectors, key)
    shutil.copytree(path, tmp_path / "after")
    show(path, before)
    for change in changes(index, vectors, key):
        with pytest.raises(sordino.RollbackError, match="restored=True"):
            change()
    again = sordino.OwnerKey.load(tmp_path / "owner.key") if saved else key
    with pytest.raises(sordino.RollbackError):
        sordino.open(path, key=again).add(vectors[100:110])
    assert index.info()["version"] == 2
    show(path, tmp_path / "after")
    assert index.add(vectors[100:110]) == 4


def test_a_deletion_that_is_taken_back_and_another_history_are_refused(tmp_path, vectors, owner):
    path, before = tmp_path / "index", tmp_path / "before"
    index = build(path, vectors, owner)
    shutil.copytree(path, before)
    index.delete([7])
    show(path, before)
    with pytest.raises(sordino.RollbackError):
        index.delete([8])
    # A machine that has the key and remembers nothing changes the older version.
    other = sordino.OwnerKey.load(tmp_path / "owner.key", pins=tmp_path / "other.pins")
    for id in (8, 9):
        sordino.open(path, key=other).delete([id])
        with pytest.raises(sordino.ForkError):
            index.delete([10])
    build(tmp_path / "another", vectors, owner)
    show(path, tmp_path / "another")
    with pytest.raises(sordino.OtherIndexError):
        index.delete([10])


def test_a_backup_is_restored_on_purpose_by_an_option(tmp_path, vectors, owner):
    index, path, before = revoked(tmp_path, vectors, owner)
    show(path, before)
    restored = sordino.open(path, key=owner, restored=True)
    assert [reader["name"] for reader in restored.access()["readers"]] == ["bob"]
    assert restored.revoke("bob") == 3
    assert index.add(vectors[100:110]) == 4
    with pytest.raises(sordino.KeyKindError):
        sordino.open(path, key=owner.reader(), restored=True)
    with pytest.raises(sordino.InputError):
        sordino.open(path, key=owner, restored="yes")


def test_a_key_that_is_saved_takes_its_memory_along(tmp_path, vectors):
    key = sordino.keygen()
    index, path, before = revoked(tmp_path, vectors, key)
    key.save(tmp_path / "late.key")
    assert (tmp_path / "late.key.pins").exists()
    show(path, before)
    late = sordino.OwnerKey.load(tmp_path / "late.key")
    for opened in (index, sordino.open(path, key=late)):
        with pytest.raises(sordino.RollbackError):
            opened.delete([3])


def test_nothing_is_changed_that_could_not_be_remembered(tmp_path, vectors, owner):
    path = tmp_path / "index"
    index = build(path, vectors, owner)
    nowhere = sordino.OwnerKey.load(tmp_path / "owner.key", pins=tmp_path / "nowhere" / "pins")
    with pytest.raises(sordino.FileError, match="pins="):
        sordino.open(path, key=nowhere).delete([3])
    with pytest.raises(sordino.FileError, match="pins="):
        build(tmp_path / "new", vectors, nowhere)
    assert not (tmp_path / "new").exists()
    assert index.delete([3]) == 2


def test_an_index_of_tasks_is_remembered(tmp_path, vectors, owner):
    pytest.importorskip("pyarrow")
    import pyarrow
    import pyarrow.parquet

    rows = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors[:200].reshape(-1)), vectors.shape[1])
    pyarrow.parquet.write_table(pyarrow.table({"vector": rows}), tmp_path / "rows.parquet")
    from sordino import _tasks

    def run(job, tasks):
        return (_tasks.make(job, task) for task in tasks)

    settings = _tasks.settings_of("masked", "cosine", 10, 100, None)
    path = tmp_path / "index"
    index = _tasks.build(
        path, tmp_path / "rows.parquet", run, key_file=tmp_path / "owner.key", vectors="vector", ids=None, settings=settings, segment=None
    )
    shutil.copytree(path, tmp_path / "before")
    assert index.delete([3]) == 2
    show(path, tmp_path / "before")
    with pytest.raises(sordino.RollbackError):
        index.delete([np.int64(4)])


def test_a_pull_follows_from_the_version_that_the_owner_knows(tmp_path, vectors):
    key = sordino.keygen()
    index = sordino.build(tmp_path / "index", vectors, key=key, mode="local")
    shutil.copytree(tmp_path / "index", tmp_path / "older")
    version = index.delete([0])

    def served(name):
        return sordino.serve(tmp_path / name, listen="127.0.0.1:0", public_key=key.public(), plaintext=True, anyone=True)

    with served("older") as server:
        with pytest.raises(sordino.RollbackError, match="its owner knows version"):
            sordino.pull(tmp_path / "new", server.url, key=key)
        assert not (tmp_path / "new").exists()
        # A reader's key knows no versions.
        assert sordino.pull(tmp_path / "reader", server.url, key=key.reader()).info()["version"] == version - 1
    with served("index") as server:
        new = sordino.pull(tmp_path / "new", server.url, key=key)
        assert new.info()["version"] == version
        assert new.delete([1]) == version + 1
        pin = sordino.Client(tmp_path / "index", key=key.reader()).pin()
        # The folder's own version is given up.
        given_up = sordino.pull(tmp_path / "new", server.url, key=key, pin=pin)
        assert given_up.info()["version"] == version
        assert given_up.delete([2]) > version
