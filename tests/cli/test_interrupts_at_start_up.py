"""Ctrl-C works at every moment of start-up, also while modules are being imported."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time

import pytest

from tests.cli.bench import SMALL, Bench, interrupt

# An interrupt that arrives before Headway's first line of code kills the interpreter, by this exit code or signal.
INTERRUPTED = (130, -2, 1)
ENDLESS = """
    name: endless
    tasks:
      wait:
        run: touch started; while true; do sleep 0.05; done
"""


def start_up_s(bench: Bench) -> float:
    """Measure how long `headway attach` takes until it shows the run."""
    began = time.monotonic()
    process = bench.start("attach")
    assert process.stdout is not None
    process.stdout.readline()
    took_s = time.monotonic() - began
    interrupt(process)
    assert process.wait(300) == 130
    return took_s


@pytest.mark.parametrize("points", [20, pytest.param(200, marks=pytest.mark.chaos)])
def test_an_interrupt_at_any_point_of_start_up_ends_the_command(bench: Bench, points: int) -> None:
    bench.write(ENDLESS)
    bench.succeeds("run", "--detach", *SMALL)
    bench.wait_for_file("started")
    span_s = start_up_s(bench)
    lost = []
    for point in range(points):
        process = bench.start("attach")
        time.sleep(span_s * point / points)
        interrupt(process)
        try:
            _, errors = process.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            lost.append(point)
            continue
        assert process.returncode in INTERRUPTED, errors
        if process.returncode == 1:
            assert "KeyboardInterrupt" in errors, "an interrupt is no failure"
    assert not lost, f"Ctrl-C did nothing at {lost} of {points} points"
    assert bench.json("status")["state"] == "running", "Ctrl-C ends the command that follows the run, not the run"
    bench.succeeds("cancel")


@pytest.mark.parametrize("every", [40, pytest.param(1, marks=pytest.mark.chaos)])
def test_an_interrupt_at_any_call_of_start_up_ends_the_command(bench: Bench, every: int) -> None:
    """A process forks at calls that were not seen before, and the child is interrupted there.

    Moments chosen by a clock rarely hit the few calls whose exceptions an extension module swallows.
    """
    bench.write("name: one\ntasks: {one: {run: 'true'}}")
    bench.succeeds("run", *SMALL)
    program = textwrap.dedent(f"""
        import os, select, signal, sys
        import headway.__main__ as entry

        seen, tried, lost = set(), 0, []

        def interrupt(frame, event, _):
            global tried
            where = frame.f_code, frame.f_back.f_code, frame.f_back.f_lineno
            if where in seen or not (seen or signal.getsignal(signal.SIGINT) is entry._end_at_once):
                return
            seen.add(where)
            if len(seen) % {every}:
                return
            tried += 1
            child = os.fork()
            if not child:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
                return
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if code != 130:
                lost.append(f"{{where[0].co_qualname}} in {{where[1].co_qualname}}: {{code}}")

        parent = os.getpid()
        sys.argv = ["headway", "status"]
        sys.settrace(interrupt)
        try:
            entry.main()
        finally:
            sys.settrace(None)
            if os.getpid() == parent:
                open("tried", "w").write("\\n".join([str(tried), *lost]))
    """)
    words = [sys.executable, "-c", program]
    subprocess.run(words, cwd=bench.directory, capture_output=True, timeout=1200, check=True)
    tried, *lost = (bench.directory / "tried").read_text().splitlines()
    assert int(tried) > 5000 / every
    assert not lost


@pytest.mark.parametrize("where", ["weakref", "del", "while threading is imported"])
def test_an_interrupt_that_python_has_to_ignore_is_raised_again(where: str) -> None:
    """Each import ends with a callback of a weak reference, in which exceptions are ignored."""
    program = textwrap.dedent(f"""
        import signal, sys, time, types, weakref
        import headway.__main__ as entry

        class Thing:
            def __del__(self):
                if {where!r} == "del":
                    signal.raise_signal(signal.SIGINT)

        def command_line(begin):
            begin()
            thing = Thing()
            watch = weakref.ref(thing, lambda _: {where!r} != "del" and signal.raise_signal(signal.SIGINT))
            if "threading" in {where!r}:
                sys.modules["threading"] = types.SimpleNamespace(_shutdown=lambda: None)
            del thing
            for _ in range(600):
                time.sleep(0.1)

        sys.modules["headway.cli.main"] = types.SimpleNamespace(main=command_line)
        entry.main()
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.parametrize("inside", [False, True], ids=["importing", "in a verb"])
def test_an_interrupt_while_a_class_is_created_ends_the_command(inside: bool) -> None:
    """Python raises a RuntimeError then, which the interrupt is the cause of."""
    program = textwrap.dedent(f"""
        import signal, sys, types
        import headway.__main__ as entry

        class Named:
            def __set_name__(self, owner, name):
                signal.raise_signal(signal.SIGINT)

        def create(*_, **__):
            class Owner:
                name = Named()

        if {inside}:
            import click
            import headway.cli.main
            import headway.cli.status
            headway.cli.status.command.invoke = create
            sys.argv = ["headway", "status"]
        else:
            sys.modules["headway.cli.main"] = types.SimpleNamespace(main=create)
        entry.main()
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (130, "")
