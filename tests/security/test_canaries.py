"""Secrets that Headway is told turn up nowhere: not in arguments of processes, logs, journals, reports or messages."""

from __future__ import annotations

from pathlib import Path

from tests.end_to_end.project import Flow, wait_until

CANARIES = {
    "HEADWAY_HISTORY": "postgresql://me:canary-of-the-history@127.0.0.1:9/none",
    "HEADWAY_NOTIFY": "http://127.0.0.1:9/canary-of-the-webhook",
    "SITE_TOKEN": "canary-of-the-environment",
}
# What every process on this machine was started with, as any user can see it.
WORKFLOW = """
name: canaries
tasks:
  look:
    run: |
      for file in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < "$file" || true; echo; done > arguments 2> /dev/null
      echo said; echo wrong >&2
    outputs: [arguments]
  fails:
    run: exit 3
"""


def test_no_secret_is_told_to_anyone(tmp_path: Path) -> None:
    flow = Flow(tmp_path, WORKFLOW)
    said = [flow.headway("run", "-k", "--log-level", "debug", code=1, **CANARIES)]
    arguments = (tmp_path / "arguments").read_text()
    assert "headway.workers.supervisor" in arguments
    said.append(flow.headway("run", "-k", "--again", "--detach", code=None, **CANARIES))
    wait_until(lambda: flow.json("status")["state"] == "failed")
    arguments += (tmp_path / "arguments").read_text()
    for words in (["status"], ["status", "--json"], ["why", "look", "--json"], ["usage"], ["logs", "look"], ["runs"]):
        said.append(flow.headway(*words, **CANARIES))
    for words in (["report"], ["export", "--rocrate", "crate"], ["bundle", "-o", "bundle.tar.gz"], ["doctor"]):
        said.append(flow.headway(*words, code=None, **CANARIES))
    told = [done.stdout + done.stderr for done in said] + [arguments]
    written = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink()]
    for canary in ("canary-of-the-history", "canary-of-the-webhook", "canary-of-the-environment"):
        assert not [text for text in told if canary in text]
        assert not [path for path in written if canary.encode() in path.read_bytes()]
