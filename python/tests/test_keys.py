"""Keys and their files."""

import os
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
