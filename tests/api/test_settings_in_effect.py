"""Which settings took effect, and where each was chosen."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.api.settings import settings_for
from headway.report.run.again import setting_words


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "conf"))
    monkeypatch.delenv("HEADWAY_HISTORY", raising=False)
    (tmp_path / "conf" / "headway").mkdir(parents=True)
    return tmp_path


def test_the_strongest_of_each_setting_counts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "conf" / "headway" / "config.toml").write_text('cores = 1\nsizer = "user"\nquiet = true\ngrace = "10s"\n')
    (home / "headway.toml").write_text('cores = 2\nmemory = "1.5 GB"\nmanager-time = "2h"\npartition = "fat"\n')
    monkeypatch.setenv("HEADWAY_MEMORY", "2 GB")
    monkeypatch.setenv("HEADWAY_SEED", "7")
    monkeypatch.setenv("HEADWAY_ACCOUNT", "lab")
    given = {"seed": 8, "keep_going": True, "config": {"n": "3", "parts": "a,b c"}, "tasks": ("x",)}
    assert [setting_words(each) for each in settings_for(home, given).chosen] == [
        "cores = 2 (headway.toml)",
        "sizer = user (~/conf/headway/config.toml)",
        "grace = 10s (~/conf/headway/config.toml)",
        "HEADWAY_MEMORY=2GB",
        "--seed=8",
        "--keep-going",
        "--set n=3",
        "--set 'parts=a,b c'",
    ], "neither jobs' options nor a manager's time count on this machine"


def test_options_of_jobs_count_on_slurm(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "headway.toml").write_text('account = "lab"\nrequeue = false\ngpu-memory = ["a100=40 GB"]\n')
    monkeypatch.setenv("SBATCH_ACCOUNT", "weak")
    monkeypatch.setenv("SBATCH_RESERVATION", "course")
    monkeypatch.setenv("SBATCH_GRES", "gpu:1")
    given = {"cluster": "slurm", "batch": {"partition": "a b", "lines": "files"}}
    assert [setting_words(each) for each in settings_for(home, given, by="program").chosen] == [
        "account = lab (headway.toml)",
        "SBATCH_RESERVATION=course",
        "SBATCH_GRES=--gres=gpu:1",
        "requeue = false (headway.toml)",
        "gpu-memory = a100=40000000000 (headway.toml)",
        "on = slurm (by the program)",
        "partition = a b (by the program)",
        "lines = files (by the program)",
    ]


def test_secrets_are_removed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "headway.toml").write_text('notify = ["https://hooks.example.org/T0/abcdef", "mail:me@example.org"]\n')
    monkeypatch.setenv("HEADWAY_HISTORY", "postgresql://me:pa55@host/db")
    config = {"api_token": "abc", "url": "https://u:pw123@host/x", "keys": ["AKIAABCDEFGHIJKLMNOP", "fine"]}
    chosen = settings_for(home, {"config": config}).chosen
    assert [(each.name, each.value) for each in chosen] == [
        ("notify", "(removed)"),
        ("notify", "(removed)"),
        ("history", "postgresql://me:(removed)@host/db"),
        ("set", "api_token=(removed)"),
        ("set", "url=https://u:(removed)@host/x"),
        ("set", "keys=(removed),fine"),
    ]
