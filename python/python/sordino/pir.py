"""SimplePIR: a client fetches a record from one server, which does not learn which one::

    from sordino import pir

    server = pir.Server([b"tuba", b"mute", b"horn", b"oboe"])
    client = pir.Client(server.params, server.seed, server.hint)   # downloaded once
    query = client.query(1)
    assert client.recover(query, server.answer(query.message)) == b"mute"

Records come back unchanged, each with its own length. The server pads them to one length, with the byte 0x80
and zeros, so that answers do not show their lengths.

A query begins with a digest of `params`, `seed` and `hint`. A server of other records refuses it with
`StaleHintError`, and the client downloads them again.

Parameters come from named sets with at least 128 bits of security. Answers are not checked: a dishonest server
can give a wrong record.
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

    Parameters
    ----------
    records : sequence of bytes
        One record or more, of any lengths.
    record_len : int, optional
        The largest number of bytes of a record. The default is the length of the longest. Clients learn it, and no
        other length.

    Raises
    ------
    InputError
        If the records cannot be used.
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
        """Answer the message of a query, or several messages in one pass.

        Parameters
        ----------
        message : bytes or sequence of bytes
            The messages.

        Returns
        -------
        bytes or list of bytes
            The answers.

        Raises
        ------
        StaleHintError
            If the query was made with the hint of other records.
        InputError
            If the bytes are not a query.
        """
        if isinstance(message, (bytes, bytearray, memoryview)):
            return self._native.answer([bytes(message)])[0]
        return self._native.answer(_arrays.octets_each(message, "message"))


class Query:
    """A query, with the secret that opens its answer once. The server gets its `message`."""

    __slots__ = ("_secret", "message")

    def __init__(self, secret: _sordino.PirSecret, message: bytes) -> None:
        self._secret = secret
        self.message = message


class Client:
    """A client of one database.

    Parameters
    ----------
    params, seed, hint : bytes
        The server's values.

    Raises
    ------
    InputError
        If the values do not belong together.
    """

    def __init__(self, params: bytes, seed: bytes, hint: bytes) -> None:
        params, hint = _arrays.octets(params, "params"), _arrays.octets(hint, "hint")
        if len(seed := _arrays.octets(seed, "seed")) != 32:
            raise InputError(f"a seed of {len(seed)} bytes: expected 32")
        self._native = _sordino.PirClient(params, seed, hint)

    def __len__(self) -> int:
        """Return the number of records."""
        return self._native.records

    def query(self, index: int) -> Query:
        """Return a query for the record at `index`, from 0.

        Raises
        ------
        InputError
            If there is no such record.
        """
        return Query(*self._native.query(whole_number(index, "index")))

    def recover(self, query: Query, answer: bytes) -> bytes:
        """Return the record in the answer to `query`.

        Raises
        ------
        InputError
            If the query was used before, or the bytes are not its answer.
        """
        if not isinstance(query, Query):
            raise InputError(f"query is a {type(query).__name__}: expected what Client.query gives")
        return self._native.recover(query._secret, _arrays.octets(answer, "answer"))
