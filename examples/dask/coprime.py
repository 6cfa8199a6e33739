"""Estimates the share of coprime pairs, which tends to 6 / pi², by a Dask graph whose tasks are calls of Headway.

Run it: python examples/dask/coprime.py [DIRECTORY]
"""

import sys

import dask

import headway

LIMIT, PARTS = 2_000, 8


@dask.delayed
def coprime(start: int, stop: int) -> int:
    """Count the pairs (a, b) with a in [start, stop) and b in [1, LIMIT] that have no common factor."""
    import math

    return sum(math.gcd(a, b) == 1 for a in range(start, stop) for b in range(1, LIMIT + 1))


@dask.delayed
def total(counts: list[int]) -> int:
    """Add what the parts found."""
    return sum(counts)


if __name__ == "__main__":
    where = sys.argv[1] if len(sys.argv) > 1 else "."
    width = LIMIT // PARTS
    graph = total([coprime(1 + part * width, 1 + (part + 1) * width) for part in range(PARTS)])
    with headway.Executor(where, isolation="shared") as executor:
        (found,) = dask.compute(graph, scheduler=executor)
    pi = (6 * LIMIT**2 / found) ** 0.5
    print(f"{found} of {LIMIT**2} pairs are coprime, so pi is about {pi:.3f}")
