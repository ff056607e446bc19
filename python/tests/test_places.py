"""Paths mean the same after `os.chdir`, and name the file in errors."""

import errno
import os

import numpy as np
import pytest

import sordino


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """The folder to begin in, and one to go to."""
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "sub"


def test_an_index_stays_where_it_was_made(elsewhere, key):
    built = sordino.build("index", np.eye(4), key=key, k=1)
    opened = sordino.open("index", key=key)
    client = sordino.Client("index", key=key)
    server = sordino.serve("index", listen="127.0.0.1:0", public_key=key.public(), plaintext=True, anyone=True)
    remote = sordino.Client(server.url, key=key.reader(), cache="cache")
    os.chdir(elsewhere)
    assert built.path == opened.path == str(elsewhere.parent / "index")
    assert built.delete([3]) == 2 and opened.add(np.eye(4)[:1]) == 3
    assert len(built) == 4 and client.refresh()
    assert client.search(np.eye(4)[0]).ids.tolist() in ([[0]], [[4]])
    remote.close()
    server.stop()
    assert os.listdir(elsewhere) == [] and (elsewhere.parent / "cache").is_dir()


def test_a_place_that_is_no_path_is_an_error_of_this_package(tmp_path, index, key, vectors):
    calls = {
        "open": lambda path: sordino.open(path, key=key),
        "build": lambda path: sordino.build(path, vectors, key=key),
        "client": lambda path: sordino.Client(path, key=key),
        "serve": lambda path: sordino.serve(path, public_key=key.public(), plaintext=True, anyone=True),
        "save": key.save,
        "load": sordino.OwnerKey.load,
        "client key": sordino.ClientPublicKey.load,
        "issuer": sordino.IssuerPublicKey.load,
    }
    for name, call in calls.items():
        for path in [b"bytes", 3, None, [], "a\0b"]:
            with pytest.raises(sordino.Error):
                call(path)
        if name not in ("save", "load", "client key", "issuer"):
            with pytest.raises(sordino.InputError, match="empty"):
                call("")


def test_errors_of_files_name_them(tmp_path, index, key, vectors):
    for call in [lambda: sordino.open(tmp_path), lambda: sordino.open(tmp_path, key=key), lambda: sordino.Client(tmp_path, key=key)]:
        with pytest.raises(sordino.NoIndexError, match="no index in") as missing:
            call()
        assert (missing.value.errno, missing.value.filename) == (errno.ENOENT, str(tmp_path))
    with pytest.raises(sordino.MissingFileError) as missing:
        sordino.OwnerKey.load(tmp_path / "none.key")
    assert (missing.value.errno, missing.value.filename) == (errno.ENOENT, str(tmp_path / "none.key"))
    assert "none.key" in str(missing.value)
    with pytest.raises(sordino.ExistsError) as there:
        sordino.build(index.path, vectors, key=key)
    assert (there.value.errno, there.value.filename) == (errno.EEXIST, index.path)


def test_a_server_that_nothing_refers_to_says_that_it_stops(index, key):
    with pytest.warns(RuntimeWarning, match="bind it to a name"):
        sordino.serve(index, listen="127.0.0.1:0", public_key=key.public(), plaintext=True, anyone=True)
    server = sordino.serve(index, listen="127.0.0.1:0", public_key=key.public(), plaintext=True, anyone=True)
    import threading

    waiting = threading.Thread(target=server.wait)
    waiting.start()
    server.stop()
    waiting.join()
    # A server that was stopped on purpose gives no warning.
    del server, waiting
