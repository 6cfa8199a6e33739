"""A site with rules of its own: accounts, QOS, limits, a job_submit.lua, preemption, and users who are not root."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from headway.journal.folder import Project
from headway.journal.sqlite import SqliteJournal
from headway.model.records import Finish, Launch, NodeLost, Submit
from tests.slurm.configuration import Configuration, Partition
from tests.slurm.conftest import require_slurm
from tests.slurm.lab import SlurmLab
from tests.slurm.ordinary import Command, Ended, OrdinaryUser, python_for_all
from tests.slurm.processes import kill_all, mentioning, wait_until

# Users of every Debian. The rule of this site is for one of them.
NEWS, MAIL = "news", "mail"
RULE = """
function slurm_job_submit(job, partitions, uid)
  if job.comment == "gossip" then
    slurm.log_user("Rule 7: no gossip in comments.")
    slurm.log_user("Ask help@site.example, who can connect you.")
    return slurm.ERROR
  end
  if job.account == nil and uid == 9 then
    slurm.log_user("Every job needs an account: see https://site.example/accounts")
    return slurm.ERROR
  end
  return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid)
  return slurm.SUCCESS
end
return slurm.SUCCESS
"""
SITE = Configuration(
    nodes=8,
    cpus=2,
    memory_mb=2000,
    fat_nodes=1,
    accounting=True,
    enforce="associations,limits,qos",
    job_submit=RULE,
    more=("PreemptType=preempt/partition_prio", "PreemptMode=CANCEL"),
    partitions=(
        Partition("standard", 5, 60),
        Partition("fat", None, 60, first=8),
        Partition("low", 7, 60, first=6),
        Partition("high", 7, 60, first=6, priority_tier=50),
        Partition("closed", 5, 60, more="AllowAccounts=physics"),
        Partition("vip", 5, 60, more="AllowQos=vip"),
    ),
)
RIGHTS = (
    "add account physics biology empty cluster=lab",
    "add qos few vip",
    "modify qos few set MaxSubmitJobsPerUser=4 MaxTRESPerUser=cpu=4",
    f"add user {NEWS} account=physics defaultaccount=physics",
    f"add user {NEWS} account=empty",
    f"modify user {NEWS} where account=empty set MaxSubmitJobs=0",
    f"add user {MAIL} account=biology defaultaccount=biology",
    f"modify user {MAIL} set qos+=few defaultqos=few",
    "modify account biology set GrpTRES=node=3",
)
QUICK = """
name: quick
tasks:
  make:
    run: echo made > made
    outputs: [made]
    resources: {time: 5m}
"""
# Its first attempt lasts until it is stopped.
SLOW_ONCE = """
name: slow-once
tasks:
  make:
    run: |
      if mkdir "$HOME/NAME-began"; then sleep 100; fi
      echo made > made
    outputs: [made]
    resources: {time: 5m}
"""
PATIENCE_S = 200.0
LOW = ("n6", "n7")


class Scene(NamedTuple):
    """What the commands of two users said, and the directories of their runs."""

    ended: dict[str, Ended]
    folders: dict[str, Path]
    charged: set[str]  # account and QOS of all jobs of MAIL

    def records(self, name: str) -> list[object]:
        return _records(self.folders[name])


class Stage:
    """Runs commands at the same time, each in a directory that is called like its test."""

    def __init__(self) -> None:
        self.commands: dict[str, Command] = {}
        self.folders: dict[str, Path] = {}

    def run(
        self, user: OrdinaryUser, name: str, *words: str, workflow: str = QUICK, toml: str = "", **more: str
    ) -> Command:
        """Start a run on Slurm; `more` are environment variables."""
        self.folders[name] = user.directory(name, {"workflow.yaml": workflow, "headway.toml": toml})
        self.commands[name] = user.headway(self.folders[name], "run", "--on", "slurm", *words, **more)
        return self.commands[name]

    def wait(self, name: str, until: Callable[[], bool]) -> None:
        """Wait for something that a run does before it ends."""
        command = self.commands[name]

        def there() -> bool:
            assert command.process.poll() is None, command.output()
            return until()

        try:
            wait_until(there, f"what {name} waits for", patience_s=PATIENCE_S)
        except TimeoutError as error:
            raise AssertionError(command.output()) from error

    def ask_doctor(self, user: OrdinaryUser, name: str, *words: str) -> None:
        self.folders[name] = user.directory(name, {})
        self.commands[name] = user.headway(self.folders[name], "doctor", "--on", "slurm", *words)


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    require_slurm(with_accounting=True)
    if os.geteuid() != 0:
        pytest.skip("only root can act as other users")
    directory = Path(tempfile.mkdtemp(prefix="headway-sites-"))
    directory.chmod(0o755)
    try:
        with SlurmLab(SITE) as lab:
            for line in RIGHTS:
                lab.run("sacctmgr", "-i", *line.split())
            python = python_for_all(directory / "python")
            news, mail = (OrdinaryUser(name, lab, directory, python) for name in (NEWS, MAIL))
            yield _played(lab, news, mail)
    finally:
        kill_all(mentioning(directory))
        shutil.rmtree(directory)


def _played(lab: SlurmLab, news: OrdinaryUser, mail: OrdinaryUser) -> Scene:
    stage = Stage()
    in_low = ("--partition", "low", "--plan", "one-job", "--account", "physics")
    stage.run(
        news, "preempted", *in_low, f"--sbatch=--nodelist={LOW[0]}", workflow=SLOW_ONCE.replace("NAME", "preempted")
    )
    stage.run(news, "cut", *in_low, f"--sbatch=--nodelist={LOW[1]}", workflow=SLOW_ONCE.replace("NAME", "cut"))
    busy = mail.submit("--ntasks=4")
    held = [mail.submit("--hold") for _ in range(3)]
    limited = stage.run(mail, "limited")
    for name in ("preempted", "cut"):
        stage.wait(name, lambda name=name: _has(stage.folders[name], Launch))
    _preempt_and_cut(lab)
    stage.run(news, "refused")
    stage.run(news, "detached", "--detach")
    stage.run(news, "gossip", "--account", "physics", "--sbatch=--comment=gossip")
    stage.run(news, "wrong account", toml='account = "phsics"')
    stage.run(news, "wrong qos", "--account", "physics", HEADWAY_QOS="vip")
    stage.run(news, "nothing allowed", SBATCH_ACCOUNT="empty")
    stage.run(news, "variables", SBATCH_ACCOUNT="physics", SBATCH_TIMELIMIT="1")
    stage.wait("limited", lambda: "may have 4" in limited.output())
    mail.run("scancel", *held)
    stage.run(mail, "never", "--partition", "closed")
    stage.ask_doctor(news, "doctor", "--json")
    stage.ask_doctor(news, "doctor of nothing", "--account", "empty")
    stage.ask_doctor(news, "doctor elsewhere", "--account", "physics", "--clusters", "lab")
    stage.wait("limited", lambda: "no more cores" in limited.output())
    mail.run("scancel", busy)
    ended = {name: command.end() for name, command in stage.commands.items()}
    rows = lab.run("sacct", "-X", "-n", "-P", f"--user={MAIL}", "--format=Account,QOS").stdout.split()
    return Scene(ended, stage.folders, set(rows))


def _preempt_and_cut(lab: SlurmLab) -> None:
    """Let another job take the nodes of one run, and cut the time of the job of the other."""
    cut = lab.run("squeue", "-h", f"--nodelist={LOW[1]}", "-o", "%A").stdout.split()
    soon = time.strftime("%FT%T", time.localtime(time.time() + 2))
    lab.run("scontrol", "update", f"jobid={cut[0]}", f"endtime={soon}")
    lab.submit("sleep 2", "--partition=high", "--exclusive", f"--nodelist={LOW[0]}")


def _records(folder: Path) -> list[object]:
    runs = Project(folder).runs()
    if not runs or not runs[-1].journal.exists():
        return []
    return list(SqliteJournal(runs[-1].journal, read_only=True).replay())


def _has(folder: Path, kind: type) -> bool:
    return any(isinstance(record, kind) for record in _records(folder))


def _has_succeeded(scene: Scene, name: str) -> bool:
    last = scene.records(name)[-1]
    return isinstance(last, Finish) and last.status == "succeeded"


@pytest.mark.parametrize("name", ["refused", "detached"])
def test_a_rule_of_the_site_ends_a_run_with_the_sites_own_sentence(scene: Scene, name: str) -> None:
    code, output = scene.ended[name]
    assert code == 3
    assert "Every job needs an account: see https://site.example/accounts" in output
    assert "Traceback" not in output


def test_all_sentences_of_a_refusal_are_kept(scene: Scene) -> None:
    """One of them contains a word that would mean trouble on the way to the controller."""
    code, output = scene.ended["gossip"]
    assert code == 3
    assert "Rule 7: no gossip in comments; Ask help@site.example, who can connect you" in output


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wrong account", "you have no account phsics on this cluster; your accounts here are"),
        ("wrong qos", "account physics may not use QOS vip; it may use normal"),
        ("nothing allowed", "you may have no jobs in the queue here (MaxSubmit of account empty); use another account"),
    ],
)
def test_what_the_database_forbids_is_said_before_anything_is_submitted(scene: Scene, name: str, said: str) -> None:
    code, output = scene.ended[name]
    assert code == 3
    assert said in output
    assert not any(isinstance(record, Submit) for record in scene.records(name))


def test_a_job_that_slurm_accepts_and_never_starts_ends_the_run(scene: Scene) -> None:
    code, output = scene.ended["never"]
    assert code == 3
    assert "closed allows physics not biology" in output


def test_variables_of_sbatch_count_and_those_without_effect_are_named(scene: Scene) -> None:
    assert _has_succeeded(scene, "variables")
    assert "SBATCH_TIMELIMIT: no effect" in scene.ended["variables"].output


def test_limits_of_the_default_account_and_qos_are_said_when_they_bind(scene: Scene) -> None:
    """MAIL names neither. While four jobs are in the queue there is no fifth; then one waits for cores."""
    assert _has_succeeded(scene, "limited")
    output = scene.ended["limited"].output
    assert "you have 4 jobs in the queue and may have 4 (MaxSubmit of QOS few)" in output
    assert "your QOS allows your jobs no more cores (QOSMaxCpuPerUserLimit)" in output
    assert scene.charged == {"biology|few"}
    asked = [record.request.per_node.nodes for record in scene.records("limited") if isinstance(record, Submit)]
    assert max(asked) <= 2  # MaxTRESPerUser=cpu=4


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("preempted", "a job of higher priority took its nodes"),
        ("cut", "its time was up: it had been cut to 1m 00s while it ran"),
    ],
)
def test_slurm_says_why_a_job_ended(scene: Scene, name: str, cause: str) -> None:
    """Neither is the task's fault."""
    assert _has_succeeded(scene, name), scene.ended[name].output
    lost = [record for record in scene.records(name) if isinstance(record, NodeLost)]
    assert [(record.message, record.excused, record.expired) for record in lost] == [(cause, True, False)]
    assert "supervisor is gone" not in scene.ended[name].output


def test_doctor_names_account_qos_and_limits(scene: Scene) -> None:
    code, output = scene.ended["doctor"]
    found = {check["about"]: check for check in json.loads(output)["checks"]}
    assert code == 0
    assert "charged to account physics, QOS normal" in found["your jobs"]["found"]
    assert found["partitions"]["found"].startswith("standard, closed, ")
    assert "Every job needs an account" in found["probing"]["found"]


def test_doctor_says_that_an_account_allows_nothing(scene: Scene) -> None:
    code, output = scene.ended["doctor of nothing"]
    assert code == 3
    assert "you may have no jobs in the queue here (MaxSubmit of account empty)" in output


def test_doctor_asks_the_named_cluster(scene: Scene) -> None:
    code, output = scene.ended["doctor elsewhere"]
    assert code == 0
    assert "cluster lab" in output
    assert "one node for a minute" in output
