"""A small pipeline repeated in a real Nextflow under each approach, each with a history of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from msgspec import Struct

from headway.journal.folder import Project
from headway.model.errors import SiteError
from headway.sizing.estimators.baselines import User
from headway.studies.study import Tell
from headway_papers.frame.ledger import Ledger
from headway_papers.frame.runner import Runner
from headway_papers.rl.courses import BANDIT, COUNTED, DEFAULT, LOOP, OURS, Q, RunFigures
from headway_papers.rl.real import told

PIPELINE = Path(__file__).parent / "pipeline"
APPROACHES = (DEFAULT, BANDIT, Q, LOOP, OURS)
_SIZERS = {DEFAULT: User.name}  # the others are called like their sizers
_SMALL_SHARE = 0.1


class PipelineRun(Struct, frozen=True):
    """One run of the pipeline."""

    approach: str
    number: int  # from 1
    seed: int
    small: bool


class Measured(Struct, frozen=True):
    """What one run took."""

    unit: PipelineRun
    figures: RunFigures


class Courses(Struct, frozen=True):
    """All runs of all approaches."""

    found: list[Measured]
    runs: int
    seed: int
    took_s: float

    @property
    def first_counted(self) -> int:
        """The number of the first run that counts: of the last ten, as in the thesis, or of the second half."""
        return self.runs - min(COUNTED, self.runs // 2) + 1

    def of(self, approach: str) -> dict[int, RunFigures]:
        """The runs of an approach, by their numbers."""
        return {each.unit.number: each.figures for each in self.found if each.unit.approach == approach}

    def counted(self, approach: str) -> dict[tuple[int, str], RunFigures]:
        """The runs that count, as `ratio` compares them: those with the same number."""
        return {(number, ""): run for number, run in self.of(approach).items() if number >= self.first_counted}


def nextflow_runs(
    runs: int, *, small: bool = False, seed: int = 0, out: Path | None = None, tell: Tell | None = None
) -> Courses:
    """Run what the ledger in `out` does not hold yet; without `out`, all.

    Approaches take turns, so that other work on the machine hits all of them alike.
    """
    units = [PipelineRun(approach, number + 1, seed, small) for number in range(runs) for approach in APPROACHES]
    with tempfile.TemporaryDirectory(prefix="headway-rl-") as temporary:
        kept = (out or Path(temporary)) / "nextflow"
        kept.mkdir(exist_ok=True)
        ledger: Ledger[Measured] = Ledger(Measured, kept / "runs.jsonl")
        runner = Runner(ledger, len(units), 1, tell)
        return Courses(runner.run(units, partial(_measured, kept)), runs, seed, runner.spent_s)


def _measured(kept: Path, unit: PipelineRun) -> Measured:
    """Run the pipeline in a new directory with what the approach has learned so far.

    The run learns in a copy of the history, so that one that was interrupted has taught nothing.
    """
    learned = kept / f"{unit.approach}-{unit.seed}{'-small' if unit.small else ''}.db"
    with tempfile.TemporaryDirectory(prefix="headway-rl-") as temporary:
        directory = Path(temporary)
        history = directory / "history.db"
        if learned.exists() and unit.number > 1:
            shutil.copy(learned, history)
        options = {
            "--on": "local",
            "--sizer": _SIZERS.get(unit.approach, unit.approach),
            "--seed": str(unit.seed),
            "--history": str(history),
            "--project": "rl",
        }
        words = [word for option in options.items() for word in option]
        share = ["--share", str(_SMALL_SHARE)] if unit.small else []
        _call(["nextflow", *words, "--", "run", str(PIPELINE / "small.nf"), *share], directory, unit)
        figures, _ = told(Project(directory).run())
        os.replace(history, learned)
    return Measured(unit, figures)


def _call(words: list[str], directory: Path, unit: PipelineRun) -> None:
    """Run a command of Headway's; Ctrl-C reaches it through us, and we wait until it has ended its tasks."""
    said = directory / "output"
    with said.open("wb") as output:
        command = [sys.executable, "-P", "-m", "headway", *words]
        process = subprocess.Popen(
            command, cwd=directory, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
        try:
            code = process.wait()
        except BaseException:
            process.send_signal(signal.SIGINT)
            process.wait()
            raise
    if code:
        lines = [line for line in said.read_text(errors="replace").splitlines() if line.strip()]
        of_nextflow = (line for line in lines if line.startswith("ERROR"))
        why = next(of_nextflow, lines[-1] if lines else f"exit code {code}").removeprefix("headway: ")
        raise SiteError(f"run {unit.number} of the pipeline under {unit.approach} failed: {why}")
