"""The memory model follows Table II of Witt et al. 2019, and input sizes are those that it drew."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.generators import MemoryModel, generate
from headway.model.instance import Instance

OWN = ("cybershake", "epigenomics", "ligo", "montage", "sipht")
LINEAR = MemoryModel(linear_probability=1.0)
INDEPENDENT = MemoryModel(linear_probability=0.0)

Figures = tuple[np.ndarray, np.ndarray]  # input sums and memory of a category's tasks, in bytes


def by_category(instance: Instance, at_least: int = 1) -> dict[str, Figures]:
    rows: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for task in instance.workflow:
        sum_bytes = sum(instance.file_bytes[path] for path in task.inputs)
        rows[task.category].append((sum_bytes, instance.recorded[task.id].memory_bytes or 0))
    many = {category: np.array(pairs, float).T for category, pairs in rows.items() if len(pairs) >= at_least}
    return {category: (pairs[0], pairs[1]) for category, pairs in many.items()}


@pytest.mark.parametrize("model", [LINEAR, INDEPENDENT, MemoryModel()])
def test_mean_and_deviation_of_categories(model: MemoryModel) -> None:
    found = {
        (family, seed, category): memory
        for family in OWN
        for seed in range(3)
        for category, (_, memory) in by_category(generate(family, 2000, seed, model), 300).items()
    }
    assert len(found) > 20
    for memory in found.values():
        shares = memory.std() / memory.mean()
        assert 1e9 * 0.95 < memory.mean() < 1e12 * 1.05
        assert 0.03 * 0.8 < shares < 0.1 * 1.2
    means = np.array([memory.mean() for memory in found.values()])
    assert means.min() < 3e11 < 7e11 < means.max()  # spread over the range


def test_linear_categories_follow_equation_5() -> None:
    for family in OWN:
        for inputs, memory in by_category(generate(family, 2000, 7, LINEAR), 300).values():
            slope, _ = np.polyfit(inputs, memory, 1)
            through_origin = (inputs * memory).sum() / (inputs**2).sum()
            assert 1 * 0.98 < through_origin < 10 * 1.02
            assert slope == pytest.approx(through_origin, rel=0.5)
            unexplained = (memory - through_origin * inputs).var() / memory.var()
            assert 0.1 * 0.7 < unexplained < 0.75 * 1.3
            assert np.corrcoef(inputs, memory)[0, 1] == pytest.approx((1 - unexplained) ** 0.5, abs=0.1)


def test_other_categories_do_not_depend_on_their_inputs() -> None:
    plain = generate("ligo", 2000, 3)
    instance = generate("ligo", 2000, 3, INDEPENDENT)
    assert instance.file_bytes == plain.file_bytes
    inputs, memory = by_category(instance)["Inspiral"]
    assert abs(np.corrcoef(inputs, memory)[0, 1]) < 0.15


@settings(max_examples=40)
@given(
    st.sampled_from(OWN),
    st.integers(20, 200),
    st.integers(0, 10**6),
    st.tuples(st.integers(1, 10**6), st.integers(1, 10**13)).map(lambda pair: (float(min(pair)), float(max(pair)))),
)
def test_shape_and_run_times_stay(family: str, tasks: int, seed: int, mean: tuple[float, float]) -> None:
    plain = generate(family, tasks, seed)
    instance = generate(family, tasks, seed, MemoryModel(mean_bytes=mean, linear_probability=1.0))
    workflow = instance.workflow
    assert [(task.id, task.parents, task.outputs) for task in workflow] == [
        (task.id, task.parents, task.outputs) for task in plain.workflow
    ]
    for task in workflow:
        recorded = instance.recorded[task.id]
        assert recorded.memory_bytes and recorded.memory_bytes > 0
        assert recorded.run_s == plain.recorded[task.id].run_s
        assert recorded.read_bytes == sum(instance.file_bytes[path] for path in task.inputs)
    for path in workflow.producer:
        assert 0 <= instance.file_bytes[path] <= plain.file_bytes[path]


def test_about_half_of_the_categories_are_linear() -> None:
    linear = total = 0
    for seed in range(40):
        plain = generate("sipht", 300, seed)
        instance = generate("sipht", 300, seed, MemoryModel())
        changed = {
            task.category
            for task in instance.workflow
            if instance.recorded[task.id].read_bytes != plain.recorded[task.id].read_bytes
            and "_data" in str(task.inputs)
        }
        alone = {"FFN_Parse", "Blast_candidate", "Blast_paralogues", "RNAMotif", "Transterm"}  # small inputs
        linear += len(changed & alone)
        total += len(alone)
    assert 0.38 < linear / total < 0.62
