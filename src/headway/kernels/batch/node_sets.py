"""Sets of nodes as bit masks, and the choice of a job's nodes."""

from __future__ import annotations

import numpy as np

from headway.kernels.batch.state import LOWEST, Words
from headway.kernels.compiled import inlined, inner

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.uint64(0)
_ONE = np.uint64(1)


@inlined
def bits_of(word: np.uint64) -> int:
    """The number of bits set."""
    word = word - ((word >> _ONE) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    word = word + (word >> np.uint64(8))  # no product, which would overflow: in plain Python numpy warns of that
    word = word + (word >> np.uint64(16))
    word = word + (word >> np.uint64(32))
    return int(word & np.uint64(0x7F))


@inner
def size_of(nodes: Words) -> int:
    """The number of nodes in the set."""
    total = 0
    for index in range(len(nodes)):
        total += bits_of(nodes[index])
    return total


@inner
def is_same(left: Words, right: Words) -> bool:
    """Whether both sets are equal."""
    same = True
    for index in range(len(left)):
        same = same and left[index] == right[index]
    return same


@inner
def choose(available: Words, wanted: int, selection: int, chosen: Words) -> bool:
    """Fill `chosen` with `wanted` available nodes: the lowest, or the first contiguous run; return success."""
    if selection == LOWEST:
        return _choose_lowest(available, wanted, chosen)
    return _choose_run(available, wanted, chosen)


@inner
def _choose_lowest(available: Words, wanted: int, chosen: Words) -> bool:
    for index in range(len(available)):
        word = available[index]
        have = bits_of(word)
        if have <= wanted:
            chosen[index] = word
            wanted -= have
        else:
            taken = _NONE
            while wanted > 0:
                lowest = word & (~word + _ONE)
                taken |= lowest
                word ^= lowest
                wanted -= 1
            chosen[index] = taken
    return wanted == 0


@inner
def _choose_run(available: Words, wanted: int, chosen: Words) -> bool:
    run = 0
    for index in range(len(available)):
        word = available[index]
        chosen[index] = _NONE
        if word == _NONE:
            run = 0
            continue
        if word == _ALL and run + 64 < wanted:
            run += 64
            continue
        for bit in range(64):
            run = run + 1 if (word >> np.uint64(bit)) & _ONE else 0
            if run == wanted:
                last = 64 * index + bit
                for node in range(last - wanted + 1, last + 1):
                    chosen[node >> 6] |= _ONE << np.uint64(node & 63)
                for rest in range(index + 1, len(available)):
                    chosen[rest] = _NONE
                return True
    return False
