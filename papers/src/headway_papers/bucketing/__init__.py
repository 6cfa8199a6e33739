"""Phung and Thain 2024: Figures 5 and 6 and Table I, run again with Headway's sizers."""
