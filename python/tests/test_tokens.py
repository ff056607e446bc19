"""Tokens in the place of a list of clients. The command makes them, which `scripts/python.sh` builds."""

import os
import subprocess

import pytest

import sordino

COMMAND = os.environ.get("SORDINO_CLI")
AUDIENCE = "search.example"

pytestmark = pytest.mark.skipif(COMMAND is None, reason="SORDINO_CLI names no command")


def run(folder, *arguments):
    subprocess.run([COMMAND, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def alice():
    return sordino.client_keygen()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, index, alice):
    """An issuer's keys, and a token from the issuer for Alice and one index."""
    folder = tmp_path_factory.mktemp("issuer")
    alice.public().save(folder / "alice.pub")
    run(folder, "keys", "new", "issuer", "issuer.key")
    run(folder, "keys", "new", "issuer-public", "issuer.pub", "--from", "issuer.key")
    about = ["--audience", AUDIENCE, "--index", index.info()["index"]]
    run(folder, "token", "issue", "alice.token", "--key", "issuer.key", "--holder", "alice.pub", *about)
    return folder


@pytest.fixture(scope="module")
def issuer(folder):
    return sordino.IssuerPublicKey.load(folder / "issuer.pub")


def served(index, key, **askers):
    return sordino.serve(index, listen="127.0.0.1:0", public_key=key.public(), plaintext=True, **askers)


def test_the_holder_of_a_token_is_let_in(index, key, vectors, folder, issuer, alice):
    path = folder / "alice.token"
    with served(index, key, issuers=[issuer], audience=AUDIENCE) as server:
        for token in (path, str(path), path.read_bytes()):
            with sordino.Client(server.url, key=key.reader(), client_key=alice, token=token) as client:
                assert client.search(vectors[:3], k=1).ids[:, 0].tolist() == [0, 1, 2]
                shown = repr(vars(client)) + repr(client) + repr(client.stats())
                assert repr(path.read_bytes()[:32])[2:-1] not in shown and path.read_bytes().hex()[:32] not in shown
        refused = {
            "no token": {"client_key": alice},
            "another's": {"client_key": sordino.client_keygen(), "token": path},
            "damaged": {"client_key": alice, "token": path.read_bytes()[:-1]},
            "nobody": {},
        }
        for name, how in refused.items():
            with pytest.raises(sordino.RefusedError):
                pytest.fail(f"let in: {name} {sordino.Client(server.url, key=key.reader(), **how)}")


def test_tokens_are_for_an_audience_an_issuer_and_an_index(tmp_path, index, key, vectors, folder, issuer, alice):
    run(tmp_path, "keys", "new", "issuer", "other.key")
    run(tmp_path, "keys", "new", "issuer-public", "other.pub", "--from", "other.key")
    other = sordino.IssuerPublicKey.load(tmp_path / "other.pub")
    another = sordino.build(tmp_path / "index", vectors[:50], key=key)
    for place, askers in [
        (index, {"issuers": [issuer], "audience": "other.example"}),
        (index, {"issuers": [other], "audience": AUDIENCE}),
        (index, {"issuers": [], "audience": AUDIENCE}),
        (another, {"issuers": [issuer], "audience": AUDIENCE}),
    ]:
        with served(place, key, **askers) as server, pytest.raises(sordino.RefusedError):
            sordino.Client(server.url, key=key.reader(), client_key=alice, token=folder / "alice.token").search(vectors[0])


def test_listed_clients_need_no_token_and_shards_take_them(index, key, vectors, folder, issuer, alice):
    bob = sordino.client_keygen()
    askers = {"clients": [bob.public()], "issuers": [issuer], "audience": AUDIENCE}
    public = key.public()
    with served(index, key, shard=(1, 1), anyone=True) as shard:
        with sordino.gather([shard.url], listen="127.0.0.1:0", public_key=public, plaintext=True, **askers) as front:
            for how in ({"client_key": bob}, {"client_key": alice, "token": folder / "alice.token"}):
                with sordino.Client(front.url, key=key.reader(), **how) as client:
                    assert client.search(vectors[7], k=1).ids[0, 0] == 7


def test_stores_of_frameworks_show_tokens(tmp_path, key, folder, issuer, alice):
    from langchain_core.embeddings import DeterministicFakeEmbedding

    from sordino.langchain import SordinoVectorStore

    embedding = DeterministicFakeEmbedding(size=24)
    store = SordinoVectorStore(embedding, tmp_path / "index", key=key)
    store.add_texts(["a canoe", "a barge"])
    about = ["--audience", AUDIENCE, "--index", sordino.open(tmp_path / "index", key=key).info()["index"]]
    run(folder, "token", "issue", str(tmp_path / "token"), "--key", "issuer.key", "--holder", "alice.pub", *about)
    with served(tmp_path / "index", key, issuers=[issuer], audience=AUDIENCE) as server:
        there = SordinoVectorStore(embedding, server.url, key=key.reader(), client_key=alice, token=tmp_path / "token")
        assert there.similarity_search("a barge", k=1)[0].page_content == "a barge"
        there.close()


def test_issuers_are_told_apart(tmp_path, folder, issuer, alice):
    assert issuer == sordino.IssuerPublicKey.load(folder / "issuer.pub")
    with pytest.raises(sordino.KeyKindError, match="must have no secret"):
        sordino.IssuerPublicKey.load(folder / "issuer.key")
    assert len({issuer, sordino.IssuerPublicKey.load(folder / "issuer.pub")}) == 1
    assert issuer.digest().startswith(repr(issuer).split()[1].rstrip(">")) and len(issuer.digest()) == 64
    issuer.save(tmp_path / "again.pub")
    assert sordino.IssuerPublicKey.load(tmp_path / "again.pub") == issuer
    with pytest.raises(sordino.KeyFileError):
        issuer.save(tmp_path / "again.pub")
    with pytest.raises(sordino.KeyKindError):
        sordino.IssuerPublicKey.load(folder / "alice.pub")
