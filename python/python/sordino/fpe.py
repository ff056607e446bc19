"""Format-preserving encryption: a ciphertext has the same form as its plaintext.

FF1 of NIST SP 800-38G encrypts texts of an alphabet, integers of a range, and fields with a format, such as
card numbers and dates. A list is encrypted in one call::

    from sordino import fpe

    cards = fpe.Format("pan", key)
    hidden = cards.encrypt("4111 1111 1111 1111", tweak=b"shop 7")

The content of a key file is a key, too. With `command_tweak`, the ciphertexts equal the command's (`sordino fpe`)::

    cards = fpe.Format("pan", Path("cards.key").read_bytes())
    hidden = cards.encrypt("4111 1111 1111 1111", tweak=fpe.command_tweak("shop-7"))

Nothing here authenticates values. A domain of a million values is small under any cipher. An attacker who can
have values encrypted can make a table of all of them. Error messages contain no value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from . import _arrays, _sordino
from ._errors import InputError
from ._tables import check_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["FF1", "DIGITS", "FF1Range", "Format", "LOWER_ALPHANUMERIC", "command_tweak"]

#: The ten digits.
DIGITS = "0123456789"
#: Digits, then lower-case letters.
LOWER_ALPHANUMERIC = "0123456789abcdefghijklmnopqrstuvwxyz"

# The beginning of a key file of the command; the key follows in hexadecimal.
_KEY_FILE = b"sordino-fpe-key-1:"

# The bytes of an AES key.
_KEY_SIZES = (16, 24, 32)


# For type checkers a str is also a sequence of str, so the overloads overlap. The overload for one text comes
# first.


class FF1:
    """FF1 over texts of an alphabet.

    Parameters
    ----------
    key : bytes
        An AES key of 16, 24 or 32 bytes, for this purpose alone; or the content of a key file of `sordino fpe keygen`.
    alphabet : str
        2 to 65536 different characters, in the order of their values.
    allow_small_domain : bool, default False
        Accept texts with only 100 to 999,999 possible values, to read old data. From some thousands of such
        ciphertexts an attacker can find the texts.

    Raises
    ------
    InputError
        If an argument cannot be used.
    """

    def __init__(self, key: bytes, alphabet: str = DIGITS, *, allow_small_domain: bool = False) -> None:
        self._native = _sordino.Ff1(_aes_key(key), _text(alphabet, "alphabet"), _flag(allow_small_domain, "allow_small_domain"))

    @property
    def min_len(self) -> int:
        """The smallest number of characters of a text."""
        return self._native.min_len

    @overload
    def encrypt(self, text: str, tweak: bytes = b"") -> str: ...  # type: ignore[overload-overlap]
    @overload
    def encrypt(self, text: Sequence[str], tweak: bytes | Sequence[bytes] = b"") -> list[str]: ...
    def encrypt(self, text: str | Sequence[str], tweak: bytes | Sequence[bytes] = b"") -> str | list[str]:
        """Encrypt a text, or a list of texts.

        Parameters
        ----------
        text : str or sequence of str
            The texts.
        tweak : bytes or sequence of bytes, optional
            The tweak for all texts, or one for each. It is public.

        Returns
        -------
        str or list of str
            The ciphertexts.

        Raises
        ------
        InputError
            If a text is too short or has other characters. The message has its number.
            A data frame is refused too: give one of its columns.
        """
        return _texts(self._native.texts, text, tweak, True)

    @overload
    def decrypt(self, text: str, tweak: bytes = b"") -> str: ...  # type: ignore[overload-overlap]
    @overload
    def decrypt(self, text: Sequence[str], tweak: bytes | Sequence[bytes] = b"") -> list[str]: ...
    def decrypt(self, text: str | Sequence[str], tweak: bytes | Sequence[bytes] = b"") -> str | list[str]:
        """Decrypt what `encrypt` returned, under the same tweak."""
        return _texts(self._native.texts, text, tweak, False)

    def range(self, first: int, last: int) -> FF1Range:
        """Return a cipher with the same key over the integers from `first` to `last`.

        For most ranges, an alphabet of two symbols is the fastest.

        Parameters
        ----------
        first, last : int
            The ends of the range, which must have at least a million integers.

        Returns
        -------
        FF1Range
            The cipher.

        Raises
        ------
        InputError
            If the range cannot be used.
        """
        return FF1Range(self._native.range(_natural(first, "first"), _natural(last, "last")))


class FF1Range:
    """FF1 over the integers of a range, from `FF1.range`."""

    def __init__(self, native: _sordino.Ff1Range) -> None:
        self._native = native

    @overload
    def encrypt(self, value: int, tweak: bytes = b"") -> int: ...
    @overload
    def encrypt(self, value: Iterable[int], tweak: bytes = b"") -> list[int]: ...
    def encrypt(self, value: int | Iterable[int], tweak: bytes = b"") -> int | list[int]:
        """Encrypt an integer of the range, or a list, an array or a column of them.

        Raises
        ------
        InputError
            If an integer is outside the range, or a value is no integer, such as True. The message has its number.
        """
        return self._permute(value, tweak, True)

    @overload
    def decrypt(self, value: int, tweak: bytes = b"") -> int: ...
    @overload
    def decrypt(self, value: Iterable[int], tweak: bytes = b"") -> list[int]: ...
    def decrypt(self, value: int | Iterable[int], tweak: bytes = b"") -> int | list[int]:
        """Decrypt what `encrypt` returned, under the same tweak."""
        return self._permute(value, tweak, False)

    def _permute(self, value: int | Iterable[int], tweak: bytes, encrypt: bool) -> int | list[int]:
        if not isinstance(tweak, (bytes, bytearray, memoryview)):
            raise InputError(f'tweak is a {type(tweak).__name__}: expected bytes for all integers, such as tweak=b"shop 7"')
        # An array has `__index__` too, for the case that it holds one integer.
        if hasattr(value, "__index__") and not getattr(value, "ndim", 0):
            return self._native.integers([_natural(value, "value")], bytes(tweak), encrypt)[0]
        values = _several(value, "value", "an integer")
        numbers = [_natural(one, f"value {at}") for at, one in enumerate(values)]
        return self._native.integers(numbers, bytes(tweak), encrypt)


class Format:
    """A field with a format: separators and prefixes are kept, and check digits are made right.

    Separators do not count, nor do capitals in the domain of an e-mail address. "4111 1111 1111 1111" and
    "4111111111111111" have the same ciphertext except for the spaces. A ciphertext without its spaces decrypts to
    the right value.

    Parameters
    ----------
    name : str
        "pan", "pan-luhn", "ssn", "phone:N", "date", "date:FIRST..LAST", "uuid", "email", "email-lower", "orcid",
        "digits", "hex", "lower", "upper", "alphanumeric", "printable", "alphabet:SYMBOLS", "pan:FIRST,LAST", or a
        pattern such as "pattern:AB-{keep upper:2}-{digits:6}".
    key : bytes
        An AES key of 16, 24 or 32 bytes, or the content of a key file of `sordino fpe keygen`.
    bind_spelling : bool, default False
        Bind each value to its spelling. Use it only for data of early versions, which bound separators and
        capitals: a ciphertext that is spelled differently since then decrypts to a wrong value without an error.
    allow_small_domain : bool, default False
        Accept formats with only 100 to 999,999 values, such as cards of 15 digits and "date:1900..2099". An
        attacker who can have values encrypted finds all of them.

    Raises
    ------
    InputError
        If an argument cannot be used.
    """

    def __init__(
        self, name: str, key: bytes, *, bind_spelling: bool = False, allow_small_domain: bool = False
    ) -> None:
        flags = _flag(bind_spelling, "bind_spelling"), _flag(allow_small_domain, "allow_small_domain")
        self._native = _sordino.Format(_text(name, "name"), _aes_key(key), *flags)

    @overload
    def encrypt(self, field: str, tweak: bytes = b"") -> str: ...  # type: ignore[overload-overlap]
    @overload
    def encrypt(self, field: Sequence[str], tweak: bytes | Sequence[bytes] = b"") -> list[str]: ...
    def encrypt(self, field: str | Sequence[str], tweak: bytes | Sequence[bytes] = b"") -> str | list[str]:
        """Encrypt a field, or a list of fields.

        Parameters
        ----------
        field : str or sequence of str
            The fields.
        tweak : bytes or sequence of bytes, optional
            The tweak for all fields, or one for each. It is public.

        Returns
        -------
        str or list of str
            The ciphertexts.

        Raises
        ------
        InputError
            If a field does not match the format. The message has its number.
            A data frame is refused too: give one of its columns.
        """
        return _texts(self._native.fields, field, tweak, True)

    @overload
    def decrypt(self, field: str, tweak: bytes = b"") -> str: ...  # type: ignore[overload-overlap]
    @overload
    def decrypt(self, field: Sequence[str], tweak: bytes | Sequence[bytes] = b"") -> list[str]: ...
    def decrypt(self, field: str | Sequence[str], tweak: bytes | Sequence[bytes] = b"") -> str | list[str]:
        """Decrypt what `encrypt` returned, under the same tweak."""
        return _texts(self._native.fields, field, tweak, False)


def command_tweak(tweak: str = "", own: str = "") -> bytes:
    """Return the tweak under which the command `sordino fpe` encrypts a value.

    Parameters
    ----------
    tweak : str, default ""
        The text of `--tweak`.
    own : str, default ""
        The record's value in the column of `--tweak-column`.

    Returns
    -------
    bytes
        The length of `tweak` in 8 bytes, most significant first, then `tweak` and `own` in UTF-8.

    Raises
    ------
    InputError
        If an argument is no Unicode text.
    """
    common = _text(tweak, "tweak").encode()
    return len(common).to_bytes(8, "big") + common + _text(own, "own").encode()


def _aes_key(key: bytes) -> bytes:
    """Return the AES key, which may be given as the content of a key file. The error does not contain it."""
    key = _arrays.octets(key, "key")
    if len(key) in _KEY_SIZES:
        return key
    text = key.rstrip(b" \t\r\n\f")
    if not text.startswith(_KEY_FILE):
        raise InputError(
            f"a key of {len(key)} bytes: expected 16, 24 or 32, or the content of a key file of `sordino fpe keygen`; "
            "`bytes.fromhex` makes bytes of hex digits"
        )
    digits = text.removeprefix(_KEY_FILE)
    if len(digits) not in (2 * size for size in _KEY_SIZES) or digits.translate(None, b"0123456789abcdef"):
        raise InputError(
            'the key file is damaged: expected 32, 48 or 64 hex digits in lower case behind "sordino-fpe-key-1:"; copy '
            "the line as a whole"
        )
    return bytes.fromhex(digits.decode())


def _texts(
    native: Callable[[list[str], list[bytes], bool], list[str]],
    texts: str | Sequence[str],
    tweak: bytes | Sequence[bytes],
    encrypt: bool,
) -> str | list[str]:
    single = isinstance(texts, str)
    given = [texts] if single else _several(texts, "text", "a str")
    all_texts = [_text(text, f"record {at}") for at, text in enumerate(given)]
    done = native(all_texts, _tweaks(tweak, len(all_texts)), encrypt)
    return done[0] if single else done


def _tweaks(tweak: object, count: int) -> list[bytes]:
    """Return one tweak for all texts, or one for each of `count` texts."""
    if isinstance(tweak, (bytes, bytearray, memoryview)):
        return [bytes(tweak)]
    check_column(tweak, "tweaks", InputError, secret=True)
    if isinstance(tweak, str) or not hasattr(tweak, "__iter__"):
        raise InputError(f'tweak is a {type(tweak).__name__}: expected bytes, such as tweak=b"shop 7", or a list of bytes with one for each text')
    tweaks = _arrays.octets_each(tweak, "tweak")
    if len(tweaks) != count:
        raise InputError(f"{len(tweaks)} tweaks for {count} texts: expected a tweak for each text; for one tweak, give its bytes without a list")
    return tweaks


def _several(values: Any, what: str, kind: str) -> list[Any]:
    """Return a list, a column or an iterator of values as a list. Data frames and collections without an order are refused."""
    check_column(values, f"{what}s", InputError, secret=True)
    if isinstance(values, (str, bytes, bytearray, memoryview)) or not hasattr(values, "__iter__"):
        raise InputError(f"{what}: a {type(values).__name__}, expected {kind} or a list of them")
    _arrays.ordered(values, f"{what}s", InputError)
    return list(_arrays.held(values))


def _flag(value: bool, name: str) -> bool:
    """Check that a value is a bool: the text "false" from a settings file would count as true."""
    if not isinstance(value, bool):
        raise InputError(f"{name} is a {type(value).__name__}: expected True or False")
    return value


def _text(value: object, what: str) -> str:
    """Check that a value is text that can be encoded. The error does not contain it."""
    if _arrays.is_missing(value):
        raise InputError(f"{what} is missing: expected a str; leave missing values out, for instance by column[column.notna()]")
    if not isinstance(value, str):
        how = "; `str` makes texts of numbers, and `zfill` keeps leading zeros" if isinstance(value, int) else ""
        raise InputError(f"{what} is a {type(value).__name__}: expected a str{how}")
    if not _arrays.is_unicode(value):
        raise InputError(f"{what} is no Unicode text: it has half of a surrogate pair")
    return value


def _natural(value: object, what: str) -> int:
    """Return an integer. Truth values are refused: True would be encrypted as 1. The error does not contain the value."""
    from operator import index

    try:
        number = None if isinstance(value, bool) or "bool" in str(getattr(value, "dtype", "")) else index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None:
        raise InputError(f"{what}: a {type(value).__name__}, expected an integer")
    if not 0 <= number < 2**128:
        raise InputError(f"{what}: expected an integer from 0 to 2**128 - 1")
    return number
