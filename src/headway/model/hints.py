"""Resource hints as users write them in code: `memory="2 GB"` becomes `memory_bytes` 2e9."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headway.model.errors import InputError
from headway.model.resources import check_amount
from headway.model.units import parse_bytes, parse_duration

# The user's name of a resource, its name in the model, and the parser of an amount with a unit.
WITH_UNITS: dict[str, tuple[str, Callable[[str], float]]] = {
    "memory": ("memory_bytes", parse_bytes),
    "disk": ("disk_bytes", parse_bytes),
    "time": ("walltime_s", parse_duration),
}
LIMITED = ("cores", "memory", "disk", "time")  # what a task can be kept from exceeding
# No task runs with none of these; with no GPUs or extras it does.
_NEVER_NOTHING = ("cores", "memory_bytes", "disk_bytes", "walltime_s")


def hints(resources: Mapping[str, float | str]) -> dict[str, float]:
    """Amounts by the model's names. Strings have a unit; numbers are bytes or seconds; unknown names are extras.

    >>> hints({"memory": "2 GB", "cores": 2, "time": 90})
    {'memory_bytes': 2000000000, 'cores': 2, 'walltime_s': 90}
    """
    return dict(_hint(name, amount) for name, amount in resources.items())


def limits(amounts: Mapping[str, float | str]) -> dict[str, float]:
    """Amounts that a task must not exceed, by the model's names."""
    for name in amounts:
        if name not in LIMITED:
            raise InputError(f"{name} cannot be limited", where="limit", todo=f"write one of {', '.join(LIMITED)}")
    return hints(amounts)


def _hint(name: str, amount: float | str) -> tuple[str, float]:
    own, parse = WITH_UNITS.get(name, (name, None))
    stated = amount
    if isinstance(amount, str):
        if parse is None:
            raise InputError(f"{name} is {amount!r}, not a number", todo=f"write for example {name}=1")
        amount = parse(amount)
    check_amount(own, amount)
    if not amount and own in _NEVER_NOTHING:
        raise InputError(f"{name} is {stated!r}, which is nothing", todo="write more, or leave it out")
    return own, amount
