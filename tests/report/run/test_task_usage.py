"""Resources given and used: the figures of a run's summary, and a task's last attempt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.model import records
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.records import Decision, Event, Why
from headway.model.resources import Resources
from headway.report.run.figures import MEASURED, Figures
from headway.report.run.summary import RunSummary
from headway.report.run.task_usage import CategoryUsage, Row, TaskUsage, flat, total_of
from headway.report.run.usage_table import SORTS, sentences, usage_table
from tests.report.records import GB, ended, launch, started, task

GIVEN = Resources(cores=2, memory_bytes=2 * GB, disk_bytes=10 * GB)


def with_cpu(record: records.TaskEnded, cpu_s: float) -> records.TaskEnded:
    outcome = record.outcome
    usage = Usage(
        wall_s=outcome.usage.wall_s,
        cpu_s=Measured(cpu_s, Quality.EXACT),
        memory_bytes=outcome.usage.memory_bytes,
        cores_peak=outcome.usage.cores_peak,
        disk_bytes=outcome.usage.disk_bytes,
    )
    ended_at = Outcome(
        outcome.task, outcome.attempt, outcome.ending, outcome.started_at, outcome.ended_at, usage, message="m"
    )
    return records.TaskEnded(record.at, ended_at)


def story() -> list[Event | Decision]:
    """A retry for memory, a failure, a reused result, a lost attempt, a running task, and one cut off."""
    return [
        *started(
            task("p[1]", "p"),
            task("p[2]", "p"),
            task("bad"),
            task("below", parents=("bad",)),
            task("kept"),
            task("lost"),
            task("going", "p"),
        ),
        launch("p[1]", 1, GIVEN),
        with_cpu(ended("p[1]", 1, 30, memory_bytes=1 * GB, cores=1.5, disk_bytes=5 * GB), 40),
        launch("p[2]", 1, GIVEN),
        with_cpu(ended("p[2]", 1, 10, Ending.MEMORY, memory_bytes=2 * GB, cores=1), 10),
        launch("p[2]", 2, GIVEN.replace(memory_bytes=4 * GB)),
        with_cpu(ended("p[2]", 2, 30, memory_bytes=3 * GB, cores=2, disk_bytes=5 * GB), 50),
        launch("bad", 1, GIVEN),
        ended("bad", 1, 5, Ending.EXIT_CODE, memory_bytes=0.5 * GB, message="exit code 3"),
        records.GiveUp(120, "bad", Why("engine", "exit-code", {}, "exit code 3")),
        records.Reuse(121, "kept", "3"),
        launch("lost", 1, GIVEN),
        records.NodeLost(130, "box", "gone"),
        records.NodeUp(131, "box", "tag", GIVEN),
        launch("going", 1, GIVEN, at=132),
    ]


def told(summary: CategoryUsage, entries: list[Event | Decision]) -> dict[str, Row]:
    for entry in entries:
        summary.apply(entry)
    return {row.name: row for row in summary.rows("running")}


def test_a_task_shows_its_last_attempt_and_what_all_of_them_cost() -> None:
    row = told(TaskUsage(), story())["p[2]"]
    assert (row.state, row.category, row.figures.attempts, row.figures.run_s) == ("succeeded", "p", 2, 40)
    assert (row.asked("memory_bytes"), row.used("memory_bytes")) == (4 * GB, 3 * GB)
    assert row.figures.totals["memory_bytes"].wasted == (2 * 10 + (4 - 3) * 30) * GB
    assert row.figures.busy == pytest.approx((10 + 50) / (2 * 10 + 2 * 30))


def test_states() -> None:
    rows = told(TaskUsage(), story())
    assert {name: row.state for name, row in rows.items()} == {
        "p[1]": "succeeded",
        "p[2]": "succeeded",
        "bad": "failed",
        "below": "cut off",
        "kept": "reused",
        "lost": "to be retried",
        "going": "running",
    }
    assert rows["going"].asked("memory_bytes") == 2 * GB
    assert rows["going"].used("memory_bytes") is None
    assert (rows["kept"].asked("cores"), rows["kept"].used("cores"), rows["kept"].figures.busy) == (None, None, None)


def assert_same(one: Figures, other: Figures) -> None:
    for name in ("total", "succeeded", "reused", "failed", "cut_off", "running", "attempts", "lost"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.run_s == pytest.approx(other.run_s)
    for resource in MEASURED:
        for name in ("allocated", "consumed", "asked_mean", "used_mean", "used_max", "wasted", "awe"):
            mine, theirs = getattr(one.totals[resource], name), getattr(other.totals[resource], name)
            assert mine == (theirs if theirs is None else pytest.approx(theirs)), (resource, name)


def test_the_sum_over_tasks_equals_the_summary() -> None:
    summary = RunSummary()
    for entry in story():
        summary.apply(entry)
    by_task, by_category = told(TaskUsage(), story()), told(CategoryUsage(), story())
    assert_same(total_of(list(by_task.values())).figures, summary.whole())
    assert_same(total_of(list(by_category.values())).figures, summary.whole())
    for name, figures in summary.categories.items():
        assert_same(by_category[name].figures, figures)
        assert_same(total_of([row for row in by_task.values() if row.category == name]).figures, figures)


def test_a_late_result_of_a_lost_attempt_is_ignored() -> None:
    late = with_cpu(ended("lost", 1, 9, memory_bytes=GB, cores=1), 9)
    rows = told(TaskUsage(), [*story(), late])
    assert rows["lost"].state == "to be retried"
    assert rows["lost"].figures.busy is None


def test_rows_for_programs_have_the_same_keys_and_full_figures() -> None:
    rows = told(TaskUsage(), story())
    flats = {name: flat(row, "task") for name, row in rows.items()}
    assert len({tuple(each) for each in flats.values()}) == 1
    assert flats["p[2]"]["memory_wasted_byte_s"] == 50 * GB
    assert (flats["p[2]"]["last_attempt"], flats["p[2]"]["last_ending"]) == (2, "success")
    assert flats["kept"]["memory_asked_bytes"] is None
    category = flat(told(CategoryUsage(), story())["p"], "category")
    assert (category["tasks"], category["succeeded"], category["running"]) == (3, 2, 1)
    assert category["memory_asked_bytes"] == pytest.approx((2 + 2 + 4) / 3 * GB)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
@pytest.mark.parametrize("kind", [TaskUsage, CategoryUsage])
def test_the_table_fits_and_keeps_the_essentials(kind: type[CategoryUsage], width: int) -> None:
    rows = list(told(kind(), story()).values())
    lines = [line.plain for line in usage_table(rows, total_of(rows), kind.by, width)]
    assert max(map(len, lines)) <= width
    assert lines[-1].startswith("all")
    heading = next(line for line in lines if line.startswith(kind.by))
    assert ("state" if kind is TaskUsage else "tasks") in heading
    assert "memory" in lines[0]


def test_marks_of_measurement_quality() -> None:
    rows = told(TaskUsage(), story())
    lines = {line.plain.split()[0]: line.plain for line in usage_table(list(rows.values()), rows["bad"], "task", 200)}
    assert "≥ 500 MB" in lines["bad"]
    assert "≥" not in lines["p[1]"]


def test_one_task_needs_no_total() -> None:
    rows = list(told(TaskUsage(), [*started(task("only")), launch("only", 1, GIVEN)]).values())
    assert [line.plain.split()[0] for line in usage_table(rows, total_of(rows), "task", 100)][-1] == "only"


def test_sentences() -> None:
    rows = list(told(TaskUsage(), story()).values())
    memory, cores, disk = sentences(total_of(rows))
    assert memory == "memory: asked 2.5 GB on average, used 2 GB (AWE 57%); 90 GB·s given and not used"
    assert cores == "cores: asked 2 on average, used 1.75 (AWE 75%); busy 71% of the time"
    assert disk.startswith("disk: asked 10 GB on average, used 5 GB (AWE 50%)")
    assert sentences(total_of([])) == []


def test_names_are_escaped_and_large_numbers_are_grouped() -> None:
    name = "\x1b[31mred\nline"
    huge = Resources(cores=1e6, memory_bytes=2**61, disk_bytes=2**61)
    entries = [*started(task(name)), launch(name, 1, huge), ended(name, 1, 1e9, memory_bytes=2.0**60, cores=1e6)]
    rows = list(told(TaskUsage(), entries).values())
    text = "\n".join(line.plain for line in usage_table(rows, total_of(rows), "task", 200))
    assert "\x1b" not in text
    assert "red line" in text
    assert "50%" in text


@pytest.mark.parametrize("sort", SORTS)
def test_every_column_sorts_with_the_unknown_last(sort: str) -> None:
    rows = list(told(TaskUsage(), story()).values())
    ordered = sorted(rows, key=SORTS[sort])
    assert {row.name for row in ordered} == {row.name for row in rows}
    if "-" in sort and sort.rpartition("-")[2] in ("asked", "used", "awe", "busy"):
        assert ordered[-1].name in ("kept", "below", "lost", "going", "bad")


def test_sort_orders() -> None:
    rows = list(told(TaskUsage(), story()).values())
    assert [row.name for row in sorted(rows, key=SORTS["memory-waste"])][:3] == ["p[2]", "p[1]", "bad"]
    assert [row.name for row in sorted(rows, key=SORTS["cores-busy"])][:2] == ["p[1]", "p[2]"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "c"]),
            st.floats(0.1, 1e6),
            st.floats(0, 1e12),
            st.sampled_from([Ending.SUCCESS, Ending.MEMORY, Ending.EXIT_CODE]),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_totals_by_category_and_by_task_agree(attempts: list[tuple[str, float, float, Ending]]) -> None:
    entries = started(*(task(f"{category}[{place}]", category) for place, (category, *_) in enumerate(attempts)))
    for place, (category, run_s, memory_bytes, ending) in enumerate(attempts):
        name = f"{category}[{place}]"
        entries += [launch(name, 1, GIVEN), ended(name, 1, run_s, ending, memory_bytes=memory_bytes)]
    by_task, by_category = told(TaskUsage(), entries), told(CategoryUsage(), entries)
    assert_same(total_of(list(by_task.values())).figures, total_of(list(by_category.values())).figures)
