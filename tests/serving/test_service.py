"""A real service and its clients: what commands see, how they end, and what a client may say."""

from __future__ import annotations

import base64
import json
import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import headway
from headway.model.errors import InputError
from headway.serving.client import Call, ServiceError
from tests.api.test_same_answers import as_json, same_place, without
from tests.serving.running import Service, Talk


@pytest.fixture(params=["client.py", "headway-exec"])
def either(service: Service, request: pytest.FixtureRequest) -> Iterator[Service]:
    """The service with each of the two clients."""
    before = service.client
    service.client = service.quick if request.param == "headway-exec" else before
    yield service
    service.client = before


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = Service(tmp_path_factory.mktemp("service"), "--cores", "2", "--memory", "1GB")
    yield running
    running.stop()


@pytest.fixture
def talk(service: Service) -> Iterator[Talk]:
    talk = service.connect()
    yield talk
    talk.close()


def test_a_command_has_its_directory_environment_and_amounts(either: Service) -> None:
    service = either
    (service.directory / "below").mkdir(exist_ok=True)
    script = 'pwd; echo "$GREETING ${HOME-none}"; echo $HEADWAY_CORES {cores}; test $HEADWAY_MEMORY_BYTES -gt 1000000'
    code, output, messages = service.exec(
        *("--cores", "1", "--", "sh", "-c", f"cd below && {script}"), env={"GREETING": "it's me", "HOME": "/nowhere"}
    )
    assert (code, messages) == (0, "")
    assert output.split("\n") == [str(service.directory / "below"), "it's me /nowhere", "1 1", ""]


def test_functions_that_bash_exports_are_passed_on(service: Service) -> None:
    """As `module` is on many clusters."""
    exported = {"BASH_FUNC_greet%%": "() { echo hello $1; }"}
    assert service.exec("--", "bash", "-c", "greet you", env=exported) == (0, "hello you\n", "")


def test_variables_that_the_client_does_not_have_are_not_set(service: Service) -> None:
    without_columns = {name: text for name, text in service.bench.environment.items() if name != "COLUMNS"}
    done = subprocess.run(
        [*service.client, "--", "sh", "-c", "echo ${COLUMNS-unset}"],
        cwd=service.directory,
        env=without_columns,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "unset\n"


@pytest.mark.parametrize(
    ("script", "code"), [("exit 7", 7), ("kill -KILL $$", 137), ("nosuchprogram", 127), ("true", 0)]
)
def test_exit_codes(either: Service, script: str, code: int) -> None:
    assert either.exec("--", "sh", "-c", script)[0] == code


def test_output_comes_while_the_command_runs_and_on_the_right_stream(either: Service) -> None:
    service = either
    (service.directory / "go").unlink(missing_ok=True)
    script = "echo first; while [ ! -e go ]; do sleep 0.02; done; echo second >&2"
    process = service.begin("--", "sh", "-c", script)
    assert process.stdout is not None
    assert process.stdout.readline() == "first\n"
    (service.directory / "go").touch()
    assert process.communicate(timeout=60) == ("", "second\n")


def test_bytes_that_are_no_text_arrive_as_they_are(either: Service) -> None:
    category = f"noise-{len(either.client)}"
    words = ("--category", category, "--", "head", "-c", "300000", "/dev/urandom")
    output, _ = either.begin(*words, text=False).communicate(timeout=60)
    (attempt,) = (either.directory / ".headway").glob(f"runs/*/tasks/{category}*/1/stdout")
    assert output == attempt.read_bytes()  # type: ignore[comparison-overlap]


def test_standard_input(either: Service) -> None:
    service = either
    (service.directory / "lines").write_text("a\nb\n")
    with (service.directory / "lines").open() as lines:
        assert service.exec("--", "cat", stdin=lines)[1] == "a\nb\n"
        os.lseek(lines.fileno(), 2, os.SEEK_SET)
        assert service.exec("--", "cat", stdin=lines)[1] == ""  # a loop that reads it must not lose its lines
    reads, writes = os.pipe()
    os.write(writes, b"piped\n")
    os.close(writes)
    assert service.exec("--stdin", "--", "cat", stdin=reads)[1] == "piped\n"
    assert list((service.directory / ".headway").glob("runs/*/stdin-*")) == []
    os.close(reads)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_signals_are_passed_on(either: Service, number: signal.Signals) -> None:
    service = either
    name = f"ready-{number.name}-{len(service.client)}"
    script = f"trap 'echo got {number.name}; exit 9' {number.name[3:]}; touch {name}; while :; do sleep 0.02; done"
    process = service.begin("--", "sh", "-c", script)
    service.wait_for(name)
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert (process.returncode, output) == (9, f"got {number.name}\n")


def test_a_command_that_waits_is_cancelled_by_a_signal(service: Service, talk: Talk) -> None:
    blocker = service.begin("--cores", "2", "--", "sh", "-c", "touch blocks; sleep 60")
    service.wait_for("blocks")
    waiting = service.begin("--cores", "2", "--", "touch", "never")
    while talk.ask({"do": "status"})["waiting"] != 1:
        pass
    waiting.send_signal(signal.SIGTERM)
    waiting.communicate(timeout=60)
    assert waiting.returncode == 128 + signal.SIGTERM
    blocker.send_signal(signal.SIGINT)
    blocker.communicate(timeout=60)
    assert blocker.returncode == 130
    assert not (service.directory / "never").exists()


def test_a_client_that_dies_cancels_its_command_or_lets_it_go_on(service: Service, talk: Talk) -> None:
    script = "touch $0; while [ ! -e end ]; do sleep 0.02; done; touch $0-done"
    dying = [service.begin(*keep, "--", "sh", "-c", script, name) for keep, name in (((), "a"), (("--keep",), "b"))]
    service.wait_for("a")
    service.wait_for("b")
    for process in dying:
        process.kill()
        process.communicate()
    while talk.ask({"do": "status"})["running"] != 1:
        pass
    (service.directory / "end").touch()
    service.wait_for("b-done")
    assert not (service.directory / "a-done").exists()


def test_a_quote_is_what_the_script_reads(service: Service, talk: Talk) -> None:
    asked = {"do": "quote", "id": 1, "quote": "job 7", "category": "quoted", "hints": {"memory_bytes": "90 MB"}}
    quoted = talk.ask(asked)
    assert (quoted["event"], quoted["id"]) == ("quoted", 1)
    amount = quoted["amounts"]["memory_bytes"]
    assert talk.ask(asked | {"hints": {}})["amounts"] == quoted["amounts"]  # pinned
    submit = {"do": "submit", "id": 2, "quote": "job 7", "category": "quoted", "name": "7", "on_exhausted": "return"}
    talk.say(submit | {"script": "echo $HEADWAY_MEMORY_BYTES {memory_mb}; python3 -c 'x = bytearray(300_000_000)'"})
    started = talk.until("started")
    assert (started["id"], started["task"], started["memory_bytes"]) == (2, "quoted[7]", amount)
    assert base64.b64decode(talk.until("output")["data"]).decode() == f"{amount} {amount // 1_000_000}\n"
    ended = talk.until("ended")
    assert (ended["cause"], ended["exit_code"], ended["attempts"]) == ("memory", 137, 1)
    more = {"do": "quote", "quote": "job 7, again", "category": "quoted", "failures": {"memory_bytes": [amount]}}
    assert talk.ask(more)["amounts"]["memory_bytes"] > amount
    too_much = {"do": "quote", "quote": "job 8", "failures": {"memory_bytes": [1e9]}}
    assert talk.ask(too_much)["event"] == "error"


def test_a_command_that_runs_out_of_memory_is_retried_with_more(service: Service) -> None:
    # More than the gigabyte of this service: the last attempt fails, and says why.
    eats = "import time\nx = bytearray(1_200_000_000)\nfor i in range(0, len(x), 4096): x[i] = 1\ntime.sleep(5)"
    code, _, messages = service.exec("--category", "eater", "--", "python3", "-c", eats)
    assert code == 137
    assert messages.startswith("headway exec: eater[")
    assert "it needs more" in messages or "memory" in messages


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (b"nonsense\n", "this message is not understood"),
        (b'{"do": "dance"}\n', "this message is not understood: Invalid value 'dance'"),
        ({"do": "submit"}, "either 'argv' or 'script'"),
        ({"do": "submit", "argv": ["true"], "hints": {"memory_bytes": "much"}}, "'much' is not an amount of memory"),
        ({"do": "submit", "argv": ["true"], "hints": {"sugar": 1}}, "there is no resource 'sugar'"),
        ({"do": "submit", "argv": ["true"], "retries": -1}, "retries is -1"),
        ({"do": "submit", "argv": ["true"], "quote": "none"}, "there is no quote 'none'"),
        ({"do": "cancel", "task": "x"}, "there is no command 'x' here"),
    ],
)
def test_a_bad_message_gets_a_sentence_and_hurts_nobody(
    service: Service, talk: Talk, message: dict[str, object] | bytes, said: str
) -> None:
    talk.say(message)
    answer = talk.hear()
    assert answer["event"] == "error"
    assert said in answer["message"]
    assert "\n" not in answer["message"]
    assert talk.ask({"do": "status", "id": "s"})["id"] == "s"


def test_the_first_message_is_hello_of_a_version_that_both_know(service: Service) -> None:
    talk = Talk(service.directory, hello=False)
    assert "the first message is hello" in talk.ask({"do": "status"})["message"]
    assert "version 1, not 99" in talk.ask({"do": "hello", "version": 99})["message"]
    talk.close()


def test_the_same_key_is_the_same_command(service: Service, talk: Talk) -> None:
    submit = {"do": "submit", "key": "mine", "argv": ["sh", "-c", "echo once >> counted"], "directory": "."}
    for _ in range(2):
        talk.say(submit)
        assert talk.until("ended")["exit_code"] == 0
    assert (service.directory / "counted").read_text() == "once\n"


def test_only_its_owner_may_use_the_socket(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    link = service.directory / ".headway" / "service"
    assert stat.S_IMODE(link.stat().st_mode) == 0o600
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(ServiceError, match="belongs to another user"):
        Call({"argv": ["true"]}, str(link), print).run()


def test_no_service(tmp_path: Path, either: Service) -> None:
    code, _, messages = either.exec("--in", str(tmp_path), "--", "true")
    assert code == 125
    assert messages == f"headway exec: no service is at work in {tmp_path}: start one with `headway service &`\n"
    with pytest.raises(InputError, match="no service is at work here"):
        headway.stop_service(tmp_path)


def test_execute_says_the_same_as_the_command(service: Service) -> None:
    script = "echo out; echo err >&2; exit 3"
    told = json.loads(service.bench.process("exec", "--json", "--category", "same", "--", "sh", "-c", script).stdout)
    with same_place(service.bench):
        answer = as_json(headway.execute(["sh", "-c", script], category="same"))
    measured = {"task", "memory_bytes", "wall_s", "cpu_s"}
    assert without(answer, measured) == without(told, measured)
    assert (told["exit_code"], told["stdout"], told["cause"]) == (3, "out\n", "exit-code")


def test_the_verbs_about_runs_tell_of_commands(service: Service) -> None:
    assert service.exec("--category", "told", "--name", "one", "--", "echo", "hello")[0] == 0
    assert service.bench.json("status")["name"] == "commands"
    assert "told[one]" in service.bench.succeeds("why", "told[one]")
    assert service.bench.succeeds("logs", "told[one]").count("hello") == 1
    assert "told" in service.bench.succeeds("usage")


def test_wrong_options_are_explained(service: Service) -> None:
    done = service.bench.process("exec", "--nonsense", "--", "true")
    assert (done.returncode, done.stderr) == (2, "headway: no such option '--nonsense'; see `headway exec --help`\n")
    assert "--keep" in service.bench.process("exec", "--help").stdout


def test_a_command_ends_when_nobody_reads_its_output(either: Service) -> None:
    service = either
    reads, writes = os.pipe()
    process = service.begin("--", "yes", stdout=writes)
    os.close(writes)
    assert os.read(reads, 2) == b"y\n"
    os.close(reads)
    process.communicate(timeout=60)
    assert process.returncode in (128 + signal.SIGPIPE, -signal.SIGPIPE)


def test_a_command_that_fits_nowhere_is_not_run(service: Service, talk: Talk) -> None:
    talk.say({"do": "submit", "argv": ["touch", "never"], "hints": {"memory_bytes": "2 TB"}})
    ended = talk.until("ended")
    assert (ended["cause"], ended["exit_code"], ended.get("attempts", 0)) == ("not-run", 125, 0)
    assert "it asks for 2 TB" in ended["message"]
