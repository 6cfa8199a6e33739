"""A workflow that grows while it runs: the result of a call decides which calls come next.

Run it: python examples/python/adaptive.py

An integral by adaptive quadrature: a call estimates the integral over an interval, and where the estimate is too rough
it submits one call for each half. The number of calls and their intervals are not known beforehand.
"""

import math

import headway

SHARPNESS = 1e-3
SMALL = 0.1  # shorter intervals are not worth a process of their own


def peak(x: float) -> float:
    """Return a function with a sharp peak at 0."""
    return 1 / (x * x + SHARPNESS * SHARPNESS)


def simpson(low: float, high: float) -> float:
    """Estimate the integral of `peak` by Simpson's rule."""
    return (peak(low) + 4 * peak((low + high) / 2) + peak(high)) * (high - low) / 6


def integral(low: float, high: float, error: float) -> float:
    """Return the integral of `peak` with an error of about `error` at most."""
    middle = (low + high) / 2
    halves = [(low, middle), (middle, high)]
    rough, fine = simpson(low, high), sum(simpson(*half) for half in halves)
    if abs(fine - rough) < 15 * error:
        return fine
    if high - low <= SMALL:
        return sum(integral(*half, error / 2) for half in halves)
    # While this call waits for the others, they can use its cores and memory.
    return sum(headway.current_executor().map(integral, *zip(*halves, strict=True), [error / 2] * 2))


def main() -> None:
    """Compare the result with the exact integral."""
    exact = (math.atan(1.5 / SHARPNESS) + math.atan(1 / SHARPNESS)) / SHARPNESS
    with headway.Executor() as executor:
        found = executor.submit(integral, -1.0, 1.5, 1e-6).result()
    print(f"the integral is {found:.6f}, off by {abs(found - exact):.1g}")


if __name__ == "__main__":
    main()
