"""Every allocator of the table keeps the contract, and can be named in a run."""

from __future__ import annotations

import pytest

from headway.drivers.assemble import allocator_of
from headway.model.errors import InputError
from headway.sizing import ALLOCATORS, DEFAULT_SIZER, SIZERS
from headway.sizing.agents.ladders import Ladders
from headway.sizing.base import Allocator
from headway.sizing.per_resource import PerResource
from headway.testing.allocator_contract import AllocatorContract


@pytest.mark.parametrize("name", sorted(ALLOCATORS))
class TestAllocators(AllocatorContract):
    @pytest.fixture(autouse=True)
    def choose(self, name: str) -> None:
        self.name = name

    def make(self) -> Allocator:
        return ALLOCATORS[self.name](11)


def test_names_are_of_one_kind_only_but_for_the_default() -> None:
    assert ALLOCATORS.keys() & SIZERS.keys() == {DEFAULT_SIZER}
    assert type(allocator_of(DEFAULT_SIZER, 0)) is Ladders
    assert type(allocator_of("max-seen", 0)) is PerResource
    assert type(allocator_of("q-learning", 0)) is ALLOCATORS["q-learning"]
    with pytest.raises(InputError, match="there is no sizer called 'q'"):
        allocator_of("q", 0)
