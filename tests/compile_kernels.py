"""Compile the kernels that the tests use, so that the tests find the machine code and do not all compile it."""

from __future__ import annotations

import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import headway
from headway.kernels import compiled
from headway.kernels.bucketing import exhaustive_buckets, greedy_buckets
from headway.waiting.asa import Asa
from headway.waiting.base import Shape
from headway.waiting.corrected_estimate import CorrectedEstimate
from headway_papers.feedback.units import Unit, carry_out


def queues() -> None:
    """Compile the batch queue and the list schedule."""
    _at_once()
    with tempfile.TemporaryDirectory() as folder:
        montage = str(Path(folder) / "montage.json")
        headway.generate("montage", tasks=60, output=montage)
        headway.simulate("lublin", jobs=10, machine=8)
        headway.simulate("lublin", jobs=10, machine=8, workflow=montage, plan=("headway",))


def pools_and_learners() -> None:
    """Compile the fixed pool of the papers with its predictors, the buckets, and the models of queue waits."""
    _at_once()
    shape = Shape(nodes=1, asked_s=60.0, estimate_s=60.0)
    for _ in range(2):  # a kernel is compiled by its second call
        carry_out(Unit("sipht", 0, tasks=30))
        for buckets in (greedy_buckets, partial(exhaustive_buckets, most=10)):
            buckets(np.array([1.0, 2.0, 3.0]), np.array([1, 2, 3]))
        for model in (Asa(), CorrectedEstimate()):
            for _ in range(3):
                model.observe(shape, {}, 60.0)
                model.predict(shape)


def _at_once() -> None:
    compiled.PATIENCE_S = compiled.PATIENCE_IF_KEPT_S = 0.0


if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as both:
        for made in [both.submit(queues), both.submit(pools_and_learners)]:
            made.result()
