"""The table of ways of sizing, and what a plugin may be."""

from __future__ import annotations

import pytest

from headway.model.errors import InputError
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing import SIZERS
from headway.sizing.agents.q_learning import QLearning
from headway.sizing.base import Context, Prediction
from headway.sizing.estimated import EstimatedSizer
from headway.sizing.estimators.maximum import MaxSeen
from headway.sizing.estimators.percentile import Percentile50
from headway.sizing.ladder_sizer import ladder_sizer
from headway.sizing.per_resource import PerResource
from headway.sizing.ways import from_plugin
from tests.sizing.made import sizer_of

TASK = Task("t", "c", "true", outputs=("o",))


def test_every_entry_describes_itself() -> None:
    assert all(way.name == name and len(way.about) > 20 for name, way in SIZERS.items())


def test_a_plugin_may_be_an_estimator_a_sizer_or_agents() -> None:
    estimated = from_plugin("median", Percentile50)
    assert isinstance(estimated.allocator(0), PerResource) and estimated.sizer is not None
    sizer = estimated.sizer("cores")
    assert isinstance(sizer, EstimatedSizer) and sizer.name == "median"
    assert from_plugin("mine", EstimatedSizer).sizer is EstimatedSizer
    assert isinstance(from_plugin("walk", QLearning).allocator(0), QLearning)
    with pytest.raises(InputError, match="'number' is no Estimator, Sizer or MalleableAllocator"):
        from_plugin("number", int)


def test_max_seen_doubles_walltime_after_a_time_out() -> None:
    """Its steps of 250 MB are not seconds."""
    sizer = sizer_of(MaxSeen, "walltime_s")
    usage = Usage(wall_s=Measured(60.0, Quality.EXACT))
    sizer.observe(TASK, Outcome("t", 1, Ending.SUCCESS, 0.0, 60.0, usage))
    answer = sizer.predict(TASK, [600.0], Context(Resources(cores=1, walltime_s=86_400.0)))
    assert isinstance(answer, Prediction) and answer.value == 1200.0


@pytest.mark.parametrize("resource", ["memory_bytes", "cores", "walltime_s"])
def test_states_of_earlier_versions_restore(resource: str) -> None:
    """They had the runtime model in every ladder, with what no policy used."""
    times = {"version": 1, "records": [[None, 0.0, 4.0, True]], "running": {}, "failed_after": {}, "fractions": {}}
    old = ladder_sizer("memory_bytes").state() | {"times": times}
    sizer = ladder_sizer(resource)
    sizer.restore(old)
    limits = Resources(cores=4, memory_bytes=10**9, walltime_s=86_400.0)
    answer = sizer.predict(TASK, [], Context(limits))
    assert isinstance(answer, Prediction) and answer.value is not None
    assert (answer.why.rule == "runtime-quantile") == (resource == "walltime_s")
