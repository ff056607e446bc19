"""Conditions on the metadata of documents, in the form that LangChain's stores have."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from ._errors import FilterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Test = Callable[[Mapping[str, Any]], bool]

_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_TESTS = ("$eq", "$ne", *_ORDERED, "$in", "$nin")

# In the place of a value that a document does not have.
_ABSENT: Any = object()


def condition(given: Any) -> Test:
    """A test of metadata.

    A dict of names, all of which must hold: a value that is equal, or a dict of `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`, `$in`, `$nin`.
    `$and` and `$or` join a list of such dicts, `$not` turns one round. A document without the name passes `$ne` and `$nin` of it.

    Raises `FilterError` for anything else, so that nothing is compared that was meant in another way.
    """
    if not isinstance(given, dict):
        raise FilterError(f"filter: a {type(given).__name__}, expected a dict of metadata")
    tests = [_named(name, wanted) for name, wanted in given.items()]
    return lambda metadata: all(test(metadata) for test in tests)


def _named(name: Any, wanted: Any) -> Test:
    if not isinstance(name, str):
        raise FilterError(f"filter: a name that is {name!r}, expected a str")
    if name in ("$and", "$or"):
        if not isinstance(wanted, list) or not wanted:
            raise FilterError(f"filter: {name} of a {type(wanted).__name__}, expected a list of one filter or more")
        parts = [condition(part) for part in wanted]
        joined = all if name == "$and" else any
        return lambda metadata: joined(part(metadata) for part in parts)
    if name == "$not":
        inner = condition(wanted)
        return lambda metadata: not inner(metadata)
    if name.startswith("$"):
        raise FilterError(f"filter: {name}, expected a name, $and, $or or $not")
    if isinstance(wanted, (list, tuple, set, frozenset)):
        raise FilterError(f'filter {name}: a {type(wanted).__name__}, expected {{"$in": [...]}} for one of several, {{"$eq": [...]}} for a list')
    if not (isinstance(wanted, dict) and any(str(key).startswith("$") for key in wanted)):
        return _test(name, "$eq", wanted)
    tests = [_test(name, word, value) for word, value in wanted.items()]
    return lambda metadata: all(test(metadata) for test in tests)


def _test(name: str, word: Any, wanted: Any) -> Test:
    if word not in _TESTS:
        raise FilterError(f"filter {name}: {word!r}, expected one of {', '.join(_TESTS)}")
    if word in ("$in", "$nin"):
        if not isinstance(wanted, (list, tuple, set, frozenset)):
            raise FilterError(f"filter {name}: {word} of a {type(wanted).__name__}, expected a list of values")
        several = list(wanted)
        return lambda metadata: (metadata.get(name, _ABSENT) in several) is (word == "$in")
    if word in ("$eq", "$ne"):
        return lambda metadata: (metadata.get(name, _ABSENT) == wanted) is (word == "$eq")
    compare = _ORDERED[word]
    if isinstance(wanted, bool) or not isinstance(wanted, (int, float, str)):
        raise FilterError(f"filter {name}: {word} of a {type(wanted).__name__}, expected a number or a str")

    def check(metadata: Mapping[str, Any]) -> bool:
        value = metadata.get(name)
        if value is None:
            return False
        if isinstance(value, str) != isinstance(wanted, str) or not isinstance(value, (int, float, str)):
            raise FilterError(f"filter {name}: {word} of a {type(wanted).__name__}, and a document has a {type(value).__name__} there")
        return compare(value, wanted)

    return check
