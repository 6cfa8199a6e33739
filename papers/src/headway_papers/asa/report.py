"""The study's report, and its results as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

from msgspec import to_builtins

from headway.model.units import format_duration
from headway_papers.asa.comparing import pairs_of, published_closing, standing
from headway_papers.asa.machines import MACHINES, QUEUES
from headway_papers.asa.published import ASA, BIG_JOB, TABLE_1, TABLE_2
from headway_papers.asa.sections import sections
from headway_papers.asa.shapes import stages
from headway_papers.asa.study import Bounded, Results
from headway_papers.asa.units import AT_ONCE, HEADWAY, NAIVE, PRINTED
from headway_papers.asa.verdicts import verdicts_on
from headway_papers.frame.report import Report, verdicts_json

_TERMS = (
    ("big-job", "one job for everything, as wide as the widest stage"),
    ("per-stage", "a job for each stage, submitted when the one before it has ended"),
    ("asa", "a job for each stage, submitted ahead by 10,000 s or more, and dependent on the one before"),
    ("asa-printed", "Algorithm 1 and §3.2 as printed: ahead by a sampled wait, and only while the stage before runs"),
    ("asa-naive", "so without a dependency: a job that starts too early is released and submitted again"),
    ("all-at-once", "a job for each stage, all submitted at the beginning with dependencies"),
    ("headway", "the plan of that name: one job for all remaining tasks keeps its place in the queue, others use gaps"),
    ("conservative", "a queue in which a job may overtake others if it delays none of them"),
    ("fcfs", "a queue in which no job overtakes another"),
    ("reserved", "the scheduler reserves nodes for a job that depends on another"),
    ("slurm", "a dependent job has no reservation before the other one has ended, as in Slurm"),
)  # fmt: skip


def report(results: Results) -> Report:
    """Everything to show."""
    size = results.size
    return Report(
        title="ASA (Souza et al. 2020) run again: stages submitted ahead of time, and ours",
        about=f"{size.traces} generated logs for each machine and kind of queue; in each log every workflow and "
        f"number of cores {size.repeats} times, in one queue; ASA keeps what it learns in a log. Seed {results.seed}; "
        "intervals are 95%; verdicts are for the rule reserved.",
        sections=list(sections(results)),
        verdicts=verdicts_on(results),
        seed=results.seed,
        findings=list(findings(results)),
        terms=_TERMS,
        ending=f"This took {format_duration(results.took_s)}. --full would take about "
        f"{format_duration(results.full_s)} here; with --out it can be interrupted and continued.",
    )


def document(results: Results) -> dict[str, Any]:
    """All figures, and each run, as JSON."""
    alone = results.convergence
    return {
        "experiment": "asa",
        "seed": results.seed,
        "size": to_builtins(results.size),
        "verdicts": verdicts_json(verdicts_on(results)),
        "findings": list(findings(results)),
        "figure_5": {
            "recoveries": to_builtins(alone.recoveries),
            "bounds": [
                {**to_builtins(it), "last_regret": it.last.regret, "worst_regret": it.worst.regret}
                for it in alone.bounds
            ],
        },
        "stages": [
            {"workflow": workflow, "cores": cores, "stages": to_builtins(stages(workflow, cores, it.cores_of_node))}
            for (workflow, cores) in TABLE_1
            for it in MACHINES.values()
            if cores in it.cores
        ],
        "published": {
            name: [{"workflow": workflow, "cores": cores, **to_builtins(row)} for (workflow, cores), row in table]
            for name, table in (("table_1", TABLE_1.items()), ("table_2", TABLE_2.items()))
        },
        "loads": to_builtins(results.calibrated),
        "standings": [
            {"queue": queue, "machine": machine, **to_builtins(standing(pairs))}
            for queue in QUEUES
            for machine in MACHINES
            for pairs in pairs_of(
                [it for it in results.done if (it.unit.backfill, it.unit.machine) == (queue, machine)]
            )
        ],
        "units": to_builtins(results.done),
        "took_s": results.took_s,
        "full_s": results.full_s,
    }


def findings(results: Results) -> Iterator[str]:
    """Where we agree with the paper, where not, and why: sentences made from the figures."""
    yield from _learning(results)
    yield from _bound(results)
    closed, ours, most = published_closing()
    yield (
        f"Table 1: ASA closes {100 * closed:.0f}% of the gap between Per-Stage and Big Job (mean logarithms), with "
        f"{ours:.2f} of Per-Stage's core-hours; Big Job has {most:.2f}."
    )
    for queue in QUEUES:
        yield from _queue(results, queue)
    yield from _accuracy(results)


def _learning(results: Results) -> Iterator[str]:
    late = {}
    for policy in ("default", "tuned", "greedy"):
        own = [it for it in results.convergence.recoveries if it.policy == policy]
        late[policy] = fmean(it.iterations is None for it in own)
        if policy == "greedy":
            stuck = sum(it.iterations is None for it in own)
    yield (
        f"Figure 5: as in the paper the default policy is too slow (after {100 * late['default']:.0f}% of changes it "
        f"does not find the wait before the next one), and the tuned one is quick ({100 * late['tuned']:.0f}%). "
        + (
            "Unlike the paper's, our greedy policy does not get stuck: it goes through the alternatives that have lost "
            "least, at most all of them."
            if not stuck
            else f"Greedy is stuck after {stuck} changes."
        )
    )


def _bound(results: Results) -> Iterator[str]:
    bounds = results.convergence.bounds
    broken = [it for it in bounds if it.broken and it.policy != "greedy"]
    whole = [it for it in bounds if not it.broken and it.policy != "greedy"]
    if broken:
        yield (
            f"The appendix's bound does not hold for: {_names(broken)}. Its proof (equations 11 to 13) takes p times "
            "the loss of the sampled alternative for the expected loss. On average that is the sum of p² times loss, "
            "which with even chances is 1/m of it. A round ends when one alternative is charged twice, which takes "
            "about √m losses, not 4."
        )
    if whole:
        yield (
            f"It holds for: {_names(whole)}. The tuned policy's repetitions end rounds, 4 each, and do not count as "
            "losses. The greedy policy is not what it is about."
        )


def _names(bounds: Sequence[Bounded]) -> str:
    return ", ".join(f"{it.policy} ({it.about})" for it in bounds)


def _queue(results: Results, queue: str) -> Iterator[str]:
    done = [each for each in results.done if each.unit.backfill == queue]
    found = {(it.plan, it.dependency): standing(it) for it in pairs_of(done)}
    big, asa = found.get((BIG_JOB, "reserved")), found.get((ASA, "reserved"))
    if big is None or asa is None:
        return
    gaps = []
    for machine in MACHINES:
        pairs = [it for it in pairs_of([each for each in done if each.unit.machine == machine]) if it.plan == BIG_JOB]
        gaps += [f"{standing(it).ratio.mean:.2f} on {machine}" for it in pairs]
    yield (
        f"{queue}: Big Job's makespan is {big.ratio.mean:.2f} of Per-Stage's ({', '.join(gaps)}). "
        + (
            "Where short and narrow jobs are backfilled, a stage waits far less than the whole, and the paper's "
            "premise, that every stage waits about as long as one big job, does not hold."
            if queue != "fcfs"
            else "Here every job waits its turn, whatever its shape: that is the paper's premise, and nearest to what "
            "Table 2 says of UPPMAX, whose waits hardly depend on cores."
        )
    )
    for plan in (ASA, PRINTED, AT_ONCE, NAIVE, HEADWAY):
        for rule in ("reserved", "slurm"):
            it = found.get((plan, rule))
            if it is not None:
                closes = "" if it.closes is None else f", closes {100 * it.closes.mean:.0f}% of the gap"
                yield (
                    f"{queue}: {it.name} takes {it.ratio.mean:.2f} of Per-Stage's makespan{closes}, with "
                    f"{it.core_ratio.mean:.2f} of its core-hours."
                )
    if queue == "fcfs" and asa.closes is not None:
        yield (
            "The plan asa submits a stage hours ahead, also while the one before it still waits (§4.6: jobs are "
            "submitted 'earlier than even upcoming stages'), whatever it has learned; all-at-once, which asks for "
            "every stage at the beginning, shows the most that can be gained. asa-printed, which does what it has "
            "learned, learns from a job that was early enough that it need not be early."
        )


def _accuracy(results: Results) -> Iterator[str]:
    for queue in QUEUES:
        own = [
            it
            for each in results.done
            if each.unit.backfill == queue and each.unit.dependency == "reserved"
            for it in each.accuracy
        ]
        if own:
            paper = fmean(TABLE_2[it.workflow, it.cores].hit for it in own)
            yield (
                f"{queue}, 60 submissions: {100 * fmean(it.hit for it in own):.0f}% hits (the paper: "
                f"{100 * paper:.0f}%), and {100 * fmean(it.nearest for it in own):.0f}% of predictions are the nearest "
                "alternative. A hit is any prediction that is not too long, so a model that always says 0 has 100%; "
                "where waits are longer than the hour in which all 60 are submitted, none learns from another."
            )
