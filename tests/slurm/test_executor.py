"""`headway.Executor(on="slurm")`: calls in jobs of a real Slurm."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.slurm.flows import SlurmFlow
from tests.slurm.lab import SlurmLab

PROGRAM = """
import os
import headway

def square(number):
    print("squaring", number)
    return number * number, os.environ["SLURM_JOB_ID"]

def fail(what):
    raise ValueError(what)

if __name__ == "__main__":
    with headway.Executor("calls", on="slurm", plan="big-job", batch={"flags": "--comment=calls"}) as executor:
        futures = [executor.submit(square, number) for number in range(3)]
        total = executor.submit(lambda pairs: sum(value for value, _ in pairs), futures)
        failed = executor.submit(fail, "no luck")
        print("total", total.result(), "error", repr(failed.exception()))
        print("jobs", all(future.result()[1].isdecimal() for future in futures), futures[0].usage.wall_s > 0)
    shared = {"directory": "calls", "on": "slurm", "isolation": "shared"}
    for wrong in ({"on": "slurm"}, shared, {"directory": "calls", "on": "moon"}):
        try:
            headway.Executor(**wrong)
        except headway.HeadwayError as error:
            print("refused:", error)
"""


def test_calls_run_in_jobs(slurm_of_session: SlurmLab, tmp_path: Path) -> None:
    slurm_of_session.tidy()
    flow = SlurmFlow(slurm_of_session, tmp_path)
    (flow.directory / "calls").mkdir()
    (flow.directory / "program.py").write_text(PROGRAM)
    flow.await_end(flow.run([sys.executable, "program.py"]))
    said = flow.output()
    assert "total 5 error ValueError('no luck')" in said
    assert "jobs True True" in said
    assert "squaring 2" in said
    assert "refused: directory: calls in jobs of a cluster are exchanged through files" in said
    assert "refused: isolation: calls share processes on this machine only" in said
    assert "there is no cluster called 'moon'" in said
