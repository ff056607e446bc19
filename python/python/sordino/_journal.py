"""Memories that are not yet in the index: a sealed file next to the keys, to which a memory is appended in milliseconds."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import struct
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ._errors import FileError, FormatError, InputError, IntegrityError, of_file
from ._record import Record

if TYPE_CHECKING:
    from collections.abc import Container, Sequence
    from pathlib import Path

    import numpy as np

# An entry has its length, a checksum of that length, a nonce, and the sealed content. The content has the number, the length of
# the payload, the payload, the length of the label, the label, and the coordinates. Because of the checksum, a damaged length is not mistaken for an incomplete
# entry.
_LENGTH = struct.Struct("<II")
_HEAD = struct.Struct("<QI")
_LABEL = struct.Struct("<H")
# A bit in the length of a payload: the label follows. Entries of earlier builds have no label and lack it.
_LABELLED = 1 << 31
_NONCE = 12

# A journal exceeds this size only if the index cannot be written. Then it refuses new entries.
_MOST_BYTES = 64 << 20

# After a power failure, blocks of a file may be zeros that were not written. Sealed bytes have no such run of zeros.
_UNWRITTEN = bytes(64)


@dataclass(frozen=True)
class Waiting:
    """A memory that is not yet in the index."""

    id: int
    record: Record
    vector: np.ndarray
    #: The label under which it was remembered, whatever label the process that writes it into the index has.
    label: str | None = None


@dataclass(frozen=True)
class _Known:
    """A file as it was read: which file it was, its entries, the bytes that these take, and the last entry's bytes."""

    stamp: tuple[int, int, int] | None = None
    entries: list[Waiting] = field(default_factory=list)
    whole: int = 0
    last: bytes = b""


class Journal:
    """The journal's file. Appending and dropping need its lock, `journal.lock`; reading does not."""

    def __init__(self, folder: Path, label: str | None = None) -> None:
        """`label` is for entries of earlier builds, which contain no label."""
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError as error:
            raise InputError(f"{error}: pip install 'sordino[mcp]'") from None
        self._path = folder / "journal"
        self._cipher = AESGCM(_key(folder / "journal.key", self._path))
        self._label = label
        self._known = _Known()

    def read(self) -> list[Waiting]:
        """The waiting entries, oldest first. Raises `IntegrityError` for a damaged file. An incomplete last entry was never
        acknowledged."""
        return self._read().entries

    def _read(self) -> _Known:
        """The file's content. If the file has grown since it was last read, only its new entries are opened."""
        known = self._known
        try:
            with open(self._path, "rb", buffering=0) as file:
                facts = os.fstat(file.fileno())
                stamp = (facts.st_ino, facts.st_size, facts.st_mtime_ns)
                if stamp == known.stamp:
                    return known
                # Files of one journal have no entry in common: each is sealed under its own nonce.
                file.seek(known.whole - len(known.last))
                content = file.read()
                if known.last and content.startswith(known.last):
                    content = content[len(known.last) :]
                elif known.whole:
                    known = _Known()
                    file.seek(0)
                    content = file.read()
        except FileNotFoundError:
            return _Known()
        except OSError as error:
            raise of_file(FileError(f"{self._path}: {error.strerror}"), self._path, error.errno or 0) from None
        found, at, last = list(known.entries), 0, known.last
        while at + _LENGTH.size <= len(content):
            length, checksum = _LENGTH.unpack_from(content, at)
            whole = checksum == _checksum(length)
            end = at + _LENGTH.size + length
            if whole and end > len(content):
                break
            try:
                if not whole:
                    raise _Damaged
                found.append(self._opened(content[at + _LENGTH.size : end]))
            except _Damaged:
                # An entry with unwritten blocks was never acknowledged, because acknowledged entries are whole on disk.
                if _UNWRITTEN in content[at : end if whole else None] or not any(content[at:]):
                    break
                bad, path = known.whole + at, shlex.quote(str(self._path))
                if whole:
                    cut, kept = f"{{ head -c {bad} {path}; tail -c +{known.whole + end + 1} {path}; }} > rest && mv rest {path}", "the others, which are in no other file"
                else:
                    cut, kept = f"truncate -s {bad} {path}", "the memories before this byte, which are in no other file. Restore later ones from a backup"
                raise IntegrityError(f"{self._path} is damaged at byte {bad}: copy it, and then take the damaged entry out: {cut}. That keeps {kept}") from None
            last, at = content[at:end], end
        read = _Known(stamp, found, known.whole + at, last)
        if known.whole + len(content) == facts.st_size:
            self._known = read
        return read

    def append(self, entries: Sequence[Waiting]) -> None:
        """Adds entries, all or none, and returns once they are on the disk. Raises `FileError`."""
        whole = self._read().whole
        sealed = b"".join(map(self._sealed, entries))
        if whole + len(sealed) > _MOST_BYTES:
            raise FullError(f"{self._path} has {whole} bytes, since the index cannot be written: see what sordino-memory compact says")
        new = not self._path.exists()
        try:
            # Without a buffer: if the disk is full, the rest of a buffer would be written when the file is closed, after the whole entries.
            with open(self._path, "ab", buffering=0) as file:
                # A process that was killed may have left a part of an entry.
                file.truncate(whole)
                try:
                    left = memoryview(sealed)
                    while left:
                        left = left[file.write(left) :]
                    os.fsync(file.fileno())
                except OSError:
                    with contextlib.suppress(OSError):
                        os.ftruncate(file.fileno(), whole)
                    raise
            if new:
                _settle(self._path.parent)
        except OSError as error:
            raise of_file(FileError(f"nothing was remembered: {self._path}: {error.strerror}"), self._path, error.errno or 0) from None

    def drop(self, numbers: Container[int]) -> None:
        """Removes the entries with these numbers, which are now in the index, and waits until the removal is on disk. Otherwise a
        power failure could bring them back, including memories forgotten since."""
        entries = self.read()
        rest = b"".join(self._sealed(one) for one in entries if one.id not in numbers)
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            # A process that was killed here left memories that may be forgotten by now.
            for left in self._path.parent.glob(f"{self._path.name}.[0-9]*"):
                left.unlink()
            if rest:
                with open(part, "wb") as file:
                    file.write(rest)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(part, self._path)
            elif entries:
                os.unlink(self._path)
            _settle(self._path.parent)
        except OSError as error:
            with contextlib.suppress(OSError):
                part.unlink()
            raise of_file(FileError(f"{self._path}: {error.strerror}"), self._path, error.errno or 0) from None

    def _sealed(self, entry: Waiting) -> bytes:
        payload = entry.record.payload()
        label = (entry.label or "").encode()
        head = _HEAD.pack(entry.id, len(payload) | _LABELLED)
        plain = head + payload + _LABEL.pack(len(label)) + label + entry.vector.astype("<f4").tobytes()
        nonce = secrets.token_bytes(_NONCE)
        sealed = nonce + self._cipher.encrypt(nonce, plain, None)
        return _LENGTH.pack(len(sealed), _checksum(len(sealed))) + sealed

    def _opened(self, sealed: bytes) -> Waiting:
        import numpy as np
        from cryptography.exceptions import InvalidTag

        try:
            plain = self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], None)
        except (InvalidTag, ValueError):
            raise _Damaged from None
        id, length = _HEAD.unpack_from(plain)
        end = at = _HEAD.size + (length & ~_LABELLED)
        label = self._label
        if length & _LABELLED:
            (size,) = _LABEL.unpack_from(plain, at)
            end = at + _LABEL.size + size
            label = plain[at + _LABEL.size : end].decode() or None
        return Waiting(id, Record.read(plain[_HEAD.size : at], bounded=False), np.frombuffer(plain, "<f4", offset=end), label)


class FullError(FileError):
    """The journal has no room for these entries until the index has earlier ones."""


class _Damaged(Exception):
    """The error for an entry that was not sealed with this key, or is incomplete."""


def _checksum(length: int) -> int:
    return zlib.crc32(length.to_bytes(4, "little"))


def _key(path: Path, journal: Path) -> bytes:
    """The key of this journal. The first call makes it, and only this user can read it."""
    if journal.exists() and not path.exists():
        raise FormatError(f"{path} is missing, and {journal} has memories that only it opens: restore it, or move the journal away and lose them")
    # On a full disk no key can be made, but an existing key can be read.
    if not path.exists():
        try:
            _make_key(path)
        except OSError as error:
            raise of_file(FileError(f"{path}: {error.strerror}"), path, error.errno or 0) from None
    key = path.read_bytes()
    if len(key) != 32:
        raise FormatError(f"{path} has {len(key)} bytes, expected 32: restore it, or remove it with the journal")
    return key


def _make_key(path: Path) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
            file.flush()
            os.fsync(file.fileno())
        # If two processes begin at once, the first makes the key.
        with contextlib.suppress(FileExistsError):
            os.link(part, path)
        _settle(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _settle(folder: Path) -> None:
    """Waits until the folder's directory entries are on disk."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
