"""A folder `.headway` that somebody else made, could write to or filled: it is not used, and leads nowhere."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.project import Flow
from tests.slurm.ordinary import python_for_all

NOBODY = 65534
WORKFLOW = "name: f\ntasks:\n  a:\n    run: echo made > out\n    outputs: [out]\n"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another account")


class Nobody:
    """Another account, and a Python that it can run."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self._python, self._variables = python_for_all(folder / "python")

    def headway(self, flow: Flow, *words: str) -> subprocess.CompletedProcess[str]:
        """Run Headway in the directory of a workflow."""
        for folder in (flow.directory, *list(flow.directory.parents)[:-2]):
            folder.chmod(0o755)
        home = str(flow.directory)
        who = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        own = {"HOME": home, "HEADWAY_HISTORY": "none", "XDG_STATE_HOME": home}
        return subprocess.run(
            [*who, self._python, "-m", "headway", *words],
            cwd=flow.directory,
            env=os.environ | own | self._variables,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def nobody(tmp_path_factory: pytest.TempPathFactory) -> Nobody:
    return Nobody(tmp_path_factory.mktemp("for-all"))


@pytest.fixture
def theirs(tmp_path: Path, nobody: Nobody) -> Flow:
    """Return a directory of another account with a run in it."""
    flow = Flow(tmp_path, WORKFLOW)
    os.chown(tmp_path, NOBODY, NOBODY)
    done = nobody.headway(flow, "run")
    assert done.returncode == 0, done.stderr
    return flow


def everything(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Return owner, mode and size of all that is in a folder, but for what SQLite makes while somebody reads."""
    found = {path: path.lstat() for path in folder.rglob("*") if not path.name.endswith(("-shm", "-wal"))}
    return {str(path): (seen.st_uid, seen.st_mode, seen.st_size) for path, seen in found.items()}


@needs_root
def test_root_reads_the_runs_of_others_and_changes_nothing(theirs: Flow, tmp_path: Path, nobody: Nobody) -> None:
    before = everything(tmp_path / ".headway")
    for words in (["status"], ["runs"], ["why", "a"], ["usage"], ["logs", "a"]):
        theirs.headway(*words)
    theirs.headway("report", "--out", str(tmp_path / "page.html"))
    for words in (["run"], ["run", "--again"], ["resume"], ["cancel"], ["clean"]):
        said = theirs.headway(*words, code=3).stderr
        assert "belongs to nobody" in said and "root may look" in said and len(said.splitlines()) == 1
    assert everything(tmp_path / ".headway") == before
    assert nobody.headway(theirs, "run", "--again").returncode == 0, "its owner is not locked out"


@needs_root
def test_a_folder_of_another_account_is_refused(tmp_path: Path, nobody: Nobody) -> None:
    flow = Flow(tmp_path, WORKFLOW)
    flow.headway("run")
    for words in (["status"], ["why", "a"], ["run"], ["cancel"]):
        done = nobody.headway(flow, *words)
        assert done.returncode == 3 and "belongs to root" in done.stderr and len(done.stderr.splitlines()) == 1


@needs_root
@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_a_folder_that_another_account_made_first_is_refused(tmp_path: Path, mode: int) -> None:
    flow = Flow(tmp_path, WORKFLOW)
    tmp_path.chmod(0o1777)
    (tmp_path / ".headway").mkdir()
    os.chown(tmp_path / ".headway", NOBODY, NOBODY)
    (tmp_path / ".headway").chmod(mode)
    assert "belongs to nobody" in flow.headway("run", code=3).stderr
    assert not list((tmp_path / ".headway").iterdir())


@pytest.mark.parametrize("mode", [0o720, 0o777])
def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    flow = Flow(tmp_path, WORKFLOW)
    flow.headway("run")
    (tmp_path / ".headway").chmod(mode)
    for words in (["run"], ["status"], ["cancel"]):
        said = flow.headway(*words, code=3).stderr
        assert "others can write to this folder" in said and "chmod -R go-w" in said
    (tmp_path / ".headway").chmod(0o700)
    flow.headway("status")


@pytest.mark.parametrize("link", [".headway", ".headway/runs/1", ".headway/runs/1/journal.db", ".headway/lock"])
def test_links_are_not_followed(tmp_path: Path, link: str) -> None:
    (tmp_path / "flow").mkdir()
    flow = Flow(tmp_path / "flow", WORKFLOW)
    flow.headway("run")
    place = flow.directory / link
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    before = everything(tmp_path / "elsewhere")
    assert flow.headway("run" if link.endswith("lock") else "cancel", code=None).returncode in (2, 3)
    assert everything(tmp_path / "elsewhere") == before


@pytest.mark.parametrize("field", ["tag", "uid"])
def test_cancel_does_not_leave_the_directory_by_the_tag_of_a_job(tmp_path: Path, field: str) -> None:
    """A crafted journal names a job `../../../../victim`, where a lock says that process 1234 is its supervisor."""
    (tmp_path / "flow").mkdir()
    flow = Flow(tmp_path / "flow", WORKFLOW)
    flow.headway("run")
    victim = tmp_path / "victim"
    victim.mkdir()
    bystander = subprocess.Popen(["sleep", "600"])
    with (victim / "lock").open("w") as lock, sqlite3.connect(flow.directory / ".headway/runs/1/journal.db") as journal:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(str(bystander.pid))
        lock.flush()
        if field == "tag":
            journal.execute("UPDATE records SET body = replace(body, 'headway-', '../../../../../victim/../headway-')")
            journal.execute(
                "UPDATE records SET body = json_set(body, '$.tag', '../../../../../victim') WHERE kind = 'submit'"
            )
        else:
            journal.execute("UPDATE records SET body = json_set(body, '$.uid', '') WHERE kind = 'run-started'")
        journal.execute("DELETE FROM records WHERE kind IN ('finish', 'release')")
        journal.commit()
        said = flow.headway("cancel", code=3).stderr
        assert "is damaged" in said
        assert [path.name for path in victim.iterdir()] == ["lock"]
        assert bystander.poll() is None, "the process lives"
    bystander.kill()
    bystander.wait()


def test_only_their_owner_can_read_the_files_of_a_run(tmp_path: Path) -> None:
    flow = Flow(tmp_path, WORKFLOW.replace("echo made >", "echo said; echo made >"))
    before = os.umask(0)
    try:
        flow.headway("run")
    finally:
        os.umask(before)
    open_files = [path for path in (tmp_path / ".headway").rglob("*") if path.lstat().st_mode & 0o077]
    assert [str(path.relative_to(tmp_path)) for path in open_files if not path.is_symlink()] == []
    assert (tmp_path / ".headway").stat().st_mode & 0o777 == 0o700


def test_settings_that_anybody_could_have_written_are_refused(tmp_path: Path) -> None:
    flow = Flow(tmp_path, WORKFLOW)
    (tmp_path / "headway.toml").write_text("cores = 1\n")
    (tmp_path / "headway.toml").chmod(0o666)
    said = flow.headway("run", code=2).stderr
    assert "headway.toml" in said and "anybody could have written" in said
    (tmp_path / "headway.toml").chmod(0o644)
    flow.headway("run")


@needs_root
def test_settings_of_another_account_in_a_directory_for_all_are_refused(tmp_path: Path) -> None:
    flow = Flow(tmp_path, WORKFLOW)
    (tmp_path / "headway.toml").write_text("cores = 1\n")
    os.chown(tmp_path / "headway.toml", NOBODY, NOBODY)
    flow.headway("run", "-n")  # a colleague's, in a directory that is not for all
    tmp_path.chmod(0o1777)
    assert "anybody could have written" in flow.headway("run", "-n", code=2).stderr
