"""`telling`: tell people how a run goes, if its settings name somebody."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from headway.drivers.real import Observer
from headway.drivers.run_history import Warn
from headway.drivers.run_settings import RunSettings
from headway.report.run.summary import RunSummary


def telling(
    observer: Observer, summary: RunSummary, settings: RunSettings, warn: Warn
) -> AbstractContextManager[Observer]:
    """Return a block with an observer of a run: `observer`, which updates `summary`, and whoever is to be told.

    An error, before the block, if the settings name nobody who can be told.
    """
    if not settings.notify:
        return nullcontext(observer)
    from headway.notifying.notifier import notified
    from headway.notifying.targets import targets_of

    return notified(observer, summary, targets_of(settings.notify), settings.stuck_s, warn)
