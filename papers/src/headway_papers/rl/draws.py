"""Random draws of the experiment: who asks the same draws the same."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.random import Generator


def drawing(*question: object) -> Generator:
    """A generator of this question's own."""
    from numpy.random import Generator, Philox

    digest = hashlib.blake2b(repr(question).encode(), digest_size=16).digest()
    return Generator(Philox(key=int.from_bytes(digest)))
