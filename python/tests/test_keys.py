"""Keys and their files."""

import copy
import os
import pickle
import stat

import pytest

import sordino


def test_keys_are_what_they_were_when_read_back(tmp_path, key):
    key.save(tmp_path / "owner.key")
    key.reader().save(tmp_path / "reader.key")
    key.public().save(str(tmp_path / "owner.pub"))
    assert stat.S_IMODE(os.stat(tmp_path / "owner.key").st_mode) == 0o600
    assert sordino.OwnerKey.load(tmp_path / "owner.key").public() == key.public()
    for file in ["owner.key", "reader.key"]:
        assert sordino.ReaderKey.load(tmp_path / file).public() == key.public()
    for file in ["owner.key", "reader.key", "owner.pub"]:
        assert sordino.PublicKey.load(tmp_path / file).digest() == key.public().digest()
    alice = sordino.client_keygen()
    alice.save(tmp_path / "alice.key")
    alice.public().save(tmp_path / "alice.pub")
    assert repr(sordino.ClientPublicKey.load(tmp_path / "alice.key")) == repr(alice.public())
    assert repr(sordino.ClientKey.load(tmp_path / "alice.key")) == repr(alice)


def test_no_key_is_written_over_or_taken_for_another(tmp_path, key):
    key.save(tmp_path / "owner.key")
    with pytest.raises(sordino.KeyFileError, match="exists already"):
        sordino.keygen().save(tmp_path / "owner.key")
    key.public().save(tmp_path / "owner.pub")
    with pytest.raises(sordino.KeyKindError, match="public key.*; expected the owner's key"):
        sordino.OwnerKey.load(tmp_path / "owner.pub")
    with pytest.raises(sordino.KeyKindError):
        sordino.ReaderKey.load(tmp_path / "owner.pub")
    with pytest.raises(sordino.FileError, match="No such file"):
        sordino.OwnerKey.load(tmp_path / "none.key")
    text = (tmp_path / "owner.key").read_text()
    (tmp_path / "damaged.key").write_text(text.replace(":", ":0", 1))
    with pytest.raises(sordino.KeyFileError, match="damaged"):
        sordino.OwnerKey.load(tmp_path / "damaged.key")


def test_a_secret_that_others_can_read_is_warned_of(tmp_path, key):
    key.save(tmp_path / "owner.key")
    os.chmod(tmp_path / "owner.key", 0o644)
    with pytest.warns(UserWarning, match="chmod 600"):
        sordino.OwnerKey.load(tmp_path / "owner.key")


def test_secrets_are_not_printed(tmp_path, key):
    key.save(tmp_path / "owner.key")
    secret = (tmp_path / "owner.key").read_text().split(":")[1][:64]
    for shown in [repr(key), str(key), repr(key.reader()), repr(vars(type(key)))]:
        assert secret[:16] not in shown
    assert key.public().digest().startswith(repr(key).split()[1].rstrip(">"))


def test_keys_of_one_owner_are_equal_and_hashable(key):
    assert key.reader().public() == key.public() != sordino.keygen().public()
    assert len({key.public(), key.reader().public()}) == 1


def test_clients_and_readers_are_told_apart(key):
    alice, bob = sordino.client_keygen(), sordino.client_keygen()
    assert alice.public() == alice.public() != bob.public()
    assert len({alice.public(), alice.public(), bob.public()}) == 2
    assert alice.public().digest() != bob.public().digest() and len(alice.public().digest()) == 64
    assert alice.public().digest().startswith(repr(alice.public()).split()[1].rstrip(">"))
    readers = [sordino.reader_keygen(key.public()) for _ in range(2)]
    assert len({repr(reader) for reader in readers}) == 2
    for reader in readers:
        own, _, owner = repr(reader)[1:-1].split()[1:]
        assert reader.reader_public().digest().startswith(own) and key.public().digest().startswith(owner)


def pairs(key):
    """Each kind of key, with its class."""
    reader, writer, client = sordino.reader_keygen(key.public()), sordino.writer_keygen(key.public()), sordino.client_keygen()
    secret = [key, key.reader(), reader, writer, client]
    return secret, [key.public(), reader.reader_public(), writer.writer_public(), client.public()]


def test_keys_are_texts_for_environment_variables(tmp_path, key):
    secret, public = pairs(key)
    for at, one in enumerate(secret + public):
        text = one.to_text()
        assert text.strip() == text.rstrip("\n") and text.startswith("sordino-")
        again = type(one).from_text(f"{text}\n ")
        assert repr(again) == repr(one) and again.to_text() == text
        one.save(tmp_path / str(at))
        assert (tmp_path / str(at)).read_text() == text
    # The text of the owner's key also gives the other keys, as its file does.
    assert sordino.ReaderKey.from_text(key.to_text()).public() == sordino.PublicKey.from_text(key.reader().to_text()) == key.public()
    with pytest.raises(sordino.KeyKindError, match="expected the owner's key"):
        sordino.OwnerKey.from_text(key.reader().to_text())
    for text, error, match in [
        ("", sordino.KeyFileError, "text: .*to_text"),
        ("owner.key", sordino.KeyFileError, "text: "),
        (key.to_text().replace(":", ":0", 1), sordino.KeyFileError, "damaged"),
        ("\ud800", sordino.KeyFileError, "text: "),
        (key.to_text().encode(), sordino.InputError, "text is a bytes: expected a str"),
        (None, sordino.InputError, "text is a NoneType"),
    ]:
        with pytest.raises(error, match=match) as found:
            sordino.OwnerKey.from_text(text)
        assert key.to_text()[20:40] not in str(found.value)


def test_a_text_that_is_taken_for_a_path_is_not_shown(tmp_path, key):
    secret, _ = pairs(key)
    for one in secret:
        for text in (one.to_text(), one.to_text().strip()):
            with pytest.raises(sordino.InputError, match="from_text") as found:
                type(one).load(text)
            assert one.to_text()[30:50] not in str(found.value)


def test_a_key_of_a_text_remembers_versions_where_it_is_told(tmp_path, key):
    text = key.to_text()
    one = sordino.OwnerKey.from_text(text, tmp_path / "pins")
    sordino.build(tmp_path / "index", [[1.0, 0], [0, 1]], key=one, k=1).add([[1.0, 1]])
    assert (tmp_path / "pins").exists()
    assert len(sordino.open(tmp_path / "index", key=sordino.OwnerKey.from_text(text, pins=tmp_path / "pins"))) == 3


def test_secrets_are_not_pickled_and_what_is_public_is(key):
    secret, public = pairs(key)
    for one in secret:
        name = type(one).__name__
        for copied in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(sordino.KeyKindError, match=rf"{name} is secret.*{name}\.load.*{name}\.from_text"):
                copied(one)
    for one in public:
        assert pickle.loads(pickle.dumps(one)) == one == copy.deepcopy(one)
