"""CWL workflows through a real cwltool, whose tools run in a service."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.bench import PATIENCE_S, Bench, Done

HERE = Path(__file__).parent / "cwl"
SMALL = ("--cores", "2", "--memory", "4GB")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    home = tmp_path_factory.mktemp("cwl")
    return Bench(home / "work", home)


def run(bench: Bench, *words: str) -> Done:
    return bench.process("cwl", *SMALL, "--", *words)


def twice(bench: Bench) -> list[tuple[Done, str, Any]]:
    found = []
    for _ in range(2):
        done = run(bench, str(HERE / "workflow.cwl"), str(HERE / "parts.yml"))
        found.append((done, (bench.directory / "all.txt").read_text(), bench.json("usage")))
    return found


@pytest.fixture(scope="module")
def ran(bench: Bench) -> list[tuple[Done, str, Any]]:
    """A run of a workflow and another of the same: what cwltool said, the output, and the figures."""
    return twice(bench)


def test_the_outputs_are_those_of_cwltool(bench: Bench, ran: list[tuple[Done, str, Any]], tmp_path: Path) -> None:
    off = Bench(tmp_path / "off", tmp_path).process(
        "cwl", "--off", "--", str(HERE / "workflow.cwl"), str(HERE / "parts.yml")
    )
    assert off.returncode == 0, off.stderr
    names = ("basename", "class")
    for done, text, _ in ran:
        assert done.returncode == 0, done.stderr
        ours, theirs = (json.loads(it.stdout)["all"] for it in (done, off))
        assert {name: ours[name] for name in names} == {name: theirs[name] for name in names}
        assert set(ours) == set(theirs)
        assert re.findall("part .*", text) == ["part 1", "part 2"] * 2
    assert not (tmp_path / "off" / ".headway").exists()


def test_what_a_tool_reads_is_what_is_enforced(ran: list[tuple[Done, str, Any]]) -> None:
    for _, text, _ in ran:
        read = re.findall(r"ram (\d+) enforced (\d+) cores 1", text)
        assert len(read) == 4, "attempts that ran out of memory leave no output"
        assert all(ram == enforced for ram, enforced in read)


def test_a_tool_that_outgrows_its_size_is_run_again_with_more(ran: list[tuple[Done, str, Any]]) -> None:
    assert "[job grow] needs more than 60 MiB" in ran[0][0].stderr
    assert "completed permanentFail" not in ran[0][0].stderr
    assert int(re.findall(r"ram (\d+)", ran[0][1])[0]) >= 100


def test_the_second_run_asks_for_less_than_half_and_nothing_fails(ran: list[tuple[Done, str, Any]]) -> None:
    (_, first, _), (again, second, _) = ran
    asked = [sum(map(int, re.findall(r"ram (\d+)", text))) for text in (first, second)]
    assert asked[1] < asked[0] / 2
    assert "needs more than" not in again.stderr


def test_categories_are_the_steps(bench: Bench, ran: list[tuple[Done, str, Any]]) -> None:
    assert {it["category"] for it in ran[1][2]["rows"]} == {"grow", "lavish", "join"}
    assert "lavish is a category of 2 tasks" in bench.succeeds("why", "lavish")


def said(done: Done) -> set[str]:
    """What cwltool logged, without colours and directories; the order and figures of every second are by chance."""
    lines = re.sub(r"\S*/tmp\S*|\x1b\[[\d;]*m", "", done.stderr).splitlines()
    return {line for line in lines if "Max memory used" not in line}


def test_errors_are_those_of_cwltool(bench: Bench) -> None:
    words = ("--", "--on-error", "continue", str(HERE / "errors.cwl"))
    ours, theirs = (bench.process("cwl", how, *words) for how in ("--fresh", "--off"))
    assert (ours.returncode, ours.stdout, said(ours)) == (theirs.returncode, theirs.stdout, said(theirs))
    assert ours.returncode == 1
    for line in ("oops", "[job fails] exited with status: 3", "[job late] was terminated by signal: SIGTERM"):
        assert any(line in it for it in said(ours))


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("baseCommand: [true", 1, "while parsing a flow sequence"),
        (
            "baseCommand: 'true'\nrequirements: {DockerRequirement: {dockerPull: nobody/nothing}}",
            33,
            "--no-container, but this CommandLineTool has DockerRequirement under 'requirements'.",
        ),
    ],
)
def test_what_cannot_be_run_ends_as_under_cwltool(text: str, code: int, message: str, bench: Bench) -> None:
    bench.write("cwlVersion: v1.2\nclass: CommandLineTool\ninputs: []\noutputs: []\n" + text, "bad.cwl")
    done = run(bench, "--no-container", "bad.cwl")
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_without_cwltool_it_says_how_to_install_it(bench: Bench) -> None:
    code = "import sys; sys.modules['cwltool'] = None; from headway.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "cwl", "a.cwl"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "headway: cwltool is not installed; install it with `pip install 'headway[cwl]'`\n"


class Gate:
    """A workflow of which part 1 ends at once, and part 2 when it is let through."""

    def __init__(self, home: Path) -> None:
        self.bench = Bench(home / "work", home)
        self.place = self.bench.directory
        self.words = ("cwl", "-q", "--", "--cachedir", "cache", str(HERE / "gate.cwl"), "--place", str(self.place))

    def begin(self) -> subprocess.Popen[str]:
        """Start it, and wait until part 1 has ended and part 2 runs."""
        (self.place / "started2").unlink(missing_ok=True)
        (self.place / "gate").unlink(missing_ok=True)
        os.mkfifo(self.place / "gate")
        process = self.bench.start(*self.words)
        self.bench.wait_for(lambda: process.poll() is not None or self.half_done(), "part 2 to run")
        assert process.poll() is None, process.communicate()
        return process

    def half_done(self) -> bool:
        said = [path.read_text() for path in self.place.glob("cache/*.status")]
        return "success" in said and (self.place / "started2").exists()

    def left(self) -> list[str]:
        """The processes that work here."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if Path(os.readlink(process / "cwd")).is_relative_to(self.place.resolve()):
                    found.append((process / "cmdline").read_text())
            except OSError:
                continue
        return found


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    return Gate(tmp_path_factory.mktemp("gate"))


def test_ctrl_c_leaves_no_process(gate: Gate) -> None:
    process = gate.begin()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert gate.left() == []


def test_a_kill_leaves_no_command(gate: Gate) -> None:
    process = gate.begin()
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    gate.bench.wait_for(lambda: not any("gate" in line for line in gate.left()), "the command to be cancelled")


def test_after_that_only_what_had_not_ended_is_run(gate: Gate) -> None:
    (gate.place / "gate").unlink()
    (gate.place / "gate").touch()
    done = gate.bench.process(*gate.words)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["all"]) == 2
    assert (gate.place / "started1").read_text() == "\n", "part 1 ran once, although its size is another by now"
