"""A pool that members reach by invitation, through TLS: tokens, forged ones, and whoever else finds the port."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.workers.pool.keys import certificate_and_key, make_keys
from tests.serving.people import MEMBERS, People, ended, free_port
from tests.serving.test_members import SMALL, WAITING, flow

ANNA, BEN = MEMBERS
NAME = "carla"  # no user of this host
ANSWER_WITHIN_S = 60.0


@pytest.fixture(scope="module")
def people() -> Iterator[People]:
    made = People("--listen", f"127.0.0.1:{free_port()}")
    try:
        made.start()
        yield made
        made.stop()
    finally:
        made.close()


def test_a_member_comes_by_invitation_and_is_revoked(people: People) -> None:
    file = people.invitation(NAME, ANNA)
    token = json.loads(file.read_text())["token"]
    assert token not in (people.pool / "sharing.json").read_text()
    directory = flow(people, ANNA, "far", WAITING)
    manager = people.begin(ANNA, "run", "--pool", str(file), cwd=directory)
    people.wait_for_ran("far", 3, manager)
    assert people.members()["far"]["user"] == NAME
    people.revoke(NAME)
    code, said = ended(manager)
    assert (code, "is no member of this pool, or not any more" in said) == (3, True), said
    code, said = people.says(ANNA, "pool", "status", str(file))
    assert (code, "the holder of this invitation is no member" in said) == (3, True), said
    (people.shared / "go-far").touch()
    renewed = people.invitation(NAME, ANNA)
    assert renewed == file  # the run knows its pool by this file
    code, said = people.says(ANNA, "resume", cwd=directory)
    assert code == 0, said
    assert (people.shared / "ran-far").read_text().split().count("first") == 1
    assert (directory / "made-2").read_text() == "1\n"


def test_forged_and_careless_invitations_are_refused(people: People, tmp_path: Path) -> None:
    file = people.invitation("dora", BEN)
    good = json.loads(file.read_text())
    directory = flow(people, BEN, "forged", SMALL)
    forged = people.hand_to(BEN, "forged", good | {"token": good["token"][::-1]})
    code, said = people.says(BEN, "run", "--pool", str(forged), cwd=directory)
    assert (code, "the holder of this invitation is no member of this pool" in said) == (3, True), said
    make_keys(tmp_path)
    other = certificate_and_key(tmp_path)[0].read_text()
    code, said = people.says(BEN, "pool", "status", str(people.hand_to(BEN, "other", good | {"certificate": other})))
    assert (code, "what answers here is not the pool of this invitation" in said) == (3, True), said
    broken = people.hand_to(BEN, "broken", good | {"certificate": "none"})
    assert "the invitation's certificate is broken" in people.says(BEN, "pool", "status", str(broken))[1]
    file.chmod(0o644)
    code, said = people.says(BEN, "run", "--pool", str(file), cwd=directory)
    assert (code, "can be read by other users" in said) == (2, True), said
    file.chmod(0o600)
    assert people.says(BEN, "run", "--pool", str(file), cwd=directory)[0] == 0


def test_who_is_invited_by_a_file_is_no_member_without_it(people: People) -> None:
    """A user of this host who happens to have the member's name is somebody else."""
    people.invitation(BEN, ANNA)
    code, said = people.says(BEN, "pool", "status", str(people.pool))
    assert (code, f"{BEN} is no member of this pool" in said) == (3, True), said


def test_strangers_on_the_network_get_nothing(people: People) -> None:
    """Neither without TLS nor without a token; and the pool goes on."""
    file = people.invitation("emil", ANNA)
    host, _, port = json.loads(file.read_text())["address"].rpartition(":")
    with socket.create_connection((host, int(port)), ANSWER_WITHIN_S) as plain:
        plain.sendall(b'{"say":"ask"}\n' * 100)
        assert b"told" not in _all_of(plain)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(socket.create_connection((host, int(port)), ANSWER_WITHIN_S)) as talk:
        talk.sendall(b'{"say":"ask"}\n' * 100)
        answer = json.loads(_all_of(talk))
        assert answer["say"] == "refused"
    assert people.says(ANNA, "pool", "status", str(file))[0] == 0


def _all_of(connection: socket.socket) -> bytes:
    found = b""
    try:
        while part := connection.recv(4096):
            found += part
            if found.endswith(b"\n"):
                break
    except (ConnectionError, ssl.SSLError):
        pass
    return found
