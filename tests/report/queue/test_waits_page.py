"""The page of wait models' scores, and the parts that all pages share."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from headway.report.page_style import grouped_table, page_of, table, words_table
from headway.report.queue.waits import WaitsPage, reliability_chart
from tests.report.queue.test_waits_table import TWO


def test_the_page_is_well_formed_and_escaped() -> None:
    page = WaitsPage("a <log>", 128, ["EASY backfilling"], TWO).html()
    assert "<better>" not in page
    assert "&lt;better&gt; has the smallest error: 30m 00s" in page
    assert "a <log>" not in page
    assert "1,200 jobs on 128 nodes" in page
    assert "EASY backfilling" in page
    assert not re.search(r"https?:|<script|<link|url\(", page), "nothing is loaded from elsewhere"


def test_quantiles_in_tables_and_details() -> None:
    page = WaitsPage("log", 128, [], TWO).html()
    assert page.count('<th colspan="3">waits within</th>') == 2
    assert "<tr><th>model</th><th>50%</th><th>90%</th><th>95%</th></tr>" in page
    assert "<td>48%</td><td>91%</td><td>96%</td></tr>" in page


def test_positions_of_points() -> None:
    """The 50% quantile is at the middle of the x axis; 48% is just below the middle of the y axis."""
    picture = reliability_chart([TWO[0].to_wait])
    left, right, side = 52.0, 52.0 + 420.0, 420.0
    first = picture.split('<circle cx="')[1]
    across, up = float(first.split('"')[0]), float(first.split('cy="')[1].split('"')[0])
    assert left < across < right
    assert up == pytest.approx(12.0 + side * 0.52, abs=0.1)
    assert "plan: 48% of waits within the 50% quantile" in picture


def test_the_scale_is_not_cut_off() -> None:
    picture = reliability_chart([TWO[0].to_wait])
    wide = float(picture.split('viewBox="0 0 ')[1].split()[0])
    words = re.findall(r'<text x="([\d.]+)"[^>]*text-anchor="middle"[^>]*>([^<]*)<', picture)
    most = max(float(x) + 3.5 * len(text) for x, text in words if "%" in text)
    assert most <= wide


def cells(html: str, kind: str) -> list[list[str]]:
    found = ElementTree.fromstring(html)
    return [[cell.text or "" for cell in row if cell.tag == kind] for row in found.iter("tr")]


def test_a_group_heading_spans_its_columns() -> None:
    html = grouped_table([("", "name"), ("wait", "a<b"), ("wait", "c"), ("", "last")], [["x", "1", "2", "3"]])
    assert cells(html, "th") == [["name", "wait", "last"], ["a<b", "c"], []]
    assert 'colspan="2">wait' in html
    assert html.count('rowspan="2"') == 2
    assert cells(html, "td")[2] == ["x", "1", "2", "3"]


def test_without_groups_it_is_a_plain_table() -> None:
    assert grouped_table([("", "a"), ("", "b")], [["1", "2"]]) == table(["a", "b"], [["1", "2"]])


def test_sentences_are_wrapped() -> None:
    assert words_table(["a"], [["long"]]).startswith('<div class="words">')
    assert ".words td" in page_of("t", "", [])
