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

        def command_line():
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
            import headway.cli.main, click
            click.Group.main = create
        else:
            sys.modules["headway.cli.main"] = types.SimpleNamespace(main=create)
        entry.main()
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (130, "")
