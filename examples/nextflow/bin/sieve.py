#!/usr/bin/env python3
"""Print how many prime numbers there are from one number to below another (sieve of Eratosthenes over the range)."""

import sys
from math import isqrt

first, below = max(2, int(sys.argv[1])), int(sys.argv[2])
is_prime = bytearray([1]) * max(0, below - first)
for divisor in range(2, isqrt(below) + 1):
    multiple = max(divisor * divisor, -(-first // divisor) * divisor)
    is_prime[multiple - first :: divisor] = bytes(len(range(multiple, below, divisor)))
print(sum(is_prime))
