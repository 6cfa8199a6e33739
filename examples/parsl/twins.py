"""Counts twin primes below two million in ranges, by Parsl on Headway, and estimates the constant that they tend to.

Run it: python examples/parsl/twins.py [DIRECTORY]
"""

import math
import sys

import parsl
from parsl.config import Config

from headway.integrations.parsl import HeadwayExecutor

LIMIT, RANGES = 2_000_000, 8


@parsl.python_app
def twins(start: int, stop: int) -> int:
    """Count the primes p in [start, stop) for which p + 2 is prime as well."""
    import math

    low, high = start, stop + 2
    is_prime = bytearray([1]) * (high - low)
    for factor in range(2, math.isqrt(high) + 1):
        first = max(factor * factor, -(-low // factor) * factor)
        is_prime[first - low :: factor] = bytes(len(range(first, high, factor)))
    return sum(is_prime[n - low] and is_prime[n + 2 - low] for n in range(max(low, 3), stop))


@parsl.bash_app
def add(numbers: list[int], stdout: str) -> str:
    """Add numbers by a command, as programs that are no Python functions are called."""
    return "echo " + " ".join(map(str, numbers)) + " | tr ' ' '\\n' | awk '{ sum += $1 } END { print sum }'"


if __name__ == "__main__":
    where = sys.argv[1] if len(sys.argv) > 1 else "."
    with parsl.load(Config(executors=[HeadwayExecutor(directory=where)], initialize_logging=False)):
        width = LIMIT // RANGES
        calls = [twins(number * width, (number + 1) * width) for number in range(RANGES)]
        add([call.result() for call in calls], stdout=f"{where}/twins.txt").result()
    with open(f"{where}/twins.txt") as file:
        found = int(file.read())
    # Hardy and Littlewood: about 2 C ∫ dx / (ln x)² of them are below a limit.
    integral = sum(1 / math.log(x) ** 2 for x in range(2, LIMIT))
    print(f"{found} pairs of twin primes below {LIMIT}; the twin prime constant is about {found / integral / 2:.3f}")
