"""What a workflow's jobs ask a simulated queue for: nodes as the log counts them, whole nodes, or shares of nodes."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from headway.api.keywords import refuse
from headway.model.errors import InputError
from headway.model.units import parse_bytes

if TYPE_CHECKING:
    from headway.model.job import Asks
    from headway.model.resources import Resources

Nodes = Literal["counts", "ids", "contiguous", "whole", "shared"]
_SIZE = ("node_cores", "node_memory")


class NodeSettings(Struct, frozen=True, kw_only=True):
    """What the queue counts. With `whole` and `shared` a processor of the log is a core, and nodes have a size."""

    nodes: Nodes = "counts"
    node_cores: Annotated[int, Meta(ge=1)] | None = None
    node_memory: str | None = None  # such as 256 GB; None: memory does not count

    def asks(self) -> Asks | None:
        """What jobs ask for where the queue counts cores."""
        return self.nodes if self.nodes in ("whole", "shared") else None

    @property
    def node_memory_bytes(self) -> int | None:
        """The memory of a node."""
        return None if self.node_memory is None else parse_bytes(self.node_memory)

    def node(self) -> Resources | None:
        """A node of the stated size; None: as large as the largest task."""
        from headway.drivers.through_queue import node_of

        return None if self.node_cores is None else node_of(self.node_cores, self.node_memory_bytes)

    @property
    def unit(self) -> int:
        """How many of the queue's nodes or cores make the node that jobs ask for."""
        return self.node_cores or 1 if self.nodes == "whole" else 1

    def nodes_words(self) -> str:
        """What jobs ask for, in words; empty where the queue counts nodes."""
        what = {"whole": "whole nodes of", "shared": "shares of nodes of"}.get(self.nodes)
        memory = f" and {self.node_memory}" if self.node_memory else ""
        return f"{what} {self.node_cores} cores{memory}" if what else ""

    def check_nodes(self, given: Collection[str], *, workflow: bool = True) -> None:
        """Raise InputError for a size without an effect, and for one that is missing."""
        if self.asks() is None:
            refuse(_SIZE, given, "nodes that jobs have whole or share", todo="add --nodes shared, or leave it out")
        elif not workflow:
            raise InputError("whole and shared are for a workflow's jobs", where="--nodes", todo="add --workflow W")
        elif self.node_cores is None:
            raise InputError("nothing says how large a node is", where="--nodes", todo="add --node-cores N")
