"""Each lie does what tests/slurm/lies.py says, and the same seed gives the same lies."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.slurm.configuration import Configuration
from tests.slurm.lab import SlurmLab
from tests.slurm.lies import COMMANDS, LIES, Liar, lying
from tests.slurm.processes import is_alive, mentioning, wait_until

HELD = ("--hold", "--output=/dev/null")


def ask(liar: Liar, *argv: str, given: str = "", timeout_s: float = 120.0) -> subprocess.CompletedProcess[bytes]:
    """Run a command through the lying wrappers, without SLURM_* variables, as some clients do."""
    environment = {**os.environ, "PATH": liar.environment()["PATH"]}
    return subprocess.run(
        argv, env=environment, input=given.encode(), capture_output=True, timeout=timeout_s, check=False
    )


def names_in_queue(lab: SlurmLab) -> list[str]:
    return sorted(lab.run("squeue", "-h", "-o", "%j").stdout.split())


@pytest.mark.parametrize("lie", LIES)
def test_at_rate_zero_all_answers_are_true_and_every_call_is_recorded(slurm: SlurmLab, lie: str) -> None:
    liar = lying(slurm, lie, 0.0, 1)
    answer = ask(liar, "sbatch", "--parsable", *HELD, "-J", "honest", given="#!/bin/sh\ntrue\n")
    assert answer.returncode == 0
    job = answer.stdout.decode().strip()
    assert ask(liar, "squeue", "-h", "-o", "%i %j").stdout.decode() == f"{job} honest\n"
    assert ask(liar, "scontrol", "show", "job", job).stdout.decode().startswith(f"JobId={job} JobName=honest\n")
    assert ask(liar, "scancel", job).returncode == 0
    assert [(call.command, call.number, call.lie) for call in liar.calls()] == [
        ("sbatch", 1, None),
        ("squeue", 1, None),
        ("scontrol", 1, None),
        ("scancel", 1, None),
    ]
    assert liar.calls("scancel")[0].arguments == [job]


def test_a_hanging_command_does_not_act(slurm: SlurmLab) -> None:
    liar = lying(slurm, "hangs", 1.0, 1)
    with pytest.raises(subprocess.TimeoutExpired):
        ask(liar, "sbatch", *HELD, "--wrap=true", timeout_s=2)
    assert names_in_queue(slurm) == []


def test_a_command_that_hangs_after_acting_has_acted(slurm: SlurmLab) -> None:
    liar = lying(slurm, "hangs-after-acting", 1.0, 1)
    with pytest.raises(subprocess.TimeoutExpired):
        ask(liar, "sbatch", *HELD, "-J", "there", "--wrap=true", timeout_s=2)
    wait_until(lambda: names_in_queue(slurm) == ["there"], "the job that was submitted without an answer")


def test_a_failing_command_does_not_act(slurm: SlurmLab) -> None:
    liar = lying(slurm, "errors", 1.0, 1)
    answers = [ask(liar, *argv) for argv in (("sbatch", *HELD, "--wrap=true"), ("squeue",), ("sinfo",), ("sacct",))]
    assert all(answer.returncode == 1 and not answer.stdout for answer in answers)
    assert all(b"Unable to contact slurm controller" in answer.stderr for answer in answers)
    assert names_in_queue(slurm) == []


def test_a_command_that_prints_garbage_has_acted(slurm: SlurmLab) -> None:
    liar = lying(slurm, "garbage", 1.0, 1)
    answers = [ask(liar, "sbatch", "--parsable", *HELD, "-J", f"g{n}", "--wrap=true") for n in range(6)]
    assert all(answer.returncode == 0 and not answer.stdout.strip().isdigit() for answer in answers)
    assert len({answer.stdout for answer in answers}) >= 3
    assert names_in_queue(slurm) == [f"g{n}" for n in range(6)]


def test_a_submission_reported_as_failed_was_accepted(slurm: SlurmLab) -> None:
    liar = lying(slurm, "accepted-but-reported-failed", 1.0, 1)
    answer = ask(liar, "sbatch", *HELD, "-J", "there", "--wrap=true")
    assert (answer.returncode, answer.stdout, answer.stderr) == (1, b"", b"")
    assert names_in_queue(slurm) == ["there"]
    assert ask(liar, "sbatch", "--test-only", "--wrap=true").returncode == 0


@pytest.mark.parametrize("given_as", ["file", "stdin", "wrap"])
def test_a_late_submission_uses_the_script_at_the_time_of_the_call(
    slurm: SlurmLab, tmp_path: Path, given_as: str
) -> None:
    liar = lying(slurm, "accepted-late", 1.0, 1, late_s=1.0)
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/sh\necho late > {tmp_path}/done\n")
    how = {"file": [str(script)], "stdin": [], "wrap": [f"--wrap=echo late > {tmp_path}/done"]}[given_as]
    given = script.read_text() if given_as == "stdin" else ""
    answer = ask(liar, "sbatch", "--output=/dev/null", "-J", "late", *how, given=given)
    assert answer.returncode == 1
    assert b"Socket timed out" in answer.stderr
    script.unlink()
    [job] = liar.wait_for_late_jobs()
    assert slurm.wait_for_job(job) == "COMPLETED"
    assert (tmp_path / "done").read_text() == "late\n"


@pytest.mark.parametrize("argv", [("squeue", "-h", "-o", "%i|%j"), ("squeue", "--json"), ("scontrol", "show", "job")])
def test_forgotten_jobs_reappear_after_some_calls(slurm: SlurmLab, argv: tuple[str, ...]) -> None:
    jobs = {str(slurm.submit("true", *HELD)) for _ in range(4)}
    liar = lying(slurm, "forgotten-jobs", 0.4, 3, calls_in_a_row=2)
    seen: list[set[str]] = []

    def all_came_and_went() -> bool:
        seen.append(jobs & set(jobs_in(ask(liar, *argv).stdout.decode())))
        return set().union(*seen) == jobs and not any(all(job in shown for shown in seen) for job in jobs)

    wait_until(all_came_and_went, "each job to be forgotten once, and remembered once")
    assert all(
        one == two for one, two in zip(seen[0::2], seen[1::2], strict=False)
    )  # each job is shown or left out for two calls in a row
    assert all(call.lie or shown == jobs for call, shown in zip(liar.calls(), seen, strict=True))


def jobs_in(output: str) -> list[str]:
    """Return the job ids in any format of output, in order."""
    if output.startswith("{"):
        return [str(job["job_id"]) for job in json.loads(output)["jobs"]]
    if output.startswith("JobId="):
        return [word[6:] for word in output.split() if word.startswith("JobId=")]
    return [line.split("|")[0] for line in output.splitlines()]


def test_a_query_for_a_forgotten_job_reports_an_invalid_id(slurm: SlurmLab) -> None:
    job = str(slurm.submit("true", *HELD))
    answer = ask(lying(slurm, "forgotten-jobs", 1.0, 1), "squeue", "-h", "-j", job)
    assert answer.returncode == 1
    assert b"Invalid job id" in answer.stderr


@pytest.mark.parametrize("argv", [("squeue", "-h", "-t", "all", "-o", "%i|%T"), ("squeue", "-t", "all", "--json")])
@pytest.mark.parametrize("lie", ["duplicate-states", "out-of-order-states"])
def test_old_states_are_shown_again(slurm: SlurmLab, lie: str, argv: tuple[str, ...]) -> None:
    liar = lying(slurm, lie, 0.7, 5)
    job = slurm.submit("true", *HELD)
    assert states_of(job, ask(liar, *argv).stdout.decode()) <= {"PENDING"}
    slurm.run("scancel", str(job))
    wait_until(lambda: slurm.job_state(job) == "CANCELLED", "the job's end")
    heard: list[set[str]] = []

    def truth_and_lie() -> bool:
        heard.append(states_of(job, ask(liar, *argv).stdout.decode()))
        lied = {"CANCELLED", "PENDING"} if lie == "duplicate-states" else {"PENDING"}
        return {"CANCELLED"} in heard and lied in heard

    wait_until(truth_and_lie, "an old state to come again")


def states_of(job: int, output: str) -> set[str]:
    if output.startswith("{"):
        return {one["job_state"] for one in json.loads(output)["jobs"] if one["job_id"] == job}
    return {state for number, state in (line.split("|") for line in output.splitlines()) if number == str(job)}


def test_the_steps_of_a_forgotten_job_are_left_out_too(slurm_with_accounting: SlurmLab) -> None:
    lab = slurm_with_accounting
    job = lab.submit("srun true", "-J", "steps")
    lab.wait_for_job(job)
    argv = ("sacct", "-n", "-P", "-j", str(job), "-o", "JobID,State")
    wait_until(lambda: lab.run(*argv).stdout.count("COMPLETED") == 3, "sacct to know the job and its steps")
    liar = lying(lab, "forgotten-jobs", 0.5, 2, calls_in_a_row=1)
    heard: set[int] = set()

    def truth_and_lie() -> bool:
        heard.add(ask(liar, *argv).stdout.count(b"COMPLETED"))
        return len(heard) > 1

    wait_until(truth_and_lie, "the job to be forgotten once, and remembered once")
    assert heard == {0, 3}


@pytest.mark.parametrize("lie", ["forgotten-jobs", "duplicate-states", "out-of-order-states"])
def test_lies_about_jobs_do_not_change_scontrol_show_config_or_partition(slurm: SlurmLab, lie: str) -> None:
    liar = lying(slurm, lie, 1.0, 1)
    shown = [ask(liar, "scontrol", "show", "partition", "--oneliner").stdout.decode() for _ in range(2)]
    assert shown == [slurm.run("scontrol", "show", "partition", "--oneliner").stdout] * 2
    assert ask(liar, "scontrol", "show", "config").stdout.count(b"\n") > 100
    assert [call.lie for call in liar.calls()] == [None] * 3


def test_the_seed_decides_which_calls_are_lied_to(slurm: SlurmLab) -> None:
    def told(seed: int) -> list[int]:
        liar = lying(slurm, "errors", 0.5, seed)
        for _ in range(8):
            ask(liar, "sinfo")
        return [call.number for call in liar.calls("sinfo") if call.lie]

    first = told(1)
    assert first == told(1) != told(2)
    assert 0 < len(first) < 8


def test_all_wrappers_come_before_the_real_commands_in_path(slurm: SlurmLab) -> None:
    liar = lying(slurm, "errors", 0.0, 1)
    found = [shutil.which(one, path=liar.environment()["PATH"]) for one in COMMANDS]
    assert found == [f"{liar.folder}/bin/{one}" for one in COMMANDS]


def test_pending_late_submissions_end_with_the_lab() -> None:
    with SlurmLab(Configuration(nodes=1)) as lab:
        late = lying(lab, "accepted-late", 1.0, 1, late_s=600)
        assert ask(late, "sbatch", "--wrap=true").returncode == 1
        assert mentioning(late.folder)
    wait_until(lambda: not any(map(is_alive, mentioning(lab.root))), "the end of what was to be submitted late")
