"""Which attempts start now, on which nodes, with which resources."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct

from headway.engine.allocations import Allocations
from headway.engine.bad_nodes import BadNodes
from headway.engine.board import Board
from headway.engine.gpu_memory import GpuMemory
from headway.engine.placer import Placement, Unplaceable, place, place_bound
from headway.engine.state import NodeState, TaskState
from headway.model import records
from headway.model.devices import GpuNeed
from headway.model.job import Wish
from headway.model.records import Decision, Figure, Why
from headway.model.resources import HELD, Resources, describe
from headway.ordering.base import Order
from headway.ordering.lending import Own
from headway.planning.base import Planner
from headway.planning.chaining import continuations, is_up
from headway.planning.requested_time import left_s, longer_s
from headway.sizing.base import Allocation, Allocator, CannotFit, Context

# A task that was running on two nodes that died is suspected and runs alone from then on, so that no other task is
# suspected with it; on one machine, after so many supervisors in a row that died soon after its start. `Failures` says
# when it is given up.
SUSPECTED_AFTER = 2
SUSPECTED_AFTER_QUICK_DEATHS = 10
_ANYWHERE = Resources(cores=1e6, memory_bytes=10**18, disk_bytes=10**18)  # more than any machine has
LENT = ("memory_bytes", "disk_bytes")  # what a task may use although it is not held for it


class Launching(Struct, eq=False):
    """Combines the allocator (how much), the order (which first), the planner (how long) and the nodes' room (where).

    It changes nothing: its decisions take effect when they are applied.
    """

    seed: int
    board: Board
    nodes: Mapping[str, NodeState]
    allocations: Allocations
    bad_nodes: BadNodes
    allocator: Allocator
    order: Order
    planner: Planner
    gpu_memory: GpuMemory

    def _limits(self, state: TaskState) -> Resources:
        return self.allocations.sites[state.part[0]].limits

    def launches(self, now: float, overtaken: Mapping[str, int]) -> list[Decision]:
        """Start the tasks that have room, and give up those that fit on no node."""
        free: dict[Wish | None, list[NodeState]] = {}
        bound: dict[str, list[NodeState]] = {}  # by job
        usable: dict[Wish | None, list[NodeState]] = {}
        for node in self.nodes.values():
            if self.bad_nodes.is_avoided(node.name) or self.allocations.jobs[node.tag].suspended:
                continue
            wish = self.allocations.jobs[node.tag].request.wish
            usable.setdefault(wish, []).append(node)
            if not node.only:
                free.setdefault(wish, []).append(node)
            elif node.free.cores > 0 and not self._is_left(node):
                bound.setdefault(node.tag, []).append(node)
        placed: list[Placement | Unplaceable] = []
        sized: Counter[str | None] = Counter()  # tasks that may start now, by category; of all new categories: None

        def allocate(task_id: str) -> Allocation | CannotFit:
            category = self.board.tasks[task_id].task.category
            kind = category if category in self.board.seen else None
            sized[kind] += 1
            return self.allocate(task_id, sized[kind] - 1)

        gpu_need = partial(self._gpu_need, usable)
        turn = self.board.fair.turn(now, self._own(now), partial(self._left_s, now)) if self.board.fair.active else None
        for tag, nodes in bound.items():
            wanting = self.board.wanting(self.allocations.jobs[tag].request.wish)
            stays_to = self._stays_to
            placed += place_bound(nodes, wanting, allocate, self._share_of, turn, gpu_need, stays_to)
        for wish, nodes in free.items():
            if placed:  # these tasks are still in the queue; the rest is decided after them
                break
            for each in [turn] if turn is None or turn.lending is None else [turn, self.board.fair.turn(now)]:
                with self.board.placeable.walk(str(wish or ""), each.key if each else None) as ready:
                    placed += place(ready, allocate, nodes, overtaken, partial(self._ends_by, now), each, gpu_need)
                if placed:  # otherwise nodes may be free that the workflow cannot use for which they were asked for
                    break
        return [
            records.GiveUp(now, placement.task, does_not_fit(placement.verdict))
            if isinstance(placement, Unplaceable)
            else self._launch(now, placement)
            for placement in placed
        ]

    def _is_left(self, node: NodeState) -> bool:
        """Whether a task that checkpoints has left the node's job for another one, which is up."""
        job = self.allocations.jobs[node.tag]
        if job.role != "continuation":
            return False
        newest = [other for task_id in job.tasks for other in continuations(self.allocations.live, task_id)][-1]
        return newest is not job and is_up(newest)

    def has_larger_gpus(self, lacked: int, gpus: float) -> bool:
        """Whether a node has enough GPUs with more memory than this."""
        sizes = [[device.memory_bytes > lacked for device in node.devices.values()] for node in self.nodes.values()]
        return any(sum(larger) >= gpus for larger in sizes)

    def _gpu_need(self, usable: Mapping[Wish | None, Sequence[NodeState]], task_id: str) -> GpuNeed:
        """What a task needs of its GPUs; what no node that it may use can give now is not asked for."""
        state = self.board.tasks[task_id]
        gpus = state.task.hints.get("gpus", 0)
        if not gpus:
            return GpuNeed()
        used, lacked = self.gpu_memory.used_bytes(state.task), state.gpu_bytes_lacked
        nodes = usable.get(state.part[0], ())
        for need in (GpuNeed(used, lacked), GpuNeed(lacked_bytes=lacked)):
            if any(sum(map(need.suits, node.devices.values())) >= gpus for node in nodes):
                return need
        return GpuNeed()

    def _own(self, now: float) -> dict[str, Own]:
        """The nodes that were asked for shares of a pool; those of several shares are divided evenly."""
        fair = self.board.fair
        own: dict[str, Own] = {}
        for node in self.nodes.values():
            shares = self.allocations.jobs[node.tag].shares
            there = [share for share in shares if fair.account(share).unfinished]
            for share in there:
                own.setdefault(share, Own()).nodes += fair.dominant(node.capacity) / len(there)
        for share, each in own.items():
            each.asked_s, each.held_s = self.allocations.node_s(share, now)
        return own

    def _left_s(self, now: float, task_id: str) -> float:
        """How long a running task is still expected to run."""
        state = self.board.tasks[task_id]
        expected_s = self.planner.expected_s(state.task)
        if expected_s is None or state.running is None:
            return 0.0
        return max(0.0, state.running.launched_at + left_s(expected_s, state.saved_s) - now)

    def _share_of(self, task_id: str) -> str:
        return self.board.tasks[task_id].task.terms.share

    def quote(self, now: float, asked: records.QuoteAsked) -> records.Quote:
        """What a task that is not part of the run yet would be given, or why it would fit nowhere."""
        if asked.elsewhere:
            limits = _ANYWHERE.replace(**asked.wanted.limits)
            context = Context(limits, draw=(self.seed, "", asked.quote, 1))
            answer = self.allocator.allocate(asked.wanted, asked.failures, context)
        else:
            state = TaskState(asked.wanted, part=self.board.part_of(asked.wanted))
            answer = self._allocation(state, asked.failures, starting=0)
        if isinstance(answer, CannotFit):
            return records.Quote(now, asked.quote, None, {answer.resource: does_not_fit(answer)})
        return records.Quote(now, asked.quote, answer.resources, answer.why, answer.ticket)

    def _promised(self, state: TaskState) -> Allocation | None:
        """The amounts that the task was promised, unless it has used them up, or that its own run decided."""
        if (work := state.task.work) is not None:
            why = Why("pool", "of-its-run", {}, "its own run decided that")
            return Allocation(work.held, dict.fromkeys(("cores", "memory_bytes", "disk_bytes"), why))
        quote = self.board.quotes.get(state.task.terms.quote)
        if quote is None or quote.resources is None or state.exhausted:
            return None
        return Allocation(quote.resources, quote.why, quote.ticket)

    def _ends_by(self, now: float, task_id: str) -> float:
        """The expected end of a task that starts now, or goes on; each expiry of its job doubles its expected time."""
        state = self.board.tasks[task_id]
        expected_s = self.planner.expected_s(state.task)
        if expected_s is None:
            return max(now, self._stays_to(task_id))
        run_s = longer_s(left_s(expected_s, state.saved_s), state.expiries, self._limits(state).walltime_s)
        return max(now + run_s, self._stays_to(task_id))

    def _stays_to(self, task_id: str) -> float:
        """A task that has left its job at its end does not start there again: its next job ends later than this."""
        return math.nextafter(self.board.tasks[task_id].left_until, math.inf)

    def _launch(self, now: float, placement: Placement) -> records.Launch:
        state, allocation = self.board.tasks[placement.task], placement.allocation
        return records.Launch(
            at=now,
            task=placement.task,
            attempt=state.attempts + 1,
            node=placement.nodes[0].name,
            tag=placement.nodes[0].tag,
            resources=allocation.resources,
            because=state.because,
            why=allocation.why,
            ticket=allocation.ticket,
            overtook=placement.overtook,
            also=tuple(node.name for node in placement.nodes[1:]),
            ceiling=self._ceiling(state, allocation.resources),
            remake=bool(state.remade_for),
            devices=placement.devices,
        )

    def _ceiling(self, state: TaskState, held: Resources) -> Resources | None:
        """What an attempt may use, where that is more than what is held for it.

        What was learned decides how many tasks run side by side. Memory and disk that no task needs are lent: each
        task may use the share that goes with its cores, and never less than the workflow says that it needs.
        """
        if state.task.work is not None:
            return state.task.work.limits if state.task.work.limits != held else None
        if not self.allocations.sites[None].lends or held.nodes > 1 or self._promised(state):
            return None
        task, whole = state.task, self._limits(state)
        share = held.cores / whole.cores
        amounts = {
            name: max(held[name] or 0, min(task.limits.get(name, math.inf), max(lent, task.hints.get(name, 0))))
            for name in LENT
            if held[name] and (lent := math.floor((whole[name] or 0) * share))
        }
        ceiling = held.replace(**amounts)
        return ceiling if ceiling != held else None

    def likely(self, task_id: str) -> Resources:
        """What a task's next attempt would hold on a node beside others like it; all there is if it would not fit."""
        answer = self.allocate(task_id, starting=1)
        held = answer.resources if isinstance(answer, Allocation) else self._limits(self.board.tasks[task_id])
        return held.replace(nodes=1, walltime_s=None)

    def with_next(self, task_id: str) -> Resources:
        """The same, with memory for one more attempt, unless that would be more than twice as much."""
        held = self.likely(task_id)
        state = self.board.tasks[task_id]
        if state.task.work is not None:
            return held
        failures = state.exhausted or {}
        more = {**failures, "memory_bytes": [*failures.get("memory_bytes", ()), held.memory_bytes]}
        answer = self._allocation(state, more, starting=1)
        if isinstance(answer, CannotFit) or answer.resources.memory_bytes > 2 * held.memory_bytes:
            return held
        return held.replace(memory_bytes=max(held.memory_bytes, answer.resources.memory_bytes))

    def _allocation(
        self, state: TaskState, failures: Mapping[str, Sequence[float]], starting: int
    ) -> Allocation | CannotFit:
        """The allocator's answer for the usual nodes, or for the first larger ones on which the task fits."""
        draw = (self.seed, "", state.task.id, state.attempts + 1)
        held = self.order.at_stake(state.task)
        others = self._beside(state.task.category) + starting
        site = self.allocations.sites[state.part[0]]
        refusals: list[CannotFit] = []
        for most in (site.limits, *site.larger):
            answer = self.allocator.allocate(state.task, failures, Context(most, draw, held=held, others=others))
            if isinstance(answer, Allocation):
                return self._within_limits(state, _with_all_time(answer, most) if state.task.notice_s else answer)
            refusals.append(answer)
        alike = [refusal for refusal in refusals if refusal.resource == refusals[-1].resource]
        return self._within_limits(state, max(alike, key=lambda refusal: refusal.available))

    def _beside(self, category: str) -> int:
        """How many attempts that run will teach what a task needs: of its category, or if it is new of all new ones."""
        return self.board.running[category] if category in self.board.seen else self.board.running_new

    def allocate(self, task_id: str, starting: int = 0) -> Allocation | CannotFit:
        """The resources for the task's next attempt, while so many others that teach what it needs start."""
        state = self.board.tasks[task_id]
        answer = self._promised(state) or self._allocation(state, state.exhausted or {}, starting)
        if isinstance(answer, Allocation):
            answer = self._if_it_fits(state, answer) if state.task.work else self._settled(state, answer)
        return self._within_share(state, answer) if isinstance(answer, Allocation) else answer

    def _settled(self, state: TaskState, answer: Allocation) -> Allocation:
        """The allocation, on whole nodes where the task spans several or has to run alone."""
        if state.task.nodes > 1:
            return self._whole_nodes(state, answer)
        if state.losses >= SUSPECTED_AFTER or state.quick_deaths >= SUSPECTED_AFTER_QUICK_DEATHS:
            losses = max(state.losses, state.quick_deaths)
            text = f"{losses} nodes died while it was running there: it runs alone, on all cores"
            all_cores = self._limits(state).cores
            why = Why("engine", "suspected", {"losses": losses, "limit": all_cores}, text)
            alone = answer.resources.replace(cores=all_cores)
            return Allocation(alone, answer.why | {"cores": why}, answer.ticket)
        return answer

    def _within_share(self, state: TaskState, answer: Allocation) -> Allocation | CannotFit:
        """The allocation, unless it is more than the task's share may hold for all its tasks together."""
        share = state.task.terms.share
        for resource in ("cores", "memory_bytes") if self.board.fair.active else ():
            most, needed = self.board.fair.most(share, resource), (answer.resources[resource] or 0)
            if most is not None and needed * answer.resources.nodes > most:
                why = Why("fair", "share-limit", {"limit": most}, f"its share {share} has a limit")
                return CannotFit(resource, needed * answer.resources.nodes, most, why)
        return answer

    def _within_limits(self, state: TaskState, answer: Allocation | CannotFit) -> Allocation | CannotFit:
        """The allocation within the limits that the workflow states; a task that used one up gets no more."""
        for resource, most in state.task.limits.items():
            failures = (state.exhausted or {}).get(resource)
            why = Why("user", "limit", {"limit": most}, f"the workflow limits it to {describe(resource, most)}")
            if failures and failures[-1] >= most:
                return CannotFit(resource, failures[-1], most, why, reason="own-limit")
            if isinstance(answer, CannotFit):
                continue
            given = answer.resources[resource]
            if given is None or given > most:
                amounts = answer.resources.replace(**{resource: most})
                answer = Allocation(amounts, answer.why | {resource: why}, answer.ticket)
        return answer

    def _if_it_fits(self, state: TaskState, answer: Allocation) -> Allocation | CannotFit:
        """The allocation, unless no kind of node has that much: the limits may have changed since it was decided."""
        site, held = self.allocations.sites[state.part[0]], answer.resources.replace(walltime_s=None)
        kinds = [kind.replace(walltime_s=None) for kind in (site.limits, *site.larger)]
        if any(held.fits_in(kind) for kind in kinds):
            return answer
        name = held.excess(kinds[0])[0]
        return CannotFit(name, held[name] or 0, kinds[0][name] or 0, Why("pool", "of-its-run"))

    def _whole_nodes(self, state: TaskState, answer: Allocation) -> Allocation:
        """Whole nodes for a task that spans several; only the walltime is the allocator's."""
        nodes = state.task.nodes
        whole = self._limits(state).replace(nodes=nodes, walltime_s=answer.resources.walltime_s)
        why = Why("engine", "whole-nodes", {"nodes": nodes}, f"it spans {nodes} nodes and has them whole")
        return Allocation(whole, answer.why | dict.fromkeys(HELD, why), answer.ticket)


def _with_all_time(answer: Allocation, most: Resources) -> Allocation:
    """The allocation of a task that checkpoints: a time that was learned from others would only interrupt it."""
    text = "it goes on from its checkpoint when its job ends"
    why = Why("engine", "checkpoints", {"limit": most.walltime_s}, text)
    return Allocation(
        answer.resources.replace(walltime_s=most.walltime_s), answer.why | {"walltime_s": why}, answer.ticket
    )


def does_not_fit(answer: CannotFit) -> Why:
    """The explanation of a `CannotFit`: what the task needs and what there is."""
    needs, has = describe(answer.resource, answer.needed), describe(answer.resource, answer.available)
    if answer.reason == "own-limit":
        text = f"it used up the {has} that 'limit' in the workflow file allows; raise that if it should get more"
        return Why(answer.why.policy, answer.reason, {"resource": answer.resource, "limit": answer.available}, text)
    figures: dict[str, Figure] = {"resource": answer.resource, "needed": answer.needed, "available": answer.available}
    if answer.needed <= answer.available:  # how much it needs is not known: all there is was not enough
        return Why(answer.why.policy, "cannot-fit", figures, answer.why.text)
    if answer.reason == "hint":
        text = f"it asks for {needs}, and one task can have {has} here; ask for less, or run it where there is more"
        return Why(answer.why.policy, "cannot-fit", figures, text)
    lead = f"{answer.why.text}: " if answer.why.text else ""
    return Why(answer.why.policy, "cannot-fit", figures, f"{lead}it needs {needs}, and one task can have {has} here")
