"""`headway service --on slurm`: commands in jobs of a real Slurm, in a run that begins empty."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from headway.serving import client
from tests.slurm.flows import SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.processes import wait_until


def test_commands_run_in_jobs(slurm_of_session: SlurmLab, tmp_path: Path) -> None:
    """Under the default plan, which looks at the queue."""
    slurm_of_session.tidy()
    flow = SlurmFlow(slurm_of_session, tmp_path)
    service = flow.start("service", "-q", "--on", "slurm", "--nodes", "whole", "--grace", "1s")
    link = flow.directory / ".headway" / "service"
    wait_until(link.exists, "the service's socket")
    command = (sys.executable, "-ISE", client.__file__, "--category", "told", "--")
    flow.await_end(flow.run([*command, "sh", "-c", "echo job $SLURM_JOB_ID in $PWD; echo of $MINE"], MINE="mine"))
    (job,) = {node.tag for node in flow.nodes()}
    assert f"job {flow.job_number(job)} in {flow.directory}\nof mine\n" in flow.output()
    where = ("sh", "-c", "echo in $SLURM_JOB_PARTITION")
    flow.await_end(flow.run([*command[:-1], "--partition", "debug", "--", *where]))
    assert flow.output().endswith("in debug\n")
    flow.await_end(flow.run([*command[:-1], "--partition", "nowhere", "--", *where]), code=125)
    assert "it asks for partition nowhere: there is no partition nowhere; name one of debug, main" in flow.output()
    flow.await_end(flow.run([*command, *where]))
    assert flow.output().endswith("in main\n")
    asleep = flow.run([*command, "sh", "-c", "trap 'exit 7' INT; touch begun; while :; do sleep 0.05; done"])
    wait_until((flow.directory / "begun").exists, "the command's start")
    asleep.send_signal(signal.SIGINT)
    flow.await_end(asleep, code=7)
    flow.headway("service", "--stop")
    flow.await_end(service, code=1)  # of a run in which a command failed
    flow.check_queue()
