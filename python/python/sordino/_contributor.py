"""Memories that an agent adds with its own writer's key. It cannot change or forget memories, and does not need the owner's
key."""

from __future__ import annotations

import itertools
import secrets
import time
from typing import TYPE_CHECKING, Any

from . import _record
from ._errors import AccessError, GapError, IntegrityError, LockedError, NetworkError, RollbackError
from ._home import DRAWN
from ._index import open as open_index
from ._journal import Journal, Waiting
from ._replica import Replica
from ._writer import patiently

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from ._home import Home
    from ._record import Record

# Random numbers are below this bound, since programs that read JSON support whole numbers of 53 bits.
_MOST = 1 << 52

# The memories in one addition, and the tries while other agents add first.
_BATCH = 1024
_TRIES = 8

# The most additions between two changes by the owner.
MOST_ADDITIONS = 64


class Contributor:
    """Adds memories, one batch at a time in all processes of this machine, to a server's index or to a folder that agents share."""

    #: True, since the server has everything that is flushed.
    shared = True

    def __init__(self, home: Home) -> None:
        self._home = home
        self._key = home.writer_key()
        self._journal = Journal(home.folder, home.settings.label)
        self._replica = Replica(home, self._key)
        # The line that names the folder's version, and the time until which that version lets this key add.
        self._right: tuple[bytes, int | None] = (b"", None)
        # True if the server refused the last addition because of its content or label.
        self._denied = False

    def remember(self, records: Sequence[Record], vectors: np.ndarray) -> list[int]:
        """Puts memories into the journal, on disk, and returns their numbers. Raises `AccessError` if the owner does not let this
        key add."""
        self._check_right()
        if self._denied:
            self.flush()
        with self._home.alone("journal.lock"):
            taken = {one.id for one in self._journal.read()}
            numbers: dict[int, None] = {}
            while len(numbers) < len(records):
                number = DRAWN + secrets.randbelow(_MOST - DRAWN)
                if number not in taken:
                    numbers[number] = None
            self._journal.append([Waiting(*one, self._home.settings.label) for one in zip(numbers, records, vectors)])
            return list(numbers)

    def check(self) -> None:
        """Raises `RollbackError` if the folder that agents share has an older version than this agent has read. Nothing is added to it
        then."""
        pin = self._home.folder / "pin"
        if self._home.settings.server is not None or not pin.exists():
            return
        known, there = int.from_bytes(pin.read_bytes()[16:24], "little"), self.version()
        if there < known:
            raise RollbackError(
                f"{self._home.index} has version {there}, and this agent has read version {known}: an older one was put there. Tell the memory's owner"
            )

    def waiting(self) -> list[Waiting]:
        """The memories of the journal that are not in the index yet."""
        return self._journal.read()

    def flush(self) -> int:
        """Adds the waiting memories to the index, and sends it to the server, if there is one. Returns the newest version."""
        tries = 0
        with self._home.alone("writing.lock"):
            while tries < _TRIES:
                self.check()
                self._home.trusted()
                try:
                    self._replica.pull()
                except GapError:
                    raise
                except IntegrityError as error:
                    self._home.distrust(error)
                    raise
                except AccessError:
                    # The owner has revoked this key, so later memories are refused before they are stored.
                    self._denied = True
                    raise
                client = self._replica.newest()
                waiting = self._journal.read()[:_BATCH]
                if not waiting:
                    return int(client.stats()["version"])
                # An addition has one label.
                waiting = _first(waiting)
                payloads = client.payloads([one.id for one in waiting])
                # An earlier try, here or in another process, may have added some of them without getting the answer.
                absent = [one for one, payload in zip(waiting, payloads) if payload is None]
                if absent:
                    self._add(absent)
                if self._replica.push():
                    with self._home.alone("journal.lock"):
                        self._journal.drop(len(waiting))
                else:
                    # Another agent was first: the next try starts from its version.
                    tries += 1
        raise LockedError("other agents add to this memory all the time: what waits is kept, and tried again")

    def replace(self, number: int, record: Record, vector: np.ndarray) -> None:
        """Refused: only the owner changes memories."""
        raise _refused("changed")

    def delete(self, numbers: Sequence[int]) -> list[int]:
        """Refused: only the owner forgets memories."""
        raise _refused("forgotten")

    def compact(self) -> bool:
        """Does nothing: the owner's processes compact the index."""
        return False

    def due(self, idle: bool) -> bool:
        """False: the owner's processes compact the index."""
        return False

    def follow(self) -> None:
        """Does nothing: this agent reads the index to which others write."""

    def take_in(self) -> bool:
        """Does nothing: the owner's processes do this."""
        return False

    def forgotten(self) -> int:
        """0: only the owner's processes know how many memories are deleted but still stored."""
        return 0

    def version(self) -> int:
        """The newest version of the index."""
        return int(self._facts()["version"])

    def close(self) -> None:
        """Releases the index."""
        self._replica.close()

    def _facts(self) -> dict[str, Any]:
        return open_index(self._home.index, key=self._key).info()

    def _add(self, entries: Sequence[Waiting]) -> None:
        import numpy as np

        records = [one.record for one in entries]
        index, rows = open_index(self._home.index, key=self._key), np.stack([one.vector for one in entries])
        numbers, payloads = [one.id for one in entries], [record.payload() for record in records]
        label = entries[0].label
        try:
            patiently(lambda: index.add(rows, numbers, payloads, attributes=_record.columns(records), label=label))
        except AccessError:
            # Otherwise the owner's next change makes room.
            self._denied = self._facts()["additions"] < MOST_ADDITIONS
            raise
        self._denied = False

    def _check_right(self) -> None:
        """Refuses memories that could never be added."""
        for fresh in (False, True):
            current = self._home.index / "CURRENT"
            # The owner may have granted the right since the last check.
            if fresh or not current.exists():
                self._ask()
            line = current.read_bytes()
            if self._right[0] != line:
                self._right = (line, self._facts()["writes_until"])
            until = self._right[1]
            if until is not None and until > time.time():
                return
        text = "this agent may not write" if until is None else "this agent's right to write has ended"
        raise AccessError(f"{text}: ask the memory's owner for sordino-memory grant NAME --public writer.public --write")

    def _ask(self) -> None:
        """Takes the server's version, which tells what this agent may do."""
        with self._home.alone("writing.lock"):
            self._home.trusted()
            try:
                self._replica.pull()
            except NetworkError as error:
                text = "nothing was remembered: the server has to say first that this agent may write, and cannot be asked. Try again later"
                raise type(error)(f"{text} ({error})") from None


def _first(waiting: list[Waiting]) -> list[Waiting]:
    """The first memories that have one label."""
    return list(next(iter(itertools.groupby(waiting, lambda one: one.label)))[1])


def _refused(done: str) -> AccessError:
    return AccessError(f"this agent has a writer's key, which adds memories: they are {done} where owner.key is. Remember what is right now instead")
