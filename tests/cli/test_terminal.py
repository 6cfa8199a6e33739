"""The live display on a real (pseudo) terminal: what is left on the screen when the run is over."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import struct
import sys
import termios

from tests.cli.bench import SMALL, Bench

FLOW = """
    name: show
    tasks:
      quick:
        each: {n: [1, 2, 3, 4]}
        run: sleep 0.2
      hungry:
        run: python3 -c "x = bytearray(150_000_000); import time; time.sleep(0.6)"
        resources: {memory: 100 MB, cores: 0.2}
      broken:
        needs: [quick]
        run: echo "the reason" >&2; exit 5
"""


class Screen:
    """As much of a terminal as our output needs: lines, cursor up, erase line."""

    def __init__(self, output: str) -> None:
        self.lines = [""]
        row = column = 0
        for token in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", output):
            if token == "\r":
                column = 0
            elif token == "\n":
                row += 1
                if row == len(self.lines):
                    self.lines.append("")
            elif token.startswith("\x1b["):
                count = int(re.sub(r"\D", "", token) or 1)
                if token.endswith("A"):
                    row = max(0, row - count)
                elif token.endswith("K"):
                    self.lines[row] = ""
            else:
                line = self.lines[row].ljust(column)
                self.lines[row] = line[:column] + token + line[column + len(token) :]
                column += len(token)


def run_on_a_terminal(
    bench: Bench, *args: str, columns: int, interrupt_at: str = "", term: str = "xterm-256color"
) -> tuple[str, int]:
    """Everything that was written to the terminal, and the exit code; Ctrl-C is typed when a text is first seen."""
    environment = {name: value for name, value in bench.environment.items() if name not in ("COLUMNS", "NO_COLOR")}
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        os.chdir(bench.directory)
        os.execve(sys.executable, [sys.executable, "-m", "headway", *args], environment | {"TERM": term})
    output = b""
    while True:
        try:
            block = os.read(terminal, 65536)
        except OSError as error:
            assert error.errno == errno.EIO, "the other end is closed: the process is over"
            break
        output += block
        if interrupt_at and interrupt_at in output.decode(errors="replace"):
            os.write(terminal, b"\x03")
            interrupt_at = ""
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return output.decode(), os.waitstatus_to_exitcode(status)


def test_the_display_is_redrawn_and_leaves_only_the_table(bench: Bench) -> None:
    bench.write(FLOW)
    output, code = run_on_a_terminal(bench, "run", "-k", *SMALL, columns=80)
    assert code == 1
    assert "╍" in output, "running tasks were drawn"
    assert "retry" in output, "and the retry was shown in passing"
    assert output.removesuffix("\x1b[0m").endswith("\r\n")  # colours may end after the line
    assert output.rindex("\x1b[?25h") > output.rindex("\x1b[?25l"), "the cursor is back"
    lines = Screen(output).lines
    text = "\n".join(line.rstrip() for line in lines)
    assert "╍" not in text, "no bar is left behind"
    assert "retry" not in text
    assert max(len(line.rstrip()) for line in lines if not line.startswith("results in ")) <= 80
    assert lines[0].startswith("show, run 1: 6 tasks on 2 cores, 1 GB memory, 1 GB disk")
    assert text.count("✗ broken: its command exited with code 5") == 2, "as it happened, and at the end"
    assert re.search(r"^hungry +1 +2 ", text, re.MULTILINE)
    assert re.search(r"show, run 1: failed after .*: 5 tasks run, 1 failed", " ".join(text.split()))


def test_ctrl_c_on_the_terminal_is_acknowledged(bench: Bench) -> None:
    bench.write("name: w\ntasks:\n  a:\n    each: {n: [1, 2, 3]}\n    run: sleep 1\n")
    output, code = run_on_a_terminal(bench, "run", *SMALL, columns=100, interrupt_at="a[2]")
    assert code == 130
    assert "gently: waiting for 2 running tasks; Ctrl-C again stops them at once" in output
    text = " ".join("\n".join(Screen(output).lines).split())
    assert "2 tasks run, 1 not run; `headway resume` goes on with it" in text


def test_a_dumb_terminal_gets_lines(bench: Bench) -> None:
    bench.write("name: w\ntasks:\n  a: {run: 'true'}\n")
    output, code = run_on_a_terminal(bench, "run", *SMALL, columns=80, term="dumb")
    assert code == 0
    assert "\x1b" not in output
    assert re.match(r"\d\d:\d\d:\d\d  w, run 1: 1 task on 2 cores", output)
