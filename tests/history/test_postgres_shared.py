"""Two people with roles and pools of their own share what was learned, as docs/members.md says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("psycopg")

import psycopg

from tests.history.postgres_server import PostgresServer
from tests.serving.pools import Pool

PAGE = Path(__file__).parents[2] / "docs" / "members.md"
ROLES = ("anna", "ben")
WORKFLOW = """
name: sky
tasks:
  made:
    each: {{n: [1, 2, 3]}}
    run: echo {{n}} > made-{{n}}
    outputs: ["made-{{n}}"]
"""


@pytest.fixture
def science(server: PostgresServer) -> Iterator[PostgresServer]:
    """A server with the page's database and two roles that may only log in there."""
    server.sql("CREATE DATABASE science", *(f"CREATE ROLE {role} LOGIN" for role in ROLES))
    yield server
    server.sql("DROP DATABASE science WITH (FORCE)")
    server.sql(*(f"DROP ROLE IF EXISTS {role}" for role in (*ROLES, "headway_users")))


def address(server: PostgresServer, role: str) -> str:
    return f"postgresql://{role}@/science?host={server.directory}&port={server.port}"


def test_what_one_role_learned_in_its_pool_is_known_to_the_other(science: PostgresServer, tmp_path: Path) -> None:
    (statements,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    with psycopg.connect(address(science, "headway"), autocommit=True) as administrator:
        administrator.execute(statements)
    known = []
    for role in (*ROLES, *ROLES):  # each begins what the other goes on with
        (tmp_path / role).mkdir(exist_ok=True)
        pool = Pool(tmp_path / role, started=False)
        pool.bench.environment["HEADWAY_HISTORY"] = address(science, role)
        pool.start()
        bench = pool.flow("sky", WORKFLOW)
        bench.environment["HEADWAY_HISTORY"] = address(science, role)
        done = bench("run", "--pool", "--again")
        pool.stop()
        assert done.returncode == 0, done.stderr
        assert "history" not in done.stderr + pool.process.communicate()[1]
        found = re.search(r"(\d+) earlier attempts known", done.stdout)
        known.append(int(found[1]) if found else 0)
    assert known == [0, 3, 6, 9]
