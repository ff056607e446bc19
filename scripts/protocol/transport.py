"""gRPC, signatures of requests, chunks: section 1 of docs/protocol.md."""

import os
import struct
import time

import grpc
from cryptography.hazmat.primitives.asymmetric import mldsa

from keys import digest, read_key_file

CHUNK = 64 << 10


def field(number, data):
    """A field of bytes of a protobuf message; an empty one is left out."""
    if not data:
        return b""
    return bytes([number << 3 | 2]) + length(len(data)) + data


def length(x):
    out = b""
    while x >= 0x80:
        out, x = out + bytes([x & 0x7F | 0x80]), x >> 7
    return out + bytes([x])


def fields(message):
    """The fields of a protobuf message: bytes by number, and fixed64."""
    found, at = {}, 0
    while at < len(message):
        tag, at = message[at], at + 1
        if tag & 7 == 1:
            found[tag >> 3], at = struct.unpack_from("<Q", message, at)[0], at + 8
        else:
            size = shift = 0
            while True:
                byte, at = message[at], at + 1
                size |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    break
            found[tag >> 3], at = message[at : at + size], at + size
    return found


class Refused(Exception):
    """A request that the server did not answer."""

    def __init__(self, error):
        metadata = dict(error.trailing_metadata() or ())
        self.name, self.stale = metadata.get("sordino-refusal"), metadata.get("sordino-stale")
        super().__init__(f"{self.name or error.code().name}: {error.details()}")


class Connection:
    """A connection to a server."""

    def __init__(self, address, client_key=None, roots=None):
        options = [("grpc.max_receive_message_length", CHUNK + 64)]
        scheme, _, host = address.partition("://")
        if scheme == "https":
            credentials = grpc.ssl_channel_credentials(roots and open(roots, "rb").read())
            self.channel = grpc.secure_channel(host, credentials, options)
        else:
            self.channel = grpc.insecure_channel(host, options)
        self.key = self.instance = None
        if client_key:
            kind, seed = read_key_file(client_key)
            if kind != "client-key":
                raise ValueError("expected a client's key")
            self.key = mldsa.MLDSA65PrivateKey.from_seed_bytes(seed)
        plain = {"request_serializer": None, "response_deserializer": None}
        self.hello = self.channel.unary_unary("/sordino.v1.Search/Hello", **plain)
        self.ask = self.channel.unary_stream("/sordino.v1.Search/Call", **plain)

    def _sign(self, message):
        if self.instance is None:
            self.instance = fields(self.hello(b"", timeout=30))[1]
        key = digest(self.key.public_key().public_bytes_raw())
        now, nonce = int(time.time() * 1000), os.urandom(16)
        statement = self.instance + key + struct.pack("<Q", now) + nonce + digest(message)
        signature = self.key.sign(statement, b"sordino request 1")
        stamp = bytes([2 << 3 | 1]) + struct.pack("<Q", now)
        return field(1, key) + stamp + field(3, nonce) + field(4, signature)

    def call(self, message, limit):
        """The reply to a message, of at most `limit` bytes. Nothing is ever sent again."""
        request = field(1, message)
        try:
            if self.key:
                request += field(2, self._sign(message))
            reply, total = bytearray(), None
            for chunk in self.ask(request, timeout=30 + limit / (64 << 10)):
                part = fields(chunk)
                total = part.get(1, 0) if total is None else total
                data = part.get(2, b"")
                if part.get(1, 0) != total or total > limit or not data or len(data) != min(CHUNK, total - len(reply)):
                    raise ValueError("a chunk that no honest server sends")
                reply += data
        except grpc.RpcError as error:
            self.instance = None
            raise Refused(error) from None
        if total is None or len(reply) != total:
            raise ValueError("a reply that is cut off")
        return bytes(reply)
