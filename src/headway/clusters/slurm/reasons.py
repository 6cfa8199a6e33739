"""Why a job waits, in words: the reasons of Slurm that name a limit, and those for which it would wait for ever."""

from __future__ import annotations

import re

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
        return f"{whose} allows one job less {named} ({reason})"
    jobs = "the jobs of all its users" if found["kind"] == "Grp" else "your jobs"
    return f"{whose} allows {jobs} no more {named} ({reason})"


def never(reason: str) -> str:
    """Say why a waiting job will never start; nothing if it may."""
    return limit_in_words(reason) or reason if _NEVER.fullmatch(reason) else ""
