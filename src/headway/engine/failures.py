"""What it means for a task that an attempt failed or was lost: it is queued again, or given up with a reason."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, structs

from headway.engine.board import Board
from headway.engine.launching import Launching, does_not_fit
from headway.engine.state import NodeState, Running, TaskState
from headway.engine.unseen_inputs import UnseenInputs
from headway.model import records
from headway.model.outcome import Ending, Outcome
from headway.model.records import Figure, Why
from headway.model.units import format_bytes
from headway.sizing.base import CannotFit

# The attempts on a node that dies run again elsewhere. A task that is suspected runs alone (`Launching`); after this
# many more deaths it is given up.
MOST_LOSSES_ALONE = 5
# On one machine a supervisor that dies says nothing of its tasks. But if one supervisor after the other dies soon after
# a task has started there, the task runs alone, and is given up if that does not change.
SOON_S = 600.0
MOST_QUICK_DEATHS = 20
_LOCAL = "local"  # the cluster that is one machine


class Failures(Struct, eq=False):
    """Judges attempts that have ended without success."""

    board: Board
    launching: Launching
    nodes: Mapping[str, NodeState]
    cluster: str
    unseen: UnseenInputs | None = None  # of a run that checks the inputs of tasks

    def failed(self, state: TaskState, running: Running, outcome: Outcome) -> None:
        """Queue the task again. An exhausted resource asks for a larger amount; other failures use up the retries."""
        if self.unseen is not None and self.unseen.shows_more(state, outcome):
            self.board.requeue(state, failed=True)
            return
        resource, lacked = outcome.ending.exhausted, state.gpu_bytes_lacked
        figures: dict[str, Figure] = {}
        verdict = self._too_small_gpus(state, running) if outcome.ending is Ending.GPU_MEMORY else None
        if resource:
            figures = {"resource": resource, "amount": (amount := _used_up(running, resource, outcome))}
            state.exhausted = state.exhausted or {}
            state.exhausted.setdefault(resource, []).append(amount)
        elif not outcome.ending.blameless and not running.shaken:
            state.errors += state.gpu_bytes_lacked == lacked  # otherwise it goes on with larger GPUs
        self.board.requeue(state, failed=True)
        if state.task.work is not None:
            return
        if state.handed_back:
            self.board.condemn(state, Why("engine", "handed-back", figures, outcome.message))
        elif resource:
            answer = self.launching.allocate(state.task.id)
            if isinstance(answer, CannotFit):
                self.board.condemn(state, does_not_fit(answer))
        elif verdict is not None:
            self.board.condemn(state, structs.replace(verdict, text=outcome.message + verdict.text))
        elif state.errors > state.task.retries:
            text = outcome.message or f"it ended with {outcome.ending}"
            figures = {"errors": state.errors, "retries": state.task.retries}
            self.board.condemn(state, Why("engine", str(outcome.ending), figures, text))

    def _too_small_gpus(self, state: TaskState, running: Running) -> Why | None:
        """Note that its GPUs were too small, or say that there are no larger ones.

        Of a task that shares its GPU, or of whose GPU the memory is not known, nothing follows: its retries count.
        """
        node = self.nodes.get(running.node)
        has = [node.devices[name].memory_bytes for name in running.devices if name in node.devices] if node else []
        if running.resources.gpus < 1 or not all(has) or not has:
            return None
        least = min(has)
        if self.launching.has_larger_gpus(least, running.resources.gpus):
            state.gpu_bytes_lacked = least
            return None
        text = f"; it had a whole GPU with {format_bytes(least)}, and there is no larger one here"
        return Why("engine", "no-larger-gpu", {"memory_bytes": least}, text)

    def lost(
        self,
        state: TaskState,
        running: Running | None,
        record: records.NodeLost | records.AttemptLost,
        *,
        alone: bool,
    ) -> None:
        """Queue a task again whose attempt was lost with its node, unless the task seems to be what kills nodes."""
        is_soon = running is not None and record.at - running.launched_at < SOON_S
        is_quick = is_soon and record.excused and self.cluster == _LOCAL
        state.quick_deaths = state.quick_deaths + 1 if is_quick else 0
        state.expiries += record.expired
        died = not record.expired and not record.excused
        state.losses += died
        state.losses_alone += alone and died
        self.board.requeue(state)
        if state.losses_alone >= MOST_LOSSES_ALONE:
            text = f"{state.losses_alone} nodes died while it alone was running there"
            self.board.condemn(state, Why("engine", "kills-nodes", {"losses": state.losses_alone}, text))
        elif alone and state.quick_deaths >= MOST_QUICK_DEATHS:
            deaths = state.quick_deaths
            text = f"{deaths} supervisors in a row died within {SOON_S / 60:.0f} minutes of its start: it may end them"
            self.board.condemn(state, Why("engine", "kills-supervisors", {"losses": deaths}, text))


def _used_up(running: Running, resource: str, outcome: Outcome) -> float:
    """The amount that was not enough: what the attempt might use, or less if the machine had no more left to lend."""
    held, most = running.resources[resource] or 0, running.ceiling[resource] or 0
    used = outcome.usage.peak(resource)
    return min(most, max(held, used.value)) if used is not None and held < most else most
