"""The table of `status --by`: its order, its limits and its width."""

from __future__ import annotations

from rich.cells import cell_len

from headway.model.task import Task
from headway.report.run.by_column import ByColumn, by_column, table_of


def table(samples: int, steps: int, states: dict[str, str], chromosomes: int = 1) -> ByColumn:
    tasks = [
        Task(f"step{step}[{sample},{chromosome}]", f"step{step}", "true", row=f"sample=s{sample}\tchr={chromosome}")
        for step in range(steps)
        for sample in range(samples)
        for chromosome in range(chromosomes)
    ]
    return by_column("sample", [*tasks, Task("merge", "merge", "true")], lambda task: states.get(task, "succeeded"))


def lines(found: ByColumn, width: int = 80) -> list[str]:
    return [line.plain for line in table_of(found, width)]


def test_few_rows_are_in_the_order_of_the_sheet() -> None:
    states = {"step0[1,0]": "failed", "step1[1,0]": "cut_off", "step1[2,0]": "running", "merge": "waiting"}
    assert lines(table(3, 2, states)) == [
        "sample     step0  step1",
        "───────────────────────",
        "s0             ✓      ✓",
        "s1             ✗      -",
        "s2             ✓      ▸",
        "───────────────────────",
        "✗ failed       1",
        "▸ running             1",
        "- cut off             1",
        "✓ done         2      1",
        "",
        "merge  · waiting",
    ]


def test_of_many_rows_those_that_need_attention_come_first() -> None:
    states = {"step0[998,0]": "failed", "step0[500,0]": "running", "step0[3,0]": "waiting"}
    shown = lines(table(1000, 1, states))
    assert [line.split()[0] for line in shown[2:6]] == ["s998", "s500", "s3", "s0"]
    assert "… 970 more: 970 done (--json lists all)" in shown
    assert "✓ done       997" in shown
    assert len(shown) < 45


def test_a_cell_of_several_tasks_counts_them() -> None:
    shown = lines(table(1, 1, {"step0[0,3]": "failed"}, chromosomes=24))
    assert shown[2].split() == ["s0", "✗", "23/24"]


def test_columns_that_do_not_fit_follow_below() -> None:
    shown = lines(table(2, 30, {}))
    assert max(map(cell_len, shown)) <= 80
    titles = [word for line in shown if line.startswith("sample") for word in line.split()[1:]]
    assert titles == [f"step{number}" for number in range(30)]


def test_the_document_has_all_rows() -> None:
    found = table(1000, 2, {"step1[7,0]": "failed"}).document()
    assert found["by"] == "sample" and len(found["rows"]) == 1000
    steps = [{"category": "step0", "succeeded": 1}, {"category": "step1", "failed": 1}]
    assert found["rows"][7] == {"value": "s7", "state": "failed", "steps": steps}
    assert found["totals"][1] == {"category": "step1", "succeeded": 999, "failed": 1}
    assert found["others"] == [{"category": "merge", "succeeded": 1}]
