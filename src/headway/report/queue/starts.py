"""The start times of a simulated queue's jobs as CSV."""

from __future__ import annotations

from collections.abc import Iterator

from headway.model.batch_log import BatchJobs, Seconds


def starts_lines(jobs: BatchJobs, start_s: Seconds) -> Iterator[str]:
    """The header, then one line per job in the order of submission; times in seconds since the first submission.

    Whole numbers have no decimal point, others all their digits.
    """
    yield "job,submit,nodes,req,run,start\n"
    columns = [column.tolist() for column in (jobs.submit_s, jobs.req_s, jobs.run_s, start_s)]
    times = ([str(int(at)) if at.is_integer() else repr(at) for at in column] for column in columns)
    for number, (nodes, submit, req, run, start) in enumerate(zip(jobs.nodes.tolist(), *times, strict=True), start=1):
        yield f"{number},{submit},{nodes},{req},{run},{start}\n"
