"""The tables of a history: one schema for every database, in numbered steps from an empty database to today's format.

A history has format N after the first N steps. A released step is never changed; changes are new steps.
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

# The version of a state is incremented with every change.
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

# An observation without an origin was kept before there were any.
_ORIGINS = """
CREATE TABLE projects (
    site TEXT NOT NULL,
    project TEXT NOT NULL,
    directory TEXT NOT NULL,
    PRIMARY KEY (site, project)
);
CREATE TABLE origins (
    id {key},
    category BIGINT NOT NULL REFERENCES categories,
    project TEXT NOT NULL,
    programs TEXT NOT NULL,
    command TEXT NOT NULL,
    UNIQUE (category, project, programs, command)
);
ALTER TABLE observations ADD COLUMN origin BIGINT
"""

_STEPS = (_OBSERVATIONS, _STATES_AND_WAITS, _ORIGINS)
VERSION = len(_STEPS)
STATES_SINCE = 2  # the first format with states and waits
ORIGINS_SINCE = 3  # the first format that knows whose observations these are


def statements_from(version: int, key: str) -> list[str]:
    """The statements that upgrade a history from a format to today's; `key` declares an auto-increment column."""
    return [statement.format(key=key) for step in _STEPS[version:] for statement in step.split(";")]
