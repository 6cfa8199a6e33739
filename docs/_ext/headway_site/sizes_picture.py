"""The picture of the landing page: what the tasks of a real run were given, and what they used."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from headway.journal.folder import Project
from headway.journal.sqlite import SqliteJournal
from headway.model.records import Launch, TaskEnded

TASKS, SEED = 60, 7
WIDE, HIGH, LEFT, TOP, BOTTOM = 760.0, 300.0, 72.0, 40.0, 44.0
MB = 1_000_000


class Attempt(msgspec.Struct):
    """One attempt: what it was given and what it used, in MB."""

    given: float
    used: float = 0.0
    enough: bool = True


def picture() -> str:
    """Run sixty tasks on two cores and 2 GB of memory, and return an SVG of their memory."""
    drawn = random.Random(SEED)
    needs = [int(drawn.triangular(60, 260, 110)) for _ in range(TASKS)]
    rows = ", ".join(f"{{n: {number}, mb: {need}}}" for number, need in enumerate(needs))
    command = 'python3 -c "x = bytearray({mb} * 10**6); import time; time.sleep(0.4)"; echo {n} > out/{n}'
    workflow = f'name: sizes\ntasks:\n  fit:\n    each: [{rows}]\n    run: {command!r}\n    outputs: "out/{{n}}"\n'
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "workflow.yaml").write_text(workflow)
        environment = os.environ | {"HEADWAY_HISTORY": "none", "XDG_STATE_HOME": folder}
        run = [sys.executable, "-m", "headway", "run", "--cores", "2", "--memory", "2GB", "--quiet"]
        subprocess.run(run, cwd=folder, env=environment, check=True)
        return _draw(_attempts(Path(folder)))


def _attempts(directory: Path) -> list[Attempt]:
    """Return the attempts of the newest run in the order in which they started."""
    found: dict[tuple[str, int], Attempt] = {}
    for record in SqliteJournal(Project(directory).runs()[-1].journal, read_only=True).replay():
        if isinstance(record, Launch):
            found[record.task, record.attempt] = Attempt(record.resources.memory_bytes / MB)
        elif isinstance(record, TaskEnded):
            attempt = found[record.outcome.task, record.outcome.attempt]
            peak = record.outcome.usage.memory_bytes
            attempt.used = peak.value / MB if peak else 0.0
            attempt.enough = record.outcome.ending.name == "SUCCESS"
    return list(found.values())


def _draw(attempts: list[Attempt]) -> str:
    most = max(each.given for each in attempts) * 1.05
    step = (WIDE - LEFT - 12) / len(attempts)
    scale = (HIGH - TOP - BOTTOM) / most
    ground = HIGH - BOTTOM
    bars, dots = [], []
    for number, each in enumerate(attempts):
        x, high = LEFT + number * step, each.given * scale
        bars.append(
            f'<rect x="{x:.1f}" y="{ground - high:.1f}" width="{step - 1.5:.1f}" height="{high:.1f}" class="given"/>'
        )
        kind = "used" if each.enough else "failed"
        y = ground - each.used * scale
        dots.append(f'<circle cx="{x + step / 2 - 0.7:.1f}" cy="{y:.1f}" r="3.2" class="{kind}"/>')
    lines = [
        f'<path d="M{LEFT} {ground - mark * scale:.1f}H{WIDE - 12}" class="mark"/>'
        f'<text x="{LEFT - 8}" y="{ground - mark * scale + 4:.1f}" text-anchor="end">{mark} MB</text>'
        for mark in range(0, int(most), 250)
    ]
    failed = sum(not each.enough for each in attempts)
    again = f", {failed} ran out and tried again with more" if failed else ""
    about = f"{TASKS} tasks{again}"
    mark = f'<circle cx="{WIDE - 158}" cy="55" r="3.2" class="failed"/>'
    ran_out = f'{mark}<text x="{WIDE - 148}" y="60">ran out: tries again</text>' if failed else ""
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:.0f} {HIGH:.0f}" width="{WIDE:.0f}" \
height="{HIGH:.0f}" role="img" aria-label="Memory given to and used by {about}">
<style>text{{font:13px system-ui,sans-serif;fill:#57606a}}.given{{fill:#9cc3f0}}.used{{fill:#0b4a8f}}\
.failed{{fill:#c2410c}}.mark{{stroke:#d0d7de;stroke-width:1}}.title{{font-size:15px;font-weight:600;fill:#24292f}}</style>
<rect width="100%" height="100%" rx="8" fill="#fff"/>
<text x="{LEFT}" y="24" class="title">Memory that each task was given, and what it used</text>
{"".join(lines)}
{"".join(bars)}
{"".join(dots)}
<rect x="{WIDE - 300}" y="50" width="14" height="10" class="given"/><text x="{WIDE - 280}" y="60">given</text>
<circle cx="{WIDE - 222}" cy="55" r="3.2" class="used"/><text x="{WIDE - 212}" y="60">used</text>
{ran_out}
<text x="{LEFT}" y="{HIGH - 16}">attempts, in the order in which they started: {about}</text>
</svg>
"""
