"""A plot on a canvas: its place, its axes, its grid and its curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match.canvas import Canvas, Colour
from match.sequences import Array

PANEL, GRID = (0.07, 0.09, 0.145), (0.15, 0.18, 0.26)
INK, PALE = (0.93, 0.94, 0.97), (0.60, 0.65, 0.75)


@dataclass(frozen=True)
class Panel:
    """A plot's place on the canvas and its axes; a logarithmic axis is given by its lower and upper end as well."""

    canvas: Canvas
    left: float
    top: float
    right: float
    bottom: float
    x: tuple[float, float]
    y: tuple[float, float]
    log_x: bool = False
    log_y: bool = False

    def across(self, value: float) -> float:
        low, high = np.log(self.x) if self.log_x else self.x
        share = ((np.log(value) if self.log_x else value) - low) / (high - low)
        return float(self.left + np.clip(share, 0, 1) * (self.right - self.left))

    def up(self, value: float) -> float:
        low, high = np.log(self.y) if self.log_y else self.y
        share = ((np.log(max(value, self.y[0])) if self.log_y else value) - low) / (high - low)
        return float(self.bottom - np.clip(share, 0, 1) * (self.bottom - self.top))

    def frame(self, title: str, x_name: str, y_name: str, x_marks: dict[float, str], y_marks: dict[float, str]) -> None:
        """Ground, grid, names; the y axis is named above itself, where it can be read without turning one's head."""
        canvas = self.canvas
        canvas.box(self.left, self.top, self.right, self.bottom, PANEL)
        for value, mark in x_marks.items():
            x = self.across(value)
            canvas.line([(x, self.top), (x, self.bottom)], GRID, 1)
            canvas.text(x, self.bottom + 26, mark, PALE, 12, align=0.5)
        for value, mark in y_marks.items():
            y = self.up(value)
            canvas.line([(self.left, y), (self.right, y)], GRID, 1)
            canvas.text(self.left - 12, y + 6, mark, PALE, 12, align=1)
        canvas.text(self.left, self.top - 42, title, INK, 17)
        canvas.text(self.left, self.top - 14, y_name, PALE, 12)
        canvas.text(self.right, self.bottom + 52, x_name, PALE, 12, align=1)

    def curve(self, xs: Array, ys: Array, colour: Colour, pen: float) -> None:
        """Leaves out what lies below the panel."""
        points = [(self.across(x), self.up(y)) for x, y in zip(xs, ys, strict=True) if y >= self.y[0]]
        if points:
            self.canvas.line(points, colour, pen)
