"""A finished run as a workflow instance with recorded figures."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from headway.api.run_instance import instance_of
from headway.journal.folder import Project, RunFolder
from headway.journal.sqlite import SqliteJournal
from headway.model import records
from headway.model.instance import Machine, Recorded
from headway.model.outcome import Ending, Measured, Quality, Stamp
from headway.model.records import Decision, Event
from headway.model.resources import Resources
from headway.model.task import Task
from tests.report.records import GB, ended, launch, started

MAKE = Task("make", "make", "…", inputs=("raw",), outputs=("made", "dir"))
JOIN = Task("join", "join", "…", inputs=("made", "more*"), outputs=("whole",))


def journal(directory: Path, *lines: Event | Decision) -> RunFolder:
    folder = Project(directory).new_run()
    written = SqliteJournal(folder.journal)
    written.append(lines)
    written.close()
    return folder


def success(task: str, **outputs: int) -> records.TaskEnded:
    event = ended(task, 1, 8.0, memory_bytes=5e8, disk_bytes=4096.0)
    usage = structs.replace(event.outcome.usage, cores_average=Measured(0.5, Quality.EXACT))
    stamps = {path: Stamp(size_bytes, 1) for path, size_bytes in outputs.items()}
    return structs.replace(event, outcome=structs.replace(event.outcome, usage=usage, outputs=stamps))


FIGURES = Recorded(8.0, 1.5, 0.5, 500_000_000, None, 4096, 102.0, "box")
GIVEN = Resources(cores=1.5, memory_bytes=GB)


def test_recorded_figures_of_tasks_and_files(tmp_path: Path) -> None:
    (tmp_path / "more_1").write_text("12345")
    folder = journal(
        tmp_path,
        *started(MAKE, JOIN),
        records.InputsRead(100, "make", 70, {"raw": "…"}),
        launch("make", 1, GIVEN),
        success("make", made=40, dir=900),
        records.InputsRead(111, "join", 45, {"made": "…", "more_1": "…", "more_gone": "…"}),
        launch("join", 1, GIVEN),
        ended("join", 1, 3.0, Ending.MEMORY, memory_bytes=9e9),
        records.Finish(130, "failed"),
    )
    instance = instance_of(folder)
    assert list(instance.workflow.tasks) == ["make", "join"]
    assert instance.workflow.tasks["join"].parents == ("make",)
    assert instance.recorded == {"make": FIGURES}  # what failed has no figures
    assert instance.file_bytes == {"raw": 70, "made": 40, "dir": 900, "more_1": 5}
    assert instance.machines == (Machine("box", 4, 16 * GB),)
    assert (instance.makespan_s, instance.started_at) == (30.0, 100.0)
    assert instance.workflow.name == "made-up"


def test_a_run_that_is_not_over_has_no_makespan(tmp_path: Path) -> None:
    instance = instance_of(journal(tmp_path, *started(MAKE), launch("make", 1, GIVEN)))
    assert instance.makespan_s is None
    assert instance.recorded == {}


def test_a_reused_result_has_the_figures_of_the_run_that_made_it(tmp_path: Path) -> None:
    first = journal(tmp_path, *started(MAKE), launch("make", 1, GIVEN), success("make", made=40, dir=900))
    second = journal(
        tmp_path,
        *started(MAKE)[:3],
        records.InputsRead(200, "make", 70, {"raw": "…"}, outputs={"made": Stamp(40, 1)}),
        records.Reuse(201, "make", first.run),
        records.Finish(202, "succeeded"),
    )
    instance = instance_of(second)
    assert instance.recorded == {"make": FIGURES}
    assert instance.file_bytes == {"raw": 70, "made": 40}
    assert instance.machines == (Machine("box", 4, 16 * GB),)
    first.journal.unlink()
    assert instance_of(second).recorded == {}


def test_the_attempt_that_succeeded_counts(tmp_path: Path) -> None:
    folder = journal(
        tmp_path,
        *started(MAKE),
        launch("make", 1, Resources(cores=1)),
        ended("make", 1, 1.0, Ending.EXIT_CODE, memory_bytes=9e9),
        launch("make", 2, GIVEN),
        success("make", made=1, dir=2),
    )
    assert instance_of(folder).recorded == {"make": FIGURES}
