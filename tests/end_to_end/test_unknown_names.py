"""Names that do not exist, as a user meets them: an error before anything runs, or a warning."""

from __future__ import annotations

from pathlib import Path

from tests.end_to_end.project import Flow

WORKFLOW = """
name: names
tasks:
  count:
    each: {{sample: [a, b]}}
    run: |
      awk '{{print $1}}' /dev/null
      echo {name} {{lane}} $HEADWAY_TASK ${{HEADWAY_CROES:-1}} > {{outputs}}
    outputs: "{{sample}}.txt"
"""


def test_a_misspelt_name_is_an_error_before_anything_runs(tmp_path: Path) -> None:
    flow = Flow(tmp_path, WORKFLOW.format(name="{smaple}"))
    for words in (["run"], ["run", "--dry-run"], ["show", "workflow.yaml"]):
        done = flow.headway(*words, code=2)
        assert "workflow.yaml:6: the command of task 'count' names {smaple}, which does not exist; " in done.stderr
        assert "did you mean {sample}?" in done.stderr
    assert not list(tmp_path.glob("*.txt"))


def test_other_unknown_names_are_warned_of(tmp_path: Path) -> None:
    flow = Flow(tmp_path, WORKFLOW.format(name="{sample}"))
    expected = [
        "workflow.yaml:6: the command of task 'count' names {lane}, which is unknown there and stays as it is",
        "workflow.yaml:4: the command of task 'count[a]' reads HEADWAY_CROES, which Headway does not set for commands; "
        "did you mean 'HEADWAY_CORES'?",
    ]
    dry = flow.headway("run", "--dry-run")
    assert [line for line in dry.stderr.splitlines() if ":" in line] == [f"headway: {text}" for text in expected]
    assert flow.json("run", "--dry-run", "count[b]")["warnings"] == [expected[0], expected[1]]
    assert flow.json("run")["warnings"] == expected
    assert flow.json("status")["warnings"] == expected
    assert (tmp_path / "b.txt").read_text() == "b {lane} count[b] 1\n"


def test_a_misspelt_setting_in_the_environment(tmp_path: Path) -> None:
    flow = Flow(tmp_path, WORKFLOW.format(name="{sample}"))
    done = flow.headway("run", code=2, HEADWAY_CROES="1")
    assert "HEADWAY_CROES: unknown setting; did you mean 'HEADWAY_CORES'?" in done.stderr
