"""Keys, seals, pads and orders: sections 3 and 4 of docs/protocol."""

import struct

import numpy as np
from blake3 import blake3
from cryptography.hazmat.primitives.asymmetric import mldsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

LENGTHS = {"owner-key": 32, "reader-key": 2624, "owner-public-key": 2592, "client-key": 32, "client-public-key": 1952}


def digest(data):
    return blake3(data).digest()


def derive(master, context):
    """A key, derived from the owner's master secret."""
    return blake3(master, derive_key_context=context).digest()


def read_key_file(path):
    """The kind and the bytes of a key file: sordino-KIND-1: hex(key | check)."""
    with open(path, encoding="ascii") as file:
        prefix, digits = file.read().strip().split(":")
    kind = prefix.removeprefix("sordino-").removesuffix("-1")
    data = bytes.fromhex(digits)
    key, check = data[:-8], data[-8:]
    expected = blake3(kind.encode() + key, derive_key_context="sordino 2026 key file check").digest()[:8]
    if prefix != f"sordino-{kind}-1" or LENGTHS.get(kind) != len(key) or check != expected:
        raise ValueError(f"{path}: not a key file, or damaged")
    return kind, key


class ReaderKeys:
    """The content key and the owner's public key."""

    def __init__(self, content, owner):
        self.content, self.owner = content, owner

    @classmethod
    def of_master(cls, master):
        seed = derive(master, "sordino 2026 manifest signing key")
        public = mldsa.MLDSA87PrivateKey.from_seed_bytes(seed).public_key().public_bytes_raw()
        return cls(derive(master, "sordino 2026 content key"), public)

    @classmethod
    def read(cls, path):
        kind, key = read_key_file(path)
        if kind == "owner-key":
            return cls.of_master(key)
        if kind != "reader-key":
            raise ValueError(f"{path}: expected a reader's or the owner's key")
        return cls(key[:32], key[32:])

    def subkey(self, purpose, segment):
        return blake3(segment + purpose.encode(), key=self.content).digest()

    def open(self, purpose, segment, version, part, shape, sealed):
        """The content of a sealed part. Raises if a bit of it, its place or its shape was changed."""
        aad = segment + struct.pack(">QIQ", version, part, len(shape)) + shape + purpose.encode()
        nonce = struct.pack(">QI", version, part)
        return AESGCM(self.subkey(purpose, segment)).decrypt(nonce, sealed, aad)

    def verify(self, message, signature, context=b"sordino manifest 2"):
        """Raises if the owner did not sign the message."""
        key = mldsa.MLDSA87PublicKey.from_public_bytes(self.owner)
        key.verify(signature, message, context)

    def order(self, purpose, segment, n):
        """The row at each position: a permutation of n."""
        key = self.subkey(purpose, segment)
        return shuffled(key, n) if n < 1_000_000 else walked(key, n)

    def pads(self, segment, version, n, width):
        """The pads of rows 0 to n - 1, n x width words of 32 bits."""
        blocks = 1 << (-(-width // 4) - 1).bit_length()
        first = struct.pack("<Q", version) + bytes(8)
        cipher = Cipher(algorithms.AES(self.subkey("pad", segment)), modes.CTR(first)).encryptor()
        words = np.frombuffer(cipher.update(bytes(16 * blocks * n)), "<u4")
        return words.reshape(n, 4 * blocks)[:, :width]


class ChaCha:
    """The keystream of ChaCha20 under a seed, as words. Its 64-bit counter starts at 0, and the stream's number has 64
    bits."""

    def __init__(self, seed, number=0):
        nonce = bytes(8) + struct.pack("<Q", number)
        self.cipher = Cipher(algorithms.ChaCha20(seed, nonce), None).encryptor()
        self.held = b""

    def take(self, length):
        if len(self.held) < length:
            self.held += self.cipher.update(bytes(max(length, 1 << 16)))
        taken, self.held = self.held[:length], self.held[length:]
        return taken

    def u32(self):
        return int.from_bytes(self.take(4), "little")

    def u64(self):
        return int.from_bytes(self.take(8), "little")


def shuffled(key, n):
    """The shuffle of Fisher and Yates from the end, with floor(bound 2^-128 u) for uniform 128-bit u, the high word
    first."""
    words, rows = ChaCha(key), list(range(n))
    for last in range(n - 1, 0, -1):
        high, low = words.u64(), words.u64()
        at = (high << 64 | low) * (last + 1) >> 128
        rows[last], rows[at] = rows[at], rows[last]
    return np.array(rows)


def walked(key, n):
    """The inverse of FF1 on the numbers below n, by cycle walking."""
    bits = max((n - 1).bit_length(), 20)
    cipher = FF1(key, bits)
    rows = np.empty(n, np.int64)
    for position in range(n):
        row = cipher.decrypt(position)
        while row >= n:
            row = cipher.decrypt(row)
        rows[position] = row
    return rows


class FF1:
    """SP 800-38G's FF1 under AES-256, radix 2, without a tweak, on numbers of `bits` bits."""

    def __init__(self, key, bits):
        self.aes = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
        self.u, self.v = bits // 2, bits - bits // 2
        self.b = -(-self.v // 8)
        self.d = 4 * -(-self.b // 4) + 4
        head = bytes([1, 2, 1]) + (2).to_bytes(3, "big") + bytes([10, self.u % 256])
        self.p = self.aes.update(head + bits.to_bytes(4, "big") + bytes(4))

    def _round(self, i, half):
        q = bytes((-self.b - 1) % 16) + bytes([i]) + half.to_bytes(self.b, "big")
        r = self.p
        for at in range(0, len(q), 16):
            r = self.aes.update(bytes(x ^ y for x, y in zip(r, q[at : at + 16])))
        return int.from_bytes(r[: self.d], "big")

    def decrypt(self, x):
        a, b = x >> self.v, x & ((1 << self.v) - 1)
        for i in range(9, -1, -1):
            m = self.u if i % 2 == 0 else self.v
            a, b = (b - self._round(i, a)) % (1 << m), a
        return a << self.v | b
