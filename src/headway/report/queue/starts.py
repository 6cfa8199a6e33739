"""The start times of a simulated queue's jobs as CSV."""

from __future__ import annotations

from collections.abc import Iterator

from headway.model.batch_log import BatchJobs, Seconds

COLUMNS = "job,submit,nodes,req,run,start"


def starts_lines(jobs: BatchJobs, start_s: Seconds) -> Iterator[str]:
    """The header, then one line per job in the order of submission; times in seconds since the first submission."""
    yield f"{COLUMNS}\n"
    times = (_written(column) for column in (jobs.submit_s, jobs.req_s, jobs.run_s, start_s))
    for number, (nodes, submit, req, run, start) in enumerate(zip(jobs.nodes.tolist(), *times, strict=True), start=1):
        yield f"{number},{submit},{nodes},{req},{run},{start}\n"


def _written(seconds: Seconds) -> list[str]:
    """Whole numbers without a decimal point, others with all their digits."""
    return [str(int(second)) if second.is_integer() else repr(second) for second in seconds.tolist()]
