"""`generate`: a synthetic workflow of a known family. `families`: which families there are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from headway.api.answers import Answer
from headway.api.keywords import settled
from headway.api.whole_files import check_target, write_whole
from headway.generators import GENERATORS, MemoryModel, family_named
from headway.generators import generate as generated
from headway.model.errors import InputError
from headway.model.instance import Instance
from headway.model.units import parse_bytes

MOST_TASKS = 1_000_000
_ENDINGS = (".json", ".json.gz")


class GenerateSettings(Struct, frozen=True, kw_only=True):
    """The size of the workflow, the memory of its tasks, and the file to write."""

    tasks: Annotated[int, Meta(ge=1, le=MOST_TASKS)] = 100
    seed: Annotated[int, Meta(ge=0)] = 0
    memory_model: bool = False
    memory_mean: str | None = None  # a range such as 100MB:2GB; implies the memory model
    output: str | None = None  # ends in .json or .json.gz
    force: bool = False  # overwrite the file


class GenerateResult(Answer, frozen=True):
    """A synthetic workflow and its figures."""

    unsaid = ("asked_tasks", "instance")

    family: str
    asked_tasks: int
    tasks: int  # the nearest number that the family's shape allows
    seed: int
    levels: int
    categories: int
    run_time_s: float  # of all tasks together
    file_bytes: int
    file: str | None  # that was written
    instance: Instance

    def content(self) -> bytes:
        """The workflow as WfFormat JSON."""
        from headway.formats.wfformat_out import wfformat

        return wfformat(self.instance)

    def document(self) -> dict[str, Any]:
        """The answer of `headway generate --json`."""
        return Answer.document(self) | {"file": str(Path(self.file).absolute()) if self.file else None}


class FamilyEntry(Struct, frozen=True):
    """A family of workflows."""

    name: str
    aliases: tuple[str, ...]
    fewest_tasks: int
    about: str


class FamiliesResult(Answer, frozen=True):
    """All families."""

    families: list[FamilyEntry]


def families() -> FamiliesResult:
    """List the families of synthetic workflows."""
    found = GENERATORS.items()
    return FamiliesResult([FamilyEntry(name, tuple(it.aliases), it.fewest_tasks, it.about) for name, it in found])


def file_name(family: str, tasks: int, seed: int) -> str:
    """The usual name of a workflow's file; InputError if there is no such family."""
    return f"{family_named(family)[0]}-{tasks}-{seed}.json"


def generate(family: str, settings: GenerateSettings | None = None, **named: Any) -> GenerateResult:
    """Generate a workflow of a family, with run times and file sizes; the same seed gives the same workflow.

    Keywords are the fields of `GenerateSettings`.

    >>> generate("montage", tasks=50, seed=1).levels
    9
    """
    asked, _ = settled(GenerateSettings, settings, named)
    model, (name, _) = _memory_model(asked), family_named(family)
    if asked.output is not None:
        if not asked.output.endswith(_ENDINGS):
            what = "made-up workflows are WfFormat JSON: other formats have no place for what tasks took"
            raise InputError(what, where=asked.output, todo="let the name end in .json or .json.gz")
        check_target(Path(asked.output), force=asked.force, folder=False)
    instance = generated(name, asked.tasks, asked.seed, model)
    workflow = instance.workflow
    result = GenerateResult(
        family=name,
        asked_tasks=asked.tasks,
        tasks=len(workflow),
        seed=asked.seed,
        levels=len(workflow.widths()),
        categories=len({task.category for task in workflow}),
        run_time_s=sum(recorded.run_s or 0.0 for recorded in instance.recorded.values()),
        file_bytes=sum(instance.file_bytes.values()),
        file=asked.output,
        instance=instance,
    )
    if asked.output is not None:
        write_whole(Path(asked.output), [result.content()])
    return result


def _memory_model(asked: GenerateSettings) -> MemoryModel | None:
    if not asked.memory_model and asked.memory_mean is None:
        return None
    if asked.memory_mean is None:
        return MemoryModel()
    least, mark, most = asked.memory_mean.partition(":")
    bounds = (parse_bytes(least), parse_bytes(most if mark else least))
    if not 0 < bounds[0] <= bounds[1]:
        what = f"--memory-mean: {asked.memory_mean!r} is not a range"
        raise InputError(what, todo="write for example 100MB:2GB, the smaller first")
    return MemoryModel(mean_bytes=(float(bounds[0]), float(bounds[1])))
