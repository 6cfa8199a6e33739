"""Tables and HTML page of a simulated queue: tables fit, the page is well-formed and loads nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from rich.cells import cell_len

from headway.model.batch_log import BatchJobs, Seconds
from headway.report.queue.charts import Curve, curve_chart
from headway.report.queue.clock import Clock, clock_of
from headway.report.queue.gantt import MOST_JOBS
from headway.report.queue.page import QueuePage
from headway.report.queue.starts import starts_lines
from headway.report.queue.summary import curves_of, steps, summary_of
from headway.report.queue.table import hour_line, hour_table, size_table, sparkline
from tests.report.queues import FIVE, FIVE_START_S, first_come, jobs_of, queues

VOID = {"meta"}


class Balanced(HTMLParser):
    """Fails if a tag is closed that was not opened; lists tags that are still open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "action")]
        assert tag not in ("script", "link", "iframe", "object", "img")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"{tag} is closed and is not open"


def page(jobs: BatchJobs, start_s: Seconds, window: tuple[float, float] | None = None) -> str:
    clock = clock_of(jobs.started_at, {})
    curves = curves_of(jobs, start_s)
    summary = summary_of(jobs, start_s, clock, curves)
    return QueuePage(jobs, start_s, summary, curves, clock, ["by <hand> & eye"], window).html()


def check(html: str) -> list[str]:
    """Check that the page is well-formed and self-contained; return its SVG elements."""
    parser = Balanced()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    assert parser.addresses == []
    assert "url(" not in html and "@import" not in html and "http" not in html
    assert "nan" not in re.sub("<title>.*?</title>", "", html).lower().replace("name", "")
    pictures: list[str] = re.findall("<svg.*?</svg>", html, re.DOTALL)
    for picture in pictures:
        ElementTree.fromstring(picture)
    return pictures


def test_a_page_of_five_jobs() -> None:
    html = page(FIVE, FIVE_START_S)
    pictures = check(html)
    assert len(pictures) == 8, "three curves, two pairs of bars, the schedule"
    assert "Jobs wait 1m 36s on average, 20% start at once, and the machine is 67% busy." in html
    assert "hours count from the first submission" in html
    assert "The whole schedule: day 0, 00:00 to day 0, 00:04" in html
    assert "by &lt;hand&gt; &amp; eye" in html
    assert pictures[-1].count('<g class="job"') == 5
    assert "job 2: 4 nodes, ran 50 s of 50 s\nsubmitted day 0, 00:00, waited 1m 30s" in pictures[-1]
    assert all(f"var(--{name})" in html for name in ("paper", "ink", "line")), "light and dark"


@settings(max_examples=25)
@given(queues())
def test_any_queue_makes_a_page(queue: tuple[BatchJobs, Seconds]) -> None:
    assert len(check(page(*queue))) == 8


def test_dates_and_windows() -> None:
    jobs = jobs_of([(hour * 3600.0, 1, 5400.0) for hour in range(80)], 2, started_at=86_400.0 * 10_000)
    html = page(jobs, jobs.submit_s)
    check(html)
    assert "Hours of UTC." in html
    assert "The busiest day: Monday, 1997-05-19<" in html
    html = page(jobs, jobs.submit_s, (0.0, 7200.0))
    assert "The schedule: 1997-05-19 00:00 to 1997-05-19 02:00" in html
    assert check(html)[-1].count('<g class="job"') == 2


def test_names_are_escaped() -> None:
    jobs = BatchJobs("<script>alert(1)</script>\x1b[2J", 4, FIVE.submit_s, FIVE.nodes, FIVE.req_s, FIVE.run_s)
    html = page(jobs, FIVE_START_S)
    check(html)
    assert "&lt;script&gt;" in html


def test_too_many_jobs_to_draw() -> None:
    jobs = jobs_of([(0.0, 1, 1.0)] * (MOST_JOBS + 1), 100)
    html = page(jobs, first_come(jobs))
    assert len(check(html)) == 7
    assert f"{MOST_JOBS + 1:,} jobs run in this time, too many to draw" in html


def test_a_long_curve_has_a_point_a_pixel() -> None:
    at_s = np.arange(0.0, 200_000.0, 2)
    chart = curve_chart(Curve("long", steps(at_s, at_s + 1), "red", str, peaks=True), Clock(), 0.0, 200_000.0)
    ElementTree.fromstring(chart)
    assert all(path.count("H") <= 1_002 for path in re.findall(' d="(.*?)"', chart))


# --- at a terminal ---


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("machine", [4, 100_000])
def test_tables_fit(width: int, machine: int) -> None:
    rows = [(float(at * 3000), 1 + at**4 % machine, float(1 + at * 977 % 90_000)) for at in range(100)]
    jobs = jobs_of(rows, machine)
    summary = summary_of(jobs, first_come(jobs), Clock())
    for line in [*size_table(summary, width), *hour_table(summary, width)]:
        assert cell_len(line.plain) <= width


def test_the_table_by_size() -> None:
    lines = [line.plain.split() for line in size_table(summary_of(FIVE, FIVE_START_S, Clock()), 120)]
    heads = ["nodes", "jobs", "node", "time", "at", "once", "mean", "median", "90%", "longest", "mean", "slowdown"]
    assert lines[1] == heads
    assert lines[3][:4] == ["1", "1", "0.8%", "0%"]
    assert lines[-1][:4] == ["all", "5", "100%", "20%"]


def test_the_table_by_hour() -> None:
    jobs = jobs_of([(0, 1, 10), (3600, 1, 10), (3600, 1, 10), (5 * 3600, 1, 10)], 1)
    summary = summary_of(jobs, np.array([0.0, 3600, 3610, 18_000]), Clock())
    lines = [line.plain.split() for line in hour_table(summary, 80)]
    assert lines[-2] == ["00-04", "3", "67%", "3.33", "s", "1.3"]
    assert lines[-1] == ["04-08", "1", "100%", "0", "s", "1.0"], "hours without jobs have no line"
    assert hour_line(summary).plain == "mean wait, hour by hour: 0 ▁█   ▁" + " " * 18 + " 24"


def test_sparklines() -> None:
    assert sparkline([0, 5, None, 10]) == "▁▅ █"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""


def test_starts_are_whole_numbers_where_they_can_be() -> None:
    assert list(starts_lines(FIVE, FIVE_START_S))[:3] == [
        "job,submit,nodes,req,run,start\n",
        "1,0,2,100,100,0\n",
        "2,10,4,50,50,100\n",
    ]
    assert list(starts_lines(FIVE, FIVE_START_S + np.array([0, 0.1, 0, 0, 0])))[1:3] == [
        "1,0,2,100,100,0\n",
        "2,10,4,50,50,100.1\n",
    ]
