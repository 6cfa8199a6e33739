"""Three workflows of three people in one pool on a real Slurm: one goes on, one is cancelled, one member is revoked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.model.records import Launch
from tests.serving.people import GROUP, MEMBERS, OUTSIDER, People, ended
from tests.serving.pools import records_of
from tests.serving.test_members import WAITING, flow
from tests.slurm.flows import SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.processes import wait_until

ANNA, BEN, CARLA = *MEMBERS, OUTSIDER


@pytest.fixture
def people() -> Iterator[People]:
    made = People(owner="root")
    yield made
    made.close()


def test_three_workflows_of_three_people(slurm_of_session: SlurmLab, tmp_path: Path, people: People) -> None:
    """All outputs are right and every command runs once, but for those that were stopped."""
    slurm_of_session.tidy()
    pool = SlurmFlow(slurm_of_session, tmp_path)
    options = ("--on", "slurm", "--nodes", "whole", "--grace", "1s")
    manager = pool.start("pool", "start", str(people.pool), "-q", *options, "--group", GROUP)
    wait_until((people.pool / ".headway" / "pool").is_symlink, "the pool's socket")
    for member in (ANNA, BEN, CARLA):
        people.invite(member)
    users = {"one": ANNA, "two": BEN, "three": CARLA}
    directories = {name: flow(people, user, name, WAITING) for name, user in users.items()}
    running = {}
    for name, user in users.items():
        running[name] = people.begin(user, "run", "--pool", str(people.pool), cwd=directories[name])
        people.wait_for_ran(name, 3, running[name])
    assert {name: it["user"] for name, it in people.members().items()} == users
    for name, user in (("one", ANNA), ("two", BEN)):
        status = json.loads(people.says(user, "status", "--json", cwd=directories[name])[1])
        assert (status["name"], status["tasks"]["succeeded"], status["tasks"]["running"]) == (name, 1, 2)
    assert people.says(BEN, "cancel", cwd=directories["two"])[0] == 0
    assert ended(running["two"])[0] == 130
    people.revoke(CARLA)
    code, said = ended(running["three"])
    assert (code, f"{CARLA} is no member of this pool, or not any more" in said) == (3, True), said
    assert set(people.members()) == {"one"}
    (people.shared / "go-one").touch()
    assert ended(running["one"])[0] == 0
    assert [(directories["one"] / f"made-{n}").read_text() for n in (1, 2)] == ["1\n", "1\n"]
    for name in ("two", "three"):
        (people.shared / f"go-{name}").touch()
    assert people.says(BEN, "resume", cwd=directories["two"])[0] == 0
    people.invite(CARLA)
    assert people.says(CARLA, "resume", cwd=directories["three"])[0] == 0
    for name, times in (("one", 1), ("two", 2), ("three", 2)):
        ran = (people.shared / f"ran-{name}").read_text().split()
        assert [ran.count(task) for task in ("first", "1", "2")] == [1, times, times]
        assert (directories[name] / "made-2").read_text() == "1\n"
    pool.headway("pool", "stop", str(people.pool))
    pool.await_end(manager)
    launches = [record for record in records_of(people.pool) if isinstance(record, Launch)]
    assert len({launch.task.partition("/")[0] for launch in launches}) == 3
    assert len({launch.tag for launch in launches}) < len(launches)  # tasks shared jobs
    pool.check_queue()
