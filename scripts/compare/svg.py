"""Charts as SVG: lines, bars, parts of bars, and ratios. Colours that all eyes tell apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

# Okabe and Ito's palette, with a marker for each colour, so that colour is never the only distinction.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = ("circle", "square", "triangle", "diamond", "cross", "circle", "square")
INK, FAINT = "#222222", "#dddddd"


@dataclass(frozen=True)
class Line:
    """A series of points. A dashed series is a reference line and has no markers."""

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False
    lone: bool = False  # True if the points are not joined
    style: int | None = None  # colour and marker; by default the line's position chooses them
    hollow: bool = False


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis between two values, or a linear one from 0."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = True

    def at(self, value: float) -> float:
        if self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Six equally spaced values on a linear axis. On a logarithmic one, powers of ten, with 2 and 5 between them if there is room."""
        if not self.logarithmic:
            return [self.low + (self.high - self.low) * i / 5 for i in range(6)]
        decades = math.log10(self.high / self.low)
        steps = (1, 2, 5) if decades < 2.5 else (1,)
        first = math.floor(math.log10(self.low))
        every = [step * 10.0**power for power in range(first, first + 20) for step in steps]
        return [tick for tick in every if self.low * 0.999 <= tick <= self.high * 1.001]


def text(
    x: float,
    y: float,
    what: str,
    anchor: str = "start",
    size: int = 12,
    turn: int = 0,
    weight: str = "normal",
) -> str:
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}"{turned}>{escape(what)}</text>'


def stroke(x1: float, y1: float, x2: float, y2: float, colour: str = FAINT) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def marker(kind: str, x: float, y: float, colour: str, hollow: bool = False) -> str:
    paint = f'fill="#ffffff" stroke="{colour}" stroke-width="2"' if hollow else f'fill="{colour}"'
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" {paint}/>'
    shapes = {
        "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        "triangle": ((0, -5.5), (5, 4), (-5, 4)),
        "diamond": ((0, -5.5), (5.5, 0), (0, 5.5), (-5.5, 0)),
        "cross": (
            (-5, -2),
            (-2, -5),
            (0, -2),
            (2, -5),
            (5, -2),
            (2, 0),
            (5, 2),
            (2, 5),
            (0, 2),
            (-2, 5),
            (-5, 2),
            (-2, 0),
        ),
    }
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in shapes[kind])
    return f'<polygon points="{points}" {paint}/>'


def page(width: int, height: int, title: str, body: Sequence[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="sans-serif" fill="{INK}" role="img" aria-label="{escape(title)}">',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            text(20, 26, title, size=15, weight="bold"),
            *body,
            "</svg>\n",
        ]
    )


@dataclass(frozen=True)
class Style:
    """How a series is drawn, in the chart and in the legend."""

    colour: str
    marker: str
    line: Line

    def stroke(self, points: Sequence[tuple[float, float]]) -> str:
        dash = ' stroke-dasharray="6 4"' if self.line.dashed else ""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        return (
            f'<polyline points="{path}" fill="none" stroke="{self.colour}" stroke-width="2"{dash}/>'
        )

    def draw(self, points: Sequence[tuple[float, float]]) -> list[str]:
        """The line, unless the points are not joined, and the markers, unless it is a reference line."""
        body = [] if self.line.lone else [self.stroke(points)]
        if not self.line.dashed:
            body += [marker(self.marker, x, y, self.colour, self.line.hollow) for x, y in points]
        return body


def style(place: int, line: Line) -> Style:
    at = (place if line.style is None else line.style) % len(COLOURS)
    return Style(INK if line.dashed else COLOURS[at], MARKERS[at], line)


def legend(x: float, y: float, styles: Sequence[Style]) -> list[str]:
    """One entry below the other: a sample of the line with its marker, and the series' name."""
    body = []
    for i, each in enumerate(styles):
        at = y + 20 * i
        if not each.line.lone:
            body.append(each.stroke([(x, at), (x + 24, at)]))
        if not each.line.dashed:
            body.append(marker(each.marker, x + 12, at, each.colour, each.line.hollow))
        body.append(text(x + 31, at + 4, each.line.name))
    return body


def span(values: Sequence[float]) -> tuple[float, float]:
    """Bounds with a little room on both sides of the values."""
    return min(values) / 1.3, max(values) * 1.3


def unmeasured(title: str) -> str:
    """A chart without data, which says so."""
    return page(860, 120, title, [text(20, 60, "not measured in this run")])


def rectangle(left: float, right: float, y: float, height: float, colour: str) -> str:
    return f'<rect x="{left:.1f}" y="{y:.1f}" width="{right - left:.1f}" height="{height}" fill="{colour}"/>'


def line_chart(
    title: str,
    x_label: str,
    y_label: str,
    lines: Sequence[Line],
    x_text: Callable[[float], str],
    y_text: Callable[[float], str],
    x_ticks: Sequence[float] = (),
    linear_y: tuple[float, float] | None = None,
) -> str:
    """A chart of lines over a logarithmic x axis."""
    lines = [line for line in lines if line.points]
    width, height, left, right, top, bottom = 900, 440, 84, 600, 48, 374
    if not lines:
        return unmeasured(title)
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points]
    x_axis = Axis(*span(xs), left, right)
    y_axis = Axis(*(linear_y or span(ys)), bottom, top, logarithmic=linear_y is None)
    body = []
    for tick in y_axis.ticks():
        body += [
            stroke(left, y_axis.at(tick), right, y_axis.at(tick)),
            text(left - 8, y_axis.at(tick) + 4, y_text(tick), "end"),
        ]
    for tick in x_ticks or x_axis.ticks():
        body += [
            stroke(x_axis.at(tick), top, x_axis.at(tick), bottom),
            text(x_axis.at(tick), bottom + 20, x_text(tick), "middle"),
        ]
    body += [stroke(left, bottom, right, bottom, INK), stroke(left, top, left, bottom, INK)]
    body += [
        text((left + right) / 2, bottom + 46, x_label, "middle"),
        text(22, (top + bottom) / 2, y_label, "middle", turn=-90),
    ]
    styles = [style(i, line) for i, line in enumerate(lines)]
    for each in styles:
        places = [(x_axis.at(x), y_axis.at(y)) for x, y in sorted(each.line.points)]
        body += each.draw(places)
    return page(width, height, title, body + legend(right + 24, top + 14, styles))


@dataclass(frozen=True)
class Bar:
    name: str
    value: float
    ours: bool


def bar_chart(
    title: str,
    x_label: str,
    panels: Sequence[tuple[str, Sequence[Bar]]],
    shown: Callable[[float], str],
) -> str:
    """Horizontal bars in panels below each other, on one logarithmic axis."""
    panels = [(name, bars) for name, bars in panels if bars]
    if not panels:
        return unmeasured(title)
    values = [bar.value for _, bars in panels for bar in bars]
    left, right, row = 300, 770, 21
    # A bar starts at a power of ten below the smallest value, so that lengths compare by decades.
    axis = Axis(10 ** math.floor(math.log10(min(values)) - 0.05), max(values) * 1.1, left, right)
    y, body = 60.0, []
    for name, bars in panels:
        body.append(text(20, y + 6, name, weight="bold"))
        y += 16
        start = y
        rows = []
        for bar in sorted(bars, key=lambda bar: bar.value):
            end = axis.at(bar.value)
            colour = COLOURS[0] if bar.ours else "#999999"
            rows += [
                rectangle(left, end, y, row - 6, colour),
                text(left - 8, y + 12, bar.name, "end", weight="bold" if bar.ours else "normal"),
                text(end + 6, y + 12, shown(bar.value), size=11),
            ]
            y += row
        for tick in axis.ticks():
            body.append(stroke(axis.at(tick), start - 4, axis.at(tick), y))
        body += rows
        y += 18
    for tick in axis.ticks():
        body.append(text(axis.at(tick), y, shown(tick), "middle", size=11))
    body.append(text((left + right) / 2, y + 24, x_label, "middle"))
    return page(860, round(y + 40), title, body)


@dataclass(frozen=True)
class Parts:
    """A bar of parts that follow each other. Its values are in the order of the chart's parts."""

    name: str
    values: Sequence[float]


def parts_chart(
    title: str,
    parts: Sequence[str],
    panels: Sequence[tuple[str, Sequence[Parts]]],
    shown: Callable[[float], str],
) -> str:
    """Horizontal bars of parts, in panels below each other. Each panel has its own linear axis from 0."""
    panels = [(name, bars) for name, bars in panels if bars]
    if not panels:
        return unmeasured(title)
    left, right, row = 120, 700, 21
    y, body = 60.0, []
    for i, part in enumerate(parts):
        at = left + 200 * i
        body += [rectangle(at, at + 12, y - 10, 12, COLOURS[i]), text(at + 18, y, part)]
    y += 28
    for name, bars in panels:
        body.append(text(20, y + 6, name, weight="bold"))
        y += 16
        axis = Axis(0.0, max(sum(bar.values) for bar in bars), left, right, logarithmic=False)
        for bar in bars:
            body.append(text(left - 8, y + 12, bar.name, "end"))
            done = 0.0
            for i, value in enumerate(bar.values):
                start, end = axis.at(done), axis.at(done + value)
                body.append(rectangle(start, end, y, row - 6, COLOURS[i]))
                done += value
            body.append(text(axis.at(done) + 6, y + 12, shown(done), size=11))
            y += row
        y += 18
    return page(860, round(y + 6), title, body)


@dataclass(frozen=True)
class Ratios:
    """One comparison: each peer's time divided by ours."""

    name: str
    peers: Sequence[tuple[str, float]]


def ratio_chart(title: str, x_label: str, rows: Sequence[Ratios], shown: Callable[[float], str]) -> str:
    """A row of points for each comparison. A line marks 1, and the text names the fastest peer."""
    rows = [row for row in rows if row.peers]
    if not rows:
        return unmeasured(title)
    values = [ratio for row in rows for _, ratio in row.peers]
    left, right, top, height = 290, 640, 48, 24
    axis = Axis(*span([*values, 1.0]), left, right)
    bottom = top + height * len(rows)
    body = [stroke(axis.at(tick), top, axis.at(tick), bottom) for tick in axis.ticks()]
    body += [text(axis.at(tick), bottom + 18, shown(tick), "middle", size=11) for tick in axis.ticks()]
    body.append(stroke(axis.at(1.0), top, axis.at(1.0), bottom, INK))
    for i, row in enumerate(rows):
        y = top + height * i + 14
        body.append(text(left - 8, y + 4, row.name, "end"))
        for _, ratio in row.peers:
            body.append(marker("circle", axis.at(ratio), y, COLOURS[0 if ratio >= 1.0 else 1]))
        name, least = min(row.peers, key=lambda peer: peer[1])
        body.append(text(right + 12, y + 4, f"{name} {shown(least)}", size=11))
    body.append(text((left + right) / 2, bottom + 40, x_label, "middle"))
    return page(900, bottom + 56, title, body)
