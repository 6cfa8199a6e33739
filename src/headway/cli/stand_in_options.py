"""The options of `headway run` about stand-ins; the function gets them as `stand_ins`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from headway.cli.options import option
from headway.model.errors import InputError

if TYPE_CHECKING:
    from headway.api.runnable import Scale

_SCALES = {
    "--scale": "Take this share of the recorded time, memory and bytes: 0.01 is a hundredth.",
    "--scale-time": "The same for time alone.",
    "--scale-memory": "The same for memory alone.",
    "--scale-bytes": "The same for the sizes of files alone.",
}


def stand_in_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add `--synthetic`, and which share of the recorded resources stand-ins take."""

    @wraps(function)
    def call(**values: Any) -> int:
        synthetic = values.pop("synthetic")
        scales = {name: values.pop(name[2:].replace("-", "_")) for name in _SCALES}
        return function(stand_ins=_scale(synthetic, scales), **values)

    for name, text in reversed(_SCALES.items()):
        call = option(f"{name} FACTOR", text, type=float, callback=_positive)(call)
    text = "Run stand-ins for the tasks of a recorded execution, which take what was recorded of them."
    return option("--synthetic", text, is_flag=True)(call)


def _positive(ctx: click.Context, _: click.Parameter, value: float | None) -> float | None:
    if value is not None and not (math.isfinite(value) and value > 0):
        raise click.BadParameter(f"{value:g} is not a factor; write for example 0.01", ctx)
    return value


def _scale(synthetic: bool, scales: dict[str, float | None]) -> Scale | None:
    if synthetic:
        from headway.api.runnable import Scale

        all_alike, *apart = scales.values()
        return Scale(*(value or all_alike or 1.0 for value in apart))
    for name, value in scales.items():
        if value is not None:
            raise InputError(f"{name} is about stand-ins", todo="add --synthetic, or leave it out")
    return None
