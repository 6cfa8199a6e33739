"""Replay tasks whose memory over time is known with KS+, k-Segments and `ladder`; write docs/memory-over-time.md.

`python -m benchmarks.memory_over_time`

KS+ (Bader et al. 2024) and k-Segments (Bader et al. 2023) predict memory as a step function of time. Their rules are
taken from the papers' code. Every attempt is charged what it held, failed ones too.
"""

from __future__ import annotations

import datetime
import os
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from headway.formats.read_task_log import read_task_log
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.task_log import LoggedTask
from headway.sizing.base import CannotFit, Context
from headway.sizing.estimators.linear_regression import Line
from headway.sizing.ladder_sizer import ladder_sizer
from headway.sizing.per_resource import PerResource

PAGE = Path(__file__).parents[1] / "docs" / "memory-over-time.md"
TABLES = re.compile(r"(<!-- table: python -m benchmarks.memory_over_time -->\n).*(<!-- end -->)", re.DOTALL)
LOG = Path("ksegments-traces") / "tasks.csv.gz"
MEMORY = "memory_bytes"
SEGMENTS = 4  # of both papers
LEAST = 100e6  # KS+ and k-Segments give no less than 100 MB
ENOUGH = 5  # records before the shape of a category's memory is used
DIAL = (0.0, 0.01, 0.03, 0.1, 1.0)  # of `ladder`: which share of attempts may fail
FLAT = ("ladder, 0", "ladder, 1%", "ladder, 3%", "ladder, 10%", "ladder, any")
TOLD = "run times known"
MANY = 1.1  # times the failures of the ladder that allows any: more are not equal failures
WORTH, TRACES = 0.10, 3  # a step function is built if it saves more than this on so many traces
MOST_ATTEMPTS = 100


class Steps(NamedTuple):
    """Amounts over time: `amounts[i]` is held until second `ends[i]`, the last one to the end."""

    ends: list[float]
    amounts: list[float]

    def at(self, second: float) -> float:
        """Return the amount that is held at a time."""
        return self.amounts[min(bisect_right(self.ends, second), len(self.amounts) - 1)]

    def index(self, second: float) -> int:
        """Return which step that is; beyond the last end it is the last step."""
        return min(bisect_right(self.ends, second), len(self.amounts) - 1)


class Spent(NamedTuple):
    """What a way of sizing held in total, and how many attempts failed."""

    gb_hours: float
    failed: int


class Way(ABC):
    """Sizes one task after the other, and learns from each."""

    @abstractmethod
    def first(self, task: LoggedTask) -> Steps:
        """Return what the first attempt gets."""

    @abstractmethod
    def again(self, task: LoggedTask, before: Steps, failed_at: float, failures: Sequence[float]) -> Steps:
        """Return what the next attempt gets, after one that failed at a time; `failures` are the amounts then."""

    @abstractmethod
    def learn(self, task: LoggedTask) -> None:
        """Learn from a task's success."""


class ByCategory(Way):
    """Asks one model for each category; before it has learned enough, the workflow's request counts."""

    def __init__(self, make: Callable[[], Segmented]) -> None:
        self._make = make
        self._models: dict[str, Segmented] = {}

    def first(self, task: LoggedTask) -> Steps:
        model = self._models.get(task.category)
        found = model.predict(task) if model else None
        return found or Steps([task.run_s], [task.asked.get(MEMORY, 16e9)])

    def again(self, task: LoggedTask, before: Steps, failed_at: float, failures: Sequence[float]) -> Steps:
        model = self._models.get(task.category)
        if model is None or len(before.amounts) == 1:
            return Steps(before.ends, [2 * amount for amount in before.amounts])
        return model.after_failure(before, failed_at)

    def learn(self, task: LoggedTask) -> None:
        if task.category not in self._models:
            self._models[task.category] = self._make()
        if len(task.profile) >= SEGMENTS:  # as KS+: others did not run long enough to learn from
            self._models[task.category].learn(task)


class Segmented(ABC):
    """Predicts the steps of one category's tasks by their input sizes."""

    @abstractmethod
    def predict(self, task: LoggedTask) -> Steps | None:
        """Return the steps; None with fewer than two records."""

    @abstractmethod
    def after_failure(self, before: Steps, failed_at: float) -> Steps:
        """Return the steps of the next attempt."""

    @abstractmethod
    def learn(self, task: LoggedTask) -> None:
        """Learn from a task's memory over time."""


class KSPlus(Segmented):
    """KS+: segments where memory rises, their ends and peaks regressed on input size.

    Ends are taken at 0.85 and peaks at 1.1 of the lines. After a failure in the last segment its peak is multiplied by
    1.2; in another one, that segment ends where the failure was, and the later ones move in proportion.
    """

    def __init__(self) -> None:
        self._ends = [Line() for _ in range(SEGMENTS)]
        self._peaks = [Line() for _ in range(SEGMENTS)]

    def predict(self, task: LoggedTask) -> Steps | None:
        if self._ends[0].records < 2:
            return None
        size = float(task.input_bytes or 0)
        ends = [0.85 * _on(line, size) for line in self._ends]
        peaks = [1.1 * _on(line, size) for line in self._peaks]
        return _monotone(ends, peaks)

    def after_failure(self, before: Steps, failed_at: float) -> Steps:
        index = before.index(failed_at)
        if index == len(before.amounts) - 1:
            return Steps(before.ends, [*before.amounts[:-1], 1.2 * before.amounts[-1]])
        share = failed_at / before.ends[index]
        ends = [share * end if at >= index else end for at, end in enumerate(before.ends)]
        return _monotone(ends, list(before.amounts))

    def learn(self, task: LoggedTask) -> None:
        lengths, peaks = rising_segments(task.profile, SEGMENTS)
        part_s = task.run_s / len(task.profile)
        end = 0
        for at in range(SEGMENTS):
            end += lengths[at]
            self._ends[at].add(float(task.input_bytes or 0), end * part_s)
            self._peaks[at].add(float(task.input_bytes or 0), peaks[at])


def rising_segments(profile: Sequence[float], count: int) -> tuple[list[int], list[float]]:
    """Return the lengths and peaks of so many segments, of which each is higher than the one before.

    Neighbours are merged where that adds least; with too few segments, the last one is repeated.
    """
    lengths, peaks = [1], [profile[0]]
    for value in profile[1:]:
        if value <= peaks[-1]:
            lengths[-1] += 1
        else:
            lengths.append(1)
            peaks.append(value)
    while len(peaks) > count:
        added = [(peaks[at + 1] - peaks[at]) * lengths[at] for at in range(len(peaks) - 1)]
        at = int(np.argmin(added))
        lengths[at : at + 2] = [lengths[at] + lengths[at + 1]]
        del peaks[at]
    while len(peaks) < count:
        lengths.append(10)
        peaks.append(peaks[-1])
    return lengths, peaks


class KSegments(Segmented):
    """k-Segments: equally long parts, their peaks regressed on input size, plus the greatest underestimate of each.

    The run time is a line minus its greatest overestimate. Peaks never fall. After a failure the peak of that segment
    is doubled (`selective`), or also those of all later ones (`partial`).
    """

    def __init__(self, partial: bool) -> None:
        self._partial = partial
        self._sizes: list[float] = []
        self._times: list[float] = []
        self._peaks: list[list[float]] = []

    def predict(self, task: LoggedTask) -> Steps | None:
        if len(self._sizes) < 2:
            return None
        size, sizes = float(task.input_bytes or 0), np.array(self._sizes)
        shortest = _line_with_offset(sizes, np.array(self._times), size, np.min)
        values = [_line_with_offset(sizes, np.array(peaks), size, np.max) for peaks in zip(*self._peaks, strict=True)]
        part_s = max(2.0, shortest / SEGMENTS)
        amounts: list[float] = []
        for value in values:
            amounts.append(max(value if value > 0 else LEAST, amounts[-1] if amounts else 0.0))
        return Steps([part_s * (at + 1) for at in range(SEGMENTS)], amounts)

    def after_failure(self, before: Steps, failed_at: float) -> Steps:
        index = before.index(failed_at)
        raised = [
            2 * amount if at == index or (self._partial and at > index) else amount
            for at, amount in enumerate(before.amounts)
        ]
        return Steps(before.ends, raised)

    def learn(self, task: LoggedTask) -> None:
        part = len(task.profile) // SEGMENTS
        cuts = [*(part * at for at in range(SEGMENTS)), len(task.profile)]
        self._sizes.append(float(task.input_bytes or 0))
        self._times.append(task.run_s)
        self._peaks.append([max(task.profile[one:other]) for one, other in pairwise(cuts)])


class LadderFlat(Way):
    """`ladder`, the same amount from begin to end."""

    def __init__(self, machine: Resources, tolerated: float) -> None:
        self._machine = machine
        self._allocator = PerResource(ladder_sizer, 0, [MEMORY])
        self._allocator.tolerate(tolerated)

    def first(self, task: LoggedTask) -> Steps:
        return Steps([task.run_s], [self._peak(task, [])])

    def again(self, task: LoggedTask, before: Steps, failed_at: float, failures: Sequence[float]) -> Steps:
        used = Usage(
            wall_s=Measured(failed_at, Quality.LOWER_BOUND), memory_bytes=Measured(failures[-1], Quality.LOWER_BOUND)
        )
        self._allocator.observe(_task(task), {}, Outcome(task.id, len(failures), Ending.MEMORY, 0.0, failed_at, used))
        return Steps([task.run_s], [self._peak(task, failures)])

    def learn(self, task: LoggedTask) -> None:
        exact = Quality.EXACT
        used = Usage(wall_s=Measured(task.run_s, exact), memory_bytes=Measured(task.used[MEMORY], exact))
        self._allocator.observe(_task(task), {}, Outcome(task.id, 1, Ending.SUCCESS, 0.0, task.run_s, used))

    def _peak(self, task: LoggedTask, failures: Sequence[float]) -> float:
        context = Context(self._machine, (0, "", task.id, len(failures) + 1))
        answer = self._allocator.allocate(_task(task), {MEMORY: failures}, context)
        return 2 * failures[-1] if isinstance(answer, CannotFit) else float(answer.resources.memory_bytes)


class LadderInSteps(LadderFlat):
    """`ladder` for the peak, and below it the highest shape that memory had in any earlier task, in four steps.

    Steps begin by the run time, which it is told beforehand (`told`), or by the shortest of a category so far. An
    attempt that outgrows its shape is repeated with the ladder's amount from begin to end.
    """

    def __init__(self, machine: Resources, tolerated: float, *, told: bool) -> None:
        super().__init__(machine, tolerated)
        self._told = told
        self._shapes: dict[str, list[float]] = {}  # by category: shares of the peak in each part
        self._shortest: dict[str, float] = {}
        self._records: dict[str, int] = {}

    def first(self, task: LoggedTask) -> Steps:
        peak = self._peak(task, [])
        if self._records.get(task.category, 0) < ENOUGH:
            return Steps([task.run_s], [peak])
        run_s = task.run_s if self._told else self._shortest[task.category]
        ends = [run_s * (at + 1) / SEGMENTS for at in range(SEGMENTS)]
        return Steps(ends, [share * peak for share in self._shapes[task.category]])

    def again(self, task: LoggedTask, before: Steps, failed_at: float, failures: Sequence[float]) -> Steps:
        if len(before.amounts) > 1 and failures[-1] < before.amounts[-1]:
            return Steps([task.run_s], [before.amounts[-1]])  # the shape was wrong, not the peak
        flat = [amount for amount in failures if amount >= failures[-1]]
        return super().again(task, before, failed_at, flat)

    def learn(self, task: LoggedTask) -> None:
        super().learn(task)
        known, peak = self._shapes.get(task.category, [0.0] * SEGMENTS), task.used[MEMORY]
        profile = task.profile or [peak]
        highest, shape = 0.0, []
        for at in range(SEGMENTS):
            begin = len(profile) * at // SEGMENTS
            end = max(begin + 1, -(-len(profile) * (at + 1) // SEGMENTS))
            highest = max(highest, *profile[begin:end])
            shape.append(max(known[at], min(1.0, highest / peak)))
        self._shapes[task.category] = [*shape[:-1], 1.0]
        self._shortest[task.category] = min(self._shortest.get(task.category, task.run_s), task.run_s)
        self._records[task.category] = self._records.get(task.category, 0) + 1


def replayed(tasks: Sequence[LoggedTask], way: Way, machine: Resources) -> Spent:
    """Run the tasks in their order; an attempt fails in the first part of its profile that is above what it holds.

    None gets more than the machine has.
    """
    held, failed = 0.0, 0
    for task in tasks:
        steps, failures = _within(way.first(task), machine), []
        for _ in range(MOST_ATTEMPTS):
            failed_at = _fails_at(task, steps)
            held += _held(steps, task.run_s if failed_at is None else failed_at)
            if failed_at is None:
                break
            failed += 1
            failures.append(steps.at(failed_at))
            steps = _within(way.again(task, steps, failed_at, failures), machine)
        else:
            raise RuntimeError(f"{task.id} never got enough")
        way.learn(task)
    return Spent(held / 3600e9, failed)


def _within(steps: Steps, machine: Resources) -> Steps:
    return Steps(steps.ends, [min(amount, float(machine.memory_bytes)) for amount in steps.amounts])


def _fails_at(task: LoggedTask, steps: Steps) -> float | None:
    profile = task.profile or (task.used[MEMORY],)
    part_s = task.run_s / len(profile)
    for at, used in enumerate(profile):
        middle = (at + 0.5) * part_s
        if used > steps.at(middle):
            return middle
    return None


def _held(steps: Steps, until_s: float) -> float:
    """Return the amount over time, up to a second."""
    total, begin = 0.0, 0.0
    for at, amount in enumerate(steps.amounts):
        end = until_s if at == len(steps.amounts) - 1 else min(max(begin, steps.ends[at]), until_s)
        total += amount * (end - begin)
        begin = end
    return total


def _on(line: Line, size: float) -> float:
    return line.mean_y + line.slope * (size - line.mean_x)


def _line_with_offset(
    sizes: np.ndarray, values: np.ndarray, size: float, extreme: Callable[[np.ndarray], float]
) -> float:
    from_mean = sizes - sizes.mean()
    spread = float(from_mean @ from_mean)
    slope = float(from_mean @ (values - values.mean())) / spread if spread > 0 else 0.0
    errors = values - values.mean() - slope * from_mean
    return float(values.mean() + slope * (size - sizes.mean()) + extreme(errors))


def _monotone(ends: list[float], peaks: list[float]) -> Steps:
    """Make ends rise from the last one back, and peaks from 100 MB on, as KS+ does."""
    for at in range(len(ends) - 2, -1, -1):
        ends[at] = min(ends[at], ends[at + 1])
    least = LEAST
    for at, peak in enumerate(peaks):
        least = peaks[at] = max(peak, least)
    return Steps(ends, peaks)


def _task(task: LoggedTask) -> Task:
    return Task(task.id, task.category, "-", hints=dict(task.asked), input_bytes=task.input_bytes)


def main() -> None:
    log = read_task_log(Path(os.environ["HEADWAY_DATA"]) / LOG)
    tasks = [task for task in log.tasks if task.run_s > 0]
    machine = log.machine.memory_bytes / 1e9
    lines = [f"`python -m benchmarks.memory_over_time`, {datetime.date.today()}, on nodes of {machine:.0f} GB:"]
    best: dict[str, tuple[str, float]] = {}
    for workflow in ("eager", "sarek"):
        own = [task for task in tasks if task.category.startswith(f"{workflow}/")]
        found = {name: replayed(own, way, log.machine) for name, way in ways(log.machine).items()}
        dial = [each for name, each in found.items() if name in FLAT]
        saved = {name: 1 - each.gb_hours / flat_with(dial, each.failed) for name, each in found.items()}
        most = MANY * max(each.failed for each in dial)
        stepped = {
            name: saved[name]
            for name, each in found.items()
            if name not in FLAT and TOLD not in name and each.failed <= most
        }
        best[workflow] = max(stepped.items(), key=lambda item: item[1])
        lines += ["", f"### {workflow}, {len(own):,} tasks", "", *table(found, saved, most), "", bounds(own)]
    lines += ["", verdict(best)]
    page = PAGE.read_text()
    PAGE.write_text(TABLES.sub(lambda match: match[1] + "\n".join(lines) + "\n" + match[2], page))
    print("\n".join(lines))


def ways(machine: Resources) -> dict[str, Way]:
    """Return all that is compared, new."""
    found: dict[str, Way] = {
        "KS+": ByCategory(KSPlus),
        "k-Segments, selective": ByCategory(lambda: KSegments(partial=False)),
        "k-Segments, partial": ByCategory(lambda: KSegments(partial=True)),
    }
    for name, share in zip(FLAT, DIAL, strict=True):
        found[name] = LadderFlat(machine, share)
    for share in (0.03, 1.0):
        shown = "any" if share == 1 else f"{share:.0%}"
        found[f"ladder in steps, {shown}"] = LadderInSteps(machine, share, told=False)
        found[f"ladder in steps, {shown}, {TOLD}"] = LadderInSteps(machine, share, told=True)
    return found


def flat_with(dial: Sequence[Spent], failed: int) -> float:
    """Return the GB·h of the flat ladder with so many failures, interpolated between the settings of its dial."""
    points = sorted((each.failed, each.gb_hours) for each in dial)
    return float(np.interp(failed, [point[0] for point in points], [point[1] for point in points]))


def table(found: Mapping[str, Spent], saved: Mapping[str, float], most: float) -> Iterator[str]:
    yield "| | held, GB·h | failed attempts | saved at equal failures |"
    yield "|---|--:|--:|--:|"
    for name, spent in sorted(found.items(), key=lambda item: item[1].gb_hours):
        gain = "" if name in FLAT else f"{saved[name]:+.0%}{'*' if spent.failed > most else ''}"
        yield f"| {name} | {spent.gb_hours:,.0f} | {spent.failed:,} | {gain} |"


def bounds(tasks: Sequence[LoggedTask]) -> str:
    """Say what sizing without any error would hold."""
    profiles = [(task.run_s / 3600e9, np.array(task.profile or [task.used[MEMORY]])) for task in tasks]
    peak = sum(hours * float(profile.max()) for hours, profile in profiles)
    rising = sum(hours * float(np.maximum.accumulate(profile).mean()) for hours, profile in profiles)
    used = sum(hours * float(profile.mean()) for hours, profile in profiles)
    return (
        f"With everything known beforehand, tasks would hold {peak:,.0f} GB·h with their peaks from begin to end, "
        f"{rising:,.0f} with steps that only rise, {used:,.0f} with steps that also fall."
    )


def verdict(best: Mapping[str, tuple[str, float]]) -> str:
    """Say whether a step function is worth building."""
    said = "; ".join(f"{gain:+.0%} on {workflow} ({name})" for workflow, (name, gain) in best.items())
    enough = sum(gain > WORTH for _, gain in best.values())
    decision = "build it" if enough >= TRACES else "do not build it"
    return (
        f"**Verdict: {decision}.** It had to save more than {WORTH:.0%} at equal failures on {TRACES} traces. Without "
        f"being told run times, and with no more failures than a ladder has, the most that was saved is {said}: more "
        f"than {WORTH:.0%} on {enough} of the {len(best)} traces that tell memory over time."
    )


if __name__ == "__main__":
    main()
