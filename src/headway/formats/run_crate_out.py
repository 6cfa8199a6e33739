"""Writes the `Provenance` of a run as the metadata of a Workflow Run RO-Crate (version 0.5, over RO-Crate 1.1).

A crate is a folder of files with `ro-crate-metadata.json`, a JSON-LD graph that describes them. Of the three profiles
we write the most detailed one, Provenance Run Crate: the workflow has a step and a tool for each category, and every
attempt is an action of a tool. A run without any attempt cannot satisfy it and is a Workflow Run Crate.
https://www.researchobject.org/workflow-run-crate/
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from mimetypes import guess_type
from typing import Any
from urllib.parse import quote

from msgspec import Struct, field

from headway.model.outcome import Measured, Usage
from headway.model.provenance import Execution, Provenance
from headway.model.task import Task, is_pattern
from headway.version import __version__

METADATA = "ro-crate-metadata.json"
_TERMS = "https://w3id.org/ro/terms/workflow-run#"
_CONTEXT = [
    "https://w3id.org/ro/crate/1.1/context",
    {name: f"{_TERMS}{name}" for name in ("resourceUsage", "containerImage", "ContainerImage", "registry")},
]
_WORKFLOW_CRATE = ("https://w3id.org/workflowhub/workflow-ro-crate/1.0", "Workflow RO-Crate", "1.0")
_PROFILES = (
    ("https://w3id.org/ro/wfrun/process/0.5", "Process Run Crate", "0.5"),
    ("https://w3id.org/ro/wfrun/workflow/0.5", "Workflow Run Crate", "0.5"),
    ("https://w3id.org/ro/wfrun/provenance/0.5", "Provenance Run Crate", "0.5"),
)
_COMPLETED, _FAILED = (f"http://schema.org/{word}ActionStatus" for word in ("Completed", "Failed"))
_UNIT = "https://qudt.org/vocab/unit/"
# What is said of an attempt's use: the field of `Usage`, its name, its unit, and what it means.
_QUANTITIES = (
    ("wall_s", "run time", "SEC", "Seconds from the start of the attempt to its end."),
    ("cpu_s", "CPU time", "SEC", "Seconds of CPU time of all processes of the attempt."),
    (
        "memory_bytes",
        "peak memory",
        "BYTE",
        "Most anonymous and shared memory of all processes of the attempt together, without page cache.",
    ),
    ("disk_bytes", "peak disk", "BYTE", "Most disk space that the attempt held in its own directory."),
    ("cores_average", "busy cores", "NUM", "CPU time divided by run time."),
)
Entity = dict[str, Any]


class CrateFile(Struct, frozen=True):
    """A file or folder of the crate: its path there, what it is, and its size."""

    path: str
    size_bytes: int = 0
    is_folder: bool = False


class Packed(Struct, frozen=True):
    """What is around the actions: the workflow file and its language, the author, the licence, the results inside."""

    workflow: str  # the path of the workflow file in the crate
    language: tuple[str, str]  # its name, and where it is described
    said_of_workflow: str
    author: str
    orcid: str = ""
    licence: str = ""
    made_at: float = 0.0
    files: dict[str, CrateFile] = field(default_factory=dict)  # by path in the workflow's directory


def run_crate(run: Provenance, packed: Packed, clean: Callable[[str], str]) -> Iterator[str]:
    """Return the text of the metadata file, one entity a line; `clean` removes secrets from texts."""
    entities = _Crate(run, packed, clean).entities()
    yield f'{{"@context": {json.dumps(_CONTEXT)}, "@graph": [\n'
    before = ""
    for entity in entities:
        yield before + json.dumps(_short(entity), ensure_ascii=False)
        before = ",\n"
    yield "\n]}\n"


class _Crate:
    """The graph of one run."""

    def __init__(self, run: Provenance, packed: Packed, clean: Callable[[str], str]) -> None:
        self.run, self.packed, self.clean = run, packed, clean
        self.agent = packed.orcid or "#author"
        categories = dict.fromkeys(task.category for task in run.tasks.values() if run.executions.get(task.id))
        self.category = {name: number for number, name in enumerate(categories, 1)}
        self.files: dict[str, Entity] = {}
        self.containers: dict[str, Entity] = {}
        self.steps: list[Entity] = []
        self.actions: list[Entity] = []
        self.usage: list[Entity] = []

    def entities(self) -> Iterator[Entity]:
        """All entities, those first that a reader looks for first."""
        for task, executions in self.run.executions.items():
            if executions:
                self._task(self.run.tasks[task], executions)
        whole = self._whole()
        parts = [{"@id": self._workflow_id()}, *_references(self.files.values())]
        profiles = (*_PROFILES[: 3 if self.category else 2], _WORKFLOW_CRATE)
        yield {
            "@id": METADATA,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": [{"@id": "https://w3id.org/ro/crate/1.1"}, {"@id": _WORKFLOW_CRATE[0]}],
        }
        yield {
            "@id": "./",
            "@type": "Dataset",
            "name": self.clean(f"{self.run.name}, run {self.run.run}"),
            "description": self._about(),
            "datePublished": _moment(self.packed.made_at),
            "license": self._licence(),
            "author": {"@id": self.agent},
            "conformsTo": [{"@id": address} for address, _, _ in profiles],
            "mainEntity": {"@id": self._workflow_id()},
            "hasPart": parts,
            "mentions": _references([whole, *self.actions]),
        }
        for address, name, version in profiles:
            yield {"@id": address, "@type": "CreativeWork", "name": name, "version": version}
        yield from self._workflow()
        yield {"@id": self.agent, "@type": "Person", "name": self.packed.author}
        if isinstance(licence := self._licence(), dict):
            yield licence | {"@type": "CreativeWork", "name": licence["@id"]}
        yield from self._parameters()
        yield whole
        yield from self._values()
        yield from self._engine(whole)
        for field_name, name, _, meaning in _QUANTITIES if self.usage else ():
            yield {"@id": f"#{field_name}", "@type": "DefinedTerm", "name": name, "description": meaning}
        yield from self.steps
        yield from self.actions
        yield from self.usage
        yield from self.containers.values()
        yield from self.files.values()

    # --- the whole ---

    def _about(self) -> str:
        run = self.run
        done = sum(any(each.succeeded for each in tries) for tries in run.executions.values())
        said = [f"Run {run.run} of the workflow {run.name} by Headway {run.version}: {_state(run)}."]
        said.append(f"{len(run.tasks):,} tasks, of which {done:,} have a result in this crate's actions.")
        if run.reused:
            said.append(f"{len(run.reused):,} results were reused from earlier runs.")
        return self.clean(" ".join(said))

    def _licence(self) -> Entity | str:
        """The licence: an entity if it has an address, else words."""
        stated = self.packed.licence
        if stated.startswith(("https://", "http://")):
            return {"@id": quote(stated, safe=":/?&=#%~+,;@")}
        return stated or "No licence was stated when this crate was made."

    def _workflow_id(self) -> str:
        return quote(self.packed.workflow)

    def _workflow(self) -> Iterator[Entity]:
        name, address = self.packed.language
        workflow: Entity = {
            "@id": self._workflow_id(),
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
            "name": self.clean(self.run.name),
            "description": self.packed.said_of_workflow,
            "programmingLanguage": {"@id": "#language"},
            "encodingFormat": guess_type(self.packed.workflow)[0] or "application/yaml",
        }
        if self.category:
            workflow["@type"].append("HowTo")
            workflow["hasPart"] = [{"@id": f"#tool-{number}"} for number in self.category.values()]
            workflow["step"] = [{"@id": f"#step-{number}"} for number in self.category.values()]
        if self.run.config:
            workflow["input"] = [{"@id": f"#config-{name}"} for name in self.run.config]
        yield workflow
        yield {"@id": "#language", "@type": "ComputerLanguage", "name": name, "description": address}
        for category, number in self.category.items():
            yield {"@id": f"#tool-{number}", "@type": "SoftwareApplication", "name": self.clean(category)}
            yield {
                "@id": f"#step-{number}",
                "@type": "HowToStep",
                "name": self.clean(category),
                "position": str(number),
                "workExample": {"@id": f"#tool-{number}"},
            }

    def _whole(self) -> Entity:
        """The action of the whole workflow: from the files that no task makes to those that no task reads."""
        run = self.run
        made = {path for task in run.tasks.values() for path in task.outputs}
        read = dict.fromkeys(path for task in run.tasks for path in self._inputs(task))
        results = [path for path in made if path not in read and self._is_made(path)]
        action: Entity = {
            "@id": "#run",
            "@type": "CreateAction",
            "name": self.clean(f"run {run.run} of {run.name}"),
            "description": self.clean(f"{_state(run)}; {', '.join(run.settings)}"),
            "instrument": {"@id": self._workflow_id()},
            "agent": {"@id": self.agent},
            "startTime": _moment(run.started_at),
            "object": [self._file(path) for path in read if path not in made] + _references(self._values()),
            "result": [self._file(path) for path in sorted(results)],
        }
        if run.uid:
            action["identifier"] = run.uid
        if run.ended:
            action |= {"endTime": _moment(run.ended_at)} | self._status(run.state == "succeeded", _state(run))
        return action

    def _values(self) -> Iterator[Entity]:
        """The values of the workflow's `config`, which are inputs of the workflow."""
        for name, value in self.run.config.items():
            yield {
                "@id": f"#value-{name}",
                "@type": "PropertyValue",
                "name": name,
                "value": self.clean(value if isinstance(value, str) else ", ".join(value)),
                "exampleOfWork": {"@id": f"#config-{name}"},
            }

    def _parameters(self) -> Iterator[Entity]:
        """The names in the workflow's `config`."""
        for name in self.run.config:
            yield {
                "@id": f"#config-{name}",
                "@type": "FormalParameter",
                "name": name,
                "additionalType": "Text",
                "workExample": {"@id": f"#value-{name}"},
            }

    def _engine(self, whole: Entity) -> Iterator[Entity]:
        yield {
            "@id": "#headway",
            "@type": "SoftwareApplication",
            "name": "Headway",
            "softwareVersion": self.run.version or __version__,
        }
        if self.steps:
            yield {
                "@id": "#engine",
                "@type": "OrganizeAction",
                "name": f"Headway {self.run.version}",
                "instrument": {"@id": "#headway"},
                "agent": {"@id": self.agent},
                "object": _references(self.steps),
                "result": {"@id": whole["@id"]},
                "startTime": whole["startTime"],
                **({"endTime": whole["endTime"]} if "endTime" in whole else {}),
            }

    # --- one task ---

    def _task(self, task: Task, executions: list[Execution]) -> None:
        own = [self._action(execution) for execution in executions]
        why = self.run.failures.get(task.id, "")
        step: Entity = {
            "@id": f"#task-{len(self.steps) + 1}",
            "@type": "ControlAction",
            "name": self.clean(task.id),
            "description": self.clean("; ".join(map(_given, executions))),
            "instrument": {"@id": f"#step-{self.category[task.category]}"},
            "object": _references(own),
        }
        succeeded = any(each.succeeded for each in executions)
        if succeeded or why:
            step |= self._status(succeeded, why)
        self.steps.append(step)

    def _action(self, execution: Execution) -> Entity:
        task, outcome = execution.task, execution.outcome
        action: Entity = {
            "@id": f"#attempt-{len(self.actions) + 1}",
            "@type": "CreateAction",
            "name": self.clean(f"{task.id}, attempt {execution.attempt}"),
            "description": self.clean(execution.command),
            "instrument": {"@id": f"#tool-{self.category[task.category]}"},
            "agent": {"@id": self.agent},
            "startTime": _moment(execution.started_at),
        }
        self.actions.append(action)
        if execution.ended_at is not None:
            action["endTime"] = _moment(execution.ended_at)
        if objects := [self._file(path) for path in self._inputs(task.id)]:
            action["object"] = objects
        if execution.succeeded:
            action["result"] = [self._file(path) for path in task.outputs if self._is_made(path)]
        if outcome is not None:
            action |= self._status(execution.succeeded, _ending(execution))
            action |= self._used(action["@id"], outcome.usage)
        elif execution.lost:
            action |= self._status(False, execution.lost)
        if task.container:
            action["containerImage"] = self._container(task.container)
        return action

    def _status(self, succeeded: bool, error: str) -> Entity:
        if succeeded:
            return {"actionStatus": _COMPLETED}
        return {"actionStatus": _FAILED, "error": self.clean(error or "it failed")}

    def _used(self, action: str, usage: Usage) -> Entity:
        own: list[Entity] = []
        for field_name, name, unit, _ in _QUANTITIES:
            figure: Measured | None = getattr(usage, field_name)
            if figure is None:
                continue
            value: Entity = {
                "@id": f"{action}-{field_name}",
                "@type": "PropertyValue",
                "name": name,
                "propertyID": {"@id": f"#{field_name}"},
                "unitCode": f"{_UNIT}{unit}",
                "value": round(figure.value, 3),
            }
            if figure.quality != "exact":
                value["measurementTechnique"] = f"{usage.method}, {figure.quality}".removeprefix(", ")
            own.append(value)
        self.usage += own
        return {"resourceUsage": _references(own)} if own else {}

    def _container(self, image: str) -> Entity:
        if image not in self.containers:
            kind = "SIFImage" if image.endswith((".sif", ".img")) else "DockerImage"
            first, _, rest = image.removeprefix("docker://").partition("/")
            self.containers[image] = {
                "@id": f"#container-{len(self.containers) + 1}",
                "@type": "ContainerImage",
                "additionalType": {"@id": f"{_TERMS}{kind}"},
                "name": self.clean(image),
                "registry": self.clean(first) if rest and set(first) & {".", ":"} else "docker.io",
            }
            if kind == "SIFImage":
                del self.containers[image]["registry"]
        return {"@id": self.containers[image]["@id"]}

    # --- files ---

    def _inputs(self, task: str) -> Iterable[str]:
        """The files that a task has read; before it is ready, those that it names."""
        read = self.run.read.get(task)
        return read if read is not None else [path for path in self.run.tasks[task].inputs if not is_pattern(path)]

    def _is_made(self, path: str) -> bool:
        return path in self.run.stamps

    def _file(self, path: str) -> Entity:
        """The reference to a file; one that is not in the crate has a name of its own, and is still described."""
        if path not in self.files:
            inside = self.packed.files.get(path)
            own = f"#file-{len(self.files) + 1}"
            entity: Entity = {"@id": own, "@type": "File", "name": self.clean(path)}
            stamp = self.run.stamps.get(path)
            if (encoding := guess_type(path)[0]) is not None:
                entity["encodingFormat"] = encoding
            if inside is not None:
                entity["@id"] = quote(inside.path) + ("/" if inside.is_folder else "")
                entity["@type"] = "Dataset" if inside.is_folder else "File"
            if stamp is not None:
                entity |= {"contentSize": str(stamp.size_bytes), "dateModified": _moment(stamp.modified_ns / 1e9)}
            self.files[path] = entity
        return {"@id": self.files[path]["@id"]}


def _short(entity: Entity) -> Entity:
    """The entity without empty lists, and lists of one item as that item: what RO-Crate recommends."""
    kept = {name: value for name, value in entity.items() if value != []}
    return {name: value[0] if isinstance(value, list) and len(value) == 1 else value for name, value in kept.items()}


def _references(entities: Iterable[Entity]) -> list[Entity]:
    return [{"@id": entity["@id"]} for entity in entities]


def _moment(at: float) -> str:
    """A time as the profile writes it: ISO 8601 with milliseconds and an offset."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _state(run: Provenance) -> str:
    if not run.ended:
        return f"{run.state}, it had not ended when this was written"
    return run.state


def _given(execution: Execution) -> str:
    where = f" on {execution.node}" if execution.node else ""
    return f"attempt {execution.attempt} in run {execution.run}{where}: given {execution.given}; {_ending(execution)}"


def _ending(execution: Execution) -> str:
    outcome = execution.outcome
    if outcome is None:
        return execution.lost or "it had not ended when this was written"
    parts = [str(outcome.ending), outcome.message]
    parts += [f"exit code {outcome.exit_code}"] if outcome.exit_code else []
    parts += [f"signal {outcome.signal}"] if outcome.signal else []
    return ", ".join(part for part in parts if part)
