"""`ladder` learns from peaks, failures, input sizes, drift, and the hints of other categories."""

from __future__ import annotations

import numpy as np
import pytest

from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction, Sizer
from headway.sizing.estimators.ladder import REMEMBERED
from headway.sizing.ladder_sizer import ladder_sizer
from headway.sizing.per_resource import PerResource

GB = 1e9
HERE = Context(Resources(cores=16, memory_bytes=64 * 10**9, disk_bytes=64 * 10**9), kills=frozenset({"memory_bytes"}))


def task(name: str = "t", category: str = "c", **about: object) -> Task:
    return Task(name, category, "true", outputs=("o",), **about)  # type: ignore[arg-type]


def success(memory_bytes: float, seconds: float = 100.0, cores: float = 1.0) -> Outcome:
    exact = Quality.EXACT
    usage = Usage(
        wall_s=Measured(seconds, exact), memory_bytes=Measured(memory_bytes, exact), cores_peak=Measured(cores, exact)
    )
    return Outcome("t", 1, Ending.SUCCESS, 0.0, seconds, usage)


def out_of_memory(memory_bytes: float, seconds: float) -> Outcome:
    bound = Quality.LOWER_BOUND
    usage = Usage(wall_s=Measured(seconds, bound), memory_bytes=Measured(memory_bytes, bound))
    return Outcome("t", 1, Ending.MEMORY, 0.0, seconds, usage)


def asked(sizer: Sizer, about: Task | None = None, failures: tuple[float, ...] = (), context: Context = HERE) -> float:
    answer = sizer.predict(about or task(), failures, context)
    assert isinstance(answer, Prediction), answer
    assert answer.value is not None
    return answer.value


def trained(*peaks: float) -> Sizer:
    sizer = ladder_sizer("memory_bytes")
    for peak in peaks:
        sizer.observe(task(), success(peak))
    return sizer


def test_it_learns_from_the_first_record() -> None:
    assert asked(ladder_sizer("memory_bytes")) == 4 * GB  # a share of the machine
    assert 1.0 * GB < asked(trained(1 * GB)) < 1.5 * GB
    assert asked(ladder_sizer("memory_bytes"), context=Context(HERE.limits, start={"memory_bytes": 2 * GB})) == 2 * GB


def test_a_task_climbs_up_to_the_limit() -> None:
    sizer, failures = trained(1 * GB, 1.1 * GB, 20 * GB), []
    while isinstance(answer := sizer.predict(task(), failures, HERE), Prediction):
        assert answer.value is not None and (not failures or answer.value > failures[-1])
        failures.append(answer.value)
    assert failures[-1] == HERE.limits.memory_bytes
    assert isinstance(answer, CannotFit)


def test_the_answer_is_explained() -> None:
    answer = trained(*[1 * GB] * 50, *[9 * GB] * 50).predict(task(), (), HERE)
    assert isinstance(answer, Prediction)
    assert answer.why.figures["rung"] == answer.value
    assert answer.why.figures["records"] == 100
    assert "100 all records" in answer.why.text or "records" in answer.why.text


def test_drift_is_followed() -> None:
    sizer = trained(*[4 * GB] * 300, *[12 * GB] * 300, *[2 * GB] * 60)
    assert 2 * GB <= asked(sizer) < 3 * GB


def test_input_sizes_are_used_where_they_explain_peaks() -> None:
    sizer, draw = ladder_sizer("memory_bytes"), np.random.default_rng(1)
    for _ in range(150):
        size = int(np.exp(draw.uniform(18, 22)))
        sizer.observe(task(input_bytes=size), success(2.0 * size))
    for size in (10**8, 10**9, 3 * 10**9):
        assert 2.0 * size <= asked(sizer, task(input_bytes=size)) < 2.6 * size
    assert asked(sizer, task(input_bytes=None)) > 0


def test_input_sizes_are_not_used_where_they_explain_nothing() -> None:
    sizer, draw = ladder_sizer("memory_bytes"), np.random.default_rng(2)
    for _ in range(200):
        sizer.observe(task(input_bytes=int(draw.integers(1, 10**9))), success(draw.choice([1.0, 1.01, 1.02]) * GB))
    assert asked(sizer, task(input_bytes=5 * 10**8)) == pytest.approx(1.03 * GB, rel=0.02)


def test_when_failures_come_early_rungs_are_lower() -> None:
    def after(failing_share: float) -> float:
        sizer = ladder_sizer("memory_bytes")
        for number in range(200):
            large = number % 10 != 0
            peak = 9 * GB if large else 1 * GB
            about = task(f"t{number}")
            if large:
                sizer.observe(about, out_of_memory(1 * GB, 100 * failing_share))
            sizer.observe(about, success(peak))
        return asked(sizer)

    assert after(0.01) < 2 * GB
    assert after(1.0) >= 9 * GB


def test_a_failed_attempt_is_no_peak() -> None:
    sizer = trained(*[1 * GB] * 20)
    before = asked(sizer)
    sizer.observe(task("x"), out_of_memory(8 * GB, 10.0))
    assert asked(sizer) == before


def test_it_gives_more_where_a_failure_wastes_other_resources() -> None:
    sizer = trained(*[1 * GB] * 60, *[2 * GB] * 5)
    alone = asked(sizer)
    with_others = asked(sizer, context=Context(HERE.limits, held=2.0))
    assert alone < 1.2 * GB
    assert with_others >= 2 * GB


def test_cores_are_whole_where_too_few_only_slow_it_down() -> None:
    sizer = ladder_sizer("cores")
    for busy in (2.9, 3.1, 3.0, 2.95):
        sizer.observe(task(), success(1 * GB, cores=busy))
    assert asked(sizer) == 3.0
    assert asked(sizer, task(hints={"cores": 2.0})) == 2.0
    killed = asked(sizer, context=Context(HERE.limits, kills=frozenset({"cores"})))
    assert 3.1 <= killed < 4.0


def test_hints_are_scaled_by_what_other_categories_used_of_theirs() -> None:
    allocator = PerResource(ladder_sizer)

    def first_of(category: str) -> float:
        answer = allocator.allocate(task("n", category, hints={"memory_bytes": 40 * GB}), {}, HERE)
        return float(getattr(answer, "resources").memory_bytes)  # noqa: B009

    assert first_of("new") == 40 * GB
    for number in range(8):
        about = task(f"{number}", f"c{number}", hints={"memory_bytes": 40 * GB})
        allocator.observe(about, {}, success(2 * GB))
    assert first_of("new") < 5 * GB
    restored = PerResource(ladder_sizer)
    restored.restore(allocator.state())
    assert restored.allocate(task("n", "new", hints={"memory_bytes": 40 * GB}), {}, HERE) == allocator.allocate(
        task("n", "new", hints={"memory_bytes": 40 * GB}), {}, HERE
    )


def test_memory_is_bounded() -> None:
    sizer = ladder_sizer("memory_bytes")
    for number in range(3 * REMEMBERED):
        sizer.observe(task(f"{number}"), out_of_memory(1 * GB, 1.0))
        sizer.observe(task(f"other{number}"), success(5e8, seconds=1.0))
    state = sizer.state()
    assert len(state["log_peaks"]) == REMEMBERED
    assert len(state["failed_after"]) <= REMEMBERED


def test_walltime_is_requested_where_there_is_a_limit() -> None:
    limited = Context(Resources(cores=4, memory_bytes=10**9, walltime_s=86_400.0))
    sizer = ladder_sizer("walltime_s")
    assert asked(sizer, context=limited) == 86_400  # nothing is known: as long as is allowed
    for _ in range(50):
        sizer.observe(task(), success(1 * GB, seconds=600.0))
    first = asked(sizer, context=limited)
    assert 660 < first < 3_600
    assert asked(sizer, task(hints={"walltime_s": 50.0}), context=limited) == first, "a hint is for plans"
    assert asked(sizer, failures=(first,), context=limited) == 2 * first
    assert asked(sizer, failures=(first, 2 * first), context=limited) == 4 * first
    assert isinstance(sizer.predict(task(), [first, 2 * first, 86_400.0], limited), CannotFit)
    here = sizer.predict(task(), [], HERE)
    assert isinstance(here, Prediction) and here.value is None, "on the user's own machine nothing limits time"


@pytest.mark.parametrize("first", [None, 0, 10**8])
def test_one_task_of_unknown_input_size_does_no_harm(first: int | None) -> None:
    sizer, draw = ladder_sizer("memory_bytes"), np.random.default_rng(3)
    sizer.observe(task("first", input_bytes=first), success(5e7))
    too_small = 0
    for number in range(200):
        about = task(f"t{number}", input_bytes=int(np.exp(draw.uniform(18, 22))))
        peak = about.input_bytes / 2
        too_small += asked(sizer, about) < peak
        sizer.observe(about, success(peak))
    assert too_small < 20


def test_a_time_out_teaches_nothing_about_memory() -> None:
    sizer = trained(*[1 * GB] * 5)
    bound = Quality.LOWER_BOUND
    usage = Usage(wall_s=Measured(3.0, bound), memory_bytes=Measured(1 * GB, bound))
    sizer.observe(task("x"), Outcome("x", 1, Ending.TIME, 0.0, 3.0, usage))
    assert sizer.state()["failed_after"] == {}


def test_tasks_that_were_given_up_are_forgotten() -> None:
    sizer = trained(1 * GB)
    for number in range(2 * REMEMBERED):
        sizer.observe(task(f"lost{number}"), out_of_memory(1 * GB, 1.0))
    for number in range(60):
        sizer.observe(task(f"t{number}"), out_of_memory(1 * GB, 1.0))
        sizer.observe(task(f"t{number}"), success(2 * GB, seconds=100.0))
    assert sizer.state()["failed_share"] < 0.2
