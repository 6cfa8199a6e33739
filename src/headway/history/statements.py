"""The SQL statements of a history, which every supported database understands; values are named as in `:name`.

Statements that begin with OLD are for a history without origins that is opened read-only, and so not upgraded.
"""

from __future__ import annotations

from headway.model.outcome import Ending

# Other endings say nothing about how much a task needs; many bad exits must not displace useful observations.
TEACHING = {
    f"ending_{number}": str(ending)
    for number, ending in enumerate(each for each in Ending if each is Ending.SUCCESS or each.exhausted)
}

ADD_CATEGORY = (
    "INSERT INTO categories (site, workflow, category) VALUES (:site, :workflow, :category) ON CONFLICT DO NOTHING"
)
CATEGORY = "SELECT id FROM categories WHERE site = :site AND workflow = :workflow AND category = :category"
CATEGORIES = "SELECT category FROM categories WHERE site = :site AND workflow = :workflow ORDER BY id"
SET_DIRECTORY = (
    "INSERT INTO projects (site, project, directory) VALUES (:site, :project, :directory)"
    " ON CONFLICT (site, project) DO UPDATE SET directory = excluded.directory"
)
ADD_ORIGIN = (
    "INSERT INTO origins (category, project, programs, command) VALUES (:category, :project, :programs, :command)"
    " ON CONFLICT DO NOTHING"
)
ORIGIN = (
    "SELECT id FROM origins WHERE category = :category AND project = :project AND programs = :programs"
    " AND command = :command"
)
UNOWNED = (
    "SELECT id FROM categories WHERE site = :site AND workflow = :workflow"
    " AND id IN (SELECT category FROM observations WHERE origin IS NULL)"
)
ADOPT = "UPDATE observations SET origin = :origin WHERE category = :category AND origin IS NULL"
ADD = (
    "INSERT INTO observations"
    " (category, origin, run, task, attempt, ending, started_at, ended_at, given, usage, input_bytes, hints) VALUES"
    " (:category, :origin, :run, :task, :attempt, :ending, :started_at, :ended_at, :given, :usage, :input_bytes,"
    " :hints)"
    " ON CONFLICT DO NOTHING"
)
_COLUMNS = "SELECT run, task, attempt, ending, started_at, ended_at, given, usage, input_bytes, hints FROM observations"
_NEWEST_FIRST = " ORDER BY ended_at DESC, id DESC"
# What a run may learn from: see `Origin`.
OF_NOBODY = "CAST(:project AS TEXT) = ''"
MINE = (
    f"(origin IS NULL AND {OF_NOBODY} OR origin IN ("  # noqa: S608 - constants
    f"SELECT id FROM origins WHERE category = ({CATEGORY})"
    " AND (project = :project AND programs IN ('', :programs) OR command <> '' AND command = :command)))"
)
NEWEST = (
    f"{_COLUMNS} WHERE category = ({CATEGORY}) AND ending IN (" + ", ".join(f":{name}" for name in TEACHING) + ")"
    f" AND {{mine}}{_NEWEST_FIRST} LIMIT :most"
)
_NAMED = (
    " WHERE (CAST(:workflow AS TEXT) IS NULL OR c.workflow = :workflow)"
    " AND (CAST(:category AS TEXT) IS NULL OR c.category = :category)"
)
KEYS = (
    "SELECT c.id, c.site, c.workflow, c.category, o.project, coalesce(p.directory, '') FROM categories AS c"  # noqa: S608 - constants
    " JOIN (SELECT category, project FROM origins UNION SELECT id, '' FROM categories) AS o ON o.category = c.id"
    f" LEFT JOIN projects AS p ON p.site = c.site AND p.project = o.project{_NAMED}"
)
OLD_KEYS = f"SELECT c.id, c.site, c.workflow, c.category, '', '' FROM categories AS c{_NAMED}"  # noqa: S608 - constants
OF_KEY = (
    " WHERE category = :number"
    " AND coalesce((SELECT origins.project FROM origins WHERE origins.id = observations.origin), '') = :project"
)
OLD_OF_KEY = " WHERE category = :number"
ALL = _COLUMNS + "{of_key}" + f"{_NEWEST_FIRST} LIMIT coalesce(:most, 9223372036854775807)"
SEEN = "SELECT ending, started_at, ended_at, usage FROM observations{of_key}"
SURPLUS = (
    " FROM observations{of_key}"
    " AND (CAST(:before AS DOUBLE PRECISION) IS NULL OR ended_at < :before)"
    " AND (CAST(:keep AS BIGINT) IS NULL OR id NOT IN (SELECT id FROM observations{of_key}"
    " ORDER BY ended_at DESC, id DESC LIMIT coalesce(:keep, 0)))"
)
REMOVE_EMPTY = (
    "DELETE FROM origins WHERE id NOT IN (SELECT DISTINCT origin FROM observations WHERE origin IS NOT NULL)",
    "DELETE FROM categories WHERE id NOT IN (SELECT DISTINCT category FROM observations)",
    "DELETE FROM projects WHERE project NOT IN (SELECT project FROM origins)",
)
ADD_WAIT = (
    "INSERT INTO waits"
    " (site, run, job, partition_name, submitted_at, nodes, asked_s, estimate_s, waited_s) VALUES"
    " (:site, :run, :job, :partition, :submitted_at, :nodes, :asked_s, :estimate_s, :waited_s) ON CONFLICT DO NOTHING"
)
NEWEST_WAITS = (
    "SELECT run, job, partition_name, submitted_at, nodes, asked_s, estimate_s, waited_s FROM waits"
    " WHERE site = :site ORDER BY submitted_at DESC, id DESC LIMIT :most"
)
STATE = "SELECT state FROM states WHERE site = :site AND name = :name"
REMOVE_STATES = "DELETE FROM states WHERE site = :site AND name LIKE :pattern ESCAPE '!'"
SET_STATE = (
    "INSERT INTO states (site, name, version, state, updated_at) VALUES (:site, :name, 1, :state, :now)"
    " ON CONFLICT (site, name) DO UPDATE"
    " SET version = states.version + 1, state = excluded.state, updated_at = excluded.updated_at"
)
