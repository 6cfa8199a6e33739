"""Run benchmarks: `python -m benchmarks [NAME …] [--tasks N] [--concurrency N]`; all of them if none is named."""

from __future__ import annotations

import argparse

from benchmarks import (
    answers,
    crowded,
    end_notes,
    growth,
    inodes,
    nextflow,
    outlier,
    pool,
    pool_messages,
    pooled_workflows,
    queue,
    replay,
    scale,
    service,
    sizing,
    slurm_throughput,
    snakemake_jobs,
    throughput,
    tiny_calls,
    tools,
)
from headway.sizing import SIZERS

ALL = (
    "answers",
    "throughput",
    "crowded",
    "inodes",
    "end-notes",
    "outlier",
    "scale",
    "growth",
    "sizing",
    "replay",
    "queue",
    "pool",
    "messages",
    "pooled",
    "slurm",
    "calls",
    "service",
    "tools",
    "nextflow",
    "snakemake",
)
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("which", nargs="*", default=ALL, metavar="NAME", help=", ".join(ALL))
parser.add_argument("--tasks", type=int, default=10_000)
parser.add_argument("--concurrency", type=int, default=4 * throughput.len_of_machine())
chosen = parser.parse_args()
if unknown := set(chosen.which) - set(ALL):
    parser.error(f"there is no {', '.join(sorted(unknown))}: choose from {', '.join(ALL)}")
if "answers" in chosen.which:
    answers.main()
if "throughput" in chosen.which:
    throughput.main(chosen.tasks, chosen.concurrency)
if "crowded" in chosen.which:
    crowded.main()
if "inodes" in chosen.which:
    inodes.main()
if "end-notes" in chosen.which:
    end_notes.main()
if "outlier" in chosen.which:
    outlier.main()
if "scale" in chosen.which:
    scale.main()
if "growth" in chosen.which:
    growth.main()
if "sizing" in chosen.which:
    sizing.main({name: SIZERS[name].sizer for name in ("greedy-bucketing", "exhaustive-bucketing", "ladder")})
if "replay" in chosen.which:
    replay.main()
if "queue" in chosen.which:
    queue.main()
if "pool" in chosen.which:
    pool.main()
if "messages" in chosen.which:
    pool_messages.main()
if "pooled" in chosen.which:
    pooled_workflows.main(2 * chosen.tasks)
if "slurm" in chosen.which:
    slurm_throughput.main()
if "calls" in chosen.which:
    tiny_calls.main()
if "service" in chosen.which:
    service.main(chosen.tasks)
if "tools" in chosen.which:
    tools.main()
if "nextflow" in chosen.which:
    nextflow.main()
if "snakemake" in chosen.which:
    snakemake_jobs.main()
