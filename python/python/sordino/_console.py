"""Functions that end the commands of the package."""

from __future__ import annotations

import errno
import functools
import os
import sys
from typing import TYPE_CHECKING

from ._errors import Error

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import TextIO

# The exit code of programs that the system ends by SIGPIPE.
_CLOSED = 141


def command(main: Callable[[Sequence[str] | None], int]) -> Callable[..., int]:
    """A command that ends quietly with code 141 once the reader of its output, such as `head`, has gone."""

    @functools.wraps(main)
    def ended(arguments: Sequence[str] | None = None) -> int:
        try:
            try:
                return main(arguments)
            finally:
                # Help leaves `main` by an exception.
                _flush()
        except BrokenPipeError:
            for stream in filter(None, (sys.stdout, sys.stderr)):
                _silence(stream)
            return _CLOSED
        except OSError as error:
            if error.errno != errno.ENOSPC or isinstance(error, Error):
                raise
            _silence(sys.stdout)
            print(f"standard output: {error.strerror}. Not all was written; expected a place with room", file=sys.stderr)
            return 1

    return ended


def filled(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """The arguments of a command. Refuses empty values, since the command would treat them as options that were not given."""
    given = parser.parse_args(arguments)
    for name, value in vars(given).items():
        if any(one == "" for one in (value if isinstance(value, list) else [value])):
            parser.error(f"{name.replace('_', '-')}: an empty value, as of a variable that is not set; give a value, or leave the option out")
    return given


def shown(text: str) -> str:
    """A text for one line of a terminal. It escapes characters that control a terminal or that a terminal does not show, since others chose some of the words."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _silence(stream: TextIO) -> None:
    """Prevent Python from writing the rest of the output, and from reporting an error, when it ends."""
    try:
        stream.flush()
    except OSError:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
