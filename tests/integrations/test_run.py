"""`headway.run` and workflows built in code."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import click
import pytest

import headway
from headway.cli.run import command
from headway.clusters.slurm.options import SlurmOptions
from headway.integrations.run_options import _BATCH, RunOptions, settings_of


def words(directory: Path) -> headway.Workflow:
    for part in "ab":
        (directory / part).write_text("one two three\n")
    flow = headway.Workflow("words")
    counts = [
        flow.task(f"count[{part}]", f"wc -w < {part} > {part}.count", inputs=[part], outputs=[f"{part}.count"])
        for part in "ab"
    ]
    flow.task("total", "cat *.count | paste -sd+ | bc > total", inputs=["*.count"], outputs=["total"])
    flow.task("after", "test -f total", after=[*counts, "total"], resources={"memory": "50 MB", "time": "1m"})
    return flow


def test_a_workflow_built_in_code(tmp_path: Path) -> None:
    flow = words(tmp_path)
    assert flow.tasks["count[a]"].category == "count"
    assert set(flow.tasks["total"].parents) == {"count[a]", "count[b]"}
    assert flow.tasks["after"].hints == {"memory_bytes": 50_000_000, "walltime_s": 60}
    run = headway.run(flow, tmp_path, cores=2)
    assert (run.status, run.number, run.directory) == ("succeeded", "1", tmp_path)
    assert (tmp_path / "total").read_text() == "6\n"
    assert set(run.usage) == set(flow.tasks)
    wall = run.usage["total"].wall_s
    assert wall is not None and wall > 0 and run.usage["total"].quality["wall_s"] == "exact"
    again = headway.run(words(tmp_path), tmp_path, cores=2)
    assert (again.usage.keys(), set(again.reused)) == ({"after"} - set(again.reused), set(again.reused))
    assert {"count[a]", "count[b]", "total"} <= set(again.reused)


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text("name: w\ntasks: {hello: {run: echo hello > out, outputs: [out]}}\n")
    assert headway.run(tmp_path / "w.yaml").reused == {}
    assert headway.run(str(tmp_path / "w.yaml")).reused == {"hello": "1"}
    assert (tmp_path / "out").read_text() == "hello\n"


def test_failures_are_raised_or_returned(tmp_path: Path) -> None:
    flow = headway.Workflow("bad")
    flow.task("bad", "exit 3")
    with pytest.raises(headway.RunError, match=r"run 1 failed: bad: its command exited with code 3") as caught:
        headway.run(flow, tmp_path)
    assert caught.value.run.failures == {"bad": "its command exited with code 3"}
    run = headway.run(flow, tmp_path, check=False)
    assert (run.status, run.outcomes["bad"].exit_code, run.usage) == ("failed", 3, {})


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (lambda flow: flow.task("a", "true", outputs=["../x"]), "not inside"),
        (lambda flow: flow.task("a", "true", after=["nobody"]), "does not exist"),
        (lambda flow: flow.task("a", "true", resources={"memory": "lots"}), "not an amount"),
        (lambda flow: flow.task("a", "true", resources={"cores": "two"}), "not a number"),
        (lambda flow: flow.task("a", "true", resources={"cores": -1}), "at least 0"),
        (lambda flow: flow.task("a", "true", resources={"cores": 0}), "cores is 0, which is nothing"),
        (lambda flow: flow.task("a", "true", priority=float("nan")), "task 'a': priority is nan"),
        (lambda flow: flow.task("a", "true", priority=float("-inf")), "priority is -inf, not a finite number"),
        (lambda flow: flow.task("a", "true", priority=10**400), "not a finite number"),
        (lambda flow: flow.task("a", "true", priority="high"), "priority is 'high'"),
        (lambda flow: flow.task("a", "true", retries=-1), "task 'a': retries is -1"),
        (lambda flow: flow.task("a", "true", retries=1.5), "retries is 1.5, not a whole number"),
        (lambda flow: flow.task("a", "true", retries=True), "retries is True"),
        (lambda flow: flow.task("a", "true", inputs="x"), "inputs is the text 'x'; write a list: inputs=['x']"),
        (lambda flow: flow.task("a", "true", outputs="x"), "write a list: outputs"),
        (lambda flow: flow.task("a", "true", setup="x"), "write a list: setup"),
        (lambda flow: [flow.task("b", "true"), flow.task("a", "true", after="b")], "write a list: after"),
        (lambda flow: [flow.task("a", "true"), flow.task("a", "true")], "two tasks"),
        (headway.run, "no tasks"),
        (lambda flow: [flow.task("a", ""), headway.run(flow)], "no command"),
        (lambda flow: [flow.task("a", "true"), headway.run(flow, "nowhere")], "no such directory"),
        (lambda flow: headway.run("nothing.yaml"), "nothing.yaml"),
    ],
)
def test_mistakes_are_one_sentence(
    mistake: object, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(headway.HeadwayError) as caught:
        mistake(headway.Workflow("w"))
    assert words in str(caught.value)
    assert not (tmp_path / ".headway").exists()


def test_within_an_event_loop(tmp_path: Path) -> None:
    """As in a notebook."""

    async def cell() -> headway.Run:
        flow = headway.Workflow("w")
        flow.task("a", "true")
        return headway.run(flow, tmp_path)

    assert asyncio.run(cell()).status == "succeeded"


def test_ctrl_c_stops_gently_and_the_next_run_goes_on(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            import headway
            flow = headway.Workflow("w")
            flow.task("first", "touch began; sleep 1; touch first", outputs=[])
            flow.task("second", "touch second", after=["first"])
            print(headway.run(flow, check=False).status)
        """)
    )
    process = subprocess.Popen([sys.executable, script], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not (tmp_path / "began").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=300)[0] == "stopped\n"
    assert (tmp_path / "first").exists() and not (tmp_path / "second").exists()
    subprocess.run([sys.executable, script], cwd=tmp_path, check=True, env=os.environ, timeout=60)
    assert (tmp_path / "second").exists()


def test_everything_public_is_there_and_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
    for name in ("Executor", "run", "Workflow", "Task", "current_executor", "TaskError", "NeedError", "RunError"):
        assert getattr(headway, name).__doc__
        assert f"headway.{name}" in text or f"`{name}" in text, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        headway.nothing  # noqa: B018


def test_no_dead_process_is_left_in_the_program(tmp_path: Path) -> None:
    script = (
        "import headway, time, sys\n"
        "flow = headway.Workflow('w')\n"
        "flow.task('a', 'true')\n"
        "headway.run(flow)\n"
        "deadline = time.monotonic() + 20\n"
        "children = open(f'/proc/self/task/{__import__(\"os\").getpid()}/children')\n"
        "while (left := children.read().split()) and time.monotonic() < deadline:\n"
        "    time.sleep(0.05)\n"
        "    children.seek(0)\n"
        "sys.exit(bool(left))\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=60)


def test_a_dry_run_and_a_run_in_the_background(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text("name: w\ntasks: {hello: {run: echo hello > out, outputs: [out]}}\n")
    foreseen = headway.run(tmp_path / "w.yaml", dry_run=True, cores=1)
    assert [(verdict.task, verdict.verdict) for verdict in foreseen.verdicts] == [("hello", "runs")]
    assert not (tmp_path / "out").exists() and foreseen.limits.cores == 1
    begun = headway.run(tmp_path / "w.yaml", detach=True, cores=1)
    assert headway.follow(begun.run, tmp_path).state == "succeeded"
    with pytest.raises(headway.HeadwayError, match="needs a workflow file"):
        headway.run(headway.Workflow("w"), tmp_path, detach=True)
    with pytest.raises(headway.HeadwayError, match="over at once"):
        headway.run(tmp_path / "w.yaml", detach=True, dry_run=True)


def test_inputs_are_checked(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    flow = headway.Workflow("w")
    flow.task("copy[1]", "cp x y", outputs=["y"])
    found = headway.run(flow, tmp_path, check_inputs=True, cores=1)
    assert [(each.task, each.path, each.place) for each in found.missing] == [("copy", "x", "")]
    assert str(found.missing[0]) == "add `- x` to 'inputs' of task 'copy'"
    assert found.result.state == "succeeded" and not (tmp_path / "y").exists()
    with pytest.raises(headway.HeadwayError, match="runs all tasks, here and now"):
        headway.run(flow, tmp_path, check_inputs=True, dry_run=True)


def test_progress_is_shown_on_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flow = headway.Workflow("w")
    flow.task("bad", "exit 3")
    headway.run(flow, tmp_path, check=False, progress=True, cores=1)
    shown = capsys.readouterr()
    assert shown.out == "" and "bad" in shown.err
    headway.run(flow, tmp_path, check=False, cores=1)
    assert capsys.readouterr() == ("", "")


def test_every_option_of_the_command_is_a_keyword(tmp_path: Path) -> None:
    """The stand-in options are one keyword, `stand_ins`; `quiet` and `json` are about what the command prints.

    `serve` and where the manager lives are about a process that this program does not wait for.
    """
    options = {str(parameter.opts[-1]) for parameter in command.params if isinstance(parameter, click.Option)}
    words = {option.lstrip("-").replace("-", "_") for option in options} - {"quiet", "json", "serve"}
    words = {word for word in words if not word.startswith("manager")}
    keywords = {*RunOptions.__annotations__, *inspect.signature(headway.run).parameters}
    assert {word for word in words if not word.startswith(("synthetic", "scale"))} <= keywords
    settings = settings_of(
        tmp_path, {"on": "slurm", "partition": "p", "sbatch": ["--nice=5", "-v"], "grace": 3, "keep_going": True}
    )
    assert (settings.cluster, settings.batch) == ("slurm", {"partition": "p", "flags": "--nice=5 -v"})
    assert (settings.grace_s, settings.keep_going) == (3.0, True)
    of_jobs = settings_of(tmp_path, {"on": "slurm", "nodes": "whole", "preemptible": ("low", "scavenger")}).batch
    assert of_jobs == {"nodes": "whole", "preemptible": "low,scavenger"}
    assert set(_BATCH.values()) <= {*SlurmOptions.__struct_fields__, "lines"}
    told = settings_of(tmp_path, {"notify": "mail:me@example.org", "stuck_after": "10m"})
    assert (told.notify, told.stuck_s) == (("mail:me@example.org",), 600.0)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'core'.*cores"):
        settings_of(tmp_path, {"core": 1})
    with pytest.raises(headway.HeadwayError, match="measure: 'by eye' is not a way of measuring"):
        settings_of(tmp_path, {"measure": "by eye"})


def test_settings_files_count_as_for_the_command(tmp_path: Path) -> None:
    (tmp_path / "headway.toml").write_text("cores = 1\nseed = 7\n")
    assert settings_of(tmp_path, {}).seed == 7
    assert (settings_of(tmp_path, {"seed": 8}).seed, settings_of(tmp_path, {"seed": 8}).cores) == (8, 1)
