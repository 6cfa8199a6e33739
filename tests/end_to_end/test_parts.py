"""`headway run TASK…`, `--until TASK` and `--force TASK`: runs of a part of a workflow."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path

import pytest

import headway
from headway.model.errors import InputError
from tests.end_to_end.project import Flow

FLOW = """
name: parts
tasks:
  align:
    each: {s: [s1, s2]}
    run: echo {s} | tee {s}.bam
    outputs: ["{s}.bam"]
  merge:
    run: cat s1.bam s2.bam > results/all.txt
    inputs: [s1.bam, s2.bam]
    outputs: [results/all.txt]
  count: {run: wc -l results/all.txt > lines.txt, inputs: [results/all.txt], outputs: [lines.txt]}
  other: {run: date +%N > other.txt, outputs: [other.txt]}
"""


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    return Flow(tmp_path, FLOW)


def launched(flow: Flow, run: str | None = None) -> list[str]:
    return sorted(launch.task for launch in flow.launches(run))


@pytest.mark.parametrize(
    ("words", "tasks"),
    [
        (["align[s1]"], ["align[s1]"]),
        (["align"], ["align[s1]", "align[s2]"]),
        (["results/all.txt"], ["align[s1]", "align[s2]", "merge"]),
        (["./s2.bam", "other"], ["align[s2]", "other"]),
        (["workflow.yaml", "align[s2]"], ["align[s2]"]),
        (["--until", "align"], ["align[s1]", "align[s2]", "other"]),
        (["count", "--until", "count"], ["align[s1]", "align[s2]", "count", "merge"]),
        (["al*"], ["align[s1]", "align[s2]"]),
        (["*[s2]", "?ther"], ["align[s2]", "other"]),
        (["results/*.txt"], ["align[s1]", "align[s2]", "merge"]),
        (["--until", "al*[s?]"], ["align[s1]", "align[s2]", "other"]),
        (["--only", "s=s2"], ["align[s2]"]),
        (["align", "--only", "s=*1,s2", "--until", "merge"], ["align[s1]", "align[s2]"]),
    ],
)
def test_only_what_is_named_and_what_it_needs(flow: Flow, words: list[str], tasks: list[str]) -> None:
    foreseen = flow.json("run", "-n", *words)
    assert sorted(task["task"] for task in foreseen["tasks"]) == tasks
    assert flow.json("run", *words)["tasks"]["total"] == len(tasks)
    assert launched(flow) == tasks


def test_part_runs_and_whole_runs_find_each_others_results(flow: Flow) -> None:
    flow.headway("run", "align[s1]")
    flow.headway("run")
    assert launched(flow) == ["align[s2]", "count", "merge", "other"]
    flow.headway("run", "other")
    assert flow.reused() == ["other"]
    assert "only other" in flow.headway("status").stdout
    assert flow.headway("logs", "align[s1]").stdout == "s1\n"  # of an earlier run
    assert flow.json("why", "merge")["run"] == "2"
    flow.headway("run")
    assert launched(flow) == []


def test_force_runs_a_task_and_what_depends_on_it_only_if_outputs_change(flow: Flow) -> None:
    flow.headway("run")
    assert flow.json("run", "-n", "--force", "align[s1]")["tasks"][0]["verdict"] == "runs"
    flow.headway("run", "--force", "align[s1]", "--force", "other")
    assert launched(flow) == ["align[s1]", "other"]
    assert flow.json("why", "other")["because"] == "forced by --force"
    flow.headway("run")
    assert launched(flow) == []


def test_patterns_of_forced_tasks_and_the_columns_of_a_run(flow: Flow) -> None:
    flow.headway("run")
    flow.headway("run", "--force", "al*", "--only", "s=s2")
    assert launched(flow) == ["align[s2]"]
    assert flow.json("status")["only_columns"] == ["s=s2"]
    assert "only s=s2" in flow.headway("status").stdout
    assert flow.json("why", "mer*")["run"] == "1"  # the newest run that has such a task


def test_a_part_that_was_stopped_is_resumed_as_that_part(flow: Flow) -> None:
    flow.headway("run", "merge", code=-9, HEADWAY_CRASH=f"launched:1:{flow.directory}/flag")
    flow.headway("resume")
    assert launched(flow) == ["align[s1]", "align[s2]", "merge"]


def test_tasks_do_not_see_the_outputs_of_tasks_that_are_left_out(flow: Flow) -> None:
    """As in a whole run: what no input declares and another task makes is not linked."""
    flow.write(FLOW + "  look: {run: ls > seen.txt, outputs: [seen.txt]}\n")
    flow.headway("run")
    whole = (flow.directory / "seen.txt").read_text()
    flow.headway("run", "look", "--force", "look")
    assert (flow.directory / "seen.txt").read_text() == whole
    assert "other.txt" not in whole


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["algn"], "no task or output is called 'algn'; did you mean 'align'"),
        (["align[s3]"], "did you mean 'align[s2]' or 'align[s1]'"),
        (["--until", "all.txt"], "did you mean 'results/all.txt'"),
        (["merge", "--until", "align"], "'merge' comes after what --until names"),
        (["align", "--force", "other"], "'other' is not among the tasks of this run"),
        (["nightly.yaml"], "there is no such file"),
        (["align[t*]"], "called 'align[t*]': no task fits this pattern; did you mean 'align[s"),
        (["--only", "s1"], "'s1' is not a column with a value; write for example --only sample=s1,s2"),
        (["--only", "S=s1"], "no task has a column 'S'; did you mean 's'?"),
        (["--only", "s=s3"], "no task has the s 's3'; there are s1, s2"),
        (["merge", "--only", "s=s1"], "merge has no task with s=s1"),
    ],
)
def test_names_that_mean_nothing(flow: Flow, words: list[str], sentence: str) -> None:
    done = flow.headway("run", *words, code=2)
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_python(flow: Flow) -> None:
    with chdir(flow.directory):
        assert sorted(headway.run(tasks="al*", only="s=s2").outcomes) == ["align[s2]"]
        assert sorted(headway.run(tasks="align", again=True).outcomes) == ["align[s1]", "align[s2]"]
        assert sorted(headway.run(until=["merge"], force="align[s1]").outcomes) == ["align[s1]", "merge", "other"]
        with pytest.raises(InputError, match="no task or output"):
            headway.run(tasks=["nothing"])
        foreseen = headway.preview(settings=headway.RunSettings(tasks=("count",)))
    assert {verdict.task: verdict.verdict for verdict in foreseen.verdicts}["count"] == "runs"


def test_in_the_background(flow: Flow) -> None:
    flow.headway("run", "align", "--detach")
    flow.headway("attach", "-q")
    assert launched(flow) == ["align[s1]", "align[s2]"]
