"""Verdicts follow from the figures: on figures made by hand, passed and failed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from headway_papers.bucketing.allocators import OURS, RECOMMENDED
from headway_papers.bucketing.cells import NEAREST, PLAIN
from headway_papers.bucketing.times import Timing
from headway_papers.bucketing.verdicts import differences_of, verdicts_on
from headway_papers.bucketing.workflows import LOGS
from headway_papers.frame.report import Verdict
from paper_cells import all_cells, cell


def by_words(verdicts: list[Verdict], words: str) -> list[Verdict]:
    found = [verdict for verdict in verdicts if words in verdict.about]
    assert found
    return found


def test_the_difference_to_the_paper() -> None:
    """Five of the six algorithms are 0.05 off, one too; the baseline, ours and those not in the paper do not count."""
    instead = {("Normal", "whole-machine"): 0.99, ("Normal", "max-seen, exact"): 0.99}
    (verdict,) = by_words(verdicts_on(all_cells(instead=instead)), "published")
    assert verdict.value == pytest.approx(0.05)
    assert verdict.passed
    (verdict,) = by_words(verdicts_on(all_cells(published=0.6)), "published")
    assert verdict.value == pytest.approx((5 * 0.2 + 0.1) / 6)
    assert not verdict.passed
    assert "exhaustive-bucketing 0.100" in verdict.detail
    differences = differences_of(all_cells(), NEAREST)
    assert set(differences) == {
        "max-seen", "min-waste", "max-throughput", "quantized-bucketing", "greedy-bucketing", "exhaustive-bucketing"
    }  # fmt: skip
    assert {len(each) for each in differences.values()} == {18}


@pytest.mark.parametrize(
    ("ours", "passed"),
    [(0.59, [True, True, True]), (0.57, [False, True, True]), (0.54, [False, False, True]), (0.51, [False] * 3)],
)
def test_the_lead_over_what_the_paper_recommends(ours: float, passed: list[bool]) -> None:
    verdicts = by_words(verdicts_on(all_cells(ours=ours)), f"over that of {RECOMMENDED}")
    assert [verdict.passed for verdict in verdicts] == passed
    assert [verdict.value for verdict in verdicts] == [pytest.approx(ours - 0.5)] * 3


def test_ahead_of_every_one() -> None:
    verdicts = by_words(verdicts_on(all_cells(ours=0.7, others=0.71)), "any other")
    assert not any(verdict.passed for verdict in verdicts)
    assert all(verdict.passed for verdict in by_words(verdicts_on(all_cells()), "any other"))


def test_one_cell_decides_whether_it_is_nowhere_far_behind() -> None:
    good = by_words(verdicts_on(all_cells()), "furthest")[0]
    assert (good.passed, good.value) == (True, pytest.approx(-0.2))
    near = by_words(verdicts_on(all_cells(instead={("Bimodal", "min-waste"): 0.75})), "furthest")[0]
    assert (near.passed, near.value) == (True, pytest.approx(0.05))
    assert "Bimodal, where the best is min-waste" in near.detail
    far = by_words(verdicts_on(all_cells(instead={("Bimodal", "min-waste"): 0.77})), "furthest")[0]
    assert (far.passed, far.value) == (False, pytest.approx(0.07))


def test_none_of_the_paper_is_better_in_efficiency_and_failures() -> None:
    """All have three failures a cell; one with a higher efficiency and fewer failures is better in both."""
    higher = dict.fromkeys(((workflow, "min-waste") for workflow in LOGS), 0.8)
    assert all(it.passed for it in by_words(verdicts_on(all_cells(instead=higher)), "fewer failures"))
    for failures, passed in ((2.0, False), (4.0, True)):
        cells = [
            structs.replace(
                it, resources={name: structs.replace(own, failures=failures) for name, own in it.resources.items()}
            )
            if it.allocator == "min-waste"
            else it
            for it in all_cells(instead=higher)
        ]
        found = by_words(verdicts_on(cells), "fewer failures")
        assert [it.passed for it in found] == [passed] * 6
        assert ("with fewer the best is min-waste, 0.800 with 12" in found[0].detail) != passed


def test_what_is_not_in_the_paper_is_no_rival() -> None:
    verdicts = verdicts_on(all_cells(instead={("Bimodal", "max-seen, exact"): 0.99}))
    assert all(verdict.passed for verdict in verdicts)


def test_the_papers_own_claims() -> None:
    """Exhaustive bucketing has 0.5 on all workflows, the five others 0.4; then one of the five is better."""
    slow = [Timing("greedy-bucketing", 5_000, 1_700.0, None), Timing("ladder", 5_000, 9_000.0, None)]
    *ahead, slowest = by_words(verdicts_on(all_cells(), slow), "claim of Phung and Thain")
    assert [verdict.value for verdict in ahead] == [pytest.approx(0.1)] * 3
    assert "exhaustive-bucketing" in ahead[0].detail and "6 of 6 workflows" in ahead[0].detail
    assert (slowest.value, slowest.passed) == (1.7, False)
    better = dict.fromkeys(((workflow, "min-waste") for workflow in LOGS), 0.6)
    assert not any(it.passed for it in by_words(verdicts_on(all_cells(instead=better)), "best of five others"))


def test_no_verdict_without_the_papers_logs() -> None:
    assert verdicts_on([]) == []
    nearest_only = [it for it in all_cells() if it.setting == NEAREST]
    assert len(by_words(verdicts_on(nearest_only), "claim of Phung and Thain")) == 3
    assert len(verdicts_on(nearest_only)) == 3 + 1 + 3
    assert differences_of([cell("Normal", OURS, PLAIN, 0.5)], PLAIN) == {}


@given(st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_a_verdict_passes_on_the_right_side_of_its_bound(value: float, needed: float, at_most: bool) -> None:
    verdict = Verdict("", value, needed, at_most=at_most)
    if value != needed:
        assert verdict.passed == ((value < needed) == at_most)
    else:
        assert verdict.passed
