"""The spawner: the state in which commands start."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from headway.workers.trees import spawner
from headway.workers.trees.processes import read_process
from tests.workers.loads import MB, Bench, on_bench

messages = st.lists(st.tuples(st.integers(), st.text(), st.lists(st.binary()), st.floats(allow_nan=False)), max_size=5)


@given(messages, st.integers(1, 50))
def test_messages_are_decoded_however_they_are_cut(sent: list[tuple[object, ...]], piece: int) -> None:
    stream = b"".join(spawner.pack(message) for message in sent)
    received: list[tuple[object, ...]] = []
    buffer = bytearray()
    for start in range(0, len(stream), piece):
        buffer += stream[start : start + piece]
        received += spawner.unpack(buffer)
    assert received == sent
    assert not buffer


def said(directory: Path, argv: list[str], **changes: object) -> str:
    """Return what a command prints."""

    async def work(bench: Bench) -> str:
        spec = structs.replace(bench.spec(argv), **changes)
        end = await bench.trees.run(spec)
        assert (end.exit_code, end.launch_error) == (0, ""), Path(spec.stderr).read_text()
        return Path(spec.stdout).read_text(errors="surrogateescape")

    return on_bench("polling", directory, work)


def test_all_signals_have_their_defaults(tmp_path: Path) -> None:
    """Although Python ignores SIGPIPE, a supervisor ignores SIGHUP, and SIGUSR1 is blocked."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    try:
        status = said(tmp_path, ["cat", "/proc/self/status"])
    finally:
        signal.signal(signal.SIGHUP, before)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
    masks = dict(line.split(":\t") for line in status.splitlines() if line.startswith("Sig"))
    settable = sum(1 << (number - 1) for number in signal.valid_signals())  # two are reserved by the C library
    assert int(masks["SigIgn"], 16) & settable == int(masks["SigBlk"], 16) & settable == 0


def test_sigpipe_ends_a_writer(tmp_path: Path) -> None:
    assert said(tmp_path, ["bash", "-c", "yes | head -1; echo ${PIPESTATUS[0]}"]) == "y\n141\n"


def test_no_other_file_is_open(tmp_path: Path) -> None:
    with open("/dev/zero"), open("/dev/full") as inheritable:
        os.set_inheritable(inheritable.fileno(), True)
        assert said(tmp_path, ["ls", "/proc/self/fd"]).split() == ["0", "1", "2", "3"]  # 3: the folder being listed
    assert said(tmp_path, ["readlink", "/proc/self/fd/0"]) == "/dev/null\n"


def test_a_session_of_its_own(tmp_path: Path) -> None:
    line = said(tmp_path, ["cat", "/proc/self/stat"]).rpartition(")")[2].split()
    session, terminal = line[3], line[4]
    assert terminal == "0"
    assert session != str(os.getsid(0))


def test_arguments_that_are_not_utf8(tmp_path: Path) -> None:
    odd = os.fsdecode(b"\xff\xfe")
    assert said(tmp_path, ["printf", "%s", odd]) == odd
    assert said(tmp_path, ["printenv", "ODD"], environment={"ODD": odd}) == odd + "\n"


def test_the_commands_own_path_is_searched(tmp_path: Path) -> None:
    for folder, mode in (("first", 0o644), ("second", 0o755)):
        (tmp_path / folder).mkdir()
        program = tmp_path / folder / "program"
        program.write_text(f"#!/bin/sh\necho {folder}\n")
        program.chmod(mode)
    path = f"{tmp_path}/none:{tmp_path}/first:{tmp_path}/second"
    assert said(tmp_path, ["program"], environment={"PATH": path}) == "second\n"


def test_logs_are_private_and_can_share_a_file(tmp_path: Path) -> None:
    both = tmp_path / "both"
    both.write_text("an old text that is longer than the new one")
    script = "echo out; echo err >&2; echo out"
    assert said(tmp_path, ["sh", "-c", script], stdout=str(both), stderr=str(both)) == "out\nerr\nout\n"
    assert said(tmp_path, ["true"]) == ""
    assert stat.S_IMODE(os.stat(tmp_path / "1.err").st_mode) == 0o600


@pytest.mark.parametrize("ballast_bytes", [0, 200 * MB])
def test_the_supervisors_memory_does_not_count(ballast_bytes: int, tmp_path: Path) -> None:
    async def work(bench: Bench) -> float:
        ballast = bytearray(ballast_bytes)
        end = await bench.run(["true"])
        del ballast
        return end.usage.memory_bytes.value

    assert on_bench("polling", tmp_path, work) < 10 * MB


def test_the_spawner_ends_with_its_supervisor() -> None:
    import socket

    ours, theirs = socket.socketpair()
    argv = [sys.executable, "-I", "-S", spawner.__file__, str(theirs.fileno())]
    with subprocess.Popen(argv, pass_fds=[theirs.fileno()]) as process:
        theirs.close()
        assert ours.recv(1)  # it has started
        assert read_process(process.pid)
        ours.close()
        assert process.wait(timeout=300) == 0
