"""What tests of agents share: a machine, outcomes, and a malleable task that is sized and run again and again."""

from __future__ import annotations

from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.base import Allocation, Allocator, CannotFit, Context

GB = 10**9
LIMITS = Resources(cores=8, memory_bytes=32 * GB, disk_bytes=100 * GB)
TASK = Task("t", "c", "true", outputs=("o",), hints={"cores": 2.0, "memory_bytes": 10.0 * GB})


def outcome(
    seconds: float = 100.0,
    busy: float | None = 1.0,
    peak: float = 1.0 * GB,
    ending: Ending = Ending.SUCCESS,
    task: str = "t",
) -> Outcome:
    quality = Quality.EXACT if ending is Ending.SUCCESS else Quality.LOWER_BOUND
    usage = Usage(
        wall_s=Measured(seconds, quality),
        memory_bytes=Measured(peak, quality),
        cores_average=None if busy is None else Measured(busy, Quality.EXACT),
    )
    return Outcome(task, 1, ending, 0.0, seconds, usage)


def asked(
    allocator: Allocator,
    task: Task = TASK,
    failures: tuple[float, ...] = (),
    name: str = "t",
    attempt: int = 1,
    limits: Resources = LIMITS,
) -> Allocation:
    answer = allocator.allocate(task, {"memory_bytes": failures}, Context(limits, (0, "", name, attempt)))
    assert not isinstance(answer, CannotFit), answer
    return answer


def lived(allocator: Allocator, runs: int, peak: float, parallel: float = 0.5, begin: int = 0) -> list[Resources]:
    """Run a task of 100 s on one core with that peak `runs` times; return what each attempt got, killed ones too."""
    found = []
    for run in range(begin, begin + runs):
        allocator.restore(allocator.state())  # a new run
        failures: tuple[float, ...] = ()
        for attempt in range(1, 20):
            answer = asked(allocator, failures=failures, name=f"t{run % 3}", attempt=attempt)
            given = answer.resources
            found.append(given)
            seconds = 100.0 * (1 - parallel + parallel / given.cores)
            if given.memory_bytes >= peak:
                allocator.observe(TASK, answer.ticket, outcome(seconds, 100.0 / seconds, peak))
                break
            allocator.observe(TASK, answer.ticket, outcome(seconds / 2, 1.0, given.memory_bytes, Ending.MEMORY))
            failures += (float(given.memory_bytes),)
        else:
            raise AssertionError("it never got enough")
    return found
