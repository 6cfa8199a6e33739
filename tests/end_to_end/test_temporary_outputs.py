"""`temp`: outputs that are deleted when their readers are done, and made again only if a reader has to run."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.end_to_end.project import Flow, wait_until

FLOW = """
name: temporary
tasks:
  align:
    each: {s: [a, b]}
    run: echo aligned {s} | tee {s}.sam > {s}.log
    inputs: ["{s}.fq"]
    outputs: ["{s}.log"]
    temp: ["{s}.sam"]
  sort:
    each: {s: [a, b]}
    run: sort {s}.sam > {s}.bam
    inputs: ["{s}.sam"]
    temp: ["{s}.bam"]
  stats: {each: {s: [a, b]}, run: "wc {s}.sam > {s}.stats", inputs: ["{s}.sam"], outputs: ["{s}.stats"]}
  merge: {run: "cat *.bam > all.bam", inputs: ["[ab].bam"], outputs: [all.bam]}
"""


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    for name in "ab":
        (tmp_path / f"{name}.fq").write_text(name)
    return Flow(tmp_path, FLOW)


def launched(flow: Flow, run: str | None = None) -> list[str]:
    return sorted(launch.task for launch in flow.launches(run))


def files(flow: Flow) -> set[str]:
    return {path.name for path in flow.directory.glob("*.*am")}


def dry(flow: Flow, *words: str) -> dict[str, str]:
    return {task["task"]: task["verdict"] for task in flow.json("run", "-n", *words)["tasks"]}


def test_they_are_deleted_and_not_missed(flow: Flow) -> None:
    flow.headway("run")
    assert files(flow) == {"all.bam"}
    assert (flow.directory / "all.bam").read_text() == "aligned a\naligned b\n"
    assert set(dry(flow).values()) == {"stands"}
    flow.headway("run")
    assert launched(flow) == []


def test_a_reader_that_must_run_has_them_made_again(flow: Flow) -> None:
    """Sort is edited: align runs again for it, stats and what did not change stand; then the chain up from merge."""
    flow.headway("run")
    log = (flow.directory / "a.log").stat().st_mtime_ns
    flow.write(FLOW.replace("sort {s}.sam", "sort -r {s}.sam"))
    foreseen = dry(flow)
    assert foreseen["align[a]"] == foreseen["sort[b]"] == "runs"
    assert foreseen["stats[a]"] == "stands"
    flow.headway("run")
    assert launched(flow) == ["align[a]", "align[b]", "sort[a]", "sort[b]"]
    assert flow.json("why", "align[a]")["because"] == "its temporary output a.sam is needed by sort[a]"
    assert (flow.directory / "a.log").stat().st_mtime_ns == log
    assert flow.reused()[-1] == "merge"
    (flow.directory / "all.bam").unlink()
    flow.headway("run")
    assert launched(flow) == ["align[a]", "align[b]", "merge", "sort[a]", "sort[b]"]
    assert files(flow) == {"all.bam"}
    flow.headway("run")
    assert launched(flow) == []


def test_one_is_made_again_by_a_command_that_also_writes_into_a_folder(tmp_path: Path) -> None:
    """Only what is gone is made, and yet the command finds the folder of its other output."""
    (tmp_path / "a.fq").write_text("a")
    text = """
name: folders
tasks:
  align: {run: "cat a.fq | tee a.sam > logs/a.log", inputs: a.fq, outputs: logs/a.log, temp: a.sam}
  sort: {run: "sort a.sam > a.txt", inputs: a.sam, outputs: a.txt}
"""
    flow = Flow(tmp_path, text)
    flow.headway("run")
    flow.write(text.replace("sort a.sam", "sort -r a.sam"))
    flow.headway("run")
    assert launched(flow) == ["align", "sort"]


def test_one_does_not_count_as_what_it_was_if_its_source_changes_while_it_is_made_again(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    text = f"""
name: gated
tasks:
  make: {{run: "while [ ! -e {gate} ]; do sleep 0.05; done; cat in > middle", inputs: in, temp: middle}}
  use: {{run: "cat middle > out", inputs: middle, outputs: out}}
"""
    flow = Flow(tmp_path, text)
    (tmp_path / "in").write_text("right")
    gate.touch()
    flow.headway("run")
    gate.unlink()
    flow.write(text.replace("cat middle", "cat  middle"))
    run = flow.start("run")
    wait_until(lambda: list(tmp_path.glob(".headway/runs/2/tasks/make/1/work")))
    (tmp_path / "in").write_text("wrong")
    gate.touch()
    run.communicate(timeout=300)
    (tmp_path / "in").write_text("right")
    flow.headway("run")
    assert (tmp_path / "out").read_text() == "right"


def test_a_changed_source_and_a_forced_task(flow: Flow) -> None:
    flow.headway("run")
    (flow.directory / "a.fq").write_text("changed")
    flow.headway("run")
    assert launched(flow) == ["align[a]"]  # its outputs are what they were
    flow.headway("run", "--force", "stats[b]")
    assert launched(flow) == ["align[b]", "stats[b]"]
    flow.headway("run", "--force", "align[b]")
    assert launched(flow) == ["align[b]"]
    assert files(flow) == {"all.bam"}


def test_a_producer_that_is_never_the_same_settles(flow: Flow) -> None:
    """Made again for one reader, a file counts as what it was for the others."""
    flow.write(FLOW.replace("echo aligned {s}", "date +%N"))
    flow.headway("run")
    flow.headway("run", "--force", "stats[a]")
    assert launched(flow) == ["align[a]", "stats[a]"]
    flow.headway("run")
    assert launched(flow) == []


def test_they_stay_while_a_reader_has_failed_or_is_left_out(flow: Flow) -> None:
    flow.write(FLOW.replace("wc {s}.sam", "exit 1; wc {s}.sam"))
    flow.headway("run", "-k", code=1)
    assert files(flow) == {"a.sam", "b.sam", "all.bam"}
    flow.write(FLOW)
    flow.headway("run", "stats[a]")
    assert launched(flow) == ["stats[a]"]
    assert "a.sam" in files(flow)  # sort[a] is not part of this run
    flow.headway("run")
    assert launched(flow) == ["stats[b]"]
    assert files(flow) == {"all.bam"}


def test_a_named_task_keeps_them(flow: Flow) -> None:
    flow.headway("run")
    flow.headway("run", "sort[a]")
    assert launched(flow) == ["align[a]", "sort[a]"]
    assert files(flow) == {"a.bam", "a.sam", "all.bam"}
    flow.headway("run")
    assert launched(flow) == []
    assert files(flow) == {"all.bam"}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("then", ["resume", "run"])
def test_killed_in_between(flow: Flow, how: signal.Signals, then: str) -> None:
    flow.headway("run")
    slow = FLOW.replace("wc {s}.sam", "[ -e go ] || sleep 60; wc -l {s}.sam").replace("sort {s}", "sort -r {s}")
    flow.write(slow)
    manager = flow.start("run")
    journal = flow.directory / ".headway/runs/2/journal.db"
    wait_until(lambda: journal.exists() and any(launch.startswith("stats") for launch in launched(flow)))
    manager.send_signal(how)
    manager.wait()
    flow.headway("cancel", code=None)
    (flow.directory / "go").touch()
    flow.write(slow.replace("[ -e go ] || sleep 60; ", "") if then == "run" else slow)
    flow.headway(then)
    assert files(flow) == {"all.bam"}
    assert (flow.directory / "a.stats").read_text() == "1 a.sam\n"
    flow.headway("run")
    assert launched(flow) == []


class Edited(Flow):
    """A chain of two temporary files, edited above, between and below them, and stopped in the middle."""

    def __init__(self, directory: Path) -> None:
        self.versions = {"make": 0, "middle": 0, "use": 0}
        super().__init__(directory, "")
        self.edit("make")

    def edit(self, what: str) -> None:
        self.versions[what] += 1
        self.write(
            """
name: edited
tasks:
  make: {{run: 'echo {make} > x', temp: [x]}}
  middle: {{run: 'sleep 0.2; echo {middle} | cat x - > y', inputs: [x], temp: [y]}}
  use:
    each: {{n: [1, 2]}}
    run: sleep 0.2; echo {use} | cat y - > used-{{n}}
    inputs: [y]
    outputs: ["used-{{n}}"]
""".format(**self.versions)
        )

    def stop(self, by: signal.Signals) -> None:
        """Start a run, and signal its manager as soon as a second task has started, or at its end."""
        runs = len(list(self.directory.glob(".headway/runs/*/journal.db")))
        process = self.start("run", "--cores", "1")
        journal = self.directory / f".headway/runs/{runs + 1}/journal.db"
        wait_until(lambda: process.poll() is not None or (journal.exists() and len(self.launches()) > 1))
        process.send_signal(by)
        process.communicate(timeout=60)

    def take(self, step: str) -> None:
        match step:
            case "interrupt" | "kill":
                self.stop(signal.SIGINT if step == "interrupt" else signal.SIGKILL)
            case "resume":
                self.headway("resume", code=None)
            case "run":
                if self.headway("run", code=None).returncode:  # a killed run's tasks are still running
                    self.headway("resume")
                    self.headway("run")
            case _:
                self.edit(step)


@pytest.mark.parametrize(
    "steps",
    [
        "kill make run",
        "run use kill resume",
        "run middle interrupt resume",
        "run middle kill use run",
        "run use interrupt make run",
    ],
)
def test_edits_and_stops_in_between(tmp_path: Path, steps: str) -> None:
    flow = Edited(tmp_path)
    for step in steps.split():
        flow.take(step)
    flow.take("run")
    made = "{make}\n{middle}\n{use}\n".format(**flow.versions)
    assert [(tmp_path / f"used-{n}").read_text() for n in (1, 2)] == [made, made]
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "y").exists()
    flow.headway("run")
    assert launched(flow) == []


def test_a_directory_and_a_pattern(tmp_path: Path) -> None:
    text = """
name: parts
tasks:
  split: {run: mkdir -p parts; for i in 1 2 3; do echo $i > parts/$i.txt; done, temp: [parts]}
  sum: {run: cat parts/*.txt > sum.txt, inputs: [parts/*.txt], outputs: [sum.txt]}
  one: {run: cp parts/1.txt one.txt, inputs: [parts/1.txt], outputs: [one.txt]}
"""
    flow = Flow(tmp_path, text)
    flow.headway("run")
    assert not (tmp_path / "parts").exists()
    flow.headway("run")
    assert launched(flow) == []
    flow.write(text.replace("cp parts/1.txt", "cp -p parts/1.txt"))
    flow.headway("run")
    assert launched(flow) == ["one", "split"]
    assert not (tmp_path / "parts").exists()


@pytest.mark.parametrize(
    ("tasks", "sentence"),
    [
        ("make: {run: touch x, temp: [x]}", "no task reads temporary 'x' of task 'make'"),
        (
            "make: {run: touch d/x, temp: [d/x]}\n  use: {run: ls d, inputs: [d]}",
            "task 'use' reads 'd', in which 'd/x' is temporary; name the file, or use a pattern",
        ),
    ],
)
def test_bad_files(tmp_path: Path, tasks: str, sentence: str) -> None:
    done = Flow(tmp_path, f"name: w\ntasks:\n  {tasks}\n").headway("run", code=2)
    assert f"workflow.yaml:3: {sentence}" in done.stderr
