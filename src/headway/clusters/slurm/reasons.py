"""Why a job waits, in words: what Slurm's reasons mean, and for which of them it would wait for ever."""

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
_LIMIT = re.compile(
    r"(?P<whose>Assoc|QOS|Reservation)?(?P<kind>Grp|Max)(?P<what>[A-Za-z]+?)(?P<per>Per(?:Job|User|Account|Node))?(?:Limit)?"
)
_WHOSE = {"Assoc": "your account", "QOS": "your QOS", "Reservation": "your reservation", None: "the site"}
_BUDGET = re.compile(r"(?:Run)?(?:Mins|Minutes)$")
_WHAT = {
    "cpu": "cores", "node": "nodes", "mem": "memory", "memory": "memory", "gres": "GPUs and other devices",
    "billing": "billing units", "jobs": "jobs at a time", "job": "jobs at a time", "submitjobs": "jobs in the queue",
    "submitjob": "jobs in the queue", "wall": "time", "wallduration": "time", "license": "licenses",
}  # fmt: skip
# Nothing but a change by an administrator would let the job start.
_NEVER = re.compile(
    r"Job's (?:account|qos|group|user)\b.* not permitted.*|AccountNotAllowed|QOSNotAllowed|InvalidAccount|InvalidQOS"
    r"|BadConstraints|PartitionTimeLimit|(?:Assoc|QOS)Max\w+PerJob(?:Limit)?|QOSMin\w+",
    re.IGNORECASE,
)


def is_held(reason: str) -> bool:
    """Whether a job with this reason starts only after somebody has released it."""
    return reason.replace("_", " ") in _HELD or reason in _HELD


def words_of(reason: str) -> str:
    """Say why a job waits, with Slurm's own word; nothing if Slurm has not said it yet.

    >>> words_of("Priority")
    'jobs of higher priority are before it (Priority)'
    """
    known = reason.split(",", maxsplit=1)[0].strip()
    if known in ("", "None"):
        return ""
    if limit := limit_in_words(known):
        return limit
    words = _WORDS.get(known) or _WORDS.get(known.replace("_", " "))
    return f"{words} ({reason})" if words else f"Slurm's reason is {reason}"


def limit_in_words(reason: str) -> str:
    """Say which limit keeps a job waiting; nothing if no limit does.

    >>> limit_in_words("QOSMaxCpuPerUserLimit")
    'your QOS allows your jobs no more cores (QOSMaxCpuPerUserLimit)'
    >>> limit_in_words("AssocGrpCPUMinutesLimit")
    'what your account may use is used up: core-hours (AssocGrpCPUMinutesLimit)'
    >>> limit_in_words("Priority")
    ''
    """
    found = _LIMIT.fullmatch(reason)
    if found is None:
        return ""
    whose, what = _WHOSE[found["whose"]], found["what"]
    if _BUDGET.search(what):
        unit = _WHAT.get(_BUDGET.sub("", what).lower(), what).removesuffix("s")
        return f"what {whose} may use is used up: {unit}-hours ({reason})"
    named = _WHAT.get(what.lower(), what)
    if found["per"] == "PerJob":
        return f"it asks for more {named} than {whose} allows one job ({reason})"
    jobs = "the jobs of all its users" if found["kind"] == "Grp" else "your jobs"
    return f"{whose} allows {jobs} no more {named} ({reason})"


def never(reason: str) -> str:
    """Say why a waiting job will never start; nothing if it may."""
    return limit_in_words(reason) or reason if _NEVER.fullmatch(reason) else ""
