"""Running jobs that give back nodes: which ones, and what the engine knows afterwards."""

from __future__ import annotations

import pytest

from headway.model import codec, records
from headway.model.job import JobPhase, JobRequest
from headway.model.records import Shrink, Shrunk, Why
from headway.model.resources import Resources
from tests.engine.test_spanning import NODE, SITE, Site, small, wide

TAG = "headway-uid-1"
WHY = Why("test", "test")


class GrantedSite(Site):
    """A site that shrinks jobs, with a job of three nodes; the job's script runs on the first."""

    def __init__(self, *tasks: records.Task) -> None:
        super().__init__(*tasks)
        request = JobRequest(NODE.replace(nodes=3, walltime_s=3600.0))
        self.tell(
            records.LimitsRead(0.0, SITE, shrinks=True),
            records.Submit(0.0, TAG, request, WHY),
            records.JobState(0.0, TAG, JobPhase.RUNNING),
            *(records.NodeUp(0.0, f"{name}#1", TAG, NODE, keeps_job=name == "a") for name in "abc"),
        )

    def tell(self, *news: records.Event | records.Decision) -> None:
        for record in news:
            self.engine.apply(record)

    def idle(self) -> list[str]:
        return self.engine._idle_nodes(TAG)


def test_nodes_of_the_script_and_of_a_task_that_spans_several_are_not_idle() -> None:
    site = GrantedSite(wide("w", 2))
    (nodes,) = site.launches().values()
    assert site.idle() == sorted({"b#1", "c#1"} - set(nodes))
    site.end("w")
    assert site.idle() == ["b#1", "c#1"]


def test_nothing_starts_on_nodes_that_are_given_back_and_the_job_is_narrower() -> None:
    site = GrantedSite(*(small(f"t{number}") for number in range(12)))
    site.tell(Shrink(10.0, TAG, ("b#1",), WHY), Shrink(11.0, TAG, ("c#1",), WHY))
    assert {node for nodes in site.launches().values() for node in nodes} == {"a#1"}
    job = site.engine.jobs[TAG]
    assert (job.request.per_node.nodes, job.answering_nodes, job.lost_nodes) == (1, 1, 0)
    site.tell(records.JobSeen(12.0, TAG, JobPhase.RUNNING, 7, walltime_s=1800.0))
    assert (job.request.per_node.nodes, job.ends_at) == (1, 1800.0)
    assert not site.engine.bad_nodes.avoided


def test_what_is_not_confirmed_is_known_until_it_is_or_the_job_is_over() -> None:
    site = GrantedSite(small("t"))
    site.tell(Shrink(10.0, TAG, ("b#1",), WHY), Shrink(11.0, TAG, ("c#1",), WHY))
    assert site.engine.giving == {TAG: ["b#1", "c#1"]}
    site.tell(Shrunk(20.0, TAG, ("b#1",)))
    assert (site.engine.giving, site.engine.given) == ({TAG: ["c#1"]}, {TAG: ["b#1", "c#1"]})
    site.tell(records.Release(30.0, TAG, WHY))
    assert (site.engine.giving, site.engine.given) == ({}, {})


def test_after_a_refusal_no_job_gives_back_nodes() -> None:
    site = GrantedSite(small("t"))
    site.tell(Shrink(10.0, TAG, ("b#1",), WHY), Shrunk(20.0, TAG, refused="Requested operation not supported"))
    assert not site.engine.giving
    assert site.engine.given == {TAG: ["b#1"]}
    assert not site.engine._allocations.sites[None].shrinks


@pytest.mark.parametrize("record", [Shrink(1.0, TAG, ("b#1",), WHY), Shrunk(2.0, TAG, ("b#1",)), Shrunk(2.0, TAG)])
def test_records_are_as_they_were_written(record: records.Event | records.Decision) -> None:
    assert codec.decode(codec.encode(record)) == record


def test_the_request_of_what_is_left() -> None:
    whole = JobRequest(Resources(nodes=4, cores=8, walltime_s=60.0))
    assert whole.without(3) == JobRequest(Resources(nodes=1, cores=8, walltime_s=60.0))
    share = JobRequest(Resources(nodes=4, cores=2), places=8, at_stake_s=5.0)
    assert share.without(1) == JobRequest(Resources(nodes=3, cores=2), places=6, at_stake_s=5.0)
