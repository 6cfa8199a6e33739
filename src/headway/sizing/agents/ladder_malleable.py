"""`ladder-malleable`, and the allocator of `ladder`: as many cores as make a malleable task faster."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, sqrt

from msgspec import field, structs

from headway.model.outcome import Ending, Outcome
from headway.model.records import Figure, Why
from headway.model.resources import describe
from headway.model.task import Task
from headway.sizing.agents.agent_trace import Trace, traces
from headway.sizing.agents.malleable import Agent, Choice, Learned, MalleableAllocator, Question, given
from headway.sizing.agents.paid_steps import Speeds
from headway.sizing.estimators.ladder import Ladder
from headway.sizing.ladder_sizer import ladder_sizer
from headway.sizing.observing import SHORTEST_S, run_s
from headway.sizing.per_resource import PerResource

_LONGEST_MEAN = 20  # attempts; older ones count less and less
_LEAST_SERIAL = 0.001
_OF_LIMIT = 0.75  # of the speedup's limit, in cores: four in seven of them are busy
_RARELY = 16  # a task with one core is tried with two once in 16 attempts, times the number of records


class LadderMalleable(MalleableAllocator):
    """As `ladder`, for tasks that use as many cores as they are given: as many as make them faster.

    The number of busy cores out of c tells which share s of the work is serial: by Amdahl's law, 1 / busy is s + (1 -
    s) / c. A task gets three quarters of 1 / s cores, the limit of its speedup: four in seven of them are busy. A task
    that holds much memory gets more, if that reduces its run time times the shares of the machine that it holds. From
    run to run cores at most double. A task whose workflow asks for one core is first tried with two.

    Not every program obeys that law: some start only so many threads, some wait busily, some wait for memory. So run
    times decide whether a step to more cores paid (`Speeds`); one that did not is taken back, and no more is tried. A
    number of cores that has nothing below it to be compared with is compared with as many as were busy, or half.

    Conditions change: cores that did not pay are sometimes tried again, as two are for a task that has come down to
    one core; the more rarely the more often that was measured. The result replaces what was known of them. This
    algorithm is Headway's own.
    """

    name = "ladder-malleable"
    chosen = ("cores",)
    choices = ("again",)

    def new_agent(self, category: str) -> Agent:
        return _Speedup()


class Ladders(LadderMalleable):
    """The sequence of amounts that costs least on average, failures included; tasks climb it until one is enough. Cores
    are as stated; malleable tasks get as many as make them faster.

    Each category has one ladder per resource, which learns from every task. `LadderMalleable` chooses the cores of
    malleable tasks.
    """

    name = Ladder.name

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self._others = PerResource(ladder_sizer, seed)

    def chooses_for(self, task: Task) -> bool:
        return task.malleable


class _Seen(Learned):
    """The serial share of a category's work, and its run times by cores."""

    seen: int = 0
    serial: float = 1.0
    most_cores: float = 0.0  # of any attempt
    speeds: Speeds = field(default_factory=Speeds)
    traces: dict[str, Trace] = traces("cores")


class _Speedup(Agent):
    """The agent of a category."""

    def __init__(self) -> None:
        self.learned: _Seen = _Seen()

    def choose(self, question: Question) -> Choice:
        most, known = question.limits.cores, self.learned
        if not known.seen:
            cores = min(most, max(2.0, question.default_cores))
            figures: dict[str, Figure] = {"request": question.default_cores, "limit": most}
            text = f"nothing is known yet: {describe('cores', cores)}, and how busy they are will tell"
            why = Why(LadderMalleable.name, "first", figures, text)
            return Choice(cores, 0.0, {"cores": why}, {})
        bound = min(most, 2.0 * known.most_cores)
        memory_share = question.others.memory_bytes / max(1, question.limits.memory_bytes)
        wanted = max(_OF_LIMIT / known.serial, cheapest_cores(known.serial, memory_share, most))
        cores = min(bound, max(1.0, floor(wanted + 0.5)))
        figures = {
            "serial": known.serial,
            "memory_share": memory_share,
            "records": known.seen,
            "most_given": known.most_cores,
            "limit": most,
        }

        def holds(given: float) -> float:
            return given / most + memory_share

        rule = "speedup"
        text = f"{100 * known.serial:.0f}% of the work is serial, by how busy cores were in {known.seen} attempts"
        unpaid = known.speeds.unpaid(holds)
        if unpaid is not None and unpaid.more <= cores:
            cores, rule = known.speeds.highest_below(unpaid.more), "did-not-pay"
            figures |= structs.asdict(unpaid)
            text = f"{describe('cores', unpaid.more)} made it {unpaid.gain:.2f} times as fast as {unpaid.fewer:g}"
        more = unpaid.more if rule == "did-not-pay" and unpaid else 2.0
        chance = 1.0 / (_RARELY * min(known.seen, _LONGEST_MEAN))
        if (rule == "did-not-pay" or cores == 1) and more <= bound and question.draws["again"] < chance:
            figures |= {"chance": chance, "draw": question.draws["again"]}
            text = f"{describe('cores', more)} did not pay: they are tried once in {1 / chance:.0f} attempts"
            return Choice(more, 0.0, {"cores": Why(LadderMalleable.name, "again", figures, text)}, {"again": 1.0})
        fewer = known.speeds.to_compare_with(cores, holds)
        if fewer is not None:
            figures["compared"] = cores
            text = f"whether {describe('cores', cores)} pay is seen by comparison with {fewer:g}"
            return Choice(fewer, 0.0, {"cores": Why(LadderMalleable.name, "compare", figures, text)}, {})
        return Choice(cores, 0.0, {"cores": Why(LadderMalleable.name, rule, figures, text)}, {})

    def learn(self, ticket: Mapping[str, Figure], outcome: Outcome) -> None:
        cores, used, seconds = given(ticket, "given_cores"), outcome.usage.cores_average, run_s(outcome)
        long_enough = seconds >= SHORTEST_S  # CPU time is counted in clock ticks
        if outcome.ending is not Ending.SUCCESS or cores is None or used is None or not long_enough:
            return
        known, memory_bytes = self.learned, given(ticket, "given_memory_bytes") or 0.0
        known.traces["cores"].add(f"{cores:g}", cores, memory_bytes, min(0.0, used.value - cores))
        if not 0 < used.value < 2.0**20:
            return
        known.speeds.add(cores, outcome.task, seconds, min(used.value, cores), afresh="again" in ticket)
        if cores < 2:
            return
        known.seen += 1
        known.most_cores = max(known.most_cores, cores)
        found = serial_share(cores, used.value)
        known.serial += (found - known.serial) / (2 if "again" in ticket else min(known.seen, _LONGEST_MEAN))


def cheapest_cores(serial: float, memory_share: float, machine_cores: float) -> float:
    """Return the cores for which (cores / machine's cores + share of memory) times run time is least.

    >>> cheapest_cores(0.5, 0.25, 16.0)   # sqrt(0.5 / 0.5 * 0.25 * 16)
    2.0
    """
    return sqrt((1.0 - serial) / serial * memory_share * machine_cores)


def serial_share(cores: float, busy: float) -> float:
    """Return the share of the work that is serial, by Amdahl's law.

    >>> serial_share(4.0, 1.0), serial_share(4.0, 4.0), serial_share(2.0, 1.6)
    (1.0, 0.001, 0.25)
    """
    inside = min(max(1.0, busy), cores)
    return max(_LEAST_SERIAL, (1.0 / inside - 1.0 / cores) / (1.0 - 1.0 / cores))
