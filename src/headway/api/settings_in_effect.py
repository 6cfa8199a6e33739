"""Which settings of a run took effect, and where each was chosen: the only place that works this out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from headway.api.bundle_secrets import REMOVED, masked
from headway.model.records import ChosenSetting
from headway.model.units import exact_bytes

BATCH = "batch."  # begins the fields of settings that are entries of `RunSettings.batch`
Chosen = tuple[ChosenSetting, ...]
Origin = Literal["command line", "program", "environment", "file"]
_OPTIONS = {"batch.flags": "sbatch"}  # that the command line calls otherwise
_ADDRESSES = ("notify",)  # whoever knows one can write there
_NOT_SHOWN = ("tasks", "quiet")  # what was asked for is shown apart; `quiet` is about the terminal, not about the run


class Layer(NamedTuple):
    """Settings of one origin, by field of `RunSettings`; `place` gives the variable or the file of a field."""

    origin: Origin
    values: Mapping[str, Any]
    place: Callable[[str], str] = lambda field: ""


def settings_in_effect(layers: Sequence[Layer], used: Callable[[str], bool], names: Mapping[str, str]) -> Chosen:
    """Return the settings of all layers, of which later ones outrank earlier ones, without secrets.

    `used` says whether a field counts for this run. `names` has options by field, where the two differ.
    """
    strongest = {field: layer for layer in layers for field in _flat(layer.values)}
    return tuple(
        ChosenSetting(names.get(field, _option(field)), text, layer.origin, layer.place(field))
        for field, layer in strongest.items()
        if used(field) and field not in _NOT_SHOWN
        for text in _texts(field, _flat(layer.values)[field])
    )


def shown_file(path: Path) -> str:
    """Return a file's path for people, with ~ for the home directory."""
    try:
        return str("~" / path.relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(path)


def masked_config(config: Mapping[str, str | list[str]]) -> dict[str, str | list[str]]:
    """Return the values of a workflow's `config` without secrets."""
    return {
        name: masked(name, value) if isinstance(value, str) else [masked(name, each) for each in value]
        for name, value in config.items()
    }


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with the entries of `batch` as fields of their own."""
    batch = {f"{BATCH}{name}": value for name, value in values.get("batch", {}).items()}
    return {field: value for field, value in values.items() if field != "batch"} | batch


def _option(field: str) -> str:
    return _OPTIONS.get(field, field.removeprefix(BATCH).replace("_", "-"))


def _texts(field: str, value: Any) -> Iterator[str]:
    """Return a value as the command line would have it; of an option that is repeated, each one."""
    if field == "config":
        for name, each in masked_config(value).items():
            yield f"{name}={each if isinstance(each, str) else ','.join(each)}"
    elif isinstance(value, tuple):
        yield from (REMOVED if field in _ADDRESSES else masked(field, each) for each in value)
    elif isinstance(value, bool):
        yield str(value).lower()
    elif isinstance(value, int | float):
        yield _number(field, value)
    else:
        # A path may have bytes that are not text, which no journal can hold.
        yield masked(field, str(value).encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


def _number(field: str, value: float) -> str:
    """Return a number with its unit."""
    if field.endswith("_bytes"):
        return exact_bytes(value)
    return f"{value:.15g}{'s' if field.endswith('_s') else ''}"
