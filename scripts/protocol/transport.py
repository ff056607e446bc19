"""gRPC, logins, tags of requests, chunks: section 1 of docs/protocol."""

import os
import struct
import time

import grpc
from blake3 import blake3
from cryptography.hazmat.primitives.asymmetric import mldsa, mlkem

from keys import derive, digest, read_key_file

CHUNK = 64 << 10


def field(number, data):
    """A field of bytes of a protobuf message; an empty one is left out."""
    if not data:
        return b""
    return bytes([number << 3 | 2]) + length(len(data)) + data


def fixed64(number, x):
    return bytes([number << 3 | 1]) + struct.pack("<Q", x)


def length(x):
    out = b""
    while x >= 0x80:
        out, x = out + bytes([x & 0x7F | 0x80]), x >> 7
    return out + bytes([x])


def fields(message):
    """The fields of a protobuf message by number: bytes, and fixed64 numbers."""
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
    """The error of a request that the server did not answer."""

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
        self.key = self.login = None
        if client_key:
            kind, seed = read_key_file(client_key)
            if kind != "client-key":
                raise ValueError("expected a client's key")
            self.key = mldsa.MLDSA65PrivateKey.from_seed_bytes(seed)
        plain = {"request_serializer": None, "response_deserializer": None}
        self.hello = self.channel.unary_unary("/sordino.v1.Search/Hello", **plain)
        self.enter = self.channel.unary_unary("/sordino.v1.Search/Login", **plain)
        self.ask = self.channel.unary_stream("/sordino.v1.Search/Call", **plain)

    def _log_in(self):
        """The name and request key of the login, and the number of its first request."""
        hello = fields(self.hello(b"", timeout=30))
        instance, kem_key = hello[1], hello.get(2, b"")
        if not kem_key:
            return None  # The server answers everyone, and is shown nothing.
        secret, ciphertext = mlkem.MLKEM768PublicKey.from_public_bytes(kem_key).encapsulate()
        key = digest(self.key.public_key().public_bytes_raw())
        now, nonce = int(time.time() * 1000), os.urandom(16)
        statement = instance + key + struct.pack("<Q", now) + nonce + digest(kem_key + ciphertext)
        signature = self.key.sign(statement, b"sordino login 1")
        signed = field(1, key) + fixed64(2, now) + field(3, nonce) + field(4, signature)
        reply = fields(self.enter(field(1, ciphertext) + field(2, signed), timeout=30))
        return [reply.get(1, 0), derive(secret + statement, "sordino 2026 request key"), 1]

    def _tag(self, message):
        """The tag of a request as a field; empty if the server answers everyone."""
        self.login = self.login or self._log_in()
        if not self.login:
            return b""
        name, key, number = self.login
        self.login[2] += 1
        tag = blake3(message + struct.pack("<Q", number), key=key).digest()
        return field(3, fixed64(1, name) + fixed64(2, number) + field(3, tag))

    def call(self, message, limit):
        """Sends a message, and returns the reply of at most `limit` bytes. No message is sent
        twice."""
        request = field(1, message)
        try:
            if self.key:
                request += self._tag(message)
            reply, total = bytearray(), None
            for chunk in self.ask(request, timeout=30 + limit / (64 << 10)):
                part = fields(chunk)
                total = part.get(1, 0) if total is None else total
                data = part.get(2, b"")
                if part.get(1, 0) != total or total > limit or not data or len(data) != min(CHUNK, total - len(reply)):
                    raise ValueError("a chunk that no honest server sends")
                reply += data
        except grpc.RpcError as error:
            self.login = None
            raise Refused(error) from None
        if total is None or len(reply) != total:
            raise ValueError("a reply that is cut off")
        return bytes(reply)
