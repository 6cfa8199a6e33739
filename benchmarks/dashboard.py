"""What `headway serve` takes with one finished run: memory, and CPU time of a core, without viewers and with one.

Run it with `python -m benchmarks.dashboard`; it takes two minutes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

SECONDS = 50.0
WORKFLOW = "name: one\ntasks: {work: {each: {n: [1, 2, 3, 4, 5, 6, 7, 8]}, run: 'true'}}\n"


def used(pid: int) -> tuple[float, float]:
    """CPU seconds so far, and memory in MB, of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure(pid: int, what: str) -> None:
    before, _ = used(pid)
    time.sleep(SECONDS)
    after, memory = used(pid)
    print(f"{what}: {memory:.0f} MB, {(after - before) / SECONDS:.2%} of a core")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "workflow.yaml").write_text(WORKFLOW)
        headway = [sys.executable, "-m", "headway"]
        subprocess.run([*headway, "run", "-q"], cwd=folder, check=True)
        server = subprocess.Popen([*headway, "serve", "--json"], cwd=folder, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            told = json.loads("".join(iter(server.stdout.readline, "}\n")) + "}")
            base, _, token = told["url"].partition("/?token=")
            ask = {"Authorization": f"Bearer {token}"}
            events = urllib.request.urlopen(urllib.request.Request(f"{base}/events", headers=ask))
            events.readline()
            row = json.loads(events.readline().partition(b"data: ")[2])["rows"][0]
            events.close()
            measure(server.pid, "nobody looks")
            stream = urllib.request.Request(f"{base}/runs/{row['id']}/events", headers=ask)
            with urllib.request.urlopen(stream) as viewer:
                viewer.readline()
                measure(server.pid, "one viewer of the run's page")
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()


if __name__ == "__main__":
    main()
