"""Give back nodes of running jobs."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from headway.clusters.slurm.commands import Commands, NoAnswerError
from headway.clusters.slurm.submitting import NO_ANSWER, complaint_of
from headway.model.errors import SiteError

_log = logging.getLogger(__name__)

_OVER = re.compile("already (finished|completing)|invalid job id", re.IGNORECASE)


def shrink(commands: Commands, job_id: int, nodes: Sequence[str]) -> str:
    """Leave a job with these nodes only, unless it is over; return why Slurm refuses that. A SiteError: no answer.

    Slurm ends what runs on the other nodes, and goes on with the steps on these. The node of the job's script must be
    among them.
    """
    _log.info("shrinking job %s to %s", job_id, ",".join(nodes))
    try:
        answer = commands.read("scontrol", "update", f"JobId={job_id}", f"NodeList={','.join(nodes)}")
    except NoAnswerError as error:
        raise SiteError(str(error)) from error
    if answer.code == 0:
        return ""
    words = complaint_of(answer) or f"scontrol ended with code {answer.code}"
    if NO_ANSWER.search(words):
        raise SiteError(words)
    return "" if _OVER.search(words) else words
