"""Process trees: commands with all processes that they start, measured and kept within their limits."""

from headway.workers.trees.cgroups import kernel_limit_bytes
from headway.workers.trees.end_note import read_end
from headway.workers.trees.methods import detect_method
from headway.workers.trees.process_trees import ProcessTrees
from headway.workers.trees.processes import MARKER
from headway.workers.trees.strays import kill_strays
from headway.workers.trees.tree import CommandEnd, CommandSpec

__all__ = [
    "MARKER",
    "CommandEnd",
    "CommandSpec",
    "ProcessTrees",
    "detect_method",
    "kernel_limit_bytes",
    "kill_strays",
    "read_end",
]
