"""Pages of browsers that may ask a server of this package."""

import http.client

import pytest

import sordino


def asked(server, origin):
    """The status of a request of gRPC-Web by a page of this origin, and the origin that may read the answer."""
    host = server.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=30)
    headers = {"Origin": origin, "Content-Type": "application/grpc-web+proto", "X-Grpc-Web": "1"}
    connection.request("POST", "/sordino.v1.Search/Hello", b"\0" * 5, headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, answer.getheader("Access-Control-Allow-Origin")


def test_pages_of_origins_that_are_named_may_ask(index, key):
    given = {"public_key": key.public(), "listen": "127.0.0.1:0", "anyone": True, "plaintext": True}
    with sordino.serve(index, **given) as server:
        assert asked(server, "https://app.example") == (403, None)
    with sordino.serve(index, **given, allow_origins=["https://app.example", "http://localhost:3000"]) as server:
        assert asked(server, "https://app.example") == (200, "https://app.example")
        assert asked(server, "http://localhost:3000") == (200, "http://localhost:3000")
        assert asked(server, "https://other.example")[0] == 403
        assert sordino.Client(server.url, key=key.reader()).stats()["version"] == 1


def test_what_is_no_origin_is_refused(index, key):
    for wrong, words in [
        (["*"], "without a path"),
        (["https://app.example/page"], "without a path"),
        ([7], "expected the origin of a page"),
        ("https://app.example", "expected a list of origins"),
        (["https://\ud800.example"], "expected the origin of a page"),
    ]:
        with pytest.raises(sordino.InputError, match=words):
            sordino.serve(index, public_key=key.public(), listen="127.0.0.1:0", anyone=True, plaintext=True, allow_origins=wrong)
