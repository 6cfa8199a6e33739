"""Figures 5 and 6 and Table I of paper 001 (Phung and Thain, IPDPS 2024), run again with the allocators of `sizing`."""
