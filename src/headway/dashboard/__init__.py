"""The dashboard: `headway serve` and `headway run --serve` show runs in a browser while they go on.

It reads journals, and nothing of a run depends on it. What a button does is a call of the same function of `api` as the
command's.
"""

from __future__ import annotations

from importlib.util import find_spec

from headway.model.errors import InputError

_NEEDED = ("starlette", "uvicorn")


def check_installed() -> None:
    """Raise an InputError if the packages are missing that the dashboard needs."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        todo = "install it with `pip install 'headway[serve]'`"
        raise InputError(f"the dashboard needs the Python package {' and '.join(missing)}", todo=todo)
