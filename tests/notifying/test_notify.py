"""`--notify`: real runs that tell a real web server, a real command, and a program that takes mail as sendmail does."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from headway.api.start import start
from headway.drivers.run_settings import RunSettings
from headway.model.errors import InputError, SiteError
from headway.notifying import delivery, webhook
from headway.notifying.notifier import notified
from headway.notifying.targets import target_of, targets_of
from headway.report.run.summary import RunSummary
from tests.cli.bench import PATIENCE_S, SMALL, Bench
from tests.cli.test_bundle import unpacked
from tests.report.records import started

SECRET = "T0SECRET/B0SECRET"
FLOW = """
    name: sky
    tasks:
      good:
        run: "true"
      broken:
        run: echo "the reason <!channel>" >&2; exit 5
      after:
        needs: [broken]
        run: "true"
"""


class Hooks:
    """A web server on this machine. The first part of a path says how it answers."""

    def __init__(self) -> None:
        hooks = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = self.path.split("/")[1]
                hooks.calls.append((answer, self.headers["Content-Type"]))
                if answer == "hangs":
                    hooks.go.wait(PATIENCE_S)
                if answer == "flaky" and [kind for kind, _ in hooks.calls].count("flaky") == 1:
                    answer = "broken"
                code = {"gone": 404, "broken": 500, "moved": 302}.get(answer, 200)
                if code == 200:
                    hooks.bodies.append(body)
                self.send_response(code)
                if code == 302:
                    self.send_header("Location", f"{hooks.url}/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self.calls: list[tuple[str, str]] = []
        self.bodies: list[dict[str, Any]] = []
        self.go = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "work", tmp_path / "home")


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    hooks = Hooks()
    yield hooks
    hooks.go.set()
    hooks.server.shutdown()
    hooks.server.server_close()


def program(folder: Path, name: str, text: str) -> str:
    """Put a program into a folder; return a PATH with it."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def wait_until(condition: Any) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_end_and_first_failure_reach_all_and_no_secret_is_kept(bench: Bench, hooks: Hooks, tmp_path: Path) -> None:
    bench.write(FLOW)
    box = tmp_path / "mailbox"
    box.mkdir()
    path = program(tmp_path / "bin", "sendmail", f'#!/bin/sh\necho "$*" > {box}/words\ncat > {box}/$$\n')
    told = ["--notify", f"{hooks.url}/flaky/{SECRET}", "--notify", "command:cat > told-$HEADWAY_NOTIFY_EVENT.json"]
    done = bench(
        "run", "-k", "--report", *SMALL, *told, "--notify", "mail:me@example.org", PATH=path, HEADWAY_NOTIFY="mail:x"
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.count("sky, run 1: failed") == 1

    assert [kind for kind, _ in hooks.calls] == ["flaky"] * 3, "a 500, and then both messages"
    assert {kind for _, kind in hooks.calls} == {"application/json"}
    first, last = hooks.bodies
    assert (first["event"], last["event"]) == ("failure", "end")
    assert first["text"].startswith("sky, run 1: broken failed\n")
    assert "```the reason &lt;!channel&gt;```" in first["text"], "nobody is called by what a task prints"
    assert f"headway logs -C {bench.directory} --run 1 broken" in first["text"]
    assert last["text"].startswith("sky, run 1: failed after ")
    assert "1 of 3 tasks done, 1 failed, 1 cut off" in last["text"]
    assert last["tasks"] == {
        **{"total": 3, "succeeded": 1, "reused": 0, "running": 0, "waiting": 0, "failed": 1, "cut_off": 1}
    }
    assert (last["workflow"], last["run"], last["state"]) == ("sky", "1", "failed")
    assert last["directory"] == str(bench.directory)
    assert last["elapsed_s"] > 0
    assert last["look"] == f"headway status -C {bench.directory} 1"
    assert last["first_failure"] == {
        "task": "broken",
        "why": "its command exited with code 5",
        "log": ["the reason <!channel>"],
    }

    for body in (first, last):
        of_command = json.loads((bench.directory / f"told-{body['event']}.json").read_text())
        assert {**of_command, "text": ""} == {**body, "text": ""}
        assert "    the reason <!channel>" in of_command["text"]
    assert (box / "words").read_text() == "-i -t\n"
    mails = [message_from_bytes(file.read_bytes()) for file in sorted(box.glob("[0-9]*"))]
    assert {mail["To"] for mail in mails} == {"me@example.org"}
    assert any(mail["Subject"] == "headway: sky, run 1: broken failed" for mail in mails)
    assert len(mails) == 2

    bench.write(f'notify = ["{hooks.url}/ok/{SECRET}", "mail:me@example.org"]\n', "headway.toml")
    elsewhere = f"https://example.org/very/{SECRET}"
    bench.succeeds("bundle", "-o", str(tmp_path / "b.tar.gz"), HEADWAY_NOTIFY=elsewhere)
    packed = unpacked(tmp_path / "b.tar.gz")
    assert "mail:me@example.org" in packed["settings/headway.toml"]
    kept = [text.encode() for text in packed.values()] + [done.stdout.encode()]
    kept += [path.read_bytes() for path in (bench.directory / ".headway").rglob("*") if path.is_file()]
    kept += [(bench.directory / "report-1.html").read_bytes()]
    assert not any(SECRET.encode() in content for content in kept)


def test_a_target_that_hangs_or_refuses_neither_delays_nor_fails_the_run(
    hooks: Hooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "workflow.yaml").write_text("name: w\ntasks: {a: {run: 'true'}}\n")
    monkeypatch.setattr(delivery, "_PAUSES_S", (0.01, 0.01))
    monkeypatch.setattr(webhook, "TIME_OUT_S", PATIENCE_S)
    said: list[str] = []
    targets = [f"{hooks.url}/{kind}/{SECRET}" for kind in ("hangs", "gone", "moved", "broken")]
    targets += ["command:echo no >&2; exit 3", "http://127.0.0.1:9/nothing", "command:exit 0"]
    settings = RunSettings(cores=1, memory_bytes=1e8, disk_bytes=1e8, notify=tuple(targets))
    assert start(tmp_path / "workflow.yaml", settings=settings, warn=said.append).state == "succeeded"
    assert not hooks.go.is_set(), "the run is over while a target hangs"
    wait_until(lambda: len(said) == 5)
    assert sorted(said) == sorted(
        [
            "a notification (end) to the webhook at 127.0.0.1 was not sent: it answered 404",
            "a notification (end) to the webhook at 127.0.0.1 was not sent: it answered 302, a redirect, "
            "which is not followed",
            "a notification (end) to the webhook at 127.0.0.1 was not sent: it answered 500",
            "a notification (end) to the command 'echo' was not sent: it exited with code 3: no",
            "a notification (end) to the webhook at 127.0.0.1 was not sent: no connection (Connection refused)",
        ]
    )
    kinds = [kind for kind, _ in hooks.calls]
    assert (kinds.count("gone"), kinds.count("broken"), kinds.count("moved")) == (1, 3, 1)
    assert "elsewhere" not in kinds
    hooks.go.set()
    wait_until(lambda: len(hooks.bodies) == 1)
    assert hooks.bodies[0]["state"] == "succeeded"


def test_what_takes_too_long_is_given_up(hooks: Hooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("webhook", "command"):
        monkeypatch.setattr(f"headway.notifying.{module}.TIME_OUT_S", 0.2)
    monkeypatch.setattr(delivery, "_PAUSES_S", ())
    said: list[str] = []
    targets = targets_of([f"{hooks.url}/hangs", f"command:sleep 1000 & echo $! > {tmp_path}/pid; wait"])
    summary = RunSummary()

    def observe(batch: Any) -> None:
        for record in batch:
            summary.apply(record)

    with pytest.raises(SiteError), notified(observe, summary, targets, 1000, said.append) as watching:
        watching(started())
        raise SiteError("the disk is full")
    wait_until(lambda: len(said) == 2)
    assert any("did not answer within 0.2 s" in line for line in said)
    assert any("took longer than 0.2 s" in line for line in said)
    pid = (tmp_path / "pid").read_text().strip()
    wait_until(lambda: not Path(f"/proc/{pid}").exists() or "State:\tZ" in Path(f"/proc/{pid}/status").read_text())


def test_a_manager_that_ends_with_an_error_is_told(tmp_path: Path) -> None:
    summary = RunSummary()
    targets = targets_of([f"command:cat > {tmp_path}/told.new; mv {tmp_path}/told.new {tmp_path}/told"])

    def observe(batch: Any) -> None:
        for record in batch:
            summary.apply(record)

    with pytest.raises(SiteError), notified(observe, summary, targets, 1000, print) as watching:
        watching(started())
        raise SiteError("the disk is full")
    wait_until((tmp_path / "told").exists)
    told = json.loads((tmp_path / "told").read_text())
    assert (told["event"], told["state"]) == ("end", "interrupted")
    assert "its manager ended: the disk is full; nothing is lost, `headway resume` goes on" in told["text"]


def test_stuck_in_the_background_with_targets_of_the_settings_file(bench: Bench, tmp_path: Path) -> None:
    """Nothing runs while the environment of the only task is being created."""
    bench.write("name: w\ntasks:\n  a: {conda: env.yaml, run: 'true'}\n  b: {needs: [a], run: exit 3}\n")
    bench.write("dependencies: [hello]\n", "env.yaml")
    into = "cat > $HEADWAY_NOTIFY_EVENT.new; mv $HEADWAY_NOTIFY_EVENT.new $HEADWAY_NOTIFY_EVENT.json"
    bench.write(f"notify = 'command:{into}'\nstuck-after = '0.1s'\n", "headway.toml")
    waits = f'while [ ! -e "{bench.directory}/go" ]; do sleep 0.05; done'
    conda = f'#!/bin/sh\nwhile [ "$1" != --prefix ]; do shift; done\n{waits}\nmkdir -p "$2/bin"\n'
    path = program(tmp_path / "bin", "micromamba", conda)
    begun = bench.process("run", "--detach", *SMALL, PATH=path)
    assert begun.returncode == 0, begun.stderr
    bench.wait_for_file("stuck.json")
    told = json.loads((bench.directory / "stuck.json").read_text())
    assert told["text"].startswith("w, run 1: nothing has run for ")
    assert (told["state"], told["tasks"]["waiting"]) == ("running", 2)
    (bench.directory / "go").touch()
    bench.wait_for_file("failure.json")
    bench.wait_for_file("end.json")
    assert json.loads((bench.directory / "end.json").read_text())["state"] == "failed"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("slack", "neither which webhook nor which command nor which mail address"),
        (f"http://example.org/{SECRET}", "the webhook at example.org would get its messages unencrypted; write https"),
        (f"https:///{SECRET}", "not the address of a webhook"),
        (f"https://me:{SECRET}@example.org:x/", "not the address of a webhook"),
        (f"https://me:word@example.org/{SECRET}", "has a user or a password before the host"),
        (f"https://example.org/a b{SECRET}", "not the address of a webhook"),
        (f"ftp://example.org/{SECRET}", "neither which webhook"),
        ("command: ", "there is no command"),
        ("mail:", "not a mail address"),
        ("mail:-oQ/tmp", "not a mail address"),
        ("mail:a@b\nBcc: c@d", "not a mail address"),
    ],
)
def test_bad_forms(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        target_of(text)
    assert words in str(caught.value)
    assert SECRET not in str(caught.value)


def test_bad_forms_stop_a_run_before_it_begins(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.write(FLOW)
    for more in ((), ("--detach",)):
        error = bench.fails(2, "run", "--notify", "http://example.org/x", *more)
        assert error.startswith("headway: --notify: the webhook at example.org would get its messages unencrypted; ")
    assert "HEADWAY_NOTIFY: after `command:` there is no command" in bench.fails(2, "run", HEADWAY_NOTIFY="command:")
    bench.write("\nnotify = 3\n", "headway.toml")
    assert "headway.toml:2: notify: this is not a list of texts" in bench.fails(2, "resume")
    assert not (bench.directory / ".headway").exists()
    monkeypatch.setattr("headway.notifying.mail._ALSO_IN", ())
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SiteError, match="--notify: this machine cannot send mail: there is no program `sendmail`"):
        targets_of(["mail:me"])
