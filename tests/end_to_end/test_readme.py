"""The first five minutes of the README, walked as written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text()
SECTION = README.partition("## The first five minutes")[2].partition("\n## ")[0]


def test_the_first_five_minutes(tmp_path: Path) -> None:
    (workflow,) = re.findall(r"```yaml\n(.*?)```", SECTION, re.DOTALL)
    (commands,) = re.findall(r"```\n(headway.*?)```", SECTION, re.DOTALL)
    (tmp_path / "workflow.yaml").write_text(workflow)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "HEADWAY_HISTORY": "none", "COLUMNS": "200"}
    said = [
        subprocess.run(
            ["bash", "-ec", line], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        ).stdout
        for line in commands.splitlines()
    ]
    assert "3 would run" in said[0]
    assert "3 tasks run" in said[1]
    assert said[2].split() == ["1000", "numbers.txt", "271", "sevens.txt", "1271", "total"]
    assert "3 reused" in said[3]
    assert "2 tasks run, 1 reused" in said[5]
    assert "it ran because: " in said[6]
