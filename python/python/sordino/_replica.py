"""A local copy of an index that a server also has and others add to. It is updated from the server and sent to it."""

from __future__ import annotations

import contextlib
import json
import random
import time
from typing import TYPE_CHECKING, Any

from ._client import Client
from ._errors import ForkError, GapError, LockedError, NetworkError, NoIndexError, OtherIndexError, OvertakenError, RollbackError
from ._home import PULLED, heard
from ._index import door, pulled
from ._sordino import OwnerKey

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._home import Home
    from ._sordino import WriterKey

# The numbers of entries of the journal that a version here has, and that version, in the form of `Client.pin`. The journal keeps them until the
# server has the version too.
_WRITTEN = "written.json"

# Words of a server that receives two changes at once, and of a server that has just received another change.
_AT_ONCE = "another change may have begun meanwhile"
_OVERTAKEN = ("it pushes what another writer added", "another change has begun at the server")

# The number of tries to send a version while others send theirs.
_TRIES = 16


class Replica:
    """The folder, and the newest version that its server is known to have had."""

    def __init__(self, home: Home, key: OwnerKey | WriterKey) -> None:
        self._home = home
        self._key = key
        self._client: Client | None = None
        # The noted entries and the folder's line for its version, and whether that version has them.
        self._lasting: tuple[Any, bool] = (None, False)

    def newest(self) -> Client:
        """A client of the folder's newest version."""
        if self._client is None:
            try:
                self._client = Client(self._home.index, key=self._key)
            except NoIndexError:
                raise self._home.gone() from None
        else:
            self._client.refresh()
        return self._client

    @property
    def shared(self) -> bool:
        """Whether others add to the server's index, by this folder or by the known version of the server. If so, a change is complete only
        when the server has it, and an owner's change is made again if another change came first."""
        if self._home.settings.server is None:
            return False
        return (self._home.folder / PULLED).exists() or int(self._home.opened(self._key).info()["writers"]) > 0

    def pull(self) -> None:
        """Takes the server's version. If others add to the index, the folder loses a change that the server did not take."""
        server, path = self._home.settings.server, self._home.folder / PULLED
        if server is None:
            return
        known = self._home.pinned(PULLED)
        # An owner's key has a memory of its own.
        seen = None if isinstance(self._key, OwnerKey) else self._home.pinned()
        try:
            with heard():
                pulled(self._home.index, self._key, door(server, **self._home.connection()), known, seen)
        except GapError as error:
            if isinstance(self._key, OwnerKey):
                kept = f"{self._home.index} may have memories that the server lacks: keep a copy of it, and compare both versions with sordino index info"
                raise GapError(f"{error}. {kept}") from None
            raise GapError(
                f"{error}. Compare the version with the memory's owner; then remove {self._home.index} and {path}, and it is downloaded again"
            ) from None
        with contextlib.suppress(ForkError, RollbackError):
            self._note()
            return
        # The client knows a version that the folder lost.
        self.close()
        self._note()

    def push(self) -> bool:
        """Sends the newest version. Returns False if the server has another version, from which this one does not follow."""
        server = self._home.settings.server
        if server is None:
            return True
        for _ in range(_TRIES):
            with heard():
                sent = self._offered(server)
            if sent is not None:
                return sent
            time.sleep(random.uniform(0.02, 0.2))
        raise LockedError(f"the server refused this {_TRIES} times, each time as if others sent memories at this moment: try again")

    def _offered(self, server: str) -> bool | None:
        """Sends the newest version once. None if another push began while the server received this one."""
        if self._home.interrupted():
            # The next pull completes the one that was interrupted.
            return False
        try:
            self._home.opened(self._key).push(server, roots=self._home.settings.roots, wait=5.0)
        except (ForkError, RollbackError, OvertakenError):
            return False
        except NetworkError as error:
            # Another push ended just before. The server then has another version.
            if any(words in str(error) for words in _OVERTAKEN):
                return False
            if _AT_ONCE not in str(error):
                raise
            return None
        self._note()
        return True

    def wrote(self, numbers: Iterable[int]) -> None:
        """Notes that the newest version has these entries of the journal."""
        facts = self._home.opened(self._key).info()
        pin = facts["index"] + int(facts["version"]).to_bytes(8, "little").hex() + facts["manifest"]
        self._home.write(_WRITTEN, json.dumps({"pin": pin, "numbers": sorted(numbers)}).encode())

    def written(self) -> set[int]:
        """The numbers of the entries in the last note, or none if the note was removed."""
        found = self._home.read(_WRITTEN)
        return set(found["numbers"]) if found else set()

    def lasted(self) -> set[int]:
        """The noted entries, if the folder's version follows from the version that has them. They were added, even if they were changed or forgotten
        since. Empty if the folder lost that version."""
        found = self._home.read(_WRITTEN)
        if not found:
            return set()
        seen = (found, self._home.line())
        if self._lasting[0] != seen:
            try:
                Client(self._home.index, key=self._key, pin=bytes.fromhex(found["pin"])).close()
                self._lasting = (seen, True)
            except (ForkError, RollbackError, OtherIndexError, GapError):
                self._lasting = (seen, False)
        return set(found["numbers"]) if self._lasting[1] else set()

    def settled(self) -> None:
        """Removes the note: the journal has none of these entries, or they wait again."""
        with contextlib.suppress(FileNotFoundError):
            (self._home.folder / _WRITTEN).unlink()

    def close(self) -> None:
        """Releases the index."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _note(self) -> None:
        """If others may add to the index, notes that the server has the folder's version. Otherwise the owner's changes wait here for the
        server, and the folder must lose none of them."""
        pin = self.newest().pin()
        path = self._home.folder / PULLED
        if not isinstance(self._key, OwnerKey):
            # What is read here from now on must not be older.
            self._home.keep_pin(pin)
        if isinstance(self._key, OwnerKey) and not self._home.opened(self._key).info()["writers"]:
            path.unlink(missing_ok=True)
        elif not path.exists() or path.read_bytes() != pin:
            self._home.write(PULLED, pin)
