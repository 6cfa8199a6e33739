"""`Device`: one GPU of a node, and how a task's share of GPUs becomes certain devices."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Device(Struct, frozen=True, omit_defaults=True, gc=False):
    """A GPU, or an instance of one that is divided (MIG).

    `id` is the name by which programs are told to use it: its UUID, or its number as the batch system granted it.
    `memory_bytes` is 0 where it is not known.
    """

    id: str
    type: str = ""
    memory_bytes: int = 0


class GpuType(Struct, frozen=True, gc=False):
    """A type of GPUs, or of instances of divided ones, as a batch system names it."""

    name: str
    memory_bytes: int
    on_a_node: int  # how many a node has, at most


class GpuNeed(Struct, frozen=True, gc=False):
    """What is known of the memory that a task needs on each of its GPUs.

    `used_bytes` is the most that tasks of its category used, None if nothing is known; `lacked_bytes` is the memory of
    GPUs that were too small for the task itself.
    """

    used_bytes: int | None = None
    lacked_bytes: int = 0

    def suits(self, device: Device) -> bool:
        """Whether the task may get a device; one of which the memory is not known may be large enough."""
        size = device.memory_bytes
        if self.lacked_bytes and size <= self.lacked_bytes:
            return False
        return not size or self.used_bytes is None or size >= self.used_bytes

    def rank(self, device: Device) -> int:
        """The lowest is best: the smallest device if the need is known, and to be safe the largest if it is not."""
        return -device.memory_bytes if self.used_bytes is None else device.memory_bytes


def is_possible_share(gpus: float) -> bool:
    """Whether a task can have so many GPUs: a whole number, or a part of one."""
    return 0 <= gpus < 1 or gpus == int(gpus)


def suitable(free: Mapping[str, float], own: Mapping[str, Device], need: GpuNeed) -> dict[str, float]:
    """How much is free of each device that a task may get, the best device first.

    >>> own = {"a": Device("a", memory_bytes=40), "b": Device("b", memory_bytes=10), "c": Device("c", memory_bytes=80)}
    >>> free = {"a": 1.0, "b": 0.5, "c": 1.0}
    >>> list(suitable(free, own, GpuNeed())), list(suitable(free, own, GpuNeed(used_bytes=30)))
    (['c', 'a', 'b'], ['a', 'c'])
    """
    names = sorted((name for name in free if need.suits(own[name])), key=lambda name: need.rank(own[name]))
    return {name: free[name] for name in names}


def choose(free: Mapping[str, float], gpus: float) -> tuple[str, ...] | None:
    """The devices for a task that wants so many GPUs, given how much of each is free; None if there are not enough.

    The first are taken first, but a part of a GPU goes to the fullest device that has room for it, so that as many as
    possible stay whole. Several tasks share a device only if each asks for a part.

    >>> choose({"a": 1.0, "b": 0.5}, 0.5), choose({"a": 1.0, "b": 0.5}, 1), choose({"a": 1.0, "b": 0.5}, 2)
    (('b',), ('a',), None)
    """
    if 0 < gpus < 1:
        fitting = [name for name, part in free.items() if part >= gpus]
        return (min(fitting, key=free.__getitem__),) if fitting else None
    whole = [name for name, part in free.items() if part >= 1]
    return tuple(whole[: int(gpus)]) if len(whole) >= gpus else None


def held(free: Mapping[str, float], chosen: tuple[str, ...], gpus: float) -> dict[str, float]:
    """What is free of each device when a task holds its share of these; a negative share gives it back."""
    part = gpus / len(chosen) if chosen else 0.0
    return {name: round(left - part, 6) if name in chosen else left for name, left in free.items()}
