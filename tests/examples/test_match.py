"""The science of examples/match: each step is compared with its definition, then a small search with known answers."""

from __future__ import annotations

import itertools
import math
import os
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

EXAMPLE = Path(__file__).parents[2] / "examples" / "match"
sys.path.insert(0, str(EXAMPLE))

from match import align, check, database, islands, karlin, letters, made, picture, search, seeds  # noqa: E402
from match.canvas import Canvas  # noqa: E402
from match.database import WORD, Database  # noqa: E402
from match.hits import Hit, merge, read_hits, write_hits  # noqa: E402
from match.made import Planted  # noqa: E402
from match.scores import GAP_EXTEND, GAP_OPEN, MATCH, MISMATCH  # noqa: E402
from match.sequences import DATABASE_GAP, QUERY_GAP, Array, decode, random_bases, read_fasta, write_fasta  # noqa: E402
from match.settings import Settings, cores  # noqa: E402

WORKFLOW = yaml.safe_load((EXAMPLE / "workflow.yaml").read_text())
SETTINGS = WORKFLOW["tasks"]["volume"]["env"]

few_bases = st.lists(st.integers(0, 3), min_size=1, max_size=12)
# Only two letters, so that long exact matches occur.
repetitive = st.lists(st.integers(0, 1), min_size=1, max_size=60)


def bases(values: list[int]) -> Array:
    return np.array(values, np.uint8)


# The workflow


def test_the_workflow_lists_all_parts() -> None:
    parts = [int(part) for part in WORKFLOW["tasks"]["search"]["each"]["part"]]
    assert parts == list(range(1, SETTINGS["MATCH_PARTS"] + 1))


def test_all_tasks_have_the_default_settings_of_the_program() -> None:
    assert all(task["env"] == SETTINGS for task in WORKFLOW["tasks"].values())
    assert Settings() == Settings(
        volume_bases=SETTINGS["MATCH_VOLUME_MB"] * 1_000_000,
        queries=SETTINGS["MATCH_QUERIES"],
        parts=SETTINGS["MATCH_PARTS"],
    )


@pytest.mark.parametrize(
    ("given_by_headway", "asked_for", "expected"),
    [(None, None, 1), ("0.5", None, 1), ("2", None, 2), ("3.5", None, 3), ("4", "2", 2), ("4", "", 4)],
)
def test_a_search_uses_its_allocated_cores(
    monkeypatch: pytest.MonkeyPatch, given_by_headway: str | None, asked_for: str | None, expected: int
) -> None:
    for name, value in (("HEADWAY_CORES", given_by_headway), ("MATCH_CORES", asked_for)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert cores() == expected


# Alignment


def points(left: int, right: int) -> int:
    return MATCH if left == right else MISMATCH


def oracle(query: list[int], target: list[int], local: bool) -> int:
    """Compute the score by definition: Smith and Waterman 1981 (local) or Needleman and Wunsch 1970 (global)."""
    table: dict[tuple[int, int], int] = {}
    for i, j in itertools.product(range(len(query) + 1), range(len(target) + 1)):
        ways = [0] if local or i == j == 0 else []
        if i and j:
            ways.append(table[i - 1, j - 1] + points(query[i - 1], target[j - 1]))
        ways += [table[i - k, j] - GAP_OPEN - GAP_EXTEND * k for k in range(1, i + 1)]
        ways += [table[i, j - k] - GAP_OPEN - GAP_EXTEND * k for k in range(1, j + 1)]
        table[i, j] = max(ways)
    return max(table.values()) if local else table[len(query), len(target)]


def in_whole_matrix(query: list[int], target: list[int]) -> align.Aligned:
    """Align with a band that holds every cell; target base j is at column j + len(query) - 1 of row 0."""
    around = [DATABASE_GAP] * (len(query) - 1)
    return align.align(bases(query)[None], bases([*around, *target, *around])[None])


@given(query=few_bases, target=few_bases)
@settings(max_examples=150, deadline=None)
def test_alignment_finds_the_best_score_and_its_end_points(query: list[int], target: list[int]) -> None:
    found = in_whole_matrix(query, target)
    assert found.score[0] == oracle(query, target, local=True)
    if found.score[0]:
        shift = len(query) - 1
        in_query = query[found.query_start[0] : found.query_end[0]]
        in_target = target[found.target_start[0] - shift : found.target_end[0] - shift]
        assert oracle(in_query, in_target, local=False) == found.score[0]


def test_alignment_bridges_gaps_on_either_side_within_its_band() -> None:
    rng = np.random.default_rng(1)
    left, right, extra = random_bases(rng, 60), random_bases(rng, 60), random_bases(rng, 6)
    whole, longer = np.concatenate([left, right]), np.concatenate([left, extra, right])
    perfect = 2 * 60 * MATCH - GAP_OPEN - 6 * GAP_EXTEND
    for query, target in ((whole, longer), (longer, whole)):
        for band, bridged in ((8, True), (4, False)):
            window = np.full(len(query) + 2 * band, DATABASE_GAP, np.uint8)
            window[band : band + len(target)] = target[: len(window) - band]
            found = align.align(query[None], window[None])
            assert (found.score[0] == perfect) == bridged
            if bridged:
                assert (found.query_start[0], found.query_end[0]) == (0, len(query))
                assert (found.target_start[0] - band, found.target_end[0] - band) == (0, len(target))


def test_pairs_are_aligned_independently_of_their_neighbours() -> None:
    rng = np.random.default_rng(2)
    query = random_bases(rng, 20 * 50).reshape(20, 50)
    target = random_bases(rng, 20 * 66).reshape(20, 66)
    together = align.align(query, target)
    for i in range(20):
        alone = align.align(query[i : i + 1], target[i : i + 1])
        for name in vars(together):
            assert getattr(together, name)[i] == getattr(alone, name)[0]


# The index and the seeds


@given(entries=st.lists(repetitive, min_size=1, max_size=5), chunk=st.sampled_from([7, 64, 4_000_000]))
@settings(max_examples=25, deadline=None)
def test_the_index_holds_every_position_of_every_word(entries: list[list[int]], chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "CHUNK", chunk)
        made_of = Database.of({str(i): bases(entry) for i, entry in enumerate(entries)})
    expected: dict[int, list[int]] = {}
    for number, entry in enumerate(entries):
        assert made_of.entry(number).tolist() == entry
        inside = made_of.starts[number] + np.arange(len(entry))
        assert (made_of.entry_at(inside) == number).all()
        for i in range(len(entry) - WORD + 1):
            word = int("".join(map(str, entry[i : i + WORD])), 4)
            expected.setdefault(word, []).append(int(made_of.starts[number]) + i)
    assert len(made_of.positions) == sum(map(len, expected.values()))
    for word, positions in expected.items():
        assert made_of.positions[made_of.first[word] : made_of.first[word + 1]].tolist() == positions


def test_a_database_can_be_saved_and_loaded(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    before = Database.of({"one": random_bases(rng, 500), "two": random_bases(rng, 30)})
    before.save(tmp_path / "database.npz")
    after = Database.load(tmp_path / "database.npz")
    assert after.names == ["one", "two"]
    assert after.total_bases == 530
    for name in ("starts", "bases", "first", "positions"):
        assert np.array_equal(getattr(after, name), getattr(before, name))


@given(query=repetitive, entries=st.lists(repetitive, min_size=1, max_size=3))
@settings(max_examples=40, deadline=None)
def test_seeds_are_all_exact_matches_of_eleven_bases_and_extensions_follow_the_definition(
    query: list[int], entries: list[list[int]]
) -> None:
    known = Database.of({str(i): bases(entry) for i, entry in enumerate(entries)})
    padded = bases([QUERY_GAP, *query, QUERY_GAP])
    left, right = padded.tolist(), known.bases.tolist()

    def run_from(i: int, j: int) -> int:
        return sum(1 for _ in itertools.takewhile(lambda k: left[i + k] == right[j + k], itertools.count()))

    def extended(i: int, j: int, step: int) -> int:
        best = score = 0
        while left[i] < 4 and right[j] < 4 and best - score < seeds.X_DROP:
            score += points(left[i], right[j])
            best, i, j = max(best, score), i + step, j + step
        return best

    pairs = itertools.product(range(1, len(left) - 1), range(1, len(right) - 1))
    expected = {
        (i, j): extended(i, j, 1) + extended(i - 1, j - 1, -1)
        for i, j in pairs
        if left[i - 1] != right[j - 1] and run_from(i, j) >= WORD
    }
    in_query, in_database, score = seeds.segments(padded, known)
    found = zip(zip(in_query.tolist(), in_database.tolist(), strict=True), score.tolist(), strict=True)
    assert dict(found) == expected


# Statistics of scores


def test_statistics_without_gaps_are_the_published_ones() -> None:
    even = np.full(4, 0.25)
    ours = karlin.ungapped(even)  # blastn reports these values for +2/-3, and those below for +1/-2
    assert (round(ours.decay, 3), round(ours.k, 3)) == (0.634, 0.408)
    other = karlin.ungapped(probability=np.array([0.75, 0, 0, 0.25]), lowest=-2)
    assert (round(other.decay, 2), round(other.k, 3)) == (1.33, 0.621)
    walk = karlin.ungapped(
        probability=np.array([0.75, 0, 0.25]), lowest=-1
    )  # a random walk with a solution in closed form
    assert walk.decay == pytest.approx(math.log(3))
    assert walk.k == pytest.approx(1 / 3)


def test_scores_with_a_positive_mean_have_no_statistics() -> None:
    with pytest.raises(ValueError, match="lose on the whole"):
        karlin.ungapped(probability=np.array([0.2, 0, 0, 0, 0, 0.8]), lowest=-3)


def test_the_search_space_excludes_the_ends_of_sequences() -> None:
    statistics = karlin.ungapped()
    room = statistics.space(600, 1_000_000, 500)
    shorter = math.log(statistics.k * room) / statistics.entropy
    assert room == pytest.approx((600 - shorter) * (1_000_000 - 500 * shorter))
    assert statistics.expected(statistics.score_expected(7, room), room) == pytest.approx(7)


def test_islands_without_gaps_agree_with_the_theory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(align, "GAP_OPEN", 10_000)
    fitted, _ = islands.gapped(pairs=4, length=8_000)
    theory = karlin.ungapped()
    assert fitted.decay == pytest.approx(theory.decay, rel=0.03)
    assert fitted.expected(20, 1e6) == pytest.approx(theory.expected(20, 1e6), rel=0.15)


@pytest.fixture(scope="module")
def gapped() -> karlin.Statistics:
    return islands.gapped(pairs=4, length=12_000)[0]


def test_random_sequences_have_as_many_good_alignments_as_the_fit_predicts(gapped: karlin.Statistics) -> None:
    rng = np.random.default_rng(20)  # other sequences than those of the fit
    query, target = random_bases(rng, 4 * 8_000), random_bases(rng, 4 * 9_999)
    found = islands.peaks(query.reshape(4, -1), target.reshape(4, -1), 16)
    for score in (16, 18, 20, 22):
        promised = gapped.expected(score, 4 * 8_000 * 2_000)
        assert promised > 30
        assert abs((found >= score).sum() - promised) < 0.1 * promised + 4 * math.sqrt(promised)


# The generated data


def test_mutate_returns_a_copy_with_the_requested_similarity() -> None:
    rng = np.random.default_rng(4)
    original = random_bases(rng, 20_000)
    copy, similarity = made.mutate(rng, original, 1.0)
    assert similarity == 1
    assert np.array_equal(copy, original)
    for wanted in (0.6, 0.85):
        copy, similarity = made.mutate(rng, original, wanted)
        assert similarity == pytest.approx(wanted, abs=0.03)
        assert len(copy) == pytest.approx(20_000, rel=0.02)
        assert copy.max() < 4


def test_the_similarity_that_mutate_returns_agrees_with_the_alignment() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        original = random_bases(rng, 300)
        copy, similarity = made.mutate(rng, original, 0.95)
        window = np.full(len(copy) + 2 * 24, DATABASE_GAP, np.uint8)
        window[24 : 24 + 300] = original[: len(window) - 24]
        score = align.align(copy[None], window[None]).score[0]
        # Lower bound: the true alignment gains for unchanged bases and loses elsewhere; the best alignment is no worse.
        changed = (1 - similarity) * 320
        assert MATCH * 300 * similarity - 7 * changed <= score <= MATCH * min(300, len(copy))


def test_the_generated_data_are_the_same_at_every_call() -> None:
    first, second = (made.volume("a", 50_000) for _ in range(2))
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert sum(map(len, first.values())) >= 50_000
    assert not np.array_equal(first["a000000"][:500], made.volume("b", 50_000)["b000000"][:500])


def test_fasta_can_be_written_and_read_and_other_letters_are_refused(tmp_path: Path) -> None:
    sequences = {"one": bases([0, 1, 2, 3]), "none": bases([]), "two": bases([3, 3])}
    write_fasta(tmp_path / "some.fa", sequences)
    assert (tmp_path / "some.fa").read_text() == ">one\nACGT\n>none\n\n>two\nTT\n"
    again = read_fasta(tmp_path / "some.fa")
    assert {name: each.tolist() for name, each in again.items()} == {"one": [0, 1, 2, 3], "none": [], "two": [3, 3]}
    with pytest.raises(ValueError, match="other than A, C, G and T"):
        decode(b"ACGN")


# A small search


class World:
    """A database of 400,000 bases, 150 queries, and the hits of a search."""

    def __init__(self, gapped: karlin.Statistics) -> None:
        self.database = Database.of(made.volume("a", 400_000))
        self.queries, self.planted = made.queries(self.database, 150)
        self.search = search.Search(self.database, karlin.ungapped(), gapped)
        self.hits = sorted(self.search.run(self.queries), key=Hit.rank)

    def faults(self, hits: list[Hit]) -> str:
        return "; ".join(check.check(hits, self.planted, self.queries).faults)


@pytest.fixture(scope="module")
def world(gapped: karlin.Statistics) -> World:
    return World(gapped)


def test_the_check_passes_on_what_the_search_finds(world: World) -> None:
    report = check.check(world.hits, world.planted, world.queries)
    assert report.faults == []
    assert (report.planted, report.random_queries) == (50, 100)
    assert report.certain_found == report.certain > 10
    assert report.found > 40


def test_one_core_and_two_cores_find_the_same_hits(world: World) -> None:
    some = dict(list(world.queries.items())[:40])
    assert world.search.run(some, cores=2) == world.search.run(some, cores=1)


def test_hits_do_not_depend_on_the_batch_size(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    some = dict(list(world.queries.items())[:20])
    expected = world.search.run(some)
    monkeypatch.setattr(search, "BATCH", 3)
    assert world.search.run(some) == expected
    assert world.search.run({}) == []


def test_the_positions_of_a_hit_give_its_score(world: World) -> None:
    for hit in world.hits[-40:]:  # the weakest hits are short enough for the slow definition
        query = world.queries[hit.query][hit.query_start : hit.query_end]
        entry = world.database.entry(world.database.names.index(hit.entry))[hit.entry_start : hit.entry_end]
        assert oracle(query.tolist(), entry.tolist(), local=False) == hit.score


def test_an_alignment_does_not_run_into_the_next_entry(gapped: karlin.Statistics) -> None:
    rng = np.random.default_rng(6)
    query = random_bases(rng, 400)
    two = Database.of({"left": query[:200], "right": query[200:]})
    found = search.Search(two, karlin.ungapped(), gapped).run({"whole": query})
    assert {(hit.entry, hit.query_start, hit.query_end, hit.score) for hit in found} == {
        ("left", 0, 200, 200 * MATCH),
        ("right", 200, 400, 200 * MATCH),
    }


def test_check_fails_when_a_part_is_missing(world: World) -> None:
    mine = set(list(world.queries)[::5])
    assert "not found where they were copied from" in world.faults([hit for hit in world.hits if hit.query not in mine])


def test_check_fails_when_positions_are_wrong(world: World) -> None:
    moved = [hit._replace(entry_start=hit.entry_start + 300, entry_end=hit.entry_end + 300) for hit in world.hits]
    assert "not found where they were copied from" in world.faults(moved)


def test_check_fails_when_the_table_is_not_ranked(world: World) -> None:
    assert "not ranked" in world.faults(world.hits[::-1])


def test_check_fails_when_scores_are_too_generous(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(align, "MISMATCH", -1)
    generous = sorted(world.search.run(world.queries, cores=2), key=Hit.rank)
    assert "random queries have" in world.faults(generous)


def test_check_fails_when_e_values_are_too_good_or_too_bad(world: World) -> None:
    for factor, complaint in ((0.1, "which promises"), (30, "have only")):
        scaled = [hit._replace(evalue=hit.evalue * factor) for hit in world.hits]
        assert complaint in world.faults(scaled)


def test_check_requires_the_right_entry_at_about_the_right_position() -> None:
    origin = Planted("q", "right", 100, 600, 0.9)
    hit = Hit(1e-50, 200.0, 300, "q", 0, 500, "right", 100, 600)
    assert check.is_found(origin, hit)
    assert check.is_found(origin, hit._replace(entry_start=180))
    assert not check.is_found(origin, hit._replace(entry_start=220))
    assert not check.is_found(origin, hit._replace(entry="wrong"))
    assert not check.is_found(origin, None)


# The merge


@pytest.fixture
def parts(world: World, tmp_path: Path) -> list[Path]:
    names = list(world.queries)
    for part in range(5):
        mine = names[part::5]
        found = [hit for hit in world.hits if hit.query in mine]
        write_hits(tmp_path / f"{part}.tsv", found, searched=mine)
    return sorted(tmp_path.glob("*.tsv"))


def test_merging_does_not_depend_on_the_order_of_parts(world: World, parts: list[Path]) -> None:
    expected = merge(parts, world.queries)
    assert len(expected) == len(world.hits)
    assert expected == sorted(expected, key=Hit.rank)
    for seed in range(5):
        shuffled = random.Random(seed).sample(parts, len(parts))
        assert merge(shuffled, world.queries) == expected


def test_merging_refuses_a_missing_and_a_duplicate_part(world: World, parts: list[Path]) -> None:
    with pytest.raises(ValueError, match=r"30 queries, the first is q000002 \(0 times\)"):
        merge(parts[:2] + parts[3:], world.queries)
    with pytest.raises(ValueError, match=r"30 queries, the first is q000001 \(2 times\)"):
        merge([*parts, parts[1]], world.queries)


def test_hits_can_be_written_and_read(tmp_path: Path) -> None:
    hits = [Hit(1.5e-200, 712.3, 1178, "q1", 3, 600, "a000001", 0, 599), Hit(0.0, 9999.9, 9, "q2", 0, 1, "b", 2, 3)]
    write_hits(tmp_path / "hits.tsv", hits)
    assert read_hits(tmp_path / "hits.tsv") == hits


# The picture


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_chance_of_a_run_agrees_with_the_sum_over_all_sequences(share: float) -> None:
    expected = 0.0
    for kept in itertools.product([True, False], repeat=10):
        if "111" in "".join(str(int(each)) for each in kept):
            expected += math.prod(share if each else 1 - share for each in kept)
    assert picture.chance_of_run(share, 10, run=3) == pytest.approx(expected)


def test_a_line_covers_the_expected_pixels() -> None:
    canvas = Canvas(40, 30, (0, 0, 0))
    canvas.line([(10, 15), (30, 15)], (1, 0.5, 0), pen=6)
    assert canvas.pixels[15, 20].tolist() == [1, 0.5, 0]
    assert canvas.pixels[10, 20].max() == canvas.pixels[15, 35].max() == 0
    assert canvas.pixels[..., 0].sum() == pytest.approx(20 * 6 + math.pi * 9, rel=0.03)
    canvas.box(0, 0, 5, 5, (0, 0, 1), 0.5)
    assert canvas.pixels[4, 4].tolist() == [0, 0, 0.5]
    canvas.line([(-20, -20), (60, 50)], (1, 1, 1))  # a line beyond the edges is allowed


def test_the_picture_is_a_png_with_all_its_letters(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: set[str] = set()
    width = letters.width

    def noted(letter: str) -> float:
        written.add(letter)
        return width(letter)

    monkeypatch.setattr(letters, "width", noted)
    picture.paint(tmp_path / "match.png", world.hits, world.planted, list(world.queries), world.database)
    assert written - set(letters.STROKES) == {" "}
    data = (tmp_path / "match.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (picture.WIDTH, picture.HEIGHT)
    (length,) = struct.unpack(">I", data[33:37])
    lines = np.frombuffer(zlib.decompress(data[41 : 41 + length]), np.uint8).reshape(picture.HEIGHT, -1)
    assert (lines[:, 0] == 0).all()
    pixels = lines[:, 1:].reshape(picture.HEIGHT, picture.WIDTH, 3)
    for colour in (picture.RANDOM, picture.PROMISED, picture.heat(0.9)):
        assert (pixels == np.round(255 * np.array(colour))).all(axis=-1).any()


# The commands


def stage(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "PYTHONPATH": str(EXAMPLE),
        "MATCH_VOLUME_MB": "0.1",
        "MATCH_QUERIES": "36",
        "MATCH_PARTS": "2",
    }
    command = [sys.executable, "-m", "match", *arguments]
    return subprocess.run(command, cwd=folder, env=env | environment, capture_output=True, text=True, check=False)


def test_the_stages_work_together_and_a_lost_part_is_detected(gapped: karlin.Statistics, tmp_path: Path) -> None:
    (tmp_path / "volumes").mkdir()
    (tmp_path / "hits").mkdir()
    statistics = '{"ungapped": %s, "gapped": %s}'
    as_json = [str(vars(each)).replace("'", '"') for each in (karlin.ungapped(), gapped)]
    (tmp_path / "statistics.json").write_text(statistics % tuple(as_json))
    searched = ("database.npz", "queries.fa", "statistics.json")
    checked = ("check", "hits.tsv", "queries.fa", "truth.tsv", "check.json")
    for arguments in (
        ("volume", "a", "volumes/a.fa"),
        ("volume", "b", "volumes/b.fa"),
        ("format", "volumes", "database.npz"),
        ("queries", "database.npz", "queries.fa", "truth.tsv"),
        ("search", "01", *searched, "hits/01.tsv"),
        ("search", "02", *searched, "hits/02.tsv"),
        ("merge", "hits", "queries.fa", "hits.tsv"),
        checked,
    ):
        done = stage(tmp_path, *arguments)
        assert done.returncode == 0, done.stderr
    assert "planted" in done.stdout
    again = stage(tmp_path, "search", "01", *searched, "again.tsv", MATCH_CORES="2")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again.tsv").read_bytes() == (tmp_path / "hits" / "01.tsv").read_bytes()

    (tmp_path / "hits" / "02.tsv").rename(tmp_path / "lost.tsv")
    done = stage(tmp_path, "merge", "hits", "queries.fa", "merged.tsv")
    assert done.returncode == 1
    assert done.stderr == "hits: not searched exactly once: 18 queries, the first is q000001 (0 times)\n"
    assert not (tmp_path / "merged.tsv").exists()

    (tmp_path / "check.json").unlink()
    (tmp_path / "hits.tsv").write_text((tmp_path / "hits" / "01.tsv").read_text())
    done = stage(tmp_path, *checked)
    assert done.returncode == 1
    assert done.stderr.startswith("the search is wrong: ")
    assert not (tmp_path / "check.json").exists()
