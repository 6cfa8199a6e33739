"""`compare`: many workflows through the queues of many logs, from many starts, under every plan."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, structs, to_builtins

from headway.api.keywords import chosen_names, settled
from headway.api.nodes import NodeSettings
from headway.api.queues import AtLeastOne, Backfill, Cancelled, Rules, Seed
from headway.api.whole_files import write_whole
from headway.api.workflow_in_queue import USUAL_BACKFILL, USUAL_MOST_JOBS, seconds_of
from headway.model.errors import InputError, SiteError
from headway.report.words import count

if TYPE_CHECKING:
    from headway.studies.queues import Queue
    from headway.studies.runs import Row, Run
    from headway.studies.study import Progress, Tell
    from headway.studies.summary import Summary
    from headway.studies.tables import Line

__all__ = ["CompareResult", "CompareSettings", "Progress", "Tell", "compare"]

_USUAL_STARTS = 10
_USUAL_REFERENCE = "one-job-per-task"  # what most people do
_OF_A_QUEUE = (
    *("cancelled", "machine", "skip_bad", "backfill", "nodes", "rules", "dependency", "most_jobs"),
    *("node_cores", "node_memory_bytes"),
)
_BOTH: tuple[Literal["accurate", "real"], ...] = ("accurate", "real")


class CompareSettings(NodeSettings, frozen=True, kw_only=True):
    """The plans, the starts, the queues, and the folder of the results."""

    plans: tuple[str, ...] = ()  # none: all
    reference: str | None = None  # the plan that others are measured by
    starts: AtLeastOne | None = None  # in each log; None: 10
    every: float | str | None = None  # instead of `starts`: seconds between two of them, or text such as 12h
    seed: Seed = 0
    warm_up: float | str = 7 * 86_400.0  # before the first start
    requests: Literal["real", "accurate", "both"] = "real"
    backfill: Backfill = USUAL_BACKFILL
    rules: Rules = "pyss"
    cancelled: Cancelled = "drop"
    dependency: Literal["slurm", "reserved"] = "slurm"
    machine: AtLeastOne | None = None  # nodes; None: as the logs say
    skip_bad: bool = False
    most_jobs: AtLeastOne | None = USUAL_MOST_JOBS  # of a workflow in the queue; None: any number
    processes: AtLeastOne | None = None  # None: one a core
    out: str | None = None  # None: results are kept in memory only
    again: tuple[str, ...] = ()  # plans whose results in `out` are forgotten


class CompareResult(Struct, frozen=True):
    """Every run of the comparison, and what they come to."""

    traces: list[str]
    workflows: list[str]
    settings: CompareSettings
    rows: list[Row]
    summary: Summary
    words: list[str]  # what was compared
    files: list[str]  # that were written

    def document(self) -> dict[str, Any]:
        """The answer of `headway compare --json`."""
        settings = {name: value for name, value in to_builtins(self.settings).items() if name != "out"}
        asked = {"traces": self.traces, "workflows": self.workflows, **settings}
        return {"asked": asked, "runs": len(self.rows), **to_builtins(self.summary)}

    def html(self) -> str:
        """The page that is written to `out`."""
        from headway.studies.page import page

        return page(self.summary, self.words)

    def lines(self, width: int) -> Iterator[Line]:
        """Tables and a sentence for a screen; a line that is laid out must not be wrapped."""
        from headway.studies.tables import lines_of

        return lines_of(self.summary, width)


def compare(
    traces: str | Path | Sequence[str | Path],
    workflows: str | Path | Sequence[str | Path],
    settings: CompareSettings | None = None,
    *,
    progress: Tell | None = None,
    **named: Any,
) -> CompareResult:
    """Simulate every workflow in every log's queue, from many starts, under every plan; say which plan is best.

    Keywords are the fields of `CompareSettings`: `compare("KTH-SP2.swf.gz", ["montage.dax"], out="study")`. Runs that
    `out` holds already are not simulated again.
    """
    from headway.studies.ledger import Ledger
    from headway.studies.study import study
    from headway.studies.summary import summary_of

    asked, given = settled(CompareSettings, settings, named)
    asked.check_nodes(given)
    every = None if asked.every is None else seconds_of(asked.every)
    asked = structs.replace(asked, warm_up=seconds_of(asked.warm_up), every=every)
    if asked.starts is not None and asked.every is not None:
        raise InputError("--starts and --every exclude each other", where="--every", todo="leave out one of the two")
    plans, reference = _plans(asked)
    logs, flows = file_names(traces, "--traces"), file_names(workflows, "--workflows")
    runs = list(_runs(logs, flows, plans, asked))
    folder = None if asked.out is None else _folder(Path(asked.out))
    ledger = Ledger(folder and folder / "runs.csv", asked.again)
    try:
        rows = study(runs, ledger, asked.processes, progress)
    finally:
        ledger.close()
    limit = f"at most {count(asked.most_jobs, 'job')} at a time" if asked.most_jobs else "any number of jobs"
    nodes = asked.nodes_words() or f"nodes: {asked.nodes}"
    words = (
        f"{count(len(rows), 'run')}: {count(len(flows), 'workflow')}, {count(len(logs), 'log')}; {asked.backfill} "
        f"backfilling, {nodes}, rules of {asked.rules}, requests: {asked.requests}, {limit}"
    )
    result = CompareResult(logs, flows, asked, rows, summary_of(rows, reference), [words], [])
    if folder is not None:
        result.files.extend(_written(result, ledger.rows.values(), folder))
    return result


def _plans(asked: CompareSettings) -> tuple[list[str], str]:
    """The plans that take part, and the one that the others are measured by."""
    from headway.drivers.assemble import plans as all_plans
    from headway.planning import PLANS

    named = (*asked.plans, *asked.again, *filter(None, [asked.reference]))
    chosen_names(named, all_plans(), "plan", "--plans")
    plans = list(asked.plans or PLANS)
    reference = asked.reference or (_USUAL_REFERENCE if _USUAL_REFERENCE in plans else plans[0])
    return list(dict.fromkeys([*plans, reference])), reference


def file_names(files: str | Path | Sequence[str | Path], where: str) -> list[str]:
    """The files, each once; InputError if results could not tell two of them apart by name."""
    from headway.studies.queues import named

    paths = [str(files)] if isinstance(files, str | Path) else [str(file) for file in files]
    seen: dict[str, str] = {}
    for file in paths:
        other = seen.setdefault(named(file), file)
        if other != file:
            todo = "give one of them another name: results are found by it"
            raise InputError(f"{other} and {file} have the same name", where=where, todo=todo)
    return paths


def _runs(logs: list[str], workflows: list[str], plans: list[str], asked: CompareSettings) -> Iterator[Run]:
    from headway.studies.runs import Run

    flows = list(dict.fromkeys(workflows))
    for queue in queues_of(logs, flows, asked):
        for start_s in starts_of(queue, asked):
            for workflow in flows:
                for plan in plans:
                    yield Run(queue, workflow, start_s, plan, asked.seed)


def queues_of(logs: list[str], workflows: list[str], asked: CompareSettings) -> Iterator[Queue]:
    """The queues of the logs, checked: every workflow can be simulated in them."""
    from headway.drivers.through_queue import check_node
    from headway.studies.queues import Queue
    from headway.studies.runs import instance_of

    for workflow in workflows:
        instance_of(workflow)  # an error in one is reported before hours of work
    kinds = _BOTH if asked.requests == "both" else (asked.requests,)
    described = {name: getattr(asked, name) for name in _OF_A_QUEUE}
    for queue in [Queue(trace, requests, **described) for trace in dict.fromkeys(logs) for requests in kinds]:
        if (node := asked.node()) is not None:
            for workflow in workflows:
                check_node(node, queue.jobs().machine, instance_of(workflow))
        yield queue


def starts_of(queue: Queue, asked: CompareSettings) -> list[float]:
    """When workflows start in a queue."""
    from headway.studies.starts import bounds, every, spread

    first_s, last_s = bounds(queue.trace, float(queue.jobs().submit_s[-1]), seconds_of(asked.warm_up))
    if asked.every is not None:
        return every(first_s, last_s, seconds_of(asked.every))
    return spread(queue.name, first_s, last_s, asked.starts or _USUAL_STARTS, asked.seed)


def _folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SiteError(f"cannot make this folder: {error.strerror}", where=str(path)) from error
    return path


def _written(result: CompareResult, rows: Iterable[Row], folder: Path) -> list[str]:
    """Write the summary and the page beside the runs."""
    from headway.studies.ledger import write_parquet

    texts = {
        folder / "summary.json": json.dumps(result.document(), indent=2, ensure_ascii=False) + "\n",
        folder / "compare.html": result.html(),
    }
    for path, text in texts.items():
        write_whole(path, [text])
    write_parquet(rows, folder / "runs.parquet")
    return [str(path) for path in texts]
