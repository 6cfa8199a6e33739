"""A seed's history with real processes: the command line as a user calls it, bash, and signals."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from headway.api.settings import RunSettings
from tests import kills
from tests.end_to_end.project import Flow
from tests.laws.deeds import ALL, Deed, deeds_of, do
from tests.laws.flows import Switches, workflow_text
from tests.laws.story import SECOND, chosen_options, difference, settled, with_second_file

_MOST_DEEDS = 7  # each run takes a second
_MOST_ENDINGS = 4
_ENDINGS = (0, 1, 130, -signal.SIGKILL)  # of runs that began; others wait for the processes of an earlier one


class RealLife(Flow):
    """A directory, and what its user does in it."""

    def __init__(self, seed: int, base: Path) -> None:
        self.switches = Switches()
        self.user = settled(seed, self.switches, base, None)
        self.told = [workflow_text(self.user.flow)]
        self._chance = random.Random(f"real {seed}")

    @property
    def directory(self) -> Path:  # type: ignore[override]
        return self.user.directory

    def live(self, deeds: Sequence[Deed]) -> None:
        """Do all deeds, and at last run the workflow until it succeeds."""
        for deed in deeds:
            self._do(deed)
        self.user.markers.clear()
        self.user.save()
        for _ in range(_MOST_ENDINGS):
            if self._run(Deed("run", ALL)) or self.user.expected({}).failed:
                return
        raise AssertionError("\n".join(["no run succeeds any more", *self.told]))

    def end(self) -> None:
        """Leave no process behind."""
        self.headway("cancel", code=None)

    def _do(self, deed: Deed) -> None:
        match deed.kind:
            case "run":
                self._run(deed)
            case "resume" | "cancel":
                self._tell(deed.kind, self.headway(deed.kind, code=None).returncode)
            case "clean":
                self._tell("clean", self.headway("clean", "--yes", code=None).returncode)
            case "other file":
                self._run_other(random.Random(deed.number))
            case "copy" | "copy with dates" | "move":
                self.headway("cancel", code=None)
                self.user.move() if deed.kind == "move" else self.user.copy(dated=deed.kind == "copy with dates")
                self.told.append(f"the user goes on after a {deed.kind} of the directory")
            case _:
                self.told.append(f"the user {do(self.user, deed, self.switches)}")

    def _run_other(self, chance: random.Random) -> None:
        other = with_second_file(self.user, chance, self.switches)
        if other is not None:
            code = self.headway("run", SECOND, "-k", code=None).returncode
            self._tell(f"run {SECOND}", code)
            wrong = difference(other, {}, RunSettings()) if code == 0 else ""
            assert not wrong, "\n".join([wrong, *self.told])

    def _tell(self, what: str, code: int | None) -> None:
        self.told.append(f"headway {what}: exit {code}")

    def _run(self, deed: Deed) -> bool:
        """Run the workflow, kill what the deed says, and check what was made; return whether the run succeeded."""
        config, settings = chosen_options(deed, self.user.flow)
        words = ["run", self.user.flow.file, *settings.tasks, *(["-k"] if settings.keep_going else [])]
        words += [word for name, value in config.items() for word in ("--set", f"{name}={value}")]
        words += [
            word for name in ("until", "force") for value in getattr(settings, name) for word in (f"--{name}", value)
        ]
        code = self._interrupted(words, deed) if deed.faults else self.headway(*words, code=None).returncode
        self._tell(" ".join(words), code)
        if code not in _ENDINGS:
            self.headway("cancel", code=None)
            code = self.headway(*words, code=None).returncode
            self._tell(" ".join(words), code)
        if code == 0:
            wrong = difference(self.user, config, settings)
            assert not wrong, "\n".join([wrong, *self.told])
        return code == 0

    def _interrupted(self, words: Sequence[str], deed: Deed) -> int:
        """Start a run, and after a moment kill its manager, its supervisor, or both; or press Ctrl-C."""
        process = self.start(*words, LC_ALL="C")
        time.sleep(self._chance.uniform(0.3, 2.5))
        for fault in deed.faults:
            if fault.kind == "user stops the run":
                process.send_signal(signal.SIGINT)
            elif "manager" in fault.kind:
                process.kill()
                kills.add()
            elif (pid := self.supervisor()) is not None:
                os.kill(pid, signal.SIGKILL)
                kills.add()
            self.told.append(f"*** {fault.kind}")
        process.communicate(timeout=300)
        return process.returncode


def live_really(seed: int, base: Path) -> RealLife:
    """Live through the first deeds of a seed's history; AssertionError if the law is broken."""
    life = RealLife(seed, base)
    try:
        life.live(deeds_of(seed)[:_MOST_DEEDS])
    finally:
        life.end()
    return life
