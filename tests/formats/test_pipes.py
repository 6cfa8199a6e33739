"""Files that are pipes: read to the end, however slow the writer is; without a writer, refused in one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.formats import headway_yaml, unpacked
from headway.formats.headway_yaml import parse_workflow, read_workflow
from headway.formats.read_any import read_instance
from headway.formats.read_batch_log import read_batch_log
from headway.formats.read_task_log import read_task_log
from headway.model.errors import InputError

FLOW = b"name: w\ntasks:\n  a:\n    run: echo hello\n"
SHEET = b"name: w\ntasks:\n  a:\n    each: pipe.csv\n    run: echo {x}\n"
READERS: dict[str, Callable[[Path], object]] = {
    "pipe.yaml": read_instance,
    "pipe.json": read_instance,
    "pipe.csv": lambda path: parse_workflow(SHEET, directory=path.parent),
    "pipe.swf": read_batch_log,
    "pipe.jsonl": read_task_log,
}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> float:
    wait_s = 0.2
    monkeypatch.setattr(unpacked, "WRITER_WAIT_S", wait_s)
    return wait_s


@pytest.mark.parametrize("name", READERS)
@pytest.mark.usefixtures("impatient")
def test_a_pipe_without_a_writer_is_refused(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match="this is a pipe, and no process has opened it") as caught:
        READERS[name](tmp_path / name)
    assert name in str(caught.value) and "\n" not in str(caught.value)


def write(number: int, pieces: list[bytes], pause_s: float) -> threading.Thread:
    """Write the pieces to a pipe, with a pause before each, and close it."""

    def work() -> None:
        with os.fdopen(number, "wb", buffering=0) as file:
            for piece in pieces:
                time.sleep(pause_s)
                file.write(piece)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_a_slow_writer_may_pause_for_longer_than_a_missing_one_is_waited_for(tmp_path: Path, impatient: float) -> None:
    path = tmp_path / "pipe.yaml"
    os.mkfifo(path)
    thread = write(os.open(path, os.O_RDWR), [FLOW[:10], FLOW[10:]], 3 * impatient)
    assert list(read_workflow(path).tasks) == ["a"]
    thread.join()


@pytest.mark.usefixtures("impatient")
def test_a_writer_that_says_nothing_left_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "pipe.yaml"
    os.mkfifo(path)
    thread = write(os.open(path, os.O_RDWR), [b""], 0.05)
    with pytest.raises(InputError, match="this file is empty"):
        read_workflow(path)
    thread.join()


def test_an_infinite_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headway_yaml, "MAX_BYTES", 1_000_000)
    path = tmp_path / "pipe.yaml"
    os.mkfifo(path)
    with subprocess.Popen(f"exec yes > '{path}'", shell=True) as writer:
        with pytest.raises(InputError, match="larger than 1 MB"):
            read_workflow(path)
        writer.wait(60)  # its reader is gone


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("headway show <(sleep 1; cat flow)", "w: 1 task of 1 category"),
        ("headway show --set n=3 <(cat flow; echo config: '{n: 1}')", "w: 1 task of 1 category"),
        ("headway show pipe.yaml", "pipe.yaml: this is a pipe"),
        ("(sleep 1; cat flow) > pipe.yaml & headway show pipe.yaml", "w: 1 task of 1 category"),
    ],
)
def test_pipes_as_users_name_them(tmp_path: Path, script: str, says: str) -> None:
    (tmp_path / "flow").write_bytes(FLOW)
    os.mkfifo(tmp_path / "pipe.yaml")
    script = f"headway() {{ '{sys.executable}' -m headway \"$@\"; }}; {script}"
    done = subprocess.run(
        ["bash", "-c", script], check=False, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert says in done.stdout + done.stderr
    assert done.stderr.count("\n") <= 1
