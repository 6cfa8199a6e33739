"""`headway nextflow`: an unchanged pipeline under a real Nextflow, its tasks in a service; all runs in one place."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from headway.api import nextflow_plugin
from headway.journal.folder import Project
from headway.journal.sqlite import SqliteJournal
from headway.model.outcome import Ending
from headway.model.records import Launch, TaskEnded
from tests import nextflow as real
from tests.cli.bench import PATIENCE_S, Bench
from tests.serving.people import STRANGER, path_of_python, python_for_others

PIPELINES = Path(__file__).parent
WORDS = ("nextflow", "--cores", "2", "--memory", "2GB", "--grace", "1s", "--", "run")


class Pipeline(Bench):
    """A directory in which a user runs pipelines."""

    def __init__(self, home: Path) -> None:
        super().__init__(home / "work", home)
        self.environment |= real.environment(home)
        for pipeline in PIPELINES.glob("*.nf"):
            shutil.copy(pipeline, self.directory)

    def begin(self, *words: str) -> subprocess.Popen[str]:
        return self.start(*WORDS, *words, "--out", str(self.directory))

    def launches(self, run: int) -> list[Launch]:
        return [record for record in self.records(run) if isinstance(record, Launch)]

    def records(self, run: int) -> list[object]:
        return list(SqliteJournal(Project(self.directory).runs()[run].journal, read_only=True).replay())

    def asked(self, run: int) -> dict[str, list[int]]:
        """The memory that tasks were given, by process, in the order of their starts."""
        found: dict[str, list[int]] = {}
        for launch in self.launches(run):
            found.setdefault(launch.task.partition("[")[0], []).append(launch.resources.memory_bytes)
        return found

    def exhausted(self, run: int) -> int:
        ends = [record.outcome for record in self.records(run) if isinstance(record, TaskEnded)]
        return sum(outcome.ending is Ending.MEMORY for outcome in ends)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    if obstacle := real.get():
        pytest.skip(obstacle)
    made = Pipeline(tmp_path_factory.mktemp("nextflow"))
    done = made.process(*WORDS, "main.nf", "--out", str(made.directory))
    assert done.returncode == 0, done.stdout + done.stderr
    made.write(done.stdout, "first")
    return made


def test_a_task_is_repeated_with_more_memory_and_its_script_sees_how_much(pipeline: Pipeline) -> None:
    said = (pipeline.directory / "first").read_text()
    assert "the sum is 10\n" in said
    assert "SUM ran out of memory with 60 MB; it gets 120 MB" in said
    asked = pipeline.asked(0)
    assert asked["SUM"] == [60 * 2**20, 120 * 2**20, 240 * 2**20]
    assert asked["PART"] == 4 * [600 * 2**20]  # an array
    assert {launch.resources.cores for launch in pipeline.launches(0) if launch.task.startswith("PART")} == {
        2
    }  # malleable
    seen, cores, enforced = (pipeline.directory / "seen").read_text().split()
    assert int(seen) == int(enforced) == asked["SUM"][-1]
    assert cores == "1"


@pytest.fixture(scope="module")
def interrupted(pipeline: Pipeline) -> Pipeline:
    """Its second run, which Ctrl-C ended."""
    process = pipeline.begin("main.nf", "--slow")
    pipeline.wait_for_file("begun")
    begun = (pipeline.directory / "begun").read_text()
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1  # as Nextflow itself
    assert "Killing running tasks" in said
    assert not os.path.exists(f"/proc/{begun.strip()}")
    (pipeline.directory / "begun").unlink()
    return pipeline


def test_the_second_run_asks_for_less_than_half_and_has_no_failure(interrupted: Pipeline) -> None:
    before, after = interrupted.asked(0), interrupted.asked(1)
    assert (len(after["PART"]), len(after["SUM"])) == (4, 1)
    assert interrupted.exhausted(1) == 0
    of_both = [sum(sum(asked[process]) for process in ("PART", "SUM")) for asked in (before, after)]
    assert of_both[1] < of_both[0] / 2


def test_a_run_that_was_killed_is_resumed(interrupted: Pipeline) -> None:
    process = interrupted.begin("main.nf", "--slow", "-resume")
    interrupted.wait_for_file("begun")
    assert list(interrupted.asked(2)) == ["SLOW"]  # what had been made before Ctrl-C was not made again
    for pid in children(process.pid):
        os.kill(pid, signal.SIGKILL)
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    (interrupted.directory / "go").touch()
    done = interrupted.process(*WORDS, "main.nf", "--out", str(interrupted.directory), "--slow", "-resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "slowly, it is 10\n" in done.stdout
    assert "SLOW[1" in interrupted.succeeds("usage", "--by", "task")


def children(pid: int) -> list[int]:
    """The service and Nextflow."""
    listed = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=True).stdout
    return list(map(int, listed.split()))


def test_an_error_of_the_users_is_told_as_by_nextflow_itself(pipeline: Pipeline) -> None:
    told = []
    for off in ((), ("--off",)):
        words = ("nextflow", *off, "--", "run", "broken.nf", "--out", str(pipeline.directory))
        done = pipeline.process(*words)
        assert done.returncode == 1
        error, _, _ = done.stdout.partition("\nTip: ")  # of which Nextflow has several
        told.append(re.sub(r"\[\w+\]|[0-9a-f]{2}/[0-9a-f]+", "", error))
    assert told[0] == told[1]
    assert "the sum is wrong" in told[0]
    assert (pipeline.directory / "tried").read_text() == 4 * "again\n"  # twice each: as the pipeline allows


@pytest.mark.usefixtures("pipeline")
def test_bad_input_gets_one_sentence(tmp_path: Path) -> None:
    bench = Pipeline(tmp_path)
    assert "what is nextflow to run?" in bench.fails(2, "nextflow")
    assert "no program 'nextflow'" in bench.fails(2, "nextflow", "--", "run", "main.nf", PATH="/nowhere")
    broken = bench.write("#!/bin/sh\necho 'ERROR: Cannot find Java' >&2; exit 1\n", "nextflow")
    broken.chmod(0o755)
    words = ("nextflow", "--nextflow", str(broken), "--", "run", "main.nf")
    done = bench.process(*words, NXF_PLUGINS_DIR=str(tmp_path / "plugins"))
    assert done.stderr.splitlines()[-1] == "headway: Nextflow does not start: ERROR: Cannot find Java"
    done = bench.process(*words, NXF_PLUGINS_DIR="/proc/plugins")
    assert "/proc/plugins: cannot be written" in done.stderr.splitlines()[-1]
    # A real Nextflow, for which the version that Headway needs is not old enough.
    broken.write_text(f"""#!/bin/bash
    sed s/25.04.0/99.04.0/ "$3" > build.nf
    exec {real.launcher()} -q run build.nf "${{@:4}}"
    """)
    done = bench.process(*words, NXF_PLUGINS_DIR=str(tmp_path / "plugins"))
    last = done.stderr.splitlines()[-1]
    assert last == f"headway: Nextflow {real.VERSION} is too old for Headway: 25.04 or newer is needed"
    done = bench.process(
        "nextflow", "--", "run", "main.nf", PATH=without_java(tmp_path), NXF_PLUGINS_DIR=str(tmp_path / "p")
    )
    assert done.stderr.splitlines()[-1].startswith("headway: Nextflow does not start: ")
    assert "java" in done.stderr.splitlines()[-1]


def without_java(folder: Path) -> str:
    """A search path with a real Nextflow and a shell only."""
    (folder / "bin").mkdir()
    for program in (Path("/bin/sh"), Path("/bin/bash"), real.launcher()):
        (folder / "bin" / program.name).symlink_to(program)
    return str(folder / "bin")


def test_a_pipeline_that_is_none_gets_nextflows_own_error(pipeline: Pipeline) -> None:
    done = [pipeline.process("nextflow", *off, "--", "run", "syntax.nf") for off in ((), ("--off",))]
    said = [re.sub(r"Launching .*\n", "", each.stdout) for each in done]
    assert done[0].returncode == done[1].returncode == 1
    assert said[0] == said[1]
    assert "syntax.nf" in said[0]
    assert done[0].stderr == done[1].stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_the_plugin_tells_another_user_nothing(pipeline: Pipeline) -> None:
    with contextlib.ExitStack() as stack:
        theirs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headway-stranger-", dir="/tmp")))
        shutil.chown(theirs, STRANGER)
        noted = theirs / "noted"
        listening = subprocess.Popen(
            [python_for_others(), "-P", "-m", "tests.security.stranger", "listen", str(theirs), str(noted)],
            user=STRANGER,
            extra_groups=[],
            env={"PYTHONPATH": path_of_python(), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        stack.callback(listening.wait)
        stack.callback(listening.kill)
        while not (theirs / "listens").exists():
            assert listening.poll() is None
            time.sleep(0.05)
        theirs.chmod(0o755)
        plugin = nextflow_plugin.installed(str(real.launcher()), pipeline.environment, pytest.fail)
        told = {"HEADWAY_NEXTFLOW_SOCKET": str(theirs / "service"), "NXF_PLUGINS_DEFAULT": plugin}
        done = subprocess.run(
            [real.launcher(), "run", "main.nf"],
            cwd=pipeline.directory,
            env=pipeline.environment | told,
            capture_output=True,
            text=True,
            check=False,
        )
        said = f"a process of another user ({STRANGER}) answers here; nothing was sent"
        assert done.returncode != 0 and said in done.stdout + done.stderr, done
        assert noted.read_bytes() == b""
