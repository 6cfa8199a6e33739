"""The efficiency report of Snakemake's Slurm plugin: CSV with a row per job step, without states and times."""

from __future__ import annotations

from collections.abc import Iterable

from headway.formats.log_table import LogTable
from headway.formats.slurm_jobs import MB, SlurmJob, SlurmJobs, log_of
from headway.model.task_log import TaskLog

SIGN = "its first line names the columns JobID, Elapsed_sec and MaxRSS_MB"


def recognises(line: str) -> bool:
    """Whether `line` is the first line of such a file."""
    return set(line.strip().split(",")) >= {"JobID", "Elapsed_sec", "MaxRSS_MB"}


def read(lines: Iterable[str], where: str, name: str) -> TaskLog:
    """One task a job, with the greatest peak of its steps, in the order of the lines."""
    table = LogTable(lines, where)
    jobs = SlurmJobs()

    def note(row: list[str]) -> None:
        number = (table.cell(row, "MainJobID") or table.cell(row, "JobID")).partition(".")[0]
        job = jobs.recent.get(number) or jobs.add(SlurmJob(number))
        job.comment = job.comment or table.cell(row, "RuleName")
        job.name = job.name or table.cell(row, "JobName")
        job.run_s = max(job.run_s or 0.0, table.seconds(row, "Elapsed_sec") or 0.0)
        job.asked = max(job.asked, table.bytes(row, "RequestedMem_MB", MB) or 0.0)
        job.cpus = max(job.cpus, table.amount(row, "NCPUS") or 0.0)
        job.cpu_s += table.seconds(row, "TotalCPU_sec") or 0.0
        job.measured(table.bytes(row, "MaxRSS_MB", MB) or 0.0, 1)

    for _ in table.parsed(note):
        pass
    return log_of(jobs, name, table.bad)
