"""`Instance`: a workflow with the measurements of one execution."""

from __future__ import annotations

from msgspec import Struct, field

from headway.model.workflow import Workflow


class Recorded(Struct, frozen=True, omit_defaults=True, gc=False):
    """What one execution of a task used; None where it was not measured."""

    run_s: float | None = None
    cores: float | None = None  # that the task was given
    cores_used: float | None = None  # busy on average: 0.5 is one core, half of the time
    memory_bytes: int | None = None  # at its peak
    read_bytes: int | None = None
    written_bytes: int | None = None
    started_at: float | None = None  # seconds since the epoch
    machine: str = ""
    gpu_memory_bytes: int | None = None  # at its peak, on all its GPUs together; 0: it used none
    gpus_used: float | None = None  # busy on average


class Machine(Struct, frozen=True, omit_defaults=True):
    """A machine that executed tasks of the workflow."""

    name: str
    cores: int | None = None
    memory_bytes: int | None = None
    speed_mhz: int | None = None


class Instance(Struct):
    """A workflow with the measurements of one execution, real or generated.

    Tasks of an instance may have no command: then it can be simulated, or run with stand-ins that use what is
    `recorded`. `file_bytes` has file sizes by path; a file that no task makes is an input of the whole workflow.
    """

    workflow: Workflow
    recorded: dict[str, Recorded] = field(default_factory=dict)  # by task
    file_bytes: dict[str, int] = field(default_factory=dict)  # by path
    machines: tuple[Machine, ...] = ()
    makespan_s: float | None = None
    started_at: float | None = None
    description: str = ""
