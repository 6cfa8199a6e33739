"""What an alignment is worth: BLAST's scores for DNA of some 80 to 100 % similarity."""

MATCH = 2
MISMATCH = -3
GAP_OPEN = 5  # a gap of n bases costs GAP_OPEN + n * GAP_EXTEND
GAP_EXTEND = 2
