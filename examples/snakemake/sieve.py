"""Count the numbers of a range that no square but 1 divides: strike out the multiples of every square."""

import sys
from math import isqrt


def count(first: int, after: int) -> int:
    """Return how many numbers from `first` to before `after` are square-free."""
    left = bytearray(b"\1") * (after - first)
    for root in range(2, isqrt(after - 1) + 1):
        square = root * root
        begin = -first % square
        left[begin::square] = bytes(len(range(begin, len(left), square)))
    return left.count(1)


if __name__ == "__main__":
    first, after = map(int, sys.stdin.read().split())
    print(f"counting from {first} to {after - 1} in {sys.argv[-1]} MB", file=sys.stderr)
    print(count(first, after))
