"""Changes of a memory. New memories go into a journal, and from there in batches into the index. The index is compacted when there
is time, and pushed to a server."""

from __future__ import annotations

import json
import math
import os
import random
import shlex
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from . import _record
from ._errors import AccessError, DimensionError, Error, FileError, ForkError, InputError, IntegrityError, LockedError, NetworkError, NoIndexError, RollbackError, UnknownIdError, UnsureError
from ._home import DRAWN, FIRST, drawn, heard
from ._index import open as open_index
from ._journal import Journal, Waiting
from ._record import Record
from ._replica import Replica

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np

    from ._home import Home
    from ._index import Index
    from ._sordino import ReaderPublicKey, WriterPublicKey

T = TypeVar("T")

# The message for a change that this folder has and that did not arrive at the server.
_UNSENT = (
    "What was changed is in this folder and not at the server. It is sent with the next change, or by sordino-memory push; where others have added to the "
    "memory before that, it is not: look whether it lasted, and else make it again"
)

# The message if the server does not answer before a change.
_AWAY = "While it does not answer, this memory is not changed, since others may have added to it there"

# The message if the server has changes by the owner's key that are missing here.
_TWIN = (
    "another folder with this owner's key has changed the memory at the server, and what it wrote is missing here; or this folder was restored from a "
    "backup. Tell the memory's owner to let one folder alone write with that key. To go on in this folder: sordino-memory export first, "
    "since sordino index pull gives up what was changed here; then pull, and remember again what is missing"
)

# A compaction writes all memories. It is due if there are 64 segments more than after the last compaction. With many memories, it is due
# after a number of segments that is a 150th of the number of memories.
_SEGMENTS = 64
_SHARE = 150
_MOST_SEGMENTS = 256

# The number of versions whose succession can be proved, which is also the number that servers show. A compaction removes older
# manifests.
_KEPT = 256

# The number of additions by writers after which the owner's process makes room for more; at most 64 are possible. The number of tries of a
# change if a writer adds first each time.
_TAKEN_IN = 16
_TRIES = 8

# The seconds after which the server is asked again for additions by writers.
_FOLLOWED = 0.5

# The seconds after which additions that were taken are old, and those for which an answer then waits for a change in progress.
_STALE, _FOLLOWING = 5.0, 5.0

# The seconds of all tries while another program changes the index.
_PATIENCE = 60.0


@dataclass
class State:
    """The state that the writing processes of one folder share. It has the version, the next number, the segments after the last
    compaction and now, and the stored records. It also has the number of forgotten records, and the time since which there are any.
    If its version or its manifest differs from the index's, it is computed again from the index. If there are writers, a new memory has a random number."""

    version: int
    next: int
    base: int
    manifest: str = ""
    writers: int = 0
    segments: int = 1
    stored: int = 1
    forgotten: int = 0
    since: float = 0.0


class Writer:
    """Changes, of which one runs at a time among all processes of this machine. Needs the owner's key."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._key = home.owner_key()
        self._journal = Journal(home.folder, home.settings.label)
        self._replica = Replica(home, self._key)
        self._followed = -math.inf
        # The entries of the journal that the last change has written, by number.
        self._written: set[int] = set()
        #: Entries that wait for the owner to grant their label. This list is empty, because the owner's key may use all labels.
        self.held: list[Waiting] = []
        #: Entries of the journal that the index refuses, by number, and why. They stay in the journal, and later entries do not wait for them.
        self.unfit: dict[int, str] = {}
        #: True if writers add to the server's index. Each finished change is then at the server.
        self.shared = self._replica.shared
        #: Numbers that this process gave, and that another program took first, with the numbers that the memories have instead.
        self.moved: dict[int, int] = {}
        # The folder's line for the newest version that was compared with the owner's key.
        self._checked = b""

    def remember(self, records: Sequence[Record], vectors: np.ndarray, labels: Sequence[str | None] | None = None) -> list[int]:
        """Puts memories into the journal, on disk, and returns their numbers. Without `labels` each has the folder's. It does not wait for changes of
        the index."""
        labels = [self._home.settings.label] * len(records) if labels is None else labels
        with self._home.alone("journal.lock"):
            state = self._known()
            if state is not None:
                numbers = self._numbers(state, len(records))
                self._journal.append([Waiting(*one) for one in zip(numbers, records, vectors, labels)])
                return numbers
        self.flush()
        return self.remember(records, vectors, labels)

    def check(self) -> None:
        """Raises `RollbackError` or `ForkError` if the folder lacks the version that the owner's key knows. Nothing is written into it
        then."""
        try:
            line = self._home.line()
        except (FileError, NoIndexError):
            # Opening the index reports the reason.
            line = b""
        if line and line == self._checked:
            return
        if not self._known_here():
            # Another process may have changed it between the two checks.
            with self._home.alone("writing.lock"):
                self._known_here(sure=True)
        self._checked = line

    def _known_here(self, sure: bool = False) -> bool:
        """Whether the folder's version is the one that the owner's key knows, or a later one. If `sure`, raises an error if it is
        neither."""
        index = self._home.opened(self._key)
        known = index.pin()
        if known is None:
            return True
        facts = index.info()
        version, there = int.from_bytes(known[16:24], "little"), int(facts["version"])
        same = facts["index"] == known[:16].hex()
        if same and (there > version or (there == version and facts["manifest"] == known[24:].hex())):
            return True
        if sure:
            kind, which = (RollbackError, "an older one") if same and there < version else (ForkError, "a different one")
            raise kind(f"{self._home.index} has version {there}, and the owner's key knows version {version}: {which} was put there. {self._home.restoring}")
        return False

    def check_labels(self, labels: Iterable[str | None]) -> None:
        """Does nothing, because the owner's key writes under any label."""

    def refused(self) -> str | None:
        """The reason why nothing can be written here, if there is one."""
        return self._home.closed()

    def labelled(self, numbers: Sequence[int]) -> list[tuple[bytes | None, str | None]]:
        """The texts and labels of memories in the index, all from one version. For a memory that it lacks, the index names no label."""
        if closed := self._home.closed():
            folder = shlex.quote(os.fspath(self._home.folder))
            raise FileError(f"{closed}. Or export from a copy of it: cp -a {folder} COPY, and sordino-memory --home COPY export")
        try:
            return self._labelled(self._home.opened(self._key), numbers)
        except (LockedError, IntegrityError):
            # Processes that change the index all the time, or are taking the server's version, wait for this.
            with self._home.alone("writing.lock"):
                return self._labelled(self._home.opened(self._key), numbers)

    def _labelled(self, index: Index, numbers: Sequence[int]) -> list[tuple[bytes | None, str | None]]:
        for _ in range(_TRIES):
            before = index.info()["manifest"]
            labels = patiently(lambda: index.labels(list(numbers)))
            payloads = self._payloads(numbers)
            if index.info()["manifest"] == before == self._replica.newest().pin()[24:].hex():
                return list(zip(payloads, labels))
        raise LockedError("other programs change this memory all the time: try again")

    def waiting(self) -> list[Waiting]:
        """The memories of the journal that are not in the index yet. The journal's other memories are in the index or were forgotten. They
        stay in the journal until the server knows that."""
        entries, there = self._journal.read(), self._replica.lasted()
        return [one for one in entries if one.id not in there]

    def kept(self) -> list[Waiting]:
        """All memories of the journal."""
        return self._journal.read()

    def flush(self) -> int:
        """Writes the waiting memories into the index, one version for each label. Returns the newest version."""
        return self._change(lambda _, state: state.version)

    def replace(self, number: int, made: Callable[[Record], Record], vector: Callable[[str], np.ndarray]) -> Record:
        """Replaces a memory by what `made` makes of it, with the vector of its text. Raises `UnknownIdError` if it does not exist."""

        def work(index: Index, state: State) -> Record:
            # A memory keeps its label, whatever label this process gives new ones. Otherwise some readers would lose it, or
            # others would see it.
            ((payload, label),) = self._labelled(index, [number]) if number != FIRST else [(None, None)]
            if number in self.unfit:
                raise InputError(f"memory {number} waits in the journal, since the index refuses it ({self.unfit[number]}): forget it, and remember what is right")
            if payload is None:
                raise UnknownIdError(f"no memory {number}: it was forgotten, or never was; recall gives the numbers that there are")
            record = made(Record.read(payload))
            self._add(index, [Waiting(number, record, vector(record.text))], label)
            _forget(state, 1)
            return record

        return self._change(work)

    def delete(self, chosen: Callable[[], Sequence[int]]) -> list[int]:
        """Removes the chosen memories from all results. Returns the numbers of those that existed."""
        given_up: set[int] = set()

        def work(index: Index, state: State) -> list[int]:
            numbers = chosen()
            given_up.update(self.give_up(numbers))
            there = [number for number, found in zip(numbers, self._rows(numbers)) if found is not None and number != FIRST]
            if there:
                patiently(lambda: index.delete(there))
                _forget(state, len(there))
            return [*there, *sorted(given_up.difference(there))]

        return self._change(work)

    def give_up(self, numbers: Sequence[int]) -> set[int]:
        """Removes entries from the journal that the index refuses. Returns their numbers."""
        with self._home.alone("journal.lock"):
            found = {one.id for one in self._journal.read()} & self.unfit.keys() & set(numbers)
            if found:
                self._journal.drop(found)
            for number in found:
                del self.unfit[number]
        return found

    def compact(self) -> bool:
        """Rewrites the index in few segments without forgotten memories, and removes the old files. Returns False if there was
        nothing to do."""

        def work(index: Index, state: State) -> bool:
            if not state.forgotten and state.segments == state.base:
                return False
            patiently(lambda: index.update([FIRST], attributes={"next": [state.next]}))
            patiently(lambda: index.compact(keep_versions=_KEPT))
            # Opening the index with the owner's key removes the previous version's files.
            patiently(index.access)
            state.base, state.forgotten, state.since = int(index.info()["segments"]), 0, 0.0
            return True

        return self._change(work)

    def follow(self) -> None:
        """Takes the additions of writers from the server's index, if there are writers."""
        old = time.monotonic() - self._followed
        # Another process may have granted the first writer.
        if old < _FOLLOWED or not (self.shared or self._replica.shared):
            return
        try:
            with self._home.alone("writing.lock", _FOLLOWING if old > _STALE else 0.0):
                self._meet()
                self._followed = time.monotonic()
        except LockedError:
            # A change in progress takes them itself.
            if old > _STALE:
                raise

    def take_in(self) -> bool:
        """Makes room for more additions if writers have made many. Returns True if it did."""
        facts = self._home.opened(self._key).info()
        if not facts["writers"] or (self._home.settings.server is None and facts["additions"] < _TAKEN_IN):
            return False

        def work(index: Index, state: State) -> bool:
            many = int(index.info()["additions"]) >= _TAKEN_IN
            if many:
                patiently(lambda: index.update([FIRST], attributes={"next": [state.next]}))
            return many

        return self._change(work)

    def due(self, idle: bool) -> bool:
        """Whether it is time to compact, which is earlier if there is no other work."""
        state = self._known()
        if state is None:
            return idle
        if state.forgotten and time.time() - state.since >= self._home.settings.erase_within:
            return True
        most = min(max(_SEGMENTS, state.stored // _SHARE), _MOST_SEGMENTS)
        return state.segments - state.base >= (most if idle else 2 * most)

    def forgotten(self) -> int:
        """The number of memories that are in no result, but stay in the folder until the next compaction."""
        state = self._known()
        return 0 if state is None else state.forgotten

    def version(self) -> int:
        """The newest version of the index."""
        return int(self._home.opened(self._key).info()["version"])

    def access(self) -> dict[str, Any]:
        """The readers, and what each can read."""
        return self._home.settled(lambda: patiently(self._home.opened(self._key).access)) or {"readers": []}

    def grant(self, name: str, public: ReaderPublicKey | None, labels: Sequence[str]) -> int:
        """Lets a reader read. Returns the version."""
        return self._change(lambda index, _: patiently(lambda: index.grant(name, public, labels=labels)))

    def grant_writer(self, name: str, public: WriterPublicKey | None, labels: Sequence[str], until: int) -> int:
        """Lets a writer read, and add memories until a time. Returns the version."""
        return self._change(lambda index, _: patiently(lambda: index.grant_writer(name, public, labels=labels, until=until)))

    def revoke(self, name: str) -> None:
        """Removes a reader, and rewrites everything under keys that the reader does not have."""

        def work(index: Index, state: State) -> None:
            patiently(lambda: index.revoke(name))
            state.forgotten += 1

        self._change(work)
        self.compact()

    def take_back(self, after: int, revoke: str | None) -> int:
        """Takes back the additions of writers after a version, and revokes one of them. Returns the version."""
        with self._home.alone("writing.lock"):
            if self._home.settings.server is not None:
                self._meet()
            index = self._home.opened(self._key)
            version = patiently(lambda: index.take_back(after, revoke=revoke))
            self._sent()
            return version

    def unread(self) -> str | None:
        """Says that no reader may read what is remembered here, if the folder's label is one that no reader was granted."""
        label = self._home.settings.label
        granted = [set(reader["labels"]) for reader in self.access()["readers"]] if label is not None else []
        if not granted or label in set().union(*granted):
            return None
        return f"No reader may read what is remembered here, under the label {label}: grant it with --label, or correct label in {self._home.folder / 'memory.json'}"

    def close(self) -> None:
        """Releases the index."""
        self._replica.close()

    def _change(self, work: Callable[[Index, State], T]) -> T:
        """Writes what waits, and does `work`, while no other process changes this folder. If others add to the server's index, the change
        starts from the server's version, and is at the server when this returns. The exception is the owner's change that first lets others add."""
        with self._home.alone("writing.lock"):
            index = self._home.opened(self._key)
            self.shared = self._replica.shared
            if not self.shared:
                self._settle()
                return self._changed(index, work)
            for _ in range(_TRIES):
                # Changes that could not be sent before go first.
                try:
                    self._meet()
                except NetworkError as error:
                    raise type(error)(f"{error}. {_AWAY}") from None
                done = self._changed(index, work)
                try:
                    sent = self._replica.push()
                except NetworkError as error:
                    raise type(error)(f"{error}. {_UNSENT}") from None
                if sent:
                    self._drop()
                    return done
                # A writer's addition came first. The next try repeats the change on top of it.
        raise LockedError(f"the server refused {_TRIES} tries, each time as if a writer had added first: what waits is kept, and tried again")

    def _changed(self, index: Index, work: Callable[[Index, State], T]) -> T:
        facts = index.info()
        state = self._known()
        told = state is not None and (state.version, state.manifest) == (facts["version"], facts["manifest"])
        if state is None or not told:
            state = self._found(index, state)
        flushed = False
        try:
            self._written = self._flush(index, state, told)
            if not self.shared:
                self._keep(state)
                self._drop()
            elif self._written:
                self._replica.wrote(self._written)
            flushed = True
            return work(index, state)
        finally:
            # The state records new versions even after an error.
            _look(index, state)
            if not flushed:
                # A part of the journal may be in the index: the next flush looks for each entry there.
                state.version = 0
            self._keep(state)

    def _meet(self) -> None:
        """Sends the changes that the server lacks, or otherwise takes the server's version."""
        try:
            if not self._replica.push():
                self._replica.pull()
        except (ForkError, RollbackError) as error:
            raise type(error)(f"{_TWIN}. {error}") from None
        self._settle()

    def _settle(self) -> None:
        """Removes from the journal what an earlier change has written, if that change lasted. Otherwise these entries wait again."""
        with self._home.alone("journal.lock"):
            if self._replica.written():
                if lasted := self._replica.lasted():
                    self._journal.drop(lasted)
                self._replica.settled()

    def _sent(self) -> None:
        if not self._replica.push():
            raise LockedError("a writer has added to this memory meanwhile: try again")

    def _flush(self, index: Index, state: State, told: bool) -> set[int]:
        """Writes the journal into the index, and returns the numbers of its entries. After another program's changes or a killed
        process, some of them may be in the index already, or their numbers may be taken."""
        with self._home.alone("journal.lock"):
            entries = self._journal.read()
            self.unfit = {one.id: self.unfit[one.id] for one in entries if one.id in self.unfit}
            waiting = [one for one in entries if one.id not in self.unfit]
            if not waiting:
                return set()
            numbers = {one.id for one in waiting}
            state.next = self._following(state)
            if not told:
                waiting = self._renumbered(waiting, state)
            # Memories that are added from here on have higher numbers.
            self._keep(state)
        # A change has one label.
        for label in dict.fromkeys(one.label for one in waiting):
            self._add_fit(index, [one for one in waiting if one.label == label], label)
            _look(index, state)
        return numbers - self.unfit.keys()

    def _drop(self) -> None:
        """Removes from the journal the entries that are in the index and, if others add to the server's index, also at the
        server."""
        with self._home.alone("journal.lock"):
            if self._written:
                self._journal.drop(self._written)
            self._replica.settled()

    def _renumbered(self, waiting: list[Waiting], state: State) -> list[Waiting]:
        """The entries that are not in the index, with numbers that are free there."""
        there = dict(zip((one.id for one in waiting), self._payloads([one.id for one in waiting])))
        found = []
        for one in waiting:
            payload = there[one.id]
            if payload is None:
                found.append(one)
            elif payload != one.record.payload():
                (number,) = self._numbers(state, 1)
                self.moved[one.id] = number
                found.append(Waiting(number, one.record, one.vector, one.label))
                state.next = max(state.next, number + 1) if number < DRAWN else state.next
        return found

    def _numbers(self, state: State, many: int) -> list[int]:
        """Numbers for new memories: the next ones. If there are writers, the numbers are random, since a writer could store something under
        the next ones first."""
        following = self._following(state)
        if not state.writers and following + many <= DRAWN:
            return list(range(following, following + many))
        return drawn(many, {one.id for one in self._journal.read()})

    def _following(self, state: State) -> int:
        """The next number after all numbers of the index and the journal."""
        return max([state.next, *(one.id + 1 for one in self._journal.read() if one.id < DRAWN)])

    def _keep(self, state: State) -> None:
        self._home.write("state.json", json.dumps(vars(state)).encode())

    def _known(self) -> State | None:
        found = self._home.read("state.json")
        try:
            return State(**found)
        except TypeError:
            return None

    def _found(self, index: Index, state: State | None) -> State:
        """The state computed from the index, after another program has changed the index or a process was killed. No number is used
        twice, and records that were to be erased will be erased."""
        client = self._replica.newest()
        (header,) = client.attributes([FIRST])
        following = max(int((header or {}).get("next", 1)), *(int(id) + 1 for id in client.column("when") if id < DRAWN))
        if state is None:
            state = State(0, following, 1)
        # Additions by writers erase nothing.
        if int(index.info()["owner_version"]) > state.version:
            _forget(state, 1)
        state.next = max(state.next, following)
        _look(index, state)
        state.base = min(state.base, state.segments)
        return state

    def _add_fit(self, index: Index, entries: Sequence[Waiting], label: str | None) -> None:
        """Adds entries, and notes those that the index refuses."""
        try:
            self._add(index, entries, label)
        except (InputError, AccessError) as error:
            if len(entries) == 1:
                given = {now: before for before, now in self.moved.items()}
                self.unfit[given.get(entries[0].id, entries[0].id)] = str(error)
                return
            middle = len(entries) // 2
            self._add_fit(index, entries[:middle], label)
            self._add_fit(index, entries[middle:], label)

    def _add(self, index: Index, entries: Sequence[Waiting], label: str | None) -> None:
        """Adds records exactly once, even if it is unknown whether the first try succeeded."""
        numbers, records = [one.id for one in entries], [one.record for one in entries]
        payloads = [record.payload() for record in records]
        rows, attributes = stacked(entries), _record.columns(records)
        try:
            # A memory that is replaced may lose tags.
            patiently(lambda: index.add(rows, numbers, payloads, attributes=attributes, label=label, leave_empty=True))
        except UnsureError:
            if self._payloads(numbers) != payloads:
                raise

    def _rows(self, numbers: Sequence[int]) -> list[Any]:
        """The attributes of records in the newest version."""
        return self._replica.newest().attributes(list(numbers)) if numbers else []

    def _payloads(self, numbers: Sequence[int]) -> list[bytes | None]:
        return self._replica.newest().payloads(list(numbers))


class Pusher:
    """Updates a server's copy of the index in its own thread, and repeats after failures."""

    def __init__(self, home: Home, again: float = 15.0) -> None:
        self._home = home
        self._again = again
        self._changed = threading.Condition()
        self._wanted = 0
        self._pushed = 0
        # The reason why the last try failed.
        self._trouble: Error | OSError | None = None
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="sordino-memory push", daemon=True)
        self._thread.start()

    def want(self, version: int) -> None:
        """Tells the thread that there is a new version to push."""
        with self._changed:
            self._wanted = max(self._wanted, version)
            self._changed.notify_all()

    def said(self, version: int, seconds: float) -> str:
        """Whether the server has this version, after a wait of at most this time."""
        end = time.monotonic() + seconds
        with self._changed:
            while self._pushed < version and self._trouble is None and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)
            if self._pushed >= version:
                return "the server has it"
        return self.stopped() or f"kept here, and sent to the server as soon as it can be: {self._trouble or 'it takes its time'}"

    def note(self) -> str | None:
        """The changes of this folder that the server lacks, and why, if a try to send them failed."""
        if self._trouble is None:
            return None
        return self.stopped() or f"What was changed here last is not at the server yet, and is sent as soon as it can be: {self._trouble}"

    def stopped(self) -> str | None:
        """The reason why this process no longer sends to the server, if there is one."""
        trouble = self._trouble
        if isinstance(trouble, (ForkError, RollbackError)):
            return f"kept here and not sent, since {_TWIN}. {trouble}"
        if isinstance(trouble, IntegrityError):
            return f"kept here and not sent, since the server is not to be trusted: {trouble}. Tell the memory's owner"
        return None

    def end(self, seconds: float) -> None:
        """Ends the thread, after one more try to send what is not sent yet."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._wanted <= self._pushed and not self._ended:
                    self._changed.wait()
                if self._ended and self._wanted <= self._pushed:
                    return
                version, ended = self._wanted, self._ended
            trouble = self._push()
            with self._changed:
                self._trouble = trouble
                if trouble is None:
                    self._pushed = version
                self._changed.notify_all()
                if self.stopped() or (ended and trouble):
                    return
                if trouble:
                    self._changed.wait(self._again)

    def _push(self) -> Error | OSError | None:
        """The reason why the server does not have the newest version, or None."""
        settings = self._home.settings
        try:
            with self._home.alone("pushing.lock"):
                index = open_index(self._home.index, key=self._home.owner_key())
                with heard():
                    index.push(settings.server or "", roots=settings.roots, wait=0)
        except (Error, OSError) as error:
            return error
        return None


def stacked(entries: Sequence[Waiting]) -> np.ndarray:
    """The vectors of entries. Raises `DimensionError` if they differ in length."""
    import numpy as np

    if len(lengths := {len(one.vector) for one in entries}) > 1:
        raise DimensionError(f"vectors of {min(lengths)} and {max(lengths)} coordinates: expected one length")
    return np.stack([one.vector for one in entries])


def _look(index: Index, state: State) -> None:
    facts = index.info()
    state.version, state.manifest, state.writers = facts["version"], facts["manifest"], facts["writers"]
    state.segments, state.stored = facts["segments"], facts["stored"]


def _forget(state: State, number: int) -> None:
    state.since = state.since if state.forgotten else time.time()
    state.forgotten += number


def patiently(work: Callable[[], T]) -> T:
    """Runs work that needs the index's own lock, and repeats it while another program or thread has the lock."""
    start = time.monotonic()
    while True:
        try:
            return work()
        except LockedError:
            if time.monotonic() - start > _PATIENCE:
                raise
        time.sleep(random.uniform(0.01, 0.05))
