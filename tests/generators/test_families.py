"""Generated workflows: published shapes, the requested number of tasks, and reproducible by seed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.formats.wfformat import parse_wfformat
from headway.formats.wfformat_out import wfformat
from headway.generators import GENERATORS, MemoryModel, generate
from headway.generators.draft import Draft
from headway.model.errors import InputError
from headway.model.instance import Instance

OWN = ("cybershake", "epigenomics", "ligo", "montage", "sipht")
OTHERS = tuple(name for name in GENERATORS if name not in OWN)
# Levels as in Bharathi et al. 2008 and in files made by the Pegasus WorkflowGenerator.
LEVELS = {"cybershake": 4, "epigenomics": 9, "ligo": 6, "montage": 9, "sipht": 5}
POSSIBLE: dict[str, Callable[[int], bool]] = {
    "cybershake": lambda tasks: tasks != 6,
    "epigenomics": lambda tasks: tasks % 2 == 1 and tasks != 17,
    "ligo": lambda tasks: tasks % 2 == 0,
    "montage": lambda tasks: tasks not in (12, 13, 16),
    "sipht": lambda tasks: True,
}


def check_figures(instance: Instance) -> None:
    """Check what holds for every generated instance."""
    workflow = instance.workflow
    for task in workflow:
        recorded = instance.recorded[task.id]
        assert recorded.run_s and recorded.run_s > 0
        assert recorded.read_bytes == sum(instance.file_bytes[path] for path in task.inputs)
        assert recorded.written_bytes == sum(instance.file_bytes[path] for path in task.outputs)
    used = {path for task in workflow for path in (*task.inputs, *task.outputs)}
    assert used == instance.file_bytes.keys()


@settings(max_examples=60)
@given(st.sampled_from(OWN), st.integers(5, 400), st.integers(0, 2**40))
def test_any_size_and_seed_gives_a_valid_instance(family: str, tasks: int, seed: int) -> None:
    fewest = GENERATORS[family].fewest_tasks
    if tasks < fewest:
        with pytest.raises(InputError, match="too few"):
            generate(family, tasks, seed)
        return
    instance = generate(family, tasks, seed)
    check_figures(instance)
    workflow = instance.workflow
    assert len(workflow.widths()) == LEVELS[family]
    possible = POSSIBLE[family]
    nearest = min((n for n in range(fewest, tasks + 3) if possible(n)), key=lambda n: (abs(n - tasks), n))
    assert len(workflow) == nearest
    for task in workflow:  # files say it all: nothing is known of parents that files do not imply
        assert set(task.parents) == {workflow.producer[path] for path in task.inputs if path in workflow.producer}


@pytest.mark.parametrize(
    ("family", "tasks", "widths"),
    [  # as in files that the Pegasus WorkflowGenerator made
        ("cybershake", 50, [2, 23, 24, 1]),
        ("cybershake", 500, [4, 247, 248, 1]),
        ("montage", 50, [8, 28, 1, 1, 8, 1, 1, 1, 1]),
        ("montage", 500, [82, 330, 1, 1, 82, 1, 1, 1, 1]),
        ("epigenomics", 47, [2, 10, 10, 10, 10, 2, 1, 1, 1]),
        ("epigenomics", 497, [19, 114, 114, 114, 114, 19, 1, 1, 1]),
        ("sipht", 48, [32, 4, 8, 2, 2]),
        ("sipht", 242, [178, 16, 32, 8, 8]),
    ],
)
def test_shapes_are_the_published_ones(family: str, tasks: int, widths: list[int]) -> None:
    assert generate(family, tasks, seed=3).workflow.widths() == widths


def test_montage_fits_each_image_to_others() -> None:
    workflow = generate("montage", 300, seed=1).workflow
    pairs = [task.parents for task in workflow if task.category == "mDiffFit"]
    assert len(set(pairs)) == len(pairs)
    assert all(len(set(pair)) == 2 for pair in pairs)
    images = {task.id for task in workflow if task.category == "mProjectPP"}
    assert set().union(*pairs) == images


def test_ligo_has_the_published_structure() -> None:
    workflow = generate("ligo", 400, seed=5).workflow
    above = {
        (task.category, tuple(sorted({workflow.tasks[parent].category for parent in task.parents})))
        for task in workflow
    }
    assert above == {
        ("TmpltBank", ()),
        ("Inspiral", ("TmpltBank",)),
        ("Inspiral", ("TrigBank",)),
        ("Thinca", ("Inspiral",)),
        ("TrigBank", ("Thinca",)),
    }


@pytest.mark.parametrize(("mean", "deviation"), [(460.21, 545.0), (13.59, 0.245)])
def test_draws_have_the_published_mean_and_deviation(mean: float, deviation: float) -> None:
    draft = Draft("w", 11)
    drawn = [draft.draw(mean, deviation) for _ in range(20_000)]
    found = sum(drawn) / len(drawn)
    spread = (sum((value - found) ** 2 for value in drawn) / len(drawn)) ** 0.5
    assert found == pytest.approx(mean, rel=0.03)
    assert spread == pytest.approx(deviation, rel=0.05)
    assert min(drawn) > 0


@settings(max_examples=20)
@given(st.integers(1, 500), st.integers(1, 50), st.integers(0, 1000))
def test_shares_are_complete_and_none_is_empty(more: int, parts: int, seed: int) -> None:
    shares = Draft("w", seed).shares(parts + more, parts)
    assert (len(shares), sum(shares)) == (parts, parts + more)
    assert min(shares) >= 1


@pytest.mark.parametrize("family", OWN)
def test_a_written_instance_reads_back_the_same(family: str) -> None:
    instance = generate(family, 60, 2, MemoryModel())
    again = parse_wfformat(wfformat(instance))
    assert again.recorded == instance.recorded
    assert again.file_bytes == instance.file_bytes
    assert again.workflow.tasks == instance.workflow.tasks


def test_other_seeds_give_other_figures() -> None:
    texts = {wfformat(generate(family, 110, seed)) for family in OWN for seed in range(3)}
    assert len(texts) == 3 * len(OWN)


def test_names() -> None:
    assert wfformat(generate("Genome", 51, 1)) == wfformat(generate("epigenomics", 51, 1))
    with pytest.raises(InputError, match="did you mean 'sipht'"):
        generate("siph", 50)
    with pytest.raises(InputError, match="negative"):
        generate("sipht", 50, -1)


# --- those of WfCommons ---


@pytest.fixture(scope="module")
def wfcommons() -> None:
    pytest.importorskip("wfcommons", reason="needs the extra `generate`")


@pytest.mark.usefixtures("wfcommons")
@pytest.mark.parametrize("family", OTHERS)
def test_recipes_of_wfcommons(family: str) -> None:
    fewest = GENERATORS[family].fewest_tasks
    for tasks in (fewest, fewest + 7, 250):
        instance = generate(family, tasks, 1)
        check_figures(instance)
        assert fewest <= len(instance.workflow) <= tasks
    with pytest.raises(InputError, match=f"at least {fewest}"):
        generate(family, fewest - 1, 1)
    levels = len(instance.workflow.widths())
    assert levels > 1 or family == "rnaseq"


@pytest.mark.usefixtures("wfcommons")
def test_recipes_restore_the_global_random_generators() -> None:
    import random

    import numpy as np

    random.seed(4)
    np.random.seed(4)
    expected = random.random(), np.random.random()
    random.seed(4)
    np.random.seed(4)
    generate("blast", 50, 1)
    assert (random.random(), np.random.random()) == expected


@pytest.mark.usefixtures("wfcommons")
@pytest.mark.slow
def test_every_process_generates_the_same() -> None:
    """Sets of names have another order in every process; the result must not depend on it."""
    code = (
        "import hashlib; from headway.generators import *; from headway.formats.wfformat_out import wfformat\n"
        "for name in GENERATORS:\n"
        "    print(name, hashlib.sha256(wfformat(generate(name, 130, 9, MemoryModel()))).hexdigest())"
    )
    answers = Counter(
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        ).stdout
        for seed in ("1", "2")
    )
    assert len(answers) == 1
    assert next(iter(answers)).count("\n") == len(GENERATORS)


def test_without_wfcommons_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['wfcommons'] = None\n"
        "from headway.generators import generate\n"
        "generate('montage', 20, 1)\n"
        "generate('blast', 50, 1)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert "pip install 'headway[generate]'" in done.stderr
    assert "InputError" in done.stderr
