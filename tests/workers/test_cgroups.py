"""Cgroups: finding our own, making and removing folders, reading the kernel's files.

The files under recorded/ come from real cgroups (see its README); v1 is also used for real by the tests of trees
where it is writable.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.workers.trees import cgroup_v2, cgroups, methods
from headway.workers.trees.cgroup_v1 import CgroupV1Group, CgroupV1Groups
from headway.workers.trees.cgroup_v2 import CgroupV2Group, CgroupV2Groups
from headway.workers.trees.processes import children_lookup, read_process
from tests.workers import loads
from tests.workers.loads import MB, Bench, command, on_bench

RECORDED = Path(__file__).with_name("recorded")
needs_v1 = pytest.mark.skipif("cgroup-v1" not in loads.methods(), reason="no writable cgroup v1 here")


class TestOwnDirectory:
    @pytest.mark.parametrize(
        ("machine", "hierarchy", "expected"),
        [
            ("systemd-v1", "memory", "/sys/fs/cgroup/memory/user.slice/user-1000.slice/session-2.scope"),
            ("systemd-v1", "cpuacct", "/sys/fs/cgroup/cpu,cpuacct/user.slice"),
            ("systemd-v1", "", None),
            ("hybrid", "memory", "/sys/fs/cgroup/memory/process_api/job"),
            ("hybrid", "", "/sys/fs/cgroup/unified"),
            ("systemd-v2", "", "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/run-u1.scope"),
            ("systemd-v2", "memory", None),
            ("inside-a-supervisor", "", "/sys/fs/cgroup/job"),
            ("container", "memory", "/sys/fs/cgroup/memory"),
        ],
    )
    def test_own_directory(self, machine: str, hierarchy: str, expected: str | None) -> None:
        assert cgroups.own_directory(hierarchy, str(RECORDED / "proc" / machine)) == expected

    def test_without_proc(self, tmp_path: Path) -> None:
        assert cgroups.own_directory("memory", str(tmp_path)) is None


class TestFolders:
    @given(st.text(max_size=300), st.text(max_size=300))
    def test_keys_with_a_common_prefix_have_names_with_one(self, key: str, more: str) -> None:
        name = cgroups.attempt_name(key + more)
        assert name.startswith(cgroups.name_prefix(key))
        assert len(name.encode()) < 230
        assert (name == cgroups.attempt_name(key)) == (not more)
        assert not set(name) & set("/\n\0")

    def test_folders_of_dead_supervisors_are_removed_and_others_stay(self, tmp_path: Path) -> None:
        myself = read_process(os.getpid())
        assert myself
        living = f"headway-{myself.pid}-{myself.start_ticks}-0"
        reborn = f"headway-{myself.pid}-{myself.start_ticks - 1}-1"  # our pid, but another process
        occupied = "headway-999999999-1-1"
        for name in (living, f"{reborn}/task-a~1/inner", f"{occupied}/task-b~1", "headway-of-others"):
            (tmp_path / name).mkdir(parents=True)
        (tmp_path / occupied / "task-b~1" / "a process").touch()  # a cgroup with processes cannot be removed
        mine = Path(cgroups.new_folder(str(tmp_path)))
        assert {path.name for path in tmp_path.iterdir()} == {living, occupied, "headway-of-others", mine.name}

    def test_holds_finds_the_cgroup_of_a_process(self) -> None:
        own = cgroups.read_text("/proc/self/cgroup").splitlines()
        paths = [line.split(":", 2)[2] for line in own]
        deep = [path for path in paths if path.count("/") >= 2]
        for path in deep:
            assert cgroups.holds(f"/sys/fs/cgroup{path}", os.getpid())
            assert not cgroups.holds(f"/sys/fs/cgroup{path}~1", os.getpid())
            assert not cgroups.holds(f"/sys/fs/cgroup{path[:-1]}", os.getpid())


class TestCgroupV2:
    """Against files recorded from Linux 6.1."""

    @pytest.fixture
    def plateau(self, tmp_path: Path) -> Path:
        return Path(shutil.copytree(RECORDED / "v2-plateau", tmp_path / "group"))

    def test_a_plateau(self, plateau: Path) -> None:
        group = CgroupV2Group(str(plateau))
        sample = group.sample(children_lookup())
        assert sample
        assert sample.held_bytes == sample.summed_bytes == pytest.approx(305 * MB, rel=0.02)
        assert sample.cpu_s == pytest.approx(amount(plateau, "cpu.stat", "usage_usec") / 1e6)
        assert len(group.members(children_lookup())) == 3
        totals = group.totals()
        assert totals.peak_bytes == int((plateau / "memory.peak").read_text())
        assert totals.peak_held_bytes == pytest.approx(305 * MB, rel=0.02)
        assert totals.memory_kills == 0

    def test_page_cache(self) -> None:
        group = CgroupV2Group(str(RECORDED / "v2-page-cache"))
        sample = group.sample(children_lookup())
        totals = group.totals()
        assert sample
        assert sample.held_bytes < 20 * MB
        assert totals.peak_bytes
        assert totals.peak_bytes > 300 * MB
        assert totals.peak_held_bytes
        assert totals.peak_held_bytes < 40 * MB

    def test_a_killed_child(self) -> None:
        group = CgroupV2Group(str(RECORDED / "v2-killed"))
        assert group.memory_kills() == group.totals().memory_kills == 1

    def test_swapped_memory_is_held_memory(self, plateau: Path) -> None:
        before = CgroupV2Group(str(plateau)).sample(children_lookup())
        (plateau / "memory.swap.current").write_text(f"{50 * MB}\n")
        after = CgroupV2Group(str(plateau)).sample(children_lookup())
        assert before
        assert after
        assert after.held_bytes - before.held_bytes == 50 * MB

    def test_an_older_kernel(self, plateau: Path) -> None:
        """No memory.peak (before 5.19), no sum of kernel memory (before 5.18), no cgroup.kill (before 5.14)."""
        (plateau / "memory.peak").unlink()
        lines = (plateau / "memory.stat").read_text().splitlines()
        (plateau / "memory.stat").write_text("\n".join(line for line in lines if not line.startswith("kernel ")))
        group = CgroupV2Group(str(plateau))
        assert group.sample(children_lookup())
        assert (group.totals().peak_bytes, group.totals().peak_held_bytes) == (None, None)

    def test_a_removed_cgroup(self, tmp_path: Path) -> None:
        group = CgroupV2Group(str(tmp_path / "gone"))
        assert group.sample(children_lookup()) is None
        assert group.members(children_lookup()) == []
        assert group.memory_kills() == 0
        assert group.remove()

    def test_limits_are_written(self, plateau: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The kernel's limit leaves room for its own memory."""
        monkeypatch.setattr(os, "mkdir", lambda *_: None)
        CgroupV2Group(str(plateau)).create(100 * MB)
        assert 104 * MB < int((plateau / "memory.max").read_text()) < 108 * MB
        assert (plateau / "memory.swap.max").read_text().strip() == "0"

    def test_the_obstacle_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        own = tmp_path / "own"
        own.mkdir()
        assert cgroup_v2.unusable_because(str(own)) == "its memory controller is not available to this user"
        (own / "cgroup.controllers").write_text("cpu io memory pids\n")
        assert "cgroup.procs is not writable" in cgroup_v2.unusable_because(str(own))
        for name in ("cgroup.procs", "cgroup.subtree_control"):
            (own / name).touch()
        monkeypatch.setattr(cgroup_v2, "_is_ours", lambda _: False)
        assert "was not delegated" in cgroup_v2.unusable_because(str(own))
        monkeypatch.setattr(cgroup_v2, "_is_ours", lambda _: True)
        assert cgroup_v2.unusable_because(str(own)) == ""

    def test_a_failed_set_up_leaves_no_folder(self, tmp_path: Path) -> None:
        """A plain folder has no control files, so setting up fails in the middle."""
        with pytest.raises(OSError, match="cgroup"):
            CgroupV2Groups(str(tmp_path))
        assert list(tmp_path.iterdir()) == []


@needs_v1
class TestCgroupV1:
    def test_without_cpuacct(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """CPU time is then measured as without cgroups."""
        real = cgroups.own_directory
        monkeypatch.setattr(cgroups, "own_directory", lambda name: None if name == "cpuacct" else real(name))

        async def work(bench: Bench) -> None:
            end = await bench.run(command(loads.burn, 0.8))
            assert end.usage.method == "cgroup-v1"
            assert end.usage.cpu_s.value == pytest.approx(bench.truth()["cpu_s"], rel=0.05, abs=0.05)
            assert end.usage.cores_peak.value >= end.usage.cores_average.value

        on_bench("cgroup-v1", tmp_path, work)

    def test_an_attempt_that_makes_cgroups(self, tmp_path: Path) -> None:
        """For example a Headway inside a Headway."""

        async def work(bench: Bench) -> None:
            inner = f"{cgroups.own_directory('memory')}/headway-*/task-*/inner"
            script = f"mkdir $(dirname {inner})/inner; echo $$ > {inner}/cgroup.procs; sleep 600 & sleep 0.3"
            end = await bench.run(["sh", "-c", script.replace(f"$(dirname {inner})", str(Path(inner).parent))])
            assert end.exit_code == 0

        on_bench("cgroup-v1", tmp_path, work)

    def test_polling_is_used_if_no_cgroup_can_be_made(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """An attempt is then measured by polling."""

        def refuse(*_: object) -> CgroupV1Group:
            raise OSError("no more cgroups")

        monkeypatch.setattr(CgroupV1Groups, "make", refuse)

        async def work(bench: Bench) -> None:
            end = await bench.run(["true"])
            assert (end.exit_code, end.usage.method) == (0, "polling")

        on_bench("cgroup-v1", tmp_path, work)

    def test_auto_uses_polling_if_set_up_fails(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(_: str) -> CgroupV1Groups:
            raise OSError("no luck")

        monkeypatch.setattr(methods, "_open", refuse)

        async def work(bench: Bench) -> None:
            assert (bench.trees.method, bench.trees.reason) == ("polling", "cgroup-v1 could not be set up: no luck")

        on_bench("auto", tmp_path, work)


def amount(folder: Path, file: str, name: str) -> int:
    lines = (line.split() for line in (folder / file).read_text().splitlines())
    return next(int(value) for found, value in lines if found == name)
