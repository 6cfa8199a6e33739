"""Addresses of histories on a server. Secrets are split off, because addresses are shown and journalled."""

from __future__ import annotations

import re
from urllib.parse import unquote

from headway.model.errors import InputError

SCHEMES = ("postgresql", "postgres")
_SECRET = ("password", "sslpassword")  # of libpq's parameters
# Strict, so that part of a password with an unusual character is not mistaken for something that may be shown.
_AFTER_SCHEME = re.compile(r"((?P<user>[^/?#]*)@)?(?P<servers>[^@/?#]*)(?P<database>/[^@/?#]*)?(\?(?P<query>[^@#]*))?")
_SERVER = re.compile(r"(\[[0-9a-fA-F:.%]*\]|[^:\[\]]*)(:\d*)?")


def is_address(location: str) -> bool:
    """Whether a location is a server's address rather than a file."""
    return "://" in location


def without_secrets(address: str) -> tuple[str, dict[str, str]]:
    """Split an address into what may be shown and journalled, and its secrets, by libpq's names."""
    scheme = address.partition("://")[0]
    if scheme not in SCHEMES:
        raise InputError(
            "a history is a file, or a PostgreSQL database",
            where=f"{scheme}://…",
            todo="write a path, or postgresql://user@host/database",
        )
    found = _AFTER_SCHEME.fullmatch(address, len(scheme) + 3)
    if found is None or not all(map(_SERVER.fullmatch, found["servers"].split(","))):
        raise InputError(
            "the address of this history cannot be read",
            where=f"{scheme}://…",
            todo="write postgresql://user@host:port/database, and in names %40 for @, %2F for /, %3F for ?, %23 for #",
        )
    user, _, password = (found["user"] or "").partition(":")
    secrets = {"password": unquote(password)} if password else {}
    shown = []
    for parameter in (found["query"] or "").split("&"):
        name, _, value = map(unquote, parameter.partition("="))
        if name in _SECRET:
            secrets[name] = value
        else:
            shown.append(parameter)
    query = "&".join(shown)
    rest = (user and f"{user}@") + found["servers"] + (found["database"] or "") + (query and f"?{query}")
    return f"{scheme}://{rest}", secrets
