"""The address of a server is written down and shown; what is secret in it never is."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("psycopg")

from psycopg import conninfo

from headway.history.location import is_address, without_secrets
from headway.model.errors import InputError


@pytest.mark.parametrize(
    ("address", "shown", "secrets"),
    [
        ("postgresql://db/history", "postgresql://db/history", {}),
        ("postgres://ada@db:5433/h", "postgres://ada@db:5433/h", {}),
        ("postgresql://ada:s3cret@db/h", "postgresql://ada@db/h", {"password": "s3cret"}),
        ("postgresql://ada:p%40ss@db/h", "postgresql://ada@db/h", {"password": "p@ss"}),
        ("postgresql://ada:p@ss:w@db/h", "postgresql://ada@db/h", {"password": "p@ss:w"}),
        ("postgresql://ada:[s3\tcret@db/h", "postgresql://ada@db/h", {"password": "[s3\tcret"}),
        ("postgresql://:s3cret@db/h", "postgresql://db/h", {"password": "s3cret"}),
        ("postgresql:///h?host=/run/pg&user=a+b", "postgresql:///h?host=/run/pg&user=a+b", {}),
        ("postgresql:///h?user=a&password=s3&port=1", "postgresql:///h?user=a&port=1", {"password": "s3"}),
        ("postgresql:///h?pass%77ord=s3cret", "postgresql:///h", {"password": "s3cret"}),
        ("postgresql:///h?sslpassword=s3cret", "postgresql:///h", {"sslpassword": "s3cret"}),
        ("postgresql://a:1@one:1,[::1]:2,three/h", "postgresql://a@one:1,[::1]:2,three/h", {"password": "1"}),
    ],
)
def test_secrets_are_taken_out(address: str, shown: str, secrets: dict[str, str]) -> None:
    assert is_address(address)
    assert without_secrets(address) == (shown, secrets)


@given(st.text(min_size=1), st.text(min_size=1).filter(lambda text: "\0" not in text))
def test_a_well_formed_address_is_read_as_libpq_reads_it(user: str, password: str) -> None:
    encodable = all(not 0xD800 <= ord(letter) < 0xE000 for letter in user + password) and "\0" not in user
    if not encodable:
        return
    shown, secrets = without_secrets(f"postgresql://{quote(user, safe='')}:{quote(password, safe='')}@db:1/h")
    assert secrets == {"password": password}
    assert conninfo.conninfo_to_dict(shown) == {"user": user, "host": "db", "port": "1", "dbname": "h"}


@pytest.mark.parametrize(
    "address",
    [
        "mysql://ada:s3cret@db/h",
        "postgresql+psycopg://ada:s3cret@db/h",
        "postgresql://ada:s3/cret@db/h",
        "postgresql://ada:12/s3cret@db/h",
        "postgresql://ada:s3?cret@db/h",
        "postgresql://ada:s3#cret@db/h",
        "postgresql://ada:s3cret/h",
        "postgresql://ada:s3cret",
    ],
)
def test_an_address_that_cannot_be_parsed_is_not_shown(address: str) -> None:
    with pytest.raises(InputError) as caught:
        without_secrets(address)
    assert not {"s3", "cret", "12", "ada"} & {str(caught.value)[i : i + n] for n in (2, 3, 4) for i in range(200)}
    assert "postgresql://user@host" in str(caught.value)
