"""`HandOver`: a manager in a job has the next manager's job submitted, and knows when to leave the run to it."""

from __future__ import annotations

import asyncio
import logging
import math
import time

from headway.crash_points import crash_point
from headway.drivers.manager_jobs import ManagerJob, ManagerJobs
from headway.model.errors import SiteError

_log = logging.getLogger(__name__)

_LOOK_EVERY_S = 1.0
_LEAVE_BEFORE_S = 60.0  # before the job's end, if the next manager has not started
_MOST_SUBMITTED = 3  # of jobs that end before their manager starts, such as cancelled ones


class HandOver:
    """Hands a run over to the next manager.

    The next job is submitted at half of this job's time. The earlier it starts, the sooner it takes over: the rest of
    this job's time is given back, so that nothing is lost by that. If it has not started when the time is nearly up,
    the run is left without a manager for a while: tasks go on, and the next manager finds their results.
    """

    def __init__(self, jobs: ManagerJobs, own: ManagerJob) -> None:
        self._jobs = jobs
        self._own = own
        until = own.until or math.inf
        length_s = jobs.request_of(own).per_node.walltime_s or 0.0
        self._submit_at = until - length_s / 2
        self._leave_at = until - _LEAVE_BEFORE_S

    async def wait(self) -> None:
        """Return when it is time to leave the run."""
        await self._sleep_until(self._submit_at)
        crash_point("successor-due")
        submitted = 0
        while submitted < _MOST_SUBMITTED and time.time() < self._leave_at:
            submitted += 1
            try:
                following = await asyncio.to_thread(self._jobs.submit, self._jobs.request_of(self._own))
            except SiteError as error:
                _log.warning("the next manager's job cannot be submitted: %s", error)
                break
            crash_point("successor-submitted")
            _log.info("the next manager waits in %s", following)
            if await self._starts(following):
                return
        await self._sleep_until(self._leave_at)

    async def _starts(self, job: ManagerJob) -> bool:
        """Wait for the next manager to start; return False if its job has ended, or it is time to leave."""
        while time.time() < self._leave_at and job.state != "over":
            if self._jobs.is_ready(job):
                return True
            await asyncio.sleep(_LOOK_EVERY_S)
            job = await asyncio.to_thread(self._jobs.look, job)
        return False

    async def _sleep_until(self, moment: float) -> None:
        """Sleep by the wall clock, since asyncio's clock stands still while a machine sleeps."""
        while (left_s := moment - time.time()) > 0:
            await asyncio.sleep(min(left_s, _LOOK_EVERY_S))
