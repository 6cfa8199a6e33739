"""`Answer`: what a function of the api returns, and how it becomes the document of `--json`."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct, to_builtins


class Answer(Struct, frozen=True):
    """A result whose fields are the document of `--json`, except those that `unsaid` names."""

    unsaid: ClassVar[tuple[str, ...]] = ()

    def document(self) -> dict[str, Any]:
        """Return what the verb prints with `--json`."""
        names = zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True)
        said = {key: getattr(self, name) for name, key in names if name not in self.unsaid}
        answer: dict[str, Any] = to_builtins(said, enc_hook=str)
        return answer
