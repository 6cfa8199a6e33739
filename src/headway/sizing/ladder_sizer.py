"""The sizers of `ladder`, the default: one for each resource."""

from __future__ import annotations

from headway.sizing.base import Sizer
from headway.sizing.estimated import EstimatedSizer
from headway.sizing.estimators.ladder import Ladder
from headway.sizing.walltime import WalltimeFromQuantiles


def ladder_sizer(resource: str) -> Sizer:
    """Return a new sizer: for walltime by the runtime model, for everything else by a ladder of amounts."""
    if resource == "walltime_s":
        return WalltimeFromQuantiles(Ladder.name)
    # Peaks are counted in units well below them: in bytes, or in millionths of a core.
    return EstimatedSizer(Ladder(unit=1e-6 if resource == "cores" else 1.0), resource)
