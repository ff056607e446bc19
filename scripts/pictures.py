#!/usr/bin/env python3
"""Draws docs/plots/parties.svg: owner, server and reader with their keys, and what a server sees in each mode.

  scripts/pictures.py [--check]

The colours follow the browser's light or dark scheme. With --check nothing is written, and the exit code is 1 if the
drawing differs from the file.
"""
import sys
from html import escape

from rust_source import ROOT

DRAWING = ROOT / "docs/plots/parties.svg"
WIDTH, HEIGHT = 900, 440

STYLE = """\
text { font-family: sans-serif; font-size: 14px; fill: #1d2b45 }
.name { font-weight: bold; font-size: 16px }
.small { font-size: 12px; fill: #4a5568 }
.paper { fill: #ffffff }
.box { fill: #f2f4f7; stroke: #3b5b92; stroke-width: 1.5 }
.server { fill: #fdf3e7; stroke: #b45f06; stroke-width: 1.5 }
.way { stroke: #3b5b92; stroke-width: 1.5; fill: none }
.head { fill: #3b5b92 }
.aside { stroke-dasharray: 5 4 }
.sealed { fill: #c9d1dd }
.read { stroke: #b45f06; stroke-width: 2 }
.plain { fill: #8fb3e8 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .small { fill: #b3bdc9 }
  .paper { fill: #0d1117 }
  .box { fill: #1b2533; stroke: #7ba3e0 }
  .server { fill: #2d2318; stroke: #e0a050 }
  .way { stroke: #7ba3e0 }
  .head { fill: #7ba3e0 }
  .sealed { fill: #46515f }
  .read { stroke: #e0a050 }
  .plain { fill: #2f6bb8 }
}"""

# Mode, the tiles that a search reads ("all", "groups", "some" or "none"), whether tiles are in the clear, two captions
MODES = (
    ("masked", "all", False, "all rows read,", "rows are noise"),
    ("routed", "groups", False, "one cluster a group,", "not which"),
    ("open", "all", True, "all rows read,", "rows are visible"),
    ("sealed", "some", False, "some buckets,", "not which"),
    ("local", "none", False, "one download,", "no query"),
)


def text(x, y, words, kind="", anchor="middle"):
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'


def box(x, y, wide, high, kind, name, *lines):
    """A party: its name, what it holds, and its key."""
    out = [f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" rx="8" class="{kind}"/>', text(x + wide / 2, y + 28, name, "name")]
    return out + [text(x + wide / 2, y + 52 + 20 * at, line) for at, line in enumerate(lines)]


def arrow(x, y, to, words, kind="", under=False):
    """A horizontal arrow with its words above or under it."""
    turn = 1 if to > x else -1
    return [
        f'<path d="M{x} {y}H{to - 8 * turn}" class="way {kind}"/>',
        f'<path d="M{to} {y}l{-9 * turn} -5v10z" class="head"/>',
        text((x + to) / 2, y + 18 if under else y - 8, words, "small"),
    ]


def tiles(x, y, way, plain):
    """An index of four by three tiles; those that a server reads, as far as it knows, have a border."""
    out = []
    for row in range(3):
        for column in range(4):
            kind = "plain" if plain else "sealed"
            if way == "all":
                kind += " read"
            out.append(f'<rect x="{x + 27 * column}" y="{y + 21 * row}" width="23" height="17" rx="2" class="{kind}"/>')
        # Within the border is one tile that is read, and the server does not learn which.
        if way == "groups":
            out.append(f'<rect x="{x - 4}" y="{y + 21 * row - 2}" width="112" height="21" rx="4" fill="none" class="read"/>')
            out.append(text(x + 52, y + 21 * row + 14, "?"))
    if way == "some":
        out.append(f'<rect x="{x - 4}" y="{y - 4}" width="112" height="67" rx="4" fill="none" class="read"/>')
        out.append(text(x + 52, y + 35, "?", "name"))
    return out


def drawing():
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        "<title>Owner, server and reader, and what a server sees of a search in each mode</title>",
        f"<style>\n{STYLE}\n</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" class="paper"/>',
        *box(20, 60, 180, 120, "box", "Owner", "vectors, texts", "owner's key:", "builds and signs"),
        *box(360, 60, 180, 120, "server", "Server", "encrypted index", "owner's public key,", "no secret"),
        *box(700, 60, 180, 120, "box", "Reader", "a question", "reader's key:", "encrypts and opens"),
        *arrow(200, 110, 360, "signed, encrypted index"),
        *arrow(700, 95, 540, "encrypted query"),
        *arrow(540, 140, 700, "encrypted scores"),
        text(620, 158, "always the same sizes", "small"),
        '<path d="M110 60V24H790V50" class="way aside"/>',
        '<path d="M790 60l-5 -9h10z" class="head"/>',
        text(450, 18, "reader's key, over a channel that the server does not control", "small"),
        text(20, 226, "What the server sees of a search", "name", "start"),
    ]
    for at, (name, way, plain, first, second) in enumerate(MODES):
        x = 20 + 174 * at
        out.append(f'<rect x="{x}" y="242" width="164" height="180" rx="8" class="box"/>')
        out.append(text(x + 82, 268, name, "name"))
        out += tiles(x + 30, 286, way, plain)
        out += [text(x + 82, 382, first), text(x + 82, 402, second)]
    return "\n".join([*out, "</svg>", ""])


def main():
    svg = drawing()
    if "--check" not in sys.argv:
        DRAWING.write_text(svg)
    elif not DRAWING.exists() or DRAWING.read_text() != svg:
        sys.exit(f"{DRAWING.name} is old: run scripts/pictures.py")


if __name__ == "__main__":
    main()
