"""Pegasus' DAX, an XML format of jobs and their files: versions 2.1 and 3.x.

The parser reads a stream and refuses document types, and thereby entities, so that a file cannot refer to other files.

Generators join several workflows into one DAX, in which several jobs produce a file of the same name. A job's parents
tell which of these files it reads; each is placed in a directory named after the job that produces it.
"""

from __future__ import annotations

import math
import shlex
from pathlib import PurePath
from typing import NoReturn
from xml.parsers import expat

from msgspec import Struct, field

from headway.formats.fields import has_control_character, short
from headway.formats.file_ids import FileIds
from headway.model.errors import InputError, WorkflowError
from headway.model.instance import Instance, Recorded
from headway.model.limits import MOST_BYTES, MOST_SECONDS
from headway.model.task import Task
from headway.model.workflow import Workflow

MAX_DEPTH = 50

_INPUT, _OUTPUT = ("input",), ("output", "inout")
_STREAMS = {"stdin": ("input", "<"), "stdout": ("output", ">"), "stderr": ("output", "2>")}


def parse_dax(data: bytes, file: str = "workflow.dax") -> Instance:
    """Parse a DAX; `file` is its name in errors.

    >>> job = b'<job id="ID1" name="mAdd" runtime="2.5"><uses file="sky.fits" link="output" size="10"/></job>'
    >>> instance = parse_dax(b'<adag name="w">' + job + b"</adag>")
    >>> instance.workflow.tasks["ID1"].category, instance.recorded["ID1"].run_s, instance.file_bytes
    ('mAdd', 2.5, {'sky.fits': 10})
    """
    dax = _Dax(file)
    dax.read(data)
    if not dax.jobs:
        raise InputError("this file has no jobs", where=file, todo="check that it is a DAX")
    return _instance(dax)


class _Use(Struct, frozen=True):
    """A file that a job uses."""

    link: str
    name: str
    size_bytes: int | None = None


class _Job(Struct):
    """One job as it stands in the file."""

    line: int
    name: str
    run_s: float | None
    uses: list[_Use] = field(default_factory=list)
    argument: list[str] | None = None  # pieces of the command line
    streams: list[str] = field(default_factory=list)
    parents: dict[str, None] = field(default_factory=dict)


class _Dax:
    """Collects jobs, files and dependencies from the parser's events."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.name = ""
        self.jobs: dict[str, _Job] = {}
        self.children: list[tuple[int, str, str]] = []  # line, child, parent
        self._open: list[str] = []  # the elements that are open
        self._job = _Job(0, "", None)  # the current job
        self._child = ""
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = lambda _: self._open.pop()
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._doctype

    def read(self, data: bytes) -> None:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as problem:
            what = expat.ErrorString(problem.code)
            empty = "this file is empty" if not data.strip() else f"this is not XML: {what}"
            raise InputError(empty, where=f"{self.file}:{problem.lineno}", todo="create the file again") from None
        except (LookupError, ValueError) as problem:  # an unknown encoding
            raise InputError(f"this is not XML: {problem}", where=f"{self.file}:1", todo="save it as UTF-8") from None

    def fail(self, what: str, todo: str = "correct it, or create the file again") -> NoReturn:
        raise InputError(what, where=f"{self.file}:{self._parser.CurrentLineNumber}", todo=todo)

    # --- the parser's events ---

    def _doctype(self, *_: object) -> None:
        self.fail("the file declares a document type, which is not allowed in a DAX", "remove <!DOCTYPE …>")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = tag.rpartition(":")[2]
        if len(self._open) >= MAX_DEPTH:
            self.fail(f"elements are nested more than {MAX_DEPTH} deep")
        if not self._open and element != "adag":
            self.fail(f"this is XML but not a DAX: it begins with <{element[:50]}>, not <adag>", "check the file")
        parent = self._open[-1] if self._open else ""
        self._open.append(element)
        match parent, element:
            case "", _:
                self.name = attributes.get("name", "")
            case "adag", "job":
                self._new_job(attributes)
            case "adag", "dag" | "dax":
                self.fail(f"<{element}> is a nested workflow, which is not supported", "plan it into one DAX")
            case "adag", "child":
                self._child = self._required(attributes, "ref", element)
            case "child", "parent":
                pair = (self._child, self._required(attributes, "ref", element))
                self.children.append((self._parser.CurrentLineNumber, *pair))
            case "job", "uses":
                self._uses(attributes)
            case "job", "stdin" | "stdout" | "stderr":
                self._stream(element, attributes)
            case "job", "argument":
                self._job.argument = self._job.argument or []
            case "argument", "file" | "filename":
                self._text(attributes.get("name") or attributes.get("file") or "")

    def _text(self, text: str) -> None:
        if self._job.argument is not None and "argument" in self._open:
            self._job.argument.append(text)

    # --- elements ---

    def _new_job(self, attributes: dict[str, str]) -> None:
        job_id = self._required(attributes, "id", "job")
        if job_id in self.jobs:
            self.fail(f"two jobs have the id {short(job_id)}", "rename one")
        name = self._required(attributes, "name", "job")
        run_s = self._figure(attributes.get("runtime"), f"the run time of job {short(job_id)}", MOST_SECONDS)
        self._job = self.jobs[job_id] = _Job(self._parser.CurrentLineNumber, name, run_s)

    def _uses(self, attributes: dict[str, str]) -> None:
        if attributes.get("executable") == "true":
            return
        name = attributes.get("name") or attributes.get("file") or ""
        if not name:
            self.fail("<uses> does not name a file")
        size_bytes = self._figure(attributes.get("size"), f"the size of file {short(name)}")
        self._job.uses.append(_Use(attributes.get("link", ""), name, None if size_bytes is None else int(size_bytes)))

    def _stream(self, element: str, attributes: dict[str, str]) -> None:
        link, sign = _STREAMS[element]
        name = self._required(attributes, "name" if "name" in attributes else "file", element)
        self._job.uses.append(_Use(link, name))
        self._job.streams.append(f"{sign} {shlex.quote(name)}")

    def _required(self, attributes: dict[str, str], key: str, element: str) -> str:
        value = attributes.get(key, "")
        if not value.strip() or has_control_character(value):
            self.fail(f"the attribute {key!r} of <{element}> is {'missing' if not value else short(value)}")
        return value

    def _figure(self, text: str | None, what: str, most: float = MOST_BYTES) -> float | None:
        if text is None:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value <= most:
            wanted = "not a number of at least 0" if not value > most else "which is out of range"
            self.fail(f"{what} is {short(text)}, {wanted}", "correct it or leave it out")
        return value


# --- the model ---


def _instance(dax: _Dax) -> Instance:
    for line, child, parent in dax.children:
        if child not in dax.jobs:
            what = f"<child> refers to job {short(child)}, which does not exist"
            raise InputError(what, where=f"{dax.file}:{line}", todo="add the job")
        dax.jobs[child].parents[parent] = None
    files = _Files(dax)
    outputs = {job_id: files.outputs(job_id) for job_id in dax.jobs}
    made = {path: job_id for job_id, paths in outputs.items() for path in paths}
    tasks = []
    for job_id, job in dax.jobs.items():
        # A file that a job changes in place is input and output; it counts as output only.
        inputs = tuple(path for path in files.inputs(job_id) if path not in outputs[job_id])
        implied = {made.get(path) for path in inputs}
        parents = tuple(parent for parent in job.parents if parent not in implied)
        tasks.append(Task(job_id, job.name, _command(job), inputs=inputs, outputs=outputs[job_id], parents=parents))
    name = dax.name or PurePath(dax.file).name.partition(".")[0] or "workflow"
    try:
        workflow = Workflow(name, tasks)
    except WorkflowError as problem:
        culprit = dax.jobs.get(next(iter(problem.tasks), ""))
        problem.where = f"{dax.file}:{culprit.line}" if culprit else dax.file
        raise
    return Instance(
        workflow,
        {job_id: Recorded(run_s=job.run_s) for job_id, job in dax.jobs.items() if job.run_s is not None},
        files.sizes,
    )


class _Files:
    """The paths of all files, and the sizes of those with a known size."""

    def __init__(self, dax: _Dax) -> None:
        self.sizes: dict[str, int] = {}
        self._dax = dax
        self._makers: dict[str, list[str]] = {}
        for job_id, job in dax.jobs.items():
            for name in dict.fromkeys(use.name for use in job.uses if use.link in _OUTPUT):
                self._makers.setdefault(name, []).append(job_id)
        self._ids = FileIds(self._makers)

    def outputs(self, job_id: str) -> tuple[str, ...]:
        uses = [use for use in self._dax.jobs[job_id].uses if use.link in _OUTPUT]
        return tuple(dict.fromkeys(self._path(use, job_id) for use in uses))

    def inputs(self, job_id: str) -> tuple[str, ...]:
        uses = [use for use in self._dax.jobs[job_id].uses if use.link in _INPUT]
        return tuple(dict.fromkeys(self._path(use, self._maker(use.name, job_id)) for use in uses))

    def _path(self, use: _Use, maker: str) -> str:
        shared = len(self._makers.get(use.name, ())) > 1
        path = self._ids.path(f"{maker}/{use.name}" if shared else use.name)
        if use.size_bytes is not None:
            self.sizes.setdefault(path, use.size_bytes)
        return path

    def _maker(self, name: str, job_id: str) -> str:
        """The job whose file of that name `job_id` reads."""
        makers = self._makers.get(name, [])
        if len(makers) < 2 or job_id in makers:
            return job_id
        job = self._dax.jobs[job_id]
        meant = [maker for maker in makers if maker in job.parents]
        if len(meant) != 1:
            raise InputError(
                f"jobs {short(makers[0])} and {short(makers[1])} both produce {short(name)}, and job {short(job_id)} "
                f"does not say which one it reads",
                where=f"{self._dax.file}:{job.line}",
                todo="make one of the two jobs a parent, or rename one of the files",
            )
        return meant[0]


def _command(job: _Job) -> str:
    if job.argument is None:
        return ""
    lines = map(str.strip, "".join(job.argument).splitlines())
    return " ".join([job.name, *filter(None, lines), *job.streams])
