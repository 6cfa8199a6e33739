"""Count the primes in [start, stop): `count.py --ram MIB START STOP`."""

import sys
from math import isqrt


def sieve(start: int, stop: int, primes: list[int]) -> bytearray:
    """Mark the numbers from `start` to `stop` that are prime, by all primes up to the root of `stop`."""
    is_prime = bytearray(b"\x01") * (stop - start)
    for number in range(start, min(stop, 2)):
        is_prime[number - start] = 0
    for prime in primes:
        first = max(prime * prime, -(-start // prime) * prime)
        is_prime[first - start :: prime] = bytes(len(range(first, stop, prime)))
    return is_prime


def small_primes(most: int) -> list[int]:
    found: list[int] = []
    for number in range(2, most + 1):
        if all(number % prime for prime in found if prime * prime <= number):
            found.append(number)
    return found


ram, start, stop = int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
piece = ram * 2**20 // 4
primes = small_primes(isqrt(stop))
print(sum(sum(sieve(at, min(at + piece, stop), primes)) for at in range(start, stop, piece)))
