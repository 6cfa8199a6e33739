"""What every history does, on each database: what goes in comes out, once, whoever else is writing."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from headway.history import postgres, sqlite
from headway.history.base import HistoryBusyError, KeptWait, State
from headway.history.location import find_history, open_history
from headway.history.schema import VERSION
from headway.history.sql import History
from headway.model.errors import SiteError
from headway.model.observation import Observation
from headway.model.origin import Identity, Origin
from headway.model.outcome import Ending
from tests.history.conftest import Backend
from tests.history.observations import GB, kept_wait, kept_waits, observation, observations

ROOT = Path(__file__).parents[2]
again_and_again = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def history(place: str) -> History:
    return open_history(place)


def key(seen: Observation) -> tuple[str, str, int]:
    return seen.run, seen.task, seen.attempt


# --- observations ---


@again_and_again
@given(st.lists(observations, max_size=12, unique_by=key), st.data())
def test_observations_are_read_as_written_and_adding_them_again_changes_nothing(
    backend: Backend, seen: list[Observation], data: st.DataObject
) -> None:
    history = open_history(backend.empty_place())
    for _ in range(3):
        some = data.draw(st.lists(st.sampled_from(seen), max_size=20)) if seen else []
        history.add("here", "flow", some)
    history.add("here", "flow", seen)
    found = [kept.observation for kept in history.all()]
    assert sorted(found, key=key) == sorted(seen, key=key)
    history.close()


def test_newest_skips_endings_that_sizers_cannot_learn_from(history: History) -> None:
    history.add("here", "flow", [observation(number) for number in range(20)])
    history.add("here", "flow", [observation(number, ending=Ending.EXIT_CODE) for number in range(100, 150)])
    history.add("here", "flow", [observation(200, ending=Ending.MEMORY)])
    history.add("here", "flow", [observation(number, category="other") for number in range(3)])
    history.add("here", "another flow", [observation(300, run="r2")])
    history.add("there", "flow", [observation(400, run="r3")])
    found = history.newest("here", "flow", ["count", "other", "unheard of"], 5)
    assert [seen.task for seen in found] == [
        *(f"other[{number}]" for number in range(3)),
        *(f"count[{number}]" for number in range(16, 20)),
        "count[200]",
    ]
    assert history.categories("here", "flow") == ["count", "other"]
    assert history.categories("there", "another flow") == []


def test_figures(history: History) -> None:
    history.add("here", "flow", [observation(number, memory=number * GB) for number in (1, 2, 9)])
    history.add("here", "flow", [observation(4, memory=50 * GB, ending=Ending.MEMORY)])
    history.add("here", "other", [observation(5, run="r2", ending=Ending.EXIT_CODE)])
    count, failed = history.figures()
    assert (count.workflow, count.observations, count.failures, count.newest_at) == ("flow", 4, 1, 1009)
    assert count.memory_bytes is not None and (count.memory_bytes.median, count.memory_bytes.most) == (2 * GB, 9 * GB)
    assert count.run_s is not None and (count.run_s.median, count.run_s.most) == (2, 2)
    assert (failed.memory_bytes, failed.run_s) == (None, None)
    assert history.figures("flow", "count") == [count]
    assert history.figures("flow", "other") == []


def test_names_are_sorted_independently_of_the_locale(history: History) -> None:
    for name in ("b", "ä", "B", "_", "a"):
        history.add("here", name, [observation(run=name)])
    assert [figures.workflow for figures in history.figures()] == ["B", "_", "a", "b", "ä"]


ages = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.integers(0, 20)), max_size=25)


@again_and_again
@given(ages, st.none() | st.sampled_from("ab"), st.none() | st.integers(0, 20), st.none() | st.integers(0, 5))
def test_remove_combines_all_conditions(
    backend: Backend, ages: list[tuple[str, str, int]], workflow: str | None, before: int | None, keep: int | None
) -> None:
    history = open_history(backend.empty_place())
    for number, (name, category, age) in enumerate(ages):
        history.add("here", name, [observation(number, category=category, ended_at=age)])
    expected = []
    for name, category in {(name, category) for name, category, _ in ages}:
        times = sorted((age for other, kind, age in ages if (other, kind) == (name, category)), reverse=True)
        if workflow in (None, name):
            newest = times[:keep] if keep is not None else []
            times = newest + [age for age in times[len(newest) :] if before is not None and age >= before]
        expected += [(name, category, age) for age in times]
    surplus = history.surplus(workflow, before, keep)
    assert sum(each.observations for each in surplus) == len(ages) - len(expected)
    assert history.remove(workflow, before, keep) == surplus
    left = [(kept.workflow, kept.observation.category, kept.observation.ended_at) for kept in history.all()]
    assert sorted(left) == sorted(expected)
    assert len(history.figures()) == len({each[:2] for each in expected})
    history.close()


def test_an_edited_row_affects_no_other_row(backend: Backend, place: str) -> None:
    history = open_history(place)
    history.add("here", "flow", [observation(number) for number in range(5)])
    backend.sql(
        place,
        "UPDATE observations SET usage = 'no JSON' WHERE task = 'count[1]'",
        "UPDATE observations SET ending = 'well' WHERE task = 'count[2]'",
        "UPDATE observations SET given = '{\"cores\": \"many\"}' WHERE task = 'count[3]'",
    )
    assert [seen.task for seen in history.newest("here", "flow", ["count"], 10)] == ["count[0]", "count[4]"]
    assert [figures.observations for figures in history.figures()] == [4]


# --- waits ---


@again_and_again
@given(st.lists(kept_waits, max_size=20, unique_by=lambda kept: (kept.run, kept.job)), st.integers(1, 25))
def test_the_newest_waits_are_read_as_written(backend: Backend, kept: list[KeptWait], most: int) -> None:
    history = open_history(backend.empty_place())
    history.add_waits("here", kept)
    history.add_waits("here", kept[::2])
    found = history.newest_waits("here", most)
    times = sorted(each.submitted_at for each in kept)[-most:]
    assert [each.submitted_at for each in found] == times
    assert all(each in kept for each in found) and len(set(found)) == len(found)
    history.close()


def test_observations_of_one_site_are_not_read_at_another(history: History) -> None:
    history.add("here", "flow", [observation(1)])
    history.add_waits("here", [kept_wait(1)])
    history.update_state("here", "asa", lambda _: {"p": [1.0]})
    assert history.newest("there", "flow", ["count"], 10) == []
    assert history.categories("there", "flow") == []
    assert history.newest_waits("there", 10) == []
    assert history.state("there", "asa") is None
    history.add_waits("there", [kept_wait(1, waited_s=5.0)])
    assert [kept.wait.waited_s for kept in history.newest_waits("here", 10)] == [60.0]
    assert history.update_state("there", "asa", lambda state: {"begun": state is None}) == {"begun": True}
    assert history.state("here", "asa") == {"p": [1.0]}


# --- states ---


def test_update_state_replaces_the_state(backend: Backend, place: str) -> None:
    history = open_history(place)
    assert history.state("here", "asa") is None
    odd: State = {"q": [0.1, 1e-300, 2**60], "n": None, "ä\n'": {"x": [True, {}]}, "%s :name": "\0"}
    assert history.update_state("here", "asa", lambda _: odd) == odd
    assert history.state("here", "asa") == odd
    history.update_state("here", "asa", lambda state: {**(state or {}), "more": 1})
    assert open_history(place).state("here", "asa") == odd | {"more": 1}
    assert history.state("here", "other") is None
    assert backend.sql(place, "SELECT version FROM states") == [(2,)]


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt])
def test_a_failed_change_leaves_the_state_as_it_was(history: History, error: type[BaseException]) -> None:
    history.update_state("here", "asa", lambda _: {"n": 1})

    def fails(state: State | None) -> State:
        raise error("on purpose")

    with pytest.raises(error, match="on purpose"):
        history.update_state("here", "asa", fails)
    assert history.state("here", "asa") == {"n": 1}
    assert history.update_state("here", "asa", lambda _: {"n": 2}) == {"n": 2}


def test_a_damaged_state_is_started_anew(backend: Backend, place: str) -> None:
    history = open_history(place)
    for text in ("no JSON", "[1]"):
        history.update_state("here", "asa", lambda _: {"n": 1})
        backend.sql(place, f"UPDATE states SET state = '{text}'")
        assert history.state("here", "asa") is None
        assert history.update_state("here", "asa", lambda state: {"was": state}) == {"was": None}


# --- others at work ---


def processes(code: str, place: str, count: int) -> None:
    """The same program several times at once; all must end well."""
    running = [
        subprocess.Popen([sys.executable, "-c", code, place, f"run {number}"], cwd=ROOT, stderr=subprocess.PIPE)
        for number in range(count)
    ]
    for process in running:
        _, trouble = process.communicate(timeout=300)
        assert process.returncode == 0, trouble.decode()


# A test may wait longer than a run: the machine is busy with as many processes.
PATIENT = """
import sys
from headway.history import postgres, sqlite
from headway.history.location import open_history
from tests.history.observations import kept_wait, observation
postgres.PATIENCE_S = sqlite.PATIENCE_S = 120.0
place, run = sys.argv[1:]
"""
WRITER = """
for number in range(15):
    history = open_history(place)
    categories = ("one", "two", "three") if run[-1] in "02" else ("three", "two", "one")
    mine = [observation(number, run=run, category=category) for category in categories]
    history.add("here", "flow", [*mine, observation(number, run="everybody's")])
    history.add_waits("here", [kept_wait(number, run=run), kept_wait(number, run="everybody's")])
    history.close()
"""
COUNTER = """
history = open_history(place)
for _ in range(25):
    history.update_state("here", "asa", lambda state: {**(state or {}), run: (state or {}).get(run, 0) + 1})
"""


def test_many_runs_create_a_history_and_write_to_it_at_once(place: str) -> None:
    processes(PATIENT + WRITER, place, 4)
    history = open_history(place)
    found = [kept.observation for kept in history.all()]
    assert len(found) == len({key(seen) for seen in found}) == 15 * (4 * 3 + 1)
    assert len(history.figures()) == 4
    assert len(history.newest_waits("here", 1000)) == 15 * 5


def test_no_change_of_a_state_is_lost(backend: Backend, place: str) -> None:
    processes(PATIENT + COUNTER, place, 4)
    assert open_history(place).state("here", "asa") == {f"run {number}": 25 for number in range(4)}
    assert backend.sql(place, "SELECT version FROM states") == [(100,)]


def test_a_writer_that_takes_too_long_raises_busy(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE_S", 0.05)
    monkeypatch.setattr(postgres, "PATIENCE_S", 0.05)
    history = open_history(place)
    begun, done = threading.Event(), threading.Event()

    def slow(state: State | None) -> State:
        begun.set()
        assert done.wait(120)
        return {}

    def other() -> None:
        mine = open_history(place)
        mine.update_state("here", "asa", slow)
        mine.close()

    thread = threading.Thread(target=other)
    thread.start()
    try:
        assert begun.wait(120)
        with pytest.raises(HistoryBusyError, match=r"cannot write the history: .*; try again in a moment"):
            history.add("here", "flow", [observation()])
        assert history.figures() == [], "reading goes on"
    finally:
        done.set()
        thread.join(120)
    history.add("here", "flow", [observation()])
    assert [figures.observations for figures in history.figures()] == [1]


# --- projects ---


def origin(project: str, programs: str = "sort", command: str = "sort a") -> Origin:
    return Origin(project, f"/home/{project}", {"count": Identity(programs, command)})


def test_a_project_learns_from_its_own_programs_and_from_equal_commands_elsewhere(history: History) -> None:
    history.add("here", "flow", [observation(1)], origin("p"))
    history.add("here", "flow", [observation(2)], origin("p", command="sort b"))
    history.add("here", "flow", [observation(3)], origin("p", programs="hog", command="hog"))
    history.add("here", "flow", [observation(4)], origin("q"))
    history.add("here", "flow", [observation(5)], origin("q", command="sort c"))
    history.add("here", "flow", [observation(6)])

    def known(of: Origin) -> list[int]:
        return [int(seen.task[6:-1]) for seen in history.newest("here", "flow", ["count"], 10, of)]

    assert known(origin("p")) == [1, 2, 4]
    assert known(origin("p", programs="hog", command="other")) == [3]
    assert known(origin("q", command="sort d")) == [4, 5]
    assert known(origin("new", command="sort c")) == [5]
    assert known(origin("new", programs="", command="")) == []
    assert known(Origin()) == [6], "what was kept before there were projects"
    history.adopt("here", "flow", "q")
    assert known(origin("q")) == [1, 4, 5, 6] and known(Origin()) == []


def test_projects_are_shown_and_forgotten_one_by_one(history: History) -> None:
    moved = structs.replace(origin("p"), directory="/elsewhere")
    for number, of in enumerate((origin("p"), origin("q"), moved, Origin())):
        history.add("here", "flow", [observation(number)], of)
    for name in ("sizer/q-learning/flow/p", "sizer/q-learning/flow/q"):
        history.update_state("here", name, lambda _: {})
    shown = [(each.project, each.directory, each.observations) for each in history.figures()]
    assert shown == [("", "", 1), ("p", "/elsewhere", 2), ("q", "/home/q", 1)]
    assert [kept.observation for kept in history.all(projects=["q"])] == [observation(1)]
    removed = history.remove(None, None, None, ["p"])
    assert [(each.project, each.observations) for each in removed] == [("p", 2)]
    assert [each.project for each in history.figures()] == ["", "q"]
    assert history.newest("here", "flow", ["count"], 10, origin("p", command="x")) == []
    assert history.state("here", "sizer/q-learning/flow/p") is None
    assert history.state("here", "sizer/q-learning/flow/q") == {}


# --- formats ---


def make_old(backend: Backend, place: str) -> None:
    """A history of format 1, with one observation."""
    history = open_history(place)
    history.add("here", "flow", [observation()])
    history.close()
    backend.sql(place, "DROP TABLE origins", "DROP TABLE projects", "ALTER TABLE observations DROP COLUMN origin")
    backend.sql(place, "DROP TABLE states", "DROP TABLE waits")
    backend.set_version(place, 1)


def test_an_old_history_is_upgraded(backend: Backend, place: str) -> None:
    make_old(backend, place)
    history = open_history(place)
    assert history.newest("here", "flow", ["count"], 10) == [observation()]
    history.update_state("here", "asa", lambda _: {"n": 1})
    history.add_waits("here", [kept_wait(1)])
    history.close()
    looked = find_history(place)
    assert looked is not None and looked.state("here", "asa") == {"n": 1}


def test_reading_an_old_history_does_not_change_it(backend: Backend, place: str) -> None:
    make_old(backend, place)
    history = find_history(place)
    assert history is not None
    assert list(history.newest("here", "flow", ["count"], 10)) == [observation()]
    assert (history.state("here", "asa"), history.newest_waits("here", 10)) == (None, [])
    assert history.newest("here", "flow", ["count"], 10, Origin("p")) == []
    assert [(figures.project, figures.observations) for figures in history.figures()] == [("", 1)]
    assert [kept.observation for kept in history.all()] == [observation()]
    history.close()
    with pytest.raises(Exception, match="states"):
        backend.sql(place, "SELECT * FROM states")


def test_many_runs_upgrade_a_history_at_once(backend: Backend, place: str) -> None:
    make_old(backend, place)
    processes(PATIENT + COUNTER, place, 4)
    history = open_history(place)
    assert history.state("here", "asa") == {f"run {number}": 25 for number in range(4)}
    assert [kept.observation for kept in history.all()] == [observation()]


def test_a_newer_history_is_refused_and_left_alone(backend: Backend, place: str) -> None:
    open_history(place).close()
    backend.set_version(place, 99)
    words = rf"newer Headway \(format 99, this one knows {VERSION}\); update Headway"
    for read in (open_history, find_history):
        with pytest.raises(SiteError, match=words):
            read(place)


def test_reading_creates_no_history(backend: Backend, place: str) -> None:
    assert find_history(place) is None
    assert find_history(place, read_only=False) is None
    with pytest.raises(Exception, match=r"categories|unable to open"):
        backend.sql(place, "SELECT * FROM categories")
    open_history(place).close()
    assert find_history(place) is not None


def test_a_failing_step_leaves_nothing_behind(backend: Backend, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make_old(backend, place)
    with monkeypatch.context() as patch:
        patch.setattr("headway.history.sql.statements_from", lambda *_: ["CREATE TABLE states (n BIGINT)", "nonsense"])
        with pytest.raises(SiteError, match=r"cannot open the history: .*nonsense"):
            open_history(place)
    history = open_history(place)
    history.update_state("here", "asa", lambda _: {"n": 1})
    assert json.loads(backend.sql(place, "SELECT state FROM states")[0][0]) == {"n": 1}
