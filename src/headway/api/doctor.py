"""`doctor`: check whether Headway can work in a directory, and how well."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from headway.api.checks import FAIL, Check, examine


class Diagnosis(Struct, frozen=True):
    """All checks; `works` is False if one of them failed."""

    works: bool
    checks: list[Check]

    def document(self) -> dict[str, Any]:
        """Return what `headway doctor --json` prints."""
        return {"works": self.works, "checks": [structs.asdict(check) for check in self.checks]}


def doctor(
    directory: str | os.PathLike[str] = ".", cluster: str | None = None, container: str | None = None
) -> Diagnosis:
    """Check this machine and a directory; with `cluster="slurm"`, also whether jobs can be submitted there.

    Slurm's commands are called about ten times; nothing is submitted. `container` is an image: `true` is run in it.

    >>> doctor().checks[0].about
    'headway'
    """
    checks = list(examine(Path(directory), container))
    if cluster == "slurm":
        from headway.clusters.slurm.diagnosis import diagnose
        from headway.clusters.slurm.options import SlurmOptions

        checks += [Check(finding.mark, finding.about, finding.found) for finding in diagnose(SlurmOptions())]
    return Diagnosis(all(check.mark != FAIL for check in checks), checks)
