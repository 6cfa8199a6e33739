"""How often a batch system is asked is set in files and variables, and does not concern local runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.api.settings import settings_for
from headway.clusters.slurm.options import SlurmOptions, gpu_memory_of, options_of
from headway.model.errors import InputError


def test_files_and_variables_say_how_often_slurm_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "headway.toml").write_text('ask-every = "2 min"\nsubmissions = 3\nmost-jobs = 7\n')
    monkeypatch.setenv("HEADWAY_SUBMISSIONS", "5")
    assert settings_for(tmp_path).batch == {}, "a local run has no batch system"
    asked = settings_for(tmp_path, {"cluster": "slurm", "batch": {"partition": "main"}}).batch
    assert asked == {"interval_s": "120.0", "submissions": "5", "most_jobs": "7", "partition": "main"}


def test_partitions_are_a_list_or_a_text(tmp_path: Path) -> None:
    (tmp_path / "headway.toml").write_text('prefer-partitions = ["short", "std"]\navoid-partitions = "debug"\n')
    asked = settings_for(tmp_path, {"cluster": "slurm"}).batch
    assert asked == {"prefer_partitions": "short,std", "avoid_partitions": "debug"}


def test_the_memory_of_gpus_is_stated_by_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "headway.toml").write_text('gpu-memory = ["a100=40 GB", "h200 = 141 GB"]\n')
    asked = settings_for(tmp_path, {"cluster": "slurm"}).batch
    assert asked == {"gpu_memory": "a100=40000000000,h200=141000000000"}
    assert gpu_memory_of(options_of(asked).gpu_memory) == {"a100": 40 * 10**9, "h200": 141 * 10**9}
    monkeypatch.setenv("HEADWAY_GPU_MEMORY", "v100=16 GB")
    assert settings_for(tmp_path, {"cluster": "slurm"}).batch == {"gpu_memory": "v100=16000000000"}


@pytest.mark.parametrize("text", ["a100", "a100=much", "=40 GB", "a100=0 GB", "a 100=4 GB"])
def test_what_is_no_memory_of_a_type_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "headway.toml").write_text(f'\ngpu-memory = ["{text}"]\n')
    with pytest.raises(InputError, match="gpu-memory"):
        settings_for(tmp_path, {"cluster": "slurm"})


@pytest.mark.parametrize("line", ["submissions = 0.5", 'most-jobs = "7"', "ask-every = 60", "avoid-partitions = [7]"])
def test_wrong_values_are_named_with_their_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "headway.toml").write_text(f"\n{line}\n")
    with pytest.raises(InputError, match=line.partition(" ")[0]) as error:
        settings_for(tmp_path)
    assert str(error.value.where).endswith("headway.toml:2")


@pytest.mark.parametrize(
    "options", [SlurmOptions(submissions=0), SlurmOptions(most_jobs=0), SlurmOptions(interval_s=-1)]
)
def test_no_number_below_one_makes_sense(options: SlurmOptions) -> None:
    with pytest.raises(InputError):
        options.check()
