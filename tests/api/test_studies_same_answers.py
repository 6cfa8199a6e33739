"""The verbs about logs, queues and workflows answer the same through Python and through `--json`, byte for byte."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from contextlib import chdir
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

from headway.api.compare import compare
from headway.api.convert import convert
from headway.api.generate import GenerateSettings, families, generate
from headway.api.plan import plan
from headway.api.policies import policies
from headway.api.replay import ReplaySettings, replay
from headway.api.show import show
from headway.api.simulate import SimulateResult, SimulateSettings, SimulateWorkflowResult, simulate
from headway.api.waits import waits
from headway.cli.main import cli
from headway.model.errors import InputError
from tests.cli.bench import SMALL, Bench
from tests.studies.small_study import write_trace, write_workflow

HOUR_MS = 3_600_000
TASKS = [f"{number},align,{number},{HOUR_MS},{2 * 1024**3},8 GB" for number in range(1, 6)]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A directory with a task log, a batch log, a recorded workflow and a finished run; it is the current one."""
    home = tmp_path_factory.mktemp("shelf")
    bench = Bench(home / "work", home)
    bench.write("\n".join(["task_id,process,start,realtime,peak_rss,memory", *TASKS]), "trace.csv")
    write_trace(bench.directory / "log.swf")
    write_workflow(bench.directory / "flow.json")
    bench.write("{name: short, tasks: {hello: {run: 'echo hello'}}}")
    bench.succeeds("run", *SMALL, "--quiet")
    with chdir(bench.directory):
        yield bench


Call = Callable[[], Any]
CASES: dict[str, tuple[Call, str]] = {
    "show": (lambda: show("flow.json"), "show flow.json"),
    "show tasks": (lambda: show("flow.json", by="task"), "show flow.json --tasks"),
    "convert": (lambda: convert("flow.json", "flow.yaml", force=True), "convert flow.json flow.yaml --force"),
    "convert a run": (lambda: convert(".", "run.json", run="1", force=True), "convert . run.json --run 1 --force"),
    "replay": (
        lambda: replay("trace.csv", sizers=["ladder", "user"], lag=1, ttf=0.5, machine="4 cores, 16 GB"),
        "replay trace.csv --sizers ladder,user --lag 1 --ttf 0.5 --machine '4 cores, 16 GB'",
    ),
    "replay run times": (
        lambda: replay("trace.csv", resource="time", sizers=["ladder", "lotaru"], lag=1, failures="1%"),
        "replay trace.csv --resource time --sizers ladder,lotaru --lag 1 --failures 1%",
    ),
    "replay runs together": (
        lambda: replay(["trace.csv"] * 2, sizers=["user"], together=True, category_from="^a"),
        "replay trace.csv trace.csv --sizers user --together --category-from ^a",
    ),
    "replay two logs": (lambda: replay(["trace.csv"] * 2, sizers=["user"]), "replay trace.csv trace.csv --sizers user"),
    "simulate": (lambda: simulate("log.swf", backfill="conservative"), "simulate log.swf --backfill conservative"),
    "simulate lublin": (
        lambda: simulate("lublin", jobs=200, load=0.9, machine=32, seed=3),
        "simulate lublin --jobs 200 --load 0.9 --machine 32 --seed 3",
    ),
    "simulate a workflow": (
        lambda: simulate("log.swf", workflow="flow.json", plan=["one-job", "headway"], start="1d", most_jobs=4),
        "simulate log.swf --workflow flow.json --plan one-job --plan headway --start 1d --most-jobs 4",
    ),
    "simulate shares": (
        lambda: simulate("log.swf", workflow="flow.json", plan=["headway"], nodes="shared", node_cores=4, start="1d"),
        "simulate log.swf --workflow flow.json --plan headway --nodes shared --node-cores 4 --start 1d",
    ),
    "plan shares": (
        lambda: plan("flow.json", on="log.swf", futures=1, plan=["headway"], nodes="shared", node_cores=4),
        "plan flow.json --on log.swf --futures 1 --plan headway --nodes shared --node-cores 4",
    ),
    "plan": (
        lambda: plan("flow.json", on="log.swf", start="2d", futures=2, plan=["one-job", "headway"], prefer=0.5),
        "plan flow.json --on log.swf --start 2d --futures 2 --plan one-job --plan headway --prefer 0.5",
    ),
    "waits": (
        lambda: waits("log.swf", models=["asa", "corrected-estimate"], warm_up=0.5, seed=2),
        "waits log.swf --models asa,corrected-estimate --warm-up 0.5 --seed 2",
    ),
    "compare": (
        lambda: compare(["log.swf"], ["flow.json"], plans=["one-job", "headway"], starts=2, warm_up="1d", processes=1),
        "compare --traces log.swf --workflows flow.json --plans one-job headway --starts 2 --warm-up 1d --processes 1 "
        "--out study",
    ),
    "compare shares": (
        lambda: compare(
            ["log.swf"],
            ["flow.json"],
            plans=["headway"],
            starts=1,
            warm_up="1d",
            processes=1,
            nodes="shared",
            node_cores=4,
            node_memory="64GB",
        ),
        "compare --traces log.swf --workflows flow.json --plans headway --starts 1 --warm-up 1d --processes 1 "
        "--nodes shared --node-cores 4 --node-memory 64GB --out study",
    ),
    "generate": (
        lambda: generate("montage", tasks=40, seed=1, memory_mean="1GB:2GB", output="m.json", force=True),
        "generate montage --tasks 40 --seed 1 --memory-mean 1GB:2GB -o m.json --force",
    ),
    "families": (families, "generate"),
    "policies": (policies, "policies"),
}


@pytest.mark.parametrize("case", CASES)
def test_python_and_the_command_line_agree(shelf: Bench, case: str, capfd: pytest.CaptureFixture[str]) -> None:
    import shlex

    call, words = CASES[case]
    answer = call().document()
    assert capfd.readouterr() == ("", ""), "an api function prints nothing"
    assert json.dumps(answer, indent=2, ensure_ascii=False) + "\n" == shelf.succeeds(*shlex.split(words), "--json")


PARSED: dict[str, set[str]] = {  # parameters that only the command line has
    "simulate": set(),
    "waits": set(),
    "plan": set(),
    "compare": {"pool", "arrivals"},  # of `compare_pool`
    "replay": set(),
    "show": {"tasks", "form"},
    "convert": {"output"},
    "generate": set(),
}


@pytest.mark.parametrize("verb", PARSED)
def test_every_option_is_a_setting_with_the_same_default(verb: str) -> None:
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    module = import_module(f"headway.api.{verb}")
    settings = getattr(module, f"{verb.capitalize()}Settings")()
    positional = set(inspect.signature(getattr(module, verb)).parameters)
    for parameter in command.params:
        name = str(parameter.name)
        if name in {"as_json", *PARSED[verb], *positional}:
            continue
        expected = getattr(settings, name)  # there is such a setting
        default = parameter.get_default(click.Context(command))
        if isinstance(default, str | int | float):
            assert parameter.type_cast_value(click.Context(command), default) == expected, name
        else:
            assert not expected, name


def test_settings_may_come_as_a_struct_too(shelf: Bench) -> None:
    del shelf
    asked = SimulateSettings(jobs=200, load=0.9)
    by_struct, by_keywords = simulate("lublin", asked), simulate("lublin", jobs=200, load=0.9)
    assert by_struct.document() == by_keywords.document()
    mixed = simulate("lublin", asked, seed=4)
    assert (mixed.settings.jobs, mixed.settings.seed) == (200, 4)
    assert replay("trace.csv", ReplaySettings(sizers=("user",))).logs[0].costs[0].name == "user"


def test_results_hold_what_files_hold(shelf: Bench) -> None:
    done = simulate("lublin", jobs=50, html="q.html", starts="s.csv.gz", force=True)
    assert isinstance(done, SimulateResult)
    assert done.files == ["s.csv.gz", "q.html"]
    assert done.html() == (shelf.directory / "q.html").read_text()
    assert len(done.start_s) == 50
    through = simulate("lublin", jobs=50, workflow="flow.json", plan=["one-job"])
    assert isinstance(through, SimulateWorkflowResult)
    assert through.passages[0].status == "succeeded"
    assert through.journals["one-job"]
    kept = convert("flow.json", to="wfformat")
    assert kept.target is None
    assert kept.content() == (shelf.directory / "flow.json").read_bytes()
    assert generate("montage", GenerateSettings(tasks=40)).file is None


def test_progress_is_told(shelf: Bench) -> None:
    del shelf
    told: list[tuple[str, float, float]] = []
    simulate("log.swf", progress=lambda *at: told.append(at))
    assert told[-1] == ("log", 600, 600)
    told.clear()
    replay("trace.csv", sizers=["user"], progress=lambda *at: told.append(at))
    assert told[0] == ("trace: user", 0, 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simulate("lublin", job=3), "SimulateSettings: there is no setting called 'job'; did you mean 'jobs'?"),
        (lambda: simulate("lublin", jobs="many"), "--jobs: expected `int`, got `str`"),
        (lambda: simulate("lublin", most_jobs=0, workflow="flow.json"), "--most-jobs: expected `int` >= 1"),
        (lambda: simulate("lublin", backfill="best"), "--backfill: invalid enum value 'best'"),
        (lambda: simulate("lublin", overrun="kill"), "--overrun: this is for logs, and lublin is none; leave it out"),
        (lambda: simulate("log.swf", jobs=10_000), "--jobs: this is for jobs that are made up"),
        (lambda: plan("flow.json"), "--on: no queue is named; name a log, lublin or slurm"),
        (lambda: plan("flow.json", on="lublin", prefer=2), "--prefer: '2.0' is no preference"),
        (lambda: waits("lublin", models=[]), "--models: no model is named"),
        (lambda: replay("trace.csv", sizers=["usr"]), "there is no sizer called 'usr'; did you mean 'user'"),
        (lambda: compare("log.swf", "flow.json", starts=2, every="1d"), "--starts and --every exclude each other"),
        (lambda: convert("flow.json"), "does not say which format; add --to wfformat or --to yaml"),
    ],
)
def test_a_mistake_is_one_sentence(shelf: Bench, call: Call, message: str) -> None:
    del shelf
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)


def test_the_command_line_only_parses_calls_and_prints() -> None:
    """Modules of these verbs import nothing below the api, and are short."""
    import ast

    folder = Path(inspect.getfile(inspect.getmodule(cli.main) or cli.__class__)).parent
    allowed = {"api", "cli", "report", "model", "version", "log_setup"}
    verbs = [*PARSED, "policies", "batch_options", "queue_progress", "study_progress"]
    for name in verbs:
        path = folder / f"{name}.py"
        text = path.read_text()
        assert text.count("\n") <= 125, f"{path.name} is long"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("headway."):
                assert str(node.module).split(".")[1] in allowed, f"{path.name} imports {node.module}"
