"""The Markdown pages of the documentation, and the commands in them."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ON_SLURM = {"first-slurm-run", "gpus", "tell-administrators", "administrators"}  # pages whose commands need a Slurm


def script(page: str) -> str:
    """Return all `bash` blocks of a page as one script: what a reader runs who copies each block into a shell."""
    blocks = re.findall(r"^```bash\n(.*?)^```$", (DOCS / f"{page}.md").read_text(), re.MULTILINE | re.DOTALL)
    return "\n".join(blocks)


def reader(home: Path) -> dict[str, str]:
    """Return the environment of a reader who has installed Headway and has not used it yet."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWAY", "_HEADWAY"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    places = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE")}
    return kept | places | {"PATH": path, "COLUMNS": "100"}
