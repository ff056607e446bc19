"""SimplePIR: a client fetches a record from one server, which does not learn which::

    from sordino import pir

    server = pir.Server([b"tuba", b"mute", b"horn", b"oboe"])
    client = pir.Client(server.params, server.seed, server.hint)   # downloaded once
    query = client.query(1)
    assert client.recover(query, server.answer(query.message)) == b"mute"

Records come back as they went in, each with its own length: in the database they are filled up to one length, by the byte
0x80 and zeros, so that the server's answers do not show it. A query begins with a digest of `params`, `seed` and `hint`: a server
of other records, of a later version for instance, refuses it with `StaleHintError`, and the client downloads them again.

At least 128 bits of security, from named parameter sets only. An answer is not checked: a server that lies
gives a wrong record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from . import _arrays, _sordino
from ._errors import InputError
from ._index import whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Client", "Query", "Server"]


class Server:
    """Records, prepared for queries.

    records: at least one, as bytes, of any lengths.
    record_len: the most bytes of a record; else those of the longest. Clients learn it, and no record's own.

    Raises `InputError`.
    """

    def __init__(self, records: Sequence[bytes], *, record_len: int | None = None) -> None:
        records = _arrays.octets_each(records, "record")
        if record_len is None:
            record_len = max(map(len, records), default=0)
        self._native = _sordino.PirServer(records, whole_number(record_len, "record_len"))
        #: The layout, which clients have to know.
        self.params: bytes = self._native.params()
        #: The seed of the public matrix, 32 bytes.
        self.seed: bytes = self._native.seed()
        #: The bytes that clients download once.
        self.hint: bytes = self._native.hint()

    @overload
    def answer(self, message: bytes) -> bytes: ...
    @overload
    def answer(self, message: Sequence[bytes]) -> list[bytes]: ...
    def answer(self, message: bytes | Sequence[bytes]) -> bytes | list[bytes]:
        """Answers a query's message, or several in one pass.

        Raises `StaleHintError` for a query that was made with the hint of other records, `InputError` for any other bytes.
        """
        if isinstance(message, (bytes, bytearray, memoryview)):
            return self._native.answer([bytes(message)])[0]
        return self._native.answer(_arrays.octets_each(message, "message"))


class Query:
    """A query that was made, and the secret that opens its answer, once.

    message: what the server gets.
    """

    __slots__ = ("_secret", "message")

    def __init__(self, secret: _sordino.PirSecret, message: bytes) -> None:
        self._secret = secret
        self.message = message


class Client:
    """A client of one database: `params`, `seed` and `hint` are the server's.

    Raises `InputError` if they do not belong together.
    """

    def __init__(self, params: bytes, seed: bytes, hint: bytes) -> None:
        params, hint = _arrays.octets(params, "params"), _arrays.octets(hint, "hint")
        if len(seed := _arrays.octets(seed, "seed")) != 32:
            raise InputError(f"a seed of {len(seed)} bytes: expected 32")
        self._native = _sordino.PirClient(params, seed, hint)

    def __len__(self) -> int:
        """The number of records."""
        return self._native.records

    def query(self, index: int) -> Query:
        """A query for the record at `index`, from 0. Raises `InputError` if there is none."""
        return Query(*self._native.query(whole_number(index, "index")))

    def recover(self, query: Query, answer: bytes) -> bytes:
        """The record in the answer to `query`, as the server got it. Raises `InputError` a second time, or for other bytes."""
        if not isinstance(query, Query):
            raise InputError(f"query is a {type(query).__name__}: expected what Client.query gives")
        return self._native.recover(query._secret, _arrays.octets(answer, "answer"))
