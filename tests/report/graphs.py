"""Small graphs for drawing tests."""

from __future__ import annotations

from hypothesis import strategies as st

from headway.model.instance import Instance, Recorded
from headway.model.task import Task
from headway.model.workflow import Workflow

HOSTILE = (
    "<script>alert(1)</script>",
    'a"b\\',
    "end\\",
    "\x1b[31mred\x1b[0m",
    "two\nlines",
    "]]>&amp;",
    "\ud800 lone",
    "日本語",
    "null\x00\ufffe",
    "-- x -->",
)


def graph(edges: dict[str, str], name: str = "flow", took: dict[str, Recorded] | None = None) -> Instance:
    """Tasks and their parents, space-separated; `b.1` is of category `b`."""
    tasks = [
        Task(task, task.partition(".")[0], "true", parents=tuple(parents.split())) for task, parents in edges.items()
    ]
    return Instance(Workflow(name, tasks), took or {})


DIAMOND = {"a": "", "b.1": "a", "b.2": "a", "b.3": "a", "c": "b.1 b.2 b.3", "d": "a c"}


def diamond(*, recorded: bool = False) -> Instance:
    took = {
        "a": Recorded(run_s=10, memory_bytes=10**9),
        "b.1": Recorded(run_s=1),
        "b.2": Recorded(run_s=5),
        "b.3": Recorded(run_s=3),
        "c": Recorded(run_s=4),
        "d": Recorded(run_s=1),
    }
    return graph(DIAMOND, took=took if recorded else None)


def hostile() -> Instance:
    """A chain of tasks whose names contain escape sequences, quotes and markup."""
    parents: tuple[str, ...] = ()
    tasks = []
    for name in HOSTILE:
        tasks.append(Task(name, f"c{name}", "true", parents=parents))
        parents = (name,)
    return Instance(Workflow(HOSTILE[0], tasks))


@st.composite
def graphs(draw: st.DrawFn, most: int = 25) -> Instance:
    """Any acyclic graph: each task may depend on any earlier task."""
    number = draw(st.integers(1, most))
    tasks = []
    for place in range(number):
        parents = draw(st.sets(st.integers(0, place - 1), max_size=4)) if place else set()
        category = f"c{draw(st.integers(0, 4))}"
        tasks.append(Task(f"t{place}", category, "true", parents=tuple(f"t{parent}" for parent in sorted(parents))))
    run_s = draw(st.lists(st.floats(0, 1e6) | st.none(), min_size=number, max_size=number))
    return Instance(
        Workflow("any", tasks), {f"t{place}": Recorded(run_s=seconds) for place, seconds in enumerate(run_s)}
    )
