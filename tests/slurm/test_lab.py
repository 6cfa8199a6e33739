"""The tests' own Slurm: it works like any Slurm, is private, and leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.slurm.configuration import Configuration, Partition, cgroup_obstacle
from tests.slurm.conftest import require_slurm
from tests.slurm.lab import SlurmLab
from tests.slurm.processes import configured_by, is_alive, mentioning, of_jobs, start_daemon, wait_until


def processes_that_mention(text: str) -> list[str]:
    """Return the command lines of live processes that contain `text`."""
    listed = subprocess.run(["ps", "-eo", "stat=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if text in line and not line.startswith("Z")]


def test_a_job_runs_on_the_requested_node_and_writes_its_output_file(slurm: SlurmLab, tmp_path: Path) -> None:
    job = slurm.submit("echo $SLURMD_NODENAME $SLURM_CPUS_ON_NODE", "-w", "n4", "-c", "3", f"--output={tmp_path}/out")
    assert slurm.wait_for_job(job) == "COMPLETED"
    assert (tmp_path / "out").read_text() == "n4 3\n"


def test_a_job_that_needs_several_nodes_runs_on_all_of_them(slurm: SlurmLab, tmp_path: Path) -> None:
    job = slurm.submit(f"srun sh -c 'echo $SLURMD_NODENAME > {tmp_path}/$SLURMD_NODENAME'", "-N3", "-n3")
    assert slurm.wait_for_job(job) == "COMPLETED"
    assert len(list(tmp_path.iterdir())) == 3


def test_jobs_find_their_slurm_even_when_nothing_is_exported(slurm: SlurmLab, tmp_path: Path) -> None:
    job = slurm.submit(f"squeue -h -o %A > {tmp_path}/seen", "--export=NONE")
    assert slurm.wait_for_job(job) == "COMPLETED"
    assert str(job) in (tmp_path / "seen").read_text().split()


def test_partitions_have_the_limits_that_were_asked_for() -> None:
    partitions = (Partition("short", nodes=2, max_time_min=5), Partition("wide", max_nodes=3, priority_tier=4))
    with SlurmLab(Configuration(nodes=4, cpus=2, memory_mb=3000, partitions=partitions)) as lab:
        assert lab.run("sinfo", "-h", "-o", "%P %D %l %s %c %m").stdout.splitlines() == [
            "short* 2 5:00 1-infinite 2 3000",
            "wide 4 infinite 1-3 2 3000",
        ]
        job = lab.submit("true", "-p", "short", "-t", "6")
        assert lab.job_state(job) == "PENDING"
        reason = lab.run("squeue", "-h", "-j", str(job), "-o", "%r").stdout.strip()
        assert reason in {"PartitionTimeLimit", "PartitionConfig"}


def test_a_killed_node_ends_its_job_and_can_be_revived(slurm: SlurmLab) -> None:
    script = "env -i /bin/sleep 1000 & setsid sleep 1000 & srun sleep 1000"
    job = slurm.submit(script, "-w", "n3", "--no-requeue")
    slurm.wait_for_job(job, "RUNNING")
    wait_until(lambda: len(of_jobs(slurm.root, "n3")) >= 7, "all processes of the job to start")
    other = slurm.submit("sleep 1000", "-w", "n5")
    slurm.wait_for_job(other, "RUNNING")
    slurm.kill_node("n3")
    assert of_jobs(slurm.root, "n3") == set()
    assert slurm.wait_for_job(job) == "NODE_FAIL"
    assert slurm.node_state("n3") == "down"
    assert slurm.job_state(other) == "RUNNING"
    slurm.revive_node("n3")
    assert slurm.node_state("n3") == "idle"


def test_jobs_survive_a_restart_of_the_controller(slurm: SlurmLab) -> None:
    job = slurm.submit("sleep 1000")
    slurm.wait_for_job(job, "RUNNING")
    slurm.stop_controller()
    assert "DOWN" in slurm.run("scontrol", "ping", check=False).stdout
    slurm.start_controller()
    assert slurm.job_state(job) == "RUNNING"
    slurm.kill_controller()
    slurm.start_controller()
    assert slurm.job_state(job) == "RUNNING"


def test_tidy_removes_what_an_earlier_test_left(slurm: SlurmLab) -> None:
    slurm.submit("sleep 1000", "-N", "4")
    slurm.kill_node("n2")
    slurm.kill_controller()
    slurm.tidy()
    assert slurm.run("squeue", "-h").stdout == ""
    assert {slurm.node_state(node) for node in slurm.nodes} == {"idle"}


def test_two_labs_side_by_side_are_independent() -> None:
    with SlurmLab(Configuration(nodes=2)) as one, SlurmLab(Configuration(nodes=3)) as other:
        first, second = one.submit("sleep 1000", "-J", "first"), other.submit("sleep 1000", "-J", "second")
        one.wait_for_job(first, "RUNNING")
        other.wait_for_job(second, "RUNNING")
        assert one.run("squeue", "-h", "-o", "%j").stdout == "first\n"
        assert other.run("squeue", "-h", "-o", "%j").stdout == "second\n"
        one.kill_node("n1")
        assert of_jobs(one.root) == set()
        assert of_jobs(other.root, "n1")


def test_stopping_a_lab_leaves_no_processes_or_files() -> None:
    with SlurmLab(Configuration(nodes=2)) as lab:
        job = lab.submit("setsid sleep 1000 & sleep 1000", "-N2")
        lab.wait_for_job(job, "RUNNING")
        wait_until(lambda: len(of_jobs(lab.root)) >= 4, "the job's processes")
        jobs = of_jobs(lab.root)
        assert processes_that_mention(str(lab.root))
    assert processes_that_mention(str(lab.root)) == []
    assert of_jobs(lab.root) == set()
    assert not any(map(is_alive, jobs))
    assert not lab.root.exists()


def test_killing_the_test_process_leaves_no_processes_or_files() -> None:
    program = """
import os
from tests.slurm.configuration import Configuration
from tests.slurm.lab import SlurmLab
with SlurmLab(Configuration(nodes=2)) as lab:
    lab.wait_for_job(lab.submit("sleep 1000", "-N2"), "RUNNING")
    print(lab.root, flush=True)
    os.kill(os.getpid(), 9)
"""
    here = Path(__file__).parents[2]
    died = subprocess.run([sys.executable, "-c", program], cwd=here, stdout=subprocess.PIPE, timeout=300, check=False)
    assert died.returncode == -9
    root = Path(died.stdout.decode().strip())
    assert root.name.startswith("slurm-lab-")
    wait_until(lambda: not root.exists(), "the guard to clear up")
    assert not any(map(is_alive, configured_by(root) | mentioning(root) | of_jobs(root)))


def test_with_accounting_ended_jobs_are_remembered(slurm_with_accounting: SlurmLab) -> None:
    job = slurm_with_accounting.submit("exit 3", "-J", "known by name")
    slurm_with_accounting.wait_for_job(job)
    question = ("sacct", "-n", "-P", "-X", "--name", "known by name", "-o", "JobID,State,ExitCode")
    wait_until(lambda: f"{job}|FAILED|3:0" in slurm_with_accounting.run(*question).stdout, "sacct to know the job")


def test_limits_on_a_users_jobs_hold(slurm_with_accounting: SlurmLab) -> None:
    lab = slurm_with_accounting
    lab.limit_user(running=1, submitted=2)
    first, second = lab.submit("sleep 1000"), lab.submit("sleep 1000")
    with pytest.raises(RuntimeError, match="MaxSubmitJob"):
        lab.submit("sleep 1000")
    lab.wait_for_job(first, "RUNNING")
    question = ("squeue", "-h", "-j", str(second), "-o", "%r")
    wait_until(lambda: lab.run(*question).stdout.strip() == "AssocMaxJobsLimit", "the second job to wait")


def test_limits_without_accounting_are_refused() -> None:
    with pytest.raises(ValueError, match="accounting=True"):
        Configuration(max_submitted_per_user=2)


HUNGRY = "python3 -c 'import time; held = bytearray(300 << 20); time.sleep(100)'"


def test_over_memory_kill_ends_a_job_that_uses_too_much_memory(slurm: SlurmLab) -> None:
    job = slurm.submit(HUNGRY, "--mem=100")
    assert slurm.wait_for_job(job) == "FAILED"


def test_cgroups_end_a_job_that_uses_too_much_memory(slurm_with_cgroups: SlurmLab) -> None:
    job = slurm_with_cgroups.submit(HUNGRY, "--mem=100")
    assert slurm_with_cgroups.wait_for_job(job) == "OUT_OF_MEMORY"


def test_without_enforcement_a_job_may_exceed_its_memory() -> None:
    with SlurmLab(Configuration(nodes=1, enforcement="none")) as lab:
        job = lab.submit(HUNGRY.replace("100)", "3)"), "--mem=100")
        assert lab.wait_for_job(job) == "COMPLETED"


def test_a_lab_with_cgroups_needs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert cgroup_obstacle() == "limiting jobs by cgroups needs root"
    with pytest.raises(RuntimeError, match="needs root"):
        SlurmLab(Configuration(enforcement="cgroup"))


@pytest.mark.parametrize(("user", "end"), [(0, pytest.fail.Exception), (1000, pytest.skip.Exception)])
def test_missing_packages_fail_a_test_as_root_and_skip_it_otherwise(
    monkeypatch: pytest.MonkeyPatch, user: int, end: type[BaseException]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda command, path: None if command == "slurmd" else command)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    with pytest.raises(end, match=r"need the commands slurmd: run tests/packages\.sh as root"):
        require_slurm()


def test_a_daemon_outlives_a_connection_that_is_closed_early(tmp_path: Path) -> None:
    daemon = start_daemon(["/bin/sh", "-c", "kill -PIPE $$; echo alive"], tmp_path / "log")
    assert daemon.wait(timeout=60) == 0
    assert (tmp_path / "log").read_text() == "alive\n"
