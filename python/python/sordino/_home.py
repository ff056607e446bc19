"""The folder of an agent's memory on this machine: its keys, its settings, and the index or downloads from it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import logging
import os
import re
import secrets
import shlex
import shutil
import stat
import threading
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ._errors import (
    BrokenError,
    BusyError,
    DeadlineError,
    ExistsError,
    FileError,
    FormatError,
    FormatVersionError,
    InputError,
    IntegrityError,
    KeyKindError,
    LockedError,
    MalformedError,
    MissingFileError,
    NetworkError,
    NoIndexError,
    RefusedError,
    ReplyError,
    StaleError,
    StatusError,
    UnreachableError,
    of_file,
)
from ._embedding import DEFAULT
from ._files import content, token
from ._index import build
from ._index import open as open_index
from ._record import first_attributes, label_name
from ._sordino import ClientKey, OwnerKey, PublicKey, ReaderKey, WriterKey, client_keygen, keygen, reader_keygen, writer_keygen

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from ._embedding import Embedding
    from ._errors import Error
    from ._index import Index

T = TypeVar("T")

# The number of results for which an index is built. It is more than agents ask for, so that some results pass a filter by tags.
MOST = 256

# The number of the record that names the model of the vectors. An index cannot be empty, so it always has this record.
FIRST = 0

# The owner numbers memories below this bound in sequence. Writers cannot agree on the next number, so they draw random numbers
# above it.
DRAWN = 1 << 32

# Random numbers are below this bound, since programs that read JSON support whole numbers of 53 bits.
_MOST_DRAWN = 1 << 52

# The address of an index at a server.
_ADDRESS = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[^\s/@:?#\[\]]+)(:(?P<port>[0-9]{1,5}))?/[A-Za-z0-9-]+")

# The words with which a server says that a key is not on its list.
_UNKNOWN = "the key is not known here"

# The beginnings of refusals that last until a person changes something at the server. This program has these words: a server sends only a number for them.
_FINAL = (_UNKNOWN, "the token is not accepted here", "there is no such index here", "the server requires a client key")

# Whole messages in which a server chose no word. They are this program's messages about a connection, and a Sordino server's messages to a writer.
_OWN_WORDS = re.compile(
    r"cannot connect to (?:the server|\S+): (?:[A-Z][A-Za-z ]{1,60} \(os error [0-9]{1,4}\)"
    r"|it takes the connection and says nothing for [0-9.]+ s: it is not a Sordino server, or it hangs"
    r"|nothing answers in the time for a connection: the address may be wrong, or a firewall or proxy on the way drops it"
    r"|the server's certificate is not signed by one that is trusted here: name its issuer's, in PEM, as a root \(--roots\); or the server does not send the "
    r"certificates between the two"
    r"|(?:the server's certificate|a certificate of the server's chain) (?:has )?expired [a-z]{2} [0-9a-zA-Z:,' -]{1,160}"
    r"|this is not a Sordino server: over TLS it does not speak HTTP/2"
    r"|the server speaks TLS: its address begins with https://)"
    r"|no complete reply after [0-9.]+ s: the line is slow, or the server hangs"
    r"|the server answered [A-Za-z]+: writer [0-9a-f]+: (?:its right to add records has ended: ask the owner to grant it again"
    r"|its clock is ahead of the server's by more than five minutes)"
)

# This program's messages about other failures, by their class.
_BY_CLASS: list[tuple[type[NetworkError], str]] = [
    (UnreachableError, "no connection can be made, or no Sordino server of this version answers"),
    (BrokenError, "the connection broke before the reply was complete"),
    (StatusError, "the server ended the call with an error{code}"),
    (ReplyError, "the server sent a wrong reply. Stop using it, and tell its operator"),
    (DeadlineError, "no complete reply came in time"),
    (StaleError, "the index changed again and again"),
    (NetworkError, "the connection to the server failed"),
]

# The names of gRPC's status codes.
_CODE = re.compile(
    r"the server answered (Cancelled|Unknown|InvalidArgument|DeadlineExceeded|NotFound|AlreadyExists|PermissionDenied|ResourceExhausted|FailedPrecondition"
    r"|Aborted|OutOfRange|Unimplemented|Internal|Unavailable|DataLoss|Unauthenticated):"
)

# The message if this process cannot write to the folder.
_CLOSED = (
    "{path} is read-only for this process: memories are recalled, and none is remembered, changed or forgotten. Mount it for writing, or give this user the "
    "right to write there"
)

# The newest version that the server is known to have had, in the form of `Client.pin`.
PULLED = "pulled"

# The file that says why the server is not to be trusted.
_STOPPED = "stopped.json"

# The seconds that a change waits for changes of other processes. A compaction of 100,000 memories takes some seconds.
_PATIENCE = 60.0


@dataclass
class Settings:
    """The settings in `memory.json`.

    name: the author of what is remembered here.
    embedding: the model, as `Embedding` takes it.
    server: the address of the memory's index, with the index's name; None if it is only a folder on this machine.
    index: the folder of the index, if readers share one.
    label: the label of what is remembered here. Only readers with a grant of the label can read that.
    roots, token: files that connections need, as `sordino.Client` takes them.
    erase_within: the seconds within which forgotten memories leave the folder, while a process of this memory runs.
    """

    name: str
    embedding: str = DEFAULT
    server: str | None = None
    index: str | None = None
    label: str | None = None
    roots: str | None = None
    token: str | None = None
    erase_within: float = 600.0


class Home:
    """The folder, as `init` or `join` made it."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser().absolute()
        _own(self.folder)
        self.settings = self._settings()
        # The threads that have locks now, by lock.
        self._changing: dict[str, int] = {}
        # The reason why the server is not to be trusted, if no file could be written.
        self._distrusted: str | None = None

    @staticmethod
    def init(folder: str | os.PathLike[str], settings: Settings, embedding: Embedding, client: str | os.PathLike[str] | None = None) -> Home:
        """Makes the owner's key and an index without memories. For a server it also makes a client's key, or takes one from a file. A call
        that fails leaves the folder as it was. The next call uses what a killed call left."""
        path = _checked_folder(folder, settings, "owner.key")
        with _whole(path):
            index = _index_of(path, settings)
            if (path / "memory.json").exists() and (index / "CURRENT").exists():
                raise of_file(ExistsError(f"{path} has a memory already: sordino-memory --home {path} stats"), path)
            if index.exists() and any(index.iterdir()) and not (index / "CURRENT").exists():
                where = f"sordino index restore --from-manifests {shlex.quote(os.fspath(index))} --key {shlex.quote(os.fspath(path / 'owner.pub'))}"
                raise of_file(
                    ExistsError(
                        f"{index} has parts of an index and no file CURRENT: an earlier init was stopped, or a copy is not complete. If it has no memories, "
                        f"remove it; if it has some: {where}. Then run init again"
                    ),
                    index,
                )
            row = embedding(["what is near nothing"])
            if settings.server is not None or client is not None:
                _keep_login(path, client)
            key_file = path / "owner.key"
            if not key_file.exists():
                keygen().save(key_file)
            key = OwnerKey.load(key_file)
            if not (path / "owner.pub").exists():
                key.public().save(path / "owner.pub")
            if not (index / "CURRENT").exists():
                build(
                    index,
                    row,
                    key=key,
                    ids=[FIRST],
                    payloads=[json.dumps({"sordino": "memory", "embedding": embedding.name, "dim": row.shape[1]})],
                    attributes=first_attributes(),
                    mode="local",
                    k=MOST,
                    own_readers=True,
                )
                # The state from which writers start: version 1, the number of the first memory, and one segment.
                _put(path / "state.json", json.dumps({"version": 1, "next": FIRST + 1, "base": 1}).encode())
            _put_settings(path, settings)
        return Home(path)

    @staticmethod
    def join(folder: str | os.PathLike[str], settings: Settings, owner: str | os.PathLike[str], write: bool = False) -> Home:
        """Makes a reader's own pair of keys, or a writer's key, for the owner's public key in a file. Also saves the public half, for the
        owner's grant. A call that fails leaves the folder as it was."""
        public = PublicKey.load(owner)
        if settings.server is None and settings.index is None:
            raise InputError("neither a server nor a folder: say --server URL, or --index FOLDER of the same machine")
        path = _checked_folder(folder, settings, "writer.key" if write else "reader.pair")
        if (path / "memory.json").exists() and Home(path).settings != settings:
            raise of_file(ExistsError(f"{path} has joined a memory with other settings: change {path / 'memory.json'}, or name another --home"), path)
        with _whole(path):
            _keep_owner(path, public)
            if write and not (path / "writer.key").exists():
                key = writer_keygen(public)
                key.save(path / "writer.key")
                key.writer_public().save(path / "writer.public")
            elif not write and not (path / "reader.pair").exists():
                pair = reader_keygen(public)
                pair.save(path / "reader.pair")
                pair.reader_public().save(path / "reader.public")
            _keep_login(path, None)
            _put_settings(path, settings)
        return Home(path)

    def check(self) -> None:
        """Refuses settings that name files or an index that are not there."""
        _check_files(self.settings)

    @property
    def index(self) -> Path:
        """The folder of the index, if it is on this machine."""
        return _index_of(self.folder, self.settings)

    @property
    def place(self) -> str:
        """The place from which memories are read: the owner's own folder, or the place that a reader was given."""
        if self.owns or self.settings.server is None:
            return os.fspath(self.index)
        return self.settings.server

    @property
    def restoring(self) -> str:
        """The advice to a person if an older index was put over this one."""
        return (
            "Put the newest one back. If a backup was restored on purpose, run this once: "
            f"sordino keys list {shlex.quote(os.fspath(self.index))} --key {shlex.quote(os.fspath(self.folder / 'owner.key'))} --restored"
        )

    @property
    def owns(self) -> bool:
        """Whether the owner's key is here."""
        return (self.folder / "owner.key").exists()

    @property
    def adds(self) -> bool:
        """Whether a writer's key is here, which can only add memories."""
        return (self.folder / "writer.key").exists()

    def key(self) -> OwnerKey | ReaderKey | WriterKey:
        """The key for reading memories."""
        if self.owns:
            return self.owner_key()
        if self.adds:
            return self.writer_key()
        pair = self.folder / "reader.pair"
        if not pair.exists():
            text = f"{self.folder} has no owner.key, writer.key or reader.pair: put the one that it had back, from its copy. Nothing is read without it"
            raise of_file(MissingFileError(text), pair)
        return ReaderKey.load(pair)

    def opened(self, key: OwnerKey | WriterKey | ReaderKey, restored: bool = False, pin: bytes | None = None) -> Index:
        """The index, in its folder on this machine. Raises `NoIndexError`, which says how to bring it back."""
        try:
            return open_index(self.index, key=key, restored=restored, pin=pin)
        except NoIndexError:
            raise self.gone() from None
        except MalformedError:
            if not self.interrupted():
                raise
        self._complete()
        return open_index(self.index, key=key, restored=restored, pin=pin)

    def interrupted(self) -> bool:
        """Whether the index names no version because a pull was interrupted, or is under way, while it replaces a version."""
        return self.settings.server is not None and not (self.index / "CURRENT").exists() and (self.index / "manifests").exists()

    def _complete(self) -> None:
        """Waits for a pull of another process, or pulls again if none is under way."""
        from ._replica import Replica

        # A change of this thread has the lock already.
        mine = self._changing.get("writing.lock") == threading.get_ident()
        with contextlib.nullcontext() if mine else self.alone("writing.lock"):
            if self.interrupted():
                replica = Replica(self, self.owner_key() if self.owns else self.writer_key())
                try:
                    replica.pull()
                finally:
                    replica.close()

    def line(self) -> bytes:
        """The folder's line for its newest version. Another user of a shared folder may have put anything there."""
        path = self.index / "CURRENT"
        try:
            with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise of_file(FileError(f"{path}: a pipe or a device, expected a file"), path)
                return file.read(1024)
        except FileNotFoundError:
            if not self.interrupted():
                raise self.gone() from None
        except OSError as error:
            if isinstance(error, FileError):
                raise
            raise of_file(FileError(f"{path}: {error.strerror}"), path, error.errno or 0) from None
        self._complete()
        return self.line()

    def gone(self) -> NoIndexError:
        """The error for an index whose folder is gone."""
        index, found = shlex.quote(os.fspath(self.index)), f"no index in {self.index}"
        if not self.owns:
            text = f"{found}: ask the memory's owner where it is, and say that folder as index in {self.folder / 'memory.json'}"
        else:
            public, key = (shlex.quote(os.fspath(self.folder / name)) for name in ("owner.pub", "owner.key"))
            text = (
                f"{found}: move the folder back, or restore its backup with sordino index restore BACKUP {index} --key {public}, and then "
                f"run sordino keys list {index} --key {key} --restored"
            )
        return of_file(NoIndexError(text), self.index)

    def told(self, error: Error) -> str:
        """The words of an error. If a server refused this agent, they say what a person can do."""
        if not isinstance(error, RefusedError) or isinstance(error, BusyError):
            return str(error)
        public = self.folder / "client.pub"
        if _UNKNOWN in str(error):
            return f"the server does not know this agent: ask its operator to add {public} to its list by --client, or for a token"
        return f"{error}. This agent's public key for the server is {public}"

    def closed(self) -> str | None:
        """The reason why this process cannot write files in this folder, if there is one."""
        return None if os.access(self.folder, os.W_OK) else _CLOSED.format(path=self.folder)

    def owner_key(self) -> OwnerKey:
        """The key for writing memories. Raises `KeyKindError` if it is not here."""
        if not self.owns:
            key = "writer's key, which adds memories and nothing else" if self.adds else "reader's key, which changes nothing"
            raise KeyKindError(f"this agent has a {key}: this is done where owner.key is")
        return OwnerKey.load(self.folder / "owner.key")

    def writer_key(self) -> WriterKey:
        """The key for adding memories."""
        return WriterKey.load(self.folder / "writer.key")

    def connection(self) -> dict[str, Any]:
        """What `sordino.Client` and `sordino.pull` take for a server. A missing client's key is made."""
        _keep_login(self.folder, None)
        return {
            "client_key": ClientKey.load(self.folder / "client.key"),
            "token": self.settings.token,
            "roots": self.settings.roots,
            "wait": 5.0,
        }

    @contextlib.contextmanager
    def alone(self, name: str, patience: float = _PATIENCE) -> Iterator[None]:
        """Locks the folder against other processes. Raises `LockedError` after `patience` seconds. A lock ends with its process,
        even if that is killed."""
        start = time.monotonic()
        try:
            opened = open(self.folder / name, "a")  # noqa: SIM115
        except OSError as error:
            text = _CLOSED.format(path=self.folder) if error.errno in (errno.EROFS, errno.EACCES) else f"{self.folder / name}: {error.strerror}"
            raise of_file(FileError(text), self.folder / name, error.errno or 0) from None
        with opened as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() - start > patience:
                        raise LockedError(f"another process has been changing this memory for {patience:.0f} seconds: try again") from None
                time.sleep(0.005)
            self._changing[name] = threading.get_ident()
            try:
                yield
            finally:
                del self._changing[name]

    def settled(self, work: Callable[[], T]) -> T:
        """Reads the folder. While a thread or process takes the server's version, the files do not belong together. So an error counts only if no change
        is under way."""
        try:
            return work()
        except IntegrityError:
            # A change of this thread also reads.
            if self._changing.get("writing.lock") == threading.get_ident():
                raise
            with self.alone("writing.lock"):
                return work()

    def read(self, name: str) -> Any:
        """The content of a JSON file, or None if the file is missing or incomplete."""
        try:
            return json.loads((self.folder / name).read_bytes())
        except (OSError, ValueError):
            return None

    def pinned(self, name: str = "pin") -> bytes | None:
        """The newest version that was seen, or that the server is known to have had, in the form of `Client.pin`; None before the first."""
        path = self.folder / name
        if not path.exists():
            return None
        pin = path.read_bytes()
        if len(pin) != 56:
            raise FormatError(f"{path} has {len(pin)} bytes, expected 56: compare the memory's version with its owner, then remove this file")
        return pin

    def keep_pin(self, pin: bytes) -> None:
        """Keeps the newest version that was seen, in the form of `Client.pin`, so that no older one is taken for it."""
        if self.pinned() == pin:
            return
        # On a full or read-only disk the file keeps the previous version, and memories can still be read.
        with contextlib.suppress(FileError), self.alone("pin.lock"):
            # Another thread or process may know a newer version by now.
            known = self.pinned() or b""
            if known[:16] != pin[:16] or int.from_bytes(known[16:24], "little") <= int.from_bytes(pin[16:24], "little"):
                self.write("pin", pin)

    def write(self, name: str, content: bytes) -> None:
        """Replaces a whole file atomically."""
        _put(self.folder / name, content)

    def trusted(self) -> None:
        """Raises `IntegrityError` if this or an earlier process found that the server is not to be trusted."""
        path = self.folder / _STOPPED
        said = self.read(_STOPPED) if path.exists() else self._distrusted
        if said is not None or path.exists():
            known = [path.parent / name for name in ("pin", PULLED, "index") if not self.owns and (path.parent / name).exists()]
            first = "export first, and then " if self.adds else ""
            over = f". If the owner says that the server's version is the right one, {first}remove {' and '.join(map(str, known))} too" if known else ""
            raise IntegrityError(
                f"nothing is asked of {self.settings.server} any more, since what it gave was not to be trusted: {said}. Tell the memory's "
                f"owner and the person you work for. Once they know why, they remove {path}{over}"
            )

    def distrust(self, error: IntegrityError) -> None:
        """Records that the server lied. This and later processes ask it nothing more: it would learn from what a client does after a
        lie."""
        if isinstance(error, FormatVersionError):
            return
        try:
            self.write(_STOPPED, json.dumps(str(error)).encode())
        except FileError:
            self._distrusted = str(error)

    def http_token(self) -> str:
        """The token for programs that connect over HTTP. The first call makes it, and only this user can read it."""
        path = self.folder / "http-token"
        if not path.exists():
            part = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
            _put(part, secrets.token_urlsafe(32).encode() + b"\n")
            try:
                # If two processes begin at once, the first makes the token.
                with contextlib.suppress(FileExistsError):
                    os.link(part, path)
            finally:
                os.unlink(part)
        token = path.read_text().strip()
        if len(token) < 32:
            raise FormatError(f"{path} has no token of 32 letters: remove it, and another is made")
        return token

    def _settings(self) -> Settings:
        path = self.folder / "memory.json"
        try:
            found = json.loads(path.read_bytes())
        except FileNotFoundError:
            text = f"no memory in {self.folder}: make one with sordino-memory --home {self.folder} init"
            raise of_file(NoIndexError(text), path) from None
        except OSError as error:
            raise of_file(FileError(f"{path}: {error.strerror}"), path, error.errno or 0) from None
        except ValueError as error:
            raise FormatError(f"{path}: {error}; expected the settings in JSON, as sordino-memory wrote them") from None
        if isinstance(found, dict):
            # Earlier versions of this package had a setting for a command that pushed.
            found.pop("command", None)
        return _checked(found, str(path))


def _checked(found: Any, what: str) -> Settings:
    """Checks that the settings have the right names and types."""
    if not isinstance(found, dict):
        raise FormatError(f"{what}: a {type(found).__name__}, expected an object")
    known = {field.name for field in fields(Settings)}
    for name, value in found.items():
        if name not in known:
            raise FormatError(f"{what}: {name!r}, expected one of {', '.join(sorted(known))}")
        right = isinstance(value, (int, float)) if name == "erase_within" else value is None or isinstance(value, str)
        if not right:
            expected = "a number of seconds, such as 600" if name == "erase_within" else "a text"
            raise FormatError(f"{what}: {name} is a {type(value).__name__}, expected {expected}")
    name = found.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[^\x00-\x1f\x7f]{1,64}", name):
        raise InputError(f"name = {name!r}: expected 1 to 64 letters, the author of what is remembered here")
    label_name(found.get("label"))
    server = found.get("server")
    if server is not None and not ((parts := _ADDRESS.fullmatch(server)) and 0 < int(parts["port"] or 1) < 1 << 16):
        raise InputError(f"server = {server!r}: expected an address, https://host:port/NAME, with the NAME of the index at the server, of letters, digits and hyphens")
    return Settings(**found)


def _index_of(folder: Path, settings: Settings) -> Path:
    return Path(settings.index) if settings.index else folder / "index"


def _checked_folder(folder: str | os.PathLike[str], settings: Settings, key: str) -> Path:
    """The path of a folder in which a memory with these settings and this key can be made."""
    path = Path(folder).expanduser().absolute()
    _checked(asdict(settings), "settings")
    _own(path)
    for other in {"owner.key", "reader.pair", "writer.key"} - {key}:
        if (path / other).exists():
            raise of_file(ExistsError(f"{path} has {other}, which serves for something else: name another --home, and let its new key be granted"), path)
    _check_files(settings)
    return path


def _check_files(settings: Settings) -> None:
    """Refuses settings that name missing files, or a missing folder of an index."""
    roots = content(settings.roots, "roots")
    if roots is not None and b"BEGIN CERTIFICATE" not in roots:
        raise InputError(f"roots = {settings.roots!r}: no certificate in it; expected a file in PEM, with BEGIN CERTIFICATE")
    token(settings.token)
    if settings.roots is not None and not (settings.server or "").startswith("https://"):
        raise InputError(f"roots = {settings.roots!r}: certificates without a server that has one; expected server = https://host:port/NAME")
    if settings.index is not None and not (Path(settings.index) / "CURRENT").exists():
        raise of_file(
            NoIndexError(f"index = {settings.index!r}: no index is there; expected the folder index of the owner's memory, which has a file CURRENT"),
            settings.index,
        )


def _put_settings(folder: Path, settings: Settings) -> None:
    kept = {name: value for name, value in asdict(settings).items() if value is not None}
    _put(folder / "memory.json", json.dumps(kept, indent=2).encode() + b"\n")


def _keep_owner(folder: Path, public: PublicKey) -> None:
    """Keeps the owner's public key in the folder, whose other keys are for that owner."""
    own = folder / "owner.pub"
    if not own.exists():
        public.save(own)
    elif PublicKey.load(own).digest() != public.digest():
        raise of_file(ExistsError(f"{folder} has keys for another owner's memory, digest {PublicKey.load(own).digest()}: name another --home"), own)


def _keep_login(folder: Path, client: str | os.PathLike[str] | None) -> None:
    """Keeps a client's key in the folder: the key that is there, a key from a file, or a new key."""
    own = folder / "client.key"
    if client is not None:
        given = ClientKey.load(client)
        if own.exists() and own.read_bytes() != Path(client).read_bytes():
            raise of_file(ExistsError(f"{own} differs from {client}: leave --client out, or name another --home"), own)
    else:
        given = client_keygen()
    public = folder / "client.pub"
    if not own.exists():
        given.save(own)
        # The public half of a lost key would not let the new key in.
        public.unlink(missing_ok=True)
    if not public.exists():
        ClientKey.load(own).public().save(public)


@contextlib.contextmanager
def heard() -> Iterator[None]:
    """Work that asks a server. The errors that leave it have only words of this program, since an agent's model reads them. What the server said goes to the
    log, escaped."""
    try:
        yield
    except NetworkError as error:
        words = _own_words(error)
        if words == str(error):
            raise
        logging.getLogger("sordino").warning("%s. The server's own words, which may be untrue: %s", words, ascii(str(error)))
        raise type(error)(words) from None


def _own_words(error: NetworkError) -> str:
    text = str(error)
    # A server sends the number of a refusal, and the words are this program's.
    if isinstance(error, (IntegrityError, RefusedError)) or _OWN_WORDS.fullmatch(text):
        return text
    code = _CODE.match(text)
    words = next(words for kind, words in _BY_CLASS if isinstance(error, kind))
    return words.format(code=f", {code[1]}" if code else "")


def lasts(error: Error) -> bool:
    """Whether a server refused this agent in a way that waiting does not end."""
    return isinstance(error, RefusedError) and not isinstance(error, BusyError) and str(error).startswith(_FINAL)


@contextlib.contextmanager
def _whole(folder: Path) -> Iterator[None]:
    """The folder, which no other user may read, for the one process that fills it. If this work fails, what it made is removed."""
    new = not folder.exists()
    held = None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = os.open(folder, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        before = set(os.listdir(folder))
    except OSError as error:
        if held is not None:
            os.close(held)
        if isinstance(error, BlockingIOError):
            raise LockedError(f"another process makes a memory in {folder}: wait until it is done") from None
        raise of_file(FileError(f"{folder}: {error.strerror}"), folder, error.errno or 0) from None
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for name in set(os.listdir(folder)) - before:
                made = folder / name
                shutil.rmtree(made) if made.is_dir() else made.unlink()
            if new:
                folder.rmdir()
        raise
    finally:
        os.close(held)


def _own(folder: Path) -> None:
    """Refuses a folder or settings that another user may write, since the settings name a function that is run."""
    for path in (folder, folder / "memory.json"):
        try:
            facts = path.stat()
        except OSError:
            # Callers report a missing file themselves.
            continue
        if facts.st_uid != os.geteuid():
            raise of_file(FileError(f"{path} belongs to another user, who could change what this program runs: expected a folder of your own"), path)
        if facts.st_mode & 0o022:
            raise of_file(FileError(f"{path} may be written by other users, who could change what this program runs: chmod go-w {path}"), path)


def _put(path: Path, content: bytes) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise of_file(FileError(f"{path}: {error.strerror}"), path, error.errno or 0) from None


def drawn(many: int, taken: Container[int]) -> list[int]:
    """Random numbers for memories, none of which is taken. No writer can store a memory under them before."""
    numbers: dict[int, None] = {}
    while len(numbers) < many:
        number = DRAWN + secrets.randbelow(_MOST_DRAWN - DRAWN)
        if number not in taken:
            numbers[number] = None
    return list(numbers)


def owner_file(path: str) -> Path:
    """The file of an owner's public key."""
    found = Path(path).expanduser()
    if not found.exists():
        raise of_file(MissingFileError(f"there is no file {found}: the owner gives owner.pub of the memory's folder"), found)
    return found
