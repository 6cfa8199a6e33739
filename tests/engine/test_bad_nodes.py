"""A node on which tasks fail that succeed elsewhere is avoided."""

from __future__ import annotations

import pytest
from msgspec import structs

from headway.drivers.simulated import SimulatedRun, simulate
from headway.drivers.through_queue import Through, run_through
from headway.engine.bad_nodes import AVOID_S, MOST_FAILURES, BadNodes
from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model import records
from headway.model.instance import Instance, Recorded
from headway.model.outcome import Ending, Outcome
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.planning import PLANS

HERE, THERE = "n1#1", "n2#1"


def noted(*ends: tuple[str, str, Ending]) -> BadNodes:
    """What is known after attempts of tasks, named `category.number`, have ended on nodes."""
    bad = BadNodes()
    for node, name, ending in ends:
        bad.ended(node, Task(name, name.partition(".")[0], "-"), ending)
    return bad


def failures(*names: str, node: str = HERE) -> list[tuple[str, str, Ending]]:
    return [(node, name, Ending.EXIT_CODE) for name in names]


ELSEWHERE = (THERE, "a.9", Ending.SUCCESS)


def test_a_node_is_avoided_when_tasks_fail_there_that_succeed_elsewhere() -> None:
    (verdict,) = noted(ELSEWHERE, *failures("a.1", "a.2", "a.3")).verdicts(100.0)
    assert (verdict.node, verdict.until) == ("n1", 100.0 + AVOID_S)
    assert verdict.why.text == "3 tasks failed there in a row that work elsewhere"
    assert noted(ELSEWHERE, *failures("b.1", "c.2", "d.3")).verdicts(0.0), "unrelated tasks"


@pytest.mark.parametrize(
    "ends",
    [
        failures("a.1", "a.2", "a.3"),  # nothing is known of other nodes
        [ELSEWHERE, *failures("b.1", "b.2", "b.3")],  # this category may fail everywhere
        [ELSEWHERE, *failures("a.1", "a.1", "a.1")],  # one task
        [ELSEWHERE, *failures("a.1", "a.2"), (HERE, "a.4", Ending.SUCCESS), *failures("a.3")],
        [ELSEWHERE, *((HERE, f"a.{number}", Ending.MEMORY) for number in range(5))],
    ],
)
def test_other_failures_are_not_the_nodes_fault(ends: list[tuple[str, str, Ending]]) -> None:
    assert noted(*ends).verdicts(0.0) == []


def test_a_node_that_is_lost_again_and_again_is_avoided() -> None:
    bad = noted(ELSEWHERE, (THERE, "b.1", Ending.SUCCESS))
    for number in range(MOST_FAILURES):
        bad.lost(f"n1#{number}")
    (verdict,) = bad.verdicts(0.0)
    bad.avoid(verdict)
    assert bad.is_avoided("n1#7")
    assert not bad.is_avoided(THERE)
    assert bad.verdicts(1.0) == []
    bad.is_up("n1#8")
    assert not bad.is_avoided("n1#8"), "a job got it all the same: it is tried again"


def broken_run(bad: str) -> SimulatedRun:
    """Forty tasks of which each may be retried; whatever starts on the node `bad` fails."""
    tasks = [Task(f"a{number}", "a", "-", retries=9) for number in range(40)]
    run = run_through(
        Instance(Workflow("w", tasks), {it.id: Recorded(run_s=100.0) for it in tasks}), Through(PLANS["headway"])
    )
    healthy = run.outcome_of

    def outcome_of(launch: records.Launch, at: float) -> Outcome:
        if launch.node.endswith(bad):
            return Outcome(launch.task, launch.attempt, Ending.EXIT_CODE, at, at + 1.0)
        return healthy(launch, at)

    return structs.replace(run, outcome_of=outcome_of)


def test_nothing_starts_on_a_bad_node_any_more() -> None:
    run = broken_run("-1.2")  # the second node of the first job
    simulate(BatchQueue(4, Scheduling("conservative")), [run])
    assert run.engine.finished == "succeeded"
    (avoided,) = [record for record in run.journal if isinstance(record, records.AvoidNode)]
    launches = [record for record in run.journal if isinstance(record, records.Launch) and record.node == avoided.node]
    assert avoided.node.endswith("-1.2")
    assert max(launch.at for launch in launches) <= avoided.at
