"""`JsonLedger`: what was found so far, a line of JSON each, so that a long experiment can be gone on with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from headway.model.errors import InputError, SiteError

Found = TypeVar("Found")
Key = tuple[object, ...]


class JsonLedger(Generic[Found]):
    """Results by key; with a file, each is in it before the next is worked on. A line that was cut off is dropped."""

    def __init__(self, kind: Any, key_of: Callable[[Found], Key], path: Path | None) -> None:
        """`kind` is the type of what is found, or several."""
        self.found: dict[Key, Found] = {}
        self._key_of = key_of
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
            self.found[key_of(found)] = found

    def add(self, found: Found) -> None:
        """Note a result."""
        self.found[self._key_of(found)] = found
        if self._path is not None:
            try:
                with self._path.open("ab") as file:
                    file.write(msgspec.json.encode(found) + b"\n")
            except OSError as error:
                raise SiteError(f"cannot keep results here: {error.strerror}", where=str(self._path)) from error
