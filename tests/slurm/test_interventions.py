"""What administrators, users and other jobs do to the jobs of a run: nothing is lost, nothing is done twice.

Each of it is one line in the log, and no attempt counts against its task.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headway.api.why import Explanation, why
from headway.clusters.slurm.job_folder import JobFolder
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.preemption import rate_of
from headway.model.job import JobRequest
from headway.model.outcome import Ending
from headway.model.records import JobSeen, NodeLost
from headway.model.resources import Resources
from tests.slurm.configuration import Configuration, Partition
from tests.slurm.conftest import require_slurm
from tests.slurm.flows import SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.processes import wait_until
from tests.slurm.test_cluster import cluster, follow, is_over, is_running, reach

# Its task fails if an attempt counts against it, and lasts until the test lets it end.
PATIENT = """
name: patient
tasks:
  make:
    run: |
      echo "make" >> "$EXECUTIONS"
      until [ -e "$EXECUTIONS.go" ]; do sleep 0.1; done
      echo made > made
    outputs: [made]
    resources: {cores: 1, memory: 20 MB, time: 5m}
"""
# Its second task runs in a partition of one node, which is drained while the first one runs.
WISHING = (
    PATIENT
    + """
  use:
    run: echo "use" >> "$EXECUTIONS"; cp made used
    inputs: [made]
    outputs: [used]
    partition: rebooted
"""
)
SITE = Configuration(
    nodes=8,
    cpus=2,
    memory_mb=2000,
    more=("PreemptType=preempt/partition_prio", "PreemptMode=SUSPEND,GANG", "SchedulerTimeSlice=5"),
    partitions=(
        Partition("main", 4, 60, more="PreemptMode=OFF"),
        Partition("requeued", 5, 60, first=5, more="PreemptMode=REQUEUE"),
        Partition("suspended", 6, 60, first=6, more="PreemptMode=SUSPEND OverSubscribe=FORCE:1"),
        Partition("cancelled", 7, 60, first=7, more="PreemptMode=CANCEL"),
        Partition("rebooted", 8, 60, first=8),
        Partition("urgent", 7, 60, first=5, priority_tier=50, more="OverSubscribe=FORCE:1 RootOnly=YES"),
    ),
)


class Scene:
    """Runs at the same time, each on a node of its own, and what is done to their jobs."""

    def __init__(self, lab: SlurmLab, parent: Path) -> None:
        self.lab = lab
        self.flows: dict[str, SlurmFlow] = {}
        self.runs: dict[str, subprocess.Popen[bytes]] = {}
        self.status = ""  # of the run `held`, while its job is suspended
        self.why = ""  # its task, while its job is held
        self._parent = parent

    def run(self, name: str, node: str, *words: str) -> None:
        (self._parent / name).mkdir()
        flow = SlurmFlow(self.lab, self._parent / name, PATIENT, {"HEADWAY_ASK_EVERY": "1s", "COLUMNS": "400"})
        where = (f"--sbatch=--nodelist={node}", "--nodes", "shared")
        self.flows[name], self.runs[name] = flow, flow.begin(*where, *words)

    def job(self, name: str) -> str:
        """The id of the newest job of a run."""
        return str(max(self.flows[name].jobs()))

    def wait(self, name: str, what: str, until: Callable[[SlurmFlow], bool]) -> None:
        flow, run = self.flows[name], self.runs[name]

        def there() -> bool:
            assert run.poll() is None, flow.output()
            return until(flow)

        try:
            wait_until(there, f"{name}: {what}")
        except TimeoutError as error:
            raise AssertionError(flow.output()) from error

    def wait_for_line(self, name: str, pattern: str) -> None:
        self.wait(name, pattern, lambda flow: re.search(pattern, flow.output()) is not None)

    def wait_for_attempt(self, name: str, number: int) -> None:
        self.wait(name, f"attempt {number}", lambda flow: flow.executed()["make"] == number)

    def end(self) -> None:
        """Let all tasks end, and wait for the runs."""
        for name in self.runs:
            (self._parent / name / "executions.go").touch()
        for name, run in self.runs.items():
            self.flows[name].await_end(run, 130 if name == "cancelled" else 0)


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    require_slurm()
    with SlurmLab(SITE) as lab:
        yield lab


@pytest.fixture(scope="module")
def scene(lab: SlurmLab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    scene = Scene(lab, tmp_path_factory.mktemp("interventions"))
    try:
        play(scene)
        yield scene
    finally:
        for run in scene.runs.values():
            run.kill()


def play(scene: Scene) -> None:
    slurm = scene.lab.run
    blocker = scene.lab.submit("sleep 600", "--nodelist=n1", "--exclusive")
    scene.lab.wait_for_job(blocker, "RUNNING")
    scene.run("rebooted", "n4")
    scene.run("reboot", "n8", "--partition", "rebooted")
    scene.run("held", "n1")
    scene.run("requeued", "n2", "--requeue")
    scene.run("cancelled", "n3")
    for mode, node in (("REQUEUE", "n5"), ("SUSPEND", "n6"), ("CANCEL", "n7")):
        partition = {"REQUEUE": "requeued", "SUSPEND": "suspended", "CANCEL": "cancelled"}[mode]
        scene.run(mode, node, "--partition", partition, "--requeue" if mode == "REQUEUE" else "--no-requeue")
    scene.wait_for_attempt("rebooted", 1)
    scene.lab.kill_node("n4")
    scene.wait("held", "a job", lambda flow: any(isinstance(it, JobSeen) and it.message for it in flow.records()))
    slurm("scontrol", "hold", scene.job("held"))
    for name in ("requeued", "cancelled", "REQUEUE", "SUSPEND", "CANCEL"):
        scene.wait_for_attempt(name, 1)
    slurm("scontrol", "requeue", scene.job("requeued"))
    slurm("scancel", scene.job("cancelled"))
    scene.wait_for_attempt("reboot", 1)
    slurm("scontrol", "reboot", "ASAP", "nextstate=RESUME", "reason=test", "n8")
    high = ("--partition=urgent", "--exclusive")
    urgent = [scene.lab.submit("sleep 600", *high, f"--nodelist={node}") for node in ("n5", "n6", "n7")]
    scene.wait_for_line("held", "HELD job")
    slurm("scontrol", "uhold", scene.job("held"))
    scene.wait_for_line("held", "held by its user")
    scene.flows["held"].headway("why", "make")
    scene.why = " ".join(scene.flows["held"].output().split())
    slurm("scontrol", "release", scene.job("held"))
    slurm("scancel", str(blocker))
    scene.wait_for_attempt("cancelled", 2)
    slurm("scancel", scene.job("cancelled"))
    scene.wait_for_attempt("held", 1)
    slurm("scontrol", "update", f"jobid={scene.job('held')}", "timelimit=30")
    scene.wait_for_line("held", "it may run for 30m")
    slurm("scontrol", "suspend", scene.job("held"))
    scene.wait_for_line("held", "suspended job")
    scene.flows["held"].headway("status")
    scene.status = scene.flows["held"].output()
    scene.wait_for_line("SUSPEND", "suspended job")
    slurm("scancel", *map(str, urgent))
    slurm("scontrol", "resume", scene.job("held"))
    for name in ("held", "SUSPEND"):
        scene.wait_for_line(name, "resumed job")
    slurm("scontrol", "update", "nodename=n1", "state=drain", "reason=test")
    scene.wait_for_line("held", "drained n1")
    scene.wait_for_attempt("cancelled", 3)
    slurm("scancel", scene.job("cancelled"))
    for name in ("requeued", "REQUEUE", "CANCEL"):
        scene.wait_for_attempt(name, 2)
    scene.wait_for_line("reboot", "drained n8")
    scene.wait_for_line("rebooted", "lost node")
    scene.lab.revive_node("n4")
    scene.end()


def lines(flow: SlurmFlow, kinds: str) -> list[str]:
    """The lines of a log of some kinds, without the time, ids and what the job asked for."""
    found = [line.split("  ", 1)[1] for line in flow.output().splitlines() if re.match(rf"[\d:]+  ({kinds}) ", line)]
    return [re.sub(r"job \d+ \([^)]*\)", "job", line) for line in found]


SAID = "lost|HELD|suspended|resumed|changed|drained|stopping"
AGAIN = "; 1 task will run again"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rebooted", [f"lost node n4#1: a node failed or was restarted{AGAIN}"]),
        ("requeued", ["lost node n2#1: Slurm took its nodes away and put the job back into the queue"]),
        ("REQUEUE", ["lost node n5#1: Slurm took its nodes away and put the job back into the queue"]),
        ("CANCEL", ["lost node n7#1: a job of higher priority took its nodes"]),
    ],
)
def test_a_job_that_is_taken_away_is_replaced(scene: Scene, name: str, said: list[str]) -> None:
    flow = scene.flows[name]
    flow.check(1)
    assert flow.executed() == {"make": 2}
    assert lines(flow, SAID) == said
    lost = [record for record in flow.records() if isinstance(record, NodeLost)]
    assert [record.excused for record in lost] == [name != "rebooted"]
    assert len(flow.submitted()) == 2


def test_a_job_that_is_held_given_more_time_suspended_and_drained_goes_on(scene: Scene) -> None:
    flow = scene.flows["held"]
    flow.check(1)
    assert flow.executed() == {"make": 1}
    assert len(flow.submitted()) == 1
    assert lines(flow, SAID) == [
        "HELD job: it is held by an administrator; ask them why (JobHeldAdmin)",
        "HELD job: it is held by its user; `scontrol release` lets it go on (JobHeldUser)",
        "changed job: it may run for 30m 00s now",
        "suspended job: its tasks stand still until it is resumed, and no others start there",
        "resumed job: its tasks go on; the time in between does not count",
        "drained n1: tasks go on there until this job ends, and Slurm starts no other job there",
    ]
    assert "suspended, runs" in scene.status
    assert "to start, which is HELD: it is held by its user; `scontrol release` lets it go" in scene.why


def test_a_node_that_is_to_be_rebooted_first_ends_its_job(scene: Scene) -> None:
    flow = scene.flows["reboot"]
    flow.check(1)
    assert flow.executed() == {"make": 1}
    assert lines(flow, SAID) == [
        "drained n8: tasks go on there until this job ends, and Slurm starts no other job there"
    ]
    scene.lab.start_rebooted("n8")


def test_a_job_that_is_preempted_by_being_suspended_goes_on(scene: Scene) -> None:
    flow = scene.flows["SUSPEND"]
    flow.check(1)
    assert flow.executed() == {"make": 1}
    assert len(flow.submitted()) == 1
    assert lines(flow, SAID) == [
        "suspended job: its tasks stand still until it is resumed, and no others start there",
        "resumed job: its tasks go on; the time in between does not count",
    ]


def test_a_run_whose_jobs_are_cancelled_again_and_again_stops(scene: Scene) -> None:
    """The first two are replaced."""
    flow = scene.flows["cancelled"]
    assert lines(flow, SAID) == [
        *(f"lost node n3#{number}: it was cancelled by an unknown user, not by Headway" for number in (1, 2, 3)),
        "stopping gently: 3 of its jobs in a row were cancelled by hand; `headway resume` goes on",
    ]
    assert flow.executed() == {"make": 3}
    assert len(flow.submitted()) == 3
    flow.check_queue()
    flow.await_end(flow.start("resume"))
    flow.check(1)


def test_a_job_that_slurm_starts_again_while_there_is_no_manager_does_nothing(lab: SlurmLab, tmp_path: Path) -> None:
    lab.tidy()
    flow = SlurmFlow(lab, tmp_path, PATIENT)
    manager = flow.begin("--requeue", "--sbatch=--nodelist=n1")
    wait_until(lambda: flow.executed()["make"] == 1, "the task to begin")
    manager.kill()
    manager.wait()
    job = max(flow.jobs())
    lab.run("scontrol", "requeue", str(job))
    lab.wait_for_job(job, "PENDING")
    # A job that starts in the second in which it was taken off its node is refused there and has failed.
    lab.run("scontrol", "update", f"jobid={job}", "starttime=now+2")
    assert lab.wait_for_job(job) == "COMPLETED"
    assert flow.executed() == {"make": 1}
    (tmp_path / "executions.go").touch()
    flow.await_end(flow.start("resume"))
    flow.check(1)
    assert flow.executed() == {"make": 2}
    assert lines(flow, SAID) == ["lost node n1#1: Slurm took its nodes away and put the job back into the queue"]


def test_tasks_whose_nodes_are_all_drained_wait_until_there_are_some(lab: SlurmLab, tmp_path: Path) -> None:
    lab.tidy()
    flow = SlurmFlow(lab, tmp_path, WISHING, {"HEADWAY_ASK_EVERY": "1s", "COLUMNS": "400"})
    run = flow.begin("--nodes", "shared")
    wait_until(lambda: flow.executed()["make"] == 1, "the first task")
    lab.run("scontrol", "update", "nodename=n8", "state=drain", "reason=test")
    time.sleep(2)  # a plan may use what was read one second earlier: HEADWAY_ASK_EVERY
    (tmp_path / "executions.go").touch()
    said = "tasks that ask for partition rebooted: no node of rebooted works now; the run goes on when that changes"
    wait_until(lambda: f"  waits {said}" in flow.output(), "the line")
    flow.headway("status")
    assert f"waiting for nodes\n  {said}\n" in flow.output()
    explained = why("use", directory=flow.directory)
    assert isinstance(explained, Explanation)
    assert explained.document()["without_nodes"] == "no node of rebooted works now"
    lab.run("scontrol", "update", "nodename=n8", "state=resume")
    flow.await_end(run)
    flow.check(2)
    assert lines(flow, "resumed") == ["resumed tasks that ask for partition rebooted: jobs are planned again"]


# --- preemptible partitions on purpose ---

SHORT = JobRequest(Resources(cores=1, memory_bytes=10**8, walltime_s=300.0), places=1, at_stake_s=60.0)
LONG = JobRequest(Resources(cores=1, memory_bytes=10**8, walltime_s=3600.0), places=1, at_stake_s=3500.0)


@pytest.fixture
def busy(lab: SlurmLab, monkeypatch: pytest.MonkeyPatch) -> SlurmLab:
    """The site, with jobs on all nodes that nobody preempts for the next five minutes."""
    lab.tidy()
    for where in (("--partition=main", "-N4"), ("--partition=rebooted", "-N1")):
        lab.wait_for_job(lab.submit("sleep 600", "--exclusive", "--time=5", *where), "RUNNING")
    return reach(lab, monkeypatch)


@pytest.mark.parametrize(
    ("allowed", "request_", "goes_to"),
    [(None, SHORT, "main"), ("cancelled", SHORT, "cancelled"), ("cancelled", LONG, "main")],
    ids=["not allowed", "cheap", "dear"],
)
def test_a_preemptible_partition_is_used_where_it_is_allowed_and_little_would_be_lost(
    busy: SlurmLab, tmp_path: Path, allowed: str | None, request_: JobRequest, goes_to: str
) -> None:
    slurm = cluster(tmp_path, options=SlurmOptions(interval_s=0.2, preemptible=allowed))
    slurm.submit(request_, "run1-a")
    asked = JobFolder(tmp_path / "jobs", "run1-a").asked()
    assert asked is not None
    assert asked.partition == goes_to
    slurm.cancel(["run1-a"])


@pytest.mark.parametrize(("first_s", "goes_to"), [(60, "main"), (3600, "cancelled")], ids=["soon", "late"])
def test_a_job_does_not_go_where_another_one_of_the_same_user_would_preempt_it(
    busy: SlurmLab, tmp_path: Path, first_s: int, goes_to: str
) -> None:
    """The other one waits in a partition of higher priority, and starts before or after the job's end."""
    number = busy.submit("true", "--partition=urgent", f"--begin=now+{first_s}", "--nodelist=n7")
    slurm = cluster(tmp_path, options=SlurmOptions(interval_s=0.2, preemptible="cancelled"))
    slurm.submit(SHORT, "run1-a")
    asked = JobFolder(tmp_path / "jobs", "run1-a").asked()
    slurm.cancel(["run1-a"])
    busy.run("scancel", str(number))
    assert asked is not None
    assert asked.partition == goes_to


def test_the_rate_of_preemptions_is_learned(busy: SlurmLab, tmp_path: Path) -> None:
    slurm = cluster(tmp_path, options=SlurmOptions(interval_s=0.2, preemptible="cancelled"))
    slurm.submit(SHORT, "run1-a")
    follow(slurm, "run1-a", is_running)
    before = rate_of(tmp_path / "jobs", "cancelled")
    busy.submit("sleep 60", "--partition=urgent", "--exclusive", "--nodelist=n7")
    assert follow(slurm, "run1-a", is_over).ending is Ending.PREEMPTED
    assert rate_of(tmp_path / "jobs", "cancelled") > 1.9 * before
    assert rate_of(tmp_path / "jobs", "requeued") >= before


def test_a_run_uses_a_preemptible_partition_while_others_are_busy(busy: SlurmLab, tmp_path: Path) -> None:
    flow = SlurmFlow(busy, tmp_path, PATIENT)
    (flow.directory / "headway.toml").write_text('preemptible = ["cancelled", "requeued"]')
    (tmp_path / "executions.go").touch()
    flow.await_end(flow.start("run", "--on", "slurm"))
    flow.check(1)
    assert flow.executed() == {"make": 1}
    jobs = [JobFolder(path.parent, path.name) for path in flow.directory.glob(".headway/runs/1/jobs/*-1")]
    assert [asked.partition for job in jobs if (asked := job.asked())] == ["cancelled"]
