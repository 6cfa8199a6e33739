"""The page and pictures of a comparison: everything inside the picture, nothing loaded from elsewhere."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.studies.charts import WIDTH, Dot, marks, ratio_chart
from headway.studies.page import page
from headway.studies.paired import Interval
from headway.studies.runs import Row
from headway.studies.summary import summary_of
from tests.studies.small_study import DAY_S, row

GREEN, RED, GREY = "#2f9455", "#d1434b", "#8c959f"
ratios = st.floats(0.01, 100.0)


def dots_of(picture: str) -> list[tuple[float, str]]:
    """Where each dot is, across, and its colour."""
    return [(float(x), colour) for x, colour in re.findall(r'<circle cx="([\d.]+)".*?fill="(#\w+)"', picture)]


# --- ratios ---


@given(st.floats(0.05, 0.95), st.floats(1.05, 20.0))
def test_marks_are_few_and_one_is_among_them(least: float, most: float) -> None:
    found = marks(least, most)
    assert 1.0 in found
    assert 2 <= len(found) <= 9
    assert found == sorted(set(found))
    assert all(least <= mark <= most for mark in found)


@given(st.lists(st.tuples(ratios, ratios, ratios), min_size=1, max_size=6))
def test_dots_stay_inside_and_in_order(found: list[tuple[float, float, float]]) -> None:
    ordered = [sorted(each) for each in found]
    dots = [
        Dot(f"plan-{number}", Interval(mean, low, high), "1.000") for number, (low, mean, high) in enumerate(ordered)
    ]
    picture = ratio_chart("title", dots)
    places = [x for x, _ in dots_of(picture)]
    means = [dot.ratio.mean for dot in dots]
    assert all(0 < x < WIDTH for x in places)
    for (one, x), (other, y) in pairwise(zip(means, places, strict=True)):
        assert (x <= y) if one <= other else (x >= y)


@pytest.mark.parametrize(
    ("ratio", "colour"),
    [
        (Interval(0.9, 0.85, 0.95), GREEN),
        (Interval(1.2, 1.1, 1.3), RED),
        (Interval(0.9, 0.8, 1.05), GREY),
        (Interval(0.998, 0.997, 0.999), GREY),  # as good as equal
        (Interval(0.5, None, None), GREY),  # too few days
    ],
    ids=["shorter", "longer", "either", "equal", "unknown"],
)
def test_only_what_is_certain_has_a_colour(ratio: Interval, colour: str) -> None:
    assert [found for _, found in dots_of(ratio_chart("title", [Dot("a", ratio)]))] == [colour]


# --- a comparison ---


def rows() -> list[Row]:
    return [
        row(plan, makespan_s, workflow, start * DAY_S)
        for start in range(4)
        for workflow in ("<w>", "v")
        for plan, makespan_s in (("headway", 50.0), ("one-job", 100.0), ("glume", 120.0))
    ]


def test_the_page_of_a_comparison() -> None:
    html = page(summary_of(rows(), "one-job"), ["24 runs", "of <something>"])
    assert not re.search(r"https?:|<script|<link|url\(", html), "nothing is loaded from elsewhere"
    assert "<w>" not in html
    assert "&lt;w&gt;" in html
    assert "of &lt;something&gt;." in html
    assert '<p class="lead">headway takes 50% less time than one-job on average' in html
    assert "<tr><th></th><th>headway</th><th>glume</th></tr>" in html, "the reference is not compared with itself"
    assert "Splits the levels in two" in html, "it says what plans do"
    colours = [colour for _, colour in dots_of(html)[:3]]
    assert colours == [GREEN, GREY, RED]


def test_a_page_of_nothing_that_could_be_compared() -> None:
    found = [row("headway", 1.0, status="failed"), row("one-job", 1.0)]
    html = page(summary_of(found, "headway"), [])
    assert "there is nothing to compare" in html
    assert "<svg" not in html
