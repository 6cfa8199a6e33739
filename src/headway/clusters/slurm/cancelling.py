"""`Canceller`: scancel, not called again and again for the same job."""

from __future__ import annotations

import logging
import time

from headway.clusters.slurm.commands import Commands, NoAnswerError

_log = logging.getLogger(__name__)

_AGAIN_AFTER_S = 2.0  # between two requests to cancel the same job


class Canceller:
    """Asks Slurm to cancel jobs by their ids."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._asked_at: dict[int, float] = {}

    def cancel(self, job_ids: set[int]) -> bool:
        """Ask for these jobs to be cancelled, except those of the last moments; return whether Slurm accepted it."""
        at = time.monotonic()
        due = {number for number in job_ids if at - self._asked_at.get(number, -_AGAIN_AFTER_S) >= _AGAIN_AFTER_S}
        if not due:
            return True
        _log.info("cancelling jobs %s", sorted(due))
        try:
            answer = self._commands.read("scancel", "--quiet", *map(str, sorted(due)))
        except NoAnswerError:
            return False
        accepted = answer.code == 0 or "invalid job id" in answer.complaint.lower()
        if accepted:
            self._asked_at |= dict.fromkeys(due, at)
        return accepted
