"""Amounts of resources: the laws of adding, taking away and fitting."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from headway.model.errors import InputError
from headway.model.resources import HELD, Resources, check_amount

CORES = st.integers(0, 10**6).map(lambda thousandths: thousandths / 1000)
RESOURCES = st.builds(
    Resources,
    cores=CORES,
    memory_bytes=st.integers(0, 2**50),
    disk_bytes=st.integers(0, 2**50),
    gpus=st.integers(0, 16) | st.sampled_from([0.1, 0.25, 0.5]),
    walltime_s=st.none() | st.floats(0, 1e7),
    nodes=st.integers(1, 100),
    extras=st.dictionaries(st.sampled_from(["licence", "fpga"]), st.integers(1, 100)),
)
SMALL = st.builds(  # so small that one often fits in another
    Resources,
    cores=st.integers(0, 2),
    memory_bytes=st.integers(0, 1),
    walltime_s=st.none() | st.integers(1, 2),
    nodes=st.integers(1, 2),
    extras=st.dictionaries(st.just("licence"), st.integers(1, 2)),
)


def held(resources: Resources) -> tuple[object, ...]:
    return (*(getattr(resources, name) for name in HELD), resources.extras)


@given(RESOURCES, RESOURCES)
def test_what_was_added_can_be_taken_away(a: Resources, b: Resources) -> None:
    assert held((a + b) - b) == held(a)


@given(RESOURCES, RESOURCES)
def test_held_amounts_add_in_any_order(a: Resources, b: Resources) -> None:
    assert held(a + b) == held(b + a)
    assert (a + b).walltime_s == (b + a).walltime_s


@given(RESOURCES, RESOURCES, RESOURCES)
def test_held_amounts_add_in_any_grouping(a: Resources, b: Resources, c: Resources) -> None:
    assert held((a + b) + c) == held(a + (b + c))


@given(RESOURCES)
def test_nothing_changes_nothing(a: Resources) -> None:
    assert held(a + Resources()) == held(a)
    assert a - Resources() == a
    assert held(a - a) == held(Resources())


@given(RESOURCES, RESOURCES)
def test_sums_keep_the_longer_walltime_and_the_left_nodes(a: Resources, b: Resources) -> None:
    walltimes = [a.walltime_s, b.walltime_s]
    assert (a + b).walltime_s == (None if None in walltimes else max(w for w in walltimes if w is not None))
    assert (a + b).nodes == (a - b).nodes == a.nodes
    assert (a - b).walltime_s == a.walltime_s


def test_a_sum_of_tenths_comes_back_to_zero() -> None:
    total = Resources()
    for _ in range(10):
        total += Resources(cores=0.1)
    for _ in range(10):
        total -= Resources(cores=0.1)
    assert total.cores == 0


@given(SMALL)
def test_everything_fits_in_itself(a: Resources) -> None:
    assert a.fits_in(a)


@given(SMALL, SMALL)
def test_two_that_fit_in_each_other_are_equal(a: Resources, b: Resources) -> None:
    assert (a.fits_in(b) and b.fits_in(a)) == (a == b)


@given(SMALL, SMALL, SMALL)
def test_fitting_carries_over(a: Resources, b: Resources, c: Resources) -> None:
    if a.fits_in(b) and b.fits_in(c):
        assert a.fits_in(c)


@given(RESOURCES, RESOURCES)
def test_a_part_fits_in_the_sum(a: Resources, b: Resources) -> None:
    assert structs.replace(a, walltime_s=1).fits_in(structs.replace(a + b, walltime_s=None))


@given(SMALL, SMALL)
def test_the_excess_names_what_is_too_much(a: Resources, b: Resources) -> None:
    amounts = [(name, a[name], b[name]) for name in (*HELD, "nodes", "licence", "walltime_s")]
    expected = {
        name
        for name, need, room in amounts
        if (math.inf if need is None else need) > (math.inf if room is None else room)
    }
    assert set(a.excess(b)) == expected
    assert a.fits_in(b) == (not expected)


def test_no_limit_does_not_fit_in_a_limit() -> None:
    assert Resources().excess(Resources(walltime_s=60)) == ["walltime_s"]
    assert Resources(walltime_s=1e9).fits_in(Resources())


@given(RESOURCES)
def test_amounts_by_name_and_back(a: Resources) -> None:
    assert Resources.of(a.amounts()) == a
    assert a.replace() == a


def test_replacing_some_amounts() -> None:
    a = Resources(cores=2, memory_bytes=5, walltime_s=60, extras={"licence": 1})
    assert a.replace(memory_bytes=7.0, walltime_s=None, fpga=2) == Resources(
        cores=2, memory_bytes=7, extras={"licence": 1, "fpga": 2}
    )


def test_an_extra_that_is_not_there_is_none_of_it() -> None:
    assert Resources()["fpga"] == 0
    assert Resources()["walltime_s"] is None


@pytest.mark.parametrize(
    ("resources", "shown"),
    [
        (Resources(), "nothing"),
        (Resources(cores=1), "1 core"),
        (Resources(cores=0.5, gpus=2), "0.5 cores, 2 gpus"),
        (Resources(memory_bytes=200_000_000, disk_bytes=10**9), "200 MB memory, 1 GB disk"),
        (Resources(cores=1, walltime_s=90, nodes=3), "1 core, 1m 30s time, on 3 nodes"),
        (Resources(extras={"licence": 2}), "2 licence"),
    ],
)
def test_shown_to_people(resources: Resources, shown: str) -> None:
    assert str(resources) == shown


@pytest.mark.parametrize(
    ("name", "value"), [("cores", 0.5), ("cores", 0), ("gpus", 2.0), ("gpus", 0.5), ("nodes", 1), ("licence", 1.5)]
)
def test_possible_amounts(name: str, value: float) -> None:
    assert check_amount(name, value) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cores", -1),
        ("cores", math.nan),
        ("cores", math.inf),
        ("memory_bytes", 2**62),
        ("gpus", 1.5),
        ("gpus", math.inf),
        ("nodes", 0),
        ("nodes", math.nan),
    ],
)
def test_impossible_amounts(name: str, value: float) -> None:
    with pytest.raises(InputError) as caught:
        check_amount(name, value, where="site.toml:3")
    assert str(caught.value).startswith(f"site.toml:3: {name} is ")


def test_a_sum_of_tenths_of_an_extra_comes_back() -> None:
    a, b = Resources(extras={"licence": 0.1}), Resources(extras={"licence": 0.2})
    assert (a + b) - b == a


def test_nothing_fits_where_an_extra_is_overdrawn() -> None:
    overdrawn = Resources() - Resources(extras={"licence": 1})
    assert not Resources().fits_in(overdrawn)
    assert not Resources().fits_in(Resources() - Resources(cores=1))
