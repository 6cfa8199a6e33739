"""What agents learned in one run is there in the next: through the journal, also after a kill, and once only."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from headway.cli.history_why import command as why
from headway.drivers.learned_state import state_name
from headway.drivers.run_history import RunHistory
from headway.drivers.runs import rebuild
from headway.history.location import open_history
from headway.journal.folder import Project
from headway.journal.sqlite import SqliteJournal
from headway.model.codec import decode, encode
from headway.model.errors import InputError
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.records import HistoryKey, Launch, RunStarted, StateRead, TaskEnded, TasksAdded
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing import SIZERS
from tests.end_to_end.project import Flow

SIZER = "gradient-bandit"
WORK = """
name: work
tasks:
  count:
    each: {n: [1, 2, 3]}
    run: python3 -c "sum(range(10 ** 6))" && echo {n} > out{n}
    outputs: ["out{n}"]
"""
MACHINE = ("--cores", "2", "--memory", "4GB", "--disk", "1GB", "--sizer")


def kept(place: Path, sizer: str = SIZER, workflow: str = "work") -> dict[str, object]:
    history = open_history(str(place))
    try:
        (project,) = {figures.project for figures in history.figures(workflow)}
        return history.state(socket.gethostname(), state_name(sizer, workflow, project)) or {}
    finally:
        history.close()


@pytest.mark.parametrize("sizer", ["gradient-bandit", "q-learning", "feedback-loop", "ladder-malleable"])
def test_the_second_run_goes_on_where_the_first_one_ended(tmp_path: Path, own_history: Path, sizer: str) -> None:
    flow = Flow(tmp_path, WORK)
    flow.headway("run", *MACHINE, sizer)
    assert not [record for record in flow.records() if isinstance(record, StateRead)]
    first = kept(own_history, sizer)
    assert first["learned"]["outcomes"] == len(flow.launches("1"))

    flow.headway("run", "--again", *MACHINE, sizer)
    found = flow.records("2")
    (read,) = [record for record in found if isinstance(record, StateRead)]
    assert read.state == first["learned"]
    order = [type(record) for record in found]
    assert order.index(StateRead) < order.index(TasksAdded)
    assert kept(own_history, sizer)["learned"]["outcomes"] == sum(len(flow.launches(run)) for run in "12")

    journal = SqliteJournal(Project(tmp_path).run("2").journal, read_only=True)
    again = rebuild(journal)  # a resumed run would know the same
    journal.close()
    assert again.allocator.state()["outcomes"] == kept(own_history, sizer)["learned"]["outcomes"]


def test_a_fresh_run_does_not_know_but_teaches(tmp_path: Path, own_history: Path) -> None:
    flow = Flow(tmp_path, WORK)
    flow.headway("run", *MACHINE, SIZER)
    flow.headway("run", "--again", "--fresh", *MACHINE, SIZER)
    assert not [record for record in flow.records("2") if isinstance(record, StateRead)]
    assert kept(own_history)["learned"]["outcomes"] == sum(len(flow.launches(run)) for run in "12")


@pytest.mark.parametrize("sizer", ["ladder", "max-seen"])
def test_other_sizers_keep_no_state(tmp_path: Path, own_history: Path, sizer: str) -> None:
    flow = Flow(tmp_path, WORK)
    flow.headway("run", *MACHINE, sizer)
    flow.headway("run", "--again", *MACHINE, sizer)
    assert kept(own_history, sizer) == {}
    assert not [record for record in flow.records("2") if isinstance(record, StateRead)]


def test_the_default_keeps_what_it_learned_of_malleable_tasks(tmp_path: Path, own_history: Path) -> None:
    flow = Flow(tmp_path, WORK + "    malleable: true\n  rest: {run: 'true'}\n")
    flow.headway("run", *MACHINE, "ladder")
    first = kept(own_history, "ladder")["learned"]
    assert first["outcomes"] == 3, "rest is none of its business"
    assert list(first["agents"]) == ["count"] and "others" not in first
    flow.headway("run", "--again", *MACHINE, "ladder")
    (read,) = [record for record in flow.records("2") if isinstance(record, StateRead)]
    assert read.state == first
    assert kept(own_history, "ladder")["learned"]["outcomes"] == 6
    shown = CliRunner().invoke(why, ["count"], standalone_mode=False, catch_exceptions=False)
    assert "ladder, count of work" in shown.output


def test_a_drawing_of_what_was_learned(tmp_path: Path, own_history: Path) -> None:
    flow = Flow(tmp_path, WORK)
    flow.headway("run", *MACHINE, "q-learning")
    shown = CliRunner().invoke(why, ["count"], standalone_mode=False, catch_exceptions=False)
    assert "q-learning, count of work" in shown.output
    assert "all rewards" in shown.output
    found = json.loads(CliRunner().invoke(why, ["count", "--json"], standalone_mode=False).output)
    (agent,) = found["agents"]
    assert agent["agents"][0]["count"] == len(flow.launches())
    with pytest.raises(InputError, match="no agent has learned about 'cont'") as wrong:
        CliRunner().invoke(why, ["cont"], standalone_mode=False, catch_exceptions=False)
    assert "count" in str(wrong.value)


# --- the recorder alone ---


def started(place: Path, uid: str = "a") -> RunStarted:
    key = HistoryKey(str(place), "here", "w")
    return RunStarted(0.0, "1", uid, "w", "", "", "", SIZER, "fifo", history=key)


def lesson(number: int, allocator: str = SIZER) -> tuple[Launch, TaskEnded]:
    given = Resources(cores=1, memory_bytes=10**9)
    ticket = {
        "agent": allocator,
        "cores": 1.0,
        "most_cores": 2.0,
        "chunk": 1.0,
        "chunk_bytes": 1e9,
        "most_chunks": 2.0,
        "given_cores": 1.0,
        "given_memory_bytes": 1e9,
    }
    usage = Usage(wall_s=Measured(2.0, Quality.EXACT), memory_bytes=Measured(1e8, Quality.EXACT))
    outcome = Outcome(f"t{number}", 1, Ending.SUCCESS, 0.0, 2.0, usage)
    return Launch(0.0, f"t{number}", 1, "n", "j", given, "", {}, ticket), TaskEnded(2.0, outcome)


def recording(place: Path, uid: str = "a") -> RunHistory:
    settings = started(place, uid)
    history = RunHistory(settings.history, pytest.fail)
    history.record(settings, lambda name: Task(name, "c", "true"))
    return history


def outcomes(place: Path) -> int:
    state = RunHistory(HistoryKey(str(place), "here", "w"), pytest.fail).state(SIZER)
    assert state is not None
    return state["outcomes"]


def test_an_outcome_that_was_kept_before_a_crash_is_not_kept_again(own_history: Path) -> None:
    journal = [record for number in range(5) for record in lesson(number)]
    first = recording(own_history)
    first(journal[:6])
    first.close()
    assert outcomes(own_history) == 3
    resumed = recording(own_history)
    resumed(journal[:6])  # what its journal tells of the time before
    resumed(journal[6:])
    resumed.close()
    assert outcomes(own_history) == 5


def test_runs_at_the_same_time_both_teach(own_history: Path) -> None:
    one, two = recording(own_history, "a"), recording(own_history, "b")
    one([record for number in range(2) for record in lesson(number)])
    two([record for number in range(3) for record in lesson(number)])
    one.close()
    two.close()
    assert outcomes(own_history) == 5


def test_a_state_that_cannot_be_read_is_begun_anew(own_history: Path) -> None:
    history = open_history(str(own_history))
    history.update_state(
        "here", state_name(SIZER, "w", ""), lambda state: {"version": 1, "learned": {"agents": 3}, "runs": {}}
    )
    history.close()
    assert RunHistory(HistoryKey(str(own_history), "here", "w"), pytest.fail).state(SIZER) is None
    made = recording(own_history)
    made(lesson(0))
    made.close()
    assert outcomes(own_history) == 1


def test_the_record_survives_the_journal() -> None:
    state = SIZERS[SIZER].allocator(3).state()
    record = StateRead(1.0, state_name(SIZER, "w", ""), state)
    assert decode(encode(record)) == record
