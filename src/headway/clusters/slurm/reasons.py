"""Slurm's reasons for a job to wait, in words."""

from __future__ import annotations

import re

_WORDS = {
    "Priority": "jobs of higher priority are before it",
    "Resources": "it is next when enough is free",
    "Dependency": "the job that it comes after has not ended",
    "BeginTime": "its earliest start has not come",
    "JobHeldUser": "it is held by its user; `scontrol release` lets it go on",
    "JobHeldAdmin": "it is held by an administrator; ask them why",
    "JobHoldMaxRequeue": "it was restarted too often and is held; `scontrol release` lets it go on",
    "launch failed requeued held": "it could not be started and is held; `scontrol release` lets it go on",
    "Licenses": "a licence that it needs is in use",
    "Reservation": "its reservation has not begun",
    "PartitionDown": "its partition is down",
    "PartitionInactive": "its partition is not active",
    "PartitionTimeLimit": "it asks for more time than its partition allows",
    "PartitionNodeLimit": "it asks for more or fewer nodes than its partition allows",
    "NodeDown": "a node that it needs is down",
    "ReqNodeNotAvail": "a node that it needs is not available; a maintenance may be near",
    "InvalidAccount": "its account is not valid",
    "InvalidQOS": "its quality of service is not valid",
}
_HELD = ("JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue", "launch failed requeued held")
_LIMIT = re.compile(r"(Assoc|QOS)?(Grp|Max)\w*|(Assoc|QOS)\w*Limit\w*", re.ASCII)


def is_held(reason: str) -> bool:
    """Whether a job with this reason starts only after somebody has released it."""
    return reason.replace("_", " ") in _HELD or reason in _HELD


def words_of(reason: str) -> str:
    """Say why a job waits, with Slurm's own word; nothing if Slurm has not said it yet.

    >>> words_of("Priority"), words_of("QOSMaxJobsPerUserLimit")[:56]
    ('jobs of higher priority are before it (Priority)', 'a limit on jobs of your quality of service is reached: i')
    """
    known = reason.split(",", maxsplit=1)[0].strip()
    if known in ("", "None"):
        return ""
    if _LIMIT.fullmatch(known):
        whose = "quality of service" if known.startswith("QOS") else "account"
        if known.endswith("PerJob"):
            return f"it asks for more than your {whose} allows for one job ({reason})"
        return f"a limit on jobs of your {whose} is reached: it starts when others have ended ({reason})"
    words = _WORDS.get(known) or _WORDS.get(known.replace("_", " "))
    return f"{words} ({reason})" if words else f"Slurm's reason is {reason}"
