"""What viewers are sent piece by piece adds up to what a viewer that comes later is sent at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headway.api.finding import find_run, reading
from headway.dashboard.differences import difference, snapshot
from headway.report.run.summary import RunSummary
from headway.report.run_page.collecting import Collector
from headway.report.run_page.page import data_of
from tests.cli.bench import SMALL, Bench

WORKFLOW = """
name: pieces
tasks:
  make:
    each: {n: [1, 2, 3]}
    run: echo {n} > made-{n}
    outputs: ["made-{n}"]
  again:
    run: '[ $HEADWAY_TRY = 2 ] && touch again'
    retries: 1
    inputs: [made-1]
    outputs: [again]
  wrong:
    run: exit 3
    inputs: [made-2]
    outputs: [never]
  after:
    run: cat never
    inputs: [never]
"""


def put(change: dict[str, Any], data: dict[str, Any]) -> None:
    """As the page's script does it."""
    for name, value in change.items():
        if name in ("tasks", "attempts"):
            for column, cells in value.items():
                for row, cell in zip(value["at"], cells, strict=True) if column != "at" else ():
                    data[name][column][row:] = [cell, *data[name][column][row + 1 :]]
        elif name == "decisions":
            data[name] += value
        else:
            data[name] = value


def test_changes_add_up(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "flow", tmp_path)
    bench.write(WORKFLOW)
    assert bench("run", "-q", "--keep-going", *SMALL).returncode == 1
    folder = find_run(bench.directory, None)
    summary = RunSummary()
    collector = Collector(summary)
    before, seen = None, {}
    with reading(folder) as journal:
        for record in journal.replay():
            summary.apply(record)
            collector.apply(record)
            now = snapshot(data_of(summary, collector, folder, summary.finished or "running", []))
            if before is None:
                seen = json.loads(now.whole())
            else:
                put(json.loads(msgspec.json.encode(difference(before, now))), seen)
            before = now
            assert seen == json.loads(now.whole())
    assert seen["state"] == "failed" and len(seen["attempts"]["task"]) == 6
    assert [seen["states"][state] for state in seen["tasks"]["state"]][-2:] == ["failed", "cut off"]
    assert before is not None and difference(before, before) == {}


def test_without_its_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.dashboard._NEEDED", ("no_such_package",))
    bench = Bench(tmp_path / "flow", tmp_path)
    assert "pip install 'headway[serve]'" in bench.fails(2, "serve")
