"""What a call or a task used, as plain numbers with their quality beside them."""

from __future__ import annotations

from msgspec import Struct

from headway.model import outcome
from headway.model.outcome import Measured


class Usage(Struct, frozen=True):
    """What an attempt used; None where nothing could be measured.

    `quality` says by the name of a figure whether it is `exact`, `sampled` (a short peak may have been higher), a
    `lower-bound` (the attempt was stopped) or an `upper-bound` (with page cache).
    """

    wall_s: float | None
    cpu_s: float | None
    memory_bytes: float | None
    disk_bytes: float | None
    cores_peak: float | None
    cores_average: float | None
    method: str  # how it was measured: cgroup-v1, cgroup-v2, polling, or shared
    quality: dict[str, str]
    gpu_memory_bytes: float | None = None  # on all its GPUs together
    gpus_average: float | None = None  # how many GPUs it kept busy


_FIGURES = [name for name in Usage.__struct_fields__ if name not in ("method", "quality")]


def plain_usage(measured: outcome.Usage) -> Usage:
    """Take the figures and their quality apart."""
    found = {name: getattr(measured, name) for name in _FIGURES}
    figures = {name: each for name, each in found.items() if isinstance(each, Measured)}
    return Usage(
        **{name: figures[name].value if name in figures else None for name in _FIGURES},
        method=measured.method,
        quality={name: each.quality.value for name, each in figures.items()},
    )
