"""The three workflows of Souza et al. 2020 as stages with nodes and seconds, derived from the text and Table 1."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from headway.model.instance import Instance, Recorded
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway_papers.asa.published import BLAST, MONTAGE, PER_STAGE, TABLE_1

# §4.3. Montage's nine stages are "grouped into two parallel (first two, and fifth) and two sequential (third and
# fourth, and last three)"; the sixth is in neither, and taken with the last. Statistics has "two sequential and two
# parallel stages, intertwined". The paper does not say how the time of each kind is divided: here by their number.
_PARALLEL, _SEQUENTIAL = "parallel", "sequential"
_MONTAGE = ((_PARALLEL, 2 / 3), (_SEQUENTIAL, 1 / 3), (_PARALLEL, 1 / 3), (_SEQUENTIAL, 2 / 3))
_BLAST = ((_PARALLEL, 1.0), (_SEQUENTIAL, 1.0))
_STATISTICS = ((_SEQUENTIAL, 0.5), (_PARALLEL, 0.5), (_SEQUENTIAL, 0.5), (_PARALLEL, 0.5))
# BLAST's core-hours are rounded and leave next to nothing for its sequential stage, which must not take 0 s.
_LEAST_SEQUENTIAL = 0.02


class Stage(Struct, frozen=True):
    """A stage of a workflow: one task on each of its nodes."""

    nodes: int
    run_s: float


@lru_cache
def stages(workflow: str, cores: int, cores_of_node: int) -> tuple[Stage, ...]:
    """The stages in order. Tasks have whole nodes: a sequential stage has one.

    With R seconds and C core-hours of the Per-Stage run in Table 1, P of parallel and S = R - P of sequential stages:
    cores x P + S = 3600 C, as if a sequential stage were charged for one core. That fits the table: with whole nodes
    the core-hours of Montage on 28 cores, say, could not be below Big Job's.
    """
    measured = TABLE_1[workflow, cores][PER_STAGE]
    parallel_s = (3600 * measured.core_hours - measured.run_s) / (cores - 1)
    if workflow not in (MONTAGE, BLAST):
        parallel_s = measured.run_s / 2  # on 28 cores all were charged all the time, else half
    sequential_s = max(_LEAST_SEQUENTIAL * measured.run_s, measured.run_s - parallel_s)
    times_s = {_PARALLEL: measured.run_s - sequential_s, _SEQUENTIAL: sequential_s}
    shape = _MONTAGE if workflow == MONTAGE else _BLAST if workflow == BLAST else _STATISTICS
    nodes = {_PARALLEL: cores // cores_of_node, _SEQUENTIAL: 1}
    return tuple(Stage(nodes[kind], float(round(part * times_s[kind]))) for kind, part in shape)


@lru_cache
def instance(workflow: str, cores: int, cores_of_node: int) -> Instance:
    """The workflow as a recorded instance: every task of a stage depends on all tasks of the stage before."""
    made = Workflow(f"{workflow}-{cores}")
    recorded: dict[str, Recorded] = {}
    before: tuple[str, ...] = ()
    for number, stage in enumerate(stages(workflow, cores, cores_of_node), start=1):
        ids = tuple(f"stage-{number}-{node}" for node in range(1, stage.nodes + 1))
        for task_id in ids:
            hints = {"cores": float(cores_of_node)}
            made.add([Task(task_id, f"stage-{number}", "", parents=before, hints=hints)])
            recorded[task_id] = Recorded(run_s=stage.run_s, cores=float(cores_of_node))
        before = ids
    return Instance(made, recorded)
