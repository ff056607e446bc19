"""The folder of an agent's memory on this machine: its keys, its settings, and the index or downloads from it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import ExistsError, FileError, FormatError, InputError, KeyKindError, LockedError, MissingFileError, NoIndexError, of_file
from ._embedding import DEFAULT
from ._index import build
from ._record import first_attributes
from ._sordino import ClientKey, OwnerKey, PublicKey, ReaderKey, WriterKey, client_keygen, keygen, reader_keygen, writer_keygen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._embedding import Embedding

# The results of a search that an index is built for. There are more than are asked for, so that some of them pass a filter by
# tags.
MOST = 256

# The number of the record that names the model of the vectors. An index cannot be empty, so it always has this record.
FIRST = 0

# The owner numbers memories below this bound in sequence. Writers cannot agree on the next number, so they draw random numbers
# above it.
DRAWN = 1 << 32

# The seconds that a change waits for changes of other processes. A compaction of 100,000 memories takes some of these seconds.
_PATIENCE = 60.0


@dataclass
class Settings:
    """The settings in `memory.json`.

    name: the author of what is remembered here.
    embedding: the model, as `Embedding` takes it.
    server: the address of the memory's index, with its name there; None where it is a folder on this machine alone.
    index: the folder of the index, where readers share one.
    label: the label of what is remembered here: only readers who were granted it read that.
    roots, token: files that connections need, as `sordino.Client` takes them.
    erase_within: seconds in which what was forgotten leaves the folder, while a process of this memory runs.
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

    @staticmethod
    def init(folder: str | os.PathLike[str], settings: Settings, embedding: Embedding) -> Home:
        """Makes the owner's key and an index without memories. If an earlier call was interrupted, this call uses what it
        left."""
        home = _begun(folder, settings, "owner.key")
        key_file = home.folder / "owner.key"
        if not key_file.exists():
            keygen().save(key_file)
        key = OwnerKey.load(key_file)
        if not (home.folder / "owner.pub").exists():
            key.public().save(home.folder / "owner.pub")
        if (home.index / "CURRENT").exists():
            raise of_file(ExistsError(f"{home.folder} has a memory already: sordino-memory --home {home.folder} stats"), home.folder)
        row = embedding(["what is near nothing"])
        header = {"sordino": "memory", "embedding": embedding.name, "dim": row.shape[1]}
        build(
            home.index,
            row,
            key=key,
            ids=[FIRST],
            payloads=[json.dumps(header)],
            attributes=first_attributes(),
            mode="local",
            k=MOST,
            own_readers=True,
        )
        # A new index has version 1, the number of the first memory, and one segment.
        home.write("state.json", json.dumps({"version": 1, "next": FIRST + 1, "base": 1}).encode())
        return home

    @staticmethod
    def join(folder: str | os.PathLike[str], settings: Settings, owner: str | os.PathLike[str], write: bool = False) -> Home:
        """Makes a reader's own pair of keys, or a writer's key, for the owner's public key in a file. The owner grants access to
        its public half."""
        public = PublicKey.load(owner)
        if settings.server is None and settings.index is None:
            raise InputError("neither a server nor a folder: say --server URL, or --index FOLDER of the same machine")
        home = _begun(folder, settings, "writer.key" if write else "reader.pair")
        if write and not home.adds:
            key = writer_keygen(public)
            key.save(home.folder / "writer.key")
            key.writer_public().save(home.folder / "writer.public")
        elif not write and not (home.folder / "reader.pair").exists():
            pair = reader_keygen(public)
            pair.save(home.folder / "reader.pair")
            pair.reader_public().save(home.folder / "reader.public")
        if not (home.folder / "client.key").exists():
            client = client_keygen()
            client.save(home.folder / "client.key")
            client.public().save(home.folder / "client.pub")
        return home

    @property
    def index(self) -> Path:
        """The folder of the index, if it is on this machine."""
        return Path(self.settings.index) if self.settings.index else self.folder / "index"

    @property
    def place(self) -> str:
        """The place from which memories are read: the owner's own folder, or the place that a reader was given."""
        if self.owns or self.settings.server is None:
            return os.fspath(self.index)
        return self.settings.server

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
        return self.writer_key() if self.adds else ReaderKey.load(self.folder / "reader.pair")

    def owner_key(self) -> OwnerKey:
        """The key for writing memories. Raises `KeyKindError` if it is not here."""
        if not self.owns:
            raise KeyKindError("this agent has a reader's key, which changes nothing: memories are added, changed and forgotten where owner.key is")
        return OwnerKey.load(self.folder / "owner.key")

    def writer_key(self) -> WriterKey:
        """The key for adding memories."""
        return WriterKey.load(self.folder / "writer.key")

    def connection(self) -> dict[str, Any]:
        """The arguments of `sordino.Client` and `sordino.pull` for a server."""
        client_key = self.folder / "client.key"
        return {
            "client_key": ClientKey.load(client_key) if client_key.exists() else None,
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
            raise of_file(FileError(f"{self.folder / name}: {error.strerror}"), self.folder / name, error.errno or 0) from None
        with opened as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() - start > patience:
                        raise LockedError(f"another process has been changing this memory for {patience:.0f} seconds: try again") from None
                time.sleep(0.005)
            yield

    def read(self, name: str) -> Any:
        """The content of a JSON file, or None if the file is missing or incomplete."""
        try:
            return json.loads((self.folder / name).read_bytes())
        except (OSError, ValueError):
            return None

    def write(self, name: str, content: bytes) -> None:
        """Replaces a whole file atomically."""
        _put(self.folder / name, content)

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
        except (OSError, ValueError) as error:
            raise FormatError(f"{path}: {error}") from None
        if isinstance(found, dict):
            # Earlier versions had a setting for a command that pushed.
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
            raise FormatError(f"{what}: {name} is a {type(value).__name__}")
    name = found.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[^\x00-\x1f\x7f]{1,64}", name):
        raise InputError(f"name = {name!r}: expected 1 to 64 letters, the author of what is remembered here")
    return Settings(**found)


def _begun(folder: str | os.PathLike[str], settings: Settings, key: str) -> Home:
    """The folder with its settings, which only this user may read."""
    path = Path(folder).expanduser().absolute()
    given = _checked(asdict(settings), "settings")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _own(path)
        for other in ["reader.pair", "writer.key"] if key == "owner.key" else ["owner.key"]:
            if not (path / other).exists():
                continue
            raise of_file(ExistsError(f"{path} has {other}, of a memory that was made otherwise: name another --home"), path)
        kept = {name: value for name, value in asdict(given).items() if value is not None}
        _put(path / "memory.json", json.dumps(kept, indent=2).encode() + b"\n")
    except OSError as error:
        if isinstance(error, ExistsError):
            raise
        raise of_file(FileError(f"{path}: {error.strerror}"), path, error.errno or 0) from None
    return Home(path)


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
        os.replace(part, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise of_file(FileError(f"{path}: {error.strerror}"), path, error.errno or 0) from None


def owner_file(path: str) -> Path:
    """The file of an owner's public key."""
    found = Path(path).expanduser()
    if not found.exists():
        raise of_file(MissingFileError(f"there is no file {found}: the owner gives owner.pub of the memory's folder"), found)
    return found
