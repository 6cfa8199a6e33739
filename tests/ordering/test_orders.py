"""Each order on small graphs, and properties on any graph."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.drivers.assemble import assemble
from headway.drivers.simulated import SimulatedRun, simulate
from headway.kernels.batch.queue import BatchQueue
from headway.model import records
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.ordering import DEFAULT_ORDER, ORDERS
from headway.ordering.topology import Depths, Ranks, parents_first

GB = 10**9
NODE = Resources(cores=1, memory_bytes=8 * GB, disk_bytes=8 * GB)


def task(name: str, *parents: str, category: str | None = None, **more: object) -> Task:
    return Task(name, category or name[0], "true", parents=parents, **more)


# a1 -> b1 -> c1, and three entries more, of which one leads far; listed so that no order is that of the list.
FLOW = [
    task("z1"),
    task("a1"),
    task("b1", "a1"),
    task("c1", "b1"),
    task("d1"),
    task("e1", "d1"),
    task("f1", "e1"),
    task("g1", "f1"),
    task("y1"),
]


def launched(tasks: list[Task], order: str, fails: dict[str, int] | None = None, node: Resources = NODE) -> list[str]:
    """Return the tasks in the order in which one core runs them; `fails`: how often each runs out of memory."""
    left = dict(fails or {})

    def outcome(launch: records.Launch, at: float) -> Outcome:
        failed = left.get(launch.task, 0) > 0
        left[launch.task] = left.get(launch.task, 0) - 1
        quality = Quality.LOWER_BOUND if failed else Quality.EXACT
        usage = Usage(memory_bytes=Measured(launch.resources.memory_bytes if failed else GB // 8, quality))
        ending = Ending.MEMORY if failed else Ending.SUCCESS
        return Outcome(launch.task, launch.attempt, ending, at, at + 1.0, usage)

    settings = records.RunStarted(0.0, "1", "u", "flow", "", "", "0", "max-seen", order)
    run = SimulatedRun(assemble(settings), tasks, outcome, node)
    simulate(BatchQueue(1), [run])
    assert run.engine.finished == "succeeded"
    return [record.task for record in run.journal if isinstance(record, records.Launch)]


def test_each_order_on_a_graph_where_they_differ() -> None:
    small = {"memory_bytes": GB / 8}
    flow = [task(each.id, *each.parents, hints=small) for each in FLOW]
    assert launched(flow, "fifo") == ["z1", "a1", "d1", "y1", "b1", "e1", "c1", "f1", "g1"]
    assert launched(flow, "bfs") == ["z1", "a1", "d1", "y1", "b1", "e1", "c1", "f1", "g1"]
    assert launched(flow, "dfs") == ["z1", "a1", "b1", "c1", "d1", "e1", "f1", "g1", "y1"]
    assert launched(flow, "rank") == ["d1", "a1", "e1", "b1", "f1", "z1", "y1", "c1", "g1"]


def test_bfs_goes_by_the_longest_path_and_fifo_by_arrival() -> None:
    flow = [task("a"), task("b"), task("c", "a"), task("d"), task("e", "d")]
    assert launched(flow, "fifo") == ["a", "b", "d", "c", "e"]
    flow = [task("a"), task("b", "a"), task("c", "b"), task("x"), task("y", "x", "c"), task("z", "x")]
    assert launched(flow, "bfs") == ["a", "x", "b", "z", "c", "y"]


def test_least_finished_first_takes_the_categories_in_turn() -> None:
    flow = [task(f"{kind}{number}") for kind in "ab" for number in range(3)]
    assert launched(flow, "least-finished-first") == ["a0", "b0", "a1", "b1", "a2", "b2"]


@pytest.mark.parametrize("name", ["bfs", "dfs", "rank", "least-finished-first"])
def test_persevere_retries_first_and_postpone_last(name: str) -> None:
    flow = [task(f"a{number}", hints={"memory_bytes": GB}) for number in range(4)]
    assert launched(flow, name, {"a1": 2}) == ["a0", "a1", "a1", "a1", "a2", "a3"]
    assert launched(flow, f"{name}-postpone", {"a1": 2}) == ["a0", "a1", "a2", "a3", "a1", "a1"]


def test_fifo_puts_a_failed_task_behind_those_that_wait() -> None:
    flow = [task(f"a{number}", hints={"memory_bytes": GB}) for number in range(3)]
    assert launched(flow, "fifo", {"a0": 1}) == ["a0", "a1", "a2", "a0"]


@pytest.mark.parametrize("name", ORDERS)
def test_the_user_s_priority_comes_before_any_order(name: str) -> None:
    flow = [task("a1"), task("b1", "a1"), task("c1"), task("urgent", priority=1.0), task("idle", priority=-1.0)]
    taken = launched(flow, name)
    assert taken[0] == "urgent" and taken[-1] == "idle"


@pytest.mark.parametrize("name", ORDERS)
def test_a_resumed_run_goes_on_in_the_same_order(name: str) -> None:
    """Half of the records are replayed into a new engine: it then decides as the first one did."""
    flow = [task(f"{kind}{n}", *([f"a{n}"] if kind == "b" else []), category=kind) for kind in "abc" for n in range(5)]
    settings = records.RunStarted(0.0, "1", "u", "flow", "", "", "0", "ladder", name)

    def outcome(launch: records.Launch, at: float) -> Outcome:
        needs = (1 + len(launch.task) + int(launch.task[1:])) * GB // 4
        failed = needs > launch.resources.memory_bytes
        quality = Quality.LOWER_BOUND if failed else Quality.EXACT
        usage = Usage(memory_bytes=Measured(launch.resources.memory_bytes if failed else needs, quality))
        ending = Ending.MEMORY if failed else Ending.SUCCESS
        return Outcome(launch.task, launch.attempt, ending, at, at + 1.0 + needs / GB, usage)

    first = SimulatedRun(assemble(settings), flow, outcome, NODE.replace(cores=3))
    simulate(BatchQueue(1), [first])
    ends = [at for at, record in enumerate(first.journal) if isinstance(record, records.TaskEnded)]
    for cut in ends[:: max(1, len(ends) // 6)]:
        again = assemble(settings)
        for record in first.journal[: cut + 1]:
            again.apply(record)
        made = again.decide(first.journal[cut].at)
        following = first.journal[cut + 1 :]
        decided = [record for record in following[: len(made)] if not isinstance(record, records.TaskEnded)]
        assert [type(each) for each in made[: len(decided)]] == [type(each) for each in decided]
        launches = [record.task for record in made if isinstance(record, records.Launch)]
        expected = [r.task for r in decided if isinstance(r, records.Launch)]
        assert launches[: len(expected)] == expected


def test_the_default_is_one_of_them() -> None:
    assert DEFAULT_ORDER in ORDERS


def test_history_counts_as_finished() -> None:
    order = ORDERS["least-finished-first"]()
    order.observe(task("a1"), Outcome("a1", 1, Ending.SUCCESS, 0.0, 1.0))
    order.observe(task("b1"), Outcome("b1", 1, Ending.MEMORY, 0.0, 1.0))
    assert order.category_key("a") > order.category_key("b") == order.category_key("c")


# --- the graph ---


@st.composite
def graphs(draw: st.DrawFn) -> list[Task]:
    count = draw(st.integers(1, 25))
    tasks = []
    for number in range(count):
        parents = draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set()
        tasks.append(task(f"t{number}", *(f"t{parent}" for parent in sorted(parents))))
    return draw(st.permutations(tasks))


@given(graphs(), st.integers(1, 5))
def test_depths_and_ranks_of_a_growing_graph_equal_those_of_the_whole(tasks: list[Task], parts: int) -> None:
    ordered = parents_first(tasks)
    assert sorted(each.id for each in ordered) == sorted(each.id for each in tasks)
    workflow, depths, ranks = Workflow("w"), Depths(), Ranks()
    step = math.ceil(len(ordered) / parts)
    for begin in range(0, len(ordered), step):
        added = workflow.add(list(reversed(ordered[begin : begin + step])))
        depths.add(added)
        ranks.add(added, workflow)
    assert {each.id: depths[each.id] for each in tasks} == workflow.levels()
    assert {each.id: ranks[each.id] for each in tasks} == {name: int(it) for name, it in workflow.ranks().items()}


def test_a_graph_of_100_000_tasks_is_added_at_once_or_one_by_one() -> None:
    """A chain and a fan: neither recursion nor quadratic work."""
    chain = [task(f"t{n}", *([f"t{n - 1}"] if n else [])) for n in range(20_000)]
    fan = [task("root"), *(task(f"f{n}", "root") for n in range(80_000))]
    workflow = Workflow("w", [*chain, *fan])
    depths, ranks = Depths(), Ranks()
    depths.add(list(reversed(list(workflow))))
    ranks.add(list(workflow), workflow)
    assert depths["t19999"] == 19_999 and ranks["t0"] == 20_000 and ranks["root"] == 2
    growing, ranks = Workflow("g"), Ranks()
    for each in fan[:5_000]:
        ranks.add(growing.add([each]), growing)
    assert ranks["root"] == 2
