"""`headway top` by textual's pilot and on a real pseudo-terminal, on journals of real runs."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import html
import os
import pty
import re
import select
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

pytest.importorskip("textual")

from textual.pilot import Pilot

from headway.api.watching import Watch
from headway.terminal.app import TopApp
from headway.terminal.task_screen import TaskScreen
from tests.cli.bench import PATIENCE_S, SMALL, Bench

FLOW = """
    name: sky
    tasks:
      fetch:
        each: {tile: [1, 2, 3]}
        run: echo "tile {tile} is here"; echo {tile} > tile_{tile}
        outputs: ["tile_{tile}"]
      wait:
        run: echo started; touch started; while [ ! -e go ]; do sleep 0.05; done; echo over
      check:
        inputs: [tile_2]
        run: echo "[bold]cannot read tile 2" >&2; exit 5
      mosaic:
        needs: [wait]
        run: "true"
      print:
        needs: [check]
        run: "true"
"""
CHARACTER_WIDTH = 12.2  # in textual's pictures
Act = Callable[["Seen"], Awaitable[None]]


class Seen:
    """The app under a pilot, and what its screen shows."""

    def __init__(self, app: TopApp, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def lines(self) -> list[str]:
        found: dict[float, str] = {}
        svg = self.app.export_screenshot()
        for x, y, text in re.findall(r'<text class="[^"]*" x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>', svg):
            column = round(float(x) / CHARACTER_WIDTH)
            found[float(y)] = found.get(float(y), "").ljust(column) + html.unescape(text).replace("\xa0", " ")
        return [line for _, line in sorted(found.items())]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, words: str) -> None:
        """Wait until the screen shows these words."""
        deadline = time.monotonic() + PATIENCE_S
        while not re.search(words, self.text):
            assert time.monotonic() < deadline, f"{words} is not in:\n{self.text}"
            await self.pilot.pause(0.05)


def drive(directory: Path, act: Act, size: tuple[int, int] = (80, 24), run: str | None = None) -> None:
    """Show a run on a screen of this size and use it."""

    async def use() -> None:
        watch = Watch(run, directory)
        app = TopApp(watch, look_every_s=0.05)
        async with app.run_test(size=size, notifications=True) as pilot:
            seen = Seen(app, pilot)
            await seen.until("sky, run")
            await act(seen)
        watch.close()

    asyncio.run(use())


@pytest.fixture(scope="module")
def over(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A run that is over, to be looked at."""
    home = tmp_path_factory.mktemp("over")
    bench = Bench(home / "work", home)
    bench.write(FLOW)
    (bench.directory / "go").touch()
    assert bench("run", "-k", *SMALL).returncode == 1
    return bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "work", tmp_path / "home")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
def test_the_panes_of_a_run_that_is_over(over: Bench, size: tuple[int, int]) -> None:
    async def act(seen: Seen) -> None:
        await seen.until(r"check +x+ +0/1 +· +· +· +1 +·")
        assert re.search(r"sky, run 1: failed after 0:0\d", seen.lines[0])
        assert "5 of 7 done  1 failed  1 cut off" in seen.lines[1]
        assert re.search(r"fetch +━+ +3/3 +· +· +· +· +·", seen.text)
        assert "✗ check its command exited with code 5" in seen.text
        assert "1 cut off they depend on check, which failed" in seen.text
        await seen.until(r"Enter Open +1-5 Panes +/ Find +c Stop the run +d Light/dark +q Quit *$")
        await seen.press("2")
        await seen.until(r"failed +check")
        assert re.search(r"done +fetch\[3\] .* 1 .*cores?, [\d.]+ [MG]B", seen.text)
        assert re.search(r"cut off +print", seen.text)
        await seen.press("3")
        await seen.until("The run holds nothing and waits for nothing")
        await seen.press("4")
        await seen.until(r"fetch +[\d.]+ cores?, [\d.]+ [MG]B")
        await seen.press("5")
        await seen.until("they depend on check, which failed")
        assert len(seen.lines) <= size[1]
        assert max(len(line.rstrip()) for line in seen.lines) <= size[0]
        await seen.press("c")
        await seen.until(r"Run 1 is over \(failed\)")
        await seen.press("q")
        assert not seen.app.is_running

    drive(over.directory, act, size)


def test_find_a_task_and_read_why_and_its_log(over: Bench) -> None:
    async def act(seen: Seen) -> None:
        await seen.press("slash")
        await seen.press(*"fetch done")
        await seen.until("3 tasks that match 'fetch done'")
        assert not re.search(r"failed +check", seen.text)
        await seen.press("escape", "slash", *"fe*[?]")
        await seen.until(r"3 tasks that match 'fe\*\[\?\]'")
        await seen.press("escape")
        await seen.until("7 tasks; Enter opens one")
        await seen.press("slash", *"chec", "enter", "enter")
        await seen.until(r"given up: its command exited with code 5")
        assert seen.lines[0].strip() == "check: failed"
        await seen.until(r"stderr of attempt 1: \d+ bytes")
        assert "[bold]cannot read tile 2" in seen.text, "what a task prints is no markup"
        await seen.press("o")
        await seen.until("stdout of attempt 1: nothing was written")
        await seen.press("escape")
        await seen.until("1 task that match")
        await seen.press("escape", "1", "down", "enter")
        await seen.until("1 task that match 'wait'")
        await seen.press("enter")
        await seen.until(r"stdout of attempt 1: \d+ bytes")
        assert isinstance(seen.app.screen, TaskScreen)
        assert "over" in seen.text

    drive(over.directory, act)


def test_a_run_that_goes_on_ends_while_it_is_watched(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    bench.write(FLOW)
    assert bench("run", "-k", "--detach", *SMALL).returncode == 0
    bench.wait_for_file("started")

    async def act(seen: Seen) -> None:
        await seen.until(r"wait +╍+ +0/1 +1 +· +· +·")
        await seen.until("3 of 7 done")
        await seen.until(r"mosaic +─+ +0/1 +· +· +1 +·")
        assert "mosaic: 1 waiting for wait (1 of 1 left)" in seen.text
        assert "▸ wait" in seen.text
        await seen.press("3")
        await seen.until(r"runs +[\d.]+ s +1 of 2 +1 node with 2 cores, 1 GB memory")
        await seen.press("2", "slash", *"wait", "enter", "enter")
        await seen.until("wait: running")
        await seen.until("started")
        (bench.directory / "go").touch()
        await seen.until("wait: done")
        await seen.until(r"over\s")
        await seen.press("escape", "escape", "1")
        await seen.until("sky, run 1: failed after")
        await seen.until("The run has ended: failed")
        assert seen.app.is_running, "it stays"

    drive(bench.directory, act)


def test_stopping_asks_first_and_a_killed_manager_is_said(bench: Bench) -> None:
    bench.write(FLOW)
    manager = bench.json("run", "mosaic", "--detach", *SMALL)["manager_pid"]
    bench.wait_for_file("started")

    async def stop(seen: Seen) -> None:
        await seen.press("c")
        await seen.until("Stop run 1 at once")
        await seen.press("n")
        await seen.until("sky, run 1: running")
        await seen.press("c")
        await seen.until(r"1 running task will be ended")
        await seen.press("y")
        await seen.until("sky, run 1: stopped after")
        await seen.press("5")
        await seen.until("it was stopped: `headway resume 1` goes on")

    drive(bench.directory, stop)
    bench.wait_for(lambda: not Path(f"/proc/{manager}").exists(), "the end of the manager")
    (bench.directory / "started").unlink()
    manager = bench.json("resume", "--detach")["manager_pid"]
    bench.wait_for_file("started")

    async def killed(seen: Seen) -> None:
        await seen.until("sky, run 1: running")
        os.kill(manager, signal.SIGKILL)
        await seen.until("interrupted after .*: its manager is gone, nothing is lost")

    drive(bench.directory, killed, (100, 30))
    bench.succeeds("cancel")


def test_a_damaged_journal(over: Bench, tmp_path: Path) -> None:
    copy = Bench(tmp_path / "copy", tmp_path)
    subprocess.run(["cp", "-r", over.directory / ".headway", copy.directory], check=True)
    path = copy.directory / ".headway" / "runs" / "1" / "journal.db"

    async def act(seen: Seen) -> None:
        await seen.until("run 1: failed")
        with sqlite3.connect(path) as database:
            database.execute("INSERT INTO records (kind, task, body) VALUES ('launch', NULL, 'nothing')")
        database.close()
        await seen.until("The journal cannot be read any further")
        await seen.press("2")
        await seen.until(r"failed +check")

    drive(copy.directory, act, (120, 30))
    assert "is damaged" in copy.fails(3, "top", "--picture", str(tmp_path / "x.svg"))
    path.write_bytes(b"SQLite format 3\0" + b"nothing" * 1000)
    assert "cannot open the journal" in copy.fails(3, "top", "--picture", str(tmp_path / "x.svg"))


def test_a_picture_and_what_is_no_terminal(over: Bench, bench: Bench, tmp_path: Path) -> None:
    over.succeeds("top", "--show", "tasks", "--picture", str(tmp_path / "top.svg"))
    picture = (tmp_path / "top.svg").read_text()
    assert "check" in picture
    assert "http" not in picture.replace("http://www.w3.org", "").replace("https://www.textualize.io", "")
    told = over.json("top")
    assert (told["state"], told["waiting"]) == (
        "failed",
        [{"what": "1 cut off", "why": "they depend on check, which failed"}],
    )
    fetch = told["categories"][0]
    assert (fetch["category"], fetch["done"], fetch["ready"], fetch["retries"]) == ("fetch", 3, 0, 0)
    assert fetch["given"]["memory_bytes"] == fetch["memory_given_bytes"][-1] > 0
    assert "headway: top: this is no terminal that can show a whole screen; `headway status`" in over.fails(2, "top")
    assert "nothing has been run here" in bench.fails(2, "top", "--picture", "x.svg")
    code = "import sys; sys.modules['textual'] = None; from headway.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "top"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "headway: textual is not installed; install it with `pip install 'headway[top]'`\n"


class Terminal:
    """`headway top` on a pseudo-terminal of 80 by 24."""

    def __init__(self, bench: Bench) -> None:
        self.pid, self._end = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            os.chdir(bench.directory)
            environment = {name: value for name, value in bench.environment.items() if name != "COLUMNS"}
            words = [sys.executable, "-m", "headway", "top"]
            os.execve(sys.executable, words, environment | {"TERM": "xterm-256color"})
        self.output = ""

    def until(self, words: str, after: int = 0) -> int:
        """Read until the terminal was sent these words; return where they end."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := re.compile(words).search(self._plain(), after)):
            assert time.monotonic() < deadline, f"{words} was not shown: {self._plain()[-2000:]}"
            if select.select([self._end], [], [], 0.1)[0]:
                try:
                    self.output += os.read(self._end, 65536).decode(errors="replace")
                except OSError as error:
                    assert error.errno == errno.EIO
                    break
        assert found
        return found.end()

    def _plain(self) -> str:
        return re.sub(r"\x1b\[[0-9;?<>=]*[A-Za-z]|\x1b\][^\x07]*\x07", "", self.output)

    def type(self, keys: str) -> None:
        os.write(self._end, keys.encode())

    def wait(self) -> int:
        while True:
            try:
                self.output += os.read(self._end, 65536).decode(errors="replace")
            except OSError:
                break
        os.close(self._end)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_on_a_real_terminal_it_starts_moves_with_the_run_and_quits(bench: Bench) -> None:
    bench.write(FLOW)
    assert bench("run", "-k", "--detach", *SMALL).returncode == 0
    bench.wait_for_file("started")
    terminal = Terminal(bench)
    seen = terminal.until("sky, run 1: running")
    terminal.until("5 Waiting")
    (bench.directory / "go").touch()
    terminal.until("failed", terminal.until("sky, run 1: ", seen))
    terminal.type("q")
    assert terminal.wait() == 0
    assert terminal.output.rindex("\x1b[?1049l") > terminal.output.rindex("\x1b[?1049h"), "the old screen is back"
    assert "Traceback" not in terminal.output
    assert bench.json("status")["state"] == "failed"
    again = Terminal(bench)
    again.until("q Quit")
    again.type("\x03")
    assert again.wait() == 0, "Ctrl-C leaves as well"


def test_every_pane_can_be_chosen_by_the_command_line() -> None:
    from headway.cli.top import _PANES
    from headway.terminal.panes import PANES

    assert tuple(PANES) == _PANES
