"""A memory that its host cannot read: it remembers texts, recalls them by meaning, and forgets them."""

from __future__ import annotations

import heapq
import itertools
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from ._client import Client
from ._contributor import Contributor, held_note, unfit_note
from ._errors import (
    AccessError,
    BusyError,
    ClosedError,
    DimensionError,
    Error,
    FileError,
    ForkError,
    FormatError,
    GapError,
    InputError,
    IntegrityError,
    KeyKindError,
    LockedError,
    NetworkError,
    NoIndexError,
    RefusedError,
    RollbackError,
    UnknownIdError,
)
from ._home import FIRST, MOST, heard, lasts
from ._index import whole_number
from ._journal import FullError, Waiting
from ._record import Record, Where, iso
from ._writer import Pusher, Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ._embedding import Embedding
    from ._home import Home

# The largest number of memories of one answer, since a model has to read them.
MOST_RECALLED = 100

# The largest number of memories in one version, if they are added singly and if they are added in batches. The last number is the
# seconds between two versions. Each version leaves a signed manifest of about 15 kB in the folder.
_BATCH = 256
_BULK = 1024
_PACE = 2.0

# The seconds without a change after which the index may be compacted, and the seconds between two checks for work that other
# processes left.
_REST = 1.0
_LOOK = 30.0

# The seconds that an answer waits for the server to store a change.
_SENT = 1.0

# The seconds after which a silent server counts as unreachable, and the seconds that the memory then waits before it asks again.
_SILENT, _PATIENCE = 1.0, 10.0

# The error if the memory cannot be reached and this process did not read it before.
_AWAY = (
    "the memory at {place} cannot be reached, and this process has read nothing of it yet, so nothing can be recalled. Go on without the memory, tell the "
    "person you work for, and try again later ({error})"
)

# The largest number of tags, and authors, that an answer lists if nothing matched, and the likeness above which a stored one may be what the agent meant.
_OTHERS = 20
_ALIKE = 0.6

# How often a full journal waits for the index. Each wait takes about a minute.
_WAITS = 10

# The note if memories stay in the journal.
_TROUBLE = "What was remembered is safe in the journal, but cannot be written into the index: {error}"

# The note while other programs write. No person has to act.
_MEANWHILE = "Others write into this memory at this moment. What was remembered is on disk here, and follows by itself"

# The largest number of memories that a note names by their numbers.
_NAMED = 8

# After this number of consecutive failed tries, each of several pushes, the note says that the server refuses, and no longer that others write.
_MOST_BEHIND = 5

# The number of memories that one step reads, if all memories are read.
_BLOCK = 4096


@dataclass(frozen=True)
class Remembered:
    """A memory with its number, and its score in an answer to a question."""

    id: int
    record: Record
    score: float | None = None


@dataclass(frozen=True)
class Exported(Remembered):
    """A memory with its label, if this process knows the label. The owner's key reads all labels. Other processes know the labels of memories
    that they stored and did not send."""

    label: str | None = None
    labelled: bool = False


@dataclass(frozen=True)
class Change:
    """The result of a change: the numbers of the changed memories and, if there is a server, whether the server has the change."""

    ids: list[int]
    server: str | None


class Memory:
    """A memory, which is stored in a folder. Threads may share it; several processes of one machine may use the same folder.

    What was remembered is in a journal on disk when the call returns: a process that is killed after that loses nothing. Raises `Error`s, whose words
    say what an agent can do.
    """

    def __init__(self, home: Home, embedding: Embedding) -> None:
        self._home = home
        self._embedding = embedding
        # True once the index was seen to have vectors of this model, and their length.
        self._met = False
        self._length: int | None = None
        self._key = home.key()
        self._lock = threading.RLock()
        self._client: Client | None = None
        self._gap: str | None = None
        # The time until which a server that did not answer is not asked again, and the error of that server.
        self._silent: tuple[float, NetworkError | None] = (0.0, None)
        # True while a writer reads its own folder, because the server cannot be reached.
        self._alone = False
        # The version of this list, and the times and numbers of its memories, newest first.
        self._listed: tuple[int, list[tuple[int, int]]] = (0, [])
        # The version that was read, and the numbers of its records that are no memories.
        self._strange: tuple[int, set[int]] = (0, set())
        self._writer: Writer | Contributor | None = None
        self._pusher: Pusher | None = None
        # The number of changes of this process, the number of changes that are in the index, and the version that has these changes.
        self._turn = threading.Condition()
        self._changes = self._flushed = self._version = 0
        self._trouble: str | None = None
        self._tried = False
        # The number of consecutive tries that failed with an error which says that another process was writing.
        self._behind = 0
        self._ended = False
        if home.owns:
            self._writer = Writer(home)
            if home.settings.server is not None:
                self._pusher = Pusher(home)
                self._send(self._writer.version())
        elif home.adds:
            self._writer = Contributor(home)
        if self._writer is not None:
            self._thread = threading.Thread(target=self._write, name="sordino-memory", daemon=True)
            self._thread.start()

    def remember(self, text: Any, tags: Any = None, when: Any = None) -> tuple[Change, Record]:
        """Stores a memory, and returns once it is on disk."""
        record = Record.made(text, tags, when, self._home.settings.name)
        (change,) = self.remember_all([record])
        return change, record

    def remember_all(self, records: Sequence[Record], labels: Sequence[str | None] | None = None) -> Iterator[Change]:
        """Stores many memories, a batch at a time: each under its label, or under the folder's. Nothing is stored if this key may not add under one of
        them."""
        self._writes()
        labels = [self._home.settings.label] * len(records) if labels is None else labels
        if self._writer is not None:
            self._writer.check_labels(labels)
        for first in range(0, len(records), _BULK):
            some, under = records[first : first + _BULK], labels[first : first + _BULK]
            rows = self._stored([record.text for record in some])
            yield from self._in_parts(some, rows, under)

    def _in_parts(self, records: Sequence[Record], rows: Any, labels: Sequence[str | None]) -> Iterator[Change]:
        """Stores memories, at once if the journal has room. Else it waits until the index has what the journal had, and then stores them, if need be in halves."""
        for emptied in (False, True):
            try:
                change = self._changed(lambda writer: writer.remember(records, rows, labels))
            except FullError:
                if not emptied:
                    self._make_room()
                elif len(records) == 1:
                    raise
            else:
                yield change
                return
        half = len(records) // 2
        yield from self._in_parts(records[:half], rows[:half], labels[:half])
        yield from self._in_parts(records[half:], rows[half:], labels[half:])

    def _make_room(self) -> None:
        """Writes the journal into the index. Another thread or process may be doing the same for minutes."""
        assert self._writer is not None
        for left in reversed(range(_WAITS)):
            try:
                self._writer.flush()
                return
            except LockedError:
                if not left:
                    raise

    def update(self, id: Any, text: Any = None, tags: Any = None, when: Any = None) -> tuple[Change, Record]:
        """Replaces the text, the tags or the time of a memory, which keeps its number."""
        self._writes()
        if text is None and tags is None and when is None:
            raise InputError("nothing to change: say a text, tags or when")
        number = whole_number(id, "id")
        found = self.get([number])
        if not found:
            raise UnknownIdError(f"no memory {number}: it was forgotten, or never was; recall gives the numbers that there are")

        def made(old: Record) -> Record:
            return Record.made(
                old.text if text is None else text,
                list(old.tags) if tags is None else tags,
                iso(old.when) if when is None else when,
                self._home.settings.name,
            )

        record = made(found[0].record)
        rows = {record.text: self._stored([record.text])[0]}

        def work(writer: Writer | Contributor) -> list[int]:
            nonlocal record
            # Another process may have changed the memory meanwhile.
            record = writer.replace(number, made, lambda text: rows[text] if text in rows else self._stored([text])[0])
            return [number]

        return self._changed(work), record

    def forget(self, ids: Sequence[Any] = (), where: Where | None = None) -> Change:
        """Removes memories from all results: those with these numbers, or all that match a choice. Returns the numbers of the
        memories that existed."""
        self._writes()
        if bool(ids) is bool(where):
            raise InputError("say which to forget: id, or where with tags, since, until or by; one of the two")
        numbers = [whole_number(id, "id") for id in ids]
        # The matching memories are read while no other process can change them.
        return self._changed(lambda writer: writer.delete(lambda: [one.id for one in self.all(where)] if where else numbers))

    def recall(self, question: Any, k: Any = 8, where: Where | None = None) -> list[Remembered]:
        """The memories that are nearest to a question in meaning, best first."""
        if not isinstance(question, str) or not question.strip():
            raise InputError("question: empty; say what is looked for, or use recent")
        number = _number(k)
        where = where or Where()
        row = self._embedded([question])[0]
        client, waiting = self._fresh()
        found: dict[int, Remembered] = {}
        for one in waiting:
            if where.passes(one.record):
                found[one.id] = Remembered(one.id, one.record, round(_cosine(row, one.vector), 4))
        found |= {near.id: near for near in self._nearest(client, row, number, where)}
        return sorted(found.values(), key=lambda one: one.score or 0.0, reverse=True)[:number]

    def recent(self, n: Any = 10, where: Where | None = None) -> list[Remembered]:
        """The newest memories by their times, newest first."""
        number = _number(n)
        where = where or Where()
        client, waiting = self._fresh()
        pending = sorted(((one.record.when, one.id) for one in waiting if where.passes(one.record)), reverse=True)
        # A memory of the journal may already be in the index. Then two equal memories are next to each other.
        merged = heapq.merge(self._by_time(client, where), pending, reverse=True)
        ids = (id for (_, id), _ in itertools.groupby(merged))
        found: list[Remembered] = []
        # Conditions on attributes also let some memories with other tags pass.
        while len(found) < number and (some := list(itertools.islice(ids, 2 * number))):
            found += [one for one in self._read(client, waiting, some) if where.passes(one.record)]
        return found[:number]

    def get(self, ids: Sequence[int]) -> list[Remembered]:
        """The existing memories with these numbers."""
        return self._read(*self._fresh(), [id for id in ids if id > FIRST])

    def all(self, where: Where | None = None) -> Iterator[Remembered]:
        """All memories that this key can read, or those that match a choice, ordered by number."""
        where = where or Where()
        client, waiting = self._fresh()
        ids = sorted({id for _, id in self._by_time(client, where)} | {one.id for one in waiting})
        for first in range(0, len(ids), _BLOCK):
            yield from (one for one in self._read(client, waiting, ids[first : first + _BLOCK]) if where.passes(one.record))

    def exported(self) -> tuple[Iterator[Exported], str | None]:
        """All memories, and None. If they cannot be read, the memories that this folder still has, and the reason."""
        try:
            first = list(itertools.islice(found := self.all(), 1))
            return self._labelled(itertools.chain(first, found)), None
        except (AccessError, IntegrityError, NetworkError) as error:
            kept = [Exported(one.id, one.record, None, one.label, True) for one in self._writer.kept()] if self._writer else []
            # If the server is not to be trusted, a writer's folder still has the memories that it took before.
            here = self._copied({one.id for one in kept}) if isinstance(error, IntegrityError) else []
            if not kept and not here:
                raise
            return iter(here + kept), str(error)

    def _copied(self, others: set[int]) -> list[Exported]:
        """The memories in a writer's own copy of the server's index, but for these others."""
        if not isinstance(self._writer, Contributor) or self._home.settings.server is None:
            return []
        try:
            with Client(self._home.index, key=self._key) as client:
                ids = sorted(int(id) for id in client.column("when") if id not in others)
                return [Exported(one.id, one.record) for one in self._read(client, [], ids)]
        except Error:
            return []

    def _labelled(self, found: Iterator[Remembered]) -> Iterator[Exported]:
        """Memories with their labels. An owner gets text and label from one version, or from the journal. A memory that was forgotten
        meanwhile has no label any more, and is left out."""
        while some := list(itertools.islice(found, _BLOCK)):
            # The journal comes first, as in `_fresh`.
            waiting = {one.id: one for one in self._writer.waiting()} if self._writer else {}
            read = self._writer.labelled([one.id for one in some]) if self._writer else None
            for at, one in enumerate(some):
                payload, label = read[at] if read is not None else (None, None)
                if payload is not None:
                    yield Exported(one.id, Record.read(payload), None, label, True)
                elif (entry := waiting.get(one.id)) is not None:
                    yield Exported(one.id, entry.record, None, entry.label, True)
                elif read is None:
                    yield Exported(one.id, one.record)

    def stats(self) -> dict[str, Any]:
        """The number of memories, their times and tags, and the place where they are stored."""
        if self._writer is not None:
            # The reason for waiting is known after this process has tried to write them.
            with self._turn:
                self._turn.wait_for(lambda: self._tried or not self._left(), _SENT)
            if self._pusher is not None and not self._writer.shared:
                self._pusher.said(self._writer.version(), _SENT)
        tags: Counter[str] = Counter()
        times = []
        for one in self.all():
            times.append(one.record.when)
            tags.update(one.record.tags)
        client, waiting = self._fresh()
        facts = client.stats()
        refused, said = self._writer.refused() if self._writer else None, self.note()
        if refused is not None and refused not in (said or ""):
            said = f"Nothing can be remembered here: {refused}" + (f". {said}" if said else "")
        if isinstance(self._writer, Writer) and (unread := self._writer.unread()):
            said = unread + (f". {said}" if said else "")
        return {
            "memories": len(times),
            "oldest": iso(min(times)) if times else None,
            "newest": iso(max(times)) if times else None,
            "tags": dict(sorted(tags.items(), key=lambda tag: (-tag[1], tag[0]))[:50]),
            "place": self._home.place,
            "server": self._home.settings.server,
            "index": facts["index"],
            "version": facts["version"],
            "writes": self._writer is not None and refused is None,
            "in_journal": len(waiting),
            "forgotten_in_folder": self._writer.forgotten() if self._writer else None,
            "embedding": self._embedding.name,
            "embedding_shows": self._embedding.shows,
            "note": said,
        }

    def others(self, where: Where) -> tuple[list[str], list[str], str | None]:
        """The content of the memory, for a choice that nothing matches. It has the tags and authors, the ones most like the requested ones first, and the
        times."""
        records = [one.record for one in self.all()]
        tags = _likest([tag for record in records for tag in record.tags], where.tags)
        authors = _likest([record.by for record in records], [where.by or ""])
        times = [record.when for record in records]
        return tags, authors, f"the memories are of {iso(min(times))} to {iso(max(times))}" if times else None

    def leaves(self) -> str:
        """A text that says when forgotten memories are erased from the folder."""
        if self._writer is None or not self._writer.forgotten():
            return "nothing that was forgotten is in the folder any more"
        minutes = self._home.settings.erase_within / 60
        return (
            f"out of all results now; out of the folder at the next compaction, within {minutes:g} minutes while a process of this memory runs, "
            "or at once by the command sordino-memory compact"
        )

    def note(self) -> str | None:
        """A note for the reader of the last answer, for example that a server could not be reached."""
        held, unfit = (held_note(self._writer.held), unfit_note(self._writer.unfit)) if self._writer else (None, None)
        return ". ".join(filter(None, [self._gap, self._trouble, held, unfit, self._left_out(), None if self._pusher is None else self._pusher.note()])) or None

    def wait(self) -> None:
        """Waits until all memories are in the index. Raises the error if that fails."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Ends the threads after their current work, and releases the index."""
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
        """A client of the newest version, and the entries that are not in it. If the server cannot be asked, the client keeps its
        version, and a note says so."""
        with self._lock:
            if "://" in self._home.place:
                self._home.trusted()
            # The journal comes first: an entry that moves into the index meanwhile is then in both, and not in neither.
            waiting = self._writer.waiting() if self._writer else []
            start = time.monotonic()
            missing = self._follow()
            if self._alone:
                self._let_go()
                self._alone = False
            try:
                if self._home.owns:
                    # The owner's own folder answers without the server.
                    self._home.settled(self._renewed)
                else:
                    self._answering()
                    self._renewed()
                self._gap = missing
            except GapError:
                self._over_gap()
            except AccessError as error:
                self._let_go()
                if isinstance(self._writer, Contributor):
                    self._writer.deny()
                raise AccessError(f"{error}. The memory's owner did not grant this key, or revoked it: ask for sordino-memory grant") from None
            except IntegrityError as error:
                self._distrust(error)
                if self._home.owns and isinstance(error, (RollbackError, ForkError)):
                    raise type(error)(f"{error}. {self._home.restoring}") from None
                raise
            except NetworkError as error:
                self._note_silence(start, error)
                refused = isinstance(error, RefusedError) and not isinstance(error, BusyError)
                if self._client is None and not refused and self._home.adds and (self._home.index / "CURRENT").exists():
                    self._client, self._alone = Client(self._home.index, key=self._key), True
                if refused:
                    self._let_go()
                    if isinstance(self._writer, Contributor) and lasts(error):
                        self._writer.deny()
                    raise type(error)(self._home.told(error)) from None
                if self._client is None:
                    raise type(error)(_AWAY.format(place=self._home.place, error=error)) from None
                self._gap = f"the server cannot be reached ({error}), so this is what was known before: version {self._client.stats()['version']}"
            assert self._client is not None
            if self._strange[0] != self._client.stats()["version"]:
                self._strange = (0, set())
            # A folder may have an older version than the server has shown.
            if not self._alone:
                self._remember_pin()
            return self._client, waiting

    def _renewed(self) -> None:
        """Makes sure that there is a client of the newest version. If the server refuses the client, a client with a new connection tries once: a restarted server
        knows no earlier login, and a token's file may have a new token. An owner's client does so too if the owner's change gave way to an earlier change."""
        if self._client is not None:
            try:
                with heard():
                    self._client.refresh()
                return
            except BusyError:
                raise
            except (RefusedError, RollbackError, ForkError) as error:
                if isinstance(error, IntegrityError) and not self._home.owns:
                    raise
                self._let_go()
        self._client = self._connected()

    def _follow(self) -> str | None:
        """Updates the folder with what writers added to the server's index. Returns the reason if that fails."""
        start = time.monotonic()
        try:
            if self._writer is not None:
                self._answering()
                self._writer.follow()
        except (NetworkError, IntegrityError, FileError, LockedError) as error:
            if isinstance(error, NetworkError):
                self._note_silence(start, error)
            return f"what others have added since may be missing: {self._told(error)}"
        return None

    def _answering(self) -> None:
        """Raises the error of a server that did not answer a moment ago, since each new try would keep the agent waiting."""
        until, error = self._silent
        if error is not None and time.monotonic() < until:
            raise error.with_traceback(None)

    def _note_silence(self, start: float, error: NetworkError) -> None:
        now = time.monotonic()
        if now - start > _SILENT and self._silent[1] is not error:
            self._silent = (now + _PATIENCE, error)

    def _connected(self, over_gap: bool = False) -> Client:
        here = "://" not in self._home.place
        how = {} if here else self._home.connection() | {"cache": self._home.folder / "cache"}
        known = self._pinned()
        try:
            with heard():
                client = Client(self._home.place, key=self._key, pin=known, over_gap=over_gap and known is not None, **how)
        except NoIndexError:
            if not here:
                raise
            raise self._home.gone() from None
        try:
            self._meet(client)
        except Error:
            client.close()
            raise
        return client

    def _pinned(self) -> bytes | None:
        """The newest version that is known here: the owner's key knows it, or this folder of what was read."""
        if self._home.owns:
            return self._home.opened(self._home.owner_key()).pin()
        return self._home.pinned()

    def _over_gap(self) -> None:
        """Continues over a gap of more versions than a server keeps, which many single memories soon cause, and adds a note."""
        self._let_go()
        self._client = self._connected(over_gap=True)
        self._gap = (
            "the server does not show all versions since the last time, of which it keeps 256. A server that hides another history shows such a gap: "
            f"this is version {self._client.stats()['version']}, which the memory's owner can compare"
        )

    def _meet(self, client: Client) -> None:
        """Refuses an index that is not a memory, and vectors of another model."""
        (payload,) = client.payloads([FIRST])
        try:
            header = json.loads(payload or b"")
            made, length = (header["embedding"], header["dim"]) if header["sordino"] == "memory" else (None, None)
        except (ValueError, KeyError, TypeError):
            made = length = None
        if made is None:
            raise FormatError(f"the index at {self._home.place} holds no memory: it was made by another program")
        if made != self._embedding.name:
            raise InputError(f"this memory is of vectors by {made}, and this process has {self._embedding.name}: say that model as embedding in memory.json")
        self._met, self._length = True, length

    def _remember_pin(self) -> None:
        """Keeps the newest version that was seen, so that no older one is taken for it. The owner's key has a file of its own for that."""
        assert self._client is not None
        if not self._home.owns:
            self._home.keep_pin(self._client.pin())

    def _distrust(self, error: IntegrityError) -> None:
        self._let_go()
        if "://" in self._home.place:
            self._home.distrust(error)

    def _by_time(self, client: Client, where: Where) -> list[tuple[int, int]]:
        """The times and numbers of memories in the index that this key can read and that match the attributes, newest first. The
        client has them, so nothing is sent."""
        version = client.stats()["version"]
        if not where and self._listed[0] == version:
            return self._listed[1]
        times = client.column("when", where=where.condition())
        times.pop(FIRST, None)
        listed = sorted(((int(when), id) for id, when in times.items()), reverse=True)
        if not where:
            self._listed = (version, listed)
        return listed

    def _nearest(self, client: Client, row: Any, number: int, where: Where) -> list[Remembered]:
        """The nearest memories of the index, at least `number` of them if the index has them."""
        found: list[Remembered] = []
        # The client decrypts all parts of a result, so it asks for few. The first record is not a memory. With tags, conditions also
        # let some other memories pass.
        few = (4 * number if where.tags else number) + 1
        for most in (min(few, MOST), MOST):
            with heard():
                result = client.search(row, most, where=where.condition())
            ids, scores, payloads = result.ids[0].tolist(), result.scores[0].tolist(), (result.payloads or [[]])[0]
            records = self._records(client, ids, payloads)
            found = [Remembered(id, records[id], round(score, 4)) for id, score in zip(ids, scores) if id in records and where.passes(records[id])]
            if len(found) >= number or result.ids[0, -1] < 0:
                return found
        return self._among(client, row, where)

    def _among(self, client: Client, row: Any, where: Where) -> list[Remembered]:
        """The nearest of all memories that match. It is used if many records that do not match are nearer. This reads all memories first.
        Then it searches only among memories with the times of the memories that match."""
        listed = self._by_time(client, where)
        records: dict[int, Record] = {}
        for first in range(0, len(listed), _BLOCK):
            some = self._read(client, [], [id for _, id in listed[first : first + _BLOCK]])
            records |= {one.id: one.record for one in some if where.passes(one.record)}
        crowds = Counter(when for when, _ in listed)
        groups: list[list[int]] = [[]]
        for when in sorted({when for when, id in listed if id in records and crowds[when] < MOST}):
            # The condition also lets record 0 pass, which is not a memory, so `>=` leaves a place for it.
            if sum(map(crowds.__getitem__, groups[-1])) + crowds[when] >= MOST:
                groups.append([])
            groups[-1].append(when)
        found: dict[int, Remembered] = {}
        for group in filter(None, groups):
            at = f"when in ({', '.join(map(str, group))})"
            with heard():
                result = client.search(row, MOST, where=" and ".join(filter(None, [where.condition(), at])))
            for id, score in zip(result.ids[0].tolist(), result.scores[0].tolist()):
                if id in records:
                    found[id] = Remembered(id, records[id], round(score, 4))
        # If too many memories have the same time, no search gives all of them, so the texts give the vectors.
        rest = [id for id in records if id not in found]
        try:
            rows = list(self._embedded([records[id].text for id in rest])) if rest else []
        except InputError:
            rows = [None] * len(rest)
        for id, vector in zip(rest, rows):
            # A writer's own program may have stored a text that the model does not take.
            found[id] = Remembered(id, records[id], -1.0 if vector is None else round(_cosine(row, vector), 4))
        return list(found.values())

    def _read(self, client: Client, waiting: Sequence[Waiting], ids: list[int]) -> list[Remembered]:
        """The memories by number, from the index and the journal."""
        with heard():
            payloads = client.payloads(ids) if ids else []
        found = {one.id: one.record for one in waiting} | self._records(client, ids, payloads)
        return [Remembered(id, found[id]) for id in ids if id in found]

    def _records(self, client: Client, ids: Sequence[int], payloads: Sequence[bytes | None]) -> dict[int, Record]:
        """The memories among records, by number. Notes the numbers of records that are no memory."""
        found, strange = {}, set()
        there = [(id, payload) for id, payload in zip(ids, payloads) if id > FIRST and payload is not None]
        for (id, payload), attributes in zip(there, client.attributes([id for id, _ in there]) if there else []):
            try:
                record = Record.read(payload)
            except FormatError:
                strange.add(id)
            else:
                if record.fits(attributes):
                    found[id] = record
                else:
                    strange.add(id)
        if strange:
            version = client.stats()["version"]
            with self._turn:
                self._strange = (version, strange | (self._strange[1] if self._strange[0] == version else set()))
        return found

    def _left_out(self) -> str | None:
        """Says which of the records that were read in this version are no memories."""
        ids = self._strange[1]
        if not ids:
            return None
        named = ", ".join(map(str, sorted(ids)[:_NAMED])) + (", ..." if len(ids) > _NAMED else "")
        return f"Another program wrote records that are no memory, and they are left out, {len(ids)} in all: {named}. The memory's owner can forget them by id"

    def _let_go(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _embedded(self, texts: list[str]) -> Any:
        rows = self._embedding(texts)
        if self._length is not None and rows.shape[1] != self._length:
            raise DimensionError(f"the embedding {self._embedding.name} gave {rows.shape[1]} coordinates, and this memory's vectors have {self._length}: look at that model")
        return rows

    def _stored(self, texts: list[str]) -> Any:
        """The vectors of texts that are to be remembered. Refuses a model other than the memory's, whose vectors no question would find."""
        if not self._met and (self._home.index / "CURRENT").exists():
            try:
                with Client(self._home.index, key=self._key) as client:
                    self._meet(client)
            except InputError:
                raise
            except Error:
                # The change itself reports all other faults of the index, or keeps the memory in the journal.
                pass
        return self._embedded(texts)

    # Writing

    def _writes(self) -> None:
        if self._writer is None:
            self._home.owner_key()
            raise KeyKindError("this memory is closed")

    def _changed(self, work: Callable[[Writer | Contributor], list[int]]) -> Change:
        """Makes a change, waits a moment, and says whether the server has it."""
        if self._writer is None or self._ended:
            raise ClosedError("this memory is closed")
        self._check()
        ids = work(self._writer)
        with self._turn:
            self._changes += 1
            mine = self._changes
            self._turn.notify_all()
            if self._home.settings.server is None:
                return Change(ids, None)
            self._turn.wait_for(lambda: self._flushed >= mine or self._trouble is not None, _SENT)
            if self._flushed < mine:
                return Change(ids, f"kept here, and sent to the server with the next version. {self._trouble or ''}".strip())
            version = self._version
        if set(ids) & {one.id for one in self._writer.held}:
            return Change(ids, "kept here: the owner did not grant this agent its label")
        if refused := [self._writer.unfit[id] for id in ids if id in self._writer.unfit]:
            return Change(ids, f"kept here, since the index refuses it: {refused[0]}")
        if isinstance(self._writer, Writer):
            ids = [self._writer.moved.get(id, id) for id in ids]
        if self._pusher is None or self._writer.shared:
            return Change(ids, "the server has it")
        return Change(ids, self._pusher.said(version, _SENT))

    def _check(self) -> None:
        """Sets a note if the folder is not the one that the key knows. New memories then wait in the journal."""
        assert self._writer is not None
        try:
            self._writer.check()
        except Error as error:
            with self._turn:
                self._trouble = self._why(error)

    def _why(self, error: Exception) -> str:
        """The reason why memories stay in the journal. A server that refuses for good may say each time that another process is writing."""
        return _MEANWHILE if isinstance(error, LockedError) and self._behind < _MOST_BEHIND else _TROUBLE.format(error=self._told(error))

    def _told(self, error: Exception) -> str:
        return self._home.told(error) if isinstance(error, Error) else str(error)

    def _send(self, version: int) -> None:
        """Sends a new version, unless writing it sent it already."""
        if self._pusher is not None and self._writer is not None and not self._writer.shared:
            self._pusher.want(version)

    def _write(self) -> None:
        """Writes the journal into the index at intervals, and compacts when there were no changes for a while."""
        assert self._writer is not None
        last, idle = 0.0, 0.0
        while True:
            with self._turn:
                if self._changes == self._flushed and not self._ended:
                    self._turn.wait(idle)
                # Each refused try leaves a manifest. A server that refuses all of them must not fill the disk.
                pace = _PACE * 2 ** min(max(self._behind - _MOST_BEHIND, 0), 8)
                pause = last + pace - time.monotonic()
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
        """The number of memories of all processes that wait in the journal for the next version. A flush reports a journal that cannot be read."""
        assert self._writer is not None
        try:
            held = {one.id for one in self._writer.held} | self._writer.unfit.keys()
            return sum(one.id not in held for one in self._writer.kept())
        except Error:
            return _BATCH

    def _flush(self, changes: int) -> None:
        """Writes the journal into the index, and sends the new version. Failures are noted and tried again."""
        assert self._writer is not None
        trouble, version = None, 0
        try:
            version = self._writer.flush()
            self._behind = 0
        except Exception as error:  # noqa: BLE001 - a thread that ended would write nothing more, and say nothing of it
            self._behind = self._behind + 1 if isinstance(error, LockedError) else 0
            trouble = self._why(error)
        with self._turn:
            self._trouble, self._tried = trouble, True
            if trouble is None:
                self._flushed, self._version = changes, version
            self._turn.notify_all()
        if trouble is None:
            self._send(version)

    def _tend(self, idle: bool) -> bool:
        """Compacts the index if it is time. A failure is tried again later, since no stored memory depends on it."""
        assert self._writer is not None
        try:
            if idle:
                self._writer.take_in()
            if not self._writer.due(idle) or not self._writer.compact():
                return False
            self._send(self._writer.version())
        except (Error, OSError):
            return False
        return True


def _number(value: Any) -> int:
    number = whole_number(value, "k")
    if not 1 <= number <= MOST_RECALLED:
        raise InputError(f"k = {number}: expected 1 to {MOST_RECALLED}")
    return number


def _likest(there: Iterable[str], asked: Sequence[str]) -> list[str]:
    """Some of these words, each once. The words that are most like a requested word come first, then the most frequent words."""
    counted = Counter(there)

    def likeness(word: str) -> float:
        return max((ratio for one in asked if (ratio := SequenceMatcher(None, word, one).ratio()) > _ALIKE), default=0.0)

    return sorted(counted, key=lambda word: (-likeness(word), -counted[word], word))[:_OTHERS]


def _cosine(one: Any, other: Any) -> float:
    import numpy as np

    # The index refuses a vector of another length, which then stays in the journal.
    if len(one) != len(other):
        return 0.0
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))
