"""Zunker 2021 on this machine, with an example that takes no time: courses, and when choices have settled."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.model.errors import SiteError
from headway_papers.frame.text import lines_of
from headway_papers.rl import real
from headway_papers.rl.real import RealCourse, real_document, real_report, real_runs

WORKFLOW = """
name: {name}
tasks:
  make:
    each: {{n: [1, 2]}}
    run: python3 -m {name} > out{{n}}
    outputs: ["out{{n}}"]
    env: {{POWER_DAYS: 365}}
  check:
    run: "false"
"""


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(real, "REAL_APPROACHES", ("user", "gradient-bandit"))
    for name in ("match", "power"):
        (tmp_path / name / name).mkdir(parents=True)
        (tmp_path / name / name / "__main__.py").write_text("import os; print(os.environ['POWER_DAYS'])")
        (tmp_path / name / "workflow.yaml").write_text(WORKFLOW.format(name=name))
    return tmp_path


def test_a_course_ends_when_choices_have_settled(examples: Path) -> None:
    told: list[str] = []
    found = real_runs(examples, 5, small=True, tell=told.append)
    assert [(course.example, course.approach) for course in found] == [
        (example, approach) for example in ("match", "power") for approach in ("user", "gradient-bandit")
    ]
    for course in found[::2]:
        assert (len(course.runs), course.settled_after) == (4, 1), "what users ask for is always the same"
    assert all(run.tasks == 2 for course in found for run in course.runs), "small ones check nothing"
    assert len(told) == sum(len(course.runs) for course in found)
    assert not list(examples.glob("*/.headway")), "nothing is left behind"
    shown = "\n".join(str(line) for line, _ in lines_of(real_report(found, 0), 120))
    assert "user (settled after 1 run)" in shown and "CPU seconds" in shown
    assert len(real_document(found)["courses"]) == 4


def test_a_run_that_fails_ends_it_and_says_why(examples: Path) -> None:
    with pytest.raises(SiteError, match="a run of match under user failed: task check"):
        real_runs(examples, 3)


def test_memory_may_move_by_a_little() -> None:
    assert real._alike((1.0, 100), (1.0, 109))
    assert not real._alike((1.0, 100), (1.0, 120))
    assert not real._alike((1.0, 100), (2.0, 100))


def test_the_last_runs_count() -> None:
    runs = [real.figures_of([]) for _ in range(5)]
    assert len(RealCourse("match", "user", runs, None).counted) == 3
