"""`Resources`: what a task is given, what a node has."""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct, field, structs

from headway.model.devices import is_possible_share
from headway.model.errors import InputError
from headway.model.limits import MOST_ASKED_S, MOST_BYTES, MOST_CORES, MOST_COUNT
from headway.model.units import format_bytes, format_duration

# Amounts that tasks on one node hold side by side: these are added up when tasks are packed.
HELD = ("cores", "memory_bytes", "disk_bytes", "gpus")
# Every built-in resource by name; anything else is a named extra (a licence, an FPGA, …).
NAMES = (*HELD, "walltime_s", "nodes")
_FRACTIONAL = ("cores", "gpus", "walltime_s")
_MOST = {"cores": MOST_CORES, "memory_bytes": MOST_BYTES, "disk_bytes": MOST_BYTES, "walltime_s": MOST_ASKED_S}


class Resources(Struct, frozen=True, omit_defaults=True):
    """An amount of each resource. `walltime_s` None means no limit.

    Cores, memory, disk, GPUs and extras add up when tasks run side by side. The walltime of a sum is the longer of the
    two (None, no limit, is the longest); a difference keeps the left one. `nodes` is the number of machines on which
    the other amounts are held, once on each; sums and differences keep the left one.

    >>> str(Resources(cores=2, memory_bytes=1_500_000_000) + Resources(cores=1, walltime_s=90))
    '3 cores, 1.5 GB memory'
    """

    cores: float = 0
    memory_bytes: int = 0
    disk_bytes: int = 0
    gpus: float = 0
    walltime_s: float | None = None
    nodes: int = 1
    extras: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, amounts: Mapping[str, float | None]) -> Resources:
        """Resources from amounts by name; a name that is not built in becomes an extra."""
        own = {name: amounts[name] for name in NAMES if amounts.get(name) is not None}
        extras = {name: value for name, value in amounts.items() if name not in NAMES and value is not None}
        whole = {name: int(value) for name, value in own.items() if name not in _FRACTIONAL and value}
        return cls(**(own | whole), extras=extras)  # type: ignore[arg-type]

    def amounts(self) -> dict[str, float | None]:
        """Every amount by name, extras included."""
        return {name: getattr(self, name) for name in NAMES} | dict(self.extras)

    def __getitem__(self, name: str) -> float | None:
        return getattr(self, name) if name in NAMES else self.extras.get(name, 0)

    def replace(self, **amounts: float | None) -> Resources:
        """The same with some amounts changed."""
        return Resources.of(self.amounts() | amounts)

    def __add__(self, other: Resources) -> Resources:
        longest = (
            None if self.walltime_s is None or other.walltime_s is None else max(self.walltime_s, other.walltime_s)
        )
        return structs.replace(self._held(other, 1), walltime_s=longest)

    def __sub__(self, other: Resources) -> Resources:
        return self._held(other, -1)

    def _held(self, other: Resources, sign: int) -> Resources:
        return Resources(
            cores=round(self.cores + sign * other.cores, 6),  # a sum of tenths must come back to zero
            memory_bytes=self.memory_bytes + sign * other.memory_bytes,
            disk_bytes=self.disk_bytes + sign * other.disk_bytes,
            gpus=round(self.gpus + sign * other.gpus, 6) if self.gpus or other.gpus else 0,
            walltime_s=self.walltime_s,
            nodes=self.nodes,
            extras=self._held_extras(other, sign) if self.extras or other.extras else {},
        )

    def _held_extras(self, other: Resources, sign: int) -> dict[str, float]:
        extras = {
            name: round(self.extras.get(name, 0) + sign * other.extras.get(name, 0), 6)
            for name in self.extras.keys() | other.extras.keys()
        }
        return {name: value for name, value in extras.items() if value}

    def covering(self, other: Resources) -> Resources:
        """The larger amount of each resource that tasks hold side by side."""
        extras = {
            name: max(self.extras.get(name, 0), other.extras.get(name, 0))
            for name in self.extras.keys() | other.extras.keys()
        }
        held = {name: max(getattr(self, name), getattr(other, name)) for name in HELD}
        return structs.replace(self, **held, extras=extras)

    def fits_in(self, room: Resources) -> bool:
        """Whether every amount is within `room`'s."""
        return not self.excess(room)

    def excess(self, room: Resources) -> list[str]:
        """The names of the resources of which this has more than `room`."""
        over = [name for name in (*HELD, "nodes") if getattr(self, name) > getattr(room, name)]
        extras = sorted(self.extras.keys() | room.extras.keys())
        over += [name for name in extras if self.extras.get(name, 0) > room.extras.get(name, 0)]
        if room.walltime_s is not None and (self.walltime_s is None or self.walltime_s > room.walltime_s):
            over.append("walltime_s")
        return over

    def room_for(self, each: Resources) -> int:
        """How many times `each` fits in here side by side.

        >>> Resources(cores=8, memory_bytes=10).room_for(Resources(cores=1, memory_bytes=4))
        2
        """
        needs = [(getattr(self, name), getattr(each, name)) for name in HELD]
        needs += [(self.extras.get(name, 0), amount) for name, amount in each.extras.items()]
        if 0 < each.gpus < 1:  # parts of one GPU do not add up to a part of another
            needs.append((math.floor(self.gpus) * math.floor(1 / each.gpus + 1e-6), 1))
        return min((math.floor(has / amount + 1e-6) for has, amount in needs if amount), default=1)

    def __str__(self) -> str:
        shown = [describe(name, value) for name, value in self.amounts().items() if value and name != "nodes"]
        if self.nodes > 1:
            shown.append(f"on {self.nodes} nodes")
        return ", ".join(shown) or "nothing"


def describe(name: str, value: float) -> str:
    """One amount for people: `1.5 cores`, `200 MB memory`."""
    match name:
        case "memory_bytes" | "disk_bytes":
            return f"{format_bytes(value)} {name.removesuffix('_bytes')}"
        case "walltime_s":
            return f"{format_duration(value)} time"
        case "cores" | "gpus":
            return f"{value:g} {name if value != 1 else name[:-1]}"
        case "nodes":
            return f"{value:g} node{'s' if value != 1 else ''}"
        case _:
            return f"{value:g} {name}"


def most_of(name: str) -> float:
    """The largest amount of a resource that is accepted."""
    return _MOST.get(name, MOST_COUNT)


def check_amount(name: str, value: float, *, where: str = "") -> float:
    """Return `value` if it is a possible amount of that resource; raise InputError otherwise."""
    lowest = 1 if name == "nodes" else 0
    if not lowest <= value < math.inf or (name == "nodes" and value != int(value)):
        kind = "a whole number" if name in ("gpus", "nodes") else "a number"
        raise InputError(f"{name} is {str(value)[:20]}, not {kind} of at least {lowest}", where=where)
    if value > most_of(name):
        raise InputError(f"{name} is {str(value)[:20]}, more than {describe(name, most_of(name))}", where=where)
    if name == "gpus" and not is_possible_share(value):
        raise InputError(f"gpus is {value!r}, neither a whole number nor a part of one GPU such as 0.5", where=where)
    return value
