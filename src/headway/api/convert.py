"""`convert`: a workflow file, or a finished run with its measurements, in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field

from headway.api.answers import Answer
from headway.api.finding import find_run
from headway.api.keywords import settled
from headway.api.reading import config_values, read_instance_file
from headway.api.run_instance import instance_of
from headway.api.whole_files import check_target, write_whole
from headway.model.errors import InputError
from headway.model.instance import Instance
from headway.model.task import is_pattern

Form = Literal["wfformat", "yaml"]
FORMATS: tuple[Form, ...] = ("wfformat", "yaml")
WHICH = f"add --to {' or --to '.join(FORMATS)}"
_ENDINGS: dict[str, Form] = {".json": "wfformat", ".json.gz": "wfformat", ".yaml": "yaml", ".yml": "yaml"}


class ConvertSettings(Struct, frozen=True, kw_only=True):
    """The target format, and the run that a directory stands for."""

    to: Form | None = None  # None: as the target's suffix says
    run: str | None = None  # None: the newest
    force: bool = False  # overwrite the target
    set: dict[str, Any] = field(default_factory=dict)  # replaces values of `config` in the workflow file


class ConvertResult(Answer, frozen=True):
    """The workflow, with figures of what the target holds."""

    unsaid = ("instance",)

    instance: Instance
    source: str
    target: str | None
    format: Form
    workflow: str  # its name
    tasks: int
    categories: int
    dependencies: int
    files: int
    recorded: int  # tasks with measurements
    without_command: int
    left_out: dict[str, int]  # measurements (`recorded`) and `file_sizes` that the target format cannot hold

    def content(self) -> bytes:
        """The workflow in the target format."""
        if self.format == "yaml":
            from headway.formats.headway_yaml_out import headway_yaml

            return headway_yaml(self.instance.workflow)
        from headway.formats.wfformat_out import wfformat

        return wfformat(self.instance)


def convert(
    source: str | Path, target: str | Path | None = None, settings: ConvertSettings | None = None, **named: Any
) -> ConvertResult:
    """Convert a workflow file, or the newest run of a directory, and write the target, if one is named.

    Keywords are the fields of `ConvertSettings`: `convert("montage.dax", "montage.yaml")`.
    """
    asked, _ = settled(ConvertSettings, settings, named)
    form = asked.to or _form_of("" if target is None else str(target))
    if target is not None:
        if form == "yaml" and str(target).lower().endswith(".gz"):
            raise InputError("a workflow file is not packed", where=str(target), todo="drop .gz from its name")
        check_target(Path(target), force=asked.force)
    instance = _read(Path(source), asked.run, asked.set)
    result = _result(instance, str(source), None if target is None else str(target), form)
    if target is not None:
        write_whole(Path(target), [result.content()])
    return result


def _form_of(target: str) -> Form:
    found = next((form for ending, form in _ENDINGS.items() if target.lower().endswith(ending)), None)
    if found is None:
        raise InputError(f"{target!r} does not say which format", todo=WHICH)
    return found


def _read(source: Path, run: str | None, replaced: dict[str, Any]) -> Instance:
    if source.is_dir():
        if replaced:
            raise InputError("the values of a run are fixed", where="--set", todo="name a workflow file")
        return instance_of(find_run(source, run))
    if run is not None:
        raise InputError("a file has no runs", where=str(source), todo="name the directory in which it was run")
    instance = read_instance_file(source, config_values(replaced))
    if names := instance.workflow.deferred.names:
        todo = f"run it, then `headway convert {source.parent}` writes the run with all its tasks"
        raise InputError(f"the tasks of {names[0]!r} are known only while it runs", where=str(source), todo=todo)
    return instance


def _result(instance: Instance, source: str, target: str | None, form: Form) -> ConvertResult:
    tasks = list(instance.workflow)
    named = {path for task in tasks for path in (*task.inputs, *task.outputs) if not is_pattern(path)}
    lost = form == "yaml"  # a Headway file says what to run, not what a run took
    return ConvertResult(
        instance=instance,
        source=source,
        target=target,
        format=form,
        workflow=instance.workflow.name,
        tasks=len(tasks),
        categories=len({task.category for task in tasks}),
        dependencies=sum(len(task.parents) for task in tasks),
        files=len(named | instance.file_bytes.keys()),
        recorded=len(instance.recorded),
        without_command=sum(not task.command for task in tasks),
        left_out={"recorded": lost * len(instance.recorded), "file_sizes": lost * len(instance.file_bytes)},
    )
