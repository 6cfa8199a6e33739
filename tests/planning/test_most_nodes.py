"""No plan asks for nodes that are down: such a job would wait for ever."""

from __future__ import annotations

import pytest

from headway.model.records import QueueRead, Submit
from headway.planning import PLANS
from tests.planning.views import fan, view

FIVE_WORK = QueueRead(0.0, [0.0, 600.0], [2.0, 5.0])


@pytest.mark.parametrize("plan", sorted(set(PLANS) - {"one-job-per-task"}))
def test_a_job_requests_only_nodes_that_are_up(plan: str) -> None:
    planner = PLANS[plan](lambda task: 3600.0)
    made = planner.plan(view(fan(30), queue=FIVE_WORK, nodes=16), 0.0)
    [submit, *_] = [each for each in made if isinstance(each, Submit)]
    assert submit.request.per_node.nodes <= 5


def test_with_all_nodes_down_one_node_is_requested() -> None:
    assert view(fan(3), queue=QueueRead(0.0, [0.0], [0.0]), nodes=16).most_nodes == 1
    assert view(fan(3), nodes=16).most_nodes == 16
