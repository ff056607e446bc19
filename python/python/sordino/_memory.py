"""A memory that its host cannot read: texts that are remembered, recalled by meaning, and forgotten."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._client import Client
from ._errors import (
    AccessError,
    BusyError,
    ClosedError,
    Error,
    FileError,
    FormatError,
    FormatVersionError,
    GapError,
    InputError,
    IntegrityError,
    KeyKindError,
    NetworkError,
    RefusedError,
    UnknownIdError,
)
from ._home import FIRST, MOST
from ._index import whole_number
from ._journal import Waiting
from ._record import Record, Where, iso
from ._writer import Pusher, Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ._embedding import Embedding
    from ._home import Home

# The most memories of one answer: they are read by a model.
MOST_RECALLED = 100

# Memories in one version, singly and many at a time, and seconds between two: each version leaves a signed manifest of some 15 kB in the folder for good.
_BATCH = 256
_BULK = 1024
_PACE = 2.0

# Seconds without a change after which there is time to compact, and between looks for what other processes have left.
_REST = 1.0
_LOOK = 30.0

# Seconds that an answer waits for the server to have a change.
_SENT = 1.0

# Numbers in one look. A look that finds no memory ends the list.
_BLOCK = 4096


@dataclass(frozen=True)
class Remembered:
    """A memory with its number, and its score in an answer to a question."""

    id: int
    record: Record
    score: float | None = None


@dataclass(frozen=True)
class Change:
    """What a change did: the numbers, and what became of it at the server, if there is one."""

    ids: list[int]
    server: str | None


class Memory:
    """A memory by its folder. Threads may share it; processes of one machine may use the same folder.

    What was remembered is in a journal on disk when the call returns: a process that is killed after that loses nothing. Raises `Error`s, whose words
    say what an agent can do.
    """

    def __init__(self, home: Home, embedding: Embedding) -> None:
        self._home = home
        self._embedding = embedding
        self._key = home.key()
        self._lock = threading.RLock()
        self._client: Client | None = None
        self._gap: str | None = None
        self._stopped: str | None = None
        # The times of memories, by number, and the version that they are of.
        self._listed: tuple[int, dict[int, int]] = (0, {})
        self._writer: Writer | None = None
        self._pusher: Pusher | None = None
        # Changes of this process, how many of them are in the index, and the version that they are in.
        self._turn = threading.Condition()
        self._changes = self._flushed = self._version = 0
        self._trouble: str | None = None
        self._ended = False
        if home.owns:
            self._writer = Writer(home)
            if home.settings.server is not None:
                self._pusher = Pusher(home)
                self._pusher.want(self._writer.version())
            self._thread = threading.Thread(target=self._write, name="sordino-memory", daemon=True)
            self._thread.start()

    def remember(self, text: Any, tags: Any = None, when: Any = None) -> tuple[Change, Record]:
        """Writes a memory, and returns once it is on disk."""
        record = Record.made(text, tags, when, self._home.settings.name)
        (change,) = self.remember_all([record])
        return change, record

    def remember_all(self, records: Sequence[Record]) -> Iterator[Change]:
        """Writes many memories, a batch at a time."""
        self._writes()
        for first in range(0, len(records), _BULK):
            some = records[first : first + _BULK]
            rows = self._embedded([record.text for record in some])
            yield self._changed(lambda writer: writer.remember(some, rows))

    def update(self, id: Any, text: Any = None, tags: Any = None, when: Any = None) -> tuple[Change, Record]:
        """Replaces the text, the tags or the time of a memory. Its number stays."""
        self._writes()
        if text is None and tags is None and when is None:
            raise InputError("nothing to change: say a text, tags or when")
        number = whole_number(id, "id")
        found = self.get([number])
        if not found:
            raise UnknownIdError(f"no memory {number}: it was forgotten, or never was; recall gives the numbers that there are")
        old = found[0].record
        record = Record.made(
            old.text if text is None else text,
            list(old.tags) if tags is None else tags,
            iso(old.when) if when is None else when,
            self._home.settings.name,
        )
        row = self._embedded([record.text])[0]

        def work(writer: Writer) -> list[int]:
            writer.replace(number, record, row)
            return [number]

        return self._changed(work), record

    def forget(self, ids: Sequence[Any] = (), where: Where | None = None) -> Change:
        """Takes memories out of all results: those with these numbers, or all that are chosen. Returns the numbers of those that were there."""
        self._writes()
        if bool(ids) is bool(where):
            raise InputError("say which to forget: id, or where with tags, since, until or by; one of the two")
        numbers = [whole_number(id, "id") for id in ids]
        if where:
            numbers = [one.id for one in self.all() if where.passes(one.record)]
        return self._changed(lambda writer: writer.delete(numbers)) if numbers else Change([], None)

    def recall(self, question: Any, k: Any = 8, where: Where | None = None) -> list[Remembered]:
        """The memories that are nearest to a question in meaning, best first."""
        if not isinstance(question, str) or not question.strip():
            raise InputError("question: empty; say what is looked for, or use recent")
        number = _number(k)
        where = where or Where()
        row = self._embedded([question])[0]
        client, waiting = self._fresh()
        result = client.search(row, MOST, where=where.condition())
        found: dict[int, Remembered] = {}
        for one in waiting:
            if where.passes(one.record):
                found[one.id] = Remembered(one.id, one.record, round(_cosine(row, one.vector), 4))
        payloads = (result.payloads or [[]])[0]
        enough = number + len(found)
        for id, score, payload in zip(result.ids[0].tolist(), result.scores[0].tolist(), payloads):
            if id <= FIRST or len(found) == enough:
                continue
            record = Record.read(payload)
            if where.passes(record):
                found[id] = Remembered(id, record, round(score, 4))
        return sorted(found.values(), key=lambda one: one.score or 0.0, reverse=True)[:number]

    def recent(self, n: Any = 10, where: Where | None = None) -> list[Remembered]:
        """The newest memories by their times, the newest first."""
        number = _number(n)
        where = where or Where()
        client, waiting = self._fresh()
        times = self._times(client) | {one.id: one.record.when for one in waiting}
        ids = sorted(times, key=lambda id: (times[id], id), reverse=True)
        found: list[Remembered] = []
        for first in range(0, len(ids), _BATCH):
            if len(found) >= number:
                break
            found += [one for one in _read(client, waiting, ids[first : first + _BATCH]) if where.passes(one.record)]
        return found[:number]

    def get(self, ids: Sequence[int]) -> list[Remembered]:
        """The memories with these numbers that are there."""
        return _read(*self._fresh(), [id for id in ids if id > FIRST])

    def all(self) -> Iterator[Remembered]:
        """All memories that this key can read, in the order of their numbers."""
        client, waiting = self._fresh()
        if self._writer is not None:
            # The owner reads the folder in one pass, where a client looks each number up.
            found = {one.id: one.record for one in waiting} | self._writer.records()
            yield from (Remembered(id, found[id]) for id in sorted(found))
            return
        ids = list(self._times(client))
        for first in range(0, len(ids), _BLOCK):
            yield from _read(client, waiting, ids[first : first + _BLOCK])

    def stats(self) -> dict[str, Any]:
        """How many memories there are, of which time and with which tags, and where they lie."""
        tags: dict[str, int] = {}
        times = []
        for one in self.all():
            times.append(one.record.when)
            for tag in one.record.tags:
                tags[tag] = tags.get(tag, 0) + 1
        client, waiting = self._fresh()
        facts = client.stats()
        return {
            "memories": len(times),
            "oldest": iso(min(times)) if times else None,
            "newest": iso(max(times)) if times else None,
            "tags": dict(sorted(tags.items(), key=lambda tag: (-tag[1], tag[0]))[:50]),
            "place": self._home.place,
            "server": self._home.settings.server,
            "index": facts["index"],
            "version": facts["version"],
            "writes": self._writer is not None,
            "in_journal": len(waiting),
            "forgotten_in_folder": self._writer.forgotten() if self._writer else None,
            "embedding": self._embedding.name,
            "embedding_shows": self._embedding.shows,
            "note": self.note(),
        }

    def leaves(self) -> str:
        """When what was forgotten leaves the folder."""
        if self._writer is None or not self._writer.forgotten():
            return "nothing that was forgotten is in the folder any more"
        minutes = self._home.settings.erase_within / 60
        return (
            f"out of all results now; out of the folder at the next compaction, within {minutes:g} minutes while a process of this memory runs, "
            "or at once by the command sordino-memory compact"
        )

    def note(self) -> str | None:
        """What the last answer should be read with, such as a server that could not be reached."""
        return " ".join(filter(None, [self._gap, self._trouble])) or None

    def wait(self) -> None:
        """Waits until what was remembered is in the index. Raises why it is not."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Ends the threads, after what was begun, and lets go of the index."""
        if self._writer is not None:
            with self._turn:
                self._ended = True
                self._turn.notify_all()
            self._thread.join()
            self._writer.close()
        if self._pusher is not None:
            self._pusher.end(5.0)
        with self._lock:
            self._let_go()

    # Reading

    def _fresh(self) -> tuple[Client, list[Waiting]]:
        """A client of the newest version, and what waits to be in it. One that a server could not be asked for goes on with what it has, and a note says so."""
        with self._lock:
            self._trusted()
            # The journal comes first: an entry that moves into the index meanwhile is then in both, and not in neither.
            waiting = self._writer.waiting() if self._writer else []
            try:
                if self._client is None:
                    self._gap = None
                    self._client = self._connected()
                else:
                    self._client.refresh()
                    self._gap = None
            except GapError:
                self._over_gap()
            except AccessError as error:
                self._let_go()
                raise AccessError(f"{error}. The memory's owner did not grant this key, or revoked it: ask for sordino-memory grant") from None
            except IntegrityError as error:
                self._distrust(error)
                raise
            except NetworkError as error:
                if self._client is None or (isinstance(error, RefusedError) and not isinstance(error, BusyError)):
                    self._let_go()
                    raise
                self._gap = f"the server cannot be reached ({error}), so this is what was known before: version {self._client.stats()['version']}"
            assert self._client is not None
            self._remember_pin()
            return self._client, waiting

    def _connected(self, over_gap: bool = False) -> Client:
        here = "://" not in self._home.place
        how = {} if here else self._home.connection()
        pin = self._home.folder / "pin"
        known = pin.read_bytes() if pin.exists() else None
        client = Client(self._home.place, key=self._key, pin=known, over_gap=over_gap and known is not None, **how)
        try:
            self._meet(client)
        except Error:
            client.close()
            raise
        return client

    def _over_gap(self) -> None:
        """Goes on over more versions than a server keeps, which many single memories soon are, and says so."""
        self._let_go()
        self._client = self._connected(over_gap=True)
        self._gap = (
            "the server does not show all versions since the last time, of which it keeps 256. A server that hides another history shows such a gap: "
            f"this is version {self._client.stats()['version']}, which the memory's owner can compare"
        )

    def _meet(self, client: Client) -> None:
        """Refuses an index that holds no memory, and vectors of another model."""
        (payload,) = client.payloads([FIRST])
        try:
            header = json.loads(payload or b"")
            made = header["embedding"] if header["sordino"] == "memory" else None
        except (ValueError, KeyError, TypeError):
            made = None
        if made is None:
            raise FormatError(f"the index at {self._home.place} holds no memory: it was made by another program")
        if made != self._embedding.name:
            raise InputError(f"this memory is of vectors by {made}, and this process has {self._embedding.name}: say that model as embedding in memory.json")

    def _remember_pin(self) -> None:
        """Keeps the newest version that was seen, so that no older one is taken for it."""
        assert self._client is not None
        pin, path = self._client.pin(), self._home.folder / "pin"
        if not path.exists() or path.read_bytes() != pin:
            # On a full disk the version before stays there, and memories can be read.
            with contextlib.suppress(FileError):
                self._home.write("pin", pin)

    def _trusted(self) -> None:
        if self._stopped is not None or (self._home.folder / "stopped.json").exists():
            stopped = self._stopped or self._home.read("stopped.json")
            raise IntegrityError(
                f"nothing is asked of {self._home.place} any more, since what it gave was not to be trusted: {stopped}. Tell the memory's owner and the "
                f"person you work for. Once they know why, they remove {self._home.folder / 'stopped.json'}"
            )

    def _distrust(self, error: IntegrityError) -> None:
        """A server that lied is asked nothing more, by this and the next processes: it would learn from what a client does after a lie."""
        self._let_go()
        if "://" in self._home.place and not isinstance(error, FormatVersionError):
            self._stopped = str(error)
            with contextlib.suppress(FileError):
                self._home.write("stopped.json", json.dumps(self._stopped).encode())

    def _times(self, client: Client) -> dict[int, int]:
        """The times of all memories in the index that this key can read, by number. They are here: the server is asked nothing."""
        version = client.stats()["version"]
        if self._listed[0] == version:
            return self._listed[1]
        (header,) = client.attributes([FIRST])
        known = int((header or {}).get("next", 1))
        times: dict[int, int] = {}
        start, empty = FIRST + 1, False
        while start < known or not empty:
            numbers = range(start, start + _BLOCK)
            found = {id: int(row.get("when", 0)) for id, row in zip(numbers, client.attributes(list(numbers))) if row is not None}
            times |= found
            start, empty = start + _BLOCK, not found
        self._listed = (version, times)
        return times

    def _let_go(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _embedded(self, texts: list[str]) -> Any:
        return self._embedding(texts)

    # Writing

    def _writes(self) -> None:
        if self._writer is None:
            self._home.owner_key()
            raise KeyKindError("this memory is closed")

    def _changed(self, work: Callable[[Writer], list[int]]) -> Change:
        """Makes a change, and says what becomes of it at the server, after a moment."""
        if self._writer is None or self._ended:
            raise ClosedError("this memory is closed")
        ids = work(self._writer)
        with self._turn:
            self._changes += 1
            mine = self._changes
            self._turn.notify_all()
            if self._pusher is None:
                return Change(ids, None)
            self._turn.wait_for(lambda: self._flushed >= mine or self._trouble is not None, _SENT)
            if self._flushed < mine:
                return Change(ids, f"kept here, and sent to the server with the next version. {self._trouble or ''}".strip())
            version = self._version
        return Change(ids, self._pusher.said(version, _SENT))

    def _write(self) -> None:
        """Writes the journal into the index at a pace, and compacts when nobody writes for a while."""
        assert self._writer is not None
        last, idle = 0.0, 0.0
        while True:
            with self._turn:
                if self._changes == self._flushed and not self._ended:
                    self._turn.wait(idle)
                pause = last + _PACE - time.monotonic()
                if self._changes > self._flushed and not self._ended and pause > 0 and self._left() < _BATCH:
                    self._turn.wait(pause)
                    continue
                changes, ended = self._changes, self._ended
            if ended or changes > self._flushed or self._left():
                self._flush(changes)
                if ended:
                    return
                last, idle = time.monotonic(), _REST
                self._tend(idle=False)
            else:
                idle = _REST if self._tend(idle=True) else _LOOK

    def _left(self) -> int:
        """How many memories wait in the journal, of all processes. One that cannot be read is for the flush to tell of."""
        assert self._writer is not None
        try:
            return len(self._writer.waiting())
        except Error:
            return _BATCH

    def _flush(self, changes: int) -> None:
        """Writes the journal into the index, and has the new version sent. What fails is tried again, and told in notes."""
        assert self._writer is not None
        trouble, version = None, 0
        try:
            version = self._writer.flush()
        except (Error, OSError) as error:
            trouble = f"What was remembered is safe in the journal, but cannot be written into the index: {error}"
        with self._turn:
            self._trouble = trouble
            if trouble is None:
                self._flushed, self._version = changes, version
            self._turn.notify_all()
        if self._pusher is not None and trouble is None:
            self._pusher.want(version)

    def _tend(self, idle: bool) -> bool:
        """Compacts if it is time. What fails is tried again later: nothing that was remembered depends on it."""
        assert self._writer is not None
        try:
            if not self._writer.due(idle) or not self._writer.compact():
                return False
        except (Error, OSError):
            return False
        if self._pusher is not None:
            self._pusher.want(self._writer.version())
        return True


def _number(value: Any) -> int:
    number = whole_number(value, "k")
    if not 1 <= number <= MOST_RECALLED:
        raise InputError(f"k = {number}: expected 1 to {MOST_RECALLED}")
    return number


def _read(client: Client, waiting: Sequence[Waiting], ids: list[int]) -> list[Remembered]:
    """Memories by number, of the index and of what waits."""
    payloads = client.payloads(ids) if ids else []
    found = {one.id: one.record for one in waiting} | {id: Record.read(payload) for id, payload in zip(ids, payloads) if payload}
    return [Remembered(id, found[id]) for id in ids if id in found]


def _cosine(one: Any, other: Any) -> float:
    import numpy as np

    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))
