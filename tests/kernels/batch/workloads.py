"""Small workloads with all that is hard in them: ties, bursts, equal ends, jobs that fill the machine."""

from __future__ import annotations

from typing import NamedTuple

import hypothesis.strategies as st

from headway.kernels.batch.queue import BatchQueue, Scheduling
from tests.kernels.batch.oracle import Oracle

MACHINES = (1, 2, 3, 5, 8, 10, 63, 64, 65, 70)
BACKFILLS = ("fcfs", "easy", "conservative")
SELECTIONS = ("counts", "ids", "contiguous")
RULES = ("pyss", "batsched")
SPANS = (1, 2, 3, 4, 5, 7, 10, 16)
SCALES = (1.0, 1.0, 0.1, 1 / 3)  # of time: fractions too


class Workload(NamedTuple):
    machine: int
    jobs: list[tuple[float, int, float, float]]  # submit, nodes, req, run
    scale: float

    def queue(self, scheduling: Scheduling, most_jobs: int | None = None) -> BatchQueue:
        columns = list(zip(*self.jobs, strict=True)) or [(), (), (), ()]
        submit, nodes, req, run = columns
        return BatchQueue(self.machine, scheduling, submit=submit, nodes=nodes, req=req, run=run, most_jobs=most_jobs)

    def oracle(self, scheduling: Scheduling) -> Oracle:
        return Oracle(self.machine, scheduling, self.jobs)

    def accurate(self) -> Workload:
        return self._replace(jobs=[(submit, nodes, req, req) for submit, nodes, req, _ in self.jobs])


def schedulings(**fixed: object) -> st.SearchStrategy[Scheduling]:
    """Any way of scheduling, with these given."""
    choices: dict[str, st.SearchStrategy[object]] = {
        "backfill": st.sampled_from(BACKFILLS),
        "nodes": st.sampled_from(SELECTIONS),
        "rules": st.sampled_from(RULES),
        "depth": st.integers(1, 4),
        "dependency": st.sampled_from(("slurm", "reserved")),
    }
    choices.update({name: st.just(value) for name, value in fixed.items()})
    return st.builds(Scheduling, **choices)


def shapes(machine: int) -> st.SearchStrategy[tuple[int, int, int]]:
    """Nodes, requested and real spans of a job: narrow, half of the machine, about all of it; often in full."""
    nodes = st.one_of(
        st.integers(1, min(3, machine)),
        st.integers(1, machine),
        st.integers(max(1, machine // 2 - 1), min(machine, machine // 2 + 1)),
        st.just(machine),
    )
    spans = st.sampled_from([(req, run) for req in SPANS for run in {req, (req + 1) // 2, 1}])
    return st.builds(lambda n, span: (n, *span), nodes, spans)


@st.composite
def workloads(draw: st.DrawFn, most: int = 14) -> Workload:
    machine, scale = draw(st.sampled_from(MACHINES)), draw(st.sampled_from(SCALES))
    gaps = st.sampled_from((0, 0, 0, 1, 1, 2, 4, 9))
    jobs, clock = [], 0
    for gap, (nodes, req, run) in draw(st.lists(st.tuples(gaps, shapes(machine)), max_size=most)):
        clock += gap
        jobs.append((clock * scale, nodes, req * scale, run * scale))
    return Workload(machine, jobs, scale)
