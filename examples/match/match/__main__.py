"""One command a stage of the workflow: ``python3 -m match STAGE ...`` (see workflow.yaml)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from match import check, hits, islands, karlin, made, picture
from match.database import Database
from match.search import Search
from match.sequences import Array, read_fasta, write_fasta
from match.settings import Settings, cores

SETTINGS = Settings.from_environment()


def write_json(path: str, content: object) -> None:
    Path(path).write_text(json.dumps(content, indent=1) + "\n")


def volume(name: str, fasta: str) -> None:
    """Make one volume of the database."""
    write_fasta(Path(fasta), made.volume(name, SETTINGS.volume_bases))


def format_database(volumes: str, database: str) -> None:
    """formatdb: all volumes and their index in one file."""
    entries: dict[str, Array] = {}
    for path in sorted(Path(volumes).glob("*.fa")):
        entries |= read_fasta(path)
    Database.of(entries).save(Path(database))


def queries(database: str, fasta: str, truth: str) -> None:
    """Make the queries, and write down where they come from."""
    sequences, planted = made.queries(Database.load(Path(database)), SETTINGS.queries)
    write_fasta(Path(fasta), sequences)
    made.write_planted(Path(truth), planted)


def calibrate(statistics: str) -> None:
    """lambda and K, without and with gaps."""
    fitted, count = islands.gapped()
    write_json(statistics, {"ungapped": asdict(karlin.ungapped()), "gapped": asdict(fitted), "islands": count})


def search(part: str, database: str, fasta: str, statistics: str, table: str) -> None:
    """blastall: search one part of the queries in the whole database."""
    known = json.loads(Path(statistics).read_text())
    without, fitted = (karlin.Statistics(**known[kind]) for kind in ("ungapped", "gapped"))
    sequences = read_fasta(Path(fasta))
    mine = {name: sequences[name] for name in list(sequences)[int(part) - 1 :: SETTINGS.parts]}
    found = Search(Database.load(Path(database)), without, fitted).run(mine, cores())
    hits.write_hits(Path(table), found, searched=list(mine))


def merge(parts: str, fasta: str, table: str) -> None:
    """One ranked table of all hits."""
    try:
        merged = hits.merge(sorted(Path(parts).glob("*.tsv")), read_fasta(Path(fasta)))
    except ValueError as error:
        sys.exit(f"{parts}: {error}")
    hits.write_hits(Path(table), merged)


def compare(table: str, fasta: str, truth: str, report: str) -> None:
    """Fail unless the table agrees with the truth; the report is written only if it does."""
    done = check.check(hits.read_hits(Path(table)), made.read_planted(Path(truth)), read_fasta(Path(fasta)))
    print(f"planted: {done.found} of {done.planted} found, {done.certain_found} of {done.certain} that must be")
    for evalue, count in done.random_hits.items():
        print(f"random: {count} hits of E <= {evalue:g}, {evalue * done.random_queries:g} promised")
    if done.faults:
        sys.exit("the search is wrong: " + "; ".join(done.faults))
    write_json(report, asdict(done))


def paint(table: str, fasta: str, truth: str, database: str, png: str) -> None:
    """Draw the picture."""
    planted, names = made.read_planted(Path(truth)), list(read_fasta(Path(fasta)))
    picture.paint(Path(png), hits.read_hits(Path(table)), planted, names, Database.load(Path(database)))


STAGES: dict[str, Callable[..., None]] = {
    "volume": volume,
    "format": format_database,
    "queries": queries,
    "calibrate": calibrate,
    "search": search,
    "merge": merge,
    "check": compare,
    "picture": paint,
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in STAGES:
        sys.exit(f"usage: python3 -m match {{{','.join(STAGES)}}} FILE...")
    STAGES[sys.argv[1]](*sys.argv[2:])
