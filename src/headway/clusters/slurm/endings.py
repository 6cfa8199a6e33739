"""How a job ended, from the state and the exit codes that Slurm shows."""

from __future__ import annotations

from headway.clusters.slurm.squeue import Exit, SeenJob
from headway.model.outcome import Ending

_OUT_OF_MEMORY_SIGNAL = 125  # reported by a step that its control group killed
_KILL = 9
_NO_OUTPUT_SIGNAL = 53  # reported when Slurm cannot open a job's files
_TOO_MUCH_MEMORY = (Ending.MEMORY, "it used more memory than it had asked for")
_BY_STATE = {
    "OUT_OF_MEMORY": _TOO_MUCH_MEMORY,
    **dict.fromkeys(("TIMEOUT", "DEADLINE"), (Ending.TIME, "its time was up")),
    **dict.fromkeys(("NODE_FAIL", "BOOT_FAIL"), (Ending.NODE_LOST, "a node failed or was restarted")),
    "PREEMPTED": (Ending.PREEMPTED, "a job of higher priority took its nodes"),
}


def ending_of(
    seen: SeenJob, *, cancelled_by_us: bool = False, kills_for_memory: bool = False, log_tells_of_memory: bool = False
) -> tuple[Ending, str]:
    """How an ended job ended, and a sentence about it.

    `kills_for_memory` says that the site runs with OverMemoryKill, `log_tells_of_memory` that Slurm wrote to the job's
    log that a step exceeded its memory.
    """
    if seen.state in ("CANCELLED", "REVOKED"):
        return Ending.CANCELLED, _cancelled(seen, by_us=cancelled_by_us)
    if seen.state == "COMPLETED":
        return _completed(seen)
    return _BY_STATE.get(seen.state) or _failed(seen, kills_for_memory, log_tells_of_memory)


def _cancelled(seen: SeenJob, *, by_us: bool) -> str:
    if seen.reason == "DependencyNeverSatisfied":
        return "the job that it waited for can no longer end as needed"
    if by_us:
        return "it was cancelled by Headway"
    user = f"user {seen.cancelled_by}" if seen.cancelled_by else "an unknown user"
    return f"it was cancelled by {user}, not by Headway"


def _completed(seen: SeenJob) -> tuple[Ending, str]:
    """The script succeeded, but its steps may have failed."""
    worst = seen.derived_exit
    if worst == Exit():
        return Ending.SUCCESS, ""
    if worst.signal == _OUT_OF_MEMORY_SIGNAL:
        return Ending.MEMORY, "a step in it used more memory than the job had asked for"
    if worst.signal:
        return Ending.SIGNAL, f"its script ended well, but a step in it was ended by signal {worst.signal}"
    return Ending.EXIT_CODE, f"its script ended well, but a step in it ended with exit code {worst.code}"


def _failed(seen: SeenJob, kills_for_memory: bool, log_tells_of_memory: bool) -> tuple[Ending, str]:
    """Tell a job that Slurm killed for its memory from one that failed otherwise.

    With OverMemoryKill such a job is FAILED 0:9; at other sites 0:9 means that it was sent SIGKILL. If only a step was
    killed, the log says which of the two it was.
    """
    signals = {seen.exit.signal, seen.derived_exit.signal}
    if _OUT_OF_MEMORY_SIGNAL in signals or seen.reason == "OutOfMemory" or log_tells_of_memory:
        return _TOO_MUCH_MEMORY
    if kills_for_memory and seen.exit.signal == _KILL:
        return Ending.MEMORY, "Slurm killed it, as it does here with jobs that use more memory than they asked for"
    if seen.exit.signal == _NO_OUTPUT_SIGNAL:
        return Ending.LAUNCH_FAILED, "Slurm could not open its files on the node"
    if seen.exit.signal:
        return Ending.SIGNAL, f"it was ended by signal {seen.exit.signal}"
    if seen.exit.code:
        return Ending.EXIT_CODE, f"it ended with exit code {seen.exit.code}"
    if seen.reason == "JobLaunchFailure":
        return Ending.LAUNCH_FAILED, "Slurm could not start it"
    return Ending.EXIT_CODE, f"it failed{f' ({seen.reason})' if seen.reason not in ('', 'None') else ''}"
