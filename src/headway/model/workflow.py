"""`Workflow`: a validated, growing graph of tasks."""

from __future__ import annotations

import fnmatch
import heapq
import re
import shlex
from bisect import bisect_left
from collections import ChainMap, Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from posixpath import normpath
from typing import Literal, NamedTuple

from msgspec import structs

from headway.model.checks import check_list, check_priority_and_retries
from headway.model.deferred import Deferred
from headway.model.errors import WorkflowError
from headway.model.hints import hints, limits
from headway.model.named_paths import named_paths
from headway.model.software import checked_software, files_of
from headway.model.task import Task, is_pattern

_MOST_SHOWN = 10  # names in an error's sentence
_LONGEST_PATH = 4095  # of Linux; a pattern of many brackets would take long, too
# Paths that are normalised and inside the directory at first sight, as most are; all others are checked in detail.
_LONGEST, _AS_NAMED = 255, ("utf-8", "surrogateescape")  # bytes of a file's name
_ORDINARY = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)*[A-Za-z0-9_-][A-Za-z0-9_.-]*")


class Workflow:
    """Tasks and their dependencies. Tasks are added; an addition that is not valid changes nothing.

    A task waits for the parents it names and for the producers of its inputs: of a file by name, of all files
    that match a pattern, of a directory's files, or of the directory that a file lies in.

    >>> flow = Workflow("w", [Task("a", "a", "…", outputs=("x",)), Task("b", "b", "…", inputs=("x",))])
    >>> flow.tasks["b"].parents, flow.widths()
    (('a',), [1, 1])
    """

    def __init__(self, name: str, tasks: Iterable[Task] = ()) -> None:
        self.name = name
        self.places: dict[str, str] = {}  # file and line of tasks, by the name before the brackets
        self.deferred = Deferred()  # entries of its file that become tasks while it runs
        self.warnings: list[str] = []  # sentences for the user, such as those about unknown names
        self.config: dict[str, str | list[str]] = {}  # values of the file's key `config`, of which tasks were made
        self.sheets: frozenset[str] = frozenset()  # of which tasks were made
        self.tasks: dict[str, Task] = {}
        self.children: dict[str, list[str]] = {}
        self.producer: dict[str, str] = {}
        self.ordered_outputs: list[str] = []
        self._makers_inside: dict[str, str] = {}  # a task that makes something inside a directory, by directory
        self._in_order: list[str] | None = None
        self._whole: Workflow | None = None
        self.add(tasks)

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks.values())

    def completed(self, tasks: Iterable[Task]) -> list[Task]:
        """Tasks as `add` would return them, without adding them."""
        return list(self._completed(tasks)[0].values())

    def add(self, tasks: Iterable[Task]) -> list[Task]:
        """Add tasks, all or none; return them with the parents that their files imply."""
        completed, made, inside, outputs = self._completed(tasks)
        self.tasks |= completed
        self._in_order = None
        self.producer |= made
        self.ordered_outputs = outputs.ordered
        self._makers_inside |= inside
        self.children |= {task_id: [] for task_id in completed}
        for task in completed.values():
            for parent in task.parents:
                self.children[parent].append(task.id)
        return list(completed.values())

    def _completed(self, tasks: Iterable[Task]) -> tuple[dict[str, Task], dict[str, str], dict[str, str], _Outputs]:
        """Return new tasks with all of their parents, the paths and directories that they make, and all outputs."""
        new: dict[str, Task] = {}
        for task in map(_normalised, tasks):
            if task.id in self.tasks or task.id in new:
                raise WorkflowError(f"two tasks are called {task.id!r}", tasks=[task.id], todo="rename one")
            new[task.id] = task
        self._check_producers(new.values())
        made = {path: task.id for task in new.values() for path in task.outputs}
        inside = {above: id_ for path, id_ in made.items() if "/" in path for above in folders_above(path)}
        outputs = _Outputs(
            ChainMap(made, self.producer) if self.producer else made,
            ChainMap(inside, self._makers_inside) if self._makers_inside else inside,
            sorted([*self.ordered_outputs, *made]) if made else self.ordered_outputs,
        )
        completed = {task.id: _completed(task, outputs) for task in new.values()}
        self._check_parents(completed)
        _check_acyclic(completed)
        return completed, made, inside, outputs

    def forget(self, task_id: str) -> None:
        """Leave out a task that depends on no other, makes no files, and on which no other depends."""
        task = self.tasks[task_id]
        if task.parents or task.outputs or self.children[task_id]:
            raise ValueError(f"{task_id} is part of a graph")
        del self.tasks[task_id], self.children[task_id]
        self._in_order = None

    def task(
        self,
        name: str,
        command: str,
        *,
        category: str | None = None,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
        after: Sequence[Task | str] = (),
        resources: Mapping[str, float | str] | None = None,
        environment: Mapping[str, str] | None = None,
        setup: Sequence[str] = (),
        container: str | None = None,
        priority: float = 0,
        retries: int = 0,
        sandbox: bool | Literal["strict"] = True,
        malleable: bool = False,
        notice_s: float = 0,
        software: Mapping[str, str | Sequence[str]] | None = None,
        shell: str | Sequence[str] = (),
        limit: Mapping[str, float | str] | None = None,
        temp: Sequence[str] = (),
    ) -> Task:
        """Add one task, with the fields of a workflow file.

        `resources={"memory": "2 GB", "time": "5m"}` are hints, `limit={"time": "1h"}` is what it must not exceed. The
        category is by default the name up to a bracket (`count[3]` is of category `count`). `malleable` and `notice_s`:
        see `Task`. `software` has the keys `conda`, `pixi`, `uv`, `venv` and `modules`:
        `software={"uv": "requirements.txt"}`. `temp`: see `Task`.
        """
        where = f"task {name!r}"
        check_priority_and_retries(priority, retries, where=where)
        lists = {"inputs": inputs, "outputs": outputs, "setup": setup, "after": after, "temp": temp}
        for field, value in lists.items():
            check_list(field, value, where=where)
        (added,) = self.add(
            [
                Task(
                    id=name,
                    category=category or name.partition("[")[0],
                    command=command,
                    environment=dict(environment or {}),
                    setup=tuple(setup),
                    container=container,
                    inputs=tuple(path for path in inputs if path != "auto"),
                    outputs=tuple(outputs),
                    parents=tuple(parent if isinstance(parent, str) else parent.id for parent in after),
                    priority=priority,
                    hints=hints(resources or {}),
                    retries=retries,
                    sandbox=bool(sandbox),
                    strict=sandbox == "strict",
                    malleable=malleable,
                    notice_s=notice_s,
                    software=checked_software(software or {}, container, where=where),
                    shell=tuple(shlex.split(shell) if isinstance(shell, str) else shell),
                    limits=limits(limit or {}),
                    auto_inputs="auto" in inputs,
                    temp=tuple(temp),
                )
            ]
        )
        return added

    def declared(self, task_id: str) -> tuple[str, str]:
        """The name under which a file has the task, and the file and line; the place is empty for a task of a program.

        >>> flow = Workflow("w", [Task("plot[3]", "plot", "…")])
        >>> flow.places = {"plot": "workflow.yaml:12"}
        >>> flow.declared("plot[3]")
        ('plot', 'workflow.yaml:12')
        """
        name = task_id if task_id in self.places else task_id.partition("[")[0]
        return name, self.places.get(name, "")

    def readers(self, path: str) -> list[str]:
        """The tasks that read an output, besides those that only come after its producer."""
        return [child for child in self.children[self.producer[path]] if reads(self.tasks[child], path)]

    @property
    def output_folders(self) -> Collection[str]:
        """The directories inside of which tasks make something."""
        return self._makers_inside.keys()

    def makes_inside(self, directory: str) -> bool:
        """Whether a task makes something inside a directory."""
        return directory in self._makers_inside

    def check_temporary(self) -> None:
        """Raise WorkflowError for a temporary output that no task reads, or that one reads as part of a directory."""
        later = {name for block in self.deferred.blocks for name in (*block.of, *block.needs)}
        for task in self:
            for path in task.temp:
                what, todo = "", ""
                for child in map(self.tasks.__getitem__, self.children[task.id]):
                    if above := [each for each in child.inputs if path.startswith(f"{each}/")]:
                        what = f"task {child.id!r} reads {above[0]!r}, in which {path!r} is temporary"
                        todo = "name the file, or use a pattern"
                if not what and not self.readers(path) and task.category not in later:
                    what = f"no task reads temporary {path!r} of task {task.id!r}"
                    todo = "list it under 'outputs', or under 'inputs' of the task that reads it"
                if what:
                    raise WorkflowError(what, tasks=[task.id], todo=todo)

    @property
    def whole(self) -> Workflow:
        """The workflow that this one is a part of, or itself."""
        return self._whole or self

    def part(self, ids: Collection[str], kept: Collection[str] = ()) -> Workflow:
        """These tasks alone; the parents of each must be among them. The `kept` ones keep their temporary outputs."""
        tasks = (task for task in self if task.id in ids)
        part = Workflow(self.name, [structs.replace(task, temp=()) if task.id in kept else task for task in tasks])
        part._whole = self.whole
        part.places, part.config, part.sheets = self.places, self.config, self.sheets
        return part

    def with_tasks(self, tasks: Iterable[Task]) -> Workflow:
        """The same workflow with other inputs of its tasks."""
        other = Workflow(self.name, tasks)
        other._whole, other.places, other.config = self._whole, self.places, self.config
        other.sheets = self.sheets
        other.deferred, other.warnings = self.deferred, self.warnings
        return other

    def with_stand_ins(self) -> Workflow:
        """The workflow with one task, `count[…]`, for each entry whose tasks become known only while it runs."""
        if not self.deferred:
            return self
        by_category: dict[str, list[str]] = {}
        for task in self:
            by_category.setdefault(task.category, []).append(task.id)
        stand_ins = {block.name: f"{block.name}[…]" for block in self.deferred.blocks}
        tasks = list(self)
        for block in self.deferred.blocks:
            known = (parent for name in (*block.of, *block.needs) for parent in by_category.get(name, ()))
            later = (stand_ins[name] for name in (*block.of, *block.after) if name in stand_ins)
            parents = tuple(dict.fromkeys((*known, *later)))
            tasks.append(Task(stand_ins[block.name], block.name, "", parents=parents, hints=dict(block.hints)))
        return Workflow(self.name, tasks)

    def reach(self, ids: Iterable[str], *, down: bool = False) -> set[str]:
        """These tasks and all that they need or, downwards, all that depend on them."""
        reached = set(ids)
        ahead = list(reached)
        while ahead:
            task_id = ahead.pop()
            more = set(self.children[task_id] if down else self.tasks[task_id].parents) - reached
            reached |= more
            ahead += more
        return reached

    def implied_parents(self, task: Task) -> tuple[str, ...]:
        """The producers of the task's inputs: its parents besides those that it names."""
        outputs = _Outputs(self.producer, self._makers_inside, self.ordered_outputs)
        return _all_parents(structs.replace(task, parents=()), outputs)

    def _check_producers(self, new: Iterable[Task]) -> None:
        """Raise WorkflowError if two tasks make the same path, or one a directory and another a file inside it."""
        made: dict[str, str] = {}
        inside: dict[str, str] = {}
        for task in new:
            for path in task.outputs:
                above = folders_above(path)
                others = [made.get(path), inside.get(path), *map(made.get, above)]
                if self.producer:
                    others += [self.producer.get(path), self._makers_inside.get(path), *map(self.producer.get, above)]
                for directory in above:
                    inside.setdefault(directory, task.id)
                made[path] = task.id
                if any(others) and (other := next((other for other in others if other and other != task.id), None)):
                    raise WorkflowError(
                        f"tasks {other!r} and {task.id!r} both produce {path!r}",
                        tasks=[task.id, other],
                        todo="let one of them write another file",
                    )

    def _check_parents(self, new: dict[str, Task]) -> None:
        for task in new.values():
            for parent in task.parents:
                if parent not in new and parent not in self.tasks:
                    raise WorkflowError(
                        f"task {task.id!r} needs {parent!r}, which does not exist",
                        tasks=[task.id],
                        todo="correct the name or add that task",
                    )

    # --- the shape of the graph ---

    def levels(self) -> dict[str, int]:
        """Each task's level: 0 without parents, otherwise one more than its deepest parent's."""
        level: dict[str, int] = {}
        for task_id in self.topological():
            level[task_id] = 1 + max((level[parent] for parent in self.tasks[task_id].parents), default=-1)
        return level

    def widths(self) -> list[int]:
        """The number of tasks of each level."""
        widths = Counter(self.levels().values())
        return [widths[level] for level in range(len(widths))]

    def topological(self) -> list[str]:
        """All ids, parents before children, otherwise in the order in which they were added."""
        if self._in_order is None:
            self._in_order = _topological(self.tasks, self.children)
        return self._in_order

    def ranks(self, run_time_s: Callable[[Task], float] = lambda task: 1.0) -> dict[str, float]:
        """Each task's longest path to an exit, itself included, in seconds of run time (by default: in tasks)."""
        rank: dict[str, float] = {}
        for task_id in reversed(self.topological()):
            children = self.children[task_id]
            below = max([rank[child] for child in children]) if children else 0.0
            rank[task_id] = run_time_s(self.tasks[task_id]) + below
        return rank

    def critical_path(self, run_time_s: Callable[[Task], float] = lambda task: 1.0) -> list[str]:
        """The ids along the longest path from an entry to an exit."""
        rank = self.ranks(run_time_s)
        path: list[str] = []
        candidates = [task.id for task in self if not task.parents]
        while candidates:
            path.append(max(candidates, key=rank.__getitem__))
            candidates = self.children[path[-1]]
        return path


def _normalised(task: Task) -> Task:
    """The task with normalised paths; raise WorkflowError for outputs outside the workflow's directory."""
    if not task.id or not task.category:
        raise WorkflowError("a task needs an id and a category", tasks=[task.id])
    if task.strict and not (task.sandbox and (task.outputs or task.temp)):
        what = f"task {task.id!r} has a strict sandbox but no outputs, so that it would run in the workflow's directory"
        raise WorkflowError(what, tasks=[task.id], todo="add 'outputs', or remove 'sandbox: strict'")
    if task.software:  # what is in an environment decides the result
        inputs = tuple(dict.fromkeys((*task.inputs, *files_of(task.software))))
        task = structs.replace(task, inputs=inputs)
    if task.temp:  # they are outputs, too, and the last of them
        others = [path for path in task.outputs if path not in task.temp]
        task = structs.replace(task, outputs=(*others, *task.temp))
    paths = (*task.inputs, *task.outputs)
    if all(map(_ORDINARY.fullmatch, paths)) and len(set(paths)) == len(paths) and max(map(len, paths), default=0) < 255:
        return task
    outputs = tuple(dict.fromkeys(normpath(path) for path in task.outputs))
    inputs = tuple(dict.fromkeys(normpath(path) for path in task.inputs))
    problem, todo = "", ""
    if empty := [path for path in paths if not path.strip() or "\0" in path]:
        problem = f"task {task.id!r} has an empty or impossible path {empty[0]!r}"
    elif long := [path for path in paths if len(path) > _LONGEST_PATH]:
        problem = f"the path {long[0][:40]!r}... of task {task.id!r} is longer than {_LONGEST_PATH} characters"
        todo = "shorten it"
    elif patterns := [path for path in outputs if is_pattern(path)]:
        problem, todo = f"output {patterns[0]!r} of task {task.id!r} is a pattern", "name each output"
    elif outside := [path for path in outputs if path[0] == "/" or path.split("/")[0] in (".", "..", ".headway")]:
        problem = f"output {outside[0]!r} of task {task.id!r} is not inside the workflow's directory"
        todo = "name a path inside it"
    elif long := [path for path in outputs if max(len(part.encode(*_AS_NAMED)) for part in path.split("/")) > _LONGEST]:
        problem = f"an output of task {task.id!r} has a name of more than {_LONGEST} bytes: {long[0]!r}"
        todo = "no file system allows that: choose a shorter name"
    elif above := [path for path in inputs if path.split("/")[0] == ".."]:
        problem = f"input {above[0]!r} of task {task.id!r} leaves the workflow's directory by a relative path"
        todo = "write its absolute path"
    if problem:
        raise WorkflowError(problem, tasks=[task.id], todo=todo)
    temp = tuple(dict.fromkeys(map(normpath, task.temp)))
    return structs.replace(task, inputs=inputs, outputs=outputs, temp=temp)


class _Outputs(NamedTuple):
    """All outputs: the producer of each, the directories that contain outputs, and the sorted paths."""

    producer: Mapping[str, str]
    directories: Container[str]
    ordered: list[str]


def _completed(task: Task, outputs: _Outputs) -> Task:
    """The task with all of its parents and, if it asks for that, the outputs of others that its command names."""
    if task.auto_inputs:
        task = structs.replace(task, inputs=tuple(dict.fromkeys((*task.inputs, *_named_outputs(task, outputs)))))
    parents = _all_parents(task, outputs)
    return task if parents == task.parents else structs.replace(task, parents=parents)


def _named_outputs(task: Task, outputs: _Outputs) -> list[str]:
    def is_made(path: str) -> bool:
        reached = matching(path, outputs.ordered) if is_pattern(path) else (path, *folders_above(path))
        return any(outputs.producer.get(each, task.id) != task.id for each in reached)

    return sorted(path for path in named_paths(task) if path not in task.outputs and is_made(path))


def _all_parents(task: Task, outputs: _Outputs) -> tuple[str, ...]:
    """The parents that the task names, and the producers of its inputs."""
    parents = dict.fromkeys(task.parents)
    producer = outputs.producer
    for path in task.inputs:
        if path in producer:
            parents[producer[path]] = None
        elif is_pattern(path):
            makers = (producer[output] for output in matching(path, outputs.ordered))
            parents |= dict.fromkeys(maker for maker in makers if maker != task.id)
        else:
            parents |= dict.fromkeys(producer[above] for above in folders_above(path) if above in producer)
            if path in outputs.directories:
                parents |= dict.fromkeys(producer[output] for output in _starting_with(path + "/", outputs.ordered))
    return tuple(parents)


def folders_above(path: str) -> tuple[str, ...]:
    """The directories above a path, outermost first."""
    return _and_above(path.rpartition("/")[0]) if "/" in path else ()


@lru_cache(maxsize=10_000)  # most paths share a few directories
def _and_above(directory: str) -> tuple[str, ...]:
    """The directory and its parent directories, outermost first."""
    parts = directory.split("/")
    return tuple("/".join(parts[:depth]) for depth in range(1, 1 + len(parts)) if parts[:depth] != [""])


def _starting_with(prefix: str, ordered: Sequence[str]) -> Iterator[str]:
    for index in range(bisect_left(ordered, prefix), len(ordered)):
        if not ordered[index].startswith(prefix):
            return
        yield ordered[index]


def matching(pattern: str, ordered: Sequence[str]) -> Iterator[str]:
    """The outputs that a pattern reaches: those that match, those inside a matching directory, and directories above.

    As in the shell, a star stays within one directory and does not match hidden files.
    """
    literal = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    candidates = [above for above in folders_above(literal) if _contains(ordered, above)]
    segments = [re.compile(fnmatch.translate(segment)) for segment in pattern.split("/")]
    hidden = [segment.startswith(".") for segment in pattern.split("/")]
    for path in (*candidates, *_starting_with(literal, ordered)):
        parts = zip(segments, hidden, path.split("/"), strict=False)
        if all(segment.match(part) and (dot or not part.startswith(".")) for segment, dot, part in parts):
            yield path


def reads(task: Task, path: str) -> bool:
    """Whether the inputs of a task include an output, or something in it if it is a directory."""
    return any(names(each, path) for each in task.inputs)


def names(given: str, path: str) -> bool:
    """Whether an input, as it is given, is this path, matches it, or lies in it."""
    return path == given or given.startswith(f"{path}/") or (is_pattern(given) and any(matching(given, [path])))


def _contains(ordered: Sequence[str], path: str) -> bool:
    place = bisect_left(ordered, path)
    return place < len(ordered) and ordered[place] == path


def _check_acyclic(new: dict[str, Task]) -> None:
    """Raise WorkflowError if the new tasks form a cycle. Older tasks cannot: their parents were added before them."""
    if _is_in_order(new):
        return
    graph = {task.id: [parent for parent in task.parents if parent in new] for task in new.values()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = error.args[1]
    else:
        return
    shown = circle if len(circle) <= _MOST_SHOWN else [*circle[:_MOST_SHOWN], f"… ({len(circle) - 1} tasks)"]
    raise WorkflowError(
        f"tasks wait for each other in a circle: {' -> '.join(shown)}",
        tasks=circle[:-1],
        todo="remove one of these dependencies",
    )


def _is_in_order(tasks: Mapping[str, Task]) -> bool:
    """Whether every task is listed after its parents, as in most files: then there is no cycle."""
    seen: set[str] = set()
    for task in tasks.values():
        if not seen.issuperset(task.parents) and any(parent not in seen and parent in tasks for parent in task.parents):
            return False
        seen.add(task.id)
    return True


def _topological(tasks: Mapping[str, Task], children: Mapping[str, list[str]]) -> list[str]:
    """Ids with parents before children, otherwise as listed; tasks in or below a cycle are left out."""
    if _is_in_order(tasks):
        return list(tasks)
    waiting = {task.id: sum(parent in tasks for parent in task.parents) for task in tasks.values()}
    ids = list(waiting)
    place = {task_id: index for index, task_id in enumerate(ids)}
    free = [place[task_id] for task_id, count in waiting.items() if not count]
    order: list[str] = []
    while free:  # a list in ascending order is a heap already
        order.append(ids[heapq.heappop(free)])
        for child in children[order[-1]]:
            waiting[child] -= 1
            if not waiting[child]:
                heapq.heappush(free, place[child])
    return order
