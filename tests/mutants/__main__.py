"""`python -m tests.mutants`: does a test notice when a promise is broken? Tries every mutant, or those named."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import repeat
from pathlib import Path

from tests.laws.broken import BROKEN as OF_HISTORIES
from tests.mutants.mutants import MUTANTS
from tests.mutants.trying import ROOT, Mutant, Verdict, clean_copy, passing, tried, tried_mock
from tests.world.broken import BROKEN as OF_STORIES

PAGE = ROOT / "docs" / "how-tested.md"
BEGIN, END = "<!-- mutants: begin -->\n", "<!-- mutants: end -->\n"
_MOCKED = {
    "tests/world/test_world.py": ("stories of whole runs", OF_STORIES),
    "tests/laws/test_laws.py": ("histories of one directory", OF_HISTORIES),
}

Trial = Callable[[Path, Path], Verdict]  # of a clean copy, and of a place for another copy


def trials(mutants: Sequence[Mutant], sound: Iterable[str], *, mocked: bool) -> list[Trial]:
    """Return what is to be tried: mutants whose tests pass without the change, and, if wanted, copies by mocks."""
    found: list[Trial] = []
    for mutant in mutants:
        failing = sorted(set(mutant.tests) - set(sound))
        if failing:
            trouble = f"without the change these do not pass: {', '.join(failing)}"
            found.append(lambda *_, it=mutant, why=trouble: Verdict(it.name, it.promise, "", why, 0.0))
        else:
            found.append(partial(tried, mutant))
    for file, (promise, broken) in _MOCKED.items() if mocked else ():
        found += [partial(tried_mock, what, promise, f"{file}::test_a_broken_copy_is_found[{what}]") for what in broken]
    return found


def in_place(trial: Trial, clean: Path, place: Path) -> Verdict:
    """Try one in a place of its own, of which nothing stays, and print what became of it."""
    try:
        verdict = trial(clean, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(row(verdict), flush=True)
    return verdict


def row(verdict: Verdict) -> str:
    """One line of the table, which is Markdown."""
    by = f"`{verdict.found_by}`" if verdict.found_by else f"**{verdict.trouble}**"
    return f"| {verdict.name} | {verdict.promise} | {by} | {verdict.seconds:.1f} |"


def table(verdicts: Iterable[Verdict]) -> str:
    """The table of all verdicts."""
    return "\n".join(["| mutant | promise | found by | seconds |", "|---|---|---|--:|", *map(row, verdicts)])


def write(verdicts: Sequence[Verdict], summary: str) -> None:
    """Put the table between its marks on the page about tests."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    day = time.strftime("%Y-%m-%d")
    PAGE.write_text(f"{before}{BEGIN}\n`make mutants` on {day}: {summary}.\n\n{table(verdicts)}\n\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these; otherwise all, and those made by mocks")
    parser.add_argument("--jobs", type=int, default=2, help="how many are tried at a time")
    parser.add_argument("--write", action="store_true", help="write the table to docs/how-tested.md")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - {mutant.name for mutant in MUTANTS})
    if unknown:
        parser.error(f"there is no mutant {', '.join(unknown)}")
    mutants = [mutant for mutant in MUTANTS if not options.names or mutant.name in options.names]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hw-mutants-") as folder, ThreadPoolExecutor(options.jobs) as pool:
        place = Path(folder)
        place.chmod(0o755)  # some tests act as other users, who have to read the copies
        tests = sorted({test for mutant in mutants if mutant.is_up_to_date for test in mutant.tests})
        clean = clean_copy(place)
        sound = passing(tests, place, clean, options.jobs) if tests else set()
        print(f"without a change, {len(sound)} of {len(tests)} tests pass", flush=True)
        sound |= {test for mutant in mutants if not mutant.is_up_to_date for test in mutant.tests}
        todo = trials(mutants, sound, mocked=not options.names)
        places = [place / str(number) for number in range(1, len(todo) + 1)]
        verdicts = list(pool.map(in_place, todo, repeat(clean), places))
    left = sum(not verdict.found_by for verdict in verdicts)
    minutes = (time.monotonic() - began) / 60
    summary = f"{len(verdicts)} tried, {len(verdicts) - left} found, {left} not, in {minutes:.0f} minutes"
    print(f"mutants: {summary}")
    if options.write and not options.names:
        write(verdicts, summary)
    sys.exit(bool(left))


if __name__ == "__main__":
    main()
