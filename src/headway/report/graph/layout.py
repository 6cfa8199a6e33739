"""The positions of nodes in a layered drawing, by the method of Sugiyama et al.

An edge that spans several layers gets a waypoint on each. Each layer is ordered by the barycentres of the nodes'
neighbours, which leaves few crossings. Then nodes move as close to the mean position of their neighbours as order and
gaps allow. K. Sugiyama, S. Tagawa, M. Toda, "Methods for Visual Understanding of Hierarchical System Structures", IEEE
Transactions on Systems, Man, and Cybernetics 11(2), 1981.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, pairwise
from statistics import fmean

from msgspec import Struct

_SWEEPS = 12
_PLACING_SWEEPS = 60
_MOST_WAYPOINTS = 20_000  # with more, long edges are drawn straight
_COUNTED_EDGES = 20_000  # with more, counting crossings would take too long
_BACKBONE = 1e5  # weight of the backbone: other nodes move around it
_STRAIGHT = 20.0  # weight between waypoints of one edge, relative to that of an ordinary neighbour


class Layout(Struct, frozen=True):
    """The x coordinate of the middle of each node and waypoint, and the route of each edge.

    Nodes keep their numbers; waypoints are numbered after them.
    """

    x: list[float]
    layer: list[int]
    routes: dict[tuple[int, int], list[int]]
    width: float


def lay_out(
    layer: Sequence[int],
    edges: Sequence[tuple[int, int]],
    widths: Sequence[float],
    gap: float,
    waypoint_width: float,
    backbone: Collection[tuple[int, int]] = (),
) -> Layout:
    """Place nodes on the given layers, at least `gap` apart; edges of the `backbone` are kept straight.

    Every edge must lead to a later layer.
    """
    nodes = len(layer)
    layers, routes = _with_waypoints(list(layer), edges)
    segments = sorted({pair for route in routes.values() for pair in pairwise(route)})
    above: list[list[int]] = [[] for _ in layers]
    below: list[list[int]] = [[] for _ in layers]
    for upper, lower in segments:
        below[upper].append(lower)
        above[lower].append(upper)
    rows: list[list[int]] = [[] for _ in range(1 + max(layers, default=-1))]
    for node, row in enumerate(layers):
        rows[row].append(node)
    rows = _ordered(rows, above, below, segments)
    wide = [*widths, *([waypoint_width] * (len(layers) - nodes))]
    # Segments pull more between waypoints, and slightly more at the ends of long edges.
    pull = (1.0, 2.0, _STRAIGHT)
    pulls = {pair: _BACKBONE if pair in backbone else pull[sum(node >= nodes for node in pair)] for pair in segments}
    x = _placed(rows, above, below, wide, gap, pulls)
    left = min((x[node] - wide[node] / 2 for node in range(len(x))), default=0.0)
    right = max((x[node] + wide[node] / 2 for node in range(len(x))), default=0.0)
    return Layout([place - left for place in x], layers, routes, right - left)


def _with_waypoints(
    layers: list[int], edges: Sequence[tuple[int, int]]
) -> tuple[list[int], dict[tuple[int, int], list[int]]]:
    """Layers with waypoints, and routes; long edges of one node share waypoints, as a trunk with branches."""
    farthest: dict[int, int] = {}
    for upper, lower in edges:
        farthest[upper] = max(farthest.get(upper, 0), layers[lower] - layers[upper])
    straight = sum(far - 1 for far in farthest.values()) > _MOST_WAYPOINTS
    trunk: dict[tuple[int, int], int] = {}
    routes: dict[tuple[int, int], list[int]] = {}
    for upper, lower in edges:
        route = [upper]
        for passed in () if straight else range(layers[upper] + 1, layers[lower]):
            if (upper, passed) not in trunk:
                trunk[upper, passed] = len(layers)
                layers.append(passed)
            route.append(trunk[upper, passed])
        routes[upper, lower] = [*route, lower]
    return layers, routes


def _ordered(
    rows: list[list[int]], above: list[list[int]], below: list[list[int]], segments: Sequence[tuple[int, int]]
) -> list[list[int]]:
    """Sort rows by barycentres, downwards and upwards in turn, and return the order with the fewest crossings."""
    if len(segments) > _COUNTED_EDGES:
        for sweep in range(4):
            _sweep(rows, below if sweep % 2 else above, upwards=bool(sweep % 2))
        return rows
    best, fewest = [list(row) for row in rows], _crossings(rows, below)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        _sweep(rows, below if sweep % 2 else above, upwards=bool(sweep % 2))
        crossings = _crossings(rows, below)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _sweep(rows: list[list[int]], neighbours: list[list[int]], *, upwards: bool) -> None:
    place = {node: index / max(1, len(row) - 1) for row in rows for index, node in enumerate(row)}
    for row in reversed(rows) if upwards else rows:
        centre = {node: fmean(place[other] for other in neighbours[node] or [node]) for node in row}
        row.sort(key=centre.__getitem__)
        place |= {node: index / max(1, len(row) - 1) for index, node in enumerate(row)}


def _crossings(rows: list[list[int]], below: list[list[int]]) -> int:
    """The number of pairs of edges that cross between neighbouring layers."""
    crossings = 0
    for row, next_row in pairwise(rows):
        place = {node: index for index, node in enumerate(next_row)}
        seen: list[int] = []
        for node in row:
            ends = sorted(place[other] for other in below[node] if other in place)
            crossings += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return crossings


def _placed(
    rows: list[list[int]],
    above: list[list[int]],
    below: list[list[int]],
    wide: Sequence[float],
    gap: float,
    pull: Mapping[tuple[int, int], float],
) -> list[float]:
    x = [0.0] * len(wide)
    for row in rows:
        _put(row, dict.fromkeys(row, 0.0), dict.fromkeys(row, 1.0), wide, gap, x)
    for sweep in range(_PLACING_SWEEPS):
        both = sweep >= _PLACING_SWEEPS // 4
        upwards = bool(sweep % 2)
        for row in reversed(rows) if upwards else rows:
            wishes, weights = {}, {}
            for node in row:
                pulls = [(x[other], pull[other, node]) for other in above[node]] if both or not upwards else []
                pulls += [(x[other], pull[node, other]) for other in below[node]] if both or upwards else []
                weights[node] = sum(strength for _, strength in pulls) or 0.01
                wishes[node] = sum(place * strength for place, strength in pulls) / weights[node] if pulls else x[node]
            _put(row, wishes, weights, wide, gap, x)
    return x


def _put(
    row: Sequence[int],
    wishes: Mapping[int, float],
    weights: Mapping[int, float],
    wide: Sequence[float],
    gap: float,
    x: list[float],
) -> None:
    """Set the positions nearest to the wishes (weighted least squares) that keep order and gaps.

    The algorithm is pool-adjacent-violators (isotonic regression).
    """
    apart = ((wide[left] + wide[right]) / 2 + gap for left, right in pairwise(row))
    offsets = list(accumulate(apart, initial=0.0))[: len(row)]
    blocks: list[tuple[float, float, int]] = []  # mean wish without offsets, weight, members
    for node, shift in zip(row, offsets, strict=True):
        mean, weight, members = wishes[node] - shift, weights[node], 1
        while blocks and blocks[-1][0] >= mean:
            last_mean, last_weight, last_members = blocks.pop()
            mean = (last_mean * last_weight + mean * weight) / (last_weight + weight)
            weight, members = last_weight + weight, last_members + members
        blocks.append((mean, weight, members))
    means = [mean for mean, _, members in blocks for _ in range(members)]
    for node, shift, mean in zip(row, offsets, means, strict=True):
        x[node] = mean + shift
