"""Several people share a pool on one host: a test for each line of the threat model in docs/members.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.workers.confinement import can_confine
from tests.cli.bench import Bench
from tests.serving.people import MEMBERS, OUTSIDER, OWNER, STRANGER, People, ended

ANNA, BEN = MEMBERS
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
# What a task of a member tries against the pool's account.
PROWLS = f"""
name: prowls
tasks:
  prowls:
    run: |
      for path in ROOT/homes/{OWNER}/secret POOL/sharing.json; do cat $path && echo read $path; done
      for path in ROOT/homes/{OWNER}/new POOL/new ROOT/open/new; do touch $path && echo wrote $path; done
      cat /proc/MANAGER/environ && echo read the environment of the manager
      kill -9 MANAGER && echo killed the manager
      touch here && cat ROOT/open/file && echo done > done
    outputs: [done]
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


def raw(people: People, user: str, way: str, directory: Path, *more: str) -> str:
    words = ("-m", "tests.serving.raw_member", str(people.pool), way, str(directory), *more)
    code, said = ended(people.run_as(user, people.python, *words))
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


def test_strangers_on_the_host_are_refused(people: People) -> None:
    """One cannot reach the socket; another one reaches it and is no member."""
    there = flow(people, OUTSIDER, "outsiders", SMALL)
    assert "is no member of this pool" in run(people, OUTSIDER, there)[1]
    code, said = people.says(STRANGER, "pool", "status", str(people.pool))
    assert (code, "other users cannot reach this pool" in said) == (3, True)
    for words in (("members",), ("invite", STRANGER), ("revoke", ANNA)):
        code, said = people.says(STRANGER, "pool", *words, str(people.pool))
        assert code in (2, 3), said
        assert said.count("\n") == 1
    for path in people.pool.rglob("*"):
        if path.is_file():
            assert path.stat().st_mode & 0o077 == 0, path


def test_workflows_outside_the_folders_are_refused(people: People) -> None:
    outside = flow(people, ANNA, "outside", SMALL, people.root / "homes" / ANNA)
    code, said = run(people, ANNA, outside)
    assert (code, "this pool does not run workflows here" in said) == (3, True), said
    own = flow(people, OWNER, "of-owner", SMALL, people.root / "homes" / OWNER)  # which the kernel keeps tasks from
    assert "this pool does not run workflows here" in run(people, OWNER, own)[1]
    link = people.shared / "link"
    link.symlink_to(outside)
    assert "this pool does not run workflows here" in run(people, ANNA, link)[1]
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


def test_a_task_reaches_nothing_else_of_the_account(people: People) -> None:
    """Neither its home nor the pool's own directory and process; it writes in the folders, and reads what all can."""
    if not can_confine():
        pytest.skip("this kernel has no Landlock")
    secret, open_to_all = people.root / "homes" / OWNER / "secret", people.root / "open"
    secret.write_text("of the owner")
    secret.chmod(0o644)
    open_to_all.chmod(0o777)
    pid = json.loads(people.says(OWNER, "pool", "status", str(people.pool), "--json")[1])["manager_pid"]
    directory = flow(people, BEN, "prowls", PROWLS.replace("ROOT", str(people.root)).replace("MANAGER", str(pid)))
    code, said = run(people, BEN, directory)
    assert code == 0, said
    code, said = people.says(BEN, "logs", "prowls", "--only", "stderr", cwd=directory)
    assert said.count("Permission denied") + said.count("Operation not permitted") == 7, said
    assert people.says(BEN, "logs", "prowls", "--only", "stdout", cwd=directory) == (0, "for all")


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
        (("invite", ANNA, str(people.pool), "--to", "file"), "cannot be reached from other hosts yet"),
        (("revoke", "carl", str(people.pool)), "'carl' is no member"),
        (("start", "other", "--group", "users"), "members' workflows may lie in no folder yet"),
        (("start", "other", "--group", "users", "--folder", str(people.shared)), "members cannot reach a pool in"),
        (("start", "./other", "--group", "none", "--folder", str(people.shared)), "there is no group 'none' here"),
        (("start", "./other", "--listen", "8700", "--folder", str(people.shared)), "is no address to listen on"),
        (("start", "./other", "--folder", "missing"), "there is no such directory"),
        (("start", "./other", "--folder", "/"), "members' tasks may write in this folder, and"),
    ):
        assert said in bench.fails(2, "pool", *words)
