"""Families that the WfCommons package has recipes for: shapes and figures learned from real executions.

The package is large (pandas, scipy, matplotlib), so it is imported only for these families.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from headway.generators.draft import SHORTEST_S, instance_of
from headway.generators.family import Family
from headway.model.errors import InputError
from headway.model.instance import Instance, Recorded
from headway.model.task import Task


def make(recipe: str, name: str, tasks: int, seed: int) -> Instance:
    """Generate a workflow by a recipe of WfCommons, with `tasks` tasks or a few less."""
    package = _package()
    with _deterministic(seed):
        built = _build(getattr(package, f"{recipe}Recipe"), tasks)
    names = _file_names(built)
    made: list[Task] = []
    recorded: dict[str, Recorded] = {}
    file_bytes: dict[str, int] = {}
    for task_id, task in _tasks(built):
        files = [*task.input_files, *task.output_files]
        file_bytes |= {names[file.file_id]: max(1, int(file.size)) for file in files}
        recorded[task_id] = Recorded(run_s=max(SHORTEST_S, float(task.runtime)), cores=float(task.cores or 1))
        made.append(
            Task(
                id=task_id,
                category=task.name,
                command="",
                inputs=tuple(names[file.file_id] for file in task.input_files),
                outputs=tuple(names[file.file_id] for file in task.output_files),
                parents=tuple(built.predecessors(task_id)),
            )
        )
    return instance_of(name, made, recorded, file_bytes, f"made up by the {recipe} recipe of WfCommons")


def _package() -> Any:
    try:
        from wfcommons.wfchef import recipes  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise InputError(
            "this family is made up by WfCommons, which is not installed",
            todo="install it with `pip install 'headway[generate]'`",
        ) from error
    return recipes


def _build(recipe: Any, tasks: int) -> Any:
    from wfcommons.wfchef.wfchef_abstract_recipe import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        BaseMethod,
    )

    wanted = tasks + 2  # recipes count a source and a sink as tasks
    try:
        return recipe(num_tasks=wanted).build_workflow()
    except ValueError:  # the recipe's best example is larger than that
        return recipe(num_tasks=wanted, base_method=BaseMethod.SMALLEST).build_workflow()


def _tasks(built: Any) -> Iterator[tuple[str, Any]]:
    for task_id in built.nodes:
        yield task_id, built.nodes[task_id]["task"]


def _file_names(built: Any) -> dict[str, str]:
    """Return reproducible file names instead of random ones, after the task that writes or reads the file."""
    names: dict[str, str] = {}
    for kind in ("output", "input"):
        for task_id, task in _tasks(built):
            for number, file in enumerate(getattr(task, f"{kind}_files"), start=1):
                names.setdefault(file.file_id, f"{task_id}_{kind}_{number}{os.path.splitext(file.file_id)[1]}")
    return names


@contextmanager
def _deterministic(seed: int) -> Iterator[None]:
    """Make the recipes depend on the seed alone, and restore everything afterwards.

    They draw from Python's and numpy's global generators, and copy sets of nodes in the order of their hashes, which
    differs from process to process.
    """
    import random

    import numpy as np
    from wfcommons.wfchef import duplicate  # type: ignore[import-not-found,import-untyped,unused-ignore]

    states = random.getstate(), np.random.get_state()
    in_any_order: Callable[[Any, Collection[str]], Any] = duplicate.duplicate_nodes
    duplicate.duplicate_nodes = lambda graph, nodes: in_any_order(graph, sorted(nodes))
    random.seed(seed)
    np.random.seed(seed % 2**32)
    try:
        yield
    finally:
        duplicate.duplicate_nodes = in_any_order
        random.setstate(states[0])
        np.random.set_state(states[1])


def _family(recipe: str, about: str, fewest_tasks: int, *aliases: str) -> Family:
    return Family(f"{about} (needs WfCommons)", fewest_tasks, partial(make, recipe), aliases)


FAMILIES = {
    "1000genome": _family("Genome", "mutations that people have in common", 52),
    "blast": _family("Blast", "sequences looked up in a split database", 43),
    "bwa": _family("Bwa", "DNA reads aligned in split batches", 104),
    "cycles": _family("Cycles", "crop simulations over a grid of parameters", 67),
    "rnaseq": _family("Rnaseq", "RNA reads; the recipe has no dependencies", 63),
    "seismology": _family("Seismology", "pairs of seismograms, all into one wrap-up", 101),
    "soykb": _family("Soykb", "variants in soybean genomes", 96),
    "srasearch": _family("Srasearch", "sequence archives searched in parallel", 22),
}
