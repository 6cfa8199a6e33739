"""Of how many outcomes the sizer is told: of all in a small category, of fewer the larger it grows."""

from __future__ import annotations

from collections import Counter

ALL = 10_000  # of a category: the sizer is told of each of the first ones,
SPAN = 10  # then of every second, third, …, and at last of every tenth


class Thinning:
    """Chooses outcomes by their number in the category alone, so that a replay of the journal chooses the same.

    Failures are thinned like successes, since their share matters. Learning from every one of 100,000 outcomes would
    take longer than all the rest of a resume, and a sizer that knows 10,000 learns little from the next.
    """

    def __init__(self) -> None:
        self._outcomes: Counter[str] = Counter()

    def takes(self, category: str) -> bool:
        """Whether the sizer is told of the next outcome of a category."""
        self._outcomes[category] += 1
        number = self._outcomes[category]
        return number % min(1 + (number - 1) // ALL, SPAN) == 0
