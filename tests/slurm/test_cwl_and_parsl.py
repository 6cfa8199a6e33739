"""`headway cwl --on slurm`, and Parsl with `HeadwayExecutor(on="slurm")`: in jobs of a real Slurm."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from headway.model.records import TasksAdded
from tests.slurm.flows import SlurmFlow
from tests.slurm.lab import SlurmLab

EXAMPLE = Path(__file__).parents[2] / "examples" / "cwl"
PARSL = """
import parsl
from headway.integrations.parsl import HeadwayExecutor
from parsl.config import Config

@parsl.python_app
def where(number):
    import os
    return number * number, bool(os.environ["SLURM_JOB_ID"])

@parsl.python_app
def grow(parsl_resource_specification={"memory": 60}):
    return len(bytearray(150_000_000))

@parsl.bash_app
def greet(name, stdout=None):
    return f"echo hello {name}"

executor = HeadwayExecutor(directory=".", on="slurm", batch={"nodes": "whole"})
with parsl.load(Config(executors=[executor], initialize_logging=False)):
    calls = [where(number) for number in range(6)]
    others = [grow(), greet("you", stdout="greeting.txt")]
    print([call.result() for call in calls], [call.result() for call in others])
"""


def test_the_cwl_example_runs_in_few_jobs(slurm_of_session: SlurmLab, tmp_path: Path) -> None:
    slurm_of_session.tidy()
    flow = SlurmFlow(slurm_of_session, tmp_path)
    shutil.copytree(EXAMPLE, flow.directory, dirs_exist_ok=True)
    words = ("--on", "slurm", "--nodes", "whole", "--grace", "1s", "--", "primes.cwl", "ranges.yml")
    path = os.pathsep.join([str(Path(sys.executable).parent), slurm_of_session.environment()["PATH"]])
    flow.await_end(flow.start("cwl", *words, PATH=path))
    assert (flow.directory / "primes.txt").read_text() == "1270607\n"
    assert len(flow.submitted()) < len(flow.successes()) == 5
    shared = f"cd {flow.directory}/.headway/cwl/"  # and not in a folder that only the login node has
    added = [task for record in flow.records() if isinstance(record, TasksAdded) for task in record.tasks]
    assert all(task.command.startswith(shared) for task in added)
    assert not list((flow.directory / ".headway" / "cwl").iterdir())
    flow.check_queue()


def test_calls_of_parsl_run_in_few_jobs(slurm_of_session: SlurmLab, tmp_path: Path) -> None:
    slurm_of_session.tidy()
    flow = SlurmFlow(slurm_of_session, tmp_path)
    (flow.directory / "program.py").write_text(PARSL)
    flow.await_end(flow.run([sys.executable, "program.py"]))
    squares = [(number * number, True) for number in range(6)]
    assert f"{squares} [150000000, 0]\n" in flow.output()
    assert (flow.directory / "greeting.txt").read_text() == "hello you\n"
    assert len(flow.submitted()) < len(flow.successes()) == 8
    flow.check_queue()
