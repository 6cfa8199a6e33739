"""Numbers that pages state about the code are those of the code."""

from __future__ import annotations

import re

import pytest

from headway.sizing import SIZERS
from headway.waiting.mixture import Mixture
from tests.docs.pages import ROOT
from tests.slurm.lies import LIES

pytest.importorskip("greenlet")
pytest.importorskip("uvicorn")

from tests.fuzz.readers import READERS
from tests.fuzz.test_fuzz import CASES
from tests.world import test_sharing, test_world
from tests.world.broken import BROKEN

_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
WORDS = dict(enumerate(f"zero one two three four five six seven eight nine {_TEENS}".split()))
OF_LOGS = sum(way.sizer is not None for way in SIZERS.values())  # those that a replay of logs tries
MAKE_FUZZ = int(re.findall(r"^CASES \?= (\d+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0])
TESTED = "docs/how-tested.md"
COUNTS = [
    ("README.md", r"what each of (\S+) sizers", (OF_LOGS,)),
    ("docs/first-advice.md", r"what each of (\S+) sizers", (OF_LOGS,)),
    ("docs/results.md", r"failures of (\S+) sizers", (OF_LOGS,)),
    ("docs/waits.md", r"`mixture` asks (\S+) models", (len(Mixture()._models) - 1,)),  # and queue-trees
    (TESTED, r"has (\S+) copies of Headway that are broken", (len(BROKEN),)),
    (TESTED, r"`make test` tells (\S+) seeds", (test_world.SEEDS,)),
    (TESTED, r"`make test` tells (\w+),\s+and one story", (test_sharing.SEEDS,)),
    (TESTED, r"`tests/slurm/test_runs_lied_to.py` \| (\S+) lies", (len(LIES),)),
    (TESTED, r"lists (\S+) readers of text", (len(READERS),)),
    (TESTED, r"`make test` gives (\S+) texts to each reader, (\S+) in all", (CASES, CASES * len(READERS))),
    (TESTED, r"# (\S+) texts for each reader, (\S+) in all", (MAKE_FUZZ, MAKE_FUZZ * len(READERS))),
    ("Makefile", r"or for one; (\S+) in all", (MAKE_FUZZ * len(READERS),)),
]


@pytest.mark.parametrize(("page", "pattern", "counts"), COUNTS)
def test_a_number_on_a_page_is_that_of_the_code(page: str, pattern: str, counts: tuple[int, ...]) -> None:
    found = re.findall(pattern, (ROOT / page).read_text())
    stated = [tuple(one) if isinstance(one, tuple) else (one,) for one in found]
    assert stated, f"{page}: no text like {pattern}"
    for numbers in stated:
        assert all(
            number in (WORDS.get(count), str(count), f"{count:,}")
            for number, count in zip(numbers, counts, strict=True)
        ), f"{page} says {', '.join(numbers)}: it is {', '.join(map(str, counts))}"
