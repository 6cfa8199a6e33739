"""Gaps between the jobs of a task that checkpoints, on a real Slurm. `python -m benchmarks.slurm_chains`

A task of 30 minutes runs through jobs of 10 minutes on two emulated nodes with a fast clock, while four jobs of others
wait at any time: the next job is submitted ahead by the predicted wait, or when the task has left its job. All times
are by that Slurm's clock.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.slurm.chains import MACHINE, Others, gaps, long_flow
from tests.slurm.fast import FastSlurmLab

SPEED = 15
WAYS: dict[str, dict[str, str]] = {"ahead": {}, "at the end": {"AT_END": "1"}}


def main() -> None:
    """Print the gaps of both ways, and the time from the first start of the task to its end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.parse_args()
    rows = []
    for way, variables in WAYS.items():
        with tempfile.TemporaryDirectory() as folder, FastSlurmLab(SPEED, MACHINE) as lab, Others(lab):
            flow = long_flow(lab, Path(folder), **variables)
            flow.await_end(flow.begin_plan("headway"))
            each_s = [gap.seconds for gap in gaps(flow)]
            took_s = flow.outcomes()[-1].ended_at - flow.launches()[0].at
            rows.append(f"| {way} | {len(each_s) + 1} | {sum(each_s):.0f} s | {took_s / 60:.1f} min |")
            print(f"{way}: gaps of {', '.join(f'{gap_s:.0f} s' for gap_s in each_s)}", flush=True)
    print("\n| next job submitted | attempts | gaps in all | from start to end |\n|---|--:|--:|--:|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
