"""The table of wait models' scores."""

from __future__ import annotations

import pytest

from headway.model.wait_score import WaitScore
from headway.report.queue.waits import ModelScores, lasting, ratio, waits_headline, waits_table


def scored(name: str, error_s: float, to_plan: float | None) -> ModelScores:
    shares = {"0.5": 0.48, "0.9": 0.91, "0.95": 0.957}
    found = WaitScore(name, 1200, 7200.0, error_s, -30.0, to_plan, error_s / 7200.0, shares, dict.fromkeys(shares, 9.0))
    return ModelScores(found, found)


TWO = [scored("plan", 3600.0, 1.0), scored("<better>", 1800.0, 0.5)]


def test_the_table() -> None:
    lines = [line.plain for line in waits_table(TWO, 100)]
    assert " ".join(lines[-1].split()) == "<better> 30m 00s 0.50 -30 s 48% 91% 96% 9 s 30m 00s 91%"


@pytest.mark.parametrize("width", [50, 60, 80])
def test_the_table_fits(width: int) -> None:
    assert all(line.cell_len <= width for line in waits_table(TWO, width))


def test_the_headline_names_the_most_accurate_model() -> None:
    assert waits_headline(TWO) == (
        "<better> has the smallest error: 30m 00s on average, 0.50 times the error of the scheduler's own plan; "
        "1,200 jobs that the plan made wait waited 2h 00m on average"
    )
    assert "times" not in waits_headline([scored("plan", 0.0, None)])


def test_words() -> None:
    assert [lasting(value) for value in (0.0, 90.0, -90.0)] == ["0 s", "1m 30s", "-1m 30s"]
    assert [ratio(None), ratio(0.484)] == ["-", "0.48"]
