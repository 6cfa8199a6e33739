"""`python -m tests.chaos --seeds 10000`: runs, pools and directories in virtual time, then all tests marked `chaos`."""

from __future__ import annotations

import argparse
import sys
import time

import pytest

from tests import kills
from tests.laws.__main__ import live_all
from tests.world.__main__ import tell_all

_HISTORIES = 2  # of a directory, for each story of one run
_OF_POOLS = 50  # as many stories of one run are told for each of a pool, which takes ten times as long


class Totals:
    """Counts tests and kills, as a plugin of pytest; the workers' reports come here."""

    def __init__(self) -> None:
        self.passed = self.failed = self.killed = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed += report.when == "call" and report.passed
        self.failed += report.failed
        if report.when == "teardown":
            self.killed += sum(number for name, number in report.user_properties if name == kills.PROPERTY)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10000)
    parser.add_argument("--workers", type=int, default=4, help="the tests with a Slurm mostly wait")
    parser.add_argument("tests", nargs="*", help="only these files, without Slurm for example")
    options = parser.parse_args()
    began, totals = time.monotonic(), Totals()
    told, of_pools = tell_all(0, options.seeds), tell_all(0, options.seeds // _OF_POOLS, pools=True)
    print(told, f"of pools: {of_pools}", sep="\n", flush=True)
    lived = live_all(0, _HISTORIES * options.seeds)
    print(lived, flush=True)
    words = ["-m", "chaos", "-n", str(options.workers), "--dist", "loadgroup", "--durations=25", *options.tests]
    code = pytest.main(words, plugins=[totals])
    minutes = (time.monotonic() - began) / 60
    tests = f"{totals.passed} tests passed, {totals.failed} failed; {totals.killed} processes killed"
    seeds, wrong = (sum(getattr(each, name) for each in (told, of_pools, lived)) for name in ("seeds", "wrong"))
    print(f"chaos: {seeds} seeds, {wrong} violations; {tests}; {minutes:.0f} minutes")
    sys.exit(bool(wrong) or code)


if __name__ == "__main__":
    main()
