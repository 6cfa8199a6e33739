"""A fixed pool in simulation: what attempts cost, the measure of Witt et al. 2019, and the compiled simulator."""

from __future__ import annotations

import random

import pytest

from headway.drivers.assemble import allocator_of
from headway.model.instance import Instance, Recorded
from headway.model.records import Decision, Event, Finish
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway_papers.feedback.workflows import TERABYTE_WEEK, with_estimates, workflow
from headway_papers.fixed_pool.compiled_runs import ORDERS, PREDICTORS, compiled_in_pool, prepared
from headway_papers.fixed_pool.pool import scaled
from headway_papers.fixed_pool.runs import recorded_in_pool, run_in_pool
from headway_papers.malleable_work import MalleableWork, malleable_outcome
from paper_rule import as_published

GB = 10**9
SMALL = Resources(cores=4, memory_bytes=10 * GB)


def flow(peaks_gb: dict[str, float], hint_gb: float, run_s: float = 100.0) -> Instance:
    tasks = [Task(name, "c", "", hints={"cores": 1.0, "memory_bytes": hint_gb * GB}) for name in peaks_gb]
    recorded = {name: Recorded(run_s=run_s, cores=1.0, memory_bytes=round(gb * GB)) for name, gb in peaks_gb.items()}
    return Instance(Workflow("w", tasks), recorded)


def test_a_failure_costs_its_allocation_until_it_dies_and_twice_as_much_follows() -> None:
    result = recorded_in_pool(flow({"a": 3.0}, hint_gb=2.0), "fifo", "user", 0.25, SMALL)
    assert result.status == "succeeded" and result.attempts == 2
    assert result.makespan_s == pytest.approx(25.0 + 100.0)
    assert result.memory.failed == pytest.approx(2 * GB * 25.0)
    assert result.memory.fragmentation == pytest.approx(1 * GB * 100.0)
    assert result.maq == pytest.approx(3.0 * 100 / (4.0 * 100 + 2.0 * 25))  # equation 4


def test_memory_and_cores_are_both_a_limit() -> None:
    by_memory = recorded_in_pool(flow(dict.fromkeys("abcdef", 4.0), 4.0), "fifo", "user", 0.5, SMALL)
    by_cores = recorded_in_pool(flow(dict.fromkeys("abcdef", 1.0), 1.0), "fifo", "user", 0.5, SMALL)
    assert by_memory.makespan_s == pytest.approx(300.0)  # two of 4 GB at a time
    assert by_cores.makespan_s == pytest.approx(200.0)  # four cores
    assert by_memory.maq == by_cores.maq == 1.0


def test_a_task_larger_than_the_pool_fails_the_run_and_the_compiled_simulator_refuses_it() -> None:
    large = flow({"a": 12.0}, hint_gb=8.0)
    result = recorded_in_pool(large, "fifo", "user", 0.5, SMALL)
    assert result.status == "failed"
    with pytest.raises(ValueError, match="larger than the pool"):
        compiled_in_pool(prepared(large), "fifo", "user", 0.5, SMALL)


@pytest.mark.parametrize("family", ["cybershake", "epigenomics", "ligo", "montage", "sipht"])
def test_a_workflow_is_scaled_to_exactly_one_terabyte_week(family: str) -> None:
    made = workflow(family, 3, seed=2)
    used = sum((seen.memory_bytes or 0) * (seen.run_s or 0.0) for seen in made.recorded.values())
    assert used == pytest.approx(TERABYTE_WEEK, rel=1e-12)
    assert abs(len(made.workflow) - 1000) <= 1
    twice = scaled(made, 2 * TERABYTE_WEEK)
    name = next(iter(made.recorded))
    assert twice.recorded[name].run_s == pytest.approx(2 * (made.recorded[name].run_s or 0.0))


@pytest.mark.parametrize("sizer", ["ladder", "gradient-bandit"])
def test_the_same_seed_gives_the_same_journal(sizer: str) -> None:
    work = MalleableWork(one_core_s=100.0, parallel=0.5, memory_bytes=2 * GB)
    tasks = list(flow(dict.fromkeys("abcdef", 2.0), hint_gb=4.0).workflow)

    def journal() -> list[Event | Decision]:
        allocator = allocator_of(sizer, 7)
        return run_in_pool(tasks, allocator, lambda launch, at: malleable_outcome(launch, work, at), SMALL)

    first = journal()
    assert first == journal() and isinstance(first[-1], Finish)


@pytest.mark.parametrize("scenarios", [80, pytest.param(1000, marks=pytest.mark.chaos)])
def test_the_compiled_simulator_equals_the_engine_on_random_scenarios(scenarios: int) -> None:
    """Families, sizes, pools, orders, predictors, estimates and times to failure are all drawn."""
    draw = random.Random(4)
    for _ in range(scenarios):
        family = draw.choice(["cybershake", "epigenomics", "ligo", "montage", "sipht"])
        (tasks,) = draw.choices([30, 60, 120, 600], [8, 8, 6, 1])
        estimate = draw.choice(["power-2", "power-10", "max+20%"])
        made = with_estimates(workflow(family, draw.randrange(10_000), tasks=tasks), estimate)
        order, sizer = draw.choice(list(ORDERS)), draw.choice(list(PREDICTORS))
        ttf = draw.choice([0.1, 0.5, 0.9, 1.0])
        pool = Resources(cores=draw.choice([4, 16, 128]), memory_bytes=draw.choice([1_952, 3_000, 10_000]) * GB)
        said = recorded_in_pool(made, order, as_published(sizer), ttf, pool)
        compiled = compiled_in_pool(prepared(made), order, sizer, ttf, pool)
        scenario = f"{made.workflow.name} {estimate} {order} {sizer} {ttf} {pool}"
        assert (compiled.status, compiled.attempts) == (said.status, said.attempts), scenario
        assert compiled.memory.failures == said.memory.failures, scenario
        assert compiled.makespan_s == pytest.approx(said.makespan_s, rel=1e-9), scenario
        assert compiled.maq == pytest.approx(said.maq, rel=1e-9), scenario
