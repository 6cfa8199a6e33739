"""Decisions carry their intent in typed fields: a run with every `Why` deleted decides the same.

The recorded journals were written when planners still steered by the rule and figures of a `Why`.
"""

from __future__ import annotations

import gzip
import re
import typing
from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec import structs

import headway
from headway.drivers.simulated import SimulatedRun
from headway.engine.engine import Engine
from headway.model import records
from headway.model.codec import decode, encode
from headway.model.job import JobRequest
from headway.model.outcome import Ending
from headway.model.records import Decision, Event, Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.planning import PLANS
from tests.engine.runs import PretendRun
from tests.planning.hard_runs import hard_engine, hard_run, simulated

RUNS = [*((plan, None) for plan in PLANS), ("headway", 4)]
SOURCES = Path(headway.__file__).parent
SHOWN_BY = ("report", "cli", "api", "testing")  # rooms that may read an explanation, to show or to check it
JOURNALS = Path(__file__).parent / "journals"
DECISIONS = tuple(Decision.__subclasses__())
NO_REASON = Why("", "")


def unexplained(record: Event | Decision) -> Event | Decision:
    """The record without its explanations."""
    if isinstance(record, records.Launch):
        return structs.replace(record, why={}, because="")
    return structs.replace(record, why=NO_REASON) if hasattr(record, "why") else record


class Unexplained:
    """An engine that deletes every explanation before the driver sees it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._calls = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    def decide(self, now: float) -> list[Event | Decision]:
        self._calls += 1
        assert self._calls < 2_000, "the run goes round in circles: its planner does not know its own jobs"
        return [unexplained(decision) for decision in self._engine.decide(now)]


def lines(journal: Iterable[Event | Decision]) -> list[bytes]:
    return [encode(unexplained(record)) for record in journal]


def check_replay(engine: Engine, journal: Iterable[Event | Decision]) -> int:
    """Apply each record to the engine; it must propose each decision before that is applied. Return their number."""
    proposed: list[Decision] = []
    checked = 0
    for record in journal:
        if isinstance(record, DECISIONS):
            proposed = proposed or engine.decide(record.at)
            assert encode(unexplained(proposed.pop(0))) == encode(unexplained(record))
            checked += 1
        engine.apply(record)
    return checked


@pytest.mark.parametrize(("plan", "most_jobs"), RUNS)
def test_a_simulated_run_without_explanations_decides_the_same(plan: str, most_jobs: int | None) -> None:
    explained = simulated(hard_run(plan), most_jobs)
    run = hard_run(plan)
    run.engine = typing.cast(Engine, Unexplained(run.engine))
    simulated(run, most_jobs)
    assert lines(run.journal) == lines(explained.journal)
    assert learned_waits(run) == learned_waits(explained)
    assert_much_went_wrong(explained)


def learned_waits(run: SimulatedRun) -> object:
    model = getattr(run.engine.planner, "_model", None)
    return model and model.state()


def assert_much_went_wrong(run: SimulatedRun) -> None:
    endings = {record.outcome.ending for record in run.journal if isinstance(record, records.TaskEnded)}
    assert {Ending.MEMORY, Ending.TIME, Ending.SUCCESS} <= endings
    assert [record.task for record in run.journal if isinstance(record, records.GiveUp)] == ["endless"]
    assert any(record.expired for record in run.journal if isinstance(record, records.NodeLost))


@pytest.mark.parametrize(("plan", "most_jobs"), RUNS)
def test_a_replayed_journal_without_explanations_leads_to_the_same_decisions(plan: str, most_jobs: int | None) -> None:
    journal = simulated(hard_run(plan), most_jobs).journal
    reread = [decode(line) for line in lines(journal)]
    settings = reread[0]
    assert isinstance(settings, records.RunStarted)
    assert check_replay(hard_engine(plan, settings), reread) > 30


def test_a_run_with_failures_kills_and_withdrawn_tasks_needs_no_explanations() -> None:
    def ends(launch: records.Launch) -> Ending:
        endings = {"fails": Ending.EXIT_CODE, "hangs": Ending.TIME, "grows": Ending.MEMORY}
        return endings.get(launch.task, Ending.SUCCESS)

    def made(*, explained: bool) -> list[bytes]:
        tasks = [Task(name, name, "-", retries=1) for name in ("good", "fails", "grows", "withdrawn")]
        tasks += [Task("hangs", "hangs", "-", limits={"walltime_s": 5.0}), Task("below", "x", "-", parents=("fails",))]
        run = PretendRun(tasks, ends, keep_going=True)
        if not explained:
            run.engine = typing.cast(Engine, Unexplained(run.engine))
        run.decide()
        run.record(records.TaskWithdrawn(run.now, "withdrawn"))
        assert run.to_the_end() == "failed"
        return lines(run.log)

    assert made(explained=False) == made(explained=True)


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("headway", {"anchor", "small-filler"}),
        ("headway-4-jobs", {"anchor", "small-filler", "filler"}),
        ("asa-naive", {"stage"}),
        ("zhang", {"stage", "single-task"}),
    ],
)
def test_a_journal_of_an_older_version_goes_on_as_it_did(name: str, roles: set[str]) -> None:
    """The fields derived from an old `Why` are those that the planner states today.

    `headway` asks for other times and widths than that version did, once a job has ended before its tasks.
    """
    old = gzip.decompress((JOURNALS / f"{name}.jsonl.gz").read_bytes()).splitlines()
    assert not any(b'"role"' in line for line in old)
    journal = [decode(line) for line in old]
    assert {record.role for record in journal if isinstance(record, records.Submit)} == roles
    settings = journal[0]
    assert isinstance(settings, records.RunStarted)
    plan = name.removesuffix("-4-jobs")
    engine, proposed = hard_engine(plan, settings), list[bytes]()
    for record in journal:  # attempts got other amounts of time in that version; submissions were the same
        if isinstance(record, records.Submit):
            line = compared(record, plan)
            if line not in proposed:
                proposed = [compared(decision, plan) for decision in engine.decide(record.at)]
            if record.role != "filler":  # that version also submitted fillers that bring nothing forward
                proposed.remove(line)
        engine.apply(record)


def compared(record: Event | Decision, plan: str) -> bytes:
    if isinstance(record, records.Submit) and plan == "headway":
        any_size = JobRequest(Resources())
        record = structs.replace(record, request=any_size, expected_s=None, expected_wait_s=None)
    return encode(unexplained(record))


def test_submissions_of_older_versions_state_their_intent() -> None:
    request = b'"request":{"per_node":{"cores":1.0,"walltime_s":43142.0,"nodes":28}}'
    figures = b'{"wait_s":26606.0,"run_s":39164.0,"estimate_s":13303.0,"action":7.0}'
    line = b'{"kind":"submit","at":0.0,"tag":"t",%s,"why":{"policy":"p","rule":"%s","figures":%s}}'
    anchor = decode(line % (request, b"anchor", figures))
    assert isinstance(anchor, records.Submit)
    assert (anchor.role, anchor.expected_wait_s, anchor.wait_estimate_s) == ("anchor", 26606.0, 13303.0)
    assert anchor.wait_ticket == {"action": 7.0}
    bare = decode(line % (request, b"small-filler", b'{"wait_s":null}'))
    assert isinstance(bare, records.Submit)
    assert (bare.role, bare.expected_wait_s, bare.wait_estimate_s, bare.wait_ticket) == ("small-filler", None, None, {})
    other = decode(line % (request, b"a-rule-of-another-planner", figures))
    assert isinstance(other, records.Submit)
    assert (other.role, other.expected_wait_s) == ("unstated", None)


def test_only_reports_and_the_codec_read_the_rule_or_figures_of_an_explanation() -> None:
    read = re.compile(r"\bwhy\.(rule|figures)\b")
    files = [file for file in SOURCES.rglob("*.py") if file.relative_to(SOURCES).parts[0] not in SHOWN_BY]
    found = [file.relative_to(SOURCES).as_posix() for file in files if read.search(file.read_text())]
    assert found == ["model/codec.py"]
