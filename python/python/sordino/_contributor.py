"""Memories that an agent adds with its own writer's key. It cannot change or forget memories, and does not need the owner's
key."""

from __future__ import annotations

import contextlib
import shlex
import time
from typing import TYPE_CHECKING, Any, TypeVar

from . import _record
from ._client import Client
from ._errors import (
    AccessError,
    BusyError,
    Error,
    FileError,
    ForkError,
    GapError,
    InputError,
    IntegrityError,
    LockedError,
    NetworkError,
    OtherIndexError,
    RefusedError,
    RollbackError,
)
from ._home import drawn, lasts
from ._journal import Journal, Waiting
from ._replica import Replica
from ._writer import patiently, stacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np

    from ._home import Home
    from ._record import Record

T = TypeVar("T")

# The largest number of memories in one addition, and the number of tries while other agents add first.
_BATCH = 1024
_TRIES = 8

# The largest number of memories that a note names by their numbers.
_NAMED = 8

# The largest number of additions between two changes by the owner.
MOST_ADDITIONS = 64

# The message for memories of a writer without a grant.
_REVOKED = (
    "The memory's owner did not grant this key, or revoked it: ask for sordino-memory grant. What waits here is kept until then, and sordino-memory export "
    "writes it to a file"
)


class Contributor:
    """Adds memories, one batch at a time in all processes of this machine, to a server's index or to a folder that agents share."""

    #: True, because the server has everything that is flushed.
    shared = True

    def __init__(self, home: Home) -> None:
        self._home = home
        self._key = home.writer_key()
        self._journal = Journal(home.folder, home.settings.label)
        self._replica = Replica(home, self._key)
        # The line that names the folder's version, and facts about that version.
        self._known: tuple[bytes, dict[str, Any]] = (b"", {})
        # The version that this agent had read, and the folder's line for the version that was found to follow from it.
        self._checked: tuple[bytes, bytes] | None = None
        # True if the server refused the last addition, or this key.
        self._denied = False
        # The owner's version, and for each label whether this key may add under it in that version.
        self._labels: tuple[Any, dict[str | None, bool]] = (None, {})
        #: Entries of the journal under labels that the owner does not let this key add. They wait for a grant, and later entries do not wait for them.
        self.held: list[Waiting] = []
        #: Entries that the index refuses, by number, and why. Later entries do not wait for them either.
        self.unfit: dict[int, str] = {}

    def remember(self, records: Sequence[Record], vectors: np.ndarray, labels: Sequence[str | None] | None = None) -> list[int]:
        """Puts memories into the journal, on disk, and returns their numbers. Without `labels` each has the folder's. Raises `AccessError` if the
        owner does not let this key add."""
        labels = [self._home.settings.label] * len(records) if labels is None else labels
        self.check_labels(labels)
        with self._home.alone("journal.lock"):
            numbers = drawn(len(records), {one.id for one in self._journal.read()})
            self._journal.append([Waiting(*one) for one in zip(numbers, records, vectors, labels)])
            return numbers

    def check_labels(self, labels: Iterable[str | None]) -> None:
        """Raises `AccessError` if, by what this folder knows, memories with these labels could never be added. It asks the server first."""
        asked = set(labels)
        try:
            self._check_right()
            if self._denied:
                self._ask_again()
            if self._home.settled(lambda: self._not_granted(asked)):
                # The owner may have granted the right since the last look.
                self._ask()
            refused = self._home.settled(lambda: self._not_granted(asked))
        except AccessError as error:
            raise AccessError(f"nothing was remembered: {error}") from None
        if refused:
            tried = {None, self._home.settings.label, *(one.label for one in self._journal.read())}
            may = _named(tried - self._home.settled(lambda: self._not_granted(tried)))
            raise AccessError(
                f"nothing was remembered: the owner did not grant this agent to add memories {_named(refused)}, and did grant {may or 'none that is known here'}: "
                f"ask for {_grant(refused)}, or change label in {self._home.folder / 'memory.json'}"
            )

    def _ask_again(self) -> None:
        """Tries to send what waits, where the server has refused this key or this agent before."""
        try:
            self.flush()
        except NetworkError as error:
            text = "nothing was remembered: the server has refused this agent. What waits here is kept, and sordino-memory export writes it to a file"
            raise type(error)(f"{text} ({self._home.told(error)})") from None

    def deny(self) -> None:
        """Notes that the server has refused this key. The next memory is stored only if the server lets this key in again."""
        self._denied = True

    def refused(self) -> str | None:
        """The reason why nothing can be added here, if there is one."""
        if closed := self._home.closed():
            return closed
        try:
            self.check_labels([self._home.settings.label])
        except NetworkError:
            # Memories wait here for the server.
            pass
        except Error as error:
            return str(error).removeprefix("nothing was remembered: ")
        return None

    def labelled(self, numbers: Sequence[int]) -> None:
        """Returns None, because only the owner's key reads the names of labels."""

    def check(self) -> None:
        """Raises an `IntegrityError` if the version of the folder that agents share does not follow from the one that this agent has read. Nothing is
        added to it then."""
        pin = self._pin()
        if pin is None:
            return
        line = self._home.line()
        if self._checked == (pin, line):
            return
        try:
            Client(self._home.index, key=self._key, pin=pin).close()
        except (RollbackError, ForkError, OtherIndexError) as error:
            which = "an older one" if isinstance(error, RollbackError) else "a different one"
            known = int.from_bytes(pin[16:24], "little")
            raise type(error)(
                f"{self._home.index} does not follow from version {known}, which this agent has read: {which} was put there. Tell the memory's owner"
            ) from None
        except GapError as error:
            raise GapError(
                f"{error}. Compare the version with the memory's owner; then remove {self._home.folder / 'pin'}, and this agent adds to it again"
            ) from None
        self._checked = (pin, line)

    def _pin(self) -> bytes | None:
        """The version from which that of a folder must follow. A server's is checked when it is taken."""
        return None if self._home.settings.server is not None else self._home.pinned()

    def waiting(self) -> list[Waiting]:
        """The memories of the journal, even if an addition that may not be at the server has them."""
        return self._journal.read()

    def kept(self) -> list[Waiting]:
        """All memories of the journal."""
        return self._journal.read()

    def flush(self) -> int:
        """Adds the waiting memories to the index, and sends it to the server, if there is one. Returns the newest version."""
        tries = 0
        with self._home.alone("writing.lock"):
            while tries < _TRIES:
                self._take()
                waiting = self._waiting()
                if not waiting:
                    self._denied = False
                    return self.version()
                # An addition has one label.
                added = self._add_fit(_first(waiting))
                if not added:
                    continue
                self._replica.wrote(added)
                if self._home.settings.server is None:
                    self._home.keep_pin(self._replica.newest().pin())
                if self._replica.push():
                    self._settle(added)
                else:
                    # Another agent was first: the next try starts from its version.
                    tries += 1
        raise LockedError(f"the server refused {_TRIES} tries, each time as if another agent had added first: what waits is kept, and tried again")

    def replace(self, number: int, made: Callable[[Record], Record], vector: Callable[[str], np.ndarray]) -> Record:
        """Refuses the change, because only the owner changes memories."""
        raise _refused("changed")

    def delete(self, chosen: Callable[[], Sequence[int]]) -> list[int]:
        """Gives up entries that wait for a grant or that the index refuses, which are in this folder alone. Others are refused: only the owner forgets memories."""
        numbers = set(chosen())
        with self._home.alone("writing.lock"):
            # An earlier try, when this key had the right, may have added some of these entries without getting the answer.
            if numbers & self._replica.written():
                self._take()
            # The number of an entry that the index refuses may belong to another program's record.
            asked = sorted(numbers - self.unfit.keys())
            there = self._replica.newest().payloads(asked) if asked else []
            with self._home.alone("journal.lock"):
                self._waiting()
                if any(there) or not numbers <= {one.id for one in self.held} | self.unfit.keys():
                    raise _refused("forgotten")
                self._journal.drop(numbers)
                self._waiting()
        return sorted(numbers)

    def compact(self) -> bool:
        """Does nothing, because the owner's processes compact the index."""
        return False

    def due(self, idle: bool) -> bool:
        """Returns False, because the owner's processes compact the index."""
        return False

    def follow(self) -> None:
        """Does nothing: this agent reads the index to which others write."""

    def take_in(self) -> bool:
        """Tries again to add the entries that wait for a grant. Only the owner's processes make room for additions."""
        if self.held:
            self.flush()
        return False

    def forgotten(self) -> int:
        """Returns 0, because only the owner's processes know how many memories are deleted but still stored."""
        return 0

    def version(self) -> int:
        """The newest version of the index."""
        return int(self._facts()["version"])

    def close(self) -> None:
        """Releases the index."""
        self._replica.close()

    def _facts(self) -> dict[str, Any]:
        line = self._home.line()
        if self._known[0] != line:
            self._known = (line, self._home.opened(self._key).info())
        return self._known[1]

    def _take(self) -> None:
        """Takes the server's version, and removes from the journal what an earlier try, here or in another process, has added."""
        self.check()
        self._home.trusted()
        try:
            patiently(self._replica.pull)
        except GapError:
            raise
        except IntegrityError as error:
            self._home.distrust(error)
            raise
        except AccessError as error:
            # Later memories are refused before they are stored.
            self._denied = True
            raise AccessError(f"{error}. {_REVOKED}") from None
        except RefusedError as error:
            self._denied |= lasts(error)
            raise
        # The index may not show an added entry: the owner may have forgotten it, or this key may not read its label any more.
        added = self._replica.lasted()
        waiting = [one for one in self._journal.read() if one.id not in added]
        payloads = self._replica.newest().payloads([one.id for one in waiting]) if waiting else []
        for one, payload in zip(waiting, payloads):
            if payload == one.record.payload():
                added.add(one.id)
            elif payload is not None:
                self.unfit[one.id] = "another writer has stored something else under the number of this memory; remember it again"
        self._settle(added)

    def _settle(self, added: set[int]) -> None:
        """Removes from the journal what was added and is at the server."""
        with self._home.alone("journal.lock"):
            if added:
                self._journal.drop(added)
            self._replica.settled()

    def _waiting(self) -> list[Waiting]:
        """The entries of the journal that this key may add, and notes the others."""
        entries = self._journal.read()
        refused = self._not_granted({one.label for one in entries})
        self.held = [one for one in entries if one.label in refused]
        self.unfit = {one.id: self.unfit[one.id] for one in entries if one.id in self.unfit and one.label not in refused}
        return [one for one in entries if one.label not in refused and one.id not in self.unfit]

    def _not_granted(self, labels: set[str | None]) -> set[str | None]:
        """The labels, of these, under which the version here does not let this key add."""
        facts = self._facts()
        until = facts["writes_until"]
        which = (facts["index"], facts["owner_version"])
        if self._labels[0] != which:
            self._labels = (which, {})
        known = self._labels[1]
        # If the right has ended, the addition itself raises an error.
        if until is not None and until > time.time():
            # The addition itself reports a fault of the folder. In a folder that has an older version again, opening would remove files of newer versions.
            with contextlib.suppress(FileError, IntegrityError):
                self.check()
                known |= {label: self._may_add(label) for label in labels - set(known)}
        return {label for label in labels if not known.get(label, True)}

    def _may_add(self, label: str | None) -> bool:
        try:
            return patiently(lambda: self._home.opened(self._key, pin=self._pin()).may_add(label))
        except AccessError:
            # The owner lets this key read nothing.
            return False

    def _add_fit(self, entries: Sequence[Waiting]) -> set[int]:
        """Adds entries, or some of them if the index refuses others. Returns their numbers."""
        while True:
            try:
                self._add(entries)
            except InputError as error:
                if len(entries) == 1:
                    self.unfit[entries[0].id] = str(error)
                    return set()
                entries = entries[: len(entries) // 2]
            else:
                return {one.id for one in entries}

    def _add(self, entries: Sequence[Waiting]) -> None:
        records = [one.record for one in entries]
        index, rows = self._home.opened(self._key, pin=self._pin()), stacked(entries)
        numbers, payloads = [one.id for one in entries], [record.payload() for record in records]
        label = entries[0].label
        try:
            patiently(lambda: index.add(rows, numbers, payloads, attributes=_record.columns(records), label=label))
        except AccessError:
            # If the version has no room, the key is not denied: the owner's next change makes room.
            self._denied = self._facts()["additions"] < MOST_ADDITIONS
            raise
        self._denied = False

    def _check_right(self) -> None:
        """Refuses memories that could never be added."""
        for fresh in (False, True):
            # The owner may have granted the right since the last check.
            if fresh or not (self._home.index / "CURRENT").exists():
                self._ask()
            until = self._home.settled(self._facts)["writes_until"]
            if until is not None and until > time.time():
                return
        text = "this agent may not write" if until is None else "this agent's right to write has ended"
        raise AccessError(f"{text}: ask the memory's owner for sordino-memory grant NAME --public writer.public --write")

    def _ask(self) -> None:
        """Takes the server's version, which tells what this agent may do."""
        with self._home.alone("writing.lock"):
            self._home.trusted()
            try:
                patiently(self._replica.pull)
            except AccessError as error:
                raise AccessError(f"{error}. {_REVOKED}") from None
            except NetworkError as error:
                if isinstance(error, RefusedError) and not isinstance(error, BusyError):
                    raise type(error)(f"nothing was remembered: {self._home.told(error)}") from None
                text = "nothing was remembered: the server has to say first that this agent may write, and cannot be asked. Try again later"
                raise type(error)(f"{text} ({error})") from None


def _first(waiting: list[Waiting]) -> list[Waiting]:
    """The oldest memories that all have the label of the oldest one, at most one batch."""
    return [one for one in waiting if one.label == waiting[0].label][:_BATCH]


def _named(labels: Iterable[str | None]) -> str:
    return " and ".join("without a label" if label is None else f"under the label {label}" for label in sorted(labels, key=lambda label: label or ""))


def _grant(labels: Iterable[str | None]) -> str:
    """The owner's command that lets this agent add under these labels."""
    return " ".join(["sordino-memory grant NAME --write", *(f"--label {shlex.quote(label)}" for label in sorted(filter(None, labels)))])


def held_note(held: Sequence[Waiting]) -> str | None:
    """Says which memories wait for a grant, and what ends the wait."""
    if not held:
        return None
    labels = {one.label for one in held}
    some = ", ".join(str(one.id) for one in held[:_NAMED]) + (", ..." if len(held) > _NAMED else "")
    return (
        f"{len(held)} memories wait in this folder, since the owner did not grant this agent to add {_named(labels)}. Ask the owner for {_grant(labels)}, and "
        f"they are added; sordino-memory export writes them to a file; forget gives them up: {some}"
    )


def unfit_note(unfit: dict[int, str]) -> str | None:
    """Says which memories the index refuses, and why."""
    # Another thread may change the dict.
    unfit = dict(unfit)
    if not unfit:
        return None
    numbers = sorted(unfit)
    some = ", ".join(map(str, numbers[:_NAMED])) + (", ..." if len(numbers) > _NAMED else "")
    return (
        f"{len(numbers)} memories wait in this folder, since the index refuses them: {unfit[numbers[0]]}. sordino-memory export writes them to a file; forget "
        f"gives them up: {some}"
    )


def _refused(done: str) -> AccessError:
    return AccessError(f"this agent has a writer's key, which adds memories: they are {done} where owner.key is. Remember what is right now instead")
