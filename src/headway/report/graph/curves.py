"""Smooth edges between the layers of a drawing, vertical where they leave and enter a box."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise


class Curves:
    """Cubic segments from layer to layer along `routes`, whose waypoints are numbered from `waypoints` on.

    At a waypoint the slope is between those of the segments before and after it, limited so that the curve never
    overshoots (F. N. Fritsch, R. E. Carlson, "Monotone Piecewise Cubic Interpolation", SIAM J. Numer. Anal. 17(2),
    1980).
    """

    def __init__(
        self,
        x: Sequence[float],
        y: Sequence[float],
        routes: Iterable[Sequence[int]],
        *,
        waypoints: int,
        half: float,
        upright: bool,
    ) -> None:
        self._x = x
        self._y = y
        self._waypoints = waypoints
        self._half = half  # half the height of a box: edges begin below and end above boxes
        self._upright = upright  # cross layers vertically: a sloped edge would pass behind tall boxes
        self._slopes = {} if upright else self._at_waypoints(routes)

    def stretch(self, upper: int, lower: int) -> str:
        """The SVG path between two nodes or waypoints of neighbouring layers."""
        x, y = self._x, self._y
        start, end = y[upper] + self._beside(upper), y[lower] - self._beside(lower)
        through = f"V{y[lower] + self._half:.1f}" if self._upright and lower >= self._waypoints else ""
        leaves, arrives = (end - start) / self._share(upper), (end - start) / self._share(lower)
        return (
            f"M{x[upper]:.1f} {start:.1f}"
            f"C{x[upper] + leaves * self._slopes.get(upper, 0):.1f} {start + leaves:.1f} "
            f"{x[lower] - arrives * self._slopes.get(lower, 0):.1f} {end - arrives:.1f} "
            f"{x[lower]:.1f} {end:.1f}{through}"
        )

    def _share(self, node: int) -> float:
        return 3 if node in self._slopes else 2

    def _beside(self, node: int) -> float:
        return self._half if self._upright or node < self._waypoints else 0.0

    def _at_waypoints(self, routes: Iterable[Sequence[int]]) -> dict[int, float]:
        before: dict[int, int] = {}
        after: dict[int, set[int]] = {}
        for route in routes:
            for upper, lower in pairwise(route):
                before[lower] = upper
                after.setdefault(upper, set()).add(lower)
        slopes = {}
        for node in before.keys() & after.keys():
            if node >= self._waypoints:
                down = [self._steepness(node, lower) for lower in after[node]]
                slopes[node] = _between(self._steepness(before[node], node), sum(down) / len(down))
        return slopes

    def _steepness(self, upper: int, lower: int) -> float:
        return (self._x[lower] - self._x[upper]) / (self._y[lower] - self._y[upper])


def _between(first: float, second: float) -> float:
    """The harmonic mean of two slopes; 0 if their signs differ."""
    return 2 * first * second / (first + second) if first * second > 0 else 0.0
