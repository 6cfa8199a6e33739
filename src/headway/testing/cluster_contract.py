"""The contract suite of clusters."""
# ruff: noqa: S101 - these are tests

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from headway.clusters.base import Cluster
from headway.model.job import JobPhase, JobRequest
from headway.model.resources import Resources


class ClusterContract:
    """A job is found by its tag, submitted twice it exists once, and after `cancel` it has ended."""

    patience_s = 30.0

    def make(self, path: Path) -> Cluster:
        """Return a cluster that keeps its files in a folder."""
        raise NotImplementedError

    def test_limits_are_positive(self, tmp_path: Path) -> None:
        limits = self.make(tmp_path).limits()
        assert limits.cores >= 1
        assert limits.memory_bytes > 0

    def test_an_unknown_tag_is_not_found_and_not_running(self, tmp_path: Path) -> None:
        cluster = self.make(tmp_path)
        assert cluster.find(["headway-test-0"]) == set()
        assert cluster.poll(["headway-test-0"])["headway-test-0"] in (JobPhase.ENDED, JobPhase.UNKNOWN)
        cluster.cancel(["headway-test-0"])

    def test_a_job_is_found_by_its_tag_also_after_a_restart(self, tmp_path: Path) -> None:
        cluster = self.make(tmp_path)
        cluster.submit(_small(cluster), "headway-test-1")
        try:
            self._wait(lambda: cluster.poll(["headway-test-1"])["headway-test-1"] is JobPhase.RUNNING)
            assert self.make(tmp_path).find(["headway-test-1", "headway-test-2"]) == {"headway-test-1"}
        finally:
            cluster.cancel(["headway-test-1"])

    def test_submitting_twice_gives_one_job(self, tmp_path: Path) -> None:
        cluster = self.make(tmp_path)
        cluster.submit(_small(cluster), "headway-test-1")
        cluster.submit(_small(cluster), "headway-test-1")
        try:
            self._wait(lambda: bool(cluster.find(["headway-test-1"])))
        finally:
            cluster.cancel(["headway-test-1"])
        self._wait(lambda: not cluster.find(["headway-test-1"]))
        time.sleep(0.5)  # a second job would start now
        assert not cluster.find(["headway-test-1"])

    def test_a_cancelled_job_has_ended(self, tmp_path: Path) -> None:
        cluster = self.make(tmp_path)
        cluster.submit(_small(cluster), "headway-test-1")
        self._wait(lambda: bool(cluster.find(["headway-test-1"])))
        cluster.cancel(["headway-test-1"])
        assert cluster.poll(["headway-test-1"]) == {"headway-test-1": JobPhase.ENDED}

    def _wait(self, until: Callable[[], bool]) -> None:
        deadline = time.monotonic() + self.patience_s
        while not until():
            assert time.monotonic() < deadline, f"nothing happened within {self.patience_s:g} s"
            time.sleep(0.02)


def _small(cluster: Cluster) -> JobRequest:
    limits = cluster.limits()
    return JobRequest(Resources(cores=1, memory_bytes=min(limits.memory_bytes, 10**9), disk_bytes=10**6))
