"""Usage computed from samples, reaped processes and the kernel's totals."""

from __future__ import annotations

import pytest

from headway.model.outcome import Ending, Measured, Quality, Usage
from headway.workers.trees.group import Sample, Totals
from headway.workers.trees.meter import Meter

MB = 1_000_000
FLOOR = 7 * MB


NOTHING = Totals()


def usage_of(meter: Meter, totals: Totals = NOTHING, *, stopped: Ending | None = None, limit_bytes: int = 0) -> Usage:
    return meter.usage(0.0, 2.0, totals, stopped, limit_bytes)


def meter(*samples: Sample, largest: int = FLOOR, alone: bool = True, cpu_s: float = 0.0) -> Meter:
    """Return a meter with these samples, 0.1 s apart, and the reaped first process."""
    made = Meter("a method", floor_bytes=FLOOR)
    made.begin(0.0)
    for number, sample in enumerate(samples):
        made.add_sample(0.1 * (number + 1), sample)
    made.add_reaped(cpu_s, largest, alone=alone)
    return made


def seen(held: float, file: float | None = None, cpu_s: float = 0.0, processes: int = 1) -> Sample:
    held_bytes = int(held * MB)
    file_bytes = None if file is None else int(file * MB)
    return Sample(held_bytes, held_bytes, cpu_s, file_bytes, list(range(processes)))


class TestMemoryWithoutCgroups:
    def test_a_command_that_ends_before_the_first_sample(self) -> None:
        assert usage_of(meter()).memory_bytes == Measured(FLOOR, Quality.UPPER_BOUND)
        assert usage_of(meter(alone=False, largest=50 * MB)).memory_bytes == Measured(50 * MB, Quality.SAMPLED)

    def test_a_plateau_of_one_process_is_exact(self) -> None:
        assert usage_of(meter(seen(200, 8), largest=208 * MB)).memory_bytes == Measured(200 * MB, Quality.EXACT)

    def test_a_spike_between_samples_is_known_from_ru_maxrss(self) -> None:
        assert usage_of(meter(seen(20, 8), largest=408 * MB)).memory_bytes == Measured(400 * MB, Quality.EXACT)

    def test_many_file_pages_make_it_sampled(self) -> None:
        assert usage_of(meter(seen(100, 60), largest=160 * MB)).memory_bytes == Measured(100 * MB, Quality.SAMPLED)

    def test_a_second_process_makes_it_sampled(self) -> None:
        for evidence in (
            meter(seen(200, 8), largest=208 * MB, alone=False),
            meter(seen(200, 8, processes=2), largest=208 * MB),
        ):
            assert usage_of(evidence).memory_bytes == Measured(200 * MB, Quality.SAMPLED)

    def test_ru_maxrss_near_the_floor_is_ignored(self) -> None:
        assert usage_of(meter(seen(1, 2))).memory_bytes == Measured(1 * MB, Quality.SAMPLED)


class TestMemoryWithCgroups:
    def test_a_plateau_is_exact_for_any_number_of_processes(self) -> None:
        totals = Totals(peak_bytes=310 * MB, peak_held_bytes=302 * MB)
        found = usage_of(meter(seen(300), largest=120 * MB, alone=False), totals).memory_bytes
        assert found == Measured(300 * MB, Quality.EXACT)

    def test_a_spike_between_samples(self) -> None:
        totals = Totals(peak_bytes=410 * MB, peak_held_bytes=405 * MB)
        assert usage_of(meter(seen(20), largest=412 * MB), totals).memory_bytes == Measured(405 * MB, Quality.EXACT)
        several = usage_of(meter(seen(20), largest=100 * MB, alone=False), totals).memory_bytes
        assert several == Measured(405 * MB, Quality.SAMPLED)

    def test_page_cache_is_left_out(self) -> None:
        totals = Totals(peak_bytes=400 * MB, peak_held_bytes=52 * MB)
        found = usage_of(meter(seen(50), largest=60 * MB, alone=False), totals).memory_bytes
        assert found == Measured(52 * MB, Quality.SAMPLED)

    def test_a_kernel_without_a_peak(self) -> None:
        assert usage_of(meter(seen(50), largest=52 * MB), Totals(cpu_s=1.0)).memory_bytes.value == 50 * MB


class TestStopped:
    def test_everything_is_a_lower_bound(self) -> None:
        evidence = meter(seen(200, 8, cpu_s=0.1), largest=208 * MB, cpu_s=1.0)
        evidence.add_disk(5)
        usage = usage_of(evidence, stopped=Ending.TIME)
        for figure in (usage.wall_s, usage.cpu_s, usage.memory_bytes, usage.disk_bytes, usage.cores_peak):
            assert figure.quality is Quality.LOWER_BOUND
        assert usage.cores_average == Measured(0.5, Quality.EXACT)

    def test_a_command_killed_by_the_kernel_needs_at_least_its_limit(self) -> None:
        totals = Totals(peak_bytes=104 * MB, peak_held_bytes=60 * MB, memory_kills=1)
        usage = usage_of(meter(seen(30)), totals, stopped=Ending.MEMORY, limit_bytes=100 * MB)
        assert usage.memory_bytes == Measured(100 * MB, Quality.LOWER_BOUND)

    def test_a_kill_below_the_limit_says_nothing_about_it(self) -> None:
        totals = Totals(peak_bytes=40 * MB, peak_held_bytes=30 * MB, memory_kills=1)
        usage = usage_of(meter(seen(30)), totals, stopped=Ending.MEMORY, limit_bytes=100 * MB)
        assert usage.memory_bytes == Measured(30 * MB, Quality.LOWER_BOUND)


class TestCpu:
    def test_the_kernels_count_comes_first(self) -> None:
        assert usage_of(meter(cpu_s=1.0), Totals(cpu_s=1.2)).cpu_s == Measured(1.2, Quality.EXACT)

    def test_cpu_of_processes_without_a_waiting_parent_is_sampled(self) -> None:
        assert usage_of(meter(seen(1, 1, cpu_s=1.5), cpu_s=0.1)).cpu_s == Measured(1.5, Quality.SAMPLED)

    def test_the_peak_is_an_average_over_half_a_second(self) -> None:
        made = Meter("a method", floor_bytes=0)
        made.begin(0.0)
        for number in range(1, 21):  # idle for a second, two cores for 0.6 s, idle again
            at_s = number / 10
            made.add_sample(at_s, seen(1, 1, cpu_s=2 * min(max(at_s - 1.0, 0.0), 0.6)))
        made.add_reaped(1.2, FLOOR, alone=True)
        usage = usage_of(made)
        assert usage.cores_peak.value == pytest.approx(2.0)
        assert usage.cores_average.value == pytest.approx(0.6)

    def test_the_peak_of_a_short_command_is_its_average(self) -> None:
        made = Meter("a method", floor_bytes=0)
        made.begin(0.0)
        made.add_reaped(0.15, FLOOR, alone=True)
        assert made.usage(0.0, 0.1, Totals(), None, 0).cores_peak.value == pytest.approx(1.5)


def test_no_more_cores_are_reported_than_the_machine_has() -> None:
    made = Meter("a method", floor_bytes=FLOOR, most_cores=2.0)
    made.begin(0.0)
    made.add_sample(1.4, seen(1))
    made.add_reaped(6.5, FLOOR, alone=True)  # noted late, and all at once
    used = usage_of(made)
    assert used.cores_peak and used.cores_peak.value == 2.0
    assert used.cores_average and used.cores_average.value == 2.0
