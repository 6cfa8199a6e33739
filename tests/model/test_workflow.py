"""The graph of tasks: what is refused, what files imply, and its shape against brute force."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headway.model.errors import InputError, WorkflowError
from headway.model.task import Task
from headway.model.workflow import Workflow


def task(name: str, *parents: str, inputs: tuple[str, ...] = (), outputs: tuple[str, ...] = ()) -> Task:
    return Task(name, name, "x", parents=parents, inputs=inputs, outputs=outputs)


def makes(name: str, *outputs: str) -> Task:
    return task(name, outputs=outputs)


def reads(name: str, *inputs: str) -> Task:
    return task(name, inputs=inputs)


def refused(*tasks: Task) -> WorkflowError:
    with pytest.raises(WorkflowError) as caught:
        Workflow("w", tasks)
    assert "\n" not in str(caught.value)
    return caught.value


def state(flow: Workflow) -> tuple[object, ...]:
    children = {parent: list(below) for parent, below in flow.children.items()}
    return dict(flow.tasks), children, dict(flow.producer)


# --- what is refused ---


def test_a_circle_is_named_in_order() -> None:
    problem = refused(task("a", "c"), task("b", "a"), task("c", "b"), task("d", "c"))
    assert "a -> b -> c -> a" in str(problem)
    assert sorted(problem.tasks) == ["a", "b", "c"]


def test_a_task_that_waits_for_itself() -> None:
    assert "a -> a" in str(refused(task("a", "a")))
    assert "a -> a" in str(refused(task("a", inputs=("x",), outputs=("x",))))


def test_a_pattern_does_not_mean_the_tasks_own_outputs() -> None:
    flow = Workflow("w", [task("a", inputs=("x*",), outputs=("x1",)), makes("b", "x2")])
    assert flow.tasks["a"].parents == ("b",)


def test_an_unknown_parent() -> None:
    problem = refused(task("a"), task("b", "nobody"))
    assert problem.tasks == ("b",)
    assert "'nobody'" in str(problem)


def test_a_duplicate_within_and_across_additions() -> None:
    assert refused(task("a"), task("a")).tasks == ("a",)
    flow = Workflow("w", [task("a")])
    with pytest.raises(WorkflowError, match="two tasks are called 'a'"):
        flow.add([task("a")])


@pytest.mark.parametrize(
    ("one", "other"),
    [("x", "x"), ("x", "./x"), ("d/x", "d//x"), ("d", "d/x"), ("d/x", "d"), ("d", "d/e/x"), ("d/./e", "d/e/f/g")],
)
def test_two_producers(one: str, other: str) -> None:
    problem = refused(makes("a", one), makes("b", other))
    assert sorted(problem.tasks) == ["a", "b"]
    flow = Workflow("w", [makes("a", one)])
    with pytest.raises(WorkflowError, match="both produce"):
        flow.add([makes("b", other)])


PLACES = st.sampled_from(["d", "d/x", "d/y", "d/e", "d/e/x", "dd", "x"])


@given(st.lists(st.sets(PLACES, min_size=1, max_size=3), min_size=2, max_size=4), st.integers(0, 4))
def test_no_path_has_two_producers_however_they_are_added(made: list[set[str]], cut: int) -> None:
    tasks = [makes(f"t{n}", *sorted(paths)) for n, paths in enumerate(made)]
    clash = any(
        f"{one}/".startswith(f"{other}/")
        for n, m in permutations(range(len(made)), 2)
        for one in made[n]
        for other in made[m]
    )
    try:
        flow = Workflow("w", tasks[:cut])
        flow.add(tasks[cut:])
    except WorkflowError as problem:
        assert clash
        assert len(set(problem.tasks)) == 2
    else:
        assert not clash
        assert flow.producer == {path: one.id for one in tasks for path in one.outputs}


def test_one_producer_may_name_a_directory_and_a_file_in_it() -> None:
    assert len(Workflow("w", [makes("a", "d", "d/x", "d"), makes("b", "dd"), makes("c", "d.x")])) == 3


@pytest.mark.parametrize(
    "path", ["", " ", "a\0b", "/x", ".", "./", "..", "../x", "a/../../x", ".headway", ".headway/x", "x*", "x?", "[x]"]
)
def test_impossible_outputs(path: str) -> None:
    assert refused(makes("a", path)).tasks == ("a",)


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_impossible_inputs(path: str) -> None:
    assert refused(reads("a", path)).tasks == ("a",)


def test_a_task_needs_a_name() -> None:
    assert "id" in str(refused(Task("", "c", "x")))
    assert "category" in str(refused(Task("a", "", "x")))


@pytest.mark.parametrize(
    "bad",
    [
        [task("n"), task("a")],
        [task("n"), task("m", "nobody")],
        [task("n", "m"), task("m", "n")],
        [makes("n", "new"), makes("m", "x/y")],
        [makes("n", "new"), makes("m", "../y")],
    ],
)
def test_all_are_added_or_none(bad: list[Task]) -> None:
    flow = Workflow("w", [makes("a", "x"), reads("b", "x")])
    before = state(flow)
    with pytest.raises(WorkflowError):
        flow.add(bad)
    assert state(flow) == before
    assert [added.id for added in flow.add([reads("n", "x")])] == ["n"]


# --- what files imply ---


@pytest.mark.parametrize(
    ("output", "path"),
    [
        ("x", "x"),
        ("x", "./x"),
        ("d/x", "d/x"),
        ("d", "d/x"),
        ("d", "d/e/x"),
        ("d/x", "d"),
        ("d/e/x", "d"),
        ("d/x", "d/"),
        ("x1", "x*"),
        ("x1", "x?"),
        ("x1", "x[0-9]"),
        ("d/x", "d/*"),
        ("d/x", "*/x"),
    ],
)
def test_an_input_waits_for_its_producer(output: str, path: str) -> None:
    flow = Workflow("w", [reads("reader", path), makes("maker", output)])
    assert flow.tasks["reader"].parents == ("maker",)
    assert flow.children == {"maker": ["reader"], "reader": []}


@pytest.mark.parametrize(
    ("output", "path"),
    [
        ("x", "y"),
        ("d/x", "d/y"),
        ("d/x", "dd"),
        ("dd", "d"),
        ("x", "/x"),
        ("d/x", "e*"),
        ("d/e/x", "d/*.x"),
        ("x1", "x[2-9]"),
    ],
)
def test_an_input_does_not_wait_for_others(output: str, path: str) -> None:
    assert Workflow("w", [reads("reader", path), makes("maker", output)]).tasks["reader"].parents == ()


def test_stated_parents_come_first_and_once() -> None:
    flow = Workflow("w", [makes("a", "x"), makes("b", "y"), task("c", "b", "b", inputs=("x", "y", "x"))])
    assert flow.tasks["c"].parents == ("b", "a")
    assert flow.tasks["c"].inputs == ("x", "y")
    assert flow.children["b"] == ["c"]


def test_added_tasks_wait_for_producers_that_were_there_before() -> None:
    flow = Workflow("w", [makes("a", "x1"), makes("b", "x2")])
    (added,) = flow.add([task("c", "a", inputs=("x*",), outputs=("x3",))])
    assert added.parents == ("a", "b")
    flow.add([reads("d", "x*")])
    assert flow.tasks["d"].parents == ("a", "b", "c")
    assert flow.levels() == {"a": 0, "b": 0, "c": 1, "d": 2}
    assert flow.children["a"] == ["c", "d"]


FOLDERS = st.sampled_from(["", "d/", "dd/", "d/e/"])
FILES = st.sets(st.builds(str.__add__, FOLDERS, st.sampled_from(["a", "ab", "b1", "b.c"])), max_size=8)
PIECES = st.sampled_from(["a", "b", "1", ".", "*", "?", "[ab]", "[!a]", "[0-9]", "[", "]", "/", "d/", "**"])
PATTERNS = st.lists(PIECES, min_size=1, max_size=5).map("".join).map(os.path.normpath)


@given(files=FILES, pattern=PATTERNS.filter(glob.has_magic))
def test_patterns_match_as_in_the_shell(
    files: set[str], pattern: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("glob")
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    assume(pattern.partition("/")[0] not in ("", ".."))  # elsewhere, or refused
    found = set(glob.glob(pattern, root_dir=folder))
    flow = Workflow("w", [*(makes(file, file) for file in sorted(files)), reads("reader", pattern)])
    parents = set(flow.tasks["reader"].parents)
    assert found & files <= parents
    for parent in parents:
        inside = found & set(map(str, Path(parent).parents))
        may_be_a_folder = len(Path(parent).parts) < len(pattern.split("/"))  # only the run will tell
        assert parent in found or inside or may_be_a_folder


# --- its shape ---


def diamond() -> Workflow:
    return Workflow("w", [task("a"), task("b", "a"), task("c", "a"), task("d", "b", "c"), task("e")])


def test_the_shape_of_a_diamond_and_a_loner() -> None:
    flow = diamond()
    assert flow.levels() == {"a": 0, "b": 1, "c": 1, "d": 2, "e": 0}
    assert flow.widths() == [2, 2, 1]
    assert flow.ranks() == {"a": 3, "b": 2, "c": 2, "d": 1, "e": 1}
    seconds = {"a": 1.0, "b": 2.0, "c": 5.0, "d": 1.0, "e": 6.0}
    assert flow.ranks(lambda one: seconds[one.id]) == {"a": 7, "b": 3, "c": 6, "d": 1, "e": 6}
    assert flow.critical_path(lambda one: seconds[one.id]) == ["a", "c", "d"]


def test_an_empty_workflow_has_no_shape() -> None:
    flow = Workflow("w")
    assert (len(flow), flow.levels(), flow.widths(), flow.ranks(), flow.critical_path()) == (0, {}, [], {}, [])


@st.composite
def graphs(draw: Callable[..., list[str]]) -> list[Task]:
    """Tasks without circles, in any order."""
    names = "abcdefgh"[: draw(st.integers(1, 8))]
    tasks = [
        task(name, *draw(st.lists(st.sampled_from(names[:index]), unique=True, max_size=4)) if index else [])
        for index, name in enumerate(names)
    ]
    return draw(st.permutations(tasks))


def paths_from(flow: Workflow, name: str) -> list[list[str]]:
    """Every path from a task to an exit."""
    below = [one.id for one in flow if name in one.parents]
    return [[name, *path] for child in below for path in paths_from(flow, child)] or [[name]]


@given(graphs(), st.lists(st.integers(0, 9), min_size=8, max_size=8))
def test_the_shape_is_that_of_all_paths(tasks: list[Task], seconds: list[int]) -> None:
    flow = Workflow("w", tasks)
    time = dict(zip("abcdefgh", map(float, seconds), strict=True))
    entries = [one.id for one in flow if not one.parents]
    whole = [path for entry in entries for path in paths_from(flow, entry)]
    assert flow.levels() == {name: max(path.index(name) for path in whole if name in path) for name in flow.tasks}
    assert flow.widths() == [
        list(flow.levels().values()).count(level) for level in range(max(flow.levels().values()) + 1)
    ]
    assert flow.ranks(lambda one: time[one.id]) == {
        name: max(sum(time[step] for step in path) for path in paths_from(flow, name)) for name in flow.tasks
    }
    critical = flow.critical_path(lambda one: time[one.id])
    assert critical in whole
    assert sum(time[step] for step in critical) == max(sum(time[step] for step in path) for path in whole)


@given(graphs())
def test_parents_stand_before_children(tasks: list[Task]) -> None:
    flow = Workflow("w", tasks)
    order = flow.topological()
    assert sorted(order) == sorted(flow.tasks)
    assert all(order.index(parent) < order.index(one.id) for one in flow for parent in one.parents)


@given(graphs(), st.integers(0, 8))
def test_growing_gives_the_same_graph_as_adding_all_at_once(tasks: list[Task], cut: int) -> None:
    tasks = sorted(tasks, key=lambda one: one.id)  # parents first
    once, grown = Workflow("w", tasks), Workflow("w", tasks[:cut])
    grown.add(tasks[cut:])
    assert state(grown) == state(once)
    assert grown.ranks() == once.ranks()


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=12, unique=True))
def test_a_graph_is_refused_if_and_only_if_it_has_a_circle(edges: list[tuple[str, str]]) -> None:
    tasks = [task(name, *(parent for parent, child in edges if child == name)) for name in "abcdef"]
    left = dict.fromkeys("abcdef")
    while free := [name for name in left if not any(child == name and parent in left for parent, child in edges)]:
        left = {name: None for name in left if name not in free}
    if not left:
        assert len(Workflow("w", tasks)) == 6
        return
    circle = refused(*tasks).tasks
    assert set(circle) <= set(left)
    assert all((circle[index - 1], circle[index]) in edges for index in range(len(circle)))


def test_a_hundred_thousand_tasks() -> None:
    count = 100_000
    flow = Workflow("w", (task(f"t{n}", inputs=(f"d/{n - 1}",), outputs=(f"d/{n}",)) for n in range(count)))
    assert flow.tasks["t99999"].parents == ("t99998",)
    assert flow.levels()["t99999"] == 99_999  # as deep as it is long: no recursion
    assert len(flow.critical_path()) == count


@pytest.mark.parametrize(("output", "path"), [("d", "d/*"), ("d", "d/*.txt"), ("d/x", "d*"), ("d/x", "?")])
def test_a_pattern_waits_for_the_producer_of_a_directory(output: str, path: str) -> None:
    """As `d/x` waits for the producer of `d`, and `d` for that of `d/x`."""
    assert Workflow("w", [makes("maker", output), reads("reader", path)]).tasks["reader"].parents == ("maker",)


def test_a_star_does_not_match_a_hidden_file(tmp_path: Path) -> None:
    (tmp_path / ".x").touch()
    assert glob.glob("*", root_dir=tmp_path) == []
    assert Workflow("w", [makes("maker", ".x"), reads("reader", "*")]).tasks["reader"].parents == ()


def test_a_long_circle_is_still_told_in_a_sentence() -> None:
    tasks = [task(f"t{n}", f"t{(n - 1) % 2000}") for n in range(2000)]
    assert len(str(refused(*tasks))) < 1000


def test_a_task_has_a_shell_and_limits() -> None:
    flow = Workflow("w")
    task = flow.task("a", "print(1)", shell="python3 -O", limit={"time": "1h", "memory": "2 GB"})
    assert (task.shell, task.limits) == (("python3", "-O"), {"walltime_s": 3600, "memory_bytes": 2_000_000_000})
    with pytest.raises(InputError, match="gpus cannot be limited"):
        flow.task("b", "true", limit={"gpus": 1})
