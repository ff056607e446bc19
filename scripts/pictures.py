#!/usr/bin/env python3
"""Draws the pictures of docs/plots that show no measurement.

  scripts/pictures.py [--check]

| file | shows |
|---|---|
| parties.svg | owner, server and reader with their keys, and what a server sees in each mode |
| query.svg | the life of a masked query |
| routed.svg | routed mode: one cluster of each group is scored |
| retrieval.svg | private retrieval with a hint |
| modes.svg | the fastest mode by vectors, searches and link, from the table in docs/benchmarks/search.md |

The colours follow the browser's light or dark scheme. With --check nothing is written, and the exit code is 1 if a drawing
differs from its file.
"""
import re
import sys
from html import escape

from rust_source import ROOT

PLOTS = ROOT / "docs/plots"
TABLE = ROOT / "docs/benchmarks/search.md"

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
.chosen { fill: #3b5b92 }
.onto { fill: #ffffff; font-size: 13px }
.masked { fill: #0072b2 }
.routed { fill: #b45f06 }
.sealed-mode { fill: #00735a }
.local { fill: #8a4a72 }
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
  .chosen { fill: #7ba3e0 }
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
    """Draws a party with its name, its data, and its key."""
    out = [f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" rx="8" class="{kind}"/>', text(x + wide / 2, y + 28, name, "name")]
    return out + [text(x + wide / 2, y + 52 + 20 * at, line) for at, line in enumerate(lines)]


def arrow(x, y, to, words, kind="", under=False):
    """Draws a horizontal arrow with a text above or below it."""
    turn = 1 if to > x else -1
    return [
        f'<path d="M{x} {y}H{to - 8 * turn}" class="way {kind}"/>',
        f'<path d="M{to} {y}l{-9 * turn} -5v10z" class="head"/>',
        text((x + to) / 2, y + 18 if under else y - 8, words, "small"),
    ]


def tiles(x, y, way, plain):
    """An index of four by three tiles. A border shows what a server reads, as far as the server knows."""
    out = []
    for row in range(3):
        for column in range(4):
            kind = "plain" if plain else "sealed"
            if way == "all":
                kind += " read"
            out.append(f'<rect x="{x + 27 * column}" y="{y + 21 * row}" width="23" height="17" rx="2" class="{kind}"/>')
        # One tile within the border is read, and the server does not learn which.
        if way == "groups":
            out.append(f'<rect x="{x - 4}" y="{y + 21 * row - 2}" width="112" height="21" rx="4" fill="none" class="read"/>')
            out.append(text(x + 52, y + 21 * row + 14, "?"))
    if way == "some":
        out.append(f'<rect x="{x - 4}" y="{y - 4}" width="112" height="67" rx="4" fill="none" class="read"/>')
        out.append(text(x + 52, y + 35, "?", "name"))
    return out


def page(high, title, body, wide=900):
    """Makes a drawing with its title, which screen readers read aloud."""
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{STYLE}\n</style>",
        f'<rect width="{wide}" height="{high}" class="paper"/>',
    ]
    return "\n".join([*head, *body, "</svg>", ""])


def parties():
    out = [
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
    return page(440, "Owner, server and reader, and what a server sees of a search in each mode", out)


def query():
    """Six steps from top to bottom, in two columns, the reader's and the server's."""
    steps = (
        ("box", "1  Ask", "The reader turns the question into a vector,", "and places it in the index's frame."),
        ("box", "2  Encrypt", "A fresh secret hides the vector:", "ring-LWE, about 0.2 MB at 128 dimensions."),
        ("server", "3  Score", "The server multiplies the ciphertext with every row.", "Rows carry one-time pads: it sees noise times noise."),
        ("box", "4  Decrypt", "The reader takes the secret's part off by the hint,", "and the pads' part by its key."),
        ("box", "5  Check", "Secret sums of rows must have the sums of their scores.", "A lie ends in one error, after the last message."),
        ("box", "6  Rank and fetch", "The best k are known to the reader alone.", "Texts come privately, always the same number of pages."),
    )
    out = [text(230, 28, "Reader", "name"), text(690, 28, "Server", "name")]
    for at, (kind, name, first, second) in enumerate(steps):
        x, y = (480 if kind == "server" else 20), 44 + 84 * at
        out.append(f'<rect x="{x}" y="{y}" width="400" height="68" rx="8" class="{kind}"/>')
        out += [text(x + 14, y + 22, name, "name", "start"), text(x + 14, y + 42, first, "small", "start"), text(x + 14, y + 59, second, "small", "start")]
    out += ['<path d="M420 162H680V206" class="way"/>', '<path d="M680 212l-5 -9h10z" class="head"/>', text(550, 154, "one encrypted query", "small")]
    out += ['<path d="M680 280V330H428" class="way"/>', '<path d="M420 330l9 -5v10z" class="head"/>', text(550, 348, "15 bits for every row", "small")]
    out += [text(680, 470, "The server learns that a search happened.", "small"), text(680, 488, "It sees neither query, scores nor results.", "small")]
    return page(556, "The life of a query in masked mode, from the question to the texts", out)


def routed():
    out = [text(20, 28, "The server's table: four groups of four clusters, all of one size", "name", "start")]
    chosen = (2, 0, 3, 1)
    for group, own in enumerate(chosen):
        x = 20 + 220 * group
        out.append(f'<rect x="{x}" y="44" width="200" height="118" rx="8" class="server"/>')
        out.append(text(x + 100, 64, f"group {group + 1}", "small"))
        for cluster in range(4):
            for place in range(4):
                out.append(f'<rect x="{x + 14 + 45 * cluster}" y="{74 + 21 * place}" width="37" height="17" rx="2" class="sealed"/>')
        out.append(f'<rect x="{x + 9}" y="70" width="182" height="87" rx="4" fill="none" class="read"/>')
        out += [f'<path d="M{x + 100} 192V170" class="way"/>', f'<path d="M{x + 100} 164l-5 9h10z" class="head"/>']
        out.append(f'<rect x="{x}" y="194" width="200" height="62" rx="8" class="box"/>')
        out.append(text(x + 100, 213, "words of the query", "small"))
        for cluster in range(4):
            kind = "chosen" if cluster == own else "sealed"
            out.append(f'<rect x="{x + 14 + 45 * cluster}" y="222" width="37" height="22" rx="2" class="{kind}"/>')
    out += [
        text(20, 284, "The reader picks the cluster of each group that lies nearest to its query (dark). Its words hold the query there, and zeros elsewhere.", "small", "start"),
        text(20, 303, "Encrypted, all words look alike. So the server reads every place, and learns neither the clusters nor the query.", "small", "start"),
        text(20, 322, "One number for each place of a cluster comes back: the scores of the chosen clusters alone, for the reader to decrypt.", "small", "start"),
    ]
    return page(336, "Routed mode: the server scores one cluster of each group, and does not learn which", out)


def retrieval():
    out = [text(20, 28, "The server's records, one in each column", "name", "start"), text(560, 28, "The reader wants record 5", "name", "start")]
    for column in range(8):
        kind = "chosen" if column == 4 else "sealed"
        for row in range(4):
            out.append(f'<rect x="{20 + 58 * column}" y="{98 + 24 * row}" width="50" height="20" rx="2" class="sealed"/>')
        out.append(f'<rect x="{20 + 58 * column}" y="44" width="50" height="24" rx="2" class="server"/>')
        out.append(text(45 + 58 * column, 61, "?", "small"))
        out.append(f'<rect x="{560 + 40 * column}" y="44" width="34" height="24" rx="2" class="{kind}"/>')
        out.append(text(577 + 40 * column, 61, "1" if column == 4 else "0", "onto" if column == 4 else ""))
    out += [
        *arrow(552, 56, 486, ""),
        text(519, 40, "encrypted", "small"),
        text(250, 88, "times", "small"),
        text(20, 214, "The server multiplies each column by its encrypted number, and adds up: a scan of everything.", "small", "start"),
        *arrow(486, 142, 552, "answer"),
        '<rect x="560" y="110" width="314" height="62" rx="8" class="box"/>',
        text(717, 136, "the record, under the reader's secret"),
        text(717, 158, "the hint takes the secret's part off", "small"),
        text(20, 250, "A hint is the matrix of records times public noise. Clients download it once, and again after a change.", "small", "start"),
        text(20, 269, "Each query has a fresh secret, so the server cannot tell which number was 1, nor whether two searches wanted the same record.", "small", "start"),
        text(20, 288, "Every search asks for the same number of records. Digests and seals show whether a record is the owner's.", "small", "start"),
    ]
    return page(302, "Private retrieval: a query of encrypted numbers, of which one is 1", out)


def fastest():
    """For each link the numbers of vectors, and for each of these the fastest modes by the number of searches."""
    text = TABLE.read_text().split("## Which mode on which link")[1].split("\n![")[0]
    head, _, *rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines() if line.startswith("|")]
    links = {}
    for vectors, link, *cells in rows:
        links.setdefault(link, []).append((vectors, [re.findall(r"(\w+) [\d.,]+ s", cell) for cell in cells]))
    return head[2:], links


def modes():
    searches, links = fastest()
    out = []
    for at, (link, rows) in enumerate(links.items()):
        x = 20 + 294 * at
        out.append(text(x + 140, 26, link.replace("000 Mbit", " Gbit"), "name"))
        for row, (vectors, cells) in enumerate(rows):
            y = 44 + 62 * row
            for column, names in enumerate(cells):
                kind = "sealed-mode" if names[0] == "sealed" else names[0]
                out.append(f'<rect x="{x + 66 * column}" y="{y}" width="62" height="56" rx="4" class="{kind}"/>')
                out.append(text(x + 31 + 66 * column, y + (25 if len(names) > 1 else 33), names[0], "onto"))
                if len(names) > 1:
                    out.append(text(x + 31 + 66 * column, y + 43, f"or {names[1]}", "onto"))
            out.append(text(x + 294, y + 33, vectors if len(vectors) < 8 else vectors.replace(",000,000", " mill."), "small") if at == 2 else "")
        for column, count in enumerate(searches):
            out.append(text(x + 31 + 66 * column, 250, count, "small"))
        out.append(text(x + 130, 270, "searches of one version", "small"))
    out.append(text(20, 298, "Vectors of 128 dimensions. The fastest mode whose readers hold nothing of the index; \u201cor local\u201d where holding all of it is faster.", "small", "start"))
    return page(312, "The fastest mode by number of vectors and searches, on three links", [line for line in out if line], 960)


DRAWINGS = {"parties.svg": parties, "query.svg": query, "routed.svg": routed, "retrieval.svg": retrieval, "modes.svg": modes}


def main():
    old = []
    for name, drawing in DRAWINGS.items():
        file, svg = PLOTS / name, drawing()
        if "--check" not in sys.argv:
            file.write_text(svg)
        elif not file.exists() or file.read_text() != svg:
            old.append(name)
    if old:
        sys.exit(f"{', '.join(old)}: old, run scripts/pictures.py")


if __name__ == "__main__":
    main()
