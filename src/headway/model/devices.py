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


def is_possible_share(gpus: float) -> bool:
    """Whether a task can have so many GPUs: a whole number, or a part of one."""
    return 0 <= gpus < 1 or gpus == int(gpus)


def choose(free: Mapping[str, float], gpus: float) -> tuple[str, ...] | None:
    """The devices for a task that wants so many GPUs, given how much of each is free; None if there are not enough.

    A part of a GPU goes to the fullest device that has room for it, so that as many as possible stay whole. Several
    tasks share a device only if each asks for a part.

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
