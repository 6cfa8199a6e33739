"""A sizer from another package, found by its entry point."""

from __future__ import annotations

from pathlib import Path

from tests.end_to_end.project import Flow

PLUGIN = '''
from headway.model.records import Why
from headway.sizing.base import Prediction, Sizer


class Tenth(Sizer):
    """A tenth of whatever there is."""

    name = "tenth"

    def predict(self, task, failures, context):
        limit = context.limits[self.resource]
        value = limit if limit is None else limit // 10 if self.resource != "cores" else limit / 10
        return Prediction(value, Why(self.name, "tenth", {"limit": limit}, "a tenth of the machine"))
'''


def test_a_plugin_is_listed_and_sizes_tasks(tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "tenth-1.0.dist-info").mkdir(parents=True)
    (site / "tenth.py").write_text(PLUGIN)
    (site / "tenth-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: tenth\nVersion: 1.0\n")
    (site / "tenth-1.0.dist-info" / "entry_points.txt").write_text("[headway.sizers]\ntenth = tenth:Tenth\n")
    (tmp_path / "flow").mkdir()
    flow = Flow(tmp_path / "flow", "name: p\ntasks:\n  a:\n    run: 'true'\n")
    assert "A tenth of whatever there is." in flow.headway("policies", PYTHONPATH=str(site)).stdout
    flow.headway("run", "--sizer", "tenth", PYTHONPATH=str(site))
    (launch,) = flow.launches()
    assert launch.why["memory_bytes"].policy == "tenth"
    assert launch.resources.memory_bytes == (launch.why["memory_bytes"].figures["limit"] or 0) // 10
    assert "no sizer called 'tenth'" in flow.headway("run", "--sizer", "tenth", code=2).stderr
