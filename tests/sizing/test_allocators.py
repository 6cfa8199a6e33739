"""Every way of sizing with agents keeps the contract of allocators, and a run can name it."""

from __future__ import annotations

import pytest

from headway.drivers.assemble import allocator_of
from headway.drivers.run_settings import DEFAULT_SIZER
from headway.model.errors import InputError
from headway.sizing import SIZERS
from headway.sizing.agents.ladder_malleable import Ladders
from headway.sizing.agents.q_learning import QLearning
from headway.sizing.base import Allocator
from headway.sizing.per_resource import PerResource
from headway.testing.allocator_contract import AllocatorContract


@pytest.mark.parametrize("name", sorted(name for name, way in SIZERS.items() if way.agents))
class TestAllocators(AllocatorContract):
    @pytest.fixture(autouse=True)
    def choose(self, name: str) -> None:
        self.name = name

    def make(self) -> Allocator:
        return SIZERS[self.name].allocator(11)


def test_only_the_default_has_both_sizers_and_agents() -> None:
    assert {name for name, way in SIZERS.items() if way.sizer and way.agents} == {DEFAULT_SIZER}
    assert all(way.sizer or way.agents for way in SIZERS.values())


def test_a_run_gets_the_allocator_of_its_sizer() -> None:
    assert type(allocator_of(DEFAULT_SIZER, 0)) is Ladders
    assert type(allocator_of("max-seen", 0)) is PerResource
    assert type(allocator_of("q-learning", 0)) is QLearning
    with pytest.raises(InputError, match="there is no sizer called 'q'"):
        allocator_of("q", 0)
