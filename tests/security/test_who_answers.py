"""Clients ask who answers: a stranger who can put a socket in the place of theirs gets not one byte."""

from __future__ import annotations

import grp
import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

import pytest

from headway.api.hosting import hosted
from headway.integrations import nested_messages, shared_worker
from headway.model.errors import InputError
from headway.serving import client
from tests.cli.bench import PATIENCE_S
from tests.security.clients import CLIENTS
from tests.security.stranger import NAMES, SUPERVISOR
from tests.serving.people import GROUP, MEMBERS, OWNER, STRANGER, path_of_python, python_for_others

VICTIM, COLLEAGUE = MEMBERS
SECRET = "of-the-victim-only"
PROGRAMS = ("headway exec", "headway-exec")
_MORE_ROUNDS = 20
TIMES = dict.fromkeys(PROGRAMS, 60) | dict.fromkeys(CLIENTS, 300)
ELSEWHERE = {  # the sockets of clients that do not talk to a service
    "pool": "pool",
    "join": "pool",
    "supervisor": SUPERVISOR,
    "worker": shared_worker.SOCKET,
    "nested": nested_messages.SOCKET,
}
UNNAMED = ("supervisor", "worker", "nested")  # no user names these folders: nobody looks at the directories above
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


class Heard(NamedTuple):
    """What a user who listens in a folder was told."""

    folder: Path
    noted: Path

    def all(self) -> bytes:
        """Return it when all who called so far have been heard: connections are taken in turn."""
        for name in NAMES:
            with socket.socket(socket.AF_UNIX) as last, chdir(self.folder):
                last.connect(name)
                last.shutdown(socket.SHUT_WR)
                while last.recv(1 << 16):
                    pass
        return self.noted.read_bytes()


class Place:
    """A directory `shared` in which a victim has the folder `real` with sockets, and a stranger may have others."""

    def __init__(self, mode: int, stranger: str) -> None:
        self.python = python_for_others()
        self.stranger = stranger
        self.root = Path(tempfile.mkdtemp(prefix="headway-peers-", dir="/srv" if os.path.isdir("/srv") else None))
        self.root.chmod(0o755)
        (self.root / "headway").write_text(f'#!/bin/sh\nexec {self.python} -P -m headway "$@"\n')
        (self.root / "headway").chmod(0o755)
        (self.root / "headway-exec").symlink_to(Path(client.__file__).with_name("headway-exec"))
        self.shared = self.own("shared", "root", mode, GROUP)
        self.own("shared/real/.headway/jobs", VICTIM, 0o700)
        (self.shared / "real" / ".headway").chmod(0o700)
        self._running: list[subprocess.Popen[str]] = []

    def own(self, path: str, user: str, mode: int, group: str | None = None) -> Path:
        """Make a directory of a user, and those above that are missing."""
        made = self.root / path
        for each in (*(above for above in reversed(made.parents) if not above.exists()), made):
            each.mkdir()
            entry = pwd.getpwnam(user)
            os.chown(each, entry.pw_uid, grp.getgrnam(group).gr_gid if group else entry.pw_gid)
        made.chmod(mode)
        return made

    def start(self, user: str, *words: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("HEADWAY", "PYTHON", "XDG"))}
        own = {"PYTHONPATH": path_of_python(), "PYTHONDONTWRITEBYTECODE": "1", "SECRET": SECRET, "HOME": str(self.root)}
        process = subprocess.Popen(
            words,
            user=user,
            group=pwd.getpwnam(user).pw_gid,
            extra_groups=[] if user == STRANGER else [GROUP],
            cwd=cwd or "/",
            env=kept | own,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._running.append(process)
        return process

    def flip(self, name: str) -> subprocess.Popen[str]:
        """Let the stranger flip the links for a client."""
        target = ELSEWHERE.get(name, "service")
        link = self.shared / "fake" / ".headway" / target
        for left in (link, link.with_name(f"{link.name}.new"), self.shared / "work.new"):  # by one who was killed
            left.unlink(missing_ok=True)
        words = ("-P", "-m", "tests.security.stranger", "flip", str(self.shared), target)
        process = self.start(self.stranger, self.python, *words)
        while not os.path.lexists(link):
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        return process

    def listen(self, user: str, folder: Path) -> Heard:
        """Let a user listen in a folder."""
        noted = self.own(f"noted-{user}", user, 0o700) / "noted"
        process = self.start(
            user, self.python, "-P", "-m", "tests.security.stranger", "listen", str(folder), str(noted)
        )
        deadline = time.monotonic() + PATIENCE_S
        while not (folder / "listens").exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        return Heard(folder, noted)

    def call(self, name: str, folder: Path, times: int) -> str:
        """Let the victim call a client many times; return what it said."""
        words = [self.python, "-P", "-m", "tests.security.clients", name, str(folder), str(times)]
        if name in PROGRAMS:
            program = f"{self.root}/{name} --wait 0 --in {folder} -- true"
            words = ["sh", "-c", f"i=0; while [ $i -lt {times} ]; do {program}; i=$((i + 1)); done; true"]
        process = self.start(VICTIM, *words)
        said, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0 and "Traceback" not in said, said
        return said

    def close(self) -> None:
        for process in self._running:
            process.kill()
            process.wait()
        shutil.rmtree(self.root)


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place(0o2770, STRANGER)
    try:
        yield made
    finally:
        made.close()


def refused(place: Place, name: str, folder: Path | None = None) -> str:
    """Return the one sentence with which a client refuses a folder of the victim's."""
    said = place.call(name, folder or place.shared / "real", 1)
    assert said.count("\n") == 1, said
    return said


@needs_root
def test_what_a_stranger_put_into_a_sound_folder_is_told_nothing(place: Place) -> None:
    """The kernel says who listens, whatever the links say: without that, all of these would talk."""
    noted = place.listen(STRANGER, place.own("sockets", STRANGER, 0o755))
    for name in NAMES:
        (place.shared / "real" / ".headway" / name).symlink_to(place.root / "sockets" / name)
    number = pwd.getpwnam(STRANGER).pw_uid
    for name in TIMES.keys() - {"supervisor"}:
        assert f"a process of another user (id {number}) answers here; nothing was sent" in refused(place, name)
    assert place.call("supervisor", place.shared / "real", 1) == ""  # as if there were none
    assert noted.all() == b""


@needs_root
@pytest.mark.parametrize("name", [*PROGRAMS, "execute", "quote", "stop", "snakemake", "worker", "nested"])
def test_a_folder_of_another_user_is_refused(place: Place, name: str) -> None:
    folder = place.own("theirs/.headway", STRANGER, 0o755)
    noted = place.listen(STRANGER, folder)
    said = refused(place, name, folder.parent)
    number = pwd.getpwnam(STRANGER).pw_uid
    assert f"{folder}: this folder belongs to another user (id {number}); start a service of your own" in said
    assert noted.all() == b""


@needs_root
@pytest.mark.parametrize("name", ["headway exec", "headway-exec", "stop", "pool", "join", "worker"])
@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_a_folder_that_others_can_write_to_is_refused(place: Place, name: str, mode: int) -> None:
    folder = place.shared / "real" / ".headway"
    folder.chmod(mode)
    said = refused(place, name)
    assert f"{folder}: others can write to this folder, and may have; move it away, or" in said
    assert f"`chmod -R go-w {folder}`" in said


@needs_root
@pytest.mark.parametrize("name", ["headway exec", "headway-exec", "quote", "stop", "pool", "join"])
def test_a_folder_that_everybody_can_replace_is_refused(place: Place, name: str) -> None:
    above, folder = place.shared, place.shared / "real" / ".headway"
    above.chmod(0o777)
    said = refused(place, name)
    assert f"{above}: everybody can write to this directory, and so replace {folder}; work elsewhere, or" in said
    assert f"`chmod o-w {above}`, or `chmod +t {above}`" in said


@needs_root
@pytest.mark.parametrize("name", ["headway exec", "headway-exec", "quote", "stop", "pool", "join"])
def test_where_everybody_can_write_the_sticky_bit_counts_for_our_own(place: Place, name: str) -> None:
    noted = place.listen(VICTIM, place.shared / "real" / ".headway")
    place.shared.chmod(0o1777)
    place.call(name, place.shared / "real", 1)
    assert noted.all() != b""
    lent = place.own("shared/lent", STRANGER, 0o755)
    place.own("shared/lent/mine/.headway", VICTIM, 0o700)
    said = refused(place, name, lent / "mine")
    number = pwd.getpwnam(STRANGER).pw_uid
    assert f"{lent}: another user (id {number}) has made this in a directory where everybody can write; work in" in said


@needs_root
@pytest.mark.parametrize("name", ["pool", "join"])
def test_a_pool_of_another_user_lies_where_only_that_user_can_replace_it(place: Place, name: str) -> None:
    folder = place.own("pools/one/.headway", OWNER, 0o755)
    noted = place.listen(OWNER, folder)
    (place.root / "link").symlink_to("pools/../pools/one")  # of root
    place.call(name, place.root / "link", 1)
    assert noted.all() != b""
    told = len(noted.all())
    for mode in (0o2775, 0o1777):
        (place.root / "pools").chmod(mode)
        said = refused(place, name, place.root / "link")
        assert f"{place.root}/pools: others can write to this directory, and could put another pool" in said
        assert f"ask the pool's owner to `chmod go-w {place.root}/pools`, or to move the pool" in said
    (place.root / "pools").chmod(0o755)
    os.chown(place.root / "pools", pwd.getpwnam(STRANGER).pw_uid, -1)
    said = refused(place, name, place.root / "link")
    assert f"{place.root}/pools: this belongs to a third user (id " in said
    assert "ask the pool's owner to move the pool" in said
    assert len(noted.all()) == told


@needs_root
def test_a_pool_of_another_user_is_reached_by_no_link_of_a_stranger(place: Place) -> None:
    place.listen(OWNER, place.own("pools/one/.headway", OWNER, 0o755))
    (place.shared / "pool").symlink_to(place.root / "pools" / "one")
    assert f"{place.shared}: others can write to this directory" in refused(place, "pool", place.shared / "pool")


@needs_root
def test_a_pool_that_has_only_a_name_is_ours(place: Place) -> None:
    folder = place.own(".local/state/headway/pools/default/.headway", OWNER, 0o755)
    noted = place.listen(OWNER, folder)
    said, _ = place.start(VICTIM, str(place.root / "headway"), "pool", "status").communicate(timeout=PATIENCE_S)
    assert "this folder belongs to another user" in " ".join(said.split())
    assert noted.all() == b""


def test_a_tool_starts_no_service_where_everybody_can_replace_it(tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    (tmp_path / "all").chmod(0o777)
    (tmp_path / "all" / "work" / ".headway").mkdir(parents=True, mode=0o700)
    with pytest.raises(InputError, match="everybody can write to this directory"), hosted(tmp_path / "all" / "work"):
        pytest.fail("there is no service")
    assert list((tmp_path / "all" / "work" / ".headway").iterdir()) == []


@needs_root
def test_standard_input_is_copied_to_no_folder_of_another_user(place: Place) -> None:
    folder = place.own("theirs/.headway", STRANGER, 0o777)
    place.listen(STRANGER, folder)
    there = sorted(os.listdir(folder))
    words = f"echo {SECRET} | {place.root}/headway exec --wait 0 --stdin --in {folder.parent} -- cat"
    said, _ = place.start(VICTIM, "sh", "-c", words).communicate(timeout=PATIENCE_S)
    assert "this folder belongs to another user" in said
    assert sorted(os.listdir(folder)) == there


def test_sockets_are_connected_in_one_place() -> None:
    """A client that connects by itself would not ask; the dashboard's only looks whether its place is free."""
    source = Path(client.__file__).parents[1]
    texts = {str(path.relative_to(source)): path.read_text() for path in source.rglob("*.py")}
    by_path = re.compile(r"(?<!peers)\.connect\((?!\))|open_unix_connection\((?!sock=)")
    connecting = {name for name, text in texts.items() if by_path.search(text) and re.search("AF_UNIX|unix_c", text)}
    assert connecting == {"dashboard/serve.py"}
    assert len(by_path.findall(texts["peers.py"])) == 1


def test_who_listens_is_the_user_who_began_to(tmp_path: Path) -> None:
    from headway.peers import connect, peer_of

    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as caller, chdir(tmp_path):
        tmp_path.chmod(0o700)
        listener.bind("here")
        listener.listen()
        connect(caller, ".", "here", check_above=False)
        assert peer_of(caller) == (os.getpid(), os.geteuid())


@pytest.fixture(scope="module", params=[(0o2770, COLLEAGUE), (0o777, STRANGER)], ids=["colleague", "anybody"])
def race(request: pytest.FixtureRequest) -> Iterator[tuple[Place, Heard, Heard]]:
    """A directory to which a group or everybody can write, and what the victim's and the stranger's sockets get."""
    place = Place(*request.param)
    try:
        theirs = place.own("shared/fake/sockets", place.stranger, 0o755)
        place.own("shared/fake/.headway", place.stranger, 0o755)
        to_victim = place.listen(VICTIM, place.shared / "real" / ".headway")
        yield place, to_victim, place.listen(place.stranger, theirs)
    finally:
        place.close()


@needs_root
@pytest.mark.parametrize("name", TIMES)
def test_a_stranger_who_flips_links_gets_nothing(race: tuple[Place, Heard, Heard], name: str) -> None:
    place, to_victim, to_stranger = race
    before = len(to_victim.all())
    flipping = place.flip(name)
    times = TIMES[name] if place.stranger == COLLEAGUE else TIMES[name] // 6  # all of which are refused
    said = place.call(name, place.shared / "work", times)
    is_served = place.stranger == COLLEAGUE or name in UNNAMED
    for _ in range(_MORE_ROUNDS):  # in which the folder is never the right one while it is looked at
        if not is_served or len(to_victim.all()) > before:
            break
        said = place.call(name, place.shared / "work", times)
    assert flipping.poll() is None, flipping.communicate()
    flipping.kill()
    flipping.wait()
    assert to_stranger.all() == b"", said
    assert (len(to_victim.all()) > before) == is_served, said
