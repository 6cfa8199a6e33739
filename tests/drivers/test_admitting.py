"""Admitting: the batch system is told until it has answered, as long as the job waits or runs."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from headway.drivers import admitting
from headway.drivers.admitting import Admitting
from headway.drivers.background import Background
from headway.drivers.inbox import Inbox
from headway.engine.engine import Engine
from headway.model.errors import SiteError
from tests.drivers.fakes import FakeCluster


class AdmittingCluster(FakeCluster):
    """Notes the calls, and does not answer the first of them."""

    def __init__(self, silent: int) -> None:
        super().__init__(queues=True)
        self.told: list[str] = []
        self.silent = silent

    def admit(self, tag: str) -> None:
        self.told.append(tag)
        if len(self.told) <= self.silent:
            raise SiteError("the batch system does not answer")


def told(silent: int, *, live: bool = True, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(admitting, "_AGAIN_S", 0.01)
    cluster = AdmittingCluster(silent)
    engine = cast("Engine", SimpleNamespace(jobs={"u-2": SimpleNamespace(live=live)}))

    async def play() -> None:
        async with asyncio.timeout(30), Background(Inbox()) as background:
            Admitting(engine, cluster, background).admit("u-2")
            while live and len(cluster.told) <= silent:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)  # it would be told again by now

    asyncio.run(play())
    return cluster.told


def test_it_is_told_until_it_has_answered_and_not_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(2, monkeypatch=monkeypatch) == ["u-2"] * 3


def test_a_job_that_was_given_back_is_not_admitted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(0, live=False, monkeypatch=monkeypatch) == []
