"""A sample of hostile texts for every reader, and every text that has broken the law before; `make fuzz` does more."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz.fuzzing import faults_of
from tests.fuzz.law import breaches, broken
from tests.fuzz.mutating import LONGEST, mutated
from tests.fuzz.readers import READERS, Reader

CASES = 1_000  # for each reader; `make fuzz` gives a hundred times as many
REPEATED = (
    *(b"a", b"1", b" ", b"=", b",", b"|", b"\n", b"-", b".", b"/", b'"', b"'", b"\\", b"[", b"(", b"%", "é".encode()),
    *(b"a=", b"a,", b"a:", b"a|", b"1:", b"1-", b"0,", b"a b ", b"a=1,", b"a\n", b"1 1\n", b"a: 1\n", b"\t"),
)
CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_good_texts_are_read(reader: Reader) -> None:
    for seed in reader.seeds:
        if reader.name not in ("plugins", "dashboard"):  # what they name does not exist
            reader.read(seed)


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_hostile_texts(reader: Reader) -> None:
    assert [fault.what + fault.story for fault in faults_of(reader, range(CASES), seed=0)] == []


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_long_texts_take_no_longer_than_their_length(reader: Reader) -> None:
    """One thing repeated, alone and inside a good text: what takes quadratic time takes minutes."""
    seed = reader.seeds[0]
    middle = len(seed) // 2
    for piece in REPEATED:
        long = (piece * LONGEST)[: LONGEST - len(seed)]
        faults = breaches(reader, [long, seed[:middle] + long + seed[middle:]])
        assert [fault.what + fault.story for fault in faults] == [], piece


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_was_found_before(path: Path) -> None:
    fault = broken(READERS[path.parent.name], path.read_bytes())
    assert fault is None, fault.story


def test_the_same_seed_makes_the_same_texts() -> None:
    seeds = READERS["wfformat"].seeds
    assert [mutated(seeds, random.Random(7)) for _ in range(5)] == [mutated(seeds, random.Random(7)) for _ in range(5)]


# --- would the law notice? ---


def _writes(data: bytes) -> None:
    Path("/tmp/headway-fuzz-must-not-exist").open("ab").close()


def _leaks(data: bytes) -> None:
    raise KeyError(data)


def _loops(data: bytes) -> None:
    while True:
        pass


def _grows(data: bytes) -> None:
    bytearray(b"x") * 1_000_000_000


@pytest.mark.parametrize(
    ("read", "words"),
    [(_writes, "wrote"), (_leaks, "KeyError"), (_loops, "processor time"), (_grows, " MB")],
)
def test_a_reader_that_breaks_the_law_is_found(read: object, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.law.MOST_CPU_S", 0.2)
    fault = broken(Reader("bad", (b"",), read), b"")  # type: ignore[arg-type]
    Path("/tmp/headway-fuzz-must-not-exist").unlink(missing_ok=True)
    assert fault is not None
    assert words in fault.what
