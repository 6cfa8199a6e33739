"""`Origin`: whose observations these are, and of what: what keeps the lessons of two projects apart."""

from __future__ import annotations

from msgspec import Struct


class Identity(Struct, frozen=True, array_like=True):
    """What the tasks of a category do, as two digests.

    `programs` is of the programs and scripts that the command names; `command` is of everything in the command that
    all tasks of the category have in common, and of the content of those scripts. Empty: not known.
    """

    programs: str = ""
    command: str = ""


class Origin(Struct, frozen=True):
    """The project that a run belongs to, where it is now, and what its categories do.

    A run learns from observations of its own project if their programs are the same, and from those of other projects
    if their commands are the same. Observations without a project were kept before projects were known.
    """

    project: str = ""
    directory: str = ""
    identities: dict[str, Identity] = {}  # by category; under "" that of all others

    def identity(self, category: str) -> Identity:
        """What the tasks of a category do."""
        return self.identities.get(category) or self.identities.get("", Identity())


NO_ORIGIN = Origin()
