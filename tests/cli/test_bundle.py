"""`headway bundle`: what is in it, and above all what is not."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.api.bundle_secrets import REMOVED, Scrubber
from tests.cli.bench import SMALL, Bench

# Each secret in a form of its own; made up here.
SECRETS = {
    "environment": "correct-horse-battery",
    "short": "qXz9",
    "url": "s3cr3t-of-the-url",
    "option": "opt10n-s3cret",
    "assigned": "assign3d-s3cret",
    "toml": "t0ml-s3cret",
    "bearer": "b3arer0123456789",
    "github": "ghp_" + "a1B2" * 9,
    "pem": "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
    "process": "pr0cess-s3cret",
}
FLOW = f"""
    name: secretive
    tasks:
      fetch:
        run: echo postgresql://me:{SECRETS["url"]}@db/x --password {SECRETS["option"]} > /dev/null
        env: {{PLAIN: {SECRETS["environment"]}, API_TOKEN: {SECRETS["short"]}}}
        setup: ["export DB_PASSWORD={SECRETS["assigned"]}"]
"""


def unpacked(path: Path) -> dict[str, str]:
    with tarfile.open(path) as tar:
        members = tar.getmembers()
        assert all(member.isreg() and member.mode == 0o600 for member in members)
        files = {member.name: tar.extractfile(member) for member in members}
        return {name.partition("/")[2]: file.read().decode() for name, file in files.items() if file is not None}


@pytest.fixture
def packed(bench: Bench) -> Bench:
    bench.write(FLOW)
    bench.succeeds("run", *SMALL)
    run = bench.directory / ".headway" / "runs" / "1"
    (job,) = (run / "jobs").glob("headway-*")
    words = [
        f"the variable was {SECRETS['environment']}, {SECRETS['short']} and {SECRETS['process']}",
        f"Authorization: Bearer {SECRETS['bearer']}",
        f"git clone https://{SECRETS['github']}@github.com/x/y",
        "-----BEGIN PRIVATE KEY-----",
        SECRETS["pem"],
        "-----END PRIVATE KEY-----",
        "an innocent line",
    ]
    (job / "log").write_text("\n".join(words))
    (run / "manager.log").write_text("x" * 100 + "\n" + "y" * 79 + "\n" * 1 + "z" * 79 * 30_000)
    (run / "pool" / "keys").mkdir(parents=True)
    (run / "pool" / "keys" / "key.pem").write_text(SECRETS["pem"])
    (run / "pool" / "scheduler.log").write_text("the scheduler's words")
    (job / "linked.log").symlink_to(run / "pool" / "keys" / "key.pem")
    (bench.directory / "headway.toml").write_text(f'history = "postgresql://me:{SECRETS["toml"]}@db/headway"\n')
    return bench


def test_a_bundle_contains_no_secret(packed: Bench) -> None:
    answer = packed.json("bundle", "-o", "b.tar.gz", CLUSTER_TOKEN=SECRETS["process"], HEADWAY_PASSWORD="pass-w0rd")
    path = packed.directory / "b.tar.gz"
    assert path.stat().st_mode & 0o777 == 0o600
    files = unpacked(path)
    for name, text in files.items():
        for secret in [*SECRETS.values(), "pass-w0rd"]:
            assert secret not in text, name
    assert answer["removed"] >= len(SECRETS)
    assert set(answer["contents"]) == set(files) - {"CONTENTS.txt"}
    assert "keys and certificates of the pool" in answer["left_out"]
    assert f"postgresql://me:{REMOVED}@db/headway" in files["settings/headway.toml"]


def test_a_bundle_contains_journal_logs_settings_and_versions(packed: Bench) -> None:
    said = packed.succeeds("bundle")
    files = unpacked(packed.directory / "headway-run-1.tar.gz")
    records = [json.loads(line) for line in files["journal.jsonl"].splitlines()]
    assert records[0]["kind"] == "run-started"
    assert records[-1] == {"kind": "finish", "at": records[-1]["at"], "status": "succeeded"}
    (added,) = [record for record in records if record["kind"] == "tasks-added"]
    assert added["tasks"][0]["environment"] == {"PLAIN": REMOVED, "API_TOKEN": REMOVED}
    assert f"--password {REMOVED}" in added["tasks"][0]["command"]
    assert "bash" in files["doctor.txt"]
    assert "msgspec " in files["versions.txt"]
    (log,) = [text for name, text in files.items() if name.startswith("jobs/") and name.endswith("/log")]
    assert "an innocent line" in log
    assert files["pool/scheduler.log"] == "the scheduler's words"
    assert not any("linked" in name or "keys" in name for name in files)
    assert len(files["manager.log"]) < 1_100_000
    assert "left out" in files["manager.log"]
    assert files["CONTENTS.txt"].strip() in said
    for name in set(files) - {"CONTENTS.txt"}:
        assert name in files["CONTENTS.txt"]
    assert "left out:" in said


def test_files_are_not_overwritten(finished: Bench, tmp_path: Path) -> None:
    place = str(tmp_path / "b.tar.gz")
    finished.succeeds("bundle", "-o", place)
    assert "this file exists" in finished.fails(2, "bundle", "-o", place)
    finished.succeeds("bundle", "1", "-o", place, "--force")
    assert "cannot write this" in finished.fails(3, "bundle", "-o", str(tmp_path / "nowhere" / "b.tar.gz"))
    assert [path.name for path in tmp_path.iterdir()] == ["b.tar.gz"], "nothing unfinished is left"


@given(st.text(min_size=8, max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_a_known_value_is_removed_at_any_position(value: str, before: str, after: str) -> None:
    scrubber = Scrubber()
    scrubber.learn({"NAME": value})
    clean = scrubber.text(before + value + after)
    assert REMOVED in clean
    assert value not in clean or value in REMOVED


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(_JSON)
def test_a_scrubbed_record_is_json_and_keeps_its_numbers(value: Any) -> None:
    clean = Scrubber().record({"value": value, "environment": {"A": "b"}, "walltime_s": 12.5})
    assert json.loads(json.dumps(clean)) == clean
    assert clean["walltime_s"] == 12.5
    assert clean["environment"] == {"A": REMOVED}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("MY_DB_PASSWORD_2=abc def", f"MY_DB_PASSWORD_2={REMOVED} def"),
        ('{"access-key": "a b"}', f'{{"access-key": {REMOVED}}}'),
        ("TOKEN=(removed), password: abc", f"TOKEN={REMOVED}, password: {REMOVED}"),
        ("curl --api-key 123 -H x", f"curl --api-key {REMOVED} -H x"),
        ("http://h/?token=abc&x=1", f"http://h/?token={REMOVED}&x=1"),
        ("git+ssh://me:a@b@host/x", f"git+ssh://me:{REMOVED}@host/x"),
        ("https://0123456789abcdef@host/x", f"https://{REMOVED}@host/x"),
        ("Authorization: Basic dXNlcjpwYXNz", f"Authorization: Basic {REMOVED}"),
    ],
)
def test_patterns_of_secrets_are_removed(text: str, clean: str) -> None:
    assert Scrubber().text(text) == clean


def test_scrubbing_long_lines_takes_linear_time() -> None:
    """Patterns that look back and forth would take hours for these."""
    for words, times in (("z", 200_000), ("a-", 100_000), ("token", 20_000), ("x://y:", 20_000), ("--token-", 20_000)):
        clean = Scrubber().text(words * times + " password=hunter2")
        assert clean.startswith(words)
        assert "hunter2" not in clean


@pytest.mark.parametrize(
    "text",
    ["run 3 of /home/me/sky: 12 tasks", "sizes by ladder", "a token bucket", "http://host:8080/path", "key=value"],
)
def test_text_that_is_no_secret_stays(text: str) -> None:
    assert Scrubber().text(text) == text
