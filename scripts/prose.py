#!/usr/bin/env python3
"""Measures the prose of this repository: the length of its sentences, and the words that it avoids.

  scripts/prose.py [PATH ...]    every finding and the mean of each file, for all files or those under a path
  scripts/prose.py --check       fails if a folder is above its limits in scripts/prose.txt
  scripts/prose.py --lower       writes today's values into that table if they are below the limits

There are three kinds of prose. Pages are Markdown files. Comments are Rust documentation and comments, and Python docstrings
and comments. Messages are string literals of three words or more, outside tests. A sentence should have at most 25 words.
A piece of inline code counts as one word; code blocks, headings and tables do not count. The script also looks for forbidden
words in tables and headings, but not in code. Limits only go down, to a mean of 18 words and no forbidden word.
"""
import argparse
import ast
import collections
import io
import math
import re
import subprocess
import sys
import tokenize

from rust_source import ROOT, TEST_ITEM, closing, test_modules

LIMITS = ROOT / "scripts/prose.txt"
KINDS = ("pages", "comments", "messages")
LONGEST = 25
# The limits of a folder that the table lacks: the mean of each kind, and the number of forbidden words.
AIM = (18, 18, 18, 0)

# Each pattern, and the words to use instead.
FORBIDDEN = {
    r"who(?:m)?ever": "anyone who; or the reader, owner, server or attacker",
    r"anew": "again",
    r"beside": "compared with, next to, with, in addition to",
    r"another one": "a different one, a second one",
    r"another (?:\w+ ){1,4}than": "a different ... from",
    r"as many": "the same number, n",
    r"so many": "a number, n, up to n",
    r"nobody's": "no one owns, unused",
    r"those of": "name the thing again",
    r"has not": "lacks, does not have, did not",
    r"in the place of": "instead of",
    r"(?<![\w.)\]-])\.\d+": "a number with its leading zero",
}
WORD = re.compile("|".join(rf"(?P<w{at}>(?:\b|(?=\.)){rule}(?![\w-]))" for at, rule in enumerate(FORBIDDEN)), re.I)
INSTEAD = list(FORBIDDEN.values())
# Every text in which a pattern matches contains one of these parts, or a decimal point.
PARTS = ("ever", "anew", "beside", "another", "many", "nobody", "those", "has not", "in the place")
DECIMAL = re.compile(r"\.\d")
TOKEN = re.compile(r"\S*\w\S*")

Paragraph = collections.namedtuple("Paragraph", "kind counts lines")
# `kind` is the kind of prose of a long sentence, and None for a forbidden word.
Finding = collections.namedtuple("Finding", "line why kind")

# Inline code, which counts as a word but is not searched; the address of a link, which is removed; a tag.
CODE = re.compile(r"(`+)(?:(?!`).)+?\1(?!`)", re.S)
TARGET = re.compile(r"\](?:\([^()\s]*(?:\([^()]*\)[^()\s]*)*\)|\[[^\]]*\])")
TAG = re.compile(r"<[^<>\s][^<>]*>")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|no|fig|sec|eq|thm|al|approx)\.$", re.I)
END = re.compile(r"[.!?][)\"'’”*_]*(?=\s|$)")
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")


def plain(text):
    """A text of the same length in which each piece of code is one word of x and each link is its text. So positions
    are the same in both texts."""
    def filled(match):
        return re.sub(r"[^\n]", "x", match.group())

    return TARGET.sub(lambda match: "]" + " " * (len(match.group()) - 1), TAG.sub(filled, CODE.sub(filled, text)))


def sentences(text):
    """Each sentence of a paragraph: its start, and its number of words."""
    start = 0
    for match in END.finditer(text):
        after = text[match.end() :].lstrip()
        if ABBREVIATION.search(text[start : match.end()]) or after[:1].islower() and after[:2] != "xx":
            continue
        yield start, words(text[start : match.end()])
        start = match.end()
    yield start, words(text[start:])


def words(text):
    """The number of words of a text."""
    return len(TOKEN.findall(text))


def split(kind, lines):
    """The paragraphs of Markdown. `lines` are pairs of a line's number and its text."""
    fence, held = None, []

    def end():
        if held:
            yield Paragraph(kind, True, list(held))
        held.clear()

    for number, line in lines:
        bare = line.strip().lstrip("> ")
        if fence:
            fence = None if bare.startswith(fence) and not bare.strip("`~") else fence
            continue
        if mark := re.match(r"(`{3,}|~{3,})", bare):
            yield from end()
            fence = mark.group(1)
        elif not bare or re.fullmatch(r"[-=*_| :]+", bare) or re.match(r"\[[^\]]+\]:", bare):
            yield from end()
        elif bare.startswith(("#", "|", "<")) or line.startswith("    ") and not held:
            yield from end()
            if not line.startswith("    "):
                yield Paragraph(kind, False, [(number, bare)])
        else:
            if ITEM.match(line):
                yield from end()
            held.append((number, ITEM.sub("", bare, count=1) if ITEM.match(line) else bare))
    yield from end()


def numbered(text, first=1):
    """The lines of a text with their numbers."""
    return list(enumerate(text.splitlines(), first))


RUST = re.compile(
    r"""(?P<comment>//[^\n]*)|/\*.*?\*/|\bb?r(?P<marks>#*)"(?P<raw>.*?)"(?P=marks)|(?P<byte>b?)"(?P<string>(?:\\.|[^"\\])*)"|'(?:\\[^\n]{1,10}?|[^'\\\n])'""",
    re.S,
)
PLACE = re.compile(r"\{[^{}]*\}")


def tests_in(text):
    """The positions of the items of a Rust file that are compiled only for tests."""
    blank = RUST.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    for match in TEST_ITEM.finditer(blank):
        end = re.compile(r"[;{]").search(blank, match.end())
        if end:
            yield match.start(), closing(blank, end.start()) if end.group() == "{" else end.end()


def message(text, first):
    """The paragraphs of a string literal, if it is prose."""
    text = PLACE.sub("x", re.sub(r"\\\n\s*", " ", text).replace("\\n", "\n").replace('\\"', '"'))
    lines = [line for line in text.split("\n") if not line.startswith("  ")]
    if words(" ".join(lines)) >= 3:
        for line in lines:
            if words(line):
                yield Paragraph("messages", True, [(first, line.strip())])


def rust(text, tests=False):
    """The paragraphs of a Rust file: its comments, and its literals outside tests."""
    held, mark, last = [], None, 0
    spans = [] if tests else list(tests_in(text))
    line, seen = 1, 0
    for match in RUST.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        if comment := match.group("comment"):
            kind = re.match(r"//[/!]?", comment).group()
            own = not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
            if kind != mark or line != last + 1 or not own:
                yield from split("comments", held)
                held = []
            held.append((line, comment[len(kind) :].removeprefix(" ")))
            mark, last = kind, line
        elif not tests and not any(start <= match.start() < end for start, end in spans):
            literal = match.group("raw") if match.group("string") is None else match.group("string")
            if literal and not match.group("byte"):
                yield from message(literal, line)
    yield from split("comments", held)


def python(text):
    """The paragraphs of a Python file: docstrings, comments and literals."""
    tree, docs = ast.parse(text), set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if ast.get_docstring(node, clean=False) is not None:
                docs.add(id(node.body[0].value))
                yield from docstring(node.body[0].value)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            joined = "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
            yield from message(joined, node.lineno)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs | parts:
            yield from message(node.value, node.lineno)
    held, last = [], 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            if token.start[0] != last + 1:
                yield from split("comments", held)
                held = []
            held.append((token.start[0], token.string[1:].removeprefix(" ")))
            last = token.start[0]
    yield from split("comments", held)


def docstring(node):
    """The paragraphs of a docstring in numpydoc's form, without examples and without the lines that name parameters."""
    lines = numbered(node.value, node.lineno)
    indent = min((len(line) - len(line.lstrip()) for _, line in lines[1:] if line.strip()), default=0)
    kept = []
    for number, line in lines:
        line = line.strip() if number == node.lineno else line[indent:]
        if re.match(r"\s*(?:>>>|\.\.\. )", line):
            line = ""
        # A line `name : type`, and the line under a section's name.
        if re.match(r"[*\w, ]+ : \S", line) or re.fullmatch(r"-{3,}", line):
            line = ""
            if kept and re.fullmatch(r"[A-Z][\w ]+", kept[-1][1]):
                kept[-1] = (kept[-1][0], "")
        kept.append((number, line.removeprefix("    ")))
    yield from split("comments", kept)


def check(paragraph):
    """The numbers of words of a paragraph's sentences, and its faults."""
    text, starts = "", []
    for number, line in paragraph.lines:
        starts.append((len(text), number))
        text += line + "\n"
    text = plain(text)

    def line_of(place):
        return max((number for start, number in starts if start <= place), default=starts[0][1])

    findings = []
    line = text.replace("\n", " ")
    for match in WORD.finditer(line) if DECIMAL.search(line) or any(part in line.lower() for part in PARTS) else ():
        rule = int(match.lastgroup[1:])
        findings.append(Finding(line_of(match.start()), f"{match.group().strip()!r}: say {INSTEAD[rule]}", None))
    if not paragraph.counts:
        return [], findings
    counts = []
    for start, count in sentences(text):
        if count:
            counts.append(count)
            if count > LONGEST:
                findings.append(Finding(line_of(start + 1), f"a sentence of {count} words", paragraph.kind))
    return counts, findings


def files():
    """The names of all files that the script reads."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        if not (ROOT / name).is_file():
            continue
        source = re.match(r"(?:crates/[^/]+|python)/src/.*\.rs$|examples/.*\.rs$", name)
        if name.endswith(".md") or source or re.match(r"python/python/.*\.pyi?$", name):
            yield name


def folder(name):
    """The row of the table to which a file belongs."""
    parts = name.split("/")
    if parts[0] in ("crates", "docs") and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0] if len(parts) > 1 else "."


def paragraphs(name, tests):
    """The paragraphs of a file."""
    text = (ROOT / name).read_text()
    if name.endswith(".md"):
        return split("pages", numbered(text))
    if name.endswith(".rs"):
        return rust(text, tests)
    return python(text)


def measured(names):
    """For each file, the numbers of words of each kind of prose, and the findings."""
    names = list(names)
    sources = [ROOT / name for name in names if name.endswith(".rs")]
    of_tests = {path for file in sources for path in test_modules(file)}
    for name in names:
        path = ROOT / name
        tests = bool(of_tests & {path.with_suffix(""), *path.parents})
        counts, findings = {kind: [] for kind in KINDS}, []
        for paragraph in paragraphs(name, tests):
            more, found = check(paragraph)
            counts[paragraph.kind] += more
            findings += found
        yield name, counts, sorted(findings, key=lambda finding: finding.line)


def table(text):
    """For each folder, the limits: the mean of each kind, or None, and the number of forbidden words."""
    rows = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, *values = line.split()
            rows[name] = [None if value == "-" else float(value) for value in values]
    return rows


def written(rows, text):
    """The text of a table, with the comment of the table before."""
    head = [line for line in text.splitlines() if line.startswith("#")]
    lines = []
    for name, (*means, count) in sorted(rows.items()):
        cells = ["-" if mean is None else f"{mean:.1f}" for mean in means]
        lines.append(f"{name:<20}" + "".join(f"{cell:>10}" for cell in cells) + f"{count:>10.0f}")
    return "\n".join(head + lines) + "\n"


def above(row, limits):
    """Each kind for which a folder is above its limit, with both values. Forbidden words come last."""
    for kind, value, limit, aim in zip((*KINDS, None), row, limits, AIM):
        limit = aim if limit is None else limit
        if value is not None and value > limit:
            what = f"words in the mean sentence of its {kind}" if kind else "forbidden words"
            yield kind, f"{value:g} {what}, above the limit of {limit:g}"


def lowered(rows, limits):
    """The limits of all existing folders: today's values if they are lower or if there was no limit, but never below
    the aim."""

    def one(value, limit, aim):
        known = [number for number in (value, limit) if number is not None]
        return max(aim, min(known)) if known else None

    return {name: [one(*cell) for cell in zip(row, limits.get(name, [None] * 4), AIM)] for name, row in rows.items()}


def mean(counts):
    """The mean of some numbers, rounded up to a tenth. None if there are no numbers."""
    return math.ceil(sum(counts) / len(counts) * 10) / 10 if counts else None


def main():
    parser = argparse.ArgumentParser(description="the length of sentences, and words that the prose does without")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders; all by default")
    parser.add_argument("--check", action="store_true", help="fail where a folder is above its limits")
    parser.add_argument("--lower", action="store_true", help="lower the limits to today's values")
    args = parser.parse_args()
    wanted = [path.rstrip("/").removeprefix("./") for path in args.paths]
    everything = args.check or args.lower or not wanted
    names = [n for n in files() if everything or any(n == path or n.startswith(path + "/") for path in wanted)]
    counts, findings, wrong = collections.defaultdict(lambda: {kind: [] for kind in KINDS}), collections.defaultdict(list), 0
    for name, of_kinds, found in measured(names):
        for kind in KINDS:
            counts[folder(name)][kind] += of_kinds[kind]
        findings[folder(name)] += [(name, finding) for finding in found]
        if not (args.check or args.lower):
            for finding in found:
                print(f"{name}:{finding.line}: {finding.why}")
            every = [count for kind in KINDS for count in of_kinds[kind]]
            over = sum(count > LONGEST for count in every)
            banned = sum(finding.kind is None for finding in found)
            if every:
                print(f"{name}: mean {mean(every):g}, {len(every)} sentences, {over} over {LONGEST}, {banned} forbidden words")
    rows = {
        name: [*(mean(of_kinds[kind]) for kind in KINDS), sum(finding.kind is None for _, finding in findings[name])]
        for name, of_kinds in counts.items()
    }
    if args.lower:
        text = LIMITS.read_text()
        LIMITS.write_text(written(lowered(rows, table(text)), text))
    if args.check:
        limits = table(LIMITS.read_text())
        for name, row in sorted(rows.items()):
            for kind, why in above(row, limits.get(name, AIM)):
                wrong += 1
                print(f"{name}: {why}")
                for file, finding in findings[name]:
                    if finding.kind == kind:
                        print(f"  {file}:{finding.line}: {finding.why}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
