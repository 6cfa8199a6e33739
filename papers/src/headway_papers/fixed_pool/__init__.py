"""Workflows on a fixed pool of cores and memory, in virtual time."""
