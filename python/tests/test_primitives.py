"""The primitives, each against values from a different source."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import sordino
from sordino import blake3, fpe, mldsa, pir

KEY = bytes.fromhex("2B7E151628AED2A6ABF7158809CF4F3C")
COMMAND = os.environ.get("SORDINO_CLI")

# A card under the key of the bytes 0 to 31, with the tweak "shop-7" and the value "row 1" of the tweak's column.
HIDDEN_BY_THE_COMMAND = "4111 1163 6011 1111"


def test_ff1_gives_the_samples_of_nist():
    # SP 800-38G, samples 1, 2 and 3 of FF1.
    digits = fpe.FF1(KEY)
    assert digits.encrypt("0123456789") == "2433477484"
    assert digits.encrypt("0123456789", tweak=bytes.fromhex("39383736353433323130")) == "6124200773"
    letters = fpe.FF1(KEY, fpe.LOWER_ALPHANUMERIC)
    tweak = bytes.fromhex("3737373770717273373737")
    assert letters.encrypt("0123456789abcdefghi", tweak) == "a9tv40mll9kdu509eum"
    assert letters.decrypt("a9tv40mll9kdu509eum", tweak) == "0123456789abcdefghi"


def test_a_list_is_each_of_its_texts():
    cipher = fpe.FF1(KEY)
    texts = [str(10**9 + 7919 * n)[: 7 + n % 3] for n in range(50)]
    tweaks = [bytes([n]) for n in range(50)]
    hidden = cipher.encrypt(texts, tweaks)
    assert hidden == [cipher.encrypt(text, tweak) for text, tweak in zip(texts, tweaks)]
    assert cipher.decrypt(hidden, tweaks) == texts
    assert cipher.encrypt(texts, b"all") == [cipher.encrypt(text, b"all") for text in texts]
    greek = fpe.FF1(KEY, "αβγδεζηθ")
    assert greek.decrypt(greek.encrypt(["αβγδεζηθα"])) == ["αβγδεζηθα"]
    assert cipher.encrypt([]) == []


def test_integers_stay_in_their_range():
    for first, last in [(1, 2_500_000), (0, 2**100)]:
        ids = fpe.FF1(KEY, "01").range(first, last)
        values = [first, first + 1, last]
        hidden = ids.encrypt(values, b"rows")
        assert hidden == [ids.encrypt(value, b"rows") for value in values]
        assert all(first <= value <= last for value in hidden) and hidden != values
        assert ids.decrypt(hidden, b"rows") == values


INTEGERS = {
    "int64": lambda values: np.array(values),
    "uint8": lambda values: np.array(values, np.uint8),
    "objects": lambda values: np.array(values, object),
    "an iterator": iter,
    "Arrow": lambda values: pytest.importorskip("pyarrow").array(values),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_columns_of_integers_are_lists_of_them(name):
    ids = fpe.FF1(KEY, "01").range(0, 10**7)
    values = [3, 1, 2]
    assert ids.encrypt(INTEGERS[name](values)) == ids.encrypt(values)
    assert ids.encrypt(np.int64(3)) == ids.encrypt(np.array(3)) == ids.encrypt(3)


@pytest.mark.parametrize("wrong", [True, np.True_, np.array(True), [1, True], np.array([True]), np.array([1.5]), np.array([[1]]), [1, None], 1.0])
def test_truth_values_and_others_are_no_integers(wrong):
    ids = fpe.FF1(KEY, "01").range(0, 10**7)
    for call in [ids.encrypt, ids.decrypt]:
        with pytest.raises(sordino.InputError, match="expected an integer"):
            call(wrong)
    with pytest.raises(sordino.InputError, match="first: a bool, expected an integer"):
        fpe.FF1(KEY, "01").range(False, 10**7)


@pytest.mark.parametrize(
    ("tweak", "match"),
    [
        ("shop 7", 'tweak is a str: expected bytes, such as tweak=b"shop 7"'),
        (7, "tweak is a int: expected bytes"),
        (["shop 7"] * 3, "tweak 0 is a str: expected bytes"),
        ([b"shop 7"], "1 tweaks for 3 texts.*without a list"),
        ([b"a", b"b"], "2 tweaks for 3 texts"),
        ([], "0 tweaks for 3 texts"),
    ],
)
def test_a_list_of_tweaks_has_one_for_each_text(tweak, match):
    for cipher, text in [(fpe.FF1(KEY), "12345678"), (fpe.Format("digits", KEY), "12345678")]:
        for call in [cipher.encrypt, cipher.decrypt]:
            with pytest.raises(sordino.InputError, match=match):
                call([text] * 3, tweak)
    if isinstance(tweak, (str, list)):
        with pytest.raises(sordino.InputError, match='expected bytes for all integers, such as tweak=b"shop 7"'):
            fpe.FF1(KEY, "01").range(0, 10**7).encrypt([1, 2, 3], tweak)


def test_formats_keep_their_form():
    cards = fpe.Format("pan", KEY)
    hidden = cards.encrypt("4111 1111 1111 1111", tweak=b"shop 7")
    assert hidden.startswith("4111 11") and hidden.endswith("1111") and hidden != "4111 1111 1111 1111"
    assert cards.decrypt([hidden], b"shop 7") == ["4111 1111 1111 1111"]


def test_key_files_of_the_command_are_keys_and_give_its_ciphertexts(tmp_path):
    # The command's own tests have the same value.
    file = b"sordino-fpe-key-1:" + bytes(range(32)).hex().encode() + b"\n"
    cards = fpe.Format("pan", file)
    card = "4111 1111 1111 1111"
    assert cards.encrypt(card, fpe.command_tweak("shop-7", "row 1")) == HIDDEN_BY_THE_COMMAND
    assert cards.encrypt(card) == fpe.Format("pan", bytes(range(32))).encrypt(card)
    assert fpe.FF1(file).encrypt("0123456789") == fpe.FF1(bytes(range(32))).encrypt("0123456789")
    if COMMAND:
        (tmp_path / "key").write_bytes(file)
        arguments = ["--key-file", tmp_path / "key", "--format", "pan", "--tweak", "ü"]
        made = subprocess.run([COMMAND, "fpe", "encrypt", *arguments], input=card + "\n", capture_output=True, text=True, check=True)
        assert made.stdout == cards.encrypt(card, fpe.command_tweak("ü")) + "\n"
    digits = bytes(range(32)).hex().encode()
    for wrong, words in [
        (digits, "a key of 64 bytes: expected 16, 24 or 32, or the content of a key file .*fromhex"),
        (file[:-3], "the key file is damaged"),
        (file.upper(), "a key of 83 bytes"),
        (b"sordino-fpe-key-1:" + digits.upper()[::-1], "the key file is damaged"),
        (b"sordino-fpe-key-1:" + b" " * 64 + b"x", "the key file is damaged"),
    ]:
        with pytest.raises(sordino.InputError, match=words) as refused:
            fpe.Format("pan", wrong)
        assert "0405060708" not in str(refused.value)
    with pytest.raises(sordino.InputError, match="tweak is a bytes: expected a str"):
        fpe.command_tweak(b"shop-7")


def test_switches_are_no_texts():
    for wrong in ("false", 1, None):
        with pytest.raises(sordino.InputError, match="expected True or False"):
            fpe.Format("pan", bytes([7] * 32), bind_spelling=wrong)
        with pytest.raises(sordino.InputError, match="expected True or False"):
            fpe.FF1(bytes([7] * 32), allow_small_domain=wrong)


def test_separators_of_formats_do_not_count():
    cards, mail = fpe.Format("pan", KEY), fpe.Format("email", KEY)
    bare = cards.encrypt("4111111111111111")
    for separator in " -":
        text = separator.join(["4111", "1111", "1111", "1111"])
        hidden = cards.encrypt(text)
        assert hidden.replace(separator, "") == bare
        assert cards.decrypt(hidden.replace(separator, "")) == "4111111111111111"
    local, _, domain = mail.encrypt("jane.doe@Mail.Example").partition("@")
    assert domain == "Mail.Example"
    assert mail.decrypt(f"{local}@mail.example") == "jane.doe@mail.example"
    # Data from the time when the spelling counted.
    old = fpe.Format("pan", bytes([7] * 32), bind_spelling=True)
    assert old.decrypt("4111 1191 5696 1111", b"shop") == "4111 1111 1111 1111"


def test_wrong_fields_are_refused_by_number_and_not_shown():
    cipher = fpe.FF1(KEY)
    with pytest.raises(sordino.InputError, match="record 1") as refused:
        cipher.encrypt(["12345678", "1234567x"])
    assert "1234567x" not in str(refused.value)
    with pytest.raises(sordino.InputError, match="record 0: .*3.*6"):
        cipher.encrypt("123")
    with pytest.raises(sordino.InputError, match="15 bytes"):
        fpe.FF1(bytes(15))
    with pytest.raises(sordino.InputError, match="2 tweaks for 3 texts"):
        cipher.encrypt(["1234567"] * 3, [b"", b""])
    with pytest.raises(sordino.InputError):
        cipher.range(5, 10)
    with pytest.raises(sordino.InputError):
        cipher.range(0, 10**7).encrypt(-1)
    with pytest.raises(sordino.InputError):
        fpe.Format("no such format", KEY)


def test_the_owners_signature_of_an_index_verifies(tmp_path, index, key):
    key.public().save(tmp_path / "owner.pub")
    public = bytes.fromhex((tmp_path / "owner.pub").read_text().split(":")[1])[:2592]
    (file,) = Path(index.path, "manifests").iterdir()
    signed = file.read_bytes()
    message, signature = signed[:-4627], signed[-4627:]
    how = {"parameter_set": "ML-DSA-87", "context": b"sordino manifest 2"}
    changed = bytes([signature[0] ^ 1]) + signature[1:]
    given = ([message, message, message + b"!", message], [signature, changed, signature, b"short"])
    assert mldsa.verify_batch(public, *given, **how) == [True, False, False, False]
    assert mldsa.verify_batch([public] * 4, *given, **how) == [True, False, False, False]
    assert mldsa.verify_batch([], [], [], **how) == []
    with pytest.raises(sordino.InputError, match="2592 bytes, expected 1952"):
        mldsa.verify_batch(public, *given, context=b"")
    with pytest.raises(sordino.InputError, match="1 signatures for 2 messages"):
        mldsa.verify_batch(public, [b"", b""], [b""])
    with pytest.raises(sordino.InputError, match="1 public keys for 4 messages.*without a list"):
        mldsa.verify_batch([public], *given, **how)
    with pytest.raises(sordino.InputError, match="ML-DSA-44"):
        mldsa.verify_batch(public, [], [], parameter_set="RSA")


def test_digests_are_those_of_blake3():
    # The first of the official test vectors: 0, 1 and 1025 bytes of 0, 1, ..., 250, 0, 1, ...
    messages = [bytes(n % 251 for n in range(length)) for length in (0, 1, 1025)]
    digests = blake3.hash_each(messages)
    assert [digest.hex()[:16] for digest in digests] == [
        "af1349b9f5f9a1a6",
        "2d3adedff11b61f1",
        "d00278ae47eb27b3",
    ]
    keyed = blake3.hash_each(messages, key=b"whats the Elvish word for friend")
    assert keyed[0].hex()[:16] == "92b2b75604ed3c76"
    derived = blake3.hash_each(messages, context="BLAKE3 2019-12-27 16:29:52 test vectors context")
    assert derived[0].hex()[:16] == "2cc39783c223154f"
    assert blake3.hash_each([]) == []
    with pytest.raises(sordino.InputError, match="31 bytes"):
        blake3.hash_each([b""], key=bytes(31))
    with pytest.raises(sordino.InputError):
        blake3.hash_each([b""], key=bytes(32), context="both")


NO_BYTES = [16, "text", None, [1, 2], [None]]


@pytest.mark.parametrize("wrong", NO_BYTES)
def test_what_is_no_bytes_does_not_become_some(wrong):
    # `bytes(16)` is sixteen zeros. As a key or a message, this would be a silent fault.
    server = pir.Server([b"tuba", b"mute"])
    client = pir.Client(server.params, server.seed, server.hint)
    for call in [
        lambda: fpe.FF1(wrong),
        lambda: fpe.Format("pan", wrong),
        lambda: fpe.FF1(KEY).encrypt("12345678", wrong),
        lambda: fpe.FF1(KEY).range(0, 10**7).encrypt(5, wrong),
        lambda: blake3.hash_each([wrong]),
        lambda: blake3.hash_each(wrong),
        lambda: blake3.hash_each([b""], key=wrong if wrong is not None else 3),
        lambda: mldsa.verify_batch(bytes(1952), [wrong], [b""]),
        lambda: mldsa.verify_batch([wrong], [b""], [b""]),
        lambda: pir.Server([wrong]),
        lambda: pir.Server(wrong),
        lambda: pir.Client(wrong, server.seed, server.hint),
        lambda: pir.Client(server.params, wrong, server.hint),
        lambda: pir.Client(server.params, server.seed, wrong),
        lambda: server.answer(wrong),
        lambda: client.recover(client.query(0), wrong),
        lambda: client.recover(wrong, b""),
    ]:
        with pytest.raises(sordino.InputError):
            call()


def test_one_message_is_no_list_of_its_bytes():
    with pytest.raises(sordino.InputError, match="one bytes"):
        blake3.hash_each(b"abc")
    with pytest.raises(sordino.InputError, match="one bytes"):
        pir.Server(b"abc")


def test_texts_that_cannot_be_encoded_are_refused_and_not_shown():
    for call in [lambda: fpe.FF1(KEY).encrypt(["12345678", "secret\ud800"]), lambda: fpe.Format("pan", KEY).encrypt(5)]:
        with pytest.raises(sordino.InputError) as refused:
            call()
        assert "secret" not in str(refused.value) and refused.value.__context__ is None


def test_a_database_for_which_there_is_no_memory():
    with pytest.raises(sordino.InputError, match="1 records of 2147483648 bytes"):
        pir.Server([b"a"], record_len=2**31)


def test_a_record_comes_from_a_server_that_is_not_asked_for_it():
    records = [f"record {n}".encode() for n in range(300)]
    server = pir.Server(records, record_len=16)
    client = pir.Client(server.params, server.seed, server.hint)
    assert len(client) == 300
    queries = [client.query(at) for at in (0, 17, 299)]
    answers = server.answer([query.message for query in queries])
    for at, query, answer in zip((0, 17, 299), queries, answers):
        assert client.recover(query, answer) == records[at]
    query = client.query(5)
    assert len(query.message) == len(queries[0].message)
    answer = server.answer(query.message)
    assert client.recover(query, answer) == records[5]
    with pytest.raises(sordino.InputError, match="already"):
        client.recover(query, answer)
    with pytest.raises(sordino.InputError, match="300"):
        client.query(300)
    with pytest.raises(sordino.InputError):
        client.query(-1)
    with pytest.raises(sordino.InputError):
        server.answer(b"nonsense")
    with pytest.raises(sordino.InputError):
        client.recover(client.query(1), answer[:-1])
    with pytest.raises(sordino.InputError):
        pir.Server([])
    with pytest.raises(sordino.InputError):
        pir.Client(server.params, server.seed, server.hint[:-1])


def fetch(server, client, at):
    query = client.query(at)
    return client.recover(query, server.answer(query.message))


def test_records_keep_their_lengths():
    records = [b"a\0", b"a", b"", b"\0", b"\x80", b"\x80\0\0", bytes(5), b"\xff" * 5]
    for how in [{}, {"record_len": 5}, {"record_len": 300}]:
        server = pir.Server(records, **how)
        client = pir.Client(server.params, server.seed, server.hint)
        assert [fetch(server, client, at) for at in range(len(records))] == records
    server = pir.Server([b""])
    assert fetch(server, pir.Client(server.params, server.seed, server.hint), 0) == b""
    with pytest.raises(sordino.InputError, match="record 1 of 5 bytes: expected at most 4"):
        pir.Server([b"abcd", b"abcde"], record_len=4)


def test_what_no_field_can_be_is_named():
    numbers = fpe.Format("ssn", bytes(16))
    for given, words in [
        (["123-45-6789", None], "record 1 is missing: expected a str; leave missing values out"),
        (["123-45-6789", float("nan")], "record 1 is missing"),
        ([123456789], "record 0 is a int: expected a str; `str` makes texts"),
        (["987-65-4321"], "record 0: .*: expected a number as 123-45-6789, without area 000, 666 or 900 and above"),
    ]:
        with pytest.raises(sordino.InputError, match=words):
            numbers.encrypt(given)
    with pytest.raises(sordino.InputError, match="expected a UUID in small letters"):
        fpe.Format("uuid", bytes(16)).encrypt("550E8400-E29B-41D4-A716-446655440000")


def test_a_hint_of_other_records_is_refused():
    old, new = pir.Server([b"tuba", b"mute", b"horn"]), pir.Server([b"tuba", b"flute", b"horn"])
    stale = pir.Client(old.params, old.seed, old.hint)
    # The seed of one version and the hint of another are refused too.
    for client in [stale, pir.Client(new.params, old.seed, new.hint)]:
        query = client.query(1)
        with pytest.raises(sordino.StaleHintError, match="download params, seed and hint again"):
            new.answer(query.message)
        with pytest.raises(sordino.StaleHintError, match="query 1"):
            new.answer([pir.Client(new.params, new.seed, new.hint).query(0).message, query.message])
    fresh = pir.Client(new.params, new.seed, new.hint)
    assert fetch(new, fresh, 1) == b"flute"
    for message in [b"", bytes(15), bytes(16)]:
        with pytest.raises(sordino.InputError):
            new.answer(message)


def test_what_has_no_order_is_no_list():
    for call in [
        lambda: pir.Server({b"a", b"b"}),
        lambda: blake3.hash_each({b"a", b"b"}),
        lambda: blake3.hash_each({b"a": 1}),
        lambda: fpe.FF1(KEY).encrypt({"12345678", "12345679"}),
        lambda: fpe.FF1(KEY, "01").range(0, 10**7).encrypt({1, 2}),
        lambda: fpe.Format("pan", KEY).encrypt({"4111 1111 1111 1111": 1}),
    ]:
        with pytest.raises(sordino.InputError, match="expected a list"):
            call()


class Frame:
    """A data frame of pandas, as far as it is one: iteration gives the names of its columns."""

    def __init__(self, columns):
        self.data = columns

    @property
    def columns(self):
        return list(self.data)

    def __getitem__(self, name):
        return self.data[name]

    def __iter__(self):
        return iter(self.data)


FRAMES = {
    "one like pandas'": Frame,
    "pandas": lambda columns: pytest.importorskip("pandas").DataFrame(columns),
    "polars": lambda columns: pytest.importorskip("polars").DataFrame(columns),
    "Arrow": lambda columns: pytest.importorskip("pyarrow").table(columns),
    "Arrow's batch": lambda columns: pytest.importorskip("pyarrow").record_batch(columns),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_is_no_list_of_the_names_of_its_columns(name, tmp_path, key):
    frame = FRAMES[name]({"surname": ["Mueller", "Schmidt"], "city": ["Berlin", "Hamburg"]})
    letters, digits = fpe.Format("alphanumeric", KEY), fpe.FF1(KEY)
    ids = digits.range(0, 10**7)
    # A file without a header has its first record as the names of columns, so no name is repeated.
    for call in [
        lambda: letters.encrypt(frame),
        lambda: letters.decrypt(frame),
        lambda: letters.encrypt(["Mueller", "Schmidt"], frame),
        lambda: digits.encrypt(frame),
        lambda: digits.decrypt(frame),
        lambda: ids.encrypt(frame),
        lambda: ids.decrypt(frame),
    ]:
        with pytest.raises(sordino.InputError, match="of 2 columns, .*frame\\['NAME'\\]"):
            call()
    for call in [
        lambda: blake3.hash_each(frame),
        lambda: mldsa.verify_batch(frame, [b""], [b""]),
        lambda: mldsa.verify_batch(bytes(1952), frame, [b""]),
        lambda: pir.Server(frame),
        lambda: sordino.build(tmp_path / "index", np.eye(2), key=key, attributes={"name": frame}),
    ]:
        with pytest.raises(sordino.InputError, match="of the columns surname, city, .*frame\\['surname'\\]"):
            call()
    with pytest.raises(sordino.PayloadError, match="payloads: one .*: give a column"):
        sordino.build(tmp_path / "index", np.eye(2), key=key, payloads=frame)
    assert letters.decrypt(letters.encrypt(frame["surname"])) == ["Mueller", "Schmidt"]
    whole = FRAMES[name]({7: [1, 2]}) if name in ("one like pandas'", "pandas") else FRAMES[name]({"7": [1, 2]})
    with pytest.raises(sordino.InputError, match="of 1 columns"):
        ids.encrypt(whole)
