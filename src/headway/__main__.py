"""The command `headway`, also as `python -m headway`.

This module imports nothing that takes time: Ctrl-C has to work while the rest is being imported.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _thread
import os
import sys
import time

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # the directory in which this was started: a json.py there is none of ours

TYPE_CHECKING = False  # `typing` would be imported before Ctrl-C is safe
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

_INTERRUPTED = 130
_RETRY_S = 0.01


def main() -> NoReturn:
    """Run the command line and exit."""
    sys.unraisablehook = _repeat_lost_interrupt
    _open_closed_streams()
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # a shell may have us ignore it
        _signal.signal(_signal.SIGINT, _end_at_once)
    try:
        if sys.argv[1:2] == ["exec"]:  # started for each command: it does without the rest
            from headway.serving.client import main as run_in_service

            _raise_interrupts()
            exit_code = run_in_service(sys.argv[2:])
            if exit_code is not None:
                sys.exit(exit_code)
        from headway.cli.main import main as run_command_line

        run_command_line(_raise_interrupts)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except RuntimeError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # it came while Python was creating a class
            sys.exit(_INTERRUPTED)
        raise


def _end_at_once(number: int, frame: FrameType | None) -> NoReturn:
    """End on Ctrl-C without an exception, which extension modules swallow while they are imported."""
    os._exit(_INTERRUPTED)  # nothing was begun that would have to be ended


def _raise_interrupts() -> None:
    """Let Ctrl-C raise KeyboardInterrupt, as the verbs expect."""
    if _signal.getsignal(_signal.SIGINT) is _end_at_once:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def _open_closed_streams() -> None:
    """Open standard streams that are closed: a journal in their place would be written to by anyone who prints."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


def _repeat_lost_interrupt(lost: sys.UnraisableHookArgs) -> None:
    """Raise KeyboardInterrupt again if it was raised where Python has to ignore exceptions.

    Such places are `__del__` methods and callbacks of weak references, of which each import has one. Python would print
    "Exception ignored in ..." and the user's Ctrl-C would do nothing.
    """
    if lost.exc_type is not None and issubclass(lost.exc_type, KeyboardInterrupt):
        # Without `threading`, which may be what is being imported.
        _thread.start_new_thread(_interrupt_soon, ())
    else:
        sys.__unraisablehook__(lost)


def _interrupt_soon() -> None:
    """Not at once: the exception would be raised where it is ignored as well."""
    time.sleep(_RETRY_S)
    _thread.interrupt_main()


if __name__ == "__main__":
    main()
