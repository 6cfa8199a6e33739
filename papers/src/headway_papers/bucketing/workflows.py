"""The workflows of the comparison: the paper's logs, a stand-in for one that is not available, and generated ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs

from headway.formats.read_task_log import failures_beside, read_task_log
from headway.model.task_log import TaskLog
from headway_papers.bucketing.published import Figure5, read_figure_5
from headway_papers.frame.data import VARIABLE, data_folder
from headway_papers.synthetic_logs import DISTRIBUTIONS, TASKS, synthetic_log

FOLDER = "ipdps2024-bucketing"
_FIGURE_5 = "published_awe_fig5.json"
_COFFEA = "ccl-task-resources/coffea_2021_attempts.csv.gz"
# In the order of the paper's figures. The logs of the allocator `whole` hold what tasks use when nothing limits them.
LOGS = {
    "Normal": "synthetic_normal",
    "Uniform": "synthetic_uniform",
    "Bimodal": "synthetic_bimodal",
    "Trimodal": "synthetic_trimodal",
    "Exponential": "synthetic_exponential",
    "ColmenaXTB": "colmena-xtb",
}
LOG, GENERATED, STAND_IN = "log", "generated", "stand-in"


class Workflow(Struct, frozen=True):
    """A workflow, and its log for each seed; a measured log is the same for all."""

    name: str
    kind: str
    logs: dict[int, TaskLog]
    row: str | None = None  # its name in the published figures

    @property
    def key(self) -> str:
        """The name and kind, since a log and a generated workflow may have the same name."""
        return f"{self.name} ({self.kind})"

    @property
    def fails_as_observed(self) -> bool:
        """Whether it is known when its attempts fail."""
        return all(log.failed_after_s for log in self.logs.values())


class Found(Struct, frozen=True):
    """The workflows that were found, and a sentence for each thing that is missing."""

    workflows: list[Workflow]
    figure_5: Figure5 | None
    folder: Path | None  # of the paper's logs
    missing: list[str]


def find_workflows(seeds: Sequence[int], tasks: int = TASKS) -> Found:
    """The paper's logs under the folder that HEADWAY_DATA names, and generated workflows of the five distributions."""
    generated = [
        Workflow(name, GENERATED, {seed: synthetic_log(name, seed, tasks) for seed in seeds}) for name in DISTRIBUTIONS
    ]
    data = data_folder()
    if data is None:
        return Found(generated, None, None, [_missing(f"{VARIABLE} is not set")])
    folder = data / FOLDER
    if not folder.is_dir():
        return Found(generated, None, None, [_missing(f"there is no folder {FOLDER} in {data}")])
    logs = [Workflow(name, LOG, dict.fromkeys(seeds, _read(folder, stem)), name) for name, stem in LOGS.items()]
    missing = []
    coffea = data / _COFFEA
    if coffea.is_file():
        logs.append(Workflow("coffea", STAND_IN, dict.fromkeys(seeds, _unasked(read_task_log(coffea))), "TopEFT"))
    else:
        missing.append(f"there is no {_COFFEA} in {data}: nothing stands in for TopEFT")
    return Found([*logs, *generated], read_figure_5(folder / _FIGURE_5), folder, missing)


def _missing(why: str) -> str:
    return (
        f"{why}, so the logs of the paper are missing and only generated workflows are compared; "
        f"set {VARIABLE} to the folder that {FOLDER} lies in"
    )


def _read(folder: Path, stem: str) -> TaskLog:
    path = folder / f"{stem}_whole.csv.gz"
    log = read_task_log(path)
    log.failed_after_s = failures_beside(path)
    return log


def _unasked(log: TaskLog) -> TaskLog:
    """The log without its users' requests: the paper's tasks have none."""
    log.tasks = [structs.replace(task, asked={}) for task in log.tasks]
    return log
