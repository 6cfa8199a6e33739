"""What is told while a run goes on: which news, which lines, and how a display takes trouble of its own."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from headway.model import records
from headway.model.job import JobPhase, JobRequest
from headway.model.outcome import Ending
from headway.model.records import Decision, Event, Why
from headway.model.resources import Resources
from headway.report.run.job_lines import job_lines
from headway.report.run.live_picture import picture
from headway.report.run.progress import Lines, Progress, news_of
from headway.report.run.summary import RunSummary
from headway.report.words import clock
from tests.report.records import GB, ended, launch, started, task


def after(*story: Event | Decision) -> RunSummary:
    summary = RunSummary()
    for record in story:
        summary.apply(record)
    return summary


class Clock:
    """A clock that the test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr("headway.report.run.progress.time.time", lambda: self.now)


def written(console: Console) -> list[str]:
    assert isinstance(console.file, io.StringIO)
    return [line[10:] for line in console.file.getvalue().splitlines()]


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=100)


# --- news ---


def test_a_first_attempt_and_a_success_are_no_news() -> None:
    summary = after(*started(task("a")))
    assert news_of(launch("a", 1, Resources()), summary) is None
    assert news_of(ended("a", 1, 1), summary) is None


def test_a_retry_after_exhaustion_says_what_it_gets() -> None:
    summary = after(
        *started(task("a")),
        launch("a", 1, Resources(memory_bytes=GB)),
        ended("a", 1, 5, Ending.MEMORY, message="it used up its 1 GB memory"),
    )
    news = news_of(launch("a", 2, Resources(memory_bytes=2 * GB)), summary)
    assert str(news) == "retry a: it used up its 1 GB memory; attempt 2 with 2 GB memory"


def test_a_retry_after_a_lost_node() -> None:
    summary = after(*started(task("a")), launch("a", 1, Resources()))
    lost = records.NodeLost(120, "box", "its supervisor is gone")
    assert str(news_of(lost, summary)) == "lost node box: its supervisor is gone; 1 task will run again"
    summary.apply(lost)
    assert "the last one was lost with its node" in str(news_of(launch("a", 2, Resources()), summary))


@pytest.mark.parametrize(
    ("mode", "running", "words"),
    [
        ("gently", 2, "stopping gently: waiting for 2 running tasks; Ctrl-C again stops them at once"),
        ("gently", 0, "stopping gently: nothing is running"),
        ("now", 1, "stopping at once: ending 1 running task"),
    ],
)
def test_a_request_to_stop_is_news(mode: str, running: int, words: str) -> None:
    names = [f"t{number}" for number in range(running)]
    summary = after(*started(*map(task, names)), *(launch(name, 1, Resources()) for name in names))
    assert str(news_of(records.UserCancel(120, mode), summary)) == words  # type: ignore[arg-type]


def submitted() -> records.Submit:
    asked = JobRequest(Resources(cores=8, memory_bytes=16 * GB, walltime_s=5400.0, nodes=2))
    return records.Submit(50.0, "headway-u-1", asked, Why("headway", "anchor"), expected_wait_s=600.0)


def test_it_is_said_once_why_a_job_waits_and_when_it_is_expected_to_start() -> None:
    summary = after(*started(task("a")), submitted())
    silent = records.JobSeen(60.0, "headway-u-1", JobPhase.PENDING, 4711)
    assert news_of(silent, summary) is None
    summary.apply(silent)
    waits = records.JobSeen(70.0, "headway-u-1", JobPhase.PENDING, 4711, "others are before it (Priority)")
    said = str(news_of(waits, summary))
    assert "waits job 4711 (2 nodes with 8 cores, 16 GB memory for 1h 30m): others are before it (Priority)" in said
    assert f"expected to start {clock(650.0)}" in said, "as planned, since Slurm says nothing"
    summary.apply(waits)
    assert news_of(waits, summary) is None
    held = records.JobSeen(80.0, "headway-u-1", JobPhase.PENDING, 4711, "held (JobHeldUser)", held=True)
    assert str(news_of(held, summary)).startswith("HELD job 4711")


def test_a_job_that_ends_before_it_started_is_news() -> None:
    summary = after(*started(task("a")), submitted(), records.JobSeen(60.0, "headway-u-1", JobPhase.PENDING, 4711))
    gone = records.JobState(70.0, "headway-u-1", JobPhase.ENDED, "it was cancelled")
    assert str(news_of(gone, summary)) == (
        "lost job 4711 (2 nodes with 8 cores, 16 GB memory for 1h 30m): it was cancelled"
    )
    summary.apply(records.JobState(65.0, "headway-u-1", JobPhase.RUNNING))
    assert news_of(gone, summary) is None, "the loss of its nodes says it"


def test_nodes_that_a_job_gives_back_or_must_keep_are_news() -> None:
    summary = after(*started(task("a")), submitted(), records.JobSeen(60.0, "headway-u-1", JobPhase.RUNNING, 4711))
    summary.apply(records.JobState(60.0, "headway-u-1", JobPhase.RUNNING))
    about = "narrower job 4711 (2 nodes with 8 cores, 16 GB memory for 1h 30m): "
    gave = records.Shrunk(70.0, "headway-u-1", ("n2#1",))
    assert str(news_of(gave, summary)) == f"{about}gave back n2, idle for now"
    refused = records.Shrunk(80.0, "headway-u-1", refused="Requested operation not supported on this system")
    assert str(news_of(refused, summary)) == (
        f"{about}the batch system takes no nodes back from running jobs (Requested operation not supported on this "
        "system); they stay until their jobs end"
    )
    summary.apply(gave)
    (line,) = job_lines(list(summary.jobs.live().values()), 100.0)
    assert line.endswith("; gave back 1 node")


def test_a_node_that_is_avoided_is_news() -> None:
    why = Why("engine", "bad-node", {}, "3 tasks failed there")
    assert f"avoided node n3: 3 tasks failed there; until {clock(3700.0)}" == str(
        news_of(records.AvoidNode(100.0, "n3", 3700.0, why), after(*started(task("a"))))
    )


def test_control_characters_in_names_and_messages_are_not_printed() -> None:
    wild = "a\x1b[2J"
    summary = after(*started(task(wild)))
    news = news_of(records.GiveUp(120, wild, Why("engine", "exit-code", {}, "b\x1b]0;x\x07c")), summary)
    assert str(news) == "FAILED a: bc"


# --- lines in a log ---


def test_a_progress_line_at_every_tenth_but_not_for_every_task(
    monkeypatch: pytest.MonkeyPatch, console: Console
) -> None:
    clock = Clock(monkeypatch)
    names = [f"t{number}" for number in range(1000)]
    lines = Lines(RunSummary(), console)
    lines(started(*(task(name, "t") for name in names)))
    for name in names:
        clock.now += 0.02  # 1000 tasks in 20 s
        lines([launch(name, 1, Resources(), at=clock.now), ended(name, 1, 0.01, at=clock.now)])
    text = written(console)
    assert text[0].startswith("made-up, run 7: 1,000 tasks on 4 cores")
    assert [line[:4] for line in text[1:]] == [f"{percent:3d}%" for percent in range(10, 101, 10)]
    assert text[1] == " 10%, 100 of 1,000 done, 0 running"


def test_progress_lines_become_rarer_as_a_run_goes_on(monkeypatch: pytest.MonkeyPatch, console: Console) -> None:
    clock = Clock(monkeypatch)
    names = [f"t{number}" for number in range(100_000)]
    lines = Lines(RunSummary(), console)
    lines(started(*(task(name, "t") for name in names)))
    for name in names[:8640]:
        clock.now += 10  # a day, and not a tenth of the work done
        lines([launch(name, 1, Resources(), at=clock.now), ended(name, 1, 0.01, at=clock.now)])
    assert 50 < len(written(console)) < 200


def test_after_fifty_failures_they_are_only_counted(monkeypatch: pytest.MonkeyPatch, console: Console) -> None:
    Clock(monkeypatch)
    names = [f"t{number}" for number in range(500)]
    lines = Lines(RunSummary(), console)
    lines(started(*(task(name, "t") for name in names)))
    lines([records.GiveUp(101, name, Why("engine", "exit-code", {}, "exit code 1")) for name in names])
    text = written(console)
    assert text[1] == "FAILED t0: exit code 1"
    assert text[-1] == "more of these (FAILED) are counted, not listed"
    assert len(text) == 52


def test_a_display_that_cannot_write_does_not_stop_the_run() -> None:
    class Broken(Progress):
        asked = 0

        def _tell(self, told: object) -> None:
            self.asked += 1
            raise BrokenPipeError

    display = Broken(RunSummary())
    display(started(task("a")))
    display([launch("a", 1, Resources())])
    assert display.asked == 1
    assert display.summary.whole().running == 1


# --- the picture on a terminal ---


def shown(summary: RunSummary, width: int, height: int = 24) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height)
    with console.capture() as capture:
        console.print(picture(summary, console, [], None, 160.0))
    return capture.get().splitlines()


@pytest.mark.parametrize("width", [40, 80, 120, 250])
def test_the_picture_fits_the_screen(width: int) -> None:
    tasks = [
        task(f"a-category-with-a-long-name-{c}[{n}]", f"a-category-with-a-long-name-{c}")
        for c in range(40)
        for n in (1, 2)
    ]
    summary = after(*started(*tasks), *(launch(each.id, 1, Resources(cores=1, memory_bytes=GB)) for each in tasks[:9]))
    lines = shown(summary, width)
    assert max(len(line.rstrip()) for line in lines) <= width
    assert len(lines) <= 24
    assert any("… and 5 more" in line for line in lines)


def test_the_picture_shows_time_use_and_what_is_running() -> None:
    summary = after(
        *started(task("a[1]", "a"), task("a[2]", "a"), task("b")),
        launch("a[1]", 1, Resources(cores=1, memory_bytes=GB)),
        ended("a[1]", 1, 5),
        launch("a[2]", 3, Resources(cores=1.5, memory_bytes=2 * GB), at=130),
    )
    text = "\n".join(shown(summary, 80))
    assert "1:00  1 of 3 done  1.5 of 4 cores  2 GB of 16 GB memory" in text
    assert re.search(r"^a  ━+╍+  1/2  1 running", text, re.MULTILINE)
    assert re.search(r"^b  ─+  0/1", text, re.MULTILINE)
    assert re.search(r"▸ a\[2\] +30 s  1\.5 cores, 2 GB memory  attempt 3", text)
