"""Generated workflows and instances with everything that is difficult to write."""

from __future__ import annotations

from typing import Any

from hypothesis import reject
from hypothesis import strategies as st
from msgspec import structs

from headway.model.errors import WorkflowError
from headway.model.instance import Instance, Machine, Recorded
from headway.model.task import Task
from headway.model.workflow import Workflow

NAMES = st.text("ab1[],:.# %é'\"{}&*!|>@`~_-😀", min_size=1, max_size=12).filter(
    lambda text: text.strip() and not text.startswith("-")
)
PLAIN_NAMES = NAMES.filter(lambda text: not set("*?[") & set(text) and text not in (".", ".."))
LINES = st.lists(
    st.text("ab #:'\"\\{}[]|>-\t", max_size=8)
    | st.sampled_from(["no", "key: value", "  deep", "\x85\u2028", "é\ufeff"])
).map("\n".join)
COMMANDS = st.just("") | (LINES | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))).filter(
    str.strip
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
HINTS = st.fixed_dictionaries(
    {},
    optional={
        "cores": st.floats(0.1, 100) | st.integers(1, 64),
        "memory_bytes": st.integers(1, 2**50) | st.sampled_from([2 * 10**9, 1024**3, 1536 * 1024**2]),
        "disk_bytes": st.integers(1, 2**50),
        "walltime_s": st.floats(0.001, 1e7) | st.integers(1, 10**6),
        "gpus": st.integers(0, 8),
        "nodes": st.integers(1, 8),
        "licence": st.integers(0, 5),
    },
)
LIMITS = st.fixed_dictionaries({}, optional={"cores": st.integers(1, 64), "walltime_s": st.integers(1, 10**6)})
SOFTWARE = st.sampled_from(
    [{}, {"conda": ("base",)}, {"uv": ("env/uv.lock",), "modules": ("gcc/12", "é: x")}, {"venv": ("./needs: 1.txt",)}]
)


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    """A few tasks that read each other's files, by name, by pattern and through directories, or name each other."""
    ids = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    tasks: list[Task] = []
    made: list[str] = ["source", "/data/absolute", "d*/[ab]?", "dir/../dir2//x"]
    for number, task_id in enumerate(ids):
        outputs = [f"d{number}/{name}" for name in draw(st.lists(PLAIN_NAMES, max_size=2, unique=True))]
        inputs = draw(st.lists(st.sampled_from(made), max_size=4))
        container = draw(st.none() | NAMES)
        command, setup = draw(COMMANDS), tuple(draw(st.lists(TEXTS, max_size=2)))
        limits = draw(LIMITS)
        names_patterns = any(set("*?[") & set(text) for text in (command, *setup))  # which may match later outputs
        tasks.append(
            Task(
                id=task_id,
                category=draw(NAMES | st.just(task_id)),
                command=command,
                environment=draw(st.dictionaries(st.sampled_from(["A", "_b1"]), TEXTS, max_size=2)),
                setup=setup,
                container=container,
                software=draw(SOFTWARE) if container is None else {},
                inputs=tuple(path for path in inputs if path != "d*/[ab]?" or number == len(ids) - 1),
                outputs=tuple(outputs),
                parents=tuple(draw(st.lists(st.sampled_from(ids[:number]), unique=True))) if number else (),
                priority=draw(st.integers(-9, 9) | st.floats(-1e6, 1e6)),
                hints=draw(HINTS),
                retries=draw(st.integers(0, 3)),
                sandbox=(sandbox := draw(st.booleans())),
                strict=bool(sandbox and outputs) and draw(st.booleans()),
                malleable=draw(st.booleans()),
                notice_s=draw(st.integers(0, min(10**6, max(0, int(limits.get("walltime_s", 10**6)) - 1)))),
                shell=draw(st.sampled_from([(), ("sh",), ("Rscript", "--vanilla", "a b: 'c'")])),
                limits=limits,
                auto_inputs=not names_patterns and draw(st.booleans()),
            )
        )
        made += [*outputs, f"d{number}", f"d{number}/*"]
    name = draw(NAMES)
    try:
        workflow = Workflow(name, tasks)
    except WorkflowError:  # a command that names a later task's output makes a circle with 'inputs: auto'
        reject()
    return Workflow(name, [structs.replace(task, temp=draw(temporary(task, workflow))) for task in tasks])


def temporary(task: Task, workflow: Workflow) -> st.SearchStrategy[tuple[str, ...]]:
    """Some of the outputs that other tasks read, and not only with all of the directory."""
    folders = {path for other in workflow for path in other.inputs}
    read = [path for path in task.outputs if workflow.readers(path) and path.split("/")[0] not in folders]
    return st.lists(st.sampled_from(read), unique=True).map(tuple) if read else st.just(())


COUNTS = st.none() | st.integers(0, 2**60)
MOMENTS = st.none() | st.integers(1, 4 * 10**15).map(lambda microseconds: microseconds / 10**6)
RECORDED = st.builds(
    Recorded,
    run_s=st.none() | st.floats(0, 3e8),
    cores=st.none() | st.sampled_from([0.25, 1, 1.5, 64]),
    cores_used=st.none() | st.floats(0, 1000),
    memory_bytes=st.none() | st.integers(1, 2**60),
    read_bytes=COUNTS,
    written_bytes=COUNTS,
    started_at=MOMENTS,
    machine=TEXTS,
).filter(lambda recorded: recorded != Recorded())
MACHINES = st.builds(
    Machine,
    name=NAMES,
    cores=st.none() | st.integers(1, 256),
    memory_bytes=st.none() | st.integers(1, 2**50),
    speed_mhz=st.none() | st.integers(1, 9000),
)


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """A workflow with figures of some of its tasks and files."""
    workflow = draw(workflows())
    files = sorted({path for task in workflow for path in task.outputs} | {"source", "/data/absolute", "not used #1"})
    instance = Instance(
        workflow,
        {task_id: draw(RECORDED) for task_id in workflow.tasks if draw(st.booleans())},
        draw(st.dictionaries(st.sampled_from(files), st.integers(0, 2**60), max_size=4)),
        description=draw(TEXTS),
    )
    if any(recorded.run_s is not None for recorded in instance.recorded.values()):
        instance.machines = tuple(draw(st.lists(MACHINES, max_size=2)))
        instance.makespan_s = draw(st.none() | st.floats(0.1, 1e9))
        instance.started_at = draw(MOMENTS)
    return instance


def content(instance: Instance) -> dict[str, Any]:
    """The content of an instance, for comparison."""
    fields = {name: getattr(instance, name) for name in instance.__struct_fields__ if name != "workflow"}
    return fields | {"name": instance.workflow.name, "tasks": list(instance.workflow)}
