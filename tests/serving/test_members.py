"""Several people share a pool on one host: a test for each line of the table in docs/members.md."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from headway.model.errors import InputError
from headway.model.outcome import Ending
from headway.model.records import TaskEnded
from headway.serving.callers import Caller
from headway.serving.pool_server import PoolServer
from headway.workers import protocol
from tests.cli.bench import Bench
from tests.serving.people import MEMBERS, OUTSIDER, OWNER, STRANGER, People, ended
from tests.serving.pools import records_of

ANNA, BEN = MEMBERS
NO_GRACE_S = 100.0
ROOM = "resources: {cores: 1, memory: 100 MB, disk: 10 MB}"
SMALL = "name: NAME\ntasks: {a: {run: 'echo $HEADWAY_TASK > a', outputs: [a], " + ROOM + "}}"
WAITING = f"""
name: NAME
tasks:
  first:
    run: echo first >> HOME/ran-NAME; echo 1 > first
    outputs: [first]
    {ROOM}
  waits:
    each: {{n: [1, 2]}}
    run: |
      echo {{n}} >> HOME/ran-NAME
      while [ ! -e HOME/go-NAME ]; do sleep 0.05; done
      cat first > made-{{n}}
    inputs: [first]
    outputs: ["made-{{n}}"]
    {ROOM}
"""
AS_POOL = f"""
name: sky
tasks:
  made:
    each: {{n: [1, 2]}}
    run: |
      id -un > made-{{n}}
      echo ${{SECRET-nothing}} >> made-{{n}}
      echo hello from {{n}}
      mkdir many-{{n}} && echo {{n}} > many-{{n}}/one
    outputs: ["made-{{n}}", "many-{{n}}"]
    temp: ["many-{{n}}"]
    {ROOM}
  all:
    run: cat many-1/one many-2/one > all; echo too bad >&2; false
    inputs: [many-1, many-2]
    outputs: [all]
    {ROOM}
"""
# While `s` waits, `t` could be handed over by another.
TWO_STEPS = """
name: NAME
tasks:
  s:
    run: echo s >> HOME/ran-NAME; while [ ! -e HOME/go-NAME ]; do sleep 0.05; done; echo 1 > s
    outputs: [s]
    resources: {cores: 0.1, memory: 100 MB, disk: 10 MB}
  t:
    run: echo hers > t
    inputs: [s]
    outputs: [t]
    resources: {cores: 0.1, memory: 100 MB, disk: 10 MB}
"""
# Two processes that do not end by SIGTERM.
STUBBORN = f"""
name: NAME
tasks:
  stubborn:
    run: |
      trap '' TERM
      sh -c 'trap "" TERM; echo $$ >> HOME/ran-NAME; while :; do echo beat >> HOME/beats-NAME; sleep 0.05; done' &
      echo $$ >> HOME/ran-NAME
      while :; do sleep 0.05; done
    {ROOM}
"""
# What a task of a member tries against the pool: as the pool's own account, also from a process that it left behind.
TALKS = f"""
name: talks
tasks:
  talks:
    run: |
      python=PYTHON
      $python -m headway pool stop POOL --now --no-wait > said 2>&1 || true
      (setsid sh -c "$python -m headway pool status POOL > left.new 2>&1; mv left.new left" &)
      while [ ! -e left ]; do sleep 0.05; done
    outputs: [said, left]
    {ROOM}
"""


@pytest.fixture(scope="module")
def people() -> Iterator[People]:
    made = People()
    try:
        made.start()
        for member in MEMBERS:
            made.invite(member)
        yield made
        made.stop()
    finally:
        made.close()


def flow(people: People, user: str, name: str, text: str, below: Path | None = None) -> Path:
    return people.flow(user, name, text.replace("NAME", name).replace("PYTHON", people.python), below)


def run(people: People, user: str, directory: Path, *options: str, **environment: str) -> tuple[int, str]:
    return people.says(user, "run", "--pool", str(people.pool), *options, cwd=directory, **environment)


def raw_words(people: People, way: str, directory: Path, *more: str) -> tuple[str, ...]:
    return (people.python, "-m", "tests.serving.raw_member", str(people.pool), way, str(directory), *more)


def is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return False


def raw(people: People, user: str, way: str, directory: Path, *more: str) -> str:
    code, said = ended(people.run_as(user, *raw_words(people, way, directory, *more)))
    assert code == 0, said
    return said


def test_a_member_runs_as_the_pools_account_and_sees_results_and_logs(people: People) -> None:
    directory = flow(people, ANNA, "sky", AS_POOL)
    code, said = run(people, ANNA, directory, SECRET="of mine")
    assert code == 1, said
    assert "too bad" in said
    assert (directory / "made-1").read_text() == f"{OWNER}\nnothing\n"  # the member's environment stays the member's
    assert people.says(ANNA, "logs", "made[1]", cwd=directory) == (0, "hello from 1\n")
    (directory / "workflow.yaml").write_text((directory / "workflow.yaml").read_text().replace("; false", ""))
    code, said = run(people, ANNA, directory)
    assert code == 0, said
    assert people.says(ANNA, "logs", "made[1]", "--run", "1", cwd=directory) == (0, "hello from 1\n")
    assert not (directory / "many-1").exists()  # a temporary output that the pool made, and the member's run deleted
    people_can_read = ended(people.run_as(ANNA, "cat", str(directory / "all")))
    assert people_can_read == (0, "1\n2\n")


def test_the_pools_account_cannot_read_the_journal_of_a_member(people: People) -> None:
    directory = flow(people, ANNA, "own", SMALL)
    assert run(people, ANNA, directory)[0] == 0
    journal = directory / ".headway/runs/1/journal.db"
    assert journal.owner() == ANNA
    for user in (OWNER, BEN):
        assert ended(people.run_as(user, "cat", str(journal)))[0] != 0
        assert ended(people.run_as(user, "ls", str(journal.parent)))[0] != 0


def test_a_run_opens_to_the_group_what_the_page_says_and_no_more(people: People) -> None:
    directory = flow(people, ANNA, "modes", WAITING)
    manager = people.begin(ANNA, "run", "--pool", str(people.pool), cwd=directory)
    people.wait_for_ran("modes", 3, manager)
    folder = directory / ".headway"
    paths = [path for path in folder.rglob("*") if not path.is_symlink()]
    modes = {path.relative_to(folder).as_posix(): path.stat().st_mode & 0o7777 for path in paths}
    (people.shared / "go-modes").touch()
    assert ended(manager)[0] == 0
    assert folder.stat().st_mode & 0o7777 == 0o710
    named = {"runs": 0o710, "runs/1": 0o710, "runs/1/jobs": 0o2710, "runs/1/tasks": 0o2770}
    named["runs/1/jobs/home.json"] = 0o640
    assert {path: modes[path] for path in named} == named
    others = {path: mode for path, mode in modes.items() if path.startswith("runs/1/") and path not in named}
    private = {path: mode for path, mode in others.items() if not path.startswith("runs/1/tasks/")}
    assert len(private) < len(others) and "runs/1/journal.db" in private
    assert [path for path, mode in private.items() if mode & 0o077] == []
    assert [path for path, mode in others.items() if mode & 0o007] == []
    environment = json.loads((folder / "runs/1/jobs/home.json").read_text())["environment"]
    assert environment is None


def test_strangers_on_the_host_are_refused(people: People) -> None:
    """One cannot reach the socket; another one reaches it and is no member."""
    there = flow(people, OUTSIDER, "outsiders", SMALL)
    assert "is no member of this pool" in run(people, OUTSIDER, there)[1]
    code, said = people.says(OUTSIDER, "pool", "status", str(people.pool))
    assert (code, "is no member of this pool" in said) == (3, True), said
    code, said = people.says(STRANGER, "pool", "status", str(people.pool))
    assert (code, "other users cannot reach this pool" in said) == (3, True)
    for words in (("members",), ("invite", STRANGER), ("revoke", ANNA)):
        code, said = people.says(STRANGER, "pool", *words, str(people.pool))
        assert code in (2, 3), said
        assert said.count("\n") == 1
    for path in people.pool.rglob("*"):
        if path.is_file():
            assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("user", [OUTSIDER, STRANGER])
def test_who_was_not_invited_cannot_take_the_account(people: People, user: str) -> None:
    """The commands by which a member once took over the account, from a user of the group and from a stranger."""
    home = people.root / "homes" / OWNER
    (home / ".bashrc").write_text("# of the owner\n")
    (home / "secret").write_text("of the owner\n")
    before = {path: path.stat().st_mode for path in (home, home / ".bashrc", people.pool, people.pool / "sharing.json")}
    attack = f"""
        chmod 711 {home}
        chmod 666 {home}/.bashrc {people.pool}/sharing.json
        chmod 777 {people.pool}
        cat {home}/secret {people.pool}/sharing.json
        echo planted >> {home}/.bashrc
        echo '{{"members": {{"{user}": {{}}}}}}' > {people.pool}/sharing.json
    """
    _, said = ended(people.run_as(user, "sh", "-c", attack))
    assert said.count("denied") + said.count("not permitted") >= 8, said
    assert "of the owner" not in said
    assert {path: path.stat().st_mode for path in before} == before
    assert "planted" not in (home / ".bashrc").read_text()
    there = flow(people, user, f"attack-{user}", SMALL.replace("echo", "sh attack.sh; echo"))
    (there / "attack.sh").write_text(attack)
    assert run(people, user, there)[0] != 0
    assert people.members() == {}
    assert user not in people.says(OWNER, "pool", "members", str(people.pool))[1]


def test_an_invitation_says_what_it_means_and_needs_an_answer(people: People) -> None:
    code, said = people.says(OWNER, "pool", "invite", OUTSIDER, str(people.pool))
    assert code == 2
    assert f"{OUTSIDER} will be able to run any command as the account {OWNER}" in said
    assert "--i-trust-them" in said
    master, terminal = os.openpty()
    with os.fdopen(master, "w") as keys, os.fdopen(terminal) as there:
        keys.write("n\n")
        keys.flush()
        words = (people.python, "-m", "headway", "pool", "invite", OUTSIDER, str(people.pool))
        code, said = ended(people.run_as(OWNER, *words, stdin=there))
    assert (code != 0, f"Invite {OUTSIDER}? [y/N]" in said) == (True, True), said
    assert OUTSIDER not in people.says(OWNER, "pool", "members", str(people.pool))[1]
    assert people.says(OWNER, "pool", "invite", ANNA, str(people.pool), "--weight", "1")[0] == 0  # invited before


def test_workflows_that_the_account_cannot_work_with_are_refused(people: People) -> None:
    hidden = flow(people, ANNA, "hidden", SMALL, people.root / "homes" / ANNA)
    code, said = run(people, ANNA, hidden)
    assert (code, f"the pool's account {OWNER} does not see this directory" in said) == (3, True), said
    closed = flow(people, ANNA, "closed", SMALL)
    closed.chmod(0o2750)
    assert f"the pool's account {OWNER} may not write here" in run(people, ANNA, closed)[1]
    closed.chmod(0o2770)
    assert run(people, ANNA, closed)[0] == 0  # nothing is lost


def test_a_member_can_name_no_other_paths(people: People) -> None:
    directory = flow(people, BEN, "paths", SMALL)
    assert "not a run of Headway in its own directory" in raw(people, BEN, "home", directory)
    assert "not a run of Headway in its own directory" in raw(people, BEN, "number", directory)
    assert "not the folder of an attempt" in raw(people, BEN, "folder", directory)
    assert "less than nothing" in raw(people, BEN, "negative", directory)


def test_a_member_cannot_touch_the_runs_of_another_or_the_pool(people: People) -> None:
    directory = flow(people, ANNA, "hers", WAITING)
    manager = people.begin(ANNA, "run", "--pool", str(people.pool), cwd=directory)
    people.wait_for_ran("hers", 3, manager)
    assert people.members()["hers"]["user"] == ANNA
    uid = json.loads((directory / ".headway/runs/1/jobs/order.json").read_text())["uid"]
    own = flow(people, BEN, "his", SMALL)
    assert "belongs to another user" in raw(people, BEN, "join", own, uid)
    assert "belongs to another user" in raw(people, BEN, "join", own, f"{uid}/waits[1]")  # a part of a task's name
    assert "belongs to another user" in raw(people, BEN, "withdraw", own, uid)
    assert "only the owner of a pool can stop it" in people.says(BEN, "pool", "stop", str(people.pool), "--now")[1]
    assert people.members()["hers"]["running"] == 2
    (people.shared / "go-hers").touch()
    assert ended(manager)[0] == 0
    assert sorted((people.shared / "ran-hers").read_text().split()) == ["1", "2", "first"]


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("theirs", "this run belongs to another user"),
        ("linked-run", "not a folder, or a link to one"),
        ("linked-task", "not a folder, or a link to one"),
        ("linked-attempt", "not a folder, or a link to one"),
        ("linked-later", "this run belongs to another user"),
    ],
)
def test_a_member_cannot_hand_over_a_task_of_another(people: People, way: str, said: str) -> None:
    """Not while it waits: the other's manager would take the end of the forged command for that of its own."""
    directory = flow(people, ANNA, f"hers-{way}", TWO_STEPS)
    manager = people.begin(ANNA, "run", "--pool", str(people.pool), cwd=directory)
    people.wait_for_ran(f"hers-{way}", 1, manager)
    own = flow(people, BEN, f"his-{way}", SMALL)
    answer = raw(people, BEN, way, own, str(directory))
    begun = (directory / ".headway/runs/1/tasks/t").exists()
    (people.shared / f"go-hers-{way}").touch()
    code, end = ended(manager)
    assert said in answer
    assert not begun
    assert code == 0, end
    assert (directory / "t").read_text() == "hers\n"


def test_a_task_cannot_talk_to_the_pool(people: People) -> None:
    """It runs under the owner's account, and is still not the owner; nor is a process that it left behind."""
    directory = flow(people, BEN, "talks", TALKS)
    code, said = run(people, BEN, directory)
    assert code == 0, said
    for name in ("said", "left"):
        assert (directory / name).read_text() == "headway: a task cannot talk to the pool that runs it\n"
    assert people.members() == {}


def test_a_member_with_100000_tasks_is_refused_and_others_go_on(people: People) -> None:
    directory = flow(people, BEN, "flood", SMALL)
    other = flow(people, ANNA, "beside", SMALL)
    assert re.search(
        rf"{BEN} has 10,0\d\d tasks in this pool, and it takes no more", raw(people, BEN, "many", directory)
    )
    code, said = run(people, ANNA, other)
    assert code == 0, said
    people.revoke(BEN)
    people.wait_for(lambda: "raw" not in people.members(), "the end of what was handed over")
    people.invite(BEN)


def test_a_member_is_revoked_in_the_middle_of_a_run(people: People) -> None:
    """What runs is stopped, the run ends with a sentence, others go on, and nothing that succeeded runs again."""
    hers, his = flow(people, ANNA, "revoked", WAITING), flow(people, BEN, "stays", WAITING)
    first = people.begin(ANNA, "run", "--pool", str(people.pool), "--cores", "1", cwd=hers)
    people.wait_for_ran("revoked", 2, first)
    second = people.begin(BEN, "run", "--pool", str(people.pool), cwd=his)
    people.wait_for_ran("stays", 2, second)
    people.revoke(ANNA)
    code, said = ended(first)
    assert (code, f"{ANNA} is no member of this pool, or not any more" in said) == (3, True), said
    assert "revoked" not in people.members()
    (people.shared / "go-stays").touch()
    assert ended(second)[0] == 0
    code, said = people.says(ANNA, "resume", cwd=hers)
    assert (code, "is no member of this pool" in said) == (3, True), said
    people.invite(ANNA, "--cores", "1")
    (people.shared / "go-revoked").touch()
    code, said = people.says(ANNA, "resume", cwd=hers)
    assert code == 0, said
    ran = (people.shared / "ran-revoked").read_text().split()
    assert ran.count("first") == 1
    assert (hers / "made-2").read_text() == "1\n"


def test_what_runs_for_a_revoked_member_is_killed_without_grace() -> None:
    """The grace time, which here is ten times as long as the test waits, is not for a former member."""
    patient = People("--grace", f"{10 * NO_GRACE_S:g}s")
    noted = patient.shared / "ran-stubborn"
    try:
        patient.start()
        patient.invite(ANNA)
        directory = flow(patient, ANNA, "stubborn", STUBBORN)
        manager = patient.begin(ANNA, "run", "--pool", str(patient.pool), cwd=directory)
        patient.wait_for_ran("stubborn", 2, manager)
        idle = patient.run_as(ANNA, *raw_words(patient, "stay", flow(patient, ANNA, "idle", SMALL)))
        assert idle.stdout is not None and idle.stdout.readline() == "connected\n"
        patient.revoke(ANNA)
        code, said = ended(manager, NO_GRACE_S)
        assert (code, f"{ANNA} is no member of this pool, or not any more" in said) == (3, True), said
        left = [pid for pid in noted.read_text().split() if is_alive(int(pid))]
        beats = (patient.shared / "beats-stubborn").read_text()
        assert left == []
        assert ended(idle) == (0, "the pool hung up\n")
        ends = [record.outcome.ending for record in records_of(patient.pool) if isinstance(record, TaskEnded)]
        assert ends == [Ending.CANCELLED]  # not a failure of the task's
        patient.stop()
        assert (patient.shared / "beats-stubborn").read_text() == beats
    finally:
        for pid in noted.read_text().split() if noted.exists() else ():
            if is_alive(int(pid)):
                os.kill(int(pid), signal.SIGKILL)
        patient.close()


def test_a_connection_from_before_the_revocation_brings_no_run(tmp_path: Path) -> None:
    server = PoolServer(tmp_path)
    join = protocol.Join("0123456789ab", "late", str(tmp_path), "1", str(tmp_path / ".headway/runs/1/jobs/home.json"))
    writer = MagicMock()
    with pytest.raises(InputError, match=f"{ANNA} is no member of this pool"):
        server._join(join, Caller(ANNA, uid=5), writer)
    writer.write.assert_not_called()


def test_a_member_who_was_revoked_while_the_pool_was_down_keeps_results(people: People) -> None:
    """The pool that is started again knows what runs for whom; its other settings stay as they were."""
    directory = flow(people, BEN, "alone", WAITING)
    manager = people.begin(BEN, "run", "--pool", str(people.pool), cwd=directory)
    people.wait_for_ran("alone", 2, manager)
    people.kill()
    people.revoke(BEN)
    people.options = ()
    people.start()
    code, said = ended(manager)
    assert (code, f"{BEN} is no member of this pool" in said) == (3, True), said
    assert people.members() == {}
    (people.shared / "go-alone").touch()
    (people.shared / "ran-alone").chmod(0o666)
    code, said = people.says(BEN, "run", cwd=directory)
    assert code == 0, said
    assert (people.shared / "ran-alone").read_text().split().count("first") == 1
    assert (directory / "made-1").owner() == BEN
    people.invite(BEN)


def test_limits_and_weights_of_a_member(people: People) -> None:
    """A member with a limit gets no more, and the limit is known to the member's run."""
    people.invite(ANNA, "--cores", "1", "--weight", "3")
    listed = json.loads(people.says(OWNER, "pool", "members", str(people.pool), "--json")[1])["members"]
    assert {each["name"]: (each["weight"], each["most_cores"]) for each in listed} == {ANNA: (3, 1), BEN: (1, None)}
    directory = flow(people, ANNA, "limited", WAITING)
    manager = people.begin(ANNA, "run", "--pool", str(people.pool), cwd=directory)
    people.wait_for_ran("limited", 2, manager)
    assert people.members()["limited"]["running"] == 1
    (people.shared / "go-limited").touch()
    code, said = ended(manager)
    assert code == 0, said
    assert "3 tasks on 1 core" in said
    people.invite(ANNA)


def test_what_cannot_be_is_said_in_a_sentence(people: People, tmp_path: Path) -> None:
    bench = Bench(tmp_path / "work", tmp_path)  # these are said before anything depends on the user
    for words, said in (
        (("invite", "nobody-here", str(people.pool)), "there is no user 'nobody-here' here"),
        (("invite", "root", str(people.pool)), "root owns this pool"),
        (("invite", "a b", str(people.pool)), "cannot be the name of a member"),
        (("invite", ANNA, "elsewhere"), "there is no pool 'elsewhere'"),
        (("revoke", "carl", str(people.pool)), "'carl' is no member"),
        (("start", "other", "--group", "users"), "members cannot reach a pool in"),
        (("start", "./other", "--group", "none"), "there is no group 'none' here"),
    ):
        assert said in bench.fails(2, "pool", *words)
