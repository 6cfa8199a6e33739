"""The frame: the rectangle of sky that the mosaic covers, and the grid of tiles that covers it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

COLUMNS = "abcd"
ROWS = "123"
DEFAULT_PITCH_PX = 900


@dataclass(frozen=True)
class Frame:
    """The mosaic's pixel grid, which is also our coordinate system of the sky.

    Its size follows from one number, the distance between neighbouring tile centres, so that the same
    workflow can be made smaller or larger without moving a tile.
    """

    pitch_px: int = DEFAULT_PITCH_PX

    @classmethod
    def from_environment(cls) -> Frame:
        """The frame that the workflow's ``env`` asks for."""
        return cls(int(os.environ.get("MOSAIC_PITCH_PX", DEFAULT_PITCH_PX)))

    @property
    def width_px(self) -> int:
        return len(COLUMNS) * self.pitch_px

    @property
    def height_px(self) -> int:
        return len(ROWS) * self.pitch_px

    def tile_centre(self, tile: str) -> tuple[float, float]:
        """Where the tile called e.g. ``b3`` should point, as on a chess board: column b, row 3."""
        column, row = COLUMNS.index(tile[0]), ROWS.index(tile[1])
        return (column + 0.5) * self.pitch_px, (row + 0.5) * self.pitch_px

    def plane_basis(self, x: Array, y: Array) -> Array:
        """The three functions 1, x, y of which a plane is made, on a new last axis.

        Counted from the frame's middle in units of a tile, so that the offset and the two slopes are
        numbers of the same order and least squares over them is well conditioned.
        """
        across = (x - self.width_px / 2) / self.pitch_px
        down = (y - self.height_px / 2) / self.pitch_px
        return np.stack(np.broadcast_arrays(1.0, across, down), axis=-1)


def tiles() -> list[str]:
    """All tile names, row by row."""
    return [column + row for row in ROWS for column in COLUMNS]
