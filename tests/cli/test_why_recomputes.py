"""`why --json` explains: from the rule and the figures it prints, each allocation can be computed again.

The rules are written down here once more, from their documented meaning (sizing/resource_rules) and not
from their code; and the figures themselves are compared with facts that have nothing to do with the sizer.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest

from tests.cli.bench import SMALL, Bench

MB, GB = 10**6, 10**9
Figures = dict[str, Any]
Story = dict[str, Any]

FLOW = """
    name: figures
    tasks:
      hinted:                       # 60 MB is not enough: doubled to 120, then 240
        run: python3 -c "x = bytearray(130_000_000); import time; time.sleep(0.6)" > hinted.out
        outputs: [hinted.out]
        resources: {memory: 60 MB, cores: 0.12, time: 1m}
      learned:                      # one after the other, so that each learns from those before
        each: {n: [1, 2, 3]}
        run: python3 -c "x = bytearray({n} * 10_000_000); import time; time.sleep(0.3)" > learned_{n}
        outputs: ["learned_{n}"]
        resources: {cores: 2}
      plain:                        # in place, no hints at all
        needs: [hinted]
        each: {n: [1, 2]}
        run: "true"
"""
MALLEABLE_FLOW = """
    name: malleable
    tasks:
      stated:
        run: "true"
      alone:
        each: {n: [1, 2, 3]}
        run: |
          python3 -c "import time; end = time.process_time() + 1.5
          while time.process_time() < end: sum(range(1000))"
        malleable: true
"""


def at_most(value: float, limit: float | None) -> float:
    return value if limit is None else min(value, limit)


def recompute(resource: str, rule: str, figures: Figures) -> float | None:
    """What the rule gives, from its figures alone."""
    whole_bytes = resource.endswith("_bytes")
    match rule:
        case "hint":  # what the workflow asks for
            return float(figures["hint"])
        case "no-limit":  # time: whatever the site allows, or no limit
            return None if figures["limit"] is None else float(figures["limit"])
        case "one-core":  # one core, or less where there is less
            return at_most(1, figures["limit"])
        case "in-place":  # no directory of its own, so no disk of its own
            return 0
        case "share-of-machine":  # of what the machine has, the part that goes with the task's cores
            return float(math.floor(figures["limit"] * figures["task_cores"] / figures["machine_cores"]))
        case "doubled":  # twice what ran out, or what was learned if that is more, up to the limit
            value = at_most(max(2 * figures["given"], figures["at_least"]), figures["limit"])
            return math.floor(value) if whole_bytes else value
        case "max-seen":  # the greatest peak, up to the next bucket; cores to the nearest whole one, at least one
            if resource == "cores":
                return at_most(max(1, math.floor(figures["maximum"] + 0.5)), figures["limit"])
            buckets = max(1, math.ceil(figures["maximum"] / figures["bucket"]))
            return at_most(buckets * float(figures["bucket"]), figures["limit"])
        case "ladder":  # the first rung above what ran out, up to the limit
            assert figures["rung"] > figures["above"]
            return at_most(figures["rung"], figures["limit"])
        case "busy-cores":  # as many whole ones as were busy nine tenths of the time, at least one
            return at_most(max(1, math.floor(figures["busy"] + 0.5)), figures["limit"])
        case "first":  # nobody knows how malleable it is: what was asked for, and two at least
            return at_most(max(2.0, figures["request"]), figures["limit"])
        case "again":  # it had come down to one: two are tried, as rarely as that was drawn
            assert figures["draw"] < figures["chance"]
            return 2.0
        case "speedup":  # the limit of its speedup, more for who holds much memory; at most twice what was ever given
            serial, most = figures["serial"], figures["limit"]
            cheapest = math.sqrt((1 - serial) / serial * figures["memory_share"] * most)
            return min(most, 2 * figures["most_given"], max(1, math.floor(max(1 / serial, cheapest) + 0.5)))
        case "whole-machine":  # everything
            return float(figures["limit"])
    raise AssertionError(f"no such rule is documented: {rule}")


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Story]:
    home = tmp_path_factory.mktemp("figures")
    bench = Bench(home / "work", home)
    bench.write(FLOW)
    bench.succeeds("run", "-q", "--sizer", "max-seen", *SMALL)
    tasks = ["hinted", "learned[1]", "learned[2]", "learned[3]", "plain[1]", "plain[2]"]
    return {task: bench.json("why", task) for task in tasks}


def allocations(stories: dict[str, Story]) -> list[tuple[str, dict[str, Any]]]:
    return [(task, attempt) for task, story in stories.items() for attempt in story["attempts"]]


def test_each_allocation_follows_from_its_rule_and_figures(stories: dict[str, Story]) -> None:
    rules = set()
    for task, attempt in allocations(stories):
        assert set(attempt["why"]) == {"cores", "memory_bytes", "disk_bytes", "walltime_s"}
        for resource, why in attempt["why"].items():
            rules.add(why["rule"])
            expected = recompute(resource, why["rule"], why["figures"])
            assert attempt["given"][resource] == expected, f"{resource} of {task}, attempt {attempt['attempt']}"
            assert why["policy"] == "max-seen"
            assert why["text"]
    assert {"hint", "share-of-machine", "one-core", "no-limit", "doubled", "max-seen"} <= rules


def test_limits_are_the_part_of_the_machine_that_was_stated(stories: dict[str, Story]) -> None:
    stated = {"cores": 2, "memory_bytes": GB, "disk_bytes": GB, "walltime_s": None}
    for task, attempt in allocations(stories):
        for resource, why in attempt["why"].items():
            if "limit" in why["figures"]:
                assert why["figures"]["limit"] == stated[resource], task
            if "machine_cores" in why["figures"]:
                assert why["figures"]["machine_cores"] == 2


def test_hints_are_those_of_the_workflow(stories: dict[str, Story]) -> None:
    hints = stories["hinted"]["hints"]
    assert hints == {"memory_bytes": 60 * MB, "cores": 0.12, "walltime_s": 60}
    first = stories["hinted"]["attempts"][0]["why"]
    for resource in ("memory_bytes", "cores"):
        assert (first[resource]["rule"], first[resource]["figures"]["hint"]) == ("hint", hints[resource])
    assert first["walltime_s"]["rule"] == "no-limit", "how long it takes is for plans"


def test_a_retry_names_the_amount_of_the_attempt_before(stories: dict[str, Story]) -> None:
    attempts = stories["hinted"]["attempts"]
    assert [attempt["ending"] for attempt in attempts] == ["memory", "memory", "success"]
    assert [attempt["given"]["memory_bytes"] for attempt in attempts] == [60 * MB, 120 * MB, 240 * MB]
    for before, after in pairwise(attempts):
        assert after["why"]["memory_bytes"]["rule"] == "doubled"
        assert after["why"]["memory_bytes"]["figures"]["given"] == before["given"]["memory_bytes"]
        assert after["given"]["cores"] == before["given"]["cores"], "only what ran out gets more"
        assert before["used"]["memory_bytes"]["quality"] == "lower-bound"


def test_max_seen_is_the_maximum_of_earlier_tasks(stories: dict[str, Story]) -> None:
    """Each task of the category held both cores, so those before it in the journal had ended."""
    ran = sorted(
        (story["attempts"][-1] for task, story in stories.items() if task.startswith("learned")),
        key=lambda attempt: float(attempt["launched_at"]),
    )
    assert ran[0]["why"]["memory_bytes"]["rule"] == "share-of-machine"
    for index, attempt in enumerate(ran[1:], start=1):
        before = ran[:index]
        assert all(earlier["ended_at"] <= attempt["launched_at"] for earlier in before)
        for resource in ("memory_bytes", "disk_bytes"):
            figures = attempt["why"][resource]["figures"]
            assert attempt["why"][resource]["rule"] == "max-seen"
            assert figures["records"] == index
            assert figures["maximum"] == max(earlier["used"][resource]["value"] for earlier in before)


def test_the_ladder(bench: Bench) -> None:
    """The default. Each task of the category held both cores, so those before it in the journal had ended."""
    bench.write(FLOW)
    bench.succeeds("run", "-q", *SMALL)
    attempts = [bench.json("why", f"learned[{number}]")["attempts"][0] for number in (1, 2, 3)]
    for attempt in attempts:
        for resource, why in attempt["why"].items():
            assert why["policy"] == "ladder"
            assert attempt["given"][resource] == recompute(resource, why["rule"], why["figures"]), resource
    attempts.sort(key=lambda attempt: float(attempt["launched_at"]))
    for index, attempt in enumerate(attempts[1:], start=1):
        for resource in ("memory_bytes", "disk_bytes"):
            why = attempt["why"][resource]
            assert (why["rule"], why["figures"]["records"]) == ("ladder", index)
            assert attempt["given"][resource] >= max(before["used"][resource]["value"] for before in attempts[:index])


def test_malleable_tasks(bench: Bench) -> None:
    """The default chooses cores of those that say so, one after the other here, and of no others."""
    bench.write(MALLEABLE_FLOW)
    given = {verdict["task"]: verdict["given"] for verdict in bench.json("run", "--dry-run", *SMALL)["tasks"]}
    assert given["alone[1]"]["cores"] == 2 and given["stated"]["cores"] == 1
    bench.succeeds("run", "-q", *SMALL)
    stories = [bench.json("why", f"alone[{number}]") for number in (1, 2, 3)]
    stories.sort(key=lambda story: float(story["attempts"][0]["launched_at"]))
    attempts, latest = [story["attempts"][0] for story in stories], stories[-1]["task"]
    for attempt in attempts:
        for resource, why in attempt["why"].items():
            assert why["policy"] == ("ladder-malleable" if resource == "cores" else "ladder")
            assert attempt["given"][resource] == recompute(resource, why["rule"], why["figures"]), resource
    assert [attempt["why"]["cores"]["rule"] for attempt in attempts] == ["first", "speedup", "speedup"]
    assert attempts[-1]["given"]["cores"] == 1, "a program that computes on one core cannot use two"
    (stated,) = bench.json("why", "stated")["attempts"]
    assert stated["why"]["cores"]["policy"] == "ladder" and stated["given"]["cores"] == 1
    assert "of the work is serial" in bench.succeeds("why", latest)


def test_the_whole_machine(bench: Bench) -> None:
    bench.write("name: w\ntasks:\n  a: {run: 'true'}\n")
    bench.succeeds("run", "-q", "--sizer", "whole-machine", *SMALL)
    attempt = bench.json("why", "a")["attempts"][0]
    rules = {resource: why["rule"] for resource, why in attempt["why"].items()}
    assert rules["memory_bytes"] == rules["cores"] == "whole-machine"
    for resource, why in attempt["why"].items():
        assert attempt["given"][resource] == recompute(resource, why["rule"], why["figures"]), resource
    assert attempt["given"]["memory_bytes"] == GB
