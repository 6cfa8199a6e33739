"""Every model of waits keeps the contract; the laws hold for any history."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.testing.wait_contract import SHAPES, WaitContract
from headway.waiting import WAITS
from headway.waiting.base import WaitModel

HISTORIES = st.lists(
    st.tuples(
        st.sampled_from(SHAPES),
        st.one_of(st.just(0.0), st.floats(0.0, 1e7, allow_subnormal=False)),
        st.booleans(),
    ),
    max_size=120,
)


@pytest.mark.parametrize("name", sorted(WAITS))
class TestWaits(WaitContract):
    @pytest.fixture(autouse=True)
    def choose(self, name: str) -> None:
        self.name = name

    def make(self) -> WaitModel:
        model: WaitModel = WAITS[self.name]()
        return model

    @settings(max_examples=25, deadline=None)
    @given(history=HISTORIES)
    def test_answers_for_any_history(self, history: list[tuple[object, float, bool]]) -> None:
        self.check_answers(history)  # type: ignore[arg-type]

    @settings(max_examples=25, deadline=None)
    @given(history=HISTORIES, after=HISTORIES)
    def test_round_trip_for_any_history(
        self, history: list[tuple[object, float, bool]], after: list[tuple[object, float, bool]]
    ) -> None:
        self.check_round_trip(history, after)  # type: ignore[arg-type]


def test_the_table_names_its_models() -> None:
    assert all(name == model.name for name, model in WAITS.items())
    assert [name for name, model in WAITS.items() if not model.learns] == ["scheduler-estimate"]
