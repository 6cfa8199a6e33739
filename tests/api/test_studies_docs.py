"""The Python examples of the pages about logs and queues run, and the docstrings of their functions are true."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.studies.small_study import write_trace, write_workflow

DOCS = Path(__file__).parents[2] / "docs"
VERBS = ("advise", "compare", "convert", "generate", "plan", "policies", "replay", "show", "simulate", "waits")
TASKS = [f"{number},align,{number},3600000,{2 * 1024**3},8 GB" for number in range(1, 40)]


@pytest.mark.parametrize("page", ["advise", "batch-logs", "compare", "replay", "simulate", "workload-model"])
def test_examples_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_trace(tmp_path / "log.swf")
    write_workflow(tmp_path / "montage.json")
    (tmp_path / "trace.csv").write_text("\n".join(["task_id,process,start,realtime,peak_rss,memory", *TASKS]) + "\n")
    text = (DOCS / f"{page}.md").read_text()
    assert "## From Python" in text
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, f"docs/{page}.md", "exec"), names)


@pytest.mark.parametrize("verb", VERBS)
def test_examples_in_docstrings_are_true(verb: str) -> None:
    assert doctest.testmod(import_module(f"headway.api.{verb}")).failed == 0
