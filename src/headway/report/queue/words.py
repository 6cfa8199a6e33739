"""Figures of a simulated queue as text."""

from __future__ import annotations

from headway.model.units import format_duration
from headway.report.queue.summary import BOUND_S, QueueSummary, SizeClass
from headway.report.words import count, share


def waited(seconds: float) -> str:
    """A wait: `0 s`, `42 s`, `1h 53m`."""
    return "0 s" if seconds < 0.0005 else format_duration(seconds)


def times(slowdown: float) -> str:
    """A slowdown or a number of jobs: `1.0`, `90.9`, `1,234`."""
    return f"{slowdown:,.1f}" if slowdown < 999.95 else f"{slowdown:,.0f}"


def sizes(group: SizeClass, machine: int) -> str:
    """The sizes in a class, up to that of the machine: `1`, `5-8`."""
    most = min(group.most_nodes, machine)
    return f"{most:,}" if group.least_nodes == most else f"{group.least_nodes:,}-{most:,}"


def between(hour: int, hours: int = 1) -> str:
    """A time of day: `08-12` is from eight to twelve."""
    return f"{hour:02d}-{hour + hours:02d}"


def headline(summary: QueueSummary) -> str:
    """One sentence: mean wait, share of jobs that start at once, utilisation."""
    waits = summary.waits
    return (
        f"jobs wait {waited(waits.wait_s.mean)} on average, {share(waits.started_at_once)} start at once, and the "
        f"machine is {share(summary.utilisation)} busy"
    )


def telling(summary: QueueSummary) -> dict[str, str]:
    """More figures in words, by topic."""
    wait, slowdown, queue = summary.waits.wait_s, summary.waits.bounded_slowdown, summary.queue
    said = {
        "wait": f"median {waited(wait.median)}, 90% within {waited(wait.p90)}, longest {waited(wait.max)}",
        "slowdown": f"mean {times(slowdown.mean)}, median {times(slowdown.median)}, bounded at {BOUND_S:g} s",
        "queue": f"mean {times(queue.mean_jobs)} jobs for {times(queue.mean_nodes)} nodes, "
        f"at most {count(queue.peak_jobs, 'job')}, {count(queue.peak_nodes, 'node')}",
        "busy": f"{share(summary.utilisation)} of the machine up to the last end",
        "in use": ", ".join(
            f"{share(use.utilisation)} of {name} by {count(use.jobs, 'job')}" for name, use in summary.resources.items()
        ),
        "left out": leaving_out(summary),
    }
    if summary.utilisation_while_submitting is not None:
        said["busy"] += f", {share(summary.utilisation_while_submitting)} up to the last submission"
    return {about: words for about, words in said.items() if words}


def leaving_out(summary: QueueSummary) -> str:
    """`12 (no processors), 3 (never ran)`; empty if no jobs were left out."""
    return ", ".join(f"{number:,} ({why})" for why, number in summary.left_out.items() if number)


def node_hours(hours: float) -> str:
    """Node-hours or core-hours with as many digits as say something; a small part of an hour in minutes or seconds.

    >>> node_hours(1234.56), node_hours(31.4159), node_hours(0.0351), node_hours(0.002), node_hours(0.00001)
    ('1,235', '31.4', '2.1 min', '7.2 s', '0.036 s')
    """
    if hours >= 0.1 or not hours:
        return f"{hours:,.{0 if hours >= 100 else 1 if hours >= 10 else 2}f}"
    return f"{60 * hours:.1f} min" if hours >= 1 / 60 else f"{3600 * hours:.2g} s"
