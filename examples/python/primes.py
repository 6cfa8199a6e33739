"""Python functions run in processes that are measured, limited and retried, through `concurrent.futures`.

Run it: python examples/python/primes.py
"""

import math
from concurrent.futures import as_completed

import headway


def primes_below(limit: int) -> int:
    """Count the prime numbers below `limit`, with a sieve of `limit` bytes."""
    sieve = bytearray([1]) * limit
    sieve[:2] = b"\0\0"
    for number in range(2, math.isqrt(limit - 1) + 1):
        if sieve[number]:
            sieve[number * number :: number] = bytes(len(range(number * number, limit, number)))
    return sum(sieve)


def main() -> None:
    """Call the function by `map` and by `submit`, and print what each call used."""
    with headway.Executor() as executor:
        print(list(executor.map(primes_below, [10, 100, 1000])))

        futures = {executor.submit(primes_below, limit): limit for limit in (1_000_000, 30_000_000, 60_000_000)}
        for future in as_completed(futures):
            memory = future.usage.memory_bytes
            print(f"{future.result():,} primes below {futures[future]:,}: {memory / 1e6:.0f} MB, {future.task}")


if __name__ == "__main__":
    main()
