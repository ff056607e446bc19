"""A memory as stored in an index: a text with tags, a time and an author, and the conditions that select memories."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ._arrays import is_unicode
from ._client import quoted
from ._errors import FormatError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# The bounds of one memory, which is a note and not a document: a model reads the results, and an embedding should express one
# thought.
MOST_TEXT = 16_384
MOST_TAGS = 32
MOST_TAG = 64
MOST_BY = 1024

# A longer record is no memory. Each byte of a memory's texts may take six bytes in JSON.
_MOST_PAYLOAD = 1 << 18

# The largest number of bytes of a label, and characters that an index refuses in a label, since people do not see them or can write them otherwise.
_MOST_LABEL = 64
_UNSEEN = re.compile(
    "[\u0300-\u036f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)

# An index ignores quotes and backslashes in a label. The first of the other letters cannot be a mark on the letter before it.
_QUOTES = dict.fromkeys(map(ord, "\\\"'"))

# The columns of truth values to which tags are hashed. A filter by tags uses these columns before memories are ranked, and the
# tags themselves afterwards.
_COLUMNS = 32


@dataclass(frozen=True)
class Record:
    """A memory without its number."""

    text: str
    tags: tuple[str, ...]
    when: int
    by: str

    @staticmethod
    def made(text: Any, tags: Any, when: Any, by: str) -> Record:
        """Makes a memory from an agent's input. Raises `InputError`, which says what to do."""
        if not isinstance(text, str) or not is_unicode(text):
            raise InputError("text: expected Unicode text")
        if not text.strip():
            raise InputError("text: empty; say what is to be remembered")
        length = len(text.encode())
        if length > MOST_TEXT:
            raise InputError(f"text: {length} bytes, at most {MOST_TEXT}; remember its parts or a summary, each with the same tag")
        if not is_unicode(by) or len(by) > MOST_BY:
            raise InputError(f"by: expected the author's name, Unicode text of at most {MOST_BY} letters")
        return Record(text, tagged(tags), instant(when, "when"), by)

    def payload(self) -> bytes:
        """The bytes to be sealed."""
        value = {"text": self.text, "tags": list(self.tags), "when": self.when, "by": self.by}
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()

    def attributes(self) -> dict[str, Any]:
        """The attributes for filters, which are also sealed."""
        return {"when": self.when, "by": self.by} | dict.fromkeys(map(_column, self.tags), True)

    def fits(self, attributes: dict[str, Any] | None) -> bool:
        """Whether a record of the index has this memory's attributes. Another program may have given it others, which filters would believe."""
        own = {name: value for name, value in (attributes or {}).items() if name in _NAMES}
        return own == self.attributes()

    @staticmethod
    def read(payload: bytes, bounded: bool = True) -> Record:
        """Reads a memory from its bytes. Raises `FormatError` for bytes of another program. If `bounded`, also raises it for a memory that this program
        would not have stored, since a writer's own program may write anything."""
        try:
            value = json.loads(payload) if len(payload) <= _MOST_PAYLOAD else {}
            text, tags, when, by = value["text"], value["tags"], value["when"], value["by"]
            if type(when) is int and isinstance(tags, list) and len(tags) <= MOST_TAGS and all(map(is_unicode, [text, by, *tags])):
                iso(when)
                # In lower case, one letter may become three letters.
                if not bounded or len(text.encode()) <= MOST_TEXT and len(by) <= MOST_BY and all(len(tag) <= 3 * MOST_TAG for tag in tags):
                    return Record(text, tuple(tags), when, by)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, OSError, RecursionError):
            pass
        raise FormatError("a record of this index is no memory: another program wrote it")


@dataclass(frozen=True)
class Where:
    """A choice of memories: those with all these tags, from `since` on, before `until`, by this author."""

    tags: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    by: str | None = None

    @staticmethod
    def made(tags: Any = None, since: Any = None, until: Any = None, by: Any = None) -> Where:
        """Makes a choice from an agent's input. Raises `InputError`."""
        if not (by is None or (isinstance(by, str) and is_unicode(by))):
            raise InputError(f"by = {by!r}: expected the name of an author")
        first, last = (None if at is None else instant(at, name) for at, name in [(since, "since"), (until, "until")])
        if first is not None and last is not None and first >= last:
            raise InputError(f"since {iso(first)}, until {iso(last)}: no instant is in between; expected a since that is earlier than until")
        return Where(tagged(tags), first, last, by)

    def __bool__(self) -> bool:
        return self != Where()

    def condition(self) -> str | None:
        """A condition on attributes that all matching memories meet, and few others."""
        tests = [f"{name} = true" for name in sorted(set(map(_column, self.tags)))]
        if self.since is not None:
            tests.append(f"when >= {self.since}")
        if self.until is not None:
            tests.append(f"when < {self.until}")
        if self.by is not None:
            tests.append(f"by = {quoted(self.by)}")
        return " and ".join(tests) or None

    def passes(self, record: Record) -> bool:
        """Whether a memory matches."""
        return (
            set(self.tags) <= set(record.tags)
            and (self.since is None or record.when >= self.since)
            and (self.until is None or record.when < self.until)
            and (self.by is None or record.by == self.by)
        )


def columns(records: Sequence[Record]) -> dict[str, list[Any]]:
    """The attributes of several memories, by column."""
    rows = [record.attributes() for record in records]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


# The names of the attributes.
_NAMES = frozenset(["when", "by", *(f"t{number}" for number in range(_COLUMNS))])


def first_attributes() -> dict[str, list[Any]]:
    """The attributes of record 0, which has a value in each column, so that filters know all columns."""
    tags: dict[str, list[Any]] = {f"t{number}": [True] for number in range(_COLUMNS)}
    return tags | {"when": [0], "by": [""], "next": [1]}


def instant(value: Any, what: str) -> int:
    """The seconds since 1970 of an ISO 8601 instant, which is in UTC if it has no time zone. None means now. Raises
    `InputError`."""
    if value is None:
        return int(datetime.now(timezone.utc).timestamp())
    expected = f"{what} = {str(value)[:40]!r}: expected a date or an instant by ISO 8601, 2026-11-28 or 2026-11-28T14:30:00Z"
    if not isinstance(value, str):
        raise InputError(expected)
    try:
        found = datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
        seconds = int((found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp())
        iso(seconds)
        return seconds
    except (ValueError, OverflowError):
        raise InputError(expected) from None


def iso(when: int) -> str:
    """An instant as a text."""
    return datetime.fromtimestamp(when, timezone.utc).isoformat().replace("+00:00", "Z")


def tagged(tags: Iterable[Any] | None) -> tuple[str, ...]:
    """Tags in lower case, each once. Raises `InputError`."""
    if isinstance(tags, str) or not (tags is None or isinstance(tags, (list, tuple))):
        raise InputError("tags: expected a list of texts")
    found: dict[str, None] = {}
    for tag in tags or ():
        if not isinstance(tag, str) or not is_unicode(tag) or not tag.strip() or len(tag) > MOST_TAG:
            raise InputError(f"tags: {str(tag)[:40]!r}, expected a text of 1 to {MOST_TAG} letters")
        # One tag can be written with an accent as a letter of its own, as file names on a Mac are.
        found[unicodedata.normalize("NFC", tag.strip().casefold())] = None
    if len(found) > MOST_TAGS:
        raise InputError(f"tags: {len(found)}, at most {MOST_TAGS}; keep those by which it is to be found")
    return tuple(found)


def label_name(label: Any) -> str | None:
    """A label, or None for none. Raises `InputError` for a name that an index refuses: what was remembered under it could never leave the journal."""
    if label is None:
        return None
    fits = isinstance(label, str) and is_unicode(label) and 1 <= len(label.encode()) <= _MOST_LABEL and label == label.strip()
    if not fits or not label.isprintable() or _UNSEEN.search(label) or _is_mark(label.translate(_QUOTES)[:1]):
        raise InputError(
            f"label = {label!r:.80}: expected 1 to {_MOST_LABEL} bytes, without control characters, invisible ones, accents apart from their letter, and spaces at the ends"
        )
    return str(label)


def _is_mark(letter: str) -> bool:
    """Whether a character is a mark on the letter before it, such as an accent."""
    return letter in ("\uff9e", "\uff9f") or unicodedata.category(letter or "x")[0] == "M"


@functools.lru_cache(4096)
def _column(tag: str) -> str:
    return f"t{hashlib.blake2b(tag.encode(), digest_size=8).digest()[0] % _COLUMNS}"
