"""Pictures for the pages about algorithms, taken from the HTML pages that Headway's own commands write."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

# The name of a picture, the command whose page has it, and how the picture is labelled there.
PICTURES = {
    "queue": ("simulate lublin --machine 64 --jobs 600 --load 1.0 --seed 1", "Jobs on nodes"),
}
STYLE = """\
svg{color:#24292f;font-family:system-ui,"DejaVu Sans",sans-serif}
.grid{stroke:#8c959f;stroke-opacity:.28;fill:none}
.frame{stroke:currentColor;stroke-opacity:.5;fill:none}
.job .edge{stroke:#fff;stroke-width:.6}
.job text{font-weight:600}
"""


def picture(command: str, label: str) -> str:
    """Run a command that writes a page, and return one picture of the page as a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        words = [sys.executable, "-m", "headway", *command.split(), "--html", str(page)]
        subprocess.run(words, check=True, capture_output=True)
        text = page.read_text(encoding="utf-8")
    (found,) = re.findall(rf'<svg[^>]*aria-label="{re.escape(label)}".*?</svg>', text, re.DOTALL)
    wide, high = re.findall(r'viewBox="0 0 (\d+) (\d+)"', found)[0]
    inside = found.partition(">")[2]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        f'role="img" aria-label="{label}"><style>{STYLE}</style>'
        f'<rect width="100%" height="100%" rx="8" fill="#fff"/>{inside}\n'
    )
