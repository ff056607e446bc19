"""Shared code of the scans of Rust sources: the files of a crate, and their code without comments, strings and
tests."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Line and nested block comments, raw strings, strings, and characters that could open one.
NOISE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\bb?r(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\[^\n]{1,10}?|[^'\\\n])'""", re.S
)
TEST_ITEM = re.compile(r"#\[cfg\((?:test|all\(test\b[^]]*)\)\]\s*(?:#!?\[[^]]*\]\s*)*")


def crates(skipped):
    """The folders of all crates except the named ones."""
    folders = [*sorted((ROOT / "crates").iterdir()), ROOT / "python"]
    return [folder for folder in folders if folder.name not in skipped]


def programs(*folders):
    """The source files in these folders that belong to no library."""
    return [file for folder in folders for file in sorted((ROOT / folder).rglob("*.rs"))]


def sources(crate):
    """The source files of a crate that are compiled outside tests."""
    files = sorted((crate / "src").rglob("*.rs"))
    tests = {folder for file in files for folder in test_modules(file)}
    return [file for file in files if not tests & {file.with_suffix(""), *file.parents}]


def test_modules(file):
    """The paths, without extension, of the modules that a file declares for tests alone."""
    folder = file.parent if file.stem in ("lib", "main") else file.with_suffix("")
    for match in re.finditer(TEST_ITEM.pattern + r"(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", file.read_text()):
        yield folder / match.group(1)


def blank(text):
    """Replaces a text by spaces, so that the text after it keeps its line and column."""
    return re.sub(r"[^\n]", " ", text)


def closing(code, opening):
    """The position after the brace that closes the one at `opening`."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.end()
    raise ValueError("a brace is not closed")


def code(file):
    """The code of a file, with comments, strings and test items blanked out."""
    text = NOISE.sub(lambda match: blank(match.group()), file.read_text())
    while match := TEST_ITEM.search(text):
        end = re.compile(r"[;{]").search(text, match.end())
        stop = closing(text, end.start()) if end.group() == "{" else end.end()
        text = text[: match.start()] + blank(text[match.start() : stop]) + text[stop:]
    return text
