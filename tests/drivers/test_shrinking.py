"""Shrinking: nodes that jobs give back are told to the cluster together, seldom, and until it has answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection

from headway.drivers.background import Background
from headway.drivers.inbox import Inbox
from headway.drivers.shrinking import Shrinking
from headway.model.errors import SiteError
from headway.model.job import JobRequest
from headway.model.records import Shrunk
from tests.drivers.fakes import MACHINE, FakeCluster, FakeConnections

LEFT = JobRequest(MACHINE)


class ShrinkingCluster(FakeCluster):
    """Notes the calls; `answers` are given in turn, an error is raised."""

    shrink_every_s = 0.2
    shrinks_once = False

    def __init__(self, *answers: str | SiteError, once: bool = False) -> None:
        super().__init__(queues=True)
        self.shrinks_once = once
        self.told: list[tuple[str, list[str]]] = []
        self.answers = list(answers)

    def shrink(self, tag: str, nodes: Collection[str], left: JobRequest) -> str:
        assert left is LEFT
        self.told.append((tag, list(nodes)))
        answer = self.answers.pop(0) if self.answers else ""
        if isinstance(answer, SiteError):
            raise answer
        return answer


def play(
    cluster: ShrinkingCluster, script: Callable[[Shrinking, Inbox], Awaitable[None]], over: Collection[str] = ()
) -> None:
    async def bounded() -> None:
        inbox = Inbox()
        async with asyncio.timeout(30), Background(inbox) as background:
            left = lambda tag: None if tag in over else LEFT  # noqa: E731
            await script(Shrinking(cluster, FakeConnections(), inbox, background, left), inbox)

    asyncio.run(bounded())


async def next_of(inbox: Inbox) -> Shrunk:
    (message,) = await inbox.take()
    assert isinstance(message, Shrunk)
    return message


def test_nodes_that_follow_each_other_are_told_together_and_with_those_before() -> None:
    async def script(shrinking: Shrinking, inbox: Inbox) -> None:
        shrinking.give_back("u-1", ["n1#1"])
        shrinking.give_back("u-1", ["n2#1", "n3#1"])
        assert (await next_of(inbox)).nodes == ("n1#1", "n2#1", "n3#1")
        shrinking.give_back("u-1", ["n4#1"])
        assert (await next_of(inbox)).nodes == ("n4#1",)

    cluster = ShrinkingCluster()
    play(cluster, script)
    assert cluster.told == [("u-1", ["n1", "n2", "n3"]), ("u-1", ["n1", "n2", "n3", "n4"])]


def test_a_cluster_that_does_not_answer_is_told_again_with_what_was_added_meanwhile() -> None:
    async def script(shrinking: Shrinking, inbox: Inbox) -> None:
        shrinking.give_back("u-1", ["n1#1"], told=True)
        shrinking.give_back("u-1", ["n2#1"])
        while not cluster.told:
            await asyncio.sleep(0.01)
        shrinking.give_back("u-1", ["n3#1"])
        assert (await next_of(inbox)).nodes == ("n2#1", "n3#1")

    cluster = ShrinkingCluster(SiteError("timed out"))
    play(cluster, script)
    assert cluster.told == [("u-1", ["n1", "n2"]), ("u-1", ["n1", "n2", "n3"])]


def test_after_a_refusal_nothing_is_told_and_of_a_job_that_is_over_neither() -> None:
    async def script(shrinking: Shrinking, inbox: Inbox) -> None:
        shrinking.give_back("u-9", ["n9#9"])
        shrinking.give_back("u-1", ["n1#1"])
        refusal = await next_of(inbox)
        assert (refusal.tag, refusal.nodes, refusal.refused) == ("u-1", (), "not supported")
        shrinking.give_back("u-1", ["n2#1"])
        shrinking.give_back("u-2", ["n2#2"])
        await asyncio.sleep(0.5)

    cluster = ShrinkingCluster("not supported")
    play(cluster, script, over=["u-9"])
    assert cluster.told == [("u-1", ["n1"])]


def test_where_a_job_may_shrink_once_later_nodes_stay_with_it_also_after_a_resume() -> None:
    async def script(shrinking: Shrinking, inbox: Inbox) -> None:
        shrinking.give_back("u-1", ["n1#1"])
        shrinking.give_back("u-1", ["n2#1"])
        assert (await next_of(inbox)).nodes == ("n1#1", "n2#1")
        shrinking.give_back("u-1", ["n3#1"])
        shrinking.give_back("u-2", ["n1#2"], told=True)
        shrinking.give_back("u-2", ["n2#2"])
        await asyncio.sleep(0.5)

    cluster = ShrinkingCluster(once=True)
    play(cluster, script)
    assert cluster.told == [("u-1", ["n1", "n2"])]
