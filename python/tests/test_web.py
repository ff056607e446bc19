"""The page that searches definitions: its vectors are those of Python, and its command serves what it needs."""

import hashlib
import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sordino

pytest.importorskip("wordllama", reason="the extra [web] is not installed")

from sordino._embedding import Embedding
from sordino.web import Definition, WordNet, main, write_table

ROOT = Path(__file__).parents[2]
# The greatest difference of a coordinate from the same sum in numpy, and the least cosine with the model's own vector: a byte for
# a coordinate leaves 0.99996 on questions of usual length.
ROUNDING, COSINE = 1e-6, 0.9995
ODD = [
    " ",
    "a",
    "  two  spaces and one at the end ",
    "tabs\tand\nlines\r\n",
    "naïve café, ångström, Straße",
    "日本語 и кириллица",
    "🦊 jumps over 🐶🏽",
    "\x00 null, \x7f, \u2028, \ufeff",
    "<s> named </s><unk> tokens <s>",
    "< s> <S> <0x41> ▁marks▁ already",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "1234567890 3.14159 1e-9 $£€",
    "Donaudampfschifffahrtsgesellschaftskapitän",
    "e\u0301 and \u00e9, fi and ﬁ",
    "the " * 400,
]
NODE = shutil.which("node")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("web") / "words.safetensors"
    write_table(path)
    return path


def sentences():
    """Odd texts, and lines of this repository's own pages."""
    lines = [line.strip() for page in sorted((ROOT / "docs").glob("*.md")) for line in page.read_text().splitlines()]
    return ODD + [line for line in lines if 20 < len(line) < 400][:500]


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_a_page_embeds_as_python_does(table):
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    import wordllama

    texts = sentences()
    assert len(texts) == 500 + len(ODD)
    given = "".join(json.dumps(text) + "\n" for text in texts)
    done = subprocess.run([NODE, ROOT / "web/test/embed.js", table], input=given, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    tokenizer = Tokenizer.from_file(str(Path(wordllama.__file__).parent / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokens = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    for text, one, ids in zip(texts, found, tokens, strict=True):
        assert one["tokens"] == ids, text
    vectors = np.array([one["vector"] for one in found])
    parts = load_file(table)
    rows = parts["rows"] * parts["scales"].astype(np.float64)[:, None]
    sums = np.array([rows[ids].sum(axis=0) for ids in tokens])
    assert np.abs(vectors - sums / np.linalg.norm(sums, axis=1, keepdims=True)).max() < ROUNDING
    cosines = (vectors * Embedding("wordllama")(texts)).sum(axis=1)
    assert cosines.min() > COSINE


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize("spoil", [lambda b: b[:4], lambda b: b[:100], lambda b: b[:-1], lambda b: b"\xff" * 8 + b[8:], lambda b: b.replace(b'"rows"', b'"rowz"')])
def test_a_page_refuses_a_damaged_table(table, tmp_path, spoil):
    damaged = tmp_path / "words"
    damaged.write_bytes(spoil(table.read_bytes()))
    done = subprocess.run([NODE, ROOT / "web/test/embed.js", damaged], input='"a"\n', capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "The file of word vectors is damaged" in done.stderr


LICENCE = "  1 This software and database is being provided to you, the LICENSEE  \n  2 under a licence of these tests.  \n"


@pytest.fixture
def wordnet(tmp_path):
    """Files in WordNet's form: 48 meanings, each with two words and an example."""
    folder = tmp_path / "wordnet"
    folder.mkdir()
    for kind, letter in [("noun", "n"), ("verb", "v"), ("adj", "s"), ("adv", "r")]:
        lines = [f'{at:08} 03 {letter} 02 big_thing{at}(a) 0 other{at} 1 000 | the meaning {at} of a {kind}; "an example"  \n' for at in range(12)]
        (folder / f"data.{kind}").write_text(LICENCE + "".join(lines))
    return folder


@pytest.fixture
def page(tmp_path):
    folder = tmp_path / "page"
    (folder / "client").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>A page</title>")
    (folder / "client" / "init.js").write_text("export const init = 1;")
    return folder


def test_definitions_are_read_without_their_examples(wordnet, tmp_path):
    read = WordNet(wordnet, tmp_path)
    assert len(read.definitions) == 48
    assert read.definitions[12] == Definition("verb", "big thing0, other0", "the meaning 0 of a verb")
    assert read.licence.splitlines() == ["This software and database is being provided to you, the LICENSEE", "under a licence of these tests."]
    (wordnet / "data.adv").write_text("00001740 02 r zz word | a meaning\n")
    with pytest.raises(sordino.InputError, match="adverb"):
        WordNet(wordnet, tmp_path)


def command(wordnet, page, tmp_path, *more):
    words = ["--folder", tmp_path / "home", "--wordnet", wordnet, "--page", page, *more]
    return [str(word) for word in words]


def test_the_command_says_what_is_missing(wordnet, page, tmp_path, capsys):
    for more, expected in [
        (["--page", tmp_path / "none"], "scripts/web.sh build makes it"),
        (["--limit", "0"], "--limit 0: expected at least 1"),
    ]:
        assert main(command(wordnet, page, tmp_path, *more)) == 1
        assert expected in capsys.readouterr().err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(command(wordnet, page, tmp_path, "--port", port)) == 1
    assert f"127.0.0.1:{port}" in capsys.readouterr().err


def answered(url, path, method="GET", **headers):
    """The status, the fields and the body of an answer. The path goes out as it is."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read()


def lines_of(running, count):
    return [running.stdout.readline() for _ in range(count)]


def test_the_command_serves_a_page_and_its_index(wordnet, page, tmp_path):
    words = command(wordnet, page, tmp_path, "--limit", 40, "--port", 0, "--server-port", 0)
    with subprocess.Popen([sys.executable, "-m", "sordino.web._command", *words], stdout=subprocess.PIPE, text=True) as running:
        told = lines_of(running, 4)
        (url,) = re.findall(r"Open (http://127.0.0.1:\d+)", told[-1])
        status, headers, body = answered(url, "/")
        assert (status, headers["Content-Type"], body) == (200, "text/html; charset=utf-8", (page / "index.html").read_bytes())
        assert headers["X-Content-Type-Options"] == "nosniff"
        (rule,) = re.findall('Content-Security-Policy" content="([^"]+)"', (ROOT / "web" / "index.html").read_text())
        assert headers["Content-Security-Policy"] == f"{rule}; frame-ancestors 'none'"
        # Names of other sites may lead to this machine.
        for host in ["evil.example", "evil.example:" + url.rpartition(":")[2], "127.0.0.1"]:
            assert answered(url, "/config.json", Host=host)[0] == 421, host
        assert answered(url, "/", "HEAD")[2] == b""
        status, _, body = answered(url, "/", **{"If-None-Match": headers["ETag"]})
        assert (status, body) == (304, b"")
        assert answered(url, "/client/init.js")[1]["Content-Type"].startswith("text/javascript")
        for path in ["/owner.key", "/../home/owner.key", "/%2e%2e/home/owner.key", "//etc/passwd", "/client/../index.html"]:
            assert answered(url, path)[0] == 404, path
        config = json.loads(answered(url, "/config.json")[2])
        _, _, table = answered(url, "/words.safetensors")
        assert (len(table), hashlib.sha256(table).hexdigest()) == (config["table"]["bytes"], config["table"]["sha256"])
        notices = answered(url, "/notices.txt")[2].decode()
        assert "licence of these tests" in notices and "MIT" in notices
        # As the page does, opens the server's index with the reader's key.
        file = tmp_path / "reader.key"
        file.write_text(config["readerKey"])
        file.chmod(0o600)
        vectors = Embedding("wordllama")(["the meaning 3 of a verb"])
        with sordino.Client(config["server"], key=sordino.ReaderKey.load(file)) as client:
            found = client.search(vectors, k=3).payloads[0]
        assert found[0] == b"verb\tbig thing3, other3\tthe meaning 3 of a verb"
        # Only pages of this origin may ask the index's server.
        asking = {"Content-Type": "application/grpc-web+proto", "Origin": url}
        assert answered(config["server"], "/sordino.v1.Search/Hello", "POST", **asking)[1]["Access-Control-Allow-Origin"] == url
        assert answered(config["server"], "/sordino.v1.Search/Hello", "POST", **asking | {"Origin": "http://127.0.0.1:1"})[0] == 403
        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 130


def test_a_second_run_takes_the_index_of_the_first(wordnet, page, tmp_path):
    words = command(wordnet, page, tmp_path, "--port", 0, "--server-port", 0)
    for lines in (4, 2):
        with subprocess.Popen([sys.executable, "-m", "sordino.web._command", *words], stdout=subprocess.PIPE, text=True) as running:
            told = lines_of(running, lines)
            running.send_signal(signal.SIGINT)
            assert running.wait(20) == 130
        assert told[-1].startswith("Open http://127.0.0.1:")
        assert told[0].startswith("Embedding 48 definitions") is (lines == 4)
        # The remains of an interrupted build are not an index.
    (index,) = (tmp_path / "home").glob("index-*")
    (index / "CURRENT").unlink()
    with subprocess.Popen([sys.executable, "-m", "sordino.web._command", *words], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline().startswith("Embedding 48 definitions")
        assert lines_of(running, 3)[-1].startswith("Open ")
        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 130


@pytest.mark.parametrize("origins", ["http://localhost:1", ["*"], ["http://localhost:1/path"], [1], 5, ["\ud800"]])
def test_origins_that_are_none_are_refused(index, key, origins):
    with pytest.raises(sordino.InputError, match="origin"):
        sordino.serve(index, listen="127.0.0.1:0", public_key=key.public(), plaintext=True, anyone=True, allow_origins=origins)
