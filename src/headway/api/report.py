"""`write_report`: one HTML page about a run, which opens without a network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from msgspec import structs

from headway.api.answers import Answer
from headway.api.energy import energy_tile
from headway.api.finding import find_run, manager_of, reading, state_of
from headway.api.run_instance import instance_of
from headway.api.whole_files import check_target, write_whole
from headway.journal.folder import RunFolder
from headway.report.graph.picture import picture_of
from headway.report.graph.shape import shape_of
from headway.report.graph.svg import svg_lines
from headway.report.graph.terminal import subtitle
from headway.report.run.summary import RunSummary
from headway.report.run_page.data import PageData
from headway.report.run_page.page import page_data, page_of
from headway.report.words import harmless


class RunReport(Answer, frozen=True):
    """The page of a run: the file that was written, and what it shows."""

    unsaid = ("data",)

    run: str
    file: str
    data: PageData

    def document(self) -> dict[str, Any]:
        """Return what `headway report --json` prints."""
        return Answer.document(self) | self.data.document()


def write_report(
    run: str | None = None,
    directory: str | os.PathLike[str] = ".",
    *,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> RunReport:
    """Write the page of a run (by default the newest), also while it goes on.

    Without `out` that is `report-RUN.html` in the workflow's directory, which is replaced if it is there.
    """
    folder = find_run(Path(directory), run)
    target = folder.directory / f"report-{folder.run}.html" if out is None else Path(out)
    check_target(target, force=force or out is None)
    with reading(folder) as journal:
        summary = RunSummary.of(journal)
        state = state_of(summary, manager_of(folder, summary))
        data = page_data(journal, folder, state)
        energy = energy_tile(journal, summary.settings) if summary.settings else None
        data.tiles += [energy] if energy else []
    write_whole(target, [page_of(data, graph_of(folder, data))])
    return RunReport(folder.run, str(target), data)


def graph_of(folder: RunFolder, data: PageData) -> str:
    """Return the graph of a run by category, as an SVG picture in the colours of its page."""
    instance = instance_of(folder)
    shape = shape_of(instance)
    picture = picture_of(instance, shape, "category")
    colours = {category.name: category.colour for category in data.categories}  # those of the other pictures
    picture = structs.replace(picture, colours={name: colours[harmless(name)] for name in picture.colours})
    return "\n".join(svg_lines(instance.workflow.name, subtitle(shape), picture))
