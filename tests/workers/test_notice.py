"""When a task gets notice of its end, and which of its processes get the signal."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from msgspec import structs

from headway.model.resources import Resources
from headway.model.task import Task
from headway.workers.notice import Notice
from headway.workers.protocol import Start
from tests.workers import loads
from tests.workers.loads import Bench, on_bench

# The outer shell has no handler and would die of the signal; the inner one has a handler.
LISTENER = "trap 'echo told; exit 5' USR1; echo ready; while :; do sleep 0.05; done"


@pytest.mark.parametrize("method", loads.methods())
@pytest.mark.parametrize("of_job", [True, False], ids=["job", "task"])
def test_processes_with_a_handler_get_the_signal_before_the_end(method: str, tmp_path: Path, of_job: bool) -> None:
    async def work(bench: Bench) -> None:
        spec = bench.spec(["sh", "-c", f'sh -c "{LISTENER}"; echo survived $?'])
        limits = Resources(cores=1) if of_job else Resources(cores=1, walltime_s=600)
        start = Start(Task("t", "c", "-", notice_s=599), 1, "", limits)
        notice = Notice(structs.replace(start, ends_at=time.time() + 600) if of_job else start, spec.key, bench.trees)
        end = await bench.trees.run(spec)
        notice.cancel()
        assert notice.given
        assert end.exit_code == 0
        assert Path(spec.stdout).read_text() == "ready\ntold\nsurvived 5\n"

    on_bench(method, tmp_path, work)


@pytest.mark.parametrize(
    "start",
    [
        Start(Task("t", "c", "-", notice_s=60), 1, "", Resources(cores=1)),  # the end is unknown
        Start(Task("t", "c", "-"), 1, "", Resources(cores=1), ends_at=0.0),  # the task asked for no notice
        Start(Task("t", "c", "-", notice_s=1), 1, "", Resources(cores=1, walltime_s=600)),  # its end is not near
    ],
    ids=["endless", "unasked", "far"],
)
def test_no_notice_is_given(start: Start, tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        spec = bench.spec(["sh", "-c", "trap 'exit 5' USR1; sleep 0.3"])
        notice = Notice(start, spec.key, bench.trees)
        assert (await bench.trees.run(spec)).exit_code == 0
        notice.cancel()
        await asyncio.sleep(0)
        assert not notice.given

    on_bench("polling", tmp_path, work)


@pytest.mark.parametrize("known", [True, False], ids=["far", "endless"])
def test_the_manager_may_have_the_notice_given_at_once(known: bool, tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        spec = bench.spec(["sh", "-c", LISTENER])
        limits = Resources(cores=1, walltime_s=600 if known else None)
        notice = Notice(Start(Task("t", "c", "-", notice_s=1), 1, "", limits), spec.key, bench.trees)
        notice.give()
        notice.give()  # messages may be repeated
        end = await bench.trees.run(spec)
        notice.cancel()
        assert notice.given
        assert end.exit_code == 5
        assert Path(spec.stdout).read_text() == "ready\ntold\n"

    on_bench("polling", tmp_path, work)
