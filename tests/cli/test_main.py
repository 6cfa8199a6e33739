"""The command itself: help, errors, exit codes, speed of import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from headway import __version__
from headway.cli import verbs
from headway.cli.main import cli
from headway.cli.verb_table import VERBS
from headway.model.errors import BusyError, SiteError
from tests.cli.bench import Bench


def test_help_names_every_verb_and_every_exit_code() -> None:
    result = CliRunner().invoke(cli, ["--help"])
    assert result.exit_code == 0
    for verb in VERBS:
        assert f"\n  {verb} " in result.output
    for code in ("    0  ", "    1  ", "    2  ", "    3  ", "    4  ", "  130  "):
        assert code in result.output


def test_without_arguments_it_prints_its_help() -> None:
    result = CliRunner().invoke(cli, [])
    assert result.exit_code == 0
    assert "Usage: headway" in result.output


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_json(verb: str) -> None:
    result = CliRunner().invoke(cli, [verb, "--help"])
    assert result.exit_code == 0
    assert "--json" in result.output
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    assert command.short_help == VERBS[verb], "the lazy table and the verb must say the same"


def test_the_version() -> None:
    assert CliRunner().invoke(cli, ["--version"]).output == f"headway {__version__}\n"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["statsu"], "did you mean 'status'?"),
        (["flow.yaml"], "did you mean 'headway run flow.yaml'?"),
        (["xyzzy"], "there are run, resume"),
        (["run", "--core", "2", "x.yaml"], "--cores"),
        (["run", "--cores", "many"], "'many' is not a number of cores"),
        (["run", "--memory", "8"], "'8' is not an amount of memory or disk"),
        (["run", "--memory", "0MB"], "no memory or disk at all"),
        (["run", "--grace", "soon"], "'soon' is not a length of time"),
        (["run", "a.yaml", "b.yaml"], "a.yaml: there is no such file"),
        (["why"], "missing argument 'TASK'"),
        (["logs", "x", "--attempt", "0"], "0 is not in the range"),
    ],
)
def test_a_wrong_command_line_is_answered_in_one_line(args: list[str], words: str, tmp_path: Path) -> None:
    result = CliRunner(env={"XDG_CONFIG_HOME": str(tmp_path)}).invoke(cli, args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("headway: ")
    assert words in result.stderr


@pytest.mark.parametrize(
    ("error", "code"), [(SiteError("disk full", where="here", todo="make room"), 3), (BusyError("busy"), 4)]
)
def test_our_errors_are_one_line_and_a_code(error: Exception, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(verbs, "import_module", fail)
    result = CliRunner().invoke(cli, ["status"])
    assert result.exit_code == code
    assert result.stderr == f"headway: {error}\n"


def test_a_bug_is_a_line_with_a_request_and_a_traceback_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("surprise")

    monkeypatch.setattr(verbs, "import_module", fail)
    monkeypatch.delenv("HEADWAY_DEBUG", raising=False)
    result = CliRunner().invoke(cli, ["status"])
    assert result.exit_code == 70
    assert "KeyError: 'surprise'" in result.stderr
    assert "HEADWAY_DEBUG=1" in result.stderr
    monkeypatch.setenv("HEADWAY_DEBUG", "1")
    assert isinstance(CliRunner().invoke(cli, ["status"]).exception, KeyError)


@pytest.mark.parametrize("args", [["--help"], ["status"], ["why", "noisy"], ["logs", "noisy"]])
def test_quick_verbs_import_nothing_heavy(args: list[str], finished: Bench) -> None:
    """What makes a start slow is imports; a time limit would only test the machine."""
    script = (
        "import sys\n"
        "from headway.cli.main import cli\n"
        "try:\n    cli.main(sys.argv[1:])\n"
        "except SystemExit as end:\n    assert end.code == 0, end.code\n"
        "heavy = {'numpy', 'asyncio', 'yaml', 'numba', 'headway.drivers.runs', 'headway.formats.headway_yaml'}\n"
        "heavy |= {'rich.live', 'rich.markdown'}\n"
        "heavy |= set() if '--help' in sys.argv else {'importlib.metadata'}\n"  # which looks for plugins
        "sys.exit(f'imported: {heavy & set(sys.modules)}' if heavy & set(sys.modules) else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *args], cwd=finished.directory, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_closed_pipe_is_no_error(finished: Bench) -> None:
    command = f"{sys.executable} -m headway why noisy --json | head -c 1; echo codes ${{PIPESTATUS[@]}}"
    loop = f"for i in 1 2 3; do {command}; done"
    done = subprocess.run(["bash", "-c", loop], cwd=finished.directory, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.count("{codes") == 3
    assert "codes 1 " not in done.stdout, "1 means that tasks failed"


def test_an_encoding_that_lacks_our_characters_is_no_error(finished: Bench) -> None:
    done = finished.process("status", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "demo, run 2: failed" in done.stdout
