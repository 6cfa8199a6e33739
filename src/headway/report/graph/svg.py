"""A workflow's graph as a self-contained SVG file for light and dark mode."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import fmean
from xml.sax.saxutils import escape

from msgspec import Struct
from rich.cells import cell_len

from headway.model.errors import InputError
from headway.report.graph.layout import Layout, lay_out
from headway.report.graph.names import shortened
from headway.report.graph.picture import TIMES, Box, Picture

MOST_BOXES = 1_500
_FEW_ENOUGH_FOR_NAMES = 40  # tasks in all,
_NARROW_ENOUGH_FOR_NAMES = 8  # and on one level
_WIDEST_WITH_NAMES = 1400  # pixels of boxes on a layer; names in a wider drawing would be too small to read
_LONGEST_NAME = 28
_LONGEST_TITLE = 70
_MARGIN = 28.0
_TOP = 84.0  # space for title and subtitle
_LINE = 17.0  # height of a line of the legend
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

STYLE = """
  text { font-family: "Helvetica Neue", Helvetica, Arial, "DejaVu Sans", sans-serif; font-size: 12px; fill: #24292f }
  .paper { fill: #ffffff }
  .title { font-size: 19px; font-weight: 600 }
  .quiet { fill: #6a737d }
  .edge { fill: none; stroke-opacity: .45; stroke-linecap: round }
  .back { fill: none; stroke-opacity: .6; stroke-dasharray: 4 4 }
  .path { fill: none; stroke: #24292f; stroke-width: 2.4; stroke-linecap: round; stroke-linejoin: round }
  .on-path { stroke: #24292f; stroke-width: 2.4 }
  .name { fill: #ffffff; font-weight: 600 }
  .caption { fill: #ffffff; font-size: 11px }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .paper { fill: #0d1117 }
    .quiet { fill: #9198a1 }
    .path, .on-path { stroke: #f0f6fc }
    .edge { stroke-opacity: .6 }
    .name, .caption { fill: #ffffff }
  }
"""


class _Look(Struct, frozen=True):
    """How boxes are drawn: as dots if there are many, otherwise as boxes with names."""

    dots: bool
    height: float
    gap: float  # between neighbours
    rise: float  # free space between one layer and the next


def svg_lines(title: str, subtitle: str, picture: Picture) -> Iterator[str]:
    """The drawing, layer by layer from the top."""
    if len(picture.boxes) > MOST_BOXES:
        kind = "tasks" if picture.by == "task" else "categories"
        what = f"a drawing of {len(picture.boxes):,} {kind} would be unreadable"
        by = "draw it `--by category`, or " if picture.by == "task" else ""
        raise InputError(what, todo=f"{by}write it with `--format dot` for programs that can zoom")
    leads_back = any(line.back for line in picture.lines)
    subtitle += "; dashed lines lead back" if leads_back else ""
    title = shortened(title, _LONGEST_TITLE)
    look = _look(picture)
    widths = [look.height if look.dots else _box_width(box) for box in picture.boxes]
    forward = [(line.source, line.target) for line in picture.lines if not line.back]
    backbone = () if look.dots else {(line.source, line.target) for line in picture.lines if line.critical}
    layout = lay_out([box.layer for box in picture.boxes], forward, widths, look.gap, 5.0, backbone)
    legend = _legend(picture, look)
    y, bottom = _heights(picture, look, legend)
    left = _MARGIN + _legend_width(legend, picture.labels)
    width = max(
        left + layout.width + _MARGIN + (60 if leads_back else 0),
        _MARGIN * 2 + max(_wide(subtitle), _wide(title) * 1.7 + 160),
        360,
    )
    if left + layout.width + _MARGIN < width:  # centre a narrow graph
        left += (width - left - _MARGIN - layout.width) / 2
    height = bottom + _MARGIN
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img">'
    )
    yield f"<title>{_text(title)}</title><desc>{_text(subtitle)}</desc>"
    yield f"<style>{STYLE}</style>"
    yield f'<rect class="paper" width="{width:.0f}" height="{height:.0f}" rx="8"/>'
    yield f'<text class="title" x="{_MARGIN:g}" y="42">{_text(title)}</text>'
    yield f'<text class="quiet" x="{_MARGIN:g}" y="63">{_text(subtitle)}</text>'
    yield (
        f'<path class="path" d="M{width - _MARGIN - 100:.1f} 38h22"/>'
        f'<text class="quiet" text-anchor="end" x="{width - _MARGIN:.1f}" y="42">critical path</text>'
    )
    yield from _draw_legend(legend, picture, y)
    x = [place + left for place in layout.x]
    yield from _draw_lines(picture, look, layout, x, y)
    yield from _draw_boxes(picture, look, widths, x, y)
    yield "</svg>"


def _look(picture: Picture) -> _Look:
    widest = max(Counter(box.layer for box in picture.boxes).values(), default=0)
    few = len(picture.boxes) <= _FEW_ENOUGH_FOR_NAMES and widest <= _NARROW_ENOUGH_FOR_NAMES
    widths = Counter[int]()
    for box in picture.boxes:
        widths[box.layer] += int(_box_width(box))
    if (picture.by == "category" or few) and max(widths.values(), default=0) <= _WIDEST_WITH_NAMES:
        tall = any(box.caption for box in picture.boxes)
        return _Look(False, 42.0 if tall else 28.0, 22.0, 44.0)
    return _Look(True, 18.0, 12.0, 44.0) if widest <= 40 else _Look(True, 11.0, 6.0, 60.0)


def _box_width(box: Box) -> float:
    return max(54.0, 24 + max(_wide(_short(box.label)) * 1.08, _wide(box.caption) * 0.92))


# --- the legend beside each layer ---


def _legend(picture: Picture, look: _Look) -> dict[int, list[tuple[str, int]]]:
    """(category, number of tasks) by layer; empty if boxes are labelled with their categories."""
    if picture.by == "category" and not look.dots:
        return {}
    layers: dict[int, Counter[str]] = {}
    for box in picture.boxes:
        layers.setdefault(box.layer, Counter())[box.category] += box.tasks
    return {layer: list(found.items()) for layer, found in layers.items()}


def _legend_width(legend: dict[int, list[tuple[str, int]]], labels: dict[str, str]) -> float:
    entries = [entry for each in legend.values() for entry in each]
    words = [_short(labels[name]) + (f" {TIMES} {tasks:,}" if tasks > 1 else "") for name, tasks in entries]
    return 22 + max(map(_wide, words)) + 24 if words else 0.0


def _heights(picture: Picture, look: _Look, legend: dict[int, list[tuple[str, int]]]) -> tuple[list[float], float]:
    """The y coordinate of the middle of each layer, and of the end of the last one."""
    y: list[float] = []
    edge = _TOP
    for layer in range(1 + max((box.layer for box in picture.boxes), default=-1)):
        beside = _LINE * len(legend.get(layer, ())) + 6
        half = max(look.height, beside - look.rise / 2) / 2
        y.append(edge + half)
        edge += 2 * half + look.rise
    return y, max(edge - look.rise, _TOP)


def _draw_legend(legend: dict[int, list[tuple[str, int]]], picture: Picture, y: list[float]) -> Iterator[str]:
    for layer, entries in legend.items():
        top = y[layer] - _LINE * (len(entries) - 1) / 2
        for place, (name, tasks) in enumerate(entries):
            at = top + _LINE * place
            yield (
                f'<rect x="{_MARGIN:g}" y="{at - 5:.1f}" width="10" height="10" rx="3" fill="{picture.colours[name]}"/>'
                f'<text x="{_MARGIN + 17:g}" y="{at + 4:.1f}">{_text(_short(picture.labels[name]))}'
                + (f'<tspan class="quiet"> {TIMES} {tasks:,}</tspan>' if tasks > 1 else "")
                + "</text>"
            )


# --- lines and boxes ---


def _draw_lines(picture: Picture, look: _Look, layout: Layout, x: list[float], y: list[float]) -> Iterator[str]:
    """Draw all edges; those from one box are one path, so that shared segments do not darken. Critical path on top."""
    heights, waypoints = [y[layer] for layer in layout.layer], len(picture.boxes)
    slopes = _slopes(x, heights, layout.routes.values(), waypoints) if look.dots else None
    curves = _Curves(x, heights, waypoints, look.height / 2, slopes)
    of_source: dict[int, dict[tuple[int, int], int]] = {}
    critical: list[list[int]] = []
    for line in picture.lines:
        if line.back:
            yield _draw_back(picture, line.source, line.target, x, y)
            continue
        route = layout.routes[line.source, line.target]
        stretches = of_source.setdefault(line.source, {})
        for pair in pairwise(route):
            stretches[pair] = max(stretches.get(pair, 0), line.dependencies)
        if line.critical:
            critical.append(route)
    for source, stretches in of_source.items():
        colour = picture.colours[picture.boxes[source].category]
        for thickness in sorted({_thickness(dependencies) for dependencies in stretches.values()}):
            pairs = [pair for pair, dependencies in stretches.items() if _thickness(dependencies) == thickness]
            path = "".join(curves.stretch(*pair) for pair in pairs)
            yield f'<path class="edge" stroke="{colour}" stroke-width="{thickness:g}" d="{path}"/>'
    for route in critical:
        path = "".join(curves.stretch(*pair) for pair in pairwise(route))
        yield f'<path class="path" d="{path}"/>'


def _thickness(dependencies: int) -> float:
    """The width of a line: one step more for each factor of ten in the number of dependencies."""
    return 1.2 + 0.9 * (len(str(dependencies)) - 1)


def _draw_back(picture: Picture, source: int, target: int, x: list[float], y: list[float]) -> str:
    """A dashed edge to an earlier layer, around the right side."""
    start, end = y[picture.boxes[source].layer], y[picture.boxes[target].layer]
    reach = max(x) + 70
    colour = picture.colours[picture.boxes[source].category]
    path = f"M{x[source]:.1f} {start:.1f}C{reach:.1f} {start:.1f} {reach:.1f} {end:.1f} {x[target]:.1f} {end:.1f}"
    return f'<path class="back" stroke="{colour}" stroke-width="1.4" d="{path}"/>'


def _draw_boxes(picture: Picture, look: _Look, widths: list[float], x: list[float], y: list[float]) -> Iterator[str]:
    for place, box in enumerate(picture.boxes):
        at, middle, colour = x[place], y[box.layer], picture.colours[box.category]
        mark = ' class="on-path"' if box.critical else ""
        yield f"<g><title>{_text(chr(10).join((box.name, *box.notes)))}</title>"
        if look.dots:
            yield f'<circle cx="{at:.1f}" cy="{middle:.1f}" r="{look.height / 2:g}" fill="{colour}"{mark}/></g>'
            continue
        left, top, wide = at - widths[place] / 2, middle - look.height / 2, widths[place]
        size = f'width="{wide:.1f}" height="{look.height:g}" rx="7" fill="{colour}"'
        if box.tasks > 1:  # drawn as a stack of boxes
            yield f'<rect x="{left + 5:.1f}" y="{top + 5:.1f}" {size} fill-opacity=".35"/>'
        yield f'<rect x="{left:.1f}" y="{top:.1f}" {size}{mark}/>'
        down = middle + 4 - (8 if box.caption else 0)
        yield f'<text class="name" text-anchor="middle" x="{at:.1f}" y="{down:.1f}">{_text(_short(box.label))}</text>'
        if box.caption:
            where = f'text-anchor="middle" x="{at:.1f}" y="{down + 16:.1f}"'
            yield f'<text class="caption" {where}>{_text(box.caption)}</text>'
        yield "</g>"


def _wide(words: str) -> float:
    """The approximate width of text at 12 px, in the wider of the usual fonts."""
    narrow = sum(letter in "iljtfrI.,:;'|![]() " for letter in words)
    capital = sum(letter.isupper() or letter in "mwMW@%_" for letter in words) - words.count("I")
    return 7.4 * cell_len(words) - 2.7 * narrow + 1.5 * capital


def _short(name: str) -> str:
    return shortened(name, _LONGEST_NAME)


def _text(words: str) -> str:
    """Text escaped for XML, without characters that XML forbids."""
    return escape(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", words))


# --- curves ---


class _Curves(Struct, frozen=True):
    """Cubic segments from layer to layer along routes, whose waypoints are numbered from `waypoints` on.

    At a waypoint the slope is between those of the segments before and after it, limited so that the curve never
    overshoots (F. N. Fritsch, R. E. Carlson, "Monotone Piecewise Cubic Interpolation", SIAM J. Numer. Anal. 17(2),
    1980).
    """

    x: Sequence[float]
    y: Sequence[float]
    waypoints: int
    half: float  # half the height of a box: edges begin below and end above boxes
    slopes: dict[int, float] | None  # None: cross layers vertically, since a sloped edge would pass behind tall boxes

    def stretch(self, upper: int, lower: int) -> str:
        """The SVG path between two nodes or waypoints of neighbouring layers."""
        x, y, slopes = self.x, self.y, self.slopes or {}
        start, end = y[upper] + self._beside(upper), y[lower] - self._beside(lower)
        through = f"V{y[lower] + self.half:.1f}" if self.slopes is None and lower >= self.waypoints else ""
        leaves, arrives = ((end - start) / (3 if node in slopes else 2) for node in (upper, lower))
        return (
            f"M{x[upper]:.1f} {start:.1f}"
            f"C{x[upper] + leaves * slopes.get(upper, 0):.1f} {start + leaves:.1f} "
            f"{x[lower] - arrives * slopes.get(lower, 0):.1f} {end - arrives:.1f} "
            f"{x[lower]:.1f} {end:.1f}{through}"
        )

    def _beside(self, node: int) -> float:
        return self.half if self.slopes is None or node < self.waypoints else 0.0


def _slopes(
    x: Sequence[float], y: Sequence[float], routes: Iterable[Sequence[int]], waypoints: int
) -> dict[int, float]:
    """The slope at each waypoint: the harmonic mean of those before and after it; 0 if their signs differ."""
    before: dict[int, int] = {}
    after: dict[int, set[int]] = {}
    for upper, lower in {pair for route in routes for pair in pairwise(route)}:
        before[lower] = upper
        after.setdefault(upper, set()).add(lower)

    def steepness(upper: int, lower: int) -> float:
        return (x[lower] - x[upper]) / (y[lower] - y[upper])

    slopes = {}
    for node in range(waypoints, len(x)):
        first, second = steepness(before[node], node), fmean(steepness(node, lower) for lower in after[node])
        slopes[node] = 2 * first * second / (first + second) if first * second > 0 else 0.0
    return slopes
