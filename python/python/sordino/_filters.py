"""Conditions on the metadata of documents: in LangChain's form, and as conditions on attributes.

A framework's filter becomes a tree. `where` takes everything from it that attributes can decide. Metadata
decides the rest once documents are found, by the framework's own rules.
"""

from __future__ import annotations

import json
import operator
import re
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _payloads
from ._arrays import is_unicode
from ._client import quoted
from ._errors import FilterError
from ._packing import NONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Test = Callable[[Mapping[str, Any]], bool]
    # A tree is ("and", trees), ("or", trees), ("not", tree), or a name, a word and a value. The word is one of `_TESTS`, `EMPTY`,
    # `CHECKED`, `_DECIDED` or None. The word is None for a test that attributes never decide. The tree is None if it is unknown what the
    # filter tests.
    Tree = tuple[Any, ...] | None
    # Returns an attribute's values by record, of the records that meet a condition.
    Column = Callable[[str, str | None], Mapping[int, Any]]

_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_TESTS = ("$eq", "$ne", *_ORDERED, "$in", "$nin")

# The operators in the language of attributes.
_SIGNS = {"$eq": "=", "$ne": "!=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<=", "$in": "in", "$nin": "not in"}

# The test that a list has a member.
_CONTAINS = "$contains"

# Operators as other stores write them.
_WORDS: dict[Any, str] = {word[1:]: word for word in [*_SIGNS, _CONTAINS]} | {sign: word for word, sign in _SIGNS.items()} | {"==": "$eq"}

# Words of trees. `EMPTY` is a value that is missing, or an empty text or list. `CHECKED` is a test with a `Check`. `_DECIDED` is such a test
# as a pair: a condition that equals the whole test, or None, and a condition that every passing document meets.
EMPTY = "$empty"
CHECKED = "$checked"
_DECIDED = "$decided"

# Whole numbers below this bound stay exact as attributes, which are 64-bit floats.
_EXACT = 2**53

# The bytes of a text that an attribute stores. A longer text is stored by its beginning, so only shorter texts can be compared
# exactly.
TEXT = 4096
_COMPARED = 4000

# The largest number of filters within one another.
DEPTH = 64
TOO_DEEP = f"filter: more than {DEPTH} filters within one another: expected fewer; join conditions in one list"

# The largest number of bytes and of levels of a condition on attributes. The last number is larger than the number of levels of one test.
_BYTES = 65_536
_LEVELS = 64
_TEST_LEVELS = 6

# A list in a filter with more bytes is compared with the values that an attribute has.
_LONG = 8192

# The beginning of a date.
_YEAR = re.compile(r"\d{4}-")

# The characters before a list in an attribute. The list is JSON. `has` reads such a list. Other tests take the list for one text.
_LIST = "\t\r"

# The largest number of bytes of a condition for one test, so that several fit into the text that a search takes.
_LONGEST = 1 << 14

# The value that stands for a missing one.
_ABSENT: Any = object()


class Check(NamedTuple):
    """A test that the operators of attributes do not have. The client makes it on the attribute's values, and then has a condition."""

    #: Returns True for a value of metadata that passes, and for None if documents without a value pass.
    passes: Callable[[Any], bool]
    #: Returns conditions that may be equal to the test, for the values that pass.
    conditions: Callable[[Iterable[Any]], list[str]]
    #: The value that documents' values are compared with, if both must be of one type.
    value: Any = None


def kind(value: Any) -> type | None:
    """Return the type of the attribute for a value of metadata: float, str, or None if there is none. Lists are texts."""
    if isinstance(value, (str, list)):
        return str
    return float if isinstance(value, (bool, int, float)) else None


def attribute(value: Any, kind: type) -> float | str | None:
    """Return a value of metadata as an attribute of this type; None if it has another type."""
    if kind is str:
        if isinstance(value, list):
            value = _LIST + json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if not isinstance(value, str):
            return None
        return value.encode()[:TEXT].decode(errors="ignore")
    if not isinstance(value, (bool, int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return 1.7e308 if value > 0 else -1.7e308


def decided(tree: Tree, kinds: Mapping[str, type], column: Column) -> Tree:
    """Return the tree with conditions for the checks that attributes decide."""
    if tree is None:
        return None
    if len(tree) == 2:
        return (tree[0], decided(tree[1], kinds, column) if tree[0] == "not" else [decided(part, kinds, column) for part in tree[1]])
    name, word, check = tree
    if kinds.get(name) is not str:
        return tree
    if word in _SIGNS and (_differs(check, word) or (_equals_texts(word, check) and column(name, f"`{name}` like '[%'"))):
        check = _check(name, word, check)
    elif word != CHECKED:
        return tree
    values = {id: value for id, value in column(name, None).items() if id != NONE}
    truths = {value: _truth(check, value) for value in set(values.values())}
    try:
        rest = f"or `{name}` is null" if check.passes(None) else f"and `{name}` is not null"
    except FilterError:
        # The test of the found documents raises this error again.
        return (name, None, check)
    sure, passing = [[value for value, truth in truths.items() if truth in some] for some in ((True,), (True, None))]
    failing = [value for value, truth in truths.items() if truth is False]
    wanted = {id for id, value in values.items() if truths[value] is not False}
    best: tuple[int, str] | None = None
    for text in [*check.conditions(sure), _among(name, passing), f"not {_among(name, failing)}"]:
        if len(text.encode(errors="replace")) > _LONGEST:
            continue
        # A condition may let more or fewer records pass than the test does, so it is tried on the records.
        found = set(column(name, f"({text}) and `{name}` is not null")) - {NONE}
        if found >= wanted and (best is None or len(found) < best[0]):
            best = len(found), f"(({text}) {rest})"
        if found == wanted:
            break
    if best is None:
        return (name, None, check)
    return (name, _DECIDED, (best[1] if best[0] == len(wanted) and len(sure) == len(passing) else None, best[1]))


def _differs(value: Any, word: str) -> bool:
    """Return True if attributes and metadata compare a value in different ways. This holds for lists, and for texts that may be dates: attributes
    compare these as times."""
    values = value if word in ("$in", "$nin") else [value]
    if not isinstance(values, list) or not all(isinstance(one, (str, list)) for one in values):
        return False
    return any(isinstance(one, list) or _YEAR.match(one) for one in values)


def _equals_texts(word: str, value: Any) -> bool:
    """Return True for a test of equality with texts. Attributes take a text that begins like a list for a list of texts."""
    values = value if word in ("$in", "$nin") else [value]
    return word in _SIGNS and word not in _ORDERED and isinstance(values, list) and bool(values) and all(isinstance(one, str) for one in values)


def check_members(tree: Tree, lists: Callable[[str], bool], way: str) -> None:
    """Refuse to compare a text with a name of which `lists` says that documents have lists alone, for no list is equal to a text.

    Raises
    ------
    FilterError
        The message has the `way` to ask for a member.
    """
    if tree is None:
        return
    if len(tree) == 2:
        for part in [tree[1]] if tree[0] == "not" else tree[1]:
            check_members(part, lists, way)
        return
    name, word, value = tree
    if word in ("$eq", "$in") and _equals_texts(word, value) and lists(name):
        one = value if isinstance(value, str) else value[0]
        raise FilterError(f"filter {name}: {repr(one)[:60]} is a str, and documents have lists there, which no text is equal to: {way} is for a member of a list")


def only_lists(name: str, column: Column) -> bool:
    """Return True if all values of an attribute are lists."""
    lists = column(name, f"`{name}` like '{_LIST}[%'")
    return bool(lists) and len(lists) == len(set(column(name, None)) - {NONE})


def _check(name: str, word: str, value: Any) -> Check:
    """Return the check of one of `_TESTS`."""
    test = _test(name, word, value)
    texts = isinstance(value, str) or (word in ("$in", "$nin") and all(isinstance(one, str) for one in value))
    return Check(lambda found: test({} if found is None else {name: found}), lambda _: [compared(name, word, value)] if texts else [])


def _truth(check: Check, value: str) -> bool | None:
    """Return whether an attribute's value passes.

    None if the attribute has only the beginning of the value, or the test refuses it, as it does once the document is found.
    """
    if len(value.encode()) > TEXT - 4:
        return None
    held: Any = value
    if value.startswith(f"{_LIST}["):
        try:
            held = json.loads(value)
        except (ValueError, RecursionError):
            # A text that begins as a list does.
            held = value
    try:
        return check.passes(held)
    except FilterError:
        return None


def _among(name: str, values: list[str]) -> str:
    """Return the condition that a value is one of these texts."""
    # `in` takes every spelling of a time for the same, and `like` does not.
    dated, others = ([quoted(_plain(value) if dated else value) for value in values if bool(_YEAR.match(value)) is dated] for dated in (True, False))
    parts = [f"`{name}` like {text}" for text in dated] + ([f"`{name}` in ({', '.join(others)})"] if others else [])
    return f"({' or '.join(parts)})" if parts else f"(`{name}` is null and `{name}` is not null)"


def holding(name: str, parts: Iterable[Any], joint: str) -> list[str]:
    """Return conditions that a text has these parts, and that a list has these members, joined by "and" or "or"."""
    parts = list(parts)
    if not parts or not all(_is_literal(part) for part in parts):
        return []
    found = [f" {joint} ".join(f"`{name}` has {quoted(part)}" for part in parts)]
    if all(isinstance(part, str) for part in parts):
        patterns = [quoted(f"%{_plain(part)}%") for part in parts]
        found.append(f" {joint} ".join(f"`{name}` like {pattern}" for pattern in patterns))
    return found


def _plain(text: str) -> str:
    """Return a pattern of `like` that this text alone fits."""
    return re.sub(r"([%_\\])", r"\\\1", text)


def _is_literal(value: Any) -> bool:
    """Return True for a value that a condition can have."""
    if isinstance(value, str):
        return is_unicode(value)
    return isinstance(value, (int, float)) and abs(value) < _EXACT


def where(tree: Tree, kinds: Mapping[str, type], levels: int = _LEVELS) -> tuple[str | None, bool]:
    """Return a condition on attributes that every passing document meets, and True if it is the whole filter.

    The condition leaves out tests for which it has no room, in bytes or levels.
    """
    if tree is None:
        return None, False
    if len(tree) == 2 and tree[0] in ("and", "or"):
        parts = [where(part, kinds, _inside(tree, levels)) for part in tree[1]]
        texts = [text for text, _ in parts if text is not None]
        if not texts or (tree[0] == "or" and len(texts) < len(parts)):
            return None, not parts
        held = _fitting(tree[0], texts)
        return _joined(tree[0], held), len(held) == len(parts) and all(whole for _, whole in parts)
    text = _whole(tree, kinds, levels)
    return (_needed(tree, kinds, levels), False) if text is None else (text, True)


def _inside(tree: tuple[Any, ...], levels: int) -> int:
    """Return the levels that are left for the parts of "and" and "or". A single part has no parentheses around it."""
    return levels if len(tree[1]) == 1 else levels - 1


def _joined(word: str, texts: list[str]) -> str | None:
    return f"({f' {word} '.join(texts)})" if len(texts) > 1 else texts[0] if texts else None


def _fitting(word: str, texts: list[str]) -> list[str]:
    """Return the conditions for which there is room, the shortest first if not for all. With "or" it is all or none."""
    room = _BYTES
    held = []
    for text in sorted(texts, key=len) if _size(texts) > room else texts:
        room -= _size([text])
        if room >= 0:
            held.append(text)
    return held if word == "and" or len(held) == len(texts) else []


def _bounded(text: str) -> str | None:
    """Return a condition, or None if there is no room for it."""
    return text if _size([text]) <= _BYTES else None


def _size(texts: list[str]) -> int:
    """Return the bytes of joined conditions, or somewhat more."""
    return sum(len(text.encode(errors="replace")) + len("( and )") for text in texts)


def narrowed(tree: Tree, kinds: Mapping[str, type], column: Callable[[str], Mapping[Any, Any]]) -> Tree:
    """Return a tree that the same documents pass, whose long lists have only values of the `column` of an attribute."""
    if tree is None:
        return None
    if len(tree) == 2 and tree[0] in ("and", "or"):
        return (tree[0], [narrowed(part, kinds, column) for part in tree[1]])
    if len(tree) == 2:
        return ("not", narrowed(tree[1], kinds, column))
    name, word, values = tree
    if word not in ("$in", "$nin") or name not in kinds or not isinstance(values, list) or _size([str(one) for one in values]) <= _LONG:
        return tree
    held = set(column(name).values())
    # A value that attributes cannot compare stays, and so does one in an empty list, which has no form.
    rest = [one for one in values if not _compared(one, kinds[name]) or one in held]
    return (name, word, rest or values[:1])


def _whole(tree: Tree, kinds: Mapping[str, type], levels: int = _LEVELS) -> str | None:
    """Return a condition that exactly the passing documents meet; None where attributes cannot decide, or there is no room."""
    if tree is None:
        return None
    if len(tree) == 2 and tree[0] in ("and", "or"):
        texts = [_whole(part, kinds, _inside(tree, levels)) for part in tree[1]]
        held = _fitting(tree[0], [text for text in texts if text is not None])
        return _joined(tree[0], held) if len(held) == len(texts) else None
    if len(tree) == 2:
        inner = _whole(tree[1], kinds, levels - 1)
        return None if inner is None else _bounded(f"not {inner}")
    if levels < _TEST_LEVELS:
        return None
    name, word, value = tree
    if word == _DECIDED:
        whole: str | None = value[0]
        return whole
    if word not in _SIGNS:
        return None
    values = value if word in ("$in", "$nin") else [value]
    if not isinstance(values, list) or not values or not all(_compared(one, kinds.get(name)) for one in values):
        return None
    # A test of a missing value is unknown, and `not` keeps it unknown.
    rest = f"or `{name}` is null" if word in ("$ne", "$nin") else f"and `{name}` is not null"
    return _bounded(f"({compared(name, word, value)} {rest})")


def compared(name: str, word: str, value: Any) -> str:
    """Return the condition of one of `_TESTS`, with numbers, bools or texts."""
    values = value if word in ("$in", "$nin") else [value]
    held = ", ".join(quoted(float(one) if isinstance(one, bool) else one) for one in values)
    return f"`{name}` {_SIGNS[word]} {f'({held})' if word in ('$in', '$nin') else held}"


def _needed(tree: Tree, kinds: Mapping[str, type], levels: int = _LEVELS) -> str | None:
    """Return a condition for one test; None if there is none. Documents that pass the test meet it, and others may too.

    A document whose value is None, or not of the attribute's type, has no value of the attribute.
    """
    if tree is None or len(tree) == 2 or tree[0] not in kinds or levels < _TEST_LEVELS:
        return None
    name, word, value = tree
    kind = kinds[name]
    if word == _DECIDED:
        needed: str = value[1]
        return needed
    if word == EMPTY:
        empty = f"`{name}` in ('', {quoted(f'{_LIST}[]')})"
        return f"(`{name}` is null or {empty})" if kind is str else f"`{name}` is null"
    values = value if word == "$in" else [value]
    if word not in ("$eq", "$in") or not isinstance(values, list):
        return None
    rest = [one for one in values if attribute(one, kind) is not None]
    if not values or len(rest) == len(values):
        return None
    # What is left has the attribute's type.
    text = _whole((name, "$in", rest), kinds) if rest else None
    if rest and text is None:
        return None
    return _bounded(f"({text} or `{name}` is null)") if text else f"`{name}` is null"


def check_kinds(tree: Tree, kinds: Mapping[str, type]) -> None:
    """Refuse a test whose value is not of the attribute's type, because no value of the attribute is equal to it.

    Raises
    ------
    FilterError
        The message has both types.
    """
    if tree is None:
        return
    if len(tree) == 2 and tree[0] in ("and", "or"):
        for part in tree[1]:
            check_kinds(part, kinds)
        return
    if len(tree) == 2:
        check_kinds(tree[1], kinds)
        return
    name, word, value = tree
    expected = kinds.get(name)
    if word == CHECKED:
        value = value.value
    if expected is None or not (word in _SIGNS or (word == CHECKED and value is not None)):
        return
    values = value if isinstance(value, list) and word in ("$in", "$nin", CHECKED) else [value]
    found = {kind(one) for one in values}
    if found and None not in found and expected not in found:
        one = values[0]
        holds = "texts: give a str" if expected is str else "numbers: give a number"
        raise FilterError(
            f"filter {name}: {repr(one)[:60]} is a {type(one).__name__}, and the attribute {name} holds {holds}; store values of another type under "
            "another name"
        )


def missing(name: str) -> Tree:
    """Return the tree of documents without a value of an attribute."""
    text = f"`{name}` is null"
    return (name, _DECIDED, (text, text))


def undeclared(tree: Tree, kinds: Mapping[str, type]) -> list[str]:
    """Return the names, each once, that would decide more of the filter if they were attributes."""
    if tree is None:
        return []
    if len(tree) == 2 and tree[0] in ("and", "or"):
        return list(dict.fromkeys(name for part in tree[1] for name in undeclared(part, kinds)))
    if len(tree) == 2:
        return undeclared(tree[1], kinds)
    name, word, value = tree
    if name in kinds or not (word in _SIGNS or word in (EMPTY, CHECKED)):
        return []
    values = value if isinstance(value, list) and word in ("$in", "$nin") else [value]
    return [name] if word == CHECKED or all(one is None or kind(one) for one in values) else []


def _compared(value: Any, kind: type | None) -> bool:
    """Return True if attributes of this type compare with the value as metadata does."""
    if kind is str:
        return isinstance(value, str) and len(value.encode(errors="replace")) <= _COMPARED
    return kind is float and isinstance(value, (bool, int, float)) and abs(value) < _EXACT


def tree(given: Any) -> Tree:
    """Return the tree of a filter in LangChain's form that `condition` has accepted."""
    return ("and", [_tree(name, wanted) for name, wanted in given.items()])


def _tree(name: str, wanted: Any) -> Tree:
    if name in ("$and", "$or"):
        return (name[1:], [tree(part) for part in wanted])
    if name == "$not":
        return ("not", tree(wanted))
    if not _has_words(wanted):
        return (name, "$eq", _value(wanted))
    return ("and", [_leaf(name, word, value) for word, value in wanted.items()])


def _leaf(name: str, word: str, wanted: Any) -> Tree:
    value = _value(wanted)
    if word == _CONTAINS:
        member = _test(name, word, wanted)
        return (name, CHECKED, Check(lambda found: member({name: found}), lambda _: holding(name, [value], "or")))
    if word not in _ORDERED or not isinstance(wanted, date):
        return (name, word, value)
    test = _dated(name, word, wanted)
    return (name, CHECKED, Check(lambda found: test({name: found}), lambda _: [compared(name, word, value)], value))


def condition(given: Any, depth: int = 0) -> Test:
    """Return a test of metadata.

    Parameters
    ----------
    given : dict
        Names that must all hold: each with an equal value, or with a dict of `$eq`, `$ne`, `$gt`, `$gte`, `$lt`,
        `$lte`, `$in`, `$nin` or `$contains`. `$contains` tests for a member of a list. `$and` and `$or` join a list of
        such dicts, and `$not` negates one. A document without the name passes `$ne` and `$nin`.
    depth : int, default 0
        The number of filters that this one is inside.

    Returns
    -------
    callable
        The test.

    Raises
    ------
    FilterError
        If the filter has any other form, so that no comparison differs from what was meant.
    """
    if not isinstance(given, dict):
        raise FilterError(f"filter: a {type(given).__name__}, expected a dict of metadata")
    if depth > DEPTH:
        raise FilterError(TOO_DEEP)
    tests = [_named(name, wanted, depth) for name, wanted in given.items()]
    return lambda metadata: all(test(metadata) for test in tests)


def _named(name: Any, wanted: Any, depth: int) -> Test:
    if not isinstance(name, str):
        raise FilterError(f"filter: a name that is {name!r}, expected a str")
    if name in ("$and", "$or"):
        if not isinstance(wanted, list) or not wanted:
            raise FilterError(f"filter: {name} of a {type(wanted).__name__}, expected a list of one filter or more")
        parts = [condition(part, depth + 1) for part in wanted]
        joined: Callable[[Iterable[bool]], bool] = all if name == "$and" else any
        return lambda metadata: joined(part(metadata) for part in parts)
    if name == "$not":
        inner = condition(wanted, depth + 1)
        return lambda metadata: not inner(metadata)
    if name.startswith("$"):
        raise FilterError(f"filter: {name}, expected a name, $and, $or or $not")
    if isinstance(wanted, (list, tuple, set, frozenset)):
        raise FilterError(f'filter {name}: a {type(wanted).__name__}, expected {{"$in": [...]}} for one of several, {{"$eq": [...]}} for a list')
    if not _has_words(wanted):
        if isinstance(wanted, dict) and not wanted:
            raise FilterError(f'filter {name}: an empty dict, expected an operator, as in {{"$gte": ...}}, or a value; {{"$eq": {{}}}} is for an empty dict')
        if isinstance(wanted, dict) and all(key in _WORDS for key in wanted):
            asked = ", ".join(f'"{_WORDS[key]}": ...' for key in wanted)
            raise FilterError(f'filter {name}: a dict with {", ".join(map(repr, wanted))}, expected {{{asked}}}; {{"$eq": {{...}}}} is for a dict')
        return _test(name, "$eq", wanted)
    tests = [_test(name, word, value) for word, value in wanted.items()]
    return lambda metadata: all(test(metadata) for test in tests)


def _has_words(wanted: Any) -> bool:
    return isinstance(wanted, dict) and any(str(key).startswith("$") for key in wanted)


def _value(wanted: Any) -> Any:
    """Return a value as it is stored."""
    try:
        return _payloads.plain(list(wanted) if isinstance(wanted, (set, frozenset)) else wanted)
    except (TypeError, ValueError, OverflowError) as error:
        raise FilterError(f"filter: a value {error}") from None


def _test(name: str, word: Any, wanted: Any) -> Test:
    if word not in (*_TESTS, _CONTAINS):
        raise FilterError(f"filter {name}: {word!r}, expected one of {', '.join(_TESTS)}, {_CONTAINS}")
    if word == _CONTAINS:
        return _containing(name, _value(wanted))
    if word in ("$in", "$nin"):
        if not isinstance(wanted, (list, tuple, set, frozenset)):
            raise FilterError(f"filter {name}: {word} of a {type(wanted).__name__}, expected a list of values")
        several = _value(wanted)
        return lambda metadata: (metadata.get(name, _ABSENT) in several) is (word == "$in")
    stored = _value(wanted)
    if word in ("$eq", "$ne"):
        return lambda metadata: (metadata.get(name, _ABSENT) == stored) is (word == "$eq")
    compare = _ORDERED[word]
    if isinstance(wanted, date):
        return _dated(name, word, wanted)
    if isinstance(stored, bool) or not isinstance(stored, (int, float, str)):
        raise FilterError(f"filter {name}: {word} of a {type(wanted).__name__}, expected a number, a str or a date")

    def check(metadata: Mapping[str, Any]) -> bool:
        value = metadata.get(name)
        if value is None:
            return False
        if isinstance(value, str) != isinstance(stored, str) or not isinstance(value, (int, float, str)):
            raise FilterError(f"filter {name}: {word} of a {type(wanted).__name__}, and a document has a {type(value).__name__} there")
        return compare(value, stored)

    return check


def _containing(name: str, member: Any) -> Test:
    """Return a test that a list has a member."""

    def check(metadata: Mapping[str, Any]) -> bool:
        held = metadata.get(name)
        if not (held is None or isinstance(held, list)):
            raise FilterError(f"filter {name}: {_CONTAINS} is for lists, and a document has a {type(held).__name__} there")
        return held is not None and member in held

    return check


def _dated(name: str, word: str, wanted: date) -> Test:
    """Return a test of a date or an instant, which is stored as a text in ISO 8601."""
    compare, instant = _ORDERED[word], _instant(wanted.isoformat())

    def check(metadata: Mapping[str, Any]) -> bool:
        value = metadata.get(name)
        if value is None:
            return False
        try:
            return compare(_instant(value), instant)
        except (TypeError, ValueError):
            raise FilterError(f"filter {name}: {word} of {wanted.isoformat()}, and a document has {value!r} there, which is no such date") from None

    return check


def _instant(text: str) -> datetime:
    """Return an instant of ISO 8601, to the microsecond."""
    return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text).replace("Z", "+00:00"))
