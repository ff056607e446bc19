#!/usr/bin/env python3
"""Finds import circles among the top modules of each crate, and among its files.

  scripts/import_cycles.py [--skip CRATE ...]

One module imports another if its code outside tests names the other by a path from `crate`, `super` or
`self`, also through a name that lib.rs exports again. Imports of lib.rs itself do not count.
A file and the files in the folder of its name are parts of one noun, so imports among them make no circle.
Some imports hide the module of a name, and are refused. Outside tests, these import everything in `crate` or `super`. In
lib.rs or main.rs, they import everything in a module, or an item of a module under a different name.
Prints each circle with the lines that make it, and each refused import. Exits with 1 if there are any.
"""
import argparse
import re
import sys
from collections import defaultdict

from rust_source import ROOT, closing, code, crates, sources

PATH = re.compile(r"(?<![\w:])(?:\$?crate|super|self)\s*::")
WORD = re.compile(r"\w+")
# An import up to its semicolon, and its first word
USE = re.compile(r"\buse\s+(?:::\s*)?\{?\s*(\w+)[^;]*;")
RENAMED = re.compile(r"\bas\s+(?!_\b)\w+")


def paths(text, start):
    """The paths, as lists of names, that begin at `start`; braces may group several."""
    names = []
    position = start
    while True:
        position = re.compile(r"\s*").match(text, position).end()
        if text.startswith("{", position):
            end = closing(text, position) - 1
            for branch in branches(text, position + 1, end):
                yield from ([*names, *path] for path in paths(text, branch))
            return
        word = WORD.match(text, position)
        if not word:
            break
        names.append(word.group())
        separator = re.compile(r"\s*::\s*").match(text, word.end())
        if not separator:
            break
        position = separator.end()
    yield names


def branches(text, start, end):
    """The positions at which the branches of a group begin."""
    depth, begin = 0, start
    for position in range(start, end):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if text[position] == "," and depth == 0:
            yield begin
            begin = position + 1
    if text[begin:end].strip():
        yield begin


def module(crate, file):
    """The path of the module in a file."""
    parts = file.relative_to(crate / "src").with_suffix("").parts
    return [] if parts in (("lib",), ("main",)) else list(parts)


def inline_modules(text):
    """The spans of the modules that are written inside a file."""
    for match in re.finditer(r"\bmod\s+(\w+)\s*\{", text):
        yield match.start(), closing(text, match.end() - 1), match.group(1)


def imports(crate, file):
    """The paths from the crate's root that a file names, each with its position."""
    text = code(file)
    inside = list(inline_modules(text))
    for match in PATH.finditer(text):
        here = module(crate, file)
        here += [name for start, end, name in inside if start < match.start() < end]
        for path in paths(text, match.start() + match.group().startswith("$")):
            base = [] if path[0] == "crate" else here
            while path and path[0] in ("crate", "self", "super"):
                base = base[:-1] if path[0] == "super" else base
                path = path[1:]
            yield [*base, *path], text.count("\n", 0, match.start())


def exports(crate):
    """The module of each name that lib.rs or main.rs imports."""
    found = {}
    for root in ("lib.rs", "main.rs"):
        if (file := crate / "src" / root).exists():
            text = code(file)
            for match in re.finditer(r"\buse\s+", text):
                for path in paths(text, match.end()):
                    path = path[1:] if path[0] in ("crate", "self") else path
                    if len(path) > 1:
                        found[path[-1]] = path[0]
    return found


def hidden(crate):
    """The lines whose imports hide the module of a name."""
    files = sources(crate)
    tops = {module(crate, file)[0] for file in files if module(crate, file)}
    for file in files:
        text, lines = code(file), file.read_text().splitlines()
        for match in USE.finditer(text):
            first, all_of, renamed = match.group(1), "*" in match.group(), RENAMED.search(match.group())
            own = first in tops or first in ("crate", "self", "super")
            if not module(crate, file):
                found = own and (all_of or renamed)
            else:
                found = all_of and first in ("crate", "super")
            if found:
                line = text.count("\n", 0, match.start())
                yield f"{file.relative_to(ROOT)}:{line + 1}: {lines[line].strip()}"


def graph(crate):
    """For each top module, the modules that it imports, each with the lines that do so."""
    files = sources(crate)
    tops = {module(crate, file)[0] for file in files if module(crate, file)}
    exported = exports(crate)
    edges = {top: defaultdict(list) for top in tops}
    for file in files:
        if not (here := module(crate, file)):
            continue
        lines = file.read_text().splitlines()
        for path, line in imports(crate, file):
            there = path[0] if path else None
            there = there if there in tops else exported.get(there)
            if there in tops and there != here[0]:
                spot = f"{file.relative_to(ROOT)}:{line + 1}: {lines[line].strip()}"
                if spot not in edges[here[0]][there]:
                    edges[here[0]][there].append(spot)
    return edges


def imported(file):
    """The names that a file's `use` imports, each with its path."""
    text = code(file)
    found = {}
    for match in re.finditer(r"\buse\s+", text):
        for path in paths(text, match.end()):
            found.setdefault(path[-1], path)
    return found


def file_graph(crate):
    """For each file, by its module, the files that it imports, each with the lines of the imports. A name that is exported again counts for
    the file that defines it."""
    files = {tuple(module(crate, file)): file for file in sources(crate) if module(crate, file)}
    names = {here: imported(file) for here, file in files.items()}

    def owner(path, again=6):
        end = next((n for n in range(len(path), 0, -1) if tuple(path[:n]) in files), 0)
        here, rest = tuple(path[:end]), path[end:]
        if not (here and rest and again and rest[0] in names[here]):
            return here
        first, *more = names[here][rest[0]]
        base = list(here)
        while first in ("self", "super", "crate") and more:
            base = [] if first == "crate" else base[:-1] if first == "super" else base
            first, *more = more
        if (*base, first) not in files and names[here][rest[0]][0] not in ("self", "super", "crate"):
            return here
        return owner([*base, first, *more, *rest[1:]], again - 1) or here

    edges = {here: defaultdict(list) for here in files}
    for here, file in files.items():
        lines = file.read_text().splitlines()
        for path, line in imports(crate, file):
            there = owner(path)
            parts = here[: len(there)] == there or there[: len(here)] == here
            if there and not parts:
                edges[here][there].append(f"{file.relative_to(ROOT)}:{line + 1}: {lines[line].strip()}")
    return edges


def reached(edges, start):
    """All modules that can be reached from a module."""
    found, waiting = set(), [start]
    while waiting:
        for there in edges[waiting.pop()]:
            if there not in found:
                found.add(there)
                waiting.append(there)
    return found


def circles(edges):
    """The sets of modules each of which reaches each other."""
    reach = {top: reached(edges, top) for top in edges}
    groups = {frozenset(o for o in reach[top] if top in reach[o]) for top in edges if top in reach[top]}
    return sorted(sorted(group) for group in groups)


def shown(module):
    """A module's name, or a file's path."""
    return module if isinstance(module, str) else "/".join(module)


def main():
    parser = argparse.ArgumentParser(description="import circles among the top modules of each crate")
    parser.add_argument("--skip", nargs="*", default=[], metavar="CRATE", help="crates that are left out")
    found = 0
    for crate in crates(parser.parse_args().skip):
        edges = graph(crate)
        for spot in hidden(crate):
            found += 1
            print(f"{spot}  hides which module a name is from")
        for what, edges in (("modules", edges), ("files", file_graph(crate))):
            for circle in circles(edges):
                found += 1
                print(f"{crate.name}: {len(circle)} of {len(edges)} {what} in a circle: {', '.join(map(shown, circle))}")
                for here in circle:
                    for there in circle:
                        for spot in edges[here][there] if there in edges[here] else []:
                            print(f"  {shown(here)} -> {shown(there)}  {spot}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
