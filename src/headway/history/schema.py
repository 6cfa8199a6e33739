"""The tables of a history: one schema for every database, as numbered steps from nothing to the present format.

A history is of format N when the first N steps were taken. A step that has been released is never changed: what is new
is a new step.
"""

from __future__ import annotations

_OBSERVATIONS = """
CREATE TABLE categories (
    id {key},
    site TEXT NOT NULL,
    workflow TEXT NOT NULL,
    category TEXT NOT NULL,
    UNIQUE (site, workflow, category)
);
CREATE TABLE observations (
    id {key},
    category BIGINT NOT NULL REFERENCES categories,
    run TEXT NOT NULL,
    task TEXT NOT NULL,
    attempt BIGINT NOT NULL,
    ending TEXT NOT NULL,
    started_at DOUBLE PRECISION NOT NULL,
    ended_at DOUBLE PRECISION NOT NULL,
    given TEXT NOT NULL,
    usage TEXT NOT NULL,
    input_bytes BIGINT,
    hints TEXT NOT NULL,
    UNIQUE (run, task, attempt)
);
CREATE INDEX observations_by_category ON observations (category, ended_at)
"""

# A state's version goes up by one with every change.
_STATES_AND_WAITS = """
CREATE TABLE states (
    site TEXT NOT NULL,
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    state TEXT NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (site, name)
);
CREATE TABLE waits (
    id {key},
    site TEXT NOT NULL,
    run TEXT NOT NULL,
    job TEXT NOT NULL,
    partition_name TEXT NOT NULL,
    nodes BIGINT NOT NULL,
    asked_s DOUBLE PRECISION NOT NULL,
    estimate_s DOUBLE PRECISION,
    waited_s DOUBLE PRECISION NOT NULL,
    submitted_at DOUBLE PRECISION NOT NULL,
    UNIQUE (site, run, job)
);
CREATE INDEX waits_by_site ON waits (site, submitted_at)
"""

_STEPS = (_OBSERVATIONS, _STATES_AND_WAITS)
VERSION = len(_STEPS)
STATES_SINCE = 2  # the format that has states and waits


def statements_from(version: int, key: str) -> list[str]:
    """What carries a history of that format over to the present one; `key` declares a column that counts up."""
    return [statement.format(key=key) for step in _STEPS[version:] for statement in step.split(";")]
