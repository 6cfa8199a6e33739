"""`DamagedError`: a file of ours does not hold what Headway writes; `damage_in` turns what fails over that into it.

Records that are missing, stand in another run's journal or hold absurd values may make anything fail that reads them.
Whoever reads a journal does so inside `damage_in`, and need not foresee how.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from headway.model.errors import SiteError

# What Python raises at values that are missing, contradict each other, or are absurd.
SIGNS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
    msgspec.MsgspecError,
)
_MOST_CHARACTERS = 200


class DamagedError(SiteError):
    """A file of ours that cannot be understood: cut short, overwritten, or of another program."""


@contextmanager
def damage_in(what: str, *, where: str, todo: str) -> Iterator[None]:
    """Say in one sentence that `what` is damaged, if something fails in this block over what it holds."""
    try:
        yield
    except SIGNS as error:
        raise damaged(what, error, where=where, todo=todo) from error


def damaged(what: str, error: BaseException, *, where: str, todo: str) -> DamagedError:
    """The sentence that `what` is damaged, of which an error is the sign."""
    return DamagedError(f"{what} is damaged ({in_words(error)})", where=where, todo=todo)


def in_words(error: BaseException) -> str:
    """The kind of an error and what it says, in one short line."""
    said = " ".join(str(error).split())[:_MOST_CHARACTERS]
    return f"{type(error).__name__}: {said}".rstrip(": ")
