"""`geometry`: the classes of jobs that wait models learn apart.

Souza et al. 2020 keep their state "in a per job-geometry basis" (§5) and leave open what a geometry is. Here it is the
number of nodes, rounded up to a power of two, and the requested time, in bands each four times as long as the last.
"""

from __future__ import annotations

from headway.waiting.base import Shape

_SHORTEST_S = 900.0
_LONGEST_S = 4.0**4 * _SHORTEST_S


def geometry(shape: Shape) -> str:
    """The name of a job's geometry.

    >>> geometry(Shape(nodes=5, asked_s=3600)), geometry(Shape(nodes=8, asked_s=901))
    ('8 nodes, 3600 s', '8 nodes, 3600 s')
    """
    nodes = 1 << max(0, shape.nodes - 1).bit_length()
    most_s = _SHORTEST_S
    while most_s < min(shape.asked_s, _LONGEST_S):
        most_s *= 4.0
    return f"{nodes} nodes, {most_s:.0f} s"
