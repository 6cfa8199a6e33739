"""`Ledger`: the results of a study's finished units, one JSON line each, so that an interrupted study can continue."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from headway.model.errors import InputError, SiteError


class Result(Protocol):
    """What one unit of work found."""

    @property
    def unit(self) -> Hashable:
        """The unit of work."""


Found = TypeVar("Found", bound=Result)


class Ledger(Generic[Found]):
    """Results by unit. With a file, each result is written before the next one is added.

    A last line that a crash cut off is removed from the file.
    """

    def __init__(self, kind: Any, path: Path | None = None) -> None:
        """`kind` is the type of the results, or a union of types."""
        self.found: dict[Hashable, Found] = {}
        self._path = path
        if path is None or not path.exists():
            return
        try:
            text = path.read_text(encoding="utf-8")
            whole = text[: text.rfind("\n") + 1]
            if whole != text:
                path.write_text(whole, encoding="utf-8")
        except OSError as error:
            raise SiteError(f"cannot read results here: {error.strerror}", where=str(path)) from error
        decoder: msgspec.json.Decoder[Found] = msgspec.json.Decoder(kind)
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                found = decoder.decode(line)
            except msgspec.MsgspecError as error:
                raise InputError(
                    f"this is no result: {error}", where=f"{path}:{number}", todo="delete the line: it is run again"
                ) from error
            self.found[found.unit] = found

    def add(self, found: Found) -> None:
        """Keep a result."""
        self.found[found.unit] = found
        if self._path is not None:
            try:
                with self._path.open("ab") as file:
                    file.write(msgspec.json.encode(found) + b"\n")
            except OSError as error:
                raise SiteError(f"cannot write results here: {error.strerror}", where=str(self._path)) from error
