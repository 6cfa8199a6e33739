"""`headway plan`: a table, a recommendation, and one sentence for what is wrong."""

from __future__ import annotations

import pytest

from headway.report.queue.through_queue import Alternative, advice, chance, cheapest_in_time, recommended
from tests.cli.bench import Bench


@pytest.fixture
def made(bench: Bench) -> Bench:
    """A generated workflow of some thirty tasks."""
    bench.succeeds("generate", "montage", "--tasks", "30", "--seed", "1", "-o", "flow.json")
    return bench


def test_the_recommended_plan_is_in_the_table(made: Bench) -> None:
    answer = made.json("plan", "flow.json", "--on", "lublin", "--futures", "2")
    names = [plan["plan"] for plan in answer["plans"]]
    assert answer["recommended"] in names
    assert {"one-job", "one-job-per-task", "glume", "zhang", "headway"} <= set(names)
    spans = [plan["makespan_s"] for plan in answer["plans"]]
    assert spans == sorted(spans)
    assert all(plan["shortest_s"] <= plan["makespan_s"] <= plan["longest_s"] for plan in answer["plans"])


def test_the_same_seed_the_same_answer(made: Bench) -> None:
    words = ("plan", "flow.json", "--on", "lublin", "--plan", "headway", "--futures", "2", "--seed", "4")
    assert made.json(*words) == made.json(*words)


def test_without_json_it_prints_a_table_and_a_sentence(made: Bench) -> None:
    plans = ("--plan", "one-job", "--plan", "one-job-per-task")
    out = made.succeeds("plan", "flow.json", "--on", "lublin", *plans, "--futures", "1")
    assert "node-hours" in out
    assert "expected to finish after" in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--prefer", "quick"), "no preference"),
        (("--prefer", "1.5"), "no preference"),
        (("--plan", "one-jub"), "no plan called"),
        (("--start", "9999d"), "the last job comes"),
        (("--on", "nowhere.swf"), "does not exist"),
    ],
)
def test_a_mistake_is_reported(made: Bench, words: tuple[str, ...], said: str) -> None:
    error = made.fails(2, "plan", "flow.json", "--on", "lublin", *words)
    assert said in error


def test_preferring_node_hours_changes_the_recommendation() -> None:
    fast = Alternative("fast", 100.0, 90.0, 110.0, 0.0, 5, 50.0, 100.0, 90.0, True)
    cheap = Alternative("cheap", 400.0, 300.0, 500.0, 0.0, 1, 10.0, 20.0, 20.0, True)
    same = Alternative("same", 100.5, 90.0, 110.0, 0.0, 5, 40.0, 80.0, 70.0, True)
    assert recommended([fast, cheap], 0.0) is fast
    assert recommended([fast, cheap], 1.0) is cheap
    assert recommended([fast, cheap, same], 0.0) is same  # about as soon, and cheaper
    assert "75% sooner than cheap" in advice([fast, cheap], fast, 3)
    assert "80% fewer node-hours" in advice([fast, cheap], fast, 3)


def test_the_cheapest_plan_that_is_likely_in_time_is_recommended(made: Bench) -> None:
    words = ("plan", "flow.json", "--on", "lublin", "--plan", "headway", "--plan", "one-job-per-task", "--futures", "3")
    whole = made.json(*words, "--deadline", "900d")
    assert [plan["in_time"] for plan in whole["plans"]] == [1.0, 1.0]
    assert whole["recommended"] == min(whole["plans"], key=lambda plan: plan["node_hours"])["plan"]
    said = " ".join(made.succeeds(*words, "--deadline", "1s").split())
    assert "no plan ends within 1 s in any of 3 imagined futures" in said


def in_time(plan: str, share: float, node_hours: float) -> Alternative:
    return Alternative(plan, 100.0, 90.0, 110.0, 0.0, 5, node_hours, 100.0, 90.0, in_time=share)


def test_a_plan_must_be_in_time_in_nine_of_ten_futures() -> None:
    sure, likely, unlikely = in_time("sure", 1.0, 50.0), in_time("likely", 0.9, 40.0), in_time("unlikely", 0.8, 10.0)
    assert cheapest_in_time([sure, likely, unlikely]) is likely
    assert cheapest_in_time([unlikely, in_time("worse", 0.5, 1.0)]) is unlikely
    assert "likely is the cheapest plan that is likely to end within 1h 00m: in 18 of 20" in chance(likely, 3600.0, 20)
    assert "unlikely has the best chance: in 16 of 20 imagined futures" in chance(unlikely, 3600.0, 20)
