#!/usr/bin/env python3
"""Draws docs/plots/crates.svg: the workspace's crates in the groups of docs/crates.md, with the dependencies of each.

  scripts/crate_map.py [--check]

The groups and their order come from the table in docs/crates.md, beginning with the programs. The dependencies come from
`cargo metadata`. A line that follows from two others is left out. A dashed line belongs to an optional feature. With --check
the script writes nothing. Its exit code is then 1 if a crate has no group, a dependency points up, the groups in Cargo.toml
differ, or the drawing is out of date.
"""
import json
import re
import subprocess
import sys

from rust_source import ROOT

DRAWING = ROOT / "docs/plots/crates.svg"
GROUP = re.compile(r"^\| \*\*([^*]+)\*\* \|", re.M)
CRATE = re.compile(r"^\| \[`sordino-([\w-]+)`\]", re.M)
PREFIX = "sordino-"

STYLE = """\
.paper { fill: #ffffff }
.band { fill: #f2f4f7 }
.group { fill: #555566; font-weight: bold }
.line { fill: none; stroke: #9aa5b8 }
.crate { fill: #ffffff; stroke: #3b5b92 }
.name { fill: #1d2b45 }
@media (prefers-color-scheme: dark) {
  .paper { fill: #0d1117 }
  .band { fill: #1b2533 }
  .group { fill: #b3bdc9 }
  .line { stroke: #6b7a90 }
  .crate { fill: #0d1117; stroke: #7ba3e0 }
  .name { fill: #e6edf3 }
}"""

# The pixels of a box, of the space between two boxes, and of a group's margins.
BOX, HIGH, BETWEEN, ROW, LEFT, MARGIN = 92, 26, 18, 58, 190, 14


def groups():
    """For each group, the names of its crates, in the table's order."""
    text = (ROOT / "docs/crates.md").read_text()
    parts = re.split(GROUP, text)[1:]
    return {name: CRATE.findall(rows) for name, rows in zip(parts[::2], parts[1::2])}


def members():
    """The workspace's own crates in Cargo.toml, by the comment above them."""
    text = (ROOT / "Cargo.toml").read_text()
    found, group = {}, []
    for line in text.splitlines():
        if line.startswith("#"):
            own = re.match(r"# ([\w ]+): this workspace's own", line)
            group = found.setdefault(own.group(1), []) if own else []
        elif match := re.match(r"sordino-([\w-]+) = \{ path = ", line):
            group.append(match.group(1))
    return found


def edges(known):
    """For each crate, the crates that it is built on, each with whether it is optional."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    data = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    found = {}
    for package in data["packages"]:
        name = package["name"].removeprefix(PREFIX)
        if name in known:
            needs = [need for need in package["dependencies"] if need["kind"] is None and need["name"].startswith(PREFIX)]
            found[name] = {need["name"].removeprefix(PREFIX): need["optional"] for need in needs}
    return found


def below(name, of):
    """All crates that a crate is built on, directly or indirectly."""
    found = set()
    todo = list(of[name])
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += of[one]
    return found


def reduced(of):
    """The edges without those that follow from two others."""
    return {
        name: {need: optional for need, optional in needs.items() if not any(need in below(other, of) for other in needs if other != need)}
        for name, needs in of.items()
    }


def floors(names, of):
    """The crates of a group in rows. A crate's row is above the rows of the group's crates that it is built on."""
    depth = {}

    def deep(name):
        if name not in depth:
            depth[name] = 1 + max((deep(need) for need in of[name] if need in names), default=-1)
        return depth[name]

    rows = [[] for _ in range(1 + max(map(deep, names)))]
    for name in names:
        rows[depth[name]].append(name)
    return rows[::-1]


def drawing(grouped, of):
    rows = [(group, row) for group, names in grouped.items() for row in floors(names, of)]
    width = LEFT + max(len(row) for _, row in rows) * (BOX + BETWEEN) + MARGIN
    place, bands, y = {}, [], MARGIN
    for group, row in rows:
        if not bands or bands[-1][0] != group:
            y += MARGIN if bands else 0
            bands.append([group, y, y])
        # Each crate is placed near the middle of the crates above that are built on it.
        above = {name: [place[other][0] for other in place if name in of[other]] for name in row}
        middle = {name: sum(xs) / len(xs) if xs else width for name, xs in above.items()}
        gap = (width - LEFT - MARGIN) / len(row)
        for at, name in enumerate(sorted(row, key=lambda name: (middle[name], name))):
            place[name] = (LEFT + gap * (at + 0.5), y + ROW / 2)
        y += ROW
        bands[-1][2] = y
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y + MARGIN}" font-family="sans-serif" font-size="13">',
        f"<style>\n{STYLE}\n</style>",
        f'<rect width="{width}" height="{y + MARGIN}" class="paper"/>',
    ]
    for group, top, end in bands:
        out.append(f'<rect x="{MARGIN}" y="{top}" width="{width - 2 * MARGIN}" height="{end - top}" rx="6" class="band"/>')
        out.append(f'<text x="{2 * MARGIN}" y="{(top + end) / 2 + 4:.0f}" class="group">{group}</text>')
    for name, needs in reduced(of).items():
        for need, optional in needs.items():
            (x, a), (to, b) = place[name], place[need]
            a, b = a + HIGH / 2, b - HIGH / 2
            dash = ' stroke-dasharray="4 3"' if optional else ""
            half = (a + b) / 2
            out.append(f'<path d="M{x:.0f} {a:.0f}C{x:.0f} {half:.0f} {to:.0f} {half:.0f} {to:.0f} {b:.0f}" class="line"{dash}/>')
    for name, (x, y) in place.items():
        out.append(f'<rect x="{x - BOX / 2:.0f}" y="{y - HIGH / 2:.0f}" width="{BOX}" height="{HIGH}" rx="4" class="crate"/>')
        out.append(f'<text x="{x:.0f}" y="{y + 4:.0f}" text-anchor="middle" class="name">{name}</text>')
    return "\n".join([*out, "</svg>", ""])


def main():
    grouped = groups()
    order = {name: at for at, names in enumerate(grouped.values()) for name in names}
    of = edges(order)
    wrong = [f"{name} is in the table of docs/crates.md and no crate" for name in order if name not in of]
    if not wrong:
        wrong = [f"{name} depends on {need}, which stands above it" for name in of for need in of[name] if order[need] < order[name]]
    for group, names in members().items():
        if not set(names) <= set(grouped.get(group, [])):
            wrong.append(f"Cargo.toml's group {group} differs from the one in docs/crates.md: {', '.join(names)}")
    if wrong:
        sys.exit("\n".join(wrong))
    svg = drawing(grouped, of)
    if "--check" not in sys.argv:
        DRAWING.write_text(svg)
    elif not DRAWING.exists() or DRAWING.read_text() != svg:
        sys.exit(f"{DRAWING.name} is old: run scripts/crate_map.py")


if __name__ == "__main__":
    main()
