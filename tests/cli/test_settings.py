"""Settings: options, environment, the project's file, the user's file; in this order."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headway.api.settings import read_settings, settings_for
from headway.model.errors import InputError
from tests.cli.bench import Bench

FLOW = "name: w\ntasks:\n  a:\n    run: 'true'\n"


def cores(bench: Bench, *args: str, **environment: str) -> float:
    """The cores that a run would use, as a dry run tells."""
    answer = bench.json("run", "--dry-run", *args, **environment)
    return float(answer["limits"]["cores"])


def test_options_outrank_environment_outranks_project_file_outranks_user_file(bench: Bench) -> None:
    bench.write(FLOW)
    (bench.config / "headway").mkdir(parents=True)
    user = bench.config / "headway" / "config.toml"
    project = bench.directory / "headway.toml"
    user.write_text("cores = 0.25\n")
    assert cores(bench) == 0.25
    project.write_text("cores = 0.5\n")
    assert cores(bench) == 0.5
    assert cores(bench, HEADWAY_CORES="0.75") == 0.75
    assert cores(bench, "--cores", "1", HEADWAY_CORES="0.75") == 1
    assert cores(bench, HEADWAY_CORES="") == 0.5, "an empty variable says nothing"


def test_options_of_jobs_come_from_files_and_variables_and_do_not_count_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    (tmp_path / "headway.toml").write_text('account = "a"\nqos = "q"\nnodes = "shared"\nrequeue = true\n')
    monkeypatch.setenv("HEADWAY_QOS", "other")
    monkeypatch.setenv("SBATCH_ACCOUNT", "weak")
    monkeypatch.setenv("SBATCH_RESERVATION", "course")
    there = settings_for(tmp_path, {"cluster": "slurm", "batch": {"partition": "p"}}).batch
    assert there == {
        "account": "a",
        "qos": "other",
        "nodes": "shared",
        "requeue": "true",
        "reservation": "course",
        "partition": "p",
    }
    assert settings_for(tmp_path).batch == {}


def test_the_project_file_is_the_one_beside_the_workflow(bench: Bench) -> None:
    bench.write(FLOW, "elsewhere/flow.yaml")
    bench.write("cores = 0.5\n", "elsewhere/headway.toml")
    bench.write("cores = 0.75\n", "headway.toml")
    assert cores(bench, "elsewhere/flow.yaml") == 0.5


def test_files_are_merged_key_by_key(bench: Bench) -> None:
    bench.write(FLOW)
    (bench.config / "headway").mkdir(parents=True)
    (bench.config / "headway" / "config.toml").write_text('cores = 0.5\nmemory = "64 MB"\nsizer = "user"\n')
    bench.write('memory = "128 MB"\n', "headway.toml")
    answer = bench.json("run", "-n")
    assert answer["limits"]["memory_bytes"] == 128_000_000
    assert answer["limits"]["cores"] == 0.5
    assert answer["sizer"] == "user"


@pytest.mark.parametrize(
    ("variable", "value", "key"), [("HEADWAY_MEMORY", "64MB", "memory_bytes"), ("HEADWAY_DISK", "32MB", "disk_bytes")]
)
def test_amounts_from_the_environment(bench: Bench, variable: str, value: str, key: str) -> None:
    bench.write(FLOW)
    answer = bench.json("run", "-n", **{variable: value})
    assert answer["limits"][key] == int(value[:2]) * 10**6


def test_seed_sizer_and_keep_going_reach_the_run(bench: Bench) -> None:
    bench.write("name: w\ntasks:\n  a: {run: exit 1}\n  b: {run: 'true'}\n")
    bench.write("keep-going = true\nseed = 5\nquiet = true\n", "headway.toml")
    done = bench("run", HEADWAY_SEED="7", HEADWAY_SIZER="whole-machine")
    assert done.returncode == 1
    assert done.stdout == "", "quiet"
    status = bench.json("status")
    assert (status["seed"], status["sizer"]) == (7, "whole-machine")
    assert status["tasks"]["succeeded"] == 1, "it kept going"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cores = 2\nmemroy = '8 GB'\n", ":2: unknown setting 'memroy'; did you mean 'memory' or 'gpu-memory'?"),
        ("keep_going = true\n", ":1: unknown setting 'keep_going'; did you mean 'keep-going'?"),
        ("\n\nmemory = 8\n", ":3: memory: 8 is not an amount with a unit"),
        ("memory = 'much'\n", ":1: memory: 'much' is not an amount of memory or disk"),
        ("cores = true\n", ":1: cores: True is not a number of cores"),
        ("cores = -1\n", ":1: cores: '-1' is not a number of cores"),
        ("seed = 1.5\n", ":1: seed: 1.5 is not a whole number"),
        ("keep-going = 'yes'\n", ":1: keep-going: 'yes' is not true or false"),
        ("measure = 'guess'\n", ":1: measure: 'guess' is not a way of measuring; choose one of auto"),
        ("grace = 5\n", ":1: grace: 5 is not a length of time with a unit"),
        ("sizer = 3\n", ":1: sizer: 3 is not a name"),
        ("[cores]\nx = 1\n", ":1: cores: {'x': 1} is not a number of cores"),
        ("cores = 2\ncores 3\n", ":2: this is not TOML"),
        ("cores = [1,\n", ":2: this is not TOML"),
    ],
)
def test_a_mistake_is_named_with_file_and_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "headway.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_settings(path)
    assert str(caught.value).startswith(f"{path}{words}")


def test_files_that_are_missing_empty_or_unreadable(tmp_path: Path) -> None:
    assert read_settings(tmp_path / "none.toml") == {}
    assert read_settings(tmp_path / "none.toml" / "below.toml") == {}
    (tmp_path / "empty.toml").write_bytes(b"\xef\xbb\xbf")
    assert read_settings(tmp_path / "empty.toml") == {}
    (tmp_path / "broken.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read"):
        read_settings(tmp_path / "broken.toml")
    with pytest.raises(InputError, match="cannot be read"):
        read_settings(tmp_path)


def test_a_broken_file_stops_a_run_before_it_starts(bench: Bench) -> None:
    bench.write(FLOW)
    bench.write("cors = 2\n", "headway.toml")
    assert "did you mean 'cores'?" in bench.fails(2, "run")
    assert not (bench.directory / ".headway").exists()


def test_settings_in_a_pipe_are_refused(bench: Bench) -> None:
    bench.write(FLOW)
    os.mkfifo(bench.directory / "headway.toml")
    assert "headway.toml: this is a pipe or a device; write the settings to a file" in bench.fails(2, "run", "-n")
