"""What type checkers see of the package. `scripts/python.sh` has mypy check it, and nothing runs it."""

from typing import Any

import numpy as np
from typing_extensions import assert_type

import sordino
from sordino import fpe


def search(index: sordino.Index, key: sordino.OwnerKey, vectors: np.ndarray) -> list[list[bytes]] | None:
    try:
        with sordino.Client(index, key=key.reader(), pin=None) as client:
            assert_type(client, sordino.Client)
            assert_type(client.payloads([1, 2]), list[bytes | None])
            assert_type(client.attributes(3), list[dict[str, int | float | bool | str] | None])
            client.search(vectors, 3, where=f"tenant = {sordino.quoted('a')}", threshold=0.5)
            return client.search(vectors).payloads
    except sordino.BusyError as busy:
        assert_type(busy.args, tuple[Any, ...])
    except sordino.NetworkError as error:
        assert_type(error, sordino.NetworkError)
    except (sordino.StaleError, sordino.Error):
        pass
    return None


def serve(index: sordino.Index, issuer: sordino.IssuerPublicKey, alice: sordino.ClientPublicKey) -> str:
    public = sordino.PublicKey.load("owner.pub")
    with sordino.serve(index, public_key=public, clients=[alice], issuers=[issuer], audience="a", plaintext=True) as server:
        assert_type(server.url, str)
        return server.url


def hide(cards: fpe.Format) -> None:
    assert_type(cards.encrypt("4111 1111 1111 1111"), str)
    assert_type(cards.encrypt(["4111 1111 1111 1111"]), list[str])


def number(ids: fpe.FF1Range) -> None:
    assert_type(ids.encrypt(5), int)
    assert_type(ids.encrypt(np.arange(3)), list[int])


def filtered(vectors: np.ndarray, key: sordino.OwnerKey) -> sordino.Index:
    index = sordino.build("an.index", vectors, key=key, attributes={"year": np.arange(len(vectors)), "lang": ["en", None]})
    index.add(vectors, attributes={"year": [1, 2]}, leave_empty=True)
    there: bool = index.ids()[0] in index
    return index
