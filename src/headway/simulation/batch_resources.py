"""What the jobs of a batch log need besides processors: memory, and processors of their partition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct, field

from headway.model.batch_log import BatchLog, Whole
from headway.model.errors import InputError
from headway.model.units import format_bytes

_KIB = 1024
_MOST = 2.0**62


class Further(Struct, frozen=True):
    """What a machine has besides processors; nothing of what is not stated limits jobs."""

    memory_bytes: int | None = None  # of the whole machine
    partitions: dict[str, int] = field(default_factory=dict)  # the processors of each, by number

    def __bool__(self) -> bool:
        return self.memory_bytes is not None or bool(self.partitions)


class Resource(Struct, frozen=True):
    """An amount of a resource that the machine has, and what each job of the log needs of it."""

    name: str
    amount: int
    needs: Whole
    where: str  # the option that states the amount

    def too_much(self, log: BatchLog, job: int, where: str) -> InputError:
        """The complaint about a job that needs more than there is."""
        need, has = (
            format_bytes(amount * _KIB) if self.name == "memory" else f"{amount:,}"
            for amount in (int(self.needs[job]), self.amount)
        )
        what, whose = ("of memory", "the machine") if self.name == "memory" else ("processors", self.name)
        return InputError(
            f"job {log.number[job]} wants {need} {what}, and {whose} has {has}",
            where=f"{where}:{log.line[job]}",
            todo=f"state more with {self.where}, or leave such jobs out with --skip-bad",
        )


def resources_of(log: BatchLog, further: Further, processors: Whole, machine: int) -> Iterator[Resource]:
    """Yield each resource that counts. `processors`: the width of each job.

    Memory is counted in KiB: whole numbers, of which sums and differences are exact.
    """
    if further.memory_bytes is not None:
        if log.memory_kib is None or not (log.memory_kib > 0).any():
            what = "no job of this log says how much memory it wants"
            raise InputError(what, where="--machine-memory", todo="leave it out")
        need = np.ceil(np.maximum(log.memory_kib, 0.0) * np.maximum(processors, 0))
        need = np.minimum(need, _MOST).astype(np.int64)
        yield Resource("memory", further.memory_bytes // _KIB, need, "--machine-memory")
    for number, amount in further.partitions.items():
        inside = np.zeros(len(log), bool) if log.partition is None else log.partition == int(number)
        known = [] if log.partition is None else np.unique(log.partition[log.partition >= 0]).tolist()
        if not inside.any():
            there = f"it has {', '.join(f'{each:.0f}' for each in known[:20])}" if known else "leave it out"
            raise InputError(f"no job of this log is in partition {number}", where="--partitions", todo=there)
        if amount > machine:
            what = f"partition {number} cannot have {amount:,} of the machine's {machine:,} processors"
            raise InputError(what, where="--partitions", todo="state fewer, or a larger --machine")
        yield Resource(f"partition {number}", amount, np.where(inside, processors, 0), "--partitions")
