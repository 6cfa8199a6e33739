"""Parsing the output of Slurm's commands, and checks of what is passed to them; these tests need no Slurm."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

from headway.clusters.slurm import accounting
from headway.clusters.slurm.commands import Answer, Commands, clean_environment
from headway.clusters.slurm.endings import ending_of
from headway.clusters.slurm.hostlist import expand
from headway.clusters.slurm.job_details import details_of
from headway.clusters.slurm.job_folder import Asked, JobFolder, check_tag, job_script
from headway.clusters.slurm.options import ALLOWED_FLAGS, SlurmOptions, options_of, sbatch_variables
from headway.clusters.slurm.preemption import rate_of
from headway.clusters.slurm.rights import Rights
from headway.clusters.slurm.site_reading import configuration_of
from headway.clusters.slurm.squeue import Exit, SeenJob, exit_of, jobs_of
from headway.clusters.slurm.submitting import complaint_of, send
from headway.model.errors import InputError
from headway.model.job import JobPhase
from headway.model.outcome import Ending
from headway.model.resources import Resources

LINE = (
    "7|1000|RUNNING|None|1794742548|1794742549|1794742669|2:00|3|24|n[1-3]|21|main|0|9|1|NO|"
    "cpu=24,mem=1.50G,node=3,billing=24,gres/gpu=6,gres/gpu:a100=6|/a dir|of/x|b,c é\x1e\n"
)


def test_a_formatted_line_holds_all_fields() -> None:
    (job,) = jobs_of(LINE) or []
    assert (job.job_id, job.user, job.state, job.limit_s, job.nodes) == (7, 1000, "RUNNING", 120.0, 3)
    assert (job.node_names, job.derived_exit, job.restarts, job.alone) == (("n1", "n2", "n3"), Exit(0, 9), 1, True)
    assert (job.name, job.memory_bytes, job.gpus) == ("b,c é", 1536 * 2**20, 6)


def test_any_directory_can_be_read() -> None:
    for directory in ("/a\nb", "/a\n7|1000|RUNNING", "/a|b", "/\x1ea"):
        (job,) = jobs_of(LINE.replace("/a dir|of/x", directory)) or []
        assert (job.directory, job.name) == (directory, "b,c é")


DETAILS = (
    "JobId=5 ArrayJobId=4 ArrayTaskId=1 ArrayTaskThrottle=2 JobName=a NumNodes=9 UserId=root(0) JobState=RUNNING "
    "Partition=main ReqNodeList=n2 ExcNodeList=n[1,4] NodeList=n[2-3] NumNodes={nodes} NumCPUs=20 NumTasks=20 "
    "CPUs/Task=1 "
    "TRES=cpu=20,mem=6G,node=2,billing=20 JOB_GRES=(null)   Nodes=n2 CPU_IDs=4-15 Mem=3072 GRES=   Nodes=n3 "
    "CPU_IDs=0,2-8 Mem=1024 GRES= MinCPUsNode=3 {memory}=3G MinTmpDiskNode=0 Features=big&new Reservation=night "
    "OverSubscribe=OK Command=/x NumTasks=7 WorkDir=/y CPUs/Task=8 StdErr=/dev/null Power= \n"
)


def test_details_of_jobs_are_read_between_names_and_paths() -> None:
    (found,) = details_of(DETAILS.format(nodes="2-3", memory="MinMemoryCPU")).values()
    assert (found.nodes, found.most_nodes, found.tasks, found.cpus_per_task, found.cpus_each) == (2, 3, 20, 1, 3)
    assert (found.memory_per_core, found.at_once, found.reservation, found.features) == (True, 2, "night", "big&new")
    assert (found.wanted, found.excluded) == (("n2",), ("n1", "n4"))
    assert found.parts == {"n2": (12, 3072 * 2**20), "n3": (8, 1024 * 2**20)}
    (other,) = details_of(DETAILS.format(nodes="2", memory="MinMemoryNode")).values()
    assert (other.most_nodes, other.memory_per_core) == (0, False)


@given(st.integers(0, len(DETAILS) - 1), st.text(max_size=50))
def test_details_that_cannot_be_read_are_left_out(length: int, noise: str) -> None:
    assert set(details_of(DETAILS[:length] + noise)) <= {5}
    assert details_of(noise) == {}


@given(st.binary(max_size=200))
@example(b"")
@example(b"\x1e\n")
@example(b"7|1000|RUNNING\x1e\n")
def test_garbage_counts_as_no_answer(noise: bytes) -> None:
    text = noise.decode(errors="replace")
    assert not jobs_of(text)
    assert not accounting.read(text)


@given(st.integers(0, len(LINE) - 1))
def test_a_truncated_line_counts_as_no_answer(length: int) -> None:
    assert not jobs_of(LINE[:length])


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("n1", ("n1",)),
        ("n[1-3,07],gpu5", ("n1", "n2", "n3", "n07", "gpu5")),
        ("r[1-2]n[08-09]", ("r1n08", "r1n09", "r2n08", "r2n09")),
        ("(null)", ()),
        ("", ()),
    ],
)
def test_node_lists_are_expanded(words: str, names: tuple[str, ...]) -> None:
    assert expand(words) == names


@pytest.mark.parametrize(
    "words",
    [
        "n[1-",
        "n[]",
        "n[a-b]",
        "n[1-999999999]",
        ",",
        "n1,,n2",
        "n[1-2]]",
        "n[3-1]",
        "n[1-9999][1-9999]",
        "n[1-9]" + 300 * "x",
    ],
)
def test_malformed_node_lists_are_refused(words: str) -> None:
    with pytest.raises(ValueError, match="node"):
        expand(words)


@given(st.text(max_size=60))
def test_any_text_is_expanded_or_refused(words: str) -> None:
    with contextlib.suppress(ValueError):
        assert all(isinstance(name, str) for name in expand(words))


# --- endings from evidence ---


CLEAN = Exit()


def ended(state: str, reason: str = "", end: Exit = CLEAN, worst: Exit = CLEAN, by: str = "") -> SeenJob:
    return SeenJob(7, state, reason=reason, exit=end, derived_exit=worst, cancelled_by=by)


@pytest.mark.parametrize(
    ("seen", "site", "ending"),
    [
        (ended("OUT_OF_MEMORY", "OutOfMemory", Exit(0, 125)), "", Ending.MEMORY),
        (ended("FAILED", "JobLaunchFailure", Exit(0, 9)), "kills_for_memory", Ending.MEMORY),
        (ended("FAILED", "None", Exit(0, 9)), "", Ending.SIGNAL),
        (ended("FAILED", "NonZeroExitCode", Exit(137, 0), Exit(0, 9)), "log_tells_of_memory", Ending.MEMORY),
        (ended("FAILED", "NonZeroExitCode", Exit(137, 0), Exit(0, 8)), "kills_for_memory", Ending.EXIT_CODE),
        (ended("FAILED", "NonZeroExitCode", Exit(3, 0)), "", Ending.EXIT_CODE),
        (ended("FAILED", "JobLaunchFailure"), "", Ending.LAUNCH_FAILED),
        (ended("COMPLETED"), "", Ending.SUCCESS),
        (ended("COMPLETED", worst=Exit(0, 125)), "", Ending.MEMORY),
        (ended("COMPLETED", worst=Exit(2, 0)), "", Ending.EXIT_CODE),
        (ended("COMPLETED", worst=Exit(0, 11)), "", Ending.SIGNAL),
        (ended("TIMEOUT"), "", Ending.TIME),
        (ended("NODE_FAIL"), "", Ending.NODE_LOST),
        (ended("PREEMPTED"), "", Ending.PREEMPTED),
        (ended("CANCELLED", by="1000"), "", Ending.CANCELLED),
    ],
    ids=lambda value: f"{value.state}-{value.exit}-{value.derived_exit}" if isinstance(value, SeenJob) else str(value),
)
def test_the_ending_follows_from_the_evidence(seen: SeenJob, site: str, ending: Ending) -> None:
    assert ending_of(seen, **({site: True} if site else {}))[0] is ending


def test_the_message_says_who_cancelled_a_job() -> None:
    assert "not by Headway" in ending_of(ended("CANCELLED", by="1000"))[1]
    assert ending_of(ended("CANCELLED"), cancelled_by_us=True)[1] == "it was cancelled by Headway"
    assert "waited for" in ending_of(ended("CANCELLED", "DependencyNeverSatisfied"))[1]


def test_an_unknown_state_is_not_an_end() -> None:
    assert SeenJob(7, "GONE_FISHING").phase is JobPhase.UNKNOWN
    assert SeenJob(7, "REQUEUE_HOLD").phase is JobPhase.PENDING
    assert SeenJob(7, "COMPLETING").phase is JobPhase.RUNNING


@given(st.integers(0, 255), st.integers(0, 127))
def test_a_wait_status_holds_exit_code_and_signal(code: int, signal: int) -> None:
    assert exit_of(str(code << 8 | signal)) == Exit(code, signal)


# --- accounting ---

ROWS = """\
12|FAILED|1|2|32|0:9|0:0|n3|JobLaunchFailure|tag|/d
12.batch|FAILED|1|2|32|0:9||n3||batch|
12.0|FAILED|1|2|32|0:9||n3||sh|
13|COMPLETED|1|2|2|0:0|0:0|n3||tag2|/d
14|CANCELLED by 1000|1|Unknown|2|0:0|0:0|None assigned||x|/y|z
"""


def test_job_steps_in_accounting_are_skipped() -> None:
    killed, short, cancelled = accounting.read(ROWS) or []
    assert (killed.job_id, killed.exit, killed.reason) == (12, Exit(0, 9), "JobLaunchFailure")
    assert (short.name, short.node_names, short.ended_at) == ("tag2", ("n3",), 2.0)
    assert (cancelled.state, cancelled.cancelled_by, cancelled.directory) == ("CANCELLED", "1000", "/y|z")


# --- what is passed to Slurm ---

HOSTILE = (
    "a; touch HACKED", "$(touch HACKED)", "`touch HACKED`", "a\ntouch HACKED\n", "'; touch HACKED; '",
    '"; touch HACKED; "', "\n#SBATCH --wrap=touch\n", "%j", "--help", "-", "a\\", "~root", "* ?", "|touch HACKED",
    "é\x07", "{folder}",
)  # fmt: skip


def run_script(folder: Path, command: list[str], directory: Path, srun: str, sleep: str = "") -> int:
    """Run a job's script in a real shell, with stand-ins for srun and sleep, and return its exit code."""
    (directory / "bin").mkdir()
    for name, words in (("srun", srun), ("sleep", sleep)):
        (directory / "bin" / name).write_text(f"#!/bin/sh\n{words}\n")
        (directory / "bin" / name).chmod(0o755)
    (directory / "script").write_text(job_script(folder, command))
    job = {"SLURM_JOB_ID": "5", "SLURM_JOB_NODELIST": "n1", "SLURM_JOB_NUM_NODES": "1"}
    environment = {"PATH": f"{directory}/bin:/usr/bin:/bin", **job}
    return subprocess.run(["sh", directory / "script"], env=environment, cwd=directory, check=False).returncode


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_names_in_a_script_do_nothing(tmp_path: Path, number: int) -> None:
    folder = tmp_path / HOSTILE[number].replace("/", "_")
    folder.mkdir()
    command = ["printf", "%s\\0", *HOSTILE]
    run_script(folder, command, tmp_path, srun=f'while [ "$1" != -- ]; do shift; done; shift; "$@" > "{tmp_path}/seen"')
    assert (tmp_path / "seen").read_bytes().decode().split("\0")[:-1] == list(HOSTILE)
    assert not list(tmp_path.rglob("HACKED"))
    assert (folder / "ended-0").read_text().split()[::2] == ["5", "0"]


@pytest.mark.parametrize(("failures", "code"), [(0, 3), (2, 3), (1000, 222)])
def test_an_srun_that_slurm_could_not_start_is_retried_a_limited_number_of_times(
    tmp_path: Path, failures: int, code: int
) -> None:
    srun = f"""
echo >> "{tmp_path}/calls"
[ $(wc -l < "{tmp_path}/calls") -le {failures} ] && exit "$SLURM_EXIT_ERROR"
while [ "$1" != -- ]; do shift; done; shift
exec "$@"
"""
    (tmp_path / "job").mkdir()
    command = ["sh", "-c", '[ -z "$SLURM_EXIT_ERROR" ] && exit 3']
    assert run_script(tmp_path / "job", command, tmp_path, srun) == code
    calls = len((tmp_path / "calls").read_text().splitlines())
    assert calls == failures + 1 if code == 3 else 2 < calls < 100
    assert (tmp_path / "job" / "ended-0").read_text().split()[::2] == ["5", str(code)]


def test_a_cancelled_job_does_not_retry_srun(tmp_path: Path) -> None:
    """SIGTERM arrives, as from scancel, while the script waits for the controller."""
    (tmp_path / "job").mkdir()
    srun = f'echo >> "{tmp_path}/calls"; exit "$SLURM_EXIT_ERROR"'
    assert run_script(tmp_path / "job", ["true"], tmp_path, srun, sleep='kill -TERM "$PPID"') == 222
    assert len((tmp_path / "calls").read_text().splitlines()) == 2
    assert (tmp_path / "job" / "ended-0").exists()


def test_a_duplicate_job_in_a_claimed_folder_does_nothing(tmp_path: Path) -> None:
    script = job_script(tmp_path, ["true"])
    (tmp_path / "claim").symlink_to("4")
    environment = {"PATH": "/usr/bin:/bin", "SLURM_JOB_ID": "5", "SLURM_JOB_NODELIST": "n1", "SLURM_JOB_NUM_NODES": "1"}
    subprocess.run(["sh", "-c", script], env=environment, cwd=tmp_path, check=True)
    assert not list(tmp_path.glob("started-*"))


@pytest.mark.parametrize("tag", ["", "-x", "a b", "a/b", "..", "a..b", "a\n", "a%j", "é", "a" * 201, "$x", "a,b"])
def test_tags_that_are_not_plain_names_are_refused(tag: str) -> None:
    with pytest.raises(InputError):
        check_tag(tag)


@pytest.mark.parametrize(
    "options",
    [
        SlurmOptions(partition="a,--help"),
        SlurmOptions(partition="a,,b"),
        SlurmOptions(partition="--help"),
        SlurmOptions(account="x y"),
        SlurmOptions(qos="x\n"),
        SlurmOptions(constraint="a;b"),
        SlurmOptions(flags=("--wrap=true",)),
        SlurmOptions(flags=("--output=/etc/passwd",)),
        SlurmOptions(flags=("-p", "main")),
        SlurmOptions(flags=("--gres=gpu:1 --uid=0",)),
        SlurmOptions(flags=("--gres",)),
        SlurmOptions(flags=("--job-name=x",)),
        SlurmOptions(interval_s=-1),
        SlurmOptions(timeout_s=float("nan")),
    ],
    ids=str,
)
def test_unsafe_sbatch_options_are_refused(options: SlurmOptions) -> None:
    with pytest.raises(InputError):
        options.check()


def test_safe_sbatch_options_are_accepted() -> None:
    options = SlurmOptions(
        "main", "lab", "normal", "a&b|c", flags=("--gres=gpu:a100:2", "--exclude=n[1-3]", "--reboot")
    )
    options.check()
    assert "--account=lab" in options.arguments()
    assert not {"wrap", "output", "error", "chdir", "export", "uid", "array", "dependency", "job-name"} & ALLOWED_FLAGS


FAILED = "sbatch: error: Batch job submission failed:"
POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"


class Told:
    """A stand-in for the commands that gives a fixed answer."""

    def __init__(self, code: int, output: str, complaint: str = "") -> None:
        self._answer = Answer(code, output.encode(), complaint)

    def act(self, *_argv: str) -> Answer:
        return self._answer


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        (Told(0, "17\n"), "accepted"),
        (Told(0, "17;lab\n"), "accepted"),
        (Told(0, ""), "lost"),
        (Told(0, "0"), "lost"),
        (Told(0, "Welcome to the cluster!\n17\n"), "lost"),
        (Told(1, ""), "lost"),
        (Told(1, "17"), "lost"),
        (Told(1, "", "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"), "lost"),
        (Told(1, "", "sbatch: error: Batch job submission failed: Unable to contact slurm controller"), "lost"),
        (Told(1, "", "sbatch: error: Batch job submission failed: Invalid partition name specified"), "refused"),
        (Told(1, "", "sbatch: error: Batch job submission failed: Invalid account or account/partition"), "refused"),
        (Told(1, "", f"sbatch: error: Contact us\n{FAILED} Unspecified error"), "unclear"),
        (Told(1, "", f"sbatch: error: AssocMaxSubmitJobLimit\n{FAILED} {POLICY}"), "lost"),
        (Told(1, "", f"sbatch: error: QOSMaxCpuPerJobLimit\n{FAILED} {POLICY}"), "unclear"),
        (Told(1, "", f"{FAILED} {POLICY}"), "lost"),
    ],
    ids=[
        "number", "with-cluster", "nothing", "zero", "banner", "silence", "failed-with-number", "timed-out",
        "no-contact", "partition", "account", "rule-of-the-site", "too-many-jobs", "too-large", "policy",
    ],
)  # fmt: skip
def test_an_answer_of_sbatch_means_accepted_refused_or_lost(told: Told, kind: str) -> None:
    assert send(told, ["sbatch"]).kind == kind  # type: ignore[arg-type]


def test_a_submission_without_an_answer_may_have_been_accepted() -> None:
    assert send(Commands(5.0), ["no-such-command"]).kind == "lost"


def test_a_complaint_is_kept_whole_without_what_says_nothing() -> None:
    complaint = "sbatch: error: One.\nsbatch: error: Two\nsbatch: error: Batch job submission failed: Unspecified error"
    assert complaint_of(Answer(1, b"", complaint)) == "One; Two"
    assert complaint_of(Answer(1, b"", "sbatch: error: Batch job submission failed: Unspecified error")) == (
        "Unspecified error"
    )


def test_a_limit_of_a_qos_replaces_that_of_the_account() -> None:
    """Other limits stay, and the least of those of one kind counts."""
    account = {"MaxSubmit": (2.0, "MaxSubmit of account a"), "GrpTRES cpu": (64.0, "GrpTRES cpu=64 of account a")}
    of_qos = {
        "few": {"MaxSubmit": (4.0, "MaxSubmit of QOS few"), "MaxTRESPU cpu": (16.0, "MaxTRESPU cpu=16 of QOS few")},
        "none": {"MaxSubmit": (0.0, "MaxSubmit of QOS none")},
    }
    rights = Rights("a", "few", of_account=account, of_qos=of_qos)
    limits = rights.limits(None)
    assert (limits.jobs, limits.cpus, limits.nodes) == (4, 16, None)
    assert limits.said("jobs") == " (MaxSubmit of QOS few)"
    assert not limits.obstacle()
    assert rights.limits("none").obstacle() == "you may have no jobs in the queue here (MaxSubmit of QOS none)"
    assert structs.replace(rights, qos="other").limits(None).jobs == 2


def test_variables_of_sbatch_become_options() -> None:
    given = {"SBATCH_NO_REQUEUE": "1", "SBATCH_EXCLUSIVE": "user", "SBATCH_WCKEY": "a b", "SBATCH_SPREAD_JOB": "1"}
    assert sbatch_variables({**given, "SBATCH_PARTITION": "a,b", "PATH": "/bin"}) == (
        {"requeue": "false", "partition": "a,b", "flags": "--spread-job"},
        ["SBATCH_EXCLUSIVE", "SBATCH_WCKEY"],
    )
    assert options_of({"requeue": "true", "nodes": "shared", "flags": "--nice=5 --hint=nomultithread"}).flags == (
        "--nice=5",
        "--hint=nomultithread",
    )
    with pytest.raises(InputError, match="cannot be a name"):
        options_of({"account": "a b"})


def test_variables_that_change_slurms_commands_are_removed_from_the_environment() -> None:
    meddling = {"SLURM_JOB_ID": "5", "SBATCH_PARTITION": "y", "SQUEUE_FORMAT": "z"}
    mine = {"PATH": "/bin", "SLURM_CONF": "/x", "A": "1", **meddling}
    assert clean_environment(mine, for_reading=False) == {"PATH": "/bin", "SLURM_CONF": "/x", "A": "1"}
    assert clean_environment(mine, for_reading=True)["SLURM_TIME_FORMAT"] == "%s"


def test_the_rate_of_preemptions_counts_earlier_runs_in_the_directory(tmp_path: Path) -> None:
    for run in ("1", "2"):
        folder = JobFolder(tmp_path / "runs" / run / "jobs", "job")
        folder.make()
        asked = Asked(Resources(walltime_s=7200.0), 0.0, partition="low", preempted_at=5000.0 if run == "1" else None)
        folder.note(asked)
        folder.write("started-0", b"7 1400 n1")
        folder.write("ended-0", b"7 5000 0")
    jobs = tmp_path / "runs" / "2" / "jobs"
    assert rate_of(jobs, "low") == 2 / (4 * 3600.0 + 2 * 3600.0)
    assert rate_of(jobs, "other") == 1 / (4 * 3600.0)


@pytest.mark.parametrize(
    ("settings", "keeps"),
    [
        ("PriorityType = priority/basic\nPriorityWeightAge = 1000", True),
        ("PriorityType = priority/multifactor\nPriorityWeightAge = 0\nPriorityFlags =", True),
        ("PriorityType = priority/multifactor\nPriorityWeightAge = 1000\nPriorityFlags = MAX_TRES", False),
        ("PriorityType = priority/multifactor\nPriorityWeightAge = 1000\nPriorityFlags = ACCRUE_ALWAYS,MAX_TRES", True),
    ],
)
def test_a_dependent_job_keeps_its_rank_unless_its_age_does_not_count(settings: str, keeps: bool) -> None:
    shown = f"SLURM_VERSION = 22.05.8\nAccountingStorageType = accounting_storage/none\n{settings}\n"
    configuration = configuration_of(shown)
    assert configuration is not None
    assert configuration.keeps_rank is keeps
