"""Every verb about runs gives the same answer through `headway.<function>` and through the command's `--json`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import pytest

import headway
from headway.model.errors import InputError
from tests.cli.bench import Bench
from tests.cli.conftest import DEMO

SETTINGS = {"cores": 2.0, "memory_bytes": 1e9, "disk_bytes": 1e9}
OPTIONS = ("--cores", "2", "--memory", "1GB", "--disk", "1GB")
# What differs between two calls, and between two runs of the same workflow.
MOMENTS = {
    "core_hours_held",
    "core_hours_used",
    "wall_s",
    "run_time_s",
    "started_at",
    "ended_at",
    "launched_at",
    "journal",
    "directory",
    "run",
    "settings",  # a program that makes its own `RunSettings` has chosen none of the command's
}
MEASURED = {"resources", "allocated_s", "consumed_s"}


@contextmanager
def same_place(bench: Bench) -> Iterator[None]:
    """This process in the directory and environment of the bench's commands."""
    before = dict(os.environ)
    try:
        for name in [name for name in os.environ if name.startswith("HEADWAY")]:
            del os.environ[name]
        os.environ.update({name: text for name, text in bench.environment.items() if name != "COLUMNS"})
        with chdir(bench.directory):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def without(document: Any, keys: set[str]) -> Any:
    if isinstance(document, dict):
        return {key: without(value, keys) for key, value in document.items() if key not in keys}
    return [without(each, keys) for each in document] if isinstance(document, list) else document


def as_json(answer: Any) -> Any:
    """The document as a program that reads the command's output sees it."""
    return json.loads(json.dumps(answer.document()))


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A directory in which a workflow was run once; its tests only read."""
    home = tmp_path_factory.mktemp("same")
    bench = Bench(home / "work", home)
    bench.write(DEMO)
    assert bench("run", "-k", "--sizer", "gradient-bandit", *OPTIONS).returncode == 1
    return bench


READING: dict[str, tuple[list[str], Any]] = {
    "status": (["status"], headway.status),
    "follow": (["attach", "-q"], headway.follow),
    "why a task": (["why", "broken"], lambda: headway.why("broken")),
    "why a category": (["why", "make"], lambda: headway.why("make", run="1")),
    "usage": (["usage"], headway.usage),
    "usage by task": (
        ["usage", "--by", "task", "--sort", "run-time", "--top", "2"],
        lambda: headway.usage(by="task", sort="run-time", top=2),
    ),
    "advise": (["advise"], headway.advise),
    "logs": (["logs", "noisy"], lambda: headway.logs("noisy")),
    "logs of a category": (["logs", "make"], lambda: headway.logs("make")),
    "runs": (["runs"], headway.runs),
    "what could be cleaned": (["clean", "-n"], lambda: headway.clean(dry_run=True)),
    "doctor": (["doctor"], headway.doctor),
    "docs": (["docs", "sizing"], lambda: headway.docs("sizing")),
    "preview": (
        ["run", "-n", "-k", *OPTIONS],
        lambda: headway.preview(settings=headway.RunSettings(keep_going=True, **SETTINGS)),
    ),
    "history": (["history"], headway.show_history),
    "history of a category": (["history", "show", "demo", "make"], lambda: headway.show_history("demo", "make")),
    "history pruned": (
        ["history", "prune", "--older-than", "90d"],
        lambda: headway.prune_history(older_than_s=90 * 86400, confirm=lambda found: False),
    ),
    "agents": (["history", "why", "make"], lambda: headway.explain_agents("make")),
}


@pytest.mark.parametrize("name", READING)
def test_what_is_read(ran: Bench, name: str) -> None:
    args, call = READING[name]
    done = ran(*args, "--json")
    with same_place(ran):
        answer = as_json(call())
    moments = {"found"} if name == "doctor" else {"disk_bytes"} if name == "preview" else set()
    assert without(answer, moments) == without(json.loads(done.stdout), moments)


def test_export(ran: Bench, tmp_path: Path) -> None:
    with same_place(ran):
        exported = headway.export_history(tmp_path / "all.jsonl", "demo")
    assert exported.written > 0
    assert (tmp_path / "all.jsonl").read_text() == ran.succeeds("history", "export", "demo")


def test_bundle(ran: Bench, tmp_path: Path) -> None:
    told = ran.json("bundle", "-o", str(tmp_path / "one.tar.gz"))
    with same_place(ran):
        answer = as_json(headway.bundle(output=tmp_path / "two.tar.gz"))
    assert answer.keys() == told.keys()
    assert answer["contents"].keys() == told["contents"].keys()
    assert (answer["run"], answer["left_out"]) == (told["run"], told["left_out"])


def test_init(tmp_path: Path) -> None:
    one, two = Bench(tmp_path / "one", tmp_path), Bench(tmp_path / "two", tmp_path)
    told = one.json("init")
    with same_place(two):
        answer = as_json(headway.init())
    assert answer["next"] == told["next"]
    assert Path(answer["workflow"]).read_text() == Path(told["workflow"]).read_text()


def test_start_stop_and_resume(tmp_path: Path) -> None:
    """The same workflow through the command and through functions: run, cancelled, resumed in the background."""
    command, program = Bench(tmp_path / "one", tmp_path / "1"), Bench(tmp_path / "two", tmp_path / "2")
    waits = "touch begun; while [ ! -e go ]; do sleep 0.05; done"
    flow = f"name: w\ntasks:\n  a: {{run: '{waits}'}}\n  b: {{needs: [a], run: exit 3}}\n"
    answers: list[list[Any]] = []
    for bench in (command, program):
        bench.write(flow)
    told = [command.json("run", "--detach", *OPTIONS)]
    command.wait_for_file("begun")
    told += [command.json("cancel"), command.json("resume", "--detach")]
    (command.directory / "go").touch()
    told += [
        json.loads(command("attach", "--json", "-q").stdout),
        json.loads(command("run", *OPTIONS, "--json").stdout),
    ]
    with same_place(program):
        settings = headway.RunSettings(**SETTINGS)
        answers = [as_json(headway.detach("workflow.yaml", settings=settings))]
        program.wait_for_file("begun")
        answers += [as_json(headway.cancel()), as_json(headway.detach())]
        Path("go").touch()
        answers += [as_json(headway.follow()), as_json(headway.start(settings=headway.RunSettings(**SETTINGS)))]
    differs = MOMENTS | MEASURED | {"manager_pid", "log", "categories", "attempts", "attempts_lost", "exit_code"}
    for answer, document in zip(answers, told, strict=True):
        assert answer.keys() == document.keys()
        assert without(answer, differs) == without(document, differs)
    assert [document["run"] for document in told] == ["1", "1", "1", "1", "2"]


def test_an_error_is_raised_with_the_sentence_that_the_command_prints(ran: Bench) -> None:
    with same_place(ran), pytest.raises(InputError) as caught:
        headway.why("nothing")
    assert ran.fails(2, "why", "nothing") == f"headway: {caught.value}\n"
    with same_place(ran), pytest.raises(InputError) as caught:
        headway.detach("missing.yaml")
    assert ran.fails(2, "run", "--detach", "missing.yaml") == f"headway: {caught.value}\n"
