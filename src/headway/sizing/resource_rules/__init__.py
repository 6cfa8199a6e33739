"""One rule set for each resource that is sized: who decides, the cold start, rounding, retries and limits."""

from __future__ import annotations

from headway.sizing.resource_rules.base import ResourceRules
from headway.sizing.resource_rules.cores import CoresRules
from headway.sizing.resource_rules.disk import DiskRules
from headway.sizing.resource_rules.memory import MemoryRules
from headway.sizing.resource_rules.walltime import WalltimeRules

CORES, MEMORY, DISK, WALLTIME = CoresRules(), MemoryRules(), DiskRules(), WalltimeRules()
RULES: dict[str, ResourceRules] = {rules.resource: rules for rules in (CORES, MEMORY, DISK, WALLTIME)}
