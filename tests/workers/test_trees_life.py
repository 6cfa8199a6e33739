"""Starting, ending and cleaning up, by every method that works on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec import structs

from headway.model.errors import InputError, SiteError
from headway.model.outcome import Ending
from headway.workers.trees import CommandEnd, cgroups, detect_method, kill_strays, read_end, tree
from headway.workers.trees.end_note import expect_end, forget_end, void_end
from headway.workers.trees.processes import MARKER, all_pids, children_lookup, is_witness, marker_of, read_process
from tests.workers import loads
from tests.workers.loads import Bench, command, endless, left_of, on_bench

each_method = pytest.mark.parametrize("method", loads.methods())


def own_folders() -> list[str]:
    """Return the folders of this process in the cgroup file system."""
    own = [cgroups.own_directory(hierarchy) for hierarchy in ("memory", "cpuacct", "")]
    folders = [folder for directory in own if directory for folder in cgroups.owned_folders(directory)]
    return [path for path, pid, _ in folders if pid == os.getpid()]


@each_method
def test_an_ordinary_command(method: str, tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        spec = bench.spec(["sh", "-c", f"echo $PWD; echo ${MARKER} $MINE >&2; cat; exit 7"])
        end = await bench.trees.run(structs.replace(spec, environment={"MINE": "and yours"}))
        assert (end.exit_code, end.signal, end.stopped_for, end.launch_error) == (7, None, None, "")
        assert Path(spec.stdout).read_text() == f"{spec.directory}\n"
        assert Path(spec.stderr).read_text() == f"{spec.key} and yours\n"
        end = await bench.run(["sh", "-c", "kill -USR1 $$"])
        assert (end.exit_code, end.signal, end.stopped_for) == (None, signal.SIGUSR1, None)

    on_bench(method, tmp_path, work)


@each_method
def test_launch_errors(method: str, tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        async def error(argv: tuple[str, ...] = ("true",), **changes: str) -> str:
            end = await bench.trees.run(structs.replace(bench.spec(list(argv)), **changes))
            assert (end.exit_code, end.signal, end.stopped_for) == (None, None, None)
            return end.launch_error

        nowhere = bench.path("nowhere")
        missing = "No such file or directory"
        assert await error(directory=nowhere) == f"cannot start in {nowhere}: {missing}"
        assert await error(stdout=f"{nowhere}/out") == f"cannot write to {nowhere}/out: {missing}"
        assert await error(stderr="/proc/version/err") == "cannot write to /proc/version/err: Not a directory"
        assert await error(("no-such-command",)) == f"cannot run no-such-command: {missing}"
        assert await error(("./no-such-command",)) == f"cannot run ./no-such-command: {missing}"
        assert await error((bench.directory,)) == f"cannot run {bench.directory}: Permission denied"
        assert (await error(("nul\0",))).startswith("cannot run nul")
        assert (await error(())).startswith("cannot run an empty command")
        assert (await bench.run(["sh", "-c", "exit 127"])).exit_code == 127  # not a launch error

    on_bench(method, tmp_path, work)


@each_method
def test_paths_relative_to_the_supervisor(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(bench: Bench) -> None:
        monkeypatch.chdir(bench.directory)  # after the spawner was started
        spec = structs.replace(bench.spec(["pwd"]), directory=".", stdout="here.out", stderr="here.err")
        assert (await bench.trees.run(spec)).exit_code == 0
        assert Path(bench.path("here.out")).read_text() == f"{bench.directory}\n"

    on_bench(method, tmp_path, work)


@each_method
def test_two_hundred_at_once(method: str, tmp_path: Path) -> None:
    async def work(bench: Bench) -> list[CommandEnd]:
        return await asyncio.gather(*(bench.run(["true"], memory_bytes=10**8, walltime_s=600) for _ in range(200)))

    ends = on_bench(method, tmp_path, work)
    assert [end.exit_code for end in ends] == [0] * 200


@each_method
def test_nothing_is_left_behind(method: str, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    myself = read_process(os.getpid())
    assert myself
    before = set(children_lookup()(myself))

    async def work(bench: Bench) -> None:
        await bench.run(["true"], memory_bytes=10**8)
        running = [
            asyncio.create_task(bench.run(endless("deaf"), grace_s=600)),
            asyncio.create_task(bench.run(command(loads.daemon, pid_file, 600, 600, "deaf", "wait"), grace_s=600)),
        ]
        while not pid_file.exists():
            await asyncio.sleep(0.01)
        if method != "polling":
            assert own_folders() != []
        await bench.trees.close()
        assert [(await end).stopped_for for end in running] == [Ending.CANCELLED] * 2
        with pytest.raises(RuntimeError, match="closed"):
            await bench.run(["true"])

    on_bench(method, tmp_path, work)
    assert own_folders() == []
    assert left_of(str(tmp_path)) == []
    assert set(children_lookup()(myself)) <= before


@each_method
def test_cancelling_the_caller_stops_the_command(method: str, tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        spec = bench.spec(["sleep", "600"])
        running = asyncio.create_task(bench.trees.run(spec))
        await asyncio.sleep(0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        while [pid for pid in all_pids() if marker_of(pid) == spec.key]:
            await asyncio.sleep(0.01)

    on_bench(method, tmp_path, work)


@each_method
def test_killed_before_it_has_started(method: str, tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        spec = bench.spec(["sleep", "600"])
        running = asyncio.create_task(bench.trees.run(spec))
        await asyncio.sleep(0)
        bench.trees.kill(spec.key)
        assert (await running).stopped_for is Ending.CANCELLED

    on_bench(method, tmp_path, work)


@each_method
def test_a_key_can_be_used_again_but_not_at_the_same_time(method: str, tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        spec = bench.spec(["sleep", "0.2"])
        first = asyncio.create_task(bench.trees.run(spec))
        await asyncio.sleep(0)
        with pytest.raises(ValueError, match="already"):
            await bench.trees.run(spec)
        assert (await first).exit_code == 0
        assert (await bench.trees.run(spec)).exit_code == 0

    on_bench(method, tmp_path, work)


@each_method
def test_commands_survive_the_death_of_the_spawner(method: str, tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        running = asyncio.create_task(bench.run(["sh", "-c", "sleep 0.6; exit 3"]))
        await asyncio.sleep(0.2)
        [spawner] = [pid for pid in children_lookup()(read_process(os.getpid())) if b"spawner.py" in cmdline(pid)]
        os.kill(spawner, signal.SIGKILL)
        assert (await running).exit_code == 3
        assert (await bench.run(["true"])).exit_code == 0

    on_bench(method, tmp_path, work)


@each_method
def test_ends_are_known_although_the_spawner_died_before_it_could_reap(method: str, tmp_path: Path) -> None:
    """The dead first processes become our children; in a v1 hierarchy they do not tell where they belonged."""

    async def work(bench: Bench) -> None:
        scripts = [f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; exit {code}" for code in range(3)]
        running = [asyncio.create_task(bench.run(["sh", "-c", script])) for script in scripts]
        while len(leaders := left_of(f"{tmp_path}/")) < 3:
            await asyncio.sleep(0.01)
        [spawner] = [pid for pid in children_lookup()(read_process(os.getpid())) if b"spawner.py" in cmdline(pid)]
        os.kill(spawner, signal.SIGSTOP)
        Path(bench.path("go")).touch()
        while any((process := read_process(pid)) and not process.dead for pid in leaders):
            await asyncio.sleep(0.01)
        os.kill(spawner, signal.SIGKILL)
        assert [(await end).exit_code for end in running] == [0, 1, 2]

    on_bench(method, tmp_path, work)


@each_method
def test_a_command_that_dies_with_the_spawner_is_lost(method: str, tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        [spawner] = [pid for pid in children_lookup()(read_process(os.getpid())) if b"spawner.py" in cmdline(pid)]
        os.kill(spawner, signal.SIGSTOP)
        asked = [asyncio.create_task(bench.run(["true"])) for _ in range(3)]
        await asyncio.sleep(0)
        os.kill(spawner, signal.SIGKILL)
        ends = [await end for end in asked]
        assert [(end.lost, end.launch_error, end.exit_code) for end in ends] == [(True, "", None)] * 3
        assert (await bench.run(["true"])).exit_code == 0

    on_bench(method, tmp_path, work)


def test_an_end_is_noted_unless_the_command_was_stopped(tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        note = bench.path("note")
        expect_end(note)
        assert (
            await bench.trees.run(structs.replace(bench.spec(["sh", "-c", "exit 3"]), end_file=note))
        ).exit_code == 3
        noted = read_end(note)
        assert noted is not None
        assert os.waitstatus_to_exitcode(noted.status) == 3
        expect_end(bench.path("void"))
        stopped = structs.replace(bench.spec(endless("polite"), walltime_s=0.3), end_file=bench.path("void"))
        assert (await bench.trees.run(stopped)).stopped_for is Ending.TIME
        assert read_end(bench.path("void")) is None

    on_bench("polling", tmp_path, work)


FILLS_BLOCKS = "cat /dev/zero > {0}/filler; test $(stat -f -c %f {0}) = 0"
FILLS_INODES = "while touch {0}/$((i += 1)); do :; done; test $(stat -f -c %d {0}) = 0"


@pytest.mark.parametrize("fills", [FILLS_BLOCKS, FILLS_INODES], ids=["blocks", "inodes"])
def test_an_end_is_noted_on_a_full_disk(tmp_path: Path, small_disk: Path, fills: str) -> None:
    subprocess.run(["mount", "-o", "remount,nr_inodes=200", small_disk], check=True)

    async def work(bench: Bench) -> None:
        expect_end(str(small_disk / "end"))
        script = fills.format(small_disk)
        spec = structs.replace(bench.spec(["sh", "-c", script]), end_file=str(small_disk / "end"))
        assert (await bench.trees.run(spec)).exit_code == 0
        noted = read_end(str(small_disk / "end"))
        assert noted is not None
        assert noted.status == 0

    on_bench("polling", tmp_path, work)


def test_only_one_of_an_end_and_a_stop_is_noted(tmp_path: Path) -> None:
    note = str(tmp_path / "end")
    expect_end(note)
    assert read_end(note) is None
    (tmp_path / "end").rename(f"{note},256,100.000000,101.500000,0.25")
    void_end(note)
    assert read_end(note) == (256, 100.0, 101.5, 0.25)
    forget_end(note)
    assert read_end(note) is None
    (tmp_path / "end,not,a,note").touch()
    assert read_end(note) is None


@each_method
def test_a_command_whose_witness_is_killed_goes_on(method: str, tmp_path: Path) -> None:
    """Its end is known, in its own words, also if the spawner dies afterwards."""

    async def work(bench: Bench) -> None:
        scripts = [
            f"kill -9 $PPID; touch {tmp_path}/{n}; until [ -e {tmp_path}/go ]; do sleep 0.01; done" for n in "ab"
        ]
        running = [
            asyncio.create_task(bench.run(["sh", "-c", f"{it}; exit {code}"])) for code, it in enumerate(scripts)
        ]
        while not all((tmp_path / name).exists() for name in "ab"):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)
        [spawner] = [pid for pid in children_lookup()(read_process(os.getpid())) if b"spawner.py" in cmdline(pid)]
        os.kill(spawner, signal.SIGKILL)
        await asyncio.sleep(0.2)
        (tmp_path / "go").touch()
        ends = [await end for end in running]
        assert [(end.exit_code, end.signal, end.lost) for end in ends] == [(0, None, False), (1, None, False)]
        assert (await bench.run(["sh", "-c", "kill -9 $PPID; sleep 1; exit 5"])).exit_code == 5

    on_bench(method, tmp_path, work)


def test_a_command_that_ends_with_its_witness_is_lost_or_its_end_is_known(tmp_path: Path) -> None:
    """Unless the start was told before, nobody knows it: then it is no fault of the command's."""

    async def work(bench: Bench) -> None:
        end = await bench.run(["sh", "-c", "kill -9 $PPID; exit 5"])
        assert (end.exit_code, end.lost) in ((5, False), (None, True))

    on_bench("polling", tmp_path, work)


@each_method
def test_a_command_whose_witness_is_killed_is_still_limited(method: str, tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        end = await bench.run(["sh", "-c", "kill -9 $PPID; sleep 600"], walltime_s=0.5)
        assert end.stopped_for is Ending.TIME

    on_bench(method, tmp_path, work)


@each_method
@pytest.mark.parametrize("stops", ["kill -STOP $PPID", "kill -STOP $(cut -d' ' -f4 /proc/$PPID/stat) $PPID"])
def test_a_command_that_stops_its_witness_and_the_spawner_ends(method: str, tmp_path: Path, stops: str) -> None:
    async def work(bench: Bench) -> None:
        async with asyncio.timeout(60):
            assert (await bench.run(["sh", "-c", f"{stops}; exit 3"])).exit_code == 3
            assert (await bench.run(["true"])).exit_code == 0

    on_bench(method, tmp_path, work)


def test_a_witness_that_does_not_tell_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it hung: nobody wakes it. The first process is the supervisor's child then, which knows how it ended."""
    monkeypatch.setattr(tree, "_TELL_WITHIN_S", 1.0)
    monkeypatch.setattr(tree, "wake", lambda _: None)

    async def work(bench: Bench) -> None:
        async with asyncio.timeout(60):
            assert (await bench.run(["sh", "-c", "sleep 0.5; kill -STOP $PPID; exit 3"])).exit_code == 3

    on_bench("polling", tmp_path, work)


def test_a_witness_that_is_stopped_before_it_tells_of_the_start_goes_on(tmp_path: Path) -> None:
    """The command takes part in no race: the witness is stopped before it has a command."""

    async def work(bench: Bench) -> None:
        assert (await bench.run(["true"])).exit_code == 0  # its witness waits for the next command
        [idle] = [pid for pid in all_pids() if is_witness(pid, f"commands of process {os.getpid()}")]
        os.kill(idle, signal.SIGSTOP)
        async with asyncio.timeout(60):
            assert (await bench.run(["sh", "-c", "exit 3"])).exit_code == 3

    on_bench("polling", tmp_path, work)


def test_an_end_is_noted_after_the_supervisors_death(tmp_path: Path) -> None:
    script = f"""
from msgspec import structs
from tests.workers import loads
async def work(bench):
    spec = bench.spec(["sh", "-c", "echo; sleep 0.5"])
    await bench.trees.run(structs.replace(spec, end_file={str(tmp_path / "end")!r}))
loads.on_bench("polling", {str(tmp_path)!r}, work)
"""
    expect_end(str(tmp_path / "end"))
    supervisor = subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parents[2])
    out = tmp_path / "1.out"
    while not (out.exists() and out.stat().st_size):
        assert supervisor.poll() is None
    supervisor.kill()
    supervisor.wait()
    while (noted := read_end(str(tmp_path / "end"))) is None:
        time.sleep(0.01)
    assert noted.status == 0
    assert noted.ended_at > noted.started_at > time.time() - 3600


LONE = """
import asyncio
from headway.model.resources import Resources
from headway.workers.trees import CommandSpec, ProcessTrees
async def main():
    trees = ProcessTrees(method="polling", marker={prefix!r})
    await trees.start()
    files = {{name: {prefix!r} + name for name in ("stdout", "stderr", "end_file")}}
    await trees.run(CommandSpec({prefix!r} + "a/1", {words!r}, {{}}, {prefix!r}, limits=Resources(), **files))
asyncio.run(main())
"""


def start_alone(prefix: str, *words: str) -> tuple[subprocess.Popen[bytes], list[int]]:
    """Run a command under a supervisor of its own; return the supervisor and the command's processes."""
    expect_end(f"{prefix}end_file")
    script = LONE.format(prefix=prefix, words=words)
    supervisor = subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parents[2])
    while not (found := left_of(f"{prefix}a/1")):
        assert supervisor.poll() is None
        time.sleep(0.01)
    return supervisor, found


def kill_with_spawner(supervisor: subprocess.Popen[bytes], prefix: str) -> None:
    spawners = [pid for pid in all_pids() if marker_of(pid) == prefix and not is_witness(pid, prefix)]
    for pid in (supervisor.pid, *spawners):
        os.kill(pid, signal.SIGKILL)
    supervisor.wait()


@pytest.mark.parametrize("wakes", [True, False], ids=["woken", "stopped"])
def test_strays_are_not_over_before_the_ends_of_their_commands_are_noted(tmp_path: Path, *, wakes: bool) -> None:
    """Supervisor and spawner are dead, the command has ended, and its witness has not come to noting that."""
    prefix = f"{tmp_path}/"
    supervisor, _ = start_alone(prefix, "sh", "-c", "until [ -e go ]; do sleep 0.01; done")
    command = next(
        process for pid in left_of(f"{prefix}a/1") if (process := read_process(pid)) and process.session == pid
    )
    os.kill(command.parent, signal.SIGSTOP)
    kill_with_spawner(supervisor, prefix)
    (tmp_path / "go").touch()
    while (process := read_process(command.pid)) is not None and not process.dead:
        time.sleep(0.01)
    assert read_end(f"{prefix}end_file") is None
    if wakes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(command.parent, signal.SIGCONT)
    began_s = time.monotonic()
    kill_strays(prefix)
    assert time.monotonic() - began_s < 30
    noted = read_end(f"{prefix}end_file")
    assert noted is not None
    assert noted.status == 0


def test_a_command_that_has_the_name_of_a_witness_is_killed(tmp_path: Path) -> None:
    prefix = f"{tmp_path}/"
    shutil.copy(shutil.which("sleep") or "", tmp_path / "task-witness")
    supervisor, pids = start_alone(prefix, f"{tmp_path}/task-witness", "600")
    assert Path(f"/proc/{pids[0]}/comm").read_text() == "task-witness\n"
    kill_with_spawner(supervisor, prefix)
    assert kill_strays(prefix) == 1
    assert left_of(prefix) == []


@each_method
def test_a_daemon_that_has_the_name_of_a_witness_is_killed(method: str, tmp_path: Path) -> None:
    """Its parent has ended, so that it is a child of the supervisor like a witness whose spawner has died."""
    shutil.copy(shutil.which("sleep") or "", tmp_path / "task-witness")

    async def work(bench: Bench) -> None:
        async with asyncio.timeout(60):
            script = (
                f"setsid sh -c '{tmp_path}/task-witness 600 & echo $! > {tmp_path}/pid' & until [ -s {tmp_path}/pid ]"
            )
            assert (await bench.run(["sh", "-c", f"{script}; do sleep 0.01; done"])).exit_code == 0
        assert read_process(int((tmp_path / "pid").read_text())) is None

    on_bench(method, tmp_path, work)


def cmdline(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


@each_method
def test_strays_of_a_dead_supervisor_are_killed(method: str, tmp_path: Path) -> None:
    """Three generations, and a daemon without environment, which cannot be found without cgroups."""
    script = f"""
import asyncio
from tests.workers import loads
async def work(bench):
    await asyncio.gather(
        bench.run(loads.endless()),
        bench.run(loads.command(loads.daemon, bench.path("pid"), 600, 600, "anonymous")),
    )
loads.on_bench({method!r}, {str(tmp_path)!r}, work)
"""
    supervisor = subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parents[2])
    out, pid_file = tmp_path / "1.out", tmp_path / "pid"
    while not (out.exists() and out.stat().st_size and pid_file.exists()):
        assert supervisor.poll() is None
    supervisor.kill()
    supervisor.wait()
    assert kill_strays(f"{tmp_path}/another") == 0
    assert kill_strays(f"{tmp_path}/") >= 3
    assert kill_strays(f"{tmp_path}/") == 0
    assert left_of(str(tmp_path)) == []
    daemon = read_process(int(pid_file.read_text()))
    if daemon and not daemon.dead:  # dead: init has not reaped it yet
        assert method == "polling"
        os.kill(daemon.pid, signal.SIGKILL)

    async def sweep(_: Bench) -> None:
        own = [cgroups.own_directory(hierarchy) for hierarchy in ("memory", "cpuacct", "")]
        owners = [pid for directory in own if directory for _, pid, _ in cgroups.owned_folders(directory)]
        assert supervisor.pid not in owners

    on_bench(method, tmp_path, sweep)


def test_an_empty_prefix_is_refused() -> None:
    with pytest.raises(ValueError, match="every"):
        kill_strays("")


def test_choosing_a_method(tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        method, reason = detect_method()
        assert (bench.trees.method, bench.trees.reason) == (method, reason)
        assert reason

    on_bench("auto", tmp_path, work)
    with pytest.raises(InputError, match="choose one of auto, polling"):
        on_bench("telepathy", tmp_path, work)
    if "cgroup-v2" not in loads.methods():
        with pytest.raises(SiteError, match="cgroup-v2 cannot be used here"):
            on_bench("cgroup-v2", tmp_path, work)
