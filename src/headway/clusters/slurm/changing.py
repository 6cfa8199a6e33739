"""Change jobs that were submitted: what they depend on, and which nodes they have."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from headway.clusters.slurm.commands import Commands, NoAnswerError
from headway.clusters.slurm.submitting import NO_ANSWER, complaint_of
from headway.model.errors import SiteError

_log = logging.getLogger(__name__)

_OVER = re.compile("already (finished|completing)|invalid job id", re.IGNORECASE)
_BEGUN = re.compile("no longer pending", re.IGNORECASE)


def admit(commands: Commands, job_id: int) -> str:
    """Let a waiting job, which keeps its rank, depend on nothing; return why Slurm refuses. A SiteError: no answer."""
    _log.info("job %s need not wait for another one any more", job_id)
    words = _update(commands, job_id, "Dependency=")
    return "" if _BEGUN.search(words) else words


def shrink(commands: Commands, job_id: int, nodes: Sequence[str]) -> str:
    """Leave a job with these nodes only, unless it is over; return why Slurm refuses that. A SiteError: no answer.

    Slurm ends what runs on the other nodes, and goes on with the steps on these. The node of the job's script must be
    among them.
    """
    _log.info("shrinking job %s to %s", job_id, ",".join(nodes))
    return _update(commands, job_id, f"NodeList={','.join(nodes)}")


def _update(commands: Commands, job_id: int, change: str) -> str:
    """Return the words with which Slurm refuses to change a job; none for a job that is over."""
    try:
        answer = commands.read("scontrol", "update", f"JobId={job_id}", change)
    except NoAnswerError as error:
        raise SiteError(str(error)) from error
    if answer.code == 0:
        return ""
    words = complaint_of(answer) or f"scontrol ended with code {answer.code}"
    if NO_ANSWER.search(words):
        raise SiteError(words)
    return "" if _OVER.search(words) else words
